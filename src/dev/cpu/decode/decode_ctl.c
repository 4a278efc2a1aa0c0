/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes calls, branches through a table, barriers, and operations between the lanes of a warp. */
#include "decode.h"

#include <errno.h>
#include <string.h>

/* ---- calls ---- */

static bool dec_copy(struct dec *d, const struct ptx_opd *o, uint8_t type, uint32_t bytes,
	struct vcopy *c, uint32_t *ret_at, bool *ret_reg)
{
	uint64_t at;

	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->space == PTX_PARAM) {
		if (!vplace_get(&d->local, o->sym, &at))
			return false;
		*ret_at = (uint32_t)at;
		*ret_reg = false;
		c->bytes = (uint32_t)MIN(o->sym->bytes, 65536u);
		return true;
	}
	if (o->kind == PTX_OPD_REG)
		type = d->f->regs.at[o->reg].sym->type.base;
	c->is_pred = type == PTX_PRED;
	if (o->kind == PTX_OPD_REG)
		bytes = dec_reg_lane_bytes(d, o->reg);
	*ret_at = dec_src(d, o, c->is_pred ? PTX_PRED : bytes > 4 ? PTX_B64 : PTX_B32);
	*ret_reg = true;
	c->bytes = bytes;
	return *ret_at != VX_NONE;
}

static bool dec_arguments(struct dec *d, struct vcall *c, const struct ptx_opd *rets,
	const struct ptx_opd *args, const struct ptx_func *decl)
{
	c->n_rets = rets ? rets->n : 0;
	c->n_args = args ? args->n : 0;
	c->rets = ARENA_ARRAY(d->a, struct vcopy, c->n_rets + 1);
	c->args = ARENA_ARRAY(d->a, struct vcopy, c->n_args + 1);
	if (!c->rets || !c->args) {
		d->error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < c->n_rets; i++)
		if (!dec_copy(d, &rets->list[i], PTX_NOTYPE, 4, &c->rets[i], &c->rets[i].to,
			    &c->rets[i].to_reg))
			return false;
	for (uint32_t i = 0; i < c->n_args; i++) {
		const struct ptx_sym *p = decl && i < decl->params.len ? decl->params.at[i] : NULL;

		if (p && p->space == PTX_REG && p->type.vec > 1)
			return false;
		if (!dec_copy(d, &args->list[i], p ? p->type.base : PTX_NOTYPE,
			    p ? (uint32_t)MIN(p->bytes, 16u) : 4, &c->args[i], &c->args[i].from,
			    &c->args[i].from_reg))
			return false;
	}
	return true;
}

static vop_fn *find_builtin(const char *name)
{
	static const struct {
		const char *name;
		vop_fn *fn;
	} all[] = {{"vprintf", vop_vprintf}, {"__assertfail", vop_assertfail},
		{"malloc", vop_malloc}, {"free", vop_free}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (!strcmp(all[i].name, name))
			return all[i].fn;
	return NULL;
}

bool dec_call(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd, *rets = NULL, *args = NULL, *target;
	const struct ptx_func *decl = NULL;
	struct vcall c = {0};
	struct vinsn *in;
	unsigned i = 0;
	uint32_t a = 0;

	if (d->s->n && o[0].kind == PTX_OPD_TUPLE)
		rets = &o[i++];
	if (i >= d->s->n)
		return false;
	target = &o[i++];
	if (i < d->s->n && o[i].kind == PTX_OPD_TUPLE)
		args = &o[i++];
	if (target->kind == PTX_OPD_SYM && target->sym && target->sym->kind == PTX_SYM_FUNC) {
		decl = target->sym->func;
		c.name = target->sym->name;
		c.callee = decl ? dec_func(d, decl) : NULL;
		if (c.callee && c.callee->index == 0)
			return false;
		if (!c.callee)
			c.builtin = find_builtin(c.name);
		if (!c.callee && !c.builtin) {
			dec_emit(d, vop_missing, 1)->x = (uint32_t)d->calls.len;
			if (!VEC_PUSH(&d->calls, c))
				d->error = -ENOMEM;
			return true;
		}
	} else {
		a = dec_src(d, target, PTX_U64);
		if (a == VX_NONE)
			return false;
	}
	if (!dec_arguments(d, &c, rets, args, decl))
		return false;
	in = dec_emit(d, c.builtin ? c.builtin : d->conv.n ? vop_part_call : vop_call, 4);
	in->a = a;
	in->x = (uint32_t)d->calls.len;
	if (!VEC_PUSH(&d->calls, c))
		d->error = -ENOMEM;
	if (!c.builtin) {
		d->guard = d->guard_xor = 0;
		dec_emit(d, d->conv.n ? vop_meet : vop_join, 0)->flags = VI_PSEUDO;
	}
	return true;
}

bool dec_brx(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd, *list;
	uint32_t n, a, from = (uint32_t)d->targets.len;
	struct vinsn *in;

	if (d->s->n != 2)
		return false;
	if (o[1].kind == PTX_OPD_SYM && o[1].sym) {
		list = o[1].sym->targets;
		n = o[1].sym->n_targets;
	} else if (o[1].kind == PTX_OPD_VECTOR) {
		list = o[1].list;
		n = o[1].n;
	} else {
		return false;
	}
	a = dec_src(d, &o[0], PTX_U32);
	if (a == VX_NONE || !list)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t b = list[i].kind == PTX_OPD_SYM ? dec_block_of(d, list[i].sym) : VX_NONE;

		if (b == VX_NONE)
			return false;
		if (!VEC_PUSH(&d->targets, b))
			d->error = -ENOMEM;
	}
	in = dec_emit(d, vop_brx, 4);
	if (dec_waits(d, &in->table))
		in->fn = vop_part_brx;
	in->a = a;
	in->imm = n;
	in->x = from;
	return true;
}

