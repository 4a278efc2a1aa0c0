/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes device code containers like those of NVIDIA's tools, so that the tests do not need these
 * tools. */
#ifndef HEDDLE_TESTS_IMAGE_FIXTURE_H
#define HEDDLE_TESTS_IMAGE_FIXTURE_H

#include "base/base.h"
#include "image/image.h"

struct fixture_entry {
	enum image_kind kind;
	uint32_t arch;
	char variant;
	enum image_packing packing;
	const char *text; /* PTX; NULL: a tiny cubin is made */
	const char *kernel;
	unsigned options; /* bytes of options after the header, a multiple of 8 */
};
/* Appends one container to out. */
void fixture_container(struct strbuf *out, const struct fixture_entry *e, unsigned n);
/* Makes a 64-bit ELF file: a cubin with one kernel, or (machine 62) a host file whose section
 * `section` contains body.
 */
void fixture_elf(struct strbuf *out, unsigned machine, uint32_t arch, const char *kernel,
	const char *section, const void *body, size_t len);
/* Returns PTX of a kernel "void k(u64 p)" that stores mark to p, for sm_ARCH. The buffer is
 * static, and the next call overwrites it. */
const char *fixture_ptx(uint32_t arch, char variant, unsigned mark);

#endif
