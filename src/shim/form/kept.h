/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A preemptible form that is not loaded yet, and its encoding in a file for the program's next
 * start. These functions use no files and no driver. */
#ifndef HEDDLE_SHIM_KEPT_H
#define HEDDLE_SHIM_KEPT_H

#include "base/base.h"
#include "host/outside.h"
#include "pass/pass.h"

/* Describes the content of the form's array of addresses (globals.c). Element i is the address of
 * variable i of the original module plus `offset` bytes. The form's PTX assumes that this address
 * is a multiple of `align`. */
#define VARS_MAX  HOST_OUTSIDE_MAX
#define ALIGN_MAX 16u /* the widest access in bytes */
struct vars {
	uint32_t n;
	struct var {
		uint64_t offset, align;
	} * at;
	struct strbuf names; /* each followed by a NUL */
};

struct made {
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* offsets and sizes of the kernel's own parameters */
	struct vars vars;
	struct strbuf text;
	/* line positions of the original text; empty if the device is a GPU, which does not use
	 * them */
	ptx_lines lines;
};
void made_finish(struct made *m);
/* Allocates arrays for info.n_params parameters; false: out of memory. */
bool made_params(struct made *m);
/* Returns true if all parameters lie within the parameter buffer. */
bool made_sane(const struct made *m);

/* version: the FORM_VERSION of the code that made the text. */
void kept_write(const struct made *m, uint32_t version, struct strbuf *out);
/* Decodes a form from any bytes. Returns false if they are not a plausible form of this version, or
 * if memory is exhausted. The caller calls made_finish in both cases. */
bool kept_read(const char *at, size_t len, uint32_t version, struct made *ret);

#endif
