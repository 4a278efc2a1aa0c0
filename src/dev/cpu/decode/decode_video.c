/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes the video instructions that compilers emit: vabsdiff2 and vabsdiff4 of whole
 * registers. */
#include "decode.h"

bool dec_video(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	bool is_half = mn->op == PTX_OP_vabsdiff2, sat = ptx_has_mod(mn, "sat");
	bool add = ptx_has_mod(mn, "add");
	uint32_t r[4];
	struct vinsn *in;
	unsigned is_signed = 0;

	if ((!is_half && mn->op != PTX_OP_vabsdiff4) || d->s->n != 4 || mn->n_types != 3 ||
		mn->n_mods != 3u + sat + add || (sat && add))
		return false;
	for (unsigned k = 0; k < 3; k++) {
		if (mn->type[k] != PTX_U32 && mn->type[k] != PTX_S32)
			return false;
		is_signed |= (mn->type[k] == PTX_S32) << k;
	}
	for (unsigned k = 0; k < 4; k++) {
		if (o[k].selector)
			return false;
		r[k] = k ? dec_src(d, &o[k], PTX_B32) : dec_dst(d, &o[k], PTX_B32);
		if (r[k] == VX_NONE)
			return false;
	}
	in = dec_emit(d, vop_absdiff, 4);
	in->d = r[0];
	in->a = r[1];
	in->b = r[2];
	in->c = r[3];
	in->size = is_half ? 2 : 1;
	in->vec = (uint8_t)is_signed;
	in->op = sat ? VV_SATURATED : add ? VV_ADDED : VV_PACKED;
	return true;
}
