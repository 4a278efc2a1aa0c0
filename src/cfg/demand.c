/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a kernel asks of an SM as far as its text says: shared memory of the kernel and of all that
 * it calls, and the bounds on its block. */
#include "cfg/cfg_private.h"
#include "ptx/graft.h"

#include <stdlib.h>
#include <string.h>

struct shared_use {
	struct cfg_demand *d;
	VEC(const struct ptx_sym *) vars;
};

static void add_var(struct shared_use *u, const struct ptx_sym *v)
{
	uint32_t align = v->align ? v->align : MAX(ptx_type_bytes(v->type.base), 1u);

	for (size_t i = 0; i < u->vars.len; i++)
		if (u->vars.at[i] == v)
			return;
	if (!VEC_PUSH(&u->vars, v))
		return;
	if ((v->linkage & PTX_EXTERN) && v->bytes == 0) {
		u->d->dynamic_shared = true;
		return;
	}
	u->d->static_shared_bytes = round_up(u->d->static_shared_bytes, align) + v->bytes;
}

static void visit_operand(void *user, struct ptx_opd *o)
{
	struct shared_use *u = user;

	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_VAR &&
		o->sym->space == PTX_SHARED)
		add_var(u, o->sym);
}

bool cfg_blocks_1d(const struct ptx_func *f)
{
	struct ptx_bounds b;

	/* .maxntid bounds only the product of its three numbers: 256, 1, 1 allows 16 by 16. */
	ptx_bounds_get(f, &b);
	return b.reqntid[0] && b.reqntid[1] <= 1 && b.reqntid[2] <= 1;
}

void cfg_demand(const struct ptx_module *m, const struct ptx_func *f, struct cfg_demand *ret)
{
	struct shared_use u = {.d = ret};
	ptx_func_list funcs = {0};

	*ret = (struct cfg_demand){0};
	(void)ptx_reached(m, f, &funcs);
	for (size_t i = 0; i < funcs.len; i++) {
		const struct ptx_func *at = funcs.at[i];

		for (size_t k = 0; k < at->body.len; k++) {
			struct ptx_stmt s = at->body.at[k];

			if (s.kind == PTX_DECL && s.sym->kind == PTX_SYM_VAR &&
				s.sym->space == PTX_SHARED)
				add_var(&u, s.sym);
			ptx_visit_opds(&s, visit_operand, &u);
		}
	}
	VEC_FREE(&u.vars);
	VEC_FREE(&funcs);
}
