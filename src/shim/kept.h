/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A preemptible form that is not loaded yet, and how a file holds it for the next start. Pure: no
 * files, no driver. */
#ifndef HEDDLE_SHIM_KEPT_H
#define HEDDLE_SHIM_KEPT_H

#include "base/base.h"
#include "host/outside.h"
#include "pass/pass.h"

/* What the form's array of addresses holds (globals.c): the i-th is that of the i-th variable of
 * the original module, and so many bytes. The text takes it to be a multiple of align. */
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
	ptx_lines lines; /* where those of the text stood; none for a GPU, which does not ask */
};
void made_finish(struct made *m);
bool made_params(struct made *m); /* room for info.n_params; false: out of memory */
/* Do the parameters lie within the buffer that they index? */
bool made_sane(const struct made *m);

/* `version`: of the code that makes the text. */
void kept_write(const struct made *m, uint32_t version, struct strbuf *out);
/* From any bytes: false when they are not what kept_write wrote. made_finish also then. */
bool kept_read(const char *at, size_t len, uint32_t version, struct made *ret);

#endif
