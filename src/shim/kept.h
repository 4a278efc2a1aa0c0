/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A preemptible form before it is loaded, and its encoding in a file for the next start. Pure: no
 * files, no driver. */
#ifndef HEDDLE_SHIM_KEPT_H
#define HEDDLE_SHIM_KEPT_H

#include "base/base.h"
#include "host/outside.h"
#include "pass/pass.h"

/* The content of the form's array of addresses (globals.c): element i is the address of variable i
 * of the original module plus `offset` bytes. The text assumes that it is a multiple of `align`. */
#define VARS_MAX  PASS_OUTSIDE_MAX
#define ALIGN_MAX 16u /* the widest access */
struct vars {
	uint32_t n;
	struct var {
		uint64_t offset, align;
	} * at;
	struct strbuf names; /* each with a NUL behind it */
};

struct made {
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* of the kernel's own parameters */
	struct vars vars;
	struct strbuf text;
	ptx_lines lines; /* lines of the original text; none for a GPU, which does not use them */
};
void made_finish(struct made *m);
bool made_params(struct made *m); /* room for info.n_params; false: out of memory */
/* Do the parameters lie within the buffer that they index? */
bool made_sane(const struct made *m);

/* `version`: of the code that makes the text. */
void kept_write(const struct made *m, uint32_t version, struct strbuf *out);
/* From any bytes. False: not an output of kept_write. Call made_finish in both cases. */
bool kept_read(const char *at, size_t len, uint32_t version, struct made *ret);

#endif
