/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes memory instructions. A load of a kernel parameter at a fixed offset reads the launch's
 * parameter buffer directly (ld_param). The .param variables of calls and of device functions are
 * in the frame's local memory. */
#include "decode.h"
#include "dev/cpu/exec/weak.h"

#include <stdio.h>
#include <string.h>

/* Decodes base register, offset and kind of an address operand. */
bool dec_address(struct dec *d, const struct ptx_opd *o, struct vinsn *to)
{
	const struct ptx_opd *base;
	uint64_t at;
	bool frame;

	if (o->kind != PTX_OPD_ADDR || o->n < 1)
		return false;
	base = &o->list[0];
	to->imm = o->has_value ? o->value : 0;
	if (base->kind == PTX_OPD_REG) {
		to->a = dec_src(d, base, PTX_B64);
		if (dec_reg_lane_bytes(d, base->reg) == 4)
			to->flags |= VI_ADDR32;
		return to->a != VX_NONE;
	}
	if (base->kind == PTX_OPD_IMM && base->has_value) {
		to->a = dec_const(d, base->value, 8);
		return true;
	}
	if (base->kind != PTX_OPD_SYM || !base->sym || !dec_sym_addr(d, base->sym, &at, &frame))
		return false;
	to->a = dec_const(d, at + (base->has_value ? base->value : 0), 8);
	if (frame)
		to->flags |= VI_FRAME;
	return true;
}

/* Returns the state space that an access really uses. In two cases an access to .param is an access
 * to local memory:
 * - to a .param variable of a device function or of a call
 * - through a register in a device function */
static uint8_t real_space(struct dec *d, const struct ptx_opd *o)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool formal_of_kernel = d->is_entry && o->kind == PTX_OPD_ADDR && o->n &&
				(o->list[0].kind != PTX_OPD_SYM || !o->list[0].sym ||
					o->list[0].sym->kind == PTX_SYM_PARAM);

	if (mn->space != PTX_PARAM)
		return mn->space;
	return formal_of_kernel ? PTX_PARAM : PTX_LOCAL;
}

static bool is_ordered(const struct ptx_mnem *mn)
{
	return ptx_has_mod(mn, "volatile") || ptx_has_mod(mn, "relaxed") ||
	       ptx_has_mod(mn, "acquire") || ptx_has_mod(mn, "release") || ptx_has_mod(mn, "mmio");
}

/* Returns the flags for the memory ordering of an operation towards other blocks. */
static uint16_t order_flags(const struct ptx_mnem *mn)
{
	bool both = ptx_has_mod(mn, "acq_rel") || ptx_has_mod(mn, "sc") || mn->op == PTX_OP_membar;

	if (ptx_has_mod(mn, "cta"))
		return 0;
	return (uint16_t)((both || ptx_has_mod(mn, "acquire") ? VI_ACQUIRE : 0) |
			  (both || ptx_has_mod(mn, "release") ? VI_RELEASE : 0));
}

/* Replaces the handler by the one for weak memory, if memory is weak. */
static void take_weak(const struct ptx_mnem *mn, struct vinsn *to, vop_fn *fn)
{
	if (!weak_on() || (to->space != PTX_GLOBAL && to->space != PTX_GENERIC) ||
		to->flags & VI_FRAME)
		return;
	to->fn = fn;
	to->flags &= (uint16_t) ~(VI_ACQUIRE | VI_RELEASE);
	to->flags |= order_flags(mn);
}

