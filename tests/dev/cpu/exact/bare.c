/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of bare.h. */
#include "bare.h"

#include <errno.h>
#include <string.h>

#include "dev/cpu/exec/exec_ctl.h"

int bare_open(struct bare *ret)
{
	struct bare b = {0};

	if (vgpu_mem_create(1 << 28, &b.mem) != 0)
		return -ENOMEM;
	if (vgpu_mem_alloc(b.mem, FORM_IN * 8, &b.in) != 0 ||
		vgpu_mem_alloc(b.mem, FORM_OUT * 8, &b.out) != 0) {
		vgpu_mem_destroy(b.mem);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void bare_close(struct bare *b)
{
	vgpu_mem_destroy(b->mem);
}

struct vgpu_module *bare_load(struct bare *b, const struct strbuf *text)
{
	static struct diag_list diags;
	struct vgpu_module *m = NULL;
	struct arena a;

	arena_init(&a, 0);
	diag_init(&diags, &a, "forms", text->at, text->len);
	if (vgpu_module_load(b->mem, text->at, text->len, &diags, &m) != 0)
		m = NULL;
	arena_finish(&a);
	return m;
}

bool bare_knows(const struct vgpu_kernel *k, struct vprogram **ret)
{
	if (!k || vgpu_program_of(k, ret) != 0)
		return false;
	const struct vfunc *fn = &(*ret)->funcs[0];
	for (uint32_t i = 0; i < fn->n_code; i++)
		if (fn->code[i].fn == vop_unknown)
			return false;
	return true;
}

int bare_launch(struct bare *b, const struct vgpu_kernel *k, unsigned blocks, unsigned threads,
	struct grid_result *ret)
{
	u64 params[2] = {b->in, b->out};
	struct vgpu_launch l = {.kernel = k,
		.grid = {blocks, 1, 1},
		.block = {threads, 1, 1},
		.params = params,
		.n_sms = 1};

	memset((void *)(uintptr_t)b->out, 0, FORM_OUT * 8);
	return vgpu_run_grid(&l, 100000, 0, ret);
}

int bare_run(
	struct bare *b, const struct form *f, const struct vgpu_kernel *k, struct grid_result *ret)
{
	form_fill(f, (u64 *)(uintptr_t)b->in);
	return bare_launch(b, k, FORM_N / FORM_THREADS, FORM_THREADS, ret);
}