/* ---- barriers ---- */

bool dec_bar(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	bool red = ptx_has_mod(mn, "red"), neg = false;
	unsigned i = red ? 1 : 0, n = d->s->n;
	struct vinsn to = {.b = VX_NONE, .c = VX_NONE}, *in;

	if (mn->op != PTX_OP_bar && mn->op != PTX_OP_barrier)
		return false;
	if (n < i + (red ? 2u : 0u))
		return false;
	if (red) {
		bool popc = ptx_has_mod(mn, "popc");

		to.op = popc ? VBAR_POPC : ptx_has_mod(mn, "and") ? VBAR_AND : VBAR_OR;
		to.d = dec_dst(d, &o[0], popc ? PTX_U32 : PTX_PRED);
		to.c = dec_pred(d, &o[--n], &neg);
		if (to.d == VX_NONE || to.c == VX_NONE)
			return false;
	} else if (ptx_has_mod(mn, "arrive")) {
		to.op = VBAR_ARRIVE;
	}
	to.a = n > i ? dec_src(d, &o[i], PTX_U32) : dec_const(d, 0, 4);
	if (n > i + 1) {
		to.b = dec_src(d, &o[i + 1], PTX_U32);
		if (to.b == VX_NONE)
			return false;
	}
	if (to.a == VX_NONE)
		return false;
	in = dec_emit(d, vop_bar, 4);
	in->op = to.op;
	in->d = to.d;
	in->a = to.a;
	in->b = to.b;
	in->c = to.c;
	in->imm = neg | (mn->op == PTX_OP_bar || ptx_has_mod(mn, "aligned") ? 2 : 0);
	return true;
}

/* ---- operations between the lanes of a warp ---- */

static int redux_op(const struct ptx_mnem *mn)
{
	bool is_signed = mn->n_types && mn->type[0] == PTX_S32;

	if (ptx_has_mod(mn, "add"))
		return VS_REDUX_ADD;
	if (ptx_has_mod(mn, "min"))
		return is_signed ? VS_REDUX_MIN_S : VS_REDUX_MIN_U;
	if (ptx_has_mod(mn, "max"))
		return is_signed ? VS_REDUX_MAX_S : VS_REDUX_MAX_U;
	return ptx_has_mod(mn, "and")   ? VS_REDUX_AND
	       : ptx_has_mod(mn, "or")  ? VS_REDUX_OR
	       : ptx_has_mod(mn, "xor") ? VS_REDUX_XOR
					: -1;
}

/* Decodes the destination: d or d|p. */
static bool dec_dests(struct dec *d, const struct ptx_opd *o, struct vinsn *to, uint8_t type)
{
	to->x = VX_NONE;
	if (o->kind == PTX_OPD_PAIR && o->n == 2) {
		if (o->list[1].kind != PTX_OPD_SINK) {
			to->x = dec_dst(d, &o->list[1], PTX_PRED);
			if (to->x == VX_NONE)
				return false;
		}
		o = &o->list[0];
	}
	to->d = o->kind == PTX_OPD_SINK ? VX_NONE : dec_dst(d, o, type);
	return o->kind == PTX_OPD_SINK || to->d != VX_NONE;
}

static bool emit_sync(struct dec *d, const struct vinsn *to, const struct ptx_opd *member)
{
	uint32_t mask = member ? dec_src(d, member, PTX_B32) : dec_const(d, ~0u, 4);
	struct vinsn *in;

	if (mask == VX_NONE)
		return false;
	in = dec_emit(d, vop_sync, to->op == VS_WARP_BAR ? 1 : 4);
	in->op = to->op;
	in->d = to->d;
	in->a = to->a;
	in->b = to->b;
	in->c = to->c;
	in->x = to->x;
	in->vec = to->vec;
	in->size = to->size;
	in->round = to->round;
	in->imm = mask;
	return true;
}