/* Adds the components of a register declared as a vector, one after another. */
static bool dec_whole_vector(struct dec *d, const struct ptx_opd *o, struct vinsn *to)
{
	uint32_t n = dec_vector_size(d, o), part[8];

	if (n > 8 || d->s->mn->vec != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		part[i] = dec_part(d, o->reg, i);
	to->vec = (uint8_t)n;
	to->c = dec_ext(d, part, n);
	to->d = part[0];
	return true;
}

/* Sets the registers of the data operand: a single one in to->d, several in func->ext. */
static bool dec_data(struct dec *d, const struct ptx_opd *o, struct vinsn *to, bool is_load)
{
	uint8_t rt = to->size > 4 ? PTX_B64 : PTX_B32;
	uint32_t part[8];

	to->vec = 1;
	if (o->kind == PTX_OPD_VECTOR || o->kind == PTX_OPD_REG) {
		const struct ptx_opd *first = o->kind == PTX_OPD_VECTOR ? o->list : o;

		for (uint32_t i = 0; i < (o->kind == PTX_OPD_VECTOR ? o->n : 1u); i++) {
			if (first[i].kind == PTX_OPD_REG &&
				dec_reg_lane_bytes(d, first[i].reg) == 8)
				to->flags |= VI_WIDE;
		}
	}
	if (to->size > 4)
		to->flags |= VI_WIDE;
	if (dec_vector_size(d, o))
		return dec_whole_vector(d, o, to);
	if (o->kind != PTX_OPD_VECTOR) {
		if (d->s->mn->vec > 1)
			return false;
		to->d = is_load ? dec_dst(d, o, rt) : dec_src(d, o, rt);
		return to->d != VX_NONE;
	}
	if (o->n < 1 || o->n > 8)
		return false;
	for (uint32_t i = 0; i < o->n; i++) {
		bool sink = o->list[i].kind == PTX_OPD_SINK;

		part[i] = sink ? VX_NONE : dec_src(d, &o->list[i], rt);
		if (part[i] == VX_NONE && !(sink && is_load))
			return false;
		/* All elements must be equally wide. */
		if (to->flags & VI_WIDE && o->list[i].kind == PTX_OPD_REG &&
			dec_reg_lane_bytes(d, o->list[i].reg) != 8)
			return false;
	}
	to->vec = (uint8_t)o->n;
	to->c = dec_ext(d, part, o->n);
	to->d = part[0];
	return true;
}

/* Decodes a load of a kernel parameter from a constant offset. */
static bool dec_ld_param(struct dec *d, struct vinsn *to, const struct ptx_opd *addr)
{
	uint64_t at;
	bool frame;

	if (to->space != PTX_PARAM || addr->list[0].kind != PTX_OPD_SYM ||
		!dec_sym_addr(d, addr->list[0].sym, &at, &frame))
		return false;
	at += addr->has_value ? addr->value : 0;
	if (at + (uint64_t)to->size * to->vec > d->k->info.param_bytes || at % to->size)
		return false;
	to->imm = at;
	to->fn = vgpu_vec_find("ld_param");
	to->cost = 1;
	return true;
}

static unsigned access_cost(uint8_t space)
{
	return space == PTX_GLOBAL || space == PTX_GENERIC || space == PTX_LOCAL ? 8
	       : space == PTX_SHARED                                             ? 4
										 : 2;
}

static void choose_handler(struct vinsn *in, bool is_load)
{
	const char *space = in->space == PTX_SHARED ? "shared" : "global";
	bool whole = in->vec == 1 && ((in->size == 4 && !(in->flags & VI_WIDE)) || in->size == 8);
	char key[32];

	snprintf(key, sizeof(key), "%s", is_load ? "ld" : "st");
	if (in->flags & VI_STRONG)
		snprintf(key, sizeof(key), "%s_strong", is_load ? "ld" : "st");
	else if (in->space != PTX_LOCAL && in->space != PTX_PARAM && !(in->flags & VI_FRAME) &&
		 (in->space == PTX_SHARED || !(in->flags & VI_ADDR32)))
		snprintf(key, sizeof(key), "%s_%s%s", is_load ? "ld" : "st", space,
			!whole          ? "_any"
			: in->size == 8 ? "_u64"
					: "_u32");
	in->fn = vgpu_vec_find(key);
}

static bool dec_access(struct dec *d, bool is_load)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd, *addr = &o[is_load ? 1 : 0];
	uint8_t t = mn->n_types ? mn->type[mn->n_types - 1] : PTX_NOTYPE;
	struct vinsn to = {0}, *in;

	if (d->s->n < 2 || !ptx_type_bytes(t) || t == PTX_B128)
		return false;
	to.size = (uint8_t)ptx_type_bytes(t);
	to.space = real_space(d, addr);
	if (t >= PTX_S8 && t <= PTX_S64)
		to.flags |= VI_SIGNED;
	if (is_ordered(mn))
		to.flags |= VI_STRONG;
	if (ptx_has_mod(mn, "acquire"))
		to.flags |= VI_ACQUIRE;
	if (ptx_has_mod(mn, "release"))
		to.flags |= VI_RELEASE;
	if (!dec_address(d, addr, &to) || !dec_data(d, &o[is_load ? 0 : 1], &to, is_load))
		return false;
	to.cost = (uint8_t)(access_cost(to.space) + to.vec);
	if (!is_load || !dec_ld_param(d, &to, addr))
		choose_handler(&to, is_load);
	take_weak(mn, &to, is_load ? vop_ld_weak : vop_st_weak);
	to.x = d->p->n_ranges++;
	to.guard = d->guard;
	to.guard_xor = d->guard_xor;
	to.line = d->s->line;
	in = dec_emit(d, to.fn, 0);
	*in = to;
	return to.fn != NULL;
}

/* ---- atomics ---- */

