/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes device code containers as the vendor's tools do, so that tests need none of them. */
#ifndef HEDDLE_TESTS_IMAGE_FIXTURE_H
#define HEDDLE_TESTS_IMAGE_FIXTURE_H

#include "base/base.h"
#include "image/image.h"

struct fixture_entry {
	enum image_kind kind;
	uint32_t arch;
	char variant;
	enum image_packing packing;
	const char *text; /* PTX, or NULL: a tiny cubin is made */
	const char *kernel;
	unsigned options; /* bytes of options behind the header, multiple of 8 */
};
/* Appends one container to out. */
void fixture_container(struct strbuf *out, const struct fixture_entry *e, unsigned n);
/* A 64-bit ELF: a cubin with one kernel, or (machine 62) a host file whose section `name` is body.
 */
void fixture_elf(struct strbuf *out, unsigned machine, uint32_t arch, const char *kernel,
	const char *section, const void *body, size_t len);
/* "void k(u64 p)" that stores mark to p, for sm_ARCH. Static buffer a call: use before the next. */
const char *fixture_ptx(uint32_t arch, char variant, unsigned mark);

#endif
