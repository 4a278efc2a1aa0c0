/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lets a kernel that was extracted from its module share the module's variables with the module's
 * other kernels. */
#ifndef HEDDLE_HOST_OUTSIDE_H
#define HEDDLE_HOST_OUTSIDE_H

#include "ptx/ptx.h"

/* .const .b64 [n]; the host fills it with addresses in order */
#define HOST_OUTSIDE_ARRAY "hd_vars"
#define HOST_OUTSIDE_MAX   4096 /* most addresses: half of a module's constant bank */

struct host_outside {
	const char *name; /* name of a module variable */
	uint64_t offset;  /* offset in the variable of the address in this entry */
	uint64_t align;   /* a power of two that divides this address */
};
/* A function that sets `align` of each variable. It returns 0, or a negative errno, which the
 * caller of this function passes on. */
typedef int host_locate_fn(void *user, struct host_outside *vars, size_t n);

/* Makes functions of m load the addresses of its .global and .const variables from an array,
 * instead of naming the variables. Without such variables nothing changes, and fn is not called.
 * Returns 0 or:
 * - -ENOTSUP: a variable is used in an unsupported way
 * - -E2BIG: there are too many variables
 * - -EINVAL: a bug, described in diags
 * - -ENOMEM
 * - the errno that fn returned */
int host_leave_outside(
	struct ptx_module *m, struct diag_list *diags, host_locate_fn *fn, void *user);
/* Turns loads from constant memory into loads from global memory, except loads from the array. Run
 * it after all other changes of the module. Returns 0 or -ENOMEM. */
int host_leave_const(struct ptx_module *m);
/* Turns loads that assume read-only memory (.nc) into ordinary loads. This is for the kernel of a
 * pool of tasks: this kernel stays on the GPU while the host and other kernels write the memory
 * that its tasks read. Run it after host_leave_const. Returns 0 or -ENOMEM. */
int host_leave_nc(struct ptx_module *m);

#endif
