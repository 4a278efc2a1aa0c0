/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fuses multiplications and additions to fma as ptxas does, in the parsed functions, before they
 * are decoded. PTX leaves the choice to the assembler, and a fused pair is rounded only once. So
 * results match a GPU's in the last bit only if the same pairs are fused. A function is processed
 * when the first kernel that reaches it is decoded. */
#include "dev/cpu/code.h"

#include "cfg/contract.h"

#include <errno.h>
#include <stdlib.h>

/* statements; a longer function is not fused, because that would take too long */
#define LONGEST 100000

static int fuse_one(struct vgpu_module *mod, size_t i)
{
	struct ptx_func *f = mod->funcs.at[i];
	struct diag_list diags;
	struct arena a;
	size_t n = 0;
	int r;

	if (mod->fused[i] || f->body.len >= LONGEST)
		return 0;
	arena_init(&a, 0);
	diag_init(&diags, &a, "fused", NULL, 0);
	r = contract_fuse(mod->ptx, f, &diags, &n);
	arena_finish(&a);
	mod->fused[i] = true;
	/* The graph of definitions and uses is too large, so this function is not fused. */
	return r == -E2BIG ? 0 : r;
}

int vgpu_fuse(struct vgpu_module *mod, const ptx_func_list *funcs)
{
	int r = 0;

	if (mod->fuses_none)
		return 0;
	if (!mod->fused)
		mod->fused = calloc(mod->funcs.len, sizeof(*mod->fused));
	if (!mod->fused)
		return -ENOMEM;
	for (size_t k = 0; k < funcs->len; k++)
		for (size_t i = 0; i < mod->funcs.len && r == 0; i++)
			if (mod->funcs.at[i] == funcs->at[k])
				r = fuse_one(mod, i);
	return r;
}
