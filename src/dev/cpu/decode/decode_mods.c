/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The modifiers that each arithmetic operation can have. A modifier that is not in this table might
 * change the instruction's meaning, so the instruction counts as unknown. */
#include "decode.h"

#include <string.h>

#define ROUND " rn rz rm rp "
static const struct {
	enum ptx_op op;
	const char *mods; /* each modifier has a space before and after it */
} all[] = {
	{PTX_OP_abs, " ftz "},
	{PTX_OP_add, ROUND " ftz sat cc u16x2 s16x2 "},
	{PTX_OP_addc, " cc "},
	{PTX_OP_and, ""},
	{PTX_OP_bfe, ""},
	{PTX_OP_bfi, ""},
	{PTX_OP_bfind, " shiftamt "},
	{PTX_OP_bmsk, " clamp wrap "},
	{PTX_OP_brev, ""},
	{PTX_OP_clz, ""},
	{PTX_OP_cnot, ""},
	{PTX_OP_copysign, ""},
	{PTX_OP_cos, " approx ftz "},
	{PTX_OP_cvt, ROUND " rna rni rzi rmi rpi ftz sat relu satfinite e4m3x2 e5m2x2 "},
	{PTX_OP_div, ROUND " ftz approx full "},
	{PTX_OP_dp2a, " lo hi "},
	{PTX_OP_dp4a, ""},
	{PTX_OP_ex2, " approx ftz "},
	{PTX_OP_fma, ROUND " ftz sat relu "},
	{PTX_OP_fns, ""},
	{PTX_OP_lg2, " approx ftz "},
	{PTX_OP_lop3, ""},
	{PTX_OP_mad, ROUND " lo hi wide ftz sat cc "},
	{PTX_OP_mad24, " lo hi sat "},
	{PTX_OP_madc, " lo hi cc "},
	{PTX_OP_max, " ftz NaN xorsign abs relu u16x2 s16x2 "},
	{PTX_OP_min, " ftz NaN xorsign abs relu u16x2 s16x2 "},
	{PTX_OP_mul, ROUND " lo hi wide ftz sat "},
	{PTX_OP_mul24, " lo hi "},
	{PTX_OP_neg, " ftz "},
	{PTX_OP_not, ""},
	{PTX_OP_or, ""},
	{PTX_OP_popc, ""},
	{PTX_OP_prmt, " f4e b4e rc8 ecl ecr rc16 "},
	{PTX_OP_rcp, ROUND " approx ftz "},
	{PTX_OP_rem, ""},
	{PTX_OP_rsqrt, " approx ftz "},
	{PTX_OP_sad, ""},
	{PTX_OP_selp, ""},
	{PTX_OP_set, " ftz and or xor "},
	{PTX_OP_setp, " ftz and or xor "},
	{PTX_OP_shf, " l r clamp wrap "},
	{PTX_OP_shl, ""},
	{PTX_OP_shr, ""},
	{PTX_OP_sin, " approx ftz "},
	{PTX_OP_slct, " ftz "},
	{PTX_OP_sqrt, ROUND " approx ftz "},
	{PTX_OP_sub, ROUND " ftz sat cc "},
	{PTX_OP_subc, " cc "},
	{PTX_OP_szext, " clamp wrap "},
	{PTX_OP_tanh, " approx "},
	{PTX_OP_testp, " finite infinite number notanumber normal subnormal "},
	{PTX_OP_xor, ""},
};
/* Modifiers of floating-point operations only. cvt and the comparisons have other rules. */
#define FLOATS_ALONE ROUND " ftz NaN xorsign abs approx full "

static bool is_in(const char *list, const char *mod)
{
	size_t n = strlen(mod);

	for (const char *at = list; (at = strstr(at, mod)) != NULL; at += n)
		if (at > list && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

static bool is_type(const char *mod)
{
	for (unsigned i = PTX_NOTYPE + 1; i < PTX_OTHER_TYPE; i++)
		if (!strcmp(ptx_type_name(i), mod))
			return true;
	return false;
}

/* PTX_OTHER_TYPE: pairs of 16-bit integers. */
static bool is_integer(uint8_t type)
{
	return (type >= PTX_U8 && type <= PTX_B128) || type == PTX_OTHER_TYPE;
}

/* Returns true if an integer operation can have .sat: only for s32, and for mad and mad24 only
 * together with .hi. */
static bool may_saturate(const struct ptx_mnem *mn)
{
	bool mad = mn->op == PTX_OP_mad || mn->op == PTX_OP_mad24;

	return mn->type[0] == PTX_S32 && (!mad || ptx_has_mod(mn, "hi"));
}

bool dec_mods_known(const struct ptx_mnem *mn)
{
	bool compares = mn->op == PTX_OP_set || mn->op == PTX_OP_setp;
	bool integers = mn->n_types && is_integer(mn->type[0]) && mn->op != PTX_OP_cvt &&
			mn->op != PTX_OP_slct && !compares;
	const char *mods = NULL;

	for (size_t i = 0; i < ARRAY_LEN(all) && !mods; i++)
		if (all[i].op == mn->op)
			mods = all[i].mods;
	for (unsigned i = 0; mods && i < mn->n_mods; i++) {
		const char *mod = mn->mods[i];
		/* The first part of a comparison names the comparison, and is not a modifier. */
		if (is_type(mod) || (compares && i == 0 && mn->cmp != PTX_CMP_NONE))
			continue;
		if (!is_in(mods, mod) || (integers && is_in(FLOATS_ALONE, mod)) ||
			(integers && !strcmp(mod, "sat") && !may_saturate(mn)))
			return false;
	}
	return true;
}
