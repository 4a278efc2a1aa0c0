/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes textures and surfaces by handle, in the form that nvcc emits: [handle, {coordinates}].
 * Mipmap levels and gradients are parsed and ignored, because no object has mipmaps (the driver
 * refuses them). */
#include "decode.h"
#include "dev/cpu/texture.h"

/* Decodes the shape of a texture and whether the texture is layered. */
static bool dec_shape(const struct ptx_mnem *mn, struct vinsn *to)
{
	static const struct {
		const char *mod;
		uint8_t shape;
		bool layered;
	} all[] = {{"1d", VIMG_1D, false}, {"2d", VIMG_2D, false}, {"3d", VIMG_3D, false},
		{"cube", VIMG_CUBE, false}, {"a1d", VIMG_1D, true}, {"a2d", VIMG_2D, true},
		{"acube", VIMG_CUBE, true}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (!ptx_has_mod(mn, all[i].mod))
			continue;
		to->round = all[i].shape;
		to->flags |= all[i].layered ? VI_LAYERED : 0;
		return true;
	}
	return false;
}

/* Finds the registers of a vector (at most four) or of a single register. */
static uint32_t dec_parts(
	struct dec *d, const struct ptx_opd *o, uint8_t type, bool is_dst, uint32_t *ret)
{
	const struct ptx_opd *at = o->kind == PTX_OPD_VECTOR ? o->list : o;
	uint32_t n = o->kind == PTX_OPD_VECTOR ? o->n : 1;

	if (dec_vector_size(d, o)) {
		n = dec_vector_size(d, o);
		for (uint32_t i = 0; i < n && i < 4; i++)
			ret[i] = dec_part(d, o->reg, i);
		return n <= 4 ? n : 0;
	}
	if (n > 4)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		bool sink = is_dst && at[i].kind == PTX_OPD_SINK;

		if (at[i].kind == PTX_OPD_REG &&
			dec_reg_lane_bytes(d, at[i].reg) != dec_lane_bytes(type))
			return 0;
		ret[i] = sink ? VX_NONE : dec_src(d, &at[i], type);
		if (!sink && ret[i] == VX_NONE)
			return 0;
	}
	return n;
}

/* Decodes the handle and the registers of data and coordinates. */
static bool dec_operands(struct dec *d, const struct ptx_opd *data, uint8_t type, bool is_dst,
	const struct ptx_opd *addr, struct vinsn *to)
{
	uint32_t part[8], n,
		need = (to->round == VIMG_1D          ? 1
			       : to->round == VIMG_2D ? 2
						      : 3) +
		       (to->flags & VI_LAYERED ? 1 : 0);

	if (addr->kind != PTX_OPD_ADDR || addr->n != 2 || addr->list[0].kind != PTX_OPD_REG ||
		dec_reg_lane_bytes(d, addr->list[0].reg) != 8)
		return false;
	to->a = dec_src(d, &addr->list[0], PTX_U64);
	n = dec_parts(d, data, type, is_dst, part);
	to->vec = (uint8_t)n;
	if (to->a == VX_NONE || !n || dec_parts(d, &addr->list[1], PTX_B32, false, part + n) < need)
		return false;
	to->x = dec_ext(d, part, n + need);
	return true;
}

static bool dec_emit_tex(struct dec *d, struct vinsn *to, vop_fn *fn)
{
	to->fn = fn;
	to->cost = 16;
	to->imm = d->p->n_ranges;
	d->p->n_ranges += 2;
	to->guard = d->guard;
	to->guard_xor = d->guard_xor;
	to->line = d->s->line;
	*dec_emit(d, fn, 0) = *to;
	return true;
}

static bool dec_texture(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	bool is_gather = mn->op == PTX_OP_tld4;
	struct vinsn to = {.op = is_gather ? VT_GATHER : VT_SAMPLE};

	if (d->s->n < 2 || mn->n_types != 2 || ptx_type_bytes(mn->type[0]) != 4 ||
		(mn->type[1] != PTX_F32 && mn->type[1] != PTX_S32) || !dec_shape(mn, &to) ||
		ptx_has_mod(mn, "base"))
		return false;
	if (mn->type[1] == PTX_S32) {
		to.op = VT_FETCH;
		if (is_gather || to.round == VIMG_CUBE)
			return false;
	}
	if (is_gather) {
		to.size = ptx_has_mod(mn, "g")   ? 1
			  : ptx_has_mod(mn, "b") ? 2
			  : ptx_has_mod(mn, "a") ? 3
						 : 0;
		if (to.round != VIMG_2D)
			return false;
	}
	if (!dec_operands(d, &o[0], PTX_B32, true, &o[1], &to) || to.vec != 4)
		return false;
	return dec_emit_tex(d, &to, vop_tex);
}

static bool dec_surface(struct dec *d, bool is_load)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	struct vinsn to = {.op = is_load ? VT_LOAD : VT_STORE};
	uint8_t type;

	if (d->s->n != 2 || mn->n_types != 1 || !ptx_has_mod(mn, "b") || !dec_shape(mn, &to) ||
		to.round == VIMG_CUBE)
		return false;
	type = mn->type[0];
	to.size = (uint8_t)ptx_type_bytes(type);
	to.c = ptx_has_mod(mn, "clamp") ? VT_CLAMP : ptx_has_mod(mn, "zero") ? VT_ZERO : VT_TRAP;
	if (!to.size || to.size > 8 ||
		!dec_operands(d, &o[is_load ? 0 : 1], type, is_load, &o[is_load ? 1 : 0], &to) ||
		to.vec != MAX(mn->vec, 1u))
		return false;
	return dec_emit_tex(d, &to, vop_surf);
}

bool dec_tex(struct dec *d)
{
	switch (d->s->mn->op) {
	case PTX_OP_tex:
	case PTX_OP_tld4:
		return dec_texture(d);
	case PTX_OP_suld:
		return dec_surface(d, true);
	case PTX_OP_sust:
		return dec_surface(d, false);
	default:
		return false;
	}
}
