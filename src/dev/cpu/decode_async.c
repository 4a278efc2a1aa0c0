/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* cp.async and mbarrier. Bulk and tensor copies are not known. */
#include "decode.h"

#include <string.h>

static bool dec_copy(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.c = VX_NONE}, from = {0}, *in;
	uint32_t b;

	if (d->s->n < 3 || !o[2].has_value || !dec_address(d, &o[0], &to) ||
		!dec_address(d, &o[1], &from))
		return false;
	if (o[2].value != 4 && o[2].value != 8 && o[2].value != 16)
		return false;
	/* A fourth operand is the source's size; with a cache hint it is the policy. */
	if (d->s->n == 5 || (d->s->n == 4 && !ptx_has_mod(d->s->mn, "L2::cache_hint"))) {
		if (o[3].kind == PTX_OPD_REG && d->f->regs.at[o[3].reg].sym->type.base == PTX_PRED)
			return false;
		to.c = dec_src(d, &o[3], PTX_U32);
		if (to.c == VX_NONE)
			return false;
	}
	b = dec_new_reg(d, 8);
	in = dec_emit(d, vop_cvta, 0);
	in->a = from.a;
	in->imm = from.imm;
	in->flags = (uint16_t)(VI_PSEUDO | VI_WIDE | (from.flags & VI_ADDR32));
	in->d = b;
	in = dec_emit(d, vop_cp_async, 8);
	in->a = to.a;
	in->imm = to.imm;
	in->flags |= to.flags;
	in->space = PTX_SHARED;
	in->b = b;
	in->c = to.c;
	in->vec = (uint8_t)o[2].value;
	in->x = d->p->n_ranges;
	d->p->n_ranges += 2;
	return true;
}

/* d, [a], b; without d where the form has none. */
static bool dec_mbar(struct dec *d, vop_fn *fn, bool has_dest, uint8_t dest, uint8_t source)
{
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.d = VX_NONE}, *in;
	unsigned k = has_dest ? 1 : 0;

	if (d->s->n < k + 1 || !dec_address(d, &o[k], &to))
		return false;
	if (has_dest && o[0].kind != PTX_OPD_SINK) {
		to.d = dec_dst(d, &o[0], dest);
		if (to.d == VX_NONE)
			return false;
	}
	to.b = d->s->n > k + 1 ? dec_src(d, &o[k + 1], source) : dec_const(d, 1, 4);
	if (to.b == VX_NONE)
		return false;
	in = dec_emit(d, fn, 8);
	in->a = to.a;
	in->b = to.b;
	in->d = to.d;
	in->imm = to.imm;
	in->flags |= to.flags;
	in->space = d->s->mn->space;
	in->x = d->p->n_ranges++;
	return true;
}

static void last_op(struct dec *d, uint8_t op)
{
	if (d->code.len)
		d->code.at[d->code.len - 1].op = op;
}

bool dec_async(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool ok, parity = ptx_has_mod(mn, "parity");
	struct vinsn *in;
	uint32_t a, dst;

	switch (mn->op) {
	case PTX_OP_cp_async:
		return dec_copy(d);
	case PTX_OP_cp_async_commit_group:
	case PTX_OP_cp_async_wait_group:
	case PTX_OP_cp_async_wait_all:
		dec_emit(d, vop_nop, 1);
		return true;
	case PTX_OP_mbarrier_init:
		return dec_mbar(d, vop_mbar_init, false, 0, PTX_U32);
	case PTX_OP_mbarrier_inval:
		return dec_mbar(d, vop_mbar_inval, false, 0, PTX_U32);
	case PTX_OP_mbarrier_arrive:
	case PTX_OP_mbarrier_arrive_drop:
		ok = dec_mbar(d, vop_mbar_arrive, true, PTX_B64, PTX_U32);
		last_op(d, (uint8_t)((mn->op == PTX_OP_mbarrier_arrive_drop) |
				     (ptx_has_mod(mn, "expect_tx") ? 2 : 0)));
		return ok;
	case PTX_OP_mbarrier_expect_tx:
	case PTX_OP_mbarrier_complete_tx:
		ok = dec_mbar(d, vop_mbar_expect, false, 0, PTX_U32);
		last_op(d, mn->op == PTX_OP_mbarrier_complete_tx);
		return ok;
	case PTX_OP_mbarrier_test_wait:
	case PTX_OP_mbarrier_try_wait:
		ok = dec_mbar(d, vop_mbar_wait, true, PTX_PRED, parity ? PTX_U32 : PTX_B64);
		last_op(d, parity);
		return ok;
	case PTX_OP_mbarrier_pending_count:
		a = d->s->n == 2 ? dec_src(d, &d->s->opd[1], PTX_B64) : VX_NONE;
		dst = a != VX_NONE ? dec_dst(d, &d->s->opd[0], PTX_U32) : VX_NONE;
		if (dst == VX_NONE)
			return false;
		in = dec_emit(d, vop_mbar_pending, 1);
		in->a = a;
		in->d = dst;
		return true;
	default:
		return false;
	}
}
