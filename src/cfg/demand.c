/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds how much of an SM a kernel needs, as far as its text shows: shared memory of the kernel and
 * its callees, the limits on its block size, and an estimate of its registers. */
#include "cfg/cfg_private.h"
#include "ptx/graft.h"

#include <errno.h>
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

	/* Only .reqntid fixes the shape of a block. .maxntid bounds only the product of its three
	 * numbers: 256, 1, 1 allows 16 by 16. */
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

/* ---- registers ---- */

struct weighing {
	const struct ptx_func *f;
	uint8_t *weight; /* for each PTX register: number of 32-bit registers that it takes */
	uint8_t *defs;   /* number of instructions that write the register: 0, 1, or 2 for more */
};

static void count_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct weighing *w = user;

	if (role & PTX_DEF && w->defs[reg] < 2)
		w->defs[reg]++;
}

static bool is_written_once(const struct weighing *w, const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_REG && w->defs[o->reg] == 1;
}

/* Returns true for operands that need no register: constants, addresses of variables and
 * parameters. */
static bool is_free(const struct weighing *w, const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_FLOAT || o->kind == PTX_OPD_SYM ||
	       (is_written_once(w, o) && !w->weight[o->reg]);
}

/* Returns true if ptxas does not keep this result in a register. Instead it uses the value directly
 * as an operand, or recomputes it at each use. */
static bool is_made_again(const struct weighing *w, const struct ptx_stmt *s)
{
	const struct ptx_opd *from = &s->opd[1];

	if (s->guard != PTX_NO_REG || s->n != 2)
		return false;
	switch (s->mn->op) {
	case PTX_OP_mov:
	case PTX_OP_cvta:
		return is_free(w, from);
	case PTX_OP_ld:
		return w->f->is_entry && s->mn->space == PTX_PARAM && from->kind == PTX_OPD_ADDR &&
		       from->list[0].kind == PTX_OPD_SYM;
	/* from 32 to 64 bits: address arithmetic reads the 32-bit register directly */
	case PTX_OP_cvt:
		return s->mn->n_types == 2 &&
		       (s->mn->type[0] == PTX_U64 || s->mn->type[0] == PTX_S64) &&
		       (s->mn->type[1] == PTX_U32 || s->mn->type[1] == PTX_S32);
	default:
		return false;
	}
}

static void weigh_registers(struct weighing *w)
{
	const struct ptx_func *f = w->f;

	for (size_t i = 0; i < f->regs.len; i++) {
		uint8_t base = f->regs.at[i].sym->type.base;

		w->weight[i] = base == PTX_PRED ? 0 : (uint8_t)MAX(ptx_type_bytes(base) / 4, 1u);
	}
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_INSN)
			ptx_visit_regs(f, &f->body.at[i], count_def, w);
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN && s->n && is_written_once(w, &s->opd[0]) &&
			is_made_again(w, s))
			w->weight[s->opd[0].reg] = 0;
	}
}

int cfg_registers(struct arena *a, const struct cfg *g, uint32_t *ret)
{
	struct weighing w = {.f = g->f,
		.weight = arena_zalloc(a, g->f->regs.len + 1),
		.defs = arena_zalloc(a, g->f->regs.len + 1)};
	struct cfg_liveness *l;
	uint32_t peak;
	int r;

	if (!w.weight || !w.defs)
		return -ENOMEM;
	r = cfg_liveness(a, g, &l);
	if (r < 0)
		return r;
	weigh_registers(&w);
	r = cfg_peak(g, l, w.weight, &peak);
	if (r < 0)
		return r;
	/* The factor of 0.85 is there because ptxas moves loads nearer to their uses, so fewer
	 * registers are live at once than in the text. The constant 8 is there because ptxas adds
	 * temporaries and addresses. */
	*ret = (uint32_t)MIN(MAX(round_up((85 * (uint64_t)peak + 99) / 100 + 8, 8), 16u), 255u);
	return 0;
}
