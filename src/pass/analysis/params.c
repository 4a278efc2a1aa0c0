/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parameters of an entry: computes their layout (in order, each at its natural or declared
 * alignment), and finds the statements that use them. */
#include "pass/analysis/params.h"

#include <errno.h>

static uint32_t param_align(const struct ptx_sym *p)
{
	uint32_t natural = ptx_type_bytes(p->type.base) * MAX(p->type.vec, 1u);

	return p->align ? p->align : MAX(natural, 1u);
}

/* Returns the size of a parameter. Opaque types such as .texref are 64-bit handles. */
static uint32_t param_bytes(const struct ptx_sym *p)
{
	return p->bytes ? (uint32_t)p->bytes : 8;
}

int pass_param_layout(const struct ptx_func *f, uint32_t *ret_bytes, uint32_t *ret_offsets,
	uint32_t *ret_sizes, uint32_t max)
{
	uint64_t end = 0;

	for (size_t i = 0; i < f->params.len; i++) {
		const struct ptx_sym *p = f->params.at[i];

		end = round_up(end, param_align(p));
		if (i < max && ret_offsets)
			ret_offsets[i] = (uint32_t)end;
		if (i < max && ret_sizes)
			ret_sizes[i] = param_bytes(p);
		end += param_bytes(p);
		if (end > UINT32_MAX)
			return -E2BIG;
	}
	*ret_bytes = (uint32_t)end;
	return 0;
}

/* ---- how statements use parameters ---- */
static const struct ptx_sym *find_param(const struct ptx_func *f, const struct ptx_sym *sym)
{
	for (size_t i = 0; i < f->params.len; i++)
		if (f->params.at[i] == sym)
			return sym;
	return NULL;
}

struct naming {
	const struct ptx_func *f;
	const struct ptx_sym *found;
};

static void note_named_param(void *user, struct ptx_opd *o)
{
	struct naming *n = user;

	if (o->kind == PTX_OPD_SYM && o->sym && find_param(n->f, o->sym))
		n->found = o->sym;
}

static const struct ptx_sym *named_param(const struct ptx_func *f, const struct ptx_stmt *s)
{
	struct naming n = {f, NULL};
	struct ptx_stmt copy = *s;

	ptx_visit_opds(&copy, note_named_param, &n);
	return n.found;
}

bool pass_loads_param(const struct ptx_func *f, const struct ptx_stmt *s)
{
	const struct ptx_opd *at = s->n > 1 ? &s->opd[1] : NULL;

	return s->mn->op == PTX_OP_ld && s->mn->space == PTX_PARAM && at &&
	       at->kind == PTX_OPD_ADDR && at->n &&
	       (at->list[0].kind == PTX_OPD_REG ||
		       (at->list[0].kind == PTX_OPD_SYM && find_param(f, at->list[0].sym)));
}

bool pass_takes_param_address(const struct ptx_func *f, const struct ptx_stmt *s)
{
	if (s->n != 2 || s->opd[0].kind != PTX_OPD_REG)
		return false;
	if (s->mn->op == PTX_OP_cvta && ptx_has_mod(s->mn, "param"))
		return s->opd[1].kind == PTX_OPD_REG || s->opd[1].kind == PTX_OPD_SYM;
	return s->mn->op == PTX_OP_mov && s->mn->n_types && ptx_type_bytes(s->mn->type[0]) == 8 &&
	       s->opd[1].kind == PTX_OPD_SYM && find_param(f, s->opd[1].sym);
}

const struct ptx_sym *pass_odd_param(const struct ptx_func *f, const struct ptx_stmt *s)
{
	if (s->kind != PTX_INSN || pass_loads_param(f, s) || pass_takes_param_address(f, s))
		return NULL;
	return named_param(f, s);
}

bool pass_knows_param_space(const struct ptx_func *f, const struct ptx_stmt *s)
{
	const struct ptx_opd *at = s->kind == PTX_INSN && s->n > 1 ? &s->opd[1] : NULL;

	if (!at)
		return false;
	if (s->mn->op == PTX_OP_isspacep)
		return ptx_has_mod(s->mn, "param") || ptx_has_mod(s->mn, "param::entry");
	return !f->is_entry && s->mn->op == PTX_OP_ld && s->mn->space == PTX_PARAM &&
	       at->kind == PTX_OPD_ADDR && at->n && at->list[0].kind == PTX_OPD_REG;
}
