/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes cp.async, bulk copies, mbarrier, and operations between the blocks of a cluster. On the
 * virtual GPU every block is its own cluster. Tensor copies are not supported. */
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
	/* The fourth operand is the size of the source, or the cache policy if the mnemonic has
	 * L2::cache_hint. */
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

/* Returns a register that contains the complete address of an operand. */
static uint32_t whole_address(struct dec *d, const struct ptx_opd *o)
{
	struct vinsn at = {0}, *in;
	uint32_t reg;

	if (!dec_address(d, o, &at) || at.flags & VI_FRAME)
		return VX_NONE;
	reg = dec_new_reg(d, 8);
	in = dec_emit(d, vop_cvta, 0);
	in->a = at.a;
	in->imm = at.imm;
	in->flags = (uint16_t)(VI_PSEUDO | VI_WIDE | (at.flags & VI_ADDR32));
	in->d = reg;
	return reg;
}

/* Decodes bulk copies between global memory and the block's shared memory. Multicast copies and
 * byte masks are not supported. */
static bool dec_bulk(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	uint8_t space[2] = {PTX_GENERIC, PTX_GENERIC};
	bool counted = false, grouped = false, hint = false;
	unsigned n_spaces = 0;
	uint32_t to, from, bytes, bar = VX_NONE;
	struct vinsn *in;

	for (unsigned i = 0; i < mn->n_mods; i++) {
		const char *mod = mn->mods[i];
		bool global = !strcmp(mod, "global");

		if (global || !strcmp(mod, "shared::cta") || !strcmp(mod, "shared::cluster")) {
			if (n_spaces == 2)
				return false;
			space[n_spaces++] = global ? PTX_GLOBAL : PTX_SHARED;
		} else if (!strcmp(mod, "mbarrier::complete_tx::bytes")) {
			counted = true;
		} else if (!strcmp(mod, "bulk_group")) {
			grouped = true;
		} else if (!strcmp(mod, "L2::cache_hint")) {
			hint = true;
		} else if (strcmp(mod, "async") && strcmp(mod, "bulk")) {
			return false;
		}
	}
	/* A copy into shared memory counts its bytes on an mbarrier; a copy out of shared memory
	 * belongs to a bulk group. */
	if (n_spaces != 2 || counted == grouped || grouped != (space[0] == PTX_GLOBAL) ||
		(grouped && space[1] != PTX_SHARED) || d->s->n != 3u + counted + hint)
		return false;
	to = whole_address(d, &o[0]);
	from = to != VX_NONE ? whole_address(d, &o[1]) : VX_NONE;
	bytes = from != VX_NONE ? dec_src(d, &o[2], PTX_U32) : VX_NONE;
	if (counted && bytes != VX_NONE)
		bar = whole_address(d, &o[3]);
	if (bytes == VX_NONE || (counted && bar == VX_NONE))
		return false;
	in = dec_emit(d, vop_bulk, 16);
	in->a = to;
	in->b = from;
	in->c = bytes;
	in->table = bar;
	in->space = space[0];
	in->op = space[1];
	in->x = d->p->n_ranges;
	d->p->n_ranges += 2;
	return true;
}

/* Decodes mapa, which returns the address unchanged, and getctarank, which returns 0. */
static bool dec_rank(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool mapa = mn->op == PTX_OP_mapa;
	uint8_t type = mapa && mn->n_types ? mn->type[0] : PTX_U32;
	uint32_t dst, a, b;
	struct vinsn *in;

	if (d->s->n != (mapa ? 3 : 2) || mn->n_types != 1)
		return false;
	if (!mapa) {
		dst = dec_dst(d, &d->s->opd[0], PTX_U32);
		if (dst == VX_NONE)
			return false;
		in = dec_emit(d, vgpu_vec_find("mov_b32"), 1);
		in->a = dec_const(d, 0, 4);
		in->d = dst;
		return true;
	}
	a = dec_src(d, &d->s->opd[1], type);
	b = dec_src(d, &d->s->opd[2], PTX_U32);
	dst = a != VX_NONE && b != VX_NONE ? dec_dst(d, &d->s->opd[0], type) : VX_NONE;
	if (dst == VX_NONE)
		return false;
	in = dec_emit(d, vop_mapa, 1);
	in->a = a;
	in->b = b;
	in->d = dst;
	in->flags |= ptx_type_bytes(type) == 8 ? VI_WIDE : 0;
	return true;
}

/* Decodes an mbarrier operation with operands d, [a], b, or without d if the form has none. */
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
	case PTX_OP_cp_async_bulk_commit_group:
	case PTX_OP_cp_async_bulk_wait_group:
	case PTX_OP_cp_async_bulk_prefetch:
		dec_emit(d, vop_nop, 1);
		return true;
	case PTX_OP_cp_async_bulk:
		return dec_bulk(d);
	case PTX_OP_cp_async_mbarrier_arrive:
		/* Copies complete at once here, so the arrival that this instruction announces also
		 * happens at once. Without noinc the instruction first increments the pending count
		 * by one, which the arrival decrements again. So nothing remains to be done. */
		if (ptx_has_mod(mn, "noinc"))
			return dec_mbar(d, vop_mbar_arrive, false, 0, PTX_U32);
		dec_emit(d, vop_nop, 1);
		return true;
	case PTX_OP_barrier_cluster:
		if (d->s->n || ptx_has_mod(mn, "arrive") == ptx_has_mod(mn, "wait"))
			return false;
		dec_emit(d, ptx_has_mod(mn, "wait") ? vop_cluster_wait : vop_cluster_arrive, 4);
		return true;
	case PTX_OP_mapa:
	case PTX_OP_getctarank:
		return dec_rank(d);
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
