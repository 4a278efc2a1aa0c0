/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes comparisons of f16 and bf16 values and pairs; they are done in f32, which represents each
 * such value exactly. Also decodes conversions of pairs of 8-bit floats. */
#include "decode.h"

#include <stdio.h>
#include <string.h>

static bool is_pair(uint8_t t)
{
	return t == PTX_F16X2 || t == PTX_BF16X2;
}

static bool is_brain(uint8_t t)
{
	return t == PTX_BF16 || t == PTX_BF16X2;
}

uint32_t dec_half_widen(struct dec *d, uint32_t src, uint8_t type, unsigned half)
{
	struct vinsn *in = dec_emit(d, vgpu_vec_find(is_brain(type) ? "half_bf16" : "half_f16"), 0);

	in->flags |= VI_PSEUDO | (ptx_has_mod(d->s->mn, "ftz") ? VI_FTZ : 0);
	in->size = (uint8_t)(16 * half);
	in->a = src;
	in->d = dec_new_reg(d, 4);
	return in->d;
}

uint32_t dec_true_of(uint8_t type, bool pair)
{
	switch (type) {
	case PTX_F32:
		return 0x3f800000;
	case PTX_F16:
	case PTX_F16X2:
		return 0x3c00;
	case PTX_BF16:
	case PTX_BF16X2:
		return 0x3f80;
	case PTX_U16:
	case PTX_S16:
		return 0xffff;
	default:
		return pair ? 0xffff : UINT32_MAX;
	}
}

static void both_of(struct dec *d, const char *op, uint32_t a, uint32_t b, uint32_t dst)
{
	struct vinsn *in = dec_emit(d, vgpu_vec_find(op), 0);

	in->flags |= VI_PSEUDO;
	in->a = a;
	in->b = b;
	in->d = dst;
}

/* Decodes a comparison. In "setp p|q" of a pair, p and q are the results for the two halves. For
 * other types q is the opposite of p (PTX ISA, setp). */
bool dec_half_compare(struct dec *d, bool is_set, uint8_t type, struct dec_cmp *c)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd, *to[2] = {&o[0], NULL};
	uint32_t src[2], dst[2] = {VX_NONE, VX_NONE}, part[2];
	unsigned halves = is_pair(type) ? 2 : 1;

	for (unsigned i = 0; i < 2; i++) {
		src[i] = dec_src(d, &o[i + 1], type);
		if (src[i] == VX_NONE)
			return false;
	}
	if (!is_set && to[0]->kind == PTX_OPD_PAIR && to[0]->n == 2) {
		to[1] = to[0]->list[1].kind == PTX_OPD_SINK ? NULL : &to[0]->list[1];
		to[0] = &to[0]->list[0];
	}
	for (unsigned i = 0; i < 2; i++)
		if (to[i] && to[i]->kind != PTX_OPD_SINK)
			dst[i] = dec_dst(d, to[i], is_set ? mn->type[0] : PTX_PRED);
	if (dst[0] == VX_NONE && (is_set || dst[1] == VX_NONE))
		return false;
	/* The results go to temporary registers first, because a destination can be the predicate
	 * that is combined with the results. */
	for (unsigned k = 0; k < halves; k++) {
		for (unsigned i = 0; i < 2; i++)
			c->src[i] = dec_half_widen(d, src[i], type, k);
		c->dst = part[k] = dec_new_reg(d, 4);
		c->inverse = halves == 1 && dst[1] != VX_NONE ? dst[1] : VX_NONE;
		c->yes = dec_true_of(mn->type[0], halves == 2) << 16 * k;
		dec_compare(d, is_set, PTX_F32, c);
	}
	if (is_set && halves == 2)
		both_of(d, "or_b32", part[0], part[1], dst[0]);
	else if (is_set)
		both_of(d, "mov_b32", part[0], part[0], dst[0]);
	for (unsigned k = 0; !is_set && k < halves; k++)
		if (dst[k] != VX_NONE)
			both_of(d, "mov_pred", part[k], part[k], dst[k]);
	return true;
}

/* Decodes conversions to and from pairs of 8-bit floats, such as
 * cvt.rn.satfinite{.relu}.e4m3x2.f32. A conversion is supported if a handler for it exists. */
bool dec_cvt_eight(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool relu = ptx_has_mod(mn, "relu"), narrows = mn->type[0] == PTX_OTHER_TYPE;
	const char *wide = ptx_type_name(narrows ? mn->type[1] : mn->type[0]);
	const char *eight = ptx_has_mod(mn, "e4m3x2") ? "e4m3x2" : "e5m2x2";
	bool pair = narrows && mn->type[1] == PTX_F32;
	uint32_t src[2] = {0, 0}, dst;
	char key[40];
	vop_fn *fn;

	snprintf(key, sizeof(key), "cvt_%s%s_%s", relu ? "relu_" : "", narrows ? eight : wide,
		narrows ? wide : eight);
	fn = vgpu_vec_find(key);
	/* The instruction needs exactly these modifiers: rn, satfinite if the result is 8-bit, relu
	 * if written, and the two types. Any other modifier is refused. */
	if (!fn || !ptx_has_mod(mn, "rn") || ptx_has_mod(mn, "satfinite") != narrows ||
		mn->n_types != 2 || mn->n_mods != 3u + narrows + relu || d->s->n != (pair ? 3 : 2))
		return false;
	for (unsigned i = 0; i + 1 < d->s->n; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], narrows ? mn->type[1] : PTX_B16);
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], narrows ? PTX_B16 : mn->type[0]);
	if (dst == VX_NONE)
		return false;
	struct vinsn *in = dec_emit(d, fn, 2);
	in->flags |= narrows ? VI_FINITE : 0;
	in->round = VR_RN;
	in->a = src[0];
	in->b = src[1];
	in->d = dst;
	return true;
}