static int atom_op(const struct ptx_mnem *mn)
{
	static const struct {
		const char *name;
		uint8_t op;
	} all[] = {{"add", VA_ADD}, {"min", VA_MIN}, {"max", VA_MAX}, {"inc", VA_INC},
		{"dec", VA_DEC}, {"and", VA_AND}, {"or", VA_OR}, {"xor", VA_XOR}, {"exch", VA_EXCH},
		{"cas", VA_CAS}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (ptx_has_mod(mn, all[i].name))
			return all[i].op;
	return -1;
}

/* Decodes an atomic operation into these fields of the instruction:
 * - d: the register of the result, or VX_NONE
 * - b: the value; for cas, the value to compare with
 * - c: for cas, the new value
 * - round: the type */
static bool dec_atom(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool red = mn->op == PTX_OP_red;
	const struct ptx_opd *o = d->s->opd;
	uint8_t t = mn->n_types ? mn->type[mn->n_types - 1] : PTX_NOTYPE;
	struct vinsn to = {.d = VX_NONE}, *in;
	int op = atom_op(mn);
	unsigned k = red ? 0 : 1;

	if (op < 0 || !ptx_type_bytes(t) || mn->vec > 1 || d->s->n < k + (op == VA_CAS ? 3u : 2u))
		return false;
	to.size = (uint8_t)ptx_type_bytes(t);
	to.vec = 1;
	to.round = t;
	to.op = (uint8_t)op;
	to.space = real_space(d, &o[k]);
	if (!dec_address(d, &o[k], &to))
		return false;
	if (!red && o[0].kind != PTX_OPD_SINK)
		to.d = dec_dst(d, &o[0], t);
	to.b = dec_src(d, &o[k + 1], t);
	to.c = op == VA_CAS ? dec_src(d, &o[k + 2], t) : 0;
	if (to.b == VX_NONE || to.c == VX_NONE ||
		(!red && o[0].kind != PTX_OPD_SINK && to.d == VX_NONE))
		return false;
	to.cost = to.space == PTX_SHARED ? 8 : 16;
	to.fn = vop_atom;
	take_weak(mn, &to, vop_atom_weak);
	to.x = d->p->n_ranges++;
	to.guard = d->guard;
	to.guard_xor = d->guard_xor;
	to.line = d->s->line;
	in = dec_emit(d, to.fn, 0);
	*in = to;
	return true;
}

/* ---- addresses ---- */

static uint64_t window_of(uint8_t space)
{
	switch (space) {
	case PTX_SHARED:
		return VGPU_SHARED_BASE;
	case PTX_LOCAL:
		return VGPU_LOCAL_BASE;
	case PTX_PARAM:
		return VGPU_PARAM_BASE;
	default:
		return 0;
	}
}

static bool dec_cvta(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	uint8_t space = mn->space == PTX_PARAM && !d->is_entry ? PTX_LOCAL : mn->space;
	struct vinsn *in;
	uint32_t a, dst;

	if (d->s->n != 2)
		return false;
	a = dec_src(d, &o[1], PTX_U64);
	dst = dec_dst(d, &o[0], PTX_U64);
	if (a == VX_NONE || dst == VX_NONE)
		return false;
	in = dec_emit(d, window_of(space) ? vop_cvta : vgpu_vec_find("mov_b64"), 1);
	in->a = a;
	in->d = dst;
	in->imm = ptx_has_mod(mn, "to") ? 0 - window_of(space) : window_of(space);
	in->flags |= VI_WIDE;
	if (o[1].kind == PTX_OPD_REG && dec_reg_lane_bytes(d, o[1].reg) == 4) {
		in->fn = vop_cvta;
		in->flags |= VI_ADDR32;
	}
	if (o[0].kind == PTX_OPD_REG && dec_reg_lane_bytes(d, o[0].reg) == 4) {
		in->fn = vop_cvta;
		in->flags &= (uint16_t)~VI_WIDE;
	}
	return true;
}

static bool dec_isspacep(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	struct vinsn *in;
	uint32_t a, dst;

	if (d->s->n != 2)
		return false;
	a = dec_src(d, &o[1], PTX_U64);
	dst = dec_dst(d, &o[0], PTX_PRED);
	if (a == VX_NONE || dst == VX_NONE)
		return false;
	in = dec_emit(d, vop_isspacep, 1);
	in->a = a;
	in->d = dst;
	in->space = d->s->mn->space;
	if (o[1].kind == PTX_OPD_REG && dec_reg_lane_bytes(d, o[1].reg) == 4)
		in->flags |= VI_ADDR32;
	return true;
}

bool dec_mem(struct dec *d)
{
	switch (d->s->mn->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
		return dec_access(d, true);
	case PTX_OP_st:
		return dec_access(d, false);
	case PTX_OP_atom:
	case PTX_OP_red:
		return dec_atom(d);
	case PTX_OP_cvta:
		return dec_cvta(d);
	case PTX_OP_isspacep:
		return dec_isspacep(d);
	case PTX_OP_membar:
	case PTX_OP_fence:
		dec_emit(d, weak_on() ? vop_fence_weak : vop_fence, 4)->flags |=
			order_flags(d->s->mn);
		return true;
	case PTX_OP_prefetch:
	case PTX_OP_prefetchu:
	case PTX_OP_applypriority:
	case PTX_OP_discard:
	case PTX_OP_pmevent:
	case PTX_OP_griddepcontrol: /* on the virtual GPU, grids of a stream never overlap */
		dec_emit(d, vop_nop, 1);
		return true;
	case PTX_OP_nanosleep: {
		uint32_t a = d->s->n == 1 ? dec_src(d, &d->s->opd[0], PTX_U32) : VX_NONE;

		if (a == VX_NONE)
			return false;
		dec_emit(d, vop_nanosleep, 1)->a = a;
		return true;
	}
	default:
		return false;
	}
}
