/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel on its own, apart from the module whose variables it shares with others. */
#ifndef HEDDLE_OUTSIDE_H
#define HEDDLE_OUTSIDE_H

#include "ptx/ptx.h"

#define PASS_OUTSIDE_ARRAY "hd_vars" /* .const .b64 [n]: to be filled with addresses, in order */
#define PASS_OUTSIDE_MAX   4096      /* half of a module's constant bank */

struct pass_outside {
	const char *name; /* of a variable of the module */
	uint64_t offset;  /* within it: the entry is the address of that */
	uint64_t align;   /* a power of two that this address can be divided by */
};
/* Sets align of each. 0, or a negative errno, which is passed on. */
typedef int pass_locate_fn(void *user, struct pass_outside *vars, size_t n);

/* Functions of m name its .global and .const variables no longer: they load their addresses from an
 * array. Without such variables nothing changes, and fn is not called. -ENOTSUP: one is used in a
 * way that this cannot follow; -E2BIG: too many; -EINVAL with diags (a bug); -ENOMEM. */
int pass_leave_outside(
	struct ptx_module *m, struct diag_list *diags, pass_locate_fn *fn, void *user);
/* Loads from constant memory become loads from global memory, but those of the array: once
 * everything else is done. -ENOMEM. */
int pass_leave_const(struct ptx_module *m);
/* Loads that rely on it that nobody writes there while the kernel runs (.nc) become ordinary ones:
 * a kernel that runs on while others' tasks come and go. Behind pass_leave_const. -ENOMEM. */
int pass_leave_nc(struct ptx_module *m);

#endif
