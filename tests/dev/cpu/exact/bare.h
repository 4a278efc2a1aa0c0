/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs forms on the core of the virtual GPU directly, without a driver. */
#ifndef HEDDLE_TESTS_BARE_H
#define HEDDLE_TESTS_BARE_H

#include "../grid.h"
#include "dev/cpu/code.h"
#include "forms.h"

struct bare {
	struct vgpu_mem *mem;
	/* addresses of FORM_IN and FORM_OUT words of one form, accessible to the host */
	u64 in, out;
};
/* Returns 0 or -ENOMEM. */
int bare_open(struct bare *ret);
void bare_close(struct bare *b);
/* Returns NULL if the parser rejects the text. */
struct vgpu_module *bare_load(struct bare *b, const struct strbuf *text);
/* Whether all instructions of the kernel are known; *ret is the decoded program. */
bool bare_knows(const struct vgpu_kernel *k, struct vprogram **ret);
/* Zeroes `out` and launches the kernel; `in` keeps what the caller stored there. -EFAULT: see
 * ret->fault. */
int bare_launch(struct bare *b, const struct vgpu_kernel *k, unsigned blocks, unsigned threads,
	struct grid_result *ret);
/* Fills `in`, and runs the kernel, which writes `out`. -EFAULT: see ret->fault. */
int bare_run(
	struct bare *b, const struct form *f, const struct vgpu_kernel *k, struct grid_result *ret);

#endif
