/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Forms on the core of the virtual GPU alone, without a driver. */
#ifndef HEDDLE_TESTS_BARE_H
#define HEDDLE_TESTS_BARE_H

#include "../grid.h"
#include "dev/cpu/code.h"
#include "forms.h"

struct bare {
	struct vgpu_mem *mem;
	u64 in, out; /* of one form: FORM_IN and FORM_OUT words, which the host may touch */
};
/* -ENOMEM. */
int bare_open(struct bare *ret);
void bare_close(struct bare *b);
/* NULL: the parser does not take it. */
struct vgpu_module *bare_load(struct bare *b, const struct strbuf *text);
/* Whether it has all instructions of the kernel; and what they became. */
bool bare_knows(const struct vgpu_kernel *k, struct vprogram **ret);
/* With in as it is, and out zero before. -EFAULT: see ret->fault. */
int bare_launch(struct bare *b, const struct vgpu_kernel *k, unsigned blocks, unsigned threads,
	struct grid_result *ret);
/* Fills in, and has out written. -EFAULT: see ret->fault. */
int bare_run(
	struct bare *b, const struct form *f, const struct vgpu_kernel *k, struct grid_result *ret);

#endif