void dec_warp_meets(struct dec *d)
{
	const struct vinsn to = {.op = VS_WARP_BAR, .d = VX_NONE, .x = VX_NONE};

	emit_sync(d, &to, NULL);
}

static bool dec_shfl(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.vec = 4};

	to.op = ptx_has_mod(mn, "up")     ? VS_SHFL_UP
		: ptx_has_mod(mn, "down") ? VS_SHFL_DOWN
		: ptx_has_mod(mn, "bfly") ? VS_SHFL_BFLY
					  : VS_SHFL_IDX;
	/* shfl without .sync (old code) is refused. The lanes that take part in it are those that
	 * are active at that moment, so its result is certain only in a warp that has not
	 * diverged. */
	if (d->s->n != (ptx_has_mod(mn, "sync") ? 5 : 4) || !ptx_has_mod(mn, "sync") ||
		!dec_dests(d, &o[0], &to, PTX_B32))
		return false;
	to.a = dec_src(d, &o[1], PTX_B32);
	to.b = dec_src(d, &o[2], PTX_B32);
	to.c = dec_src(d, &o[3], PTX_B32);
	if (to.a == VX_NONE || to.b == VX_NONE || to.c == VX_NONE || !emit_sync(d, &to, &o[4]) ||
		!d->code.len)
		return false;
	if (o[2].kind == PTX_OPD_IMM && o[3].kind == PTX_OPD_IMM && o[4].kind == PTX_OPD_IMM &&
		(uint32_t)o[4].value == ~0u) {
		uint32_t table[LANES + 1];

		vx_shfl_table(to.op, (uint32_t)o[2].value, (uint32_t)o[3].value, table);
		d->code.at[d->code.len - 1].table = dec_ext(d, table, LANES + 1);
		d->code.at[d->code.len - 1].flags |= VI_TABLE;
	}
	return true;
}

static bool dec_vote(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.x = VX_NONE};
	bool neg;

	to.op = ptx_has_mod(mn, "all")   ? VS_VOTE_ALL
		: ptx_has_mod(mn, "any") ? VS_VOTE_ANY
		: ptx_has_mod(mn, "uni") ? VS_VOTE_UNI
					 : VS_VOTE_BALLOT;
	if (d->s->n != 3 || !ptx_has_mod(mn, "sync"))
		return false;
	to.size = to.op != VS_VOTE_BALLOT;
	to.d = dec_dst(d, &o[0], to.size ? PTX_PRED : PTX_B32);
	to.a = dec_pred(d, &o[1], &neg);
	to.round = neg;
	if (to.d == VX_NONE || to.a == VX_NONE)
		return false;
	return emit_sync(d, &to, &o[2]);
}

static bool dec_match(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {0};

	if (d->s->n != 3 || !mn->n_types || !dec_dests(d, &o[0], &to, PTX_B32))
		return false;
	to.op = ptx_has_mod(mn, "all") ? VS_MATCH_ALL : VS_MATCH_ANY;
	to.vec = (uint8_t)ptx_type_bytes(mn->type[0]);
	to.a = dec_src(d, &o[1], mn->type[0]);
	if (to.a == VX_NONE)
		return false;
	return emit_sync(d, &to, &o[2]);
}

static bool dec_redux(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.x = VX_NONE, .vec = 4};
	int op = redux_op(d->s->mn);

	if (d->s->n != 3 || op < 0 || !d->s->mn->n_types || d->s->mn->type[0] == PTX_F32)
		return false;
	to.op = (uint8_t)op;
	to.d = dec_dst(d, &o[0], PTX_B32);
	to.a = dec_src(d, &o[1], PTX_B32);
	if (to.d == VX_NONE || to.a == VX_NONE)
		return false;
	return emit_sync(d, &to, &o[2]);
}

bool dec_sync(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.x = VX_NONE, .op = VS_WARP_BAR}, *in;

	switch (d->s->mn->op) {
	case PTX_OP_shfl:
		return dec_shfl(d);
	case PTX_OP_vote:
		return dec_vote(d);
	case PTX_OP_match:
		return dec_match(d);
	case PTX_OP_redux:
		return dec_redux(d);
	case PTX_OP_elect:
		to.op = VS_ELECT;
		return d->s->n == 2 && dec_dests(d, &o[0], &to, PTX_B32) &&
		       emit_sync(d, &to, &o[1]);
	case PTX_OP_bar_warp:
		return d->s->n <= 1 && emit_sync(d, &to, d->s->n ? &o[0] : NULL);
	case PTX_OP_activemask:
		to.d = d->s->n == 1 ? dec_dst(d, &o[0], PTX_B32) : VX_NONE;
		if (to.d == VX_NONE)
			return false;
		in = dec_emit(d, vop_activemask, 1);
		in->d = to.d;
		return true;
	default:
		return false;
	}
}
