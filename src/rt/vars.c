/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Module variables: one copy, whichever way kernels are run. What several kernels become together
 * names none; it has arrays of the addresses of those of the modules that kernels were loaded as
 * (host/outside.h), which are filled once it is compiled. */
#include "rt/rt.h"

#include "host/outside.h"
#include "pass/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_MAX 256 /* more is of no use to a load */

struct locating {
	struct heddle *h;
	struct rt_kernel *k;
};

static int locate(void *user, struct pass_outside *vars, size_t n)
{
	const struct locating *l = user;
	struct rt_kernel *k = l->k;

	k->vars = ARENA_ARRAY(&k->arena, uint64_t, n);
	if (!k->vars)
		return -ENOMEM;
	k->n_vars = n;
	for (size_t i = 0; i < n; i++) {
		CUdeviceptr at;
		size_t bytes;

		if (l->h->cu.cuModuleGetGlobal(&at, &bytes, k->module, vars[i].name) !=
			CUDA_SUCCESS) {
			k->no_vars = arena_strndup(&k->arena, vars[i].name, strlen(vars[i].name));
			return -ENXIO;
		}
		k->vars[i] = at + vars[i].offset;
		vars[i].align = MIN(k->vars[i] & -k->vars[i], (uint64_t)ALIGN_MAX);
		if (!vars[i].align)
			vars[i].align = ALIGN_MAX;
	}
	return 0;
}

/* A refusal is for later: the kernel runs as it is. */
int rt_vars_leave(struct heddle *h, struct rt_kernel *k)
{
	struct locating l = {h, k};
	int r = pass_leave_outside(k->alone, &k->diags, locate, &l);

	if (r == -ENXIO || r == -ENOTSUP || r == -E2BIG) {
		if (!k->no_vars)
			k->no_vars = "";
		r = 0;
	}
	if (r == -ENOMEM)
		return rt_out_of_memory(h);
	return r < 0 ? rt_fail(h, -EINVAL, "this is a bug in heddle: please report it with the PTX",
			       "%s: its module variables", k->name)
		     : 0;
}

int rt_vars_fill(struct heddle *h, const struct rt_kernel *k, unsigned which, CUmodule form)
{
	char name[64];
	CUdeviceptr to;
	size_t bytes;

	if (!k->n_vars)
		return 0;
	snprintf(name, sizeof(name), PASS_GUEST_PREFIX PASS_OUTSIDE_ARRAY, which);
	RT_TRY(h, h->cu.cuModuleGetGlobal(&to, &bytes, form, name), name);
	RT_TRY(h, h->cu.cuMemcpyHtoD(to, k->vars, k->n_vars * sizeof(*k->vars)), name);
	return 0;
}
