/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes arithmetic. Most mnemonics are converted to the name of a handler, and one instruction
 * with this handler is emitted. For example, "mad.lo.s32" uses the handler mad_lo_u32, because the
 * sign does not matter. */
#include "decode.h"

#include <stdio.h>
#include <string.h>

static uint8_t as_unsigned(uint8_t t)
{
	switch (ptx_type_bytes(t)) {
	case 1:
	case 2:
		return PTX_U16;
	case 4:
		return PTX_U32;
	default:
		return PTX_U64;
	}
}

static uint8_t as_bits(uint8_t t)
{
	return t == PTX_PRED ? PTX_PRED : ptx_type_bytes(t) == 8 ? PTX_B64 : PTX_B32;
}

static bool is_float(uint8_t t)
{
	return t == PTX_F32 || t == PTX_F64;
}

static bool is_narrow(uint8_t t)
{
	return t >= PTX_F16 && t <= PTX_TF32;
}

static bool is_half(uint8_t t)
{
	return t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 || t == PTX_BF16X2;
}

/* Turns a part of the mnemonic into a flag or rounding mode of `in`. */
static bool note_mod(struct vinsn *in, const char *mod)
{
	static const struct {
		const char *name;
		uint8_t round;
	} rounds[] = {{"rn", VR_RN}, {"rni", VR_RN}, {"rz", VR_RZ}, {"rzi", VR_RZ}, {"rm", VR_RM},
		{"rmi", VR_RM}, {"rp", VR_RP}, {"rpi", VR_RP}, {"rna", VR_RNA}};

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		if (!strcmp(mod, rounds[i].name)) {
			in->round = rounds[i].round;
			return true;
		}
	}
	if (!strcmp(mod, "ftz"))
		in->flags |= VI_FTZ;
	else if (!strcmp(mod, "sat"))
		in->flags |= VI_SAT;
	else if (!strcmp(mod, "satfinite"))
		in->flags |= VI_FINITE;
	else if (strcmp(mod, "approx") && strcmp(mod, "full"))
		return false;
	return true;
}

struct key {
	char text[80];
	size_t len;
};

static void key_add(struct key *k, const char *part)
{
	int n = snprintf(
		k->text + k->len, sizeof(k->text) - k->len, "%s%s", k->len ? "_" : "", part);

	k->len = MIN(k->len + (size_t)MAX(n, 0), sizeof(k->text) - 1);
}

/* Returns the virtual cycles to issue the instruction: 1 for a warp of 32 lanes on 32 execution
 * units. */
static unsigned cost_of(const struct ptx_mnem *mn, uint8_t type)
{
	switch (ptx_ops[mn->op].unit) {
	case PTX_UNIT_SFU:
		return type == PTX_F64 ? 16 : 4;
	case PTX_UNIT_DIV:
		return ptx_type_bytes(type) == 8 ? 24 : 10;
	case PTX_UNIT_CVT:
		/* The other bit-counting operations cost as little as an addition here. */
		return mn->op == PTX_OP_cvt || mn->op == PTX_OP_popc ? 2 : 1;
	default:
		return type == PTX_F64 || (ptx_type_bytes(type) == 8 && mn->op == PTX_OP_mul) ? 2
											      : 1;
	}
}

static void set_operands(struct vinsn *in, uint32_t dst, const uint32_t *src, unsigned n)
{
	in->d = dst;
	in->a = n > 0 ? src[0] : 0;
	in->b = n > 1 ? src[1] : 0;
	in->c = n > 2 ? src[2] : 0;
	in->x = n > 3 ? src[3] : VX_NONE;
}

/* ---- operand counts and types of each operation ---- */

enum { SIGNLESS = 1, BITS = 2 };
struct shape {
	enum ptx_op op;
	uint8_t n; /* number of sources */
	uint8_t kind;
};
static const struct shape shapes[] = {{PTX_OP_abs, 1, 0}, {PTX_OP_add, 2, SIGNLESS},
	{PTX_OP_and, 2, BITS}, {PTX_OP_bfe, 3, 0}, {PTX_OP_bfi, 4, BITS}, {PTX_OP_bfind, 1, 0},
	{PTX_OP_bmsk, 2, BITS}, {PTX_OP_brev, 1, BITS}, {PTX_OP_clz, 1, BITS}, {PTX_OP_cnot, 1, 0},
	{PTX_OP_copysign, 2, 0}, {PTX_OP_cos, 1, 0}, {PTX_OP_div, 2, 0}, {PTX_OP_dp2a, 3, 0},
	{PTX_OP_dp4a, 3, 0}, {PTX_OP_ex2, 1, 0}, {PTX_OP_fma, 3, 0}, {PTX_OP_lg2, 1, 0},
	{PTX_OP_mad24, 3, 0}, {PTX_OP_max, 2, 0}, {PTX_OP_min, 2, 0}, {PTX_OP_mul24, 2, 0},
	{PTX_OP_neg, 1, SIGNLESS}, {PTX_OP_not, 1, BITS}, {PTX_OP_or, 2, BITS},
	{PTX_OP_popc, 1, BITS}, {PTX_OP_prmt, 3, 0}, {PTX_OP_rcp, 1, 0}, {PTX_OP_rem, 2, 0},
	{PTX_OP_rsqrt, 1, 0}, {PTX_OP_sad, 3, 0}, {PTX_OP_shf, 3, 0}, {PTX_OP_sin, 1, 0},
	{PTX_OP_sqrt, 1, 0}, {PTX_OP_sub, 2, SIGNLESS}, {PTX_OP_szext, 2, 0}, {PTX_OP_tanh, 1, 0},
	{PTX_OP_xor, 2, BITS}, {PTX_OP_shl, 2, 0}, {PTX_OP_shr, 2, 0}, {PTX_OP_mul, 2, 0},
	{PTX_OP_mad, 3, 0}};

/* Returns the type that source operand i is read as. */
static uint8_t source_type(const struct ptx_mnem *mn, unsigned i)
{
	uint8_t t = mn->type[0];

	switch (mn->op) {
	case PTX_OP_bfe:
		return i ? PTX_U32 : t;
	case PTX_OP_bfi:
		return i > 1 ? PTX_U32 : t;
	case PTX_OP_shl:
	case PTX_OP_shr:
	case PTX_OP_bmsk:
	case PTX_OP_szext:
		return i ? PTX_U32 : t;
	case PTX_OP_mad:
		if (i == 2 && ptx_has_mod(mn, "wide"))
			return ptx_type_bytes(t) == 4 ? PTX_U64 : PTX_U32;
		return t;
	case PTX_OP_dp2a:
	case PTX_OP_dp4a:
		return PTX_U32;
	default:
		return t;
	}
}

static uint8_t dest_type(const struct ptx_mnem *mn)
{
	uint8_t t = mn->type[0];

	switch (mn->op) {
	case PTX_OP_popc:
	case PTX_OP_clz:
	case PTX_OP_bfind:
	case PTX_OP_dp2a:
	case PTX_OP_dp4a:
		return PTX_U32;
	default:
		if (ptx_has_mod(mn, "wide"))
			return ptx_type_bytes(t) == 4 ? PTX_U64 : PTX_U32;
		return t;
	}
}

/* Returns the type in the handler's name. Signed and unsigned types share a handler if the
 * operation ignores the sign. */
static uint8_t key_type(const struct ptx_mnem *mn, const struct shape *sh, uint8_t t)
{
	if (is_float(t) || is_half(t) || t == PTX_PRED)
		return t;
	if (sh->kind == BITS)
		return as_bits(t);
	if (sh->kind == SIGNLESS)
		return as_unsigned(t);
	if ((mn->op == PTX_OP_mul || mn->op == PTX_OP_mad) && ptx_has_mod(mn, "lo"))
		return as_unsigned(t);
	if (mn->op == PTX_OP_shl)
		return ptx_type_bytes(t) == 2 ? PTX_B16 : as_bits(t);
	if (mn->op == PTX_OP_shr && t >= PTX_B8 && t <= PTX_B64)
		return as_unsigned(t);
	return t;
}

static bool is_type_mod(const char *mod)
{
	for (unsigned i = PTX_NOTYPE + 1; i < PTX_OTHER_TYPE; i++)
		if (!strcmp(ptx_type_name(i), mod))
			return true;
	return false;
}

static void make_key(
	struct key *k, struct vinsn *in, const struct ptx_mnem *mn, const struct shape *sh)
{
	bool relu_anywhere =
		(mn->op == PTX_OP_min || mn->op == PTX_OP_max) && ptx_has_mod(mn, "relu");
	unsigned t = 0;

	k->len = 0;
	key_add(k, ptx_ops[mn->op].name);
	/* ptxas accepts .relu both before and after the type. */
	if (relu_anywhere)
		key_add(k, "relu");
	for (unsigned i = 0; i < mn->n_mods; i++) {
		if (relu_anywhere && !strcmp(mn->mods[i], "relu"))
			continue;
		if (t < mn->n_types && is_type_mod(mn->mods[i]))
			key_add(k, ptx_type_name(key_type(mn, sh, mn->type[t++])));
		else if (!strcmp(mn->mods[i], "NaN"))
			key_add(k, "nan");
		else if (strcmp(mn->mods[i], "abs") && strcmp(mn->mods[i], "cc") &&
			 !note_mod(in, mn->mods[i]))
			key_add(k, mn->mods[i]);
	}
}

/* Builds the handler name for min and max of three operands, which have their own .abs. */
static bool key_of_three(struct key *k, const struct ptx_mnem *mn)
{
	if (mn->type[0] != PTX_F32 || ptx_has_mod(mn, "xorsign"))
		return false;
	snprintf(k->text, sizeof(k->text), "%s3%s%s_f32", ptx_ops[mn->op].name,
		ptx_has_mod(mn, "NaN") ? "_nan" : "", ptx_has_mod(mn, "abs") ? "_abs" : "");
	return true;
}

/* Returns the handler's name for an approximation that differs from the exact operation also where
 * the exact result is in range, or NULL. */
static const char *approx_key(const struct ptx_mnem *mn)
{
	if (!ptx_has_mod(mn, "approx"))
		return NULL;
	if (mn->op == PTX_OP_div)
		return "div_approx_f32";
	if (mn->type[0] != PTX_F64 || !ptx_has_mod(mn, "ftz"))
		return NULL;
	return mn->op == PTX_OP_rcp ? "rcp_approx_f64" : "rsqrt_approx_f64";
}

/* Emits d = fn(sources), where the mnemonic's key selects fn. */
static bool emit_key(struct dec *d, const struct shape *sh)
{
	const struct ptx_mnem *mn = d->s->mn;
	struct vinsn note = {0}, *in;
	uint32_t src[4], dst;
	struct key k;
	vop_fn *fn;
	bool three = (mn->op == PTX_OP_min || mn->op == PTX_OP_max) && d->s->n == 4;

	if (!mn->n_types)
		return false;
	make_key(&k, &note, mn, sh);
	if (note.flags & VI_SAT && mn->type[0] == PTX_S32 &&
		(mn->op == PTX_OP_add || mn->op == PTX_OP_sub || mn->op == PTX_OP_mad ||
			mn->op == PTX_OP_mad24))
		snprintf(k.text, sizeof(k.text), "%s",
			mn->op == PTX_OP_add   ? "addsat_s32"
			: mn->op == PTX_OP_sub ? "subsat_s32"
			: mn->op == PTX_OP_mad ? "mad_hisat_s32"
					       : "mad24_hisat_s32");
	if (three && !key_of_three(&k, mn))
		return false;
	if (mn->op == PTX_OP_mad && is_float(mn->type[0]))
		snprintf(k.text, sizeof(k.text), "fma_%s", ptx_type_name(mn->type[0]));
	fn = vgpu_vec_find(approx_key(mn) ? approx_key(mn) : k.text);
	if (!fn || d->s->n != sh->n + 1u + three)
		return false;
	for (unsigned i = 0; i + 1 < d->s->n; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], source_type(mn, i));
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], dest_type(mn));
	if (dst == VX_NONE)
		return false;
	in = dec_emit(d, fn, cost_of(mn, mn->type[0]));
	in->flags |= note.flags;
	in->round = note.round;
	set_operands(in, dst, src, d->s->n - 1u);
	return true;
}

/* ---- special cases ---- */

static bool emit_pred_logic(struct dec *d)
{
	struct key k = {.len = 0};
	uint32_t src[4] = {0}, dst;
	bool neg[2] = {false, false};
	struct vinsn *in;
	vop_fn *fn;

	key_add(&k, ptx_ops[d->s->mn->op].name);
	key_add(&k, "pred");
	fn = vgpu_vec_find(k.text);
	if (!fn || d->s->n < 2 || d->s->n > 3)
		return false;
	for (unsigned i = 0; i + 1 < d->s->n; i++) {
		src[i] = dec_pred(d, &d->s->opd[i + 1], &neg[i]);
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], PTX_PRED);
	if (dst == VX_NONE)
		return false;
	in = dec_emit(d, fn, 1);
	set_operands(in, dst, src, 2);
	in->op = (uint8_t)(neg[0] | neg[1] << 1);
	return true;
}

/* Decodes add.cc and similar instructions. mad.cc becomes a product and an addition. */
static bool emit_carry(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool mad = mn->op == PTX_OP_mad || mn->op == PTX_OP_madc;
	bool sub = mn->op == PTX_OP_sub || mn->op == PTX_OP_subc;
	bool reads = mn->flags & PTX_F_READS_CC, writes = mn->flags & PTX_F_WRITES_CC;
	uint8_t t = mn->type[0];
	uint32_t src[4] = {0}, dst, product;
	struct vinsn *in;

	if (d->s->n != (mad ? 4 : 3) || is_float(t) || is_half(t) ||
		(ptx_type_bytes(t) != 4 && ptx_type_bytes(t) != 8))
		return false;
	for (unsigned i = 0; i + 1 < d->s->n; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], t);
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], t);
	if (dst == VX_NONE)
		return false;
	if (mad) {
		struct key k = {.len = 0};
		bool hi = ptx_has_mod(mn, "hi");

		key_add(&k, hi ? "mul_hi" : "mul_lo");
		key_add(&k, ptx_type_name(hi ? t : as_unsigned(t)));
		if (!vgpu_vec_find(k.text))
			return false;
		in = dec_emit(d, vgpu_vec_find(k.text), 1);
		product = dec_new_reg(d, dec_lane_bytes(t));
		set_operands(in, product, src, 2);
		in->flags |= VI_PSEUDO;
		src[0] = product;
		src[1] = src[2];
	}
	in = dec_emit(d, vgpu_vec_find(ptx_type_bytes(t) == 8 ? "carry_u64" : "carry_u32"), 1);
	set_operands(in, dst, src, 2);
	in->x = d->cc;
	in->op = (uint8_t)((reads ? 1 : 0) | (writes ? 2 : 0) | (sub ? 4 : 0));
	return true;
}

static bool emit_lop3(struct dec *d)
{
	uint32_t src[4] = {0}, dst;
	struct vinsn *in;

	if (d->s->n != 5 || !d->s->opd[4].has_value || d->s->mn->type[0] != PTX_B32)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], PTX_B32);
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], PTX_B32);
	if (dst == VX_NONE)
		return false;
	in = dec_emit(d, vgpu_vec_find("lop3_b32"), 1);
	set_operands(in, dst, src, 3);
	in->imm = d->s->opd[4].value & 0xff;
	return true;
}

static const char *const cmp_text[] = {"", "eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt",
	"ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static unsigned combine_op(const struct ptx_mnem *mn)
{
	return ptx_has_mod(mn, "and")   ? 1
	       : ptx_has_mod(mn, "or")  ? 2
	       : ptx_has_mod(mn, "xor") ? 3
					: 0;
}

void dec_compare(struct dec *d, bool is_set, uint8_t type, const struct dec_cmp *c)
{
	struct key k = {.len = 0};
	uint32_t src[4] = {c->src[0], c->src[1]};
	struct vinsn *in;

	key_add(&k, is_set ? "set" : "setp");
	key_add(&k, cmp_text[d->s->mn->cmp]);
	key_add(&k, ptx_type_name(type));
	in = dec_emit(d, vgpu_vec_find(k.text), 1);
	set_operands(in, c->dst, src, 2);
	in->c = c->with;
	in->x = c->inverse;
	in->op = (uint8_t)(c->combine | (c->negated ? 4 : 0));
	in->imm = c->yes;
}

/* If the comparison has .ftz, flushes subnormal operands to zero. */
static void flush_sources(struct dec *d, uint32_t src[2])
{
	struct vinsn *in = dec_emit(d, vgpu_vec_find("flush_ab"), 0);
	uint32_t a = dec_new_reg(d, 4), b = dec_new_reg(d, 4);

	in->flags |= VI_PSEUDO;
	in->a = src[0];
	in->b = src[1];
	in->d = src[0] = a;
	in->c = src[1] = b;
}

static bool emit_compare(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool is_set = mn->op == PTX_OP_set;
	uint8_t t = mn->type[is_set ? 1 : 0], kt = t;
	const struct ptx_opd *o = d->s->opd, *first = &o[0];
	struct dec_cmp c = {.combine = combine_op(mn), .inverse = VX_NONE};
	struct key k = {.len = 0};

	if (mn->cmp == PTX_CMP_NONE || mn->n_types < (is_set ? 2 : 1) ||
		d->s->n != (c.combine ? 4 : 3))
		return false;
	if (c.combine)
		c.with = dec_pred(d, &o[3], &c.negated);
	if (c.with == VX_NONE)
		return false;
	if (is_half(t))
		return dec_half_compare(d, is_set, t, &c);
	if (t >= PTX_B16 && t <= PTX_B64)
		kt = as_unsigned(t);
	key_add(&k, is_set ? "set" : "setp");
	key_add(&k, cmp_text[mn->cmp]);
	key_add(&k, ptx_type_name(kt));
	if (!vgpu_vec_find(k.text))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		c.src[i] = dec_src(d, &o[i + 1], t);
		if (c.src[i] == VX_NONE)
			return false;
	}
	if (!is_set && first->kind == PTX_OPD_PAIR && first->n == 2) {
		if (first->list[1].kind != PTX_OPD_SINK)
			c.inverse = dec_dst(d, &first->list[1], PTX_PRED);
		first = &first->list[0];
	}
	c.dst = dec_dst(d, first, is_set ? mn->type[0] : PTX_PRED);
	if (c.dst == VX_NONE)
		return false;
	if (t == PTX_F32 && ptx_has_mod(mn, "ftz"))
		flush_sources(d, c.src);
	c.yes = is_set ? dec_true_of(mn->type[0], false) : UINT32_MAX;
	dec_compare(d, is_set, kt, &c);
	return true;
}

static bool emit_select(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	bool slct = mn->op == PTX_OP_slct, neg = false;
	uint8_t t = mn->type[0];
	uint32_t src[4] = {0}, dst;
	struct key k = {.len = 0};
	struct vinsn *in;

	if (d->s->n != 4 || !mn->n_types || (slct && mn->n_types != 2))
		return false;
	src[0] = dec_src(d, &d->s->opd[1], t);
	src[1] = dec_src(d, &d->s->opd[2], t);
	src[2] = slct ? dec_src(d, &d->s->opd[3], mn->type[1]) : dec_pred(d, &d->s->opd[3], &neg);
	dst = dec_dst(d, &d->s->opd[0], t);
	key_add(&k, slct ? "slct" : "selp");
	key_add(&k, ptx_type_name(as_bits(t)));
	if (slct)
		key_add(&k, ptx_type_name(mn->type[1]));
	if (!vgpu_vec_find(k.text) || src[0] == VX_NONE || src[1] == VX_NONE || src[2] == VX_NONE ||
		dst == VX_NONE)
		return false;
	in = dec_emit(d, vgpu_vec_find(k.text), 1);
	set_operands(in, dst, src, 3);
	in->op = (uint8_t)(neg ? 4 : slct && ptx_has_mod(mn, "ftz") ? 1 : 0);
	return true;
}

static bool emit_testp(struct dec *d)
{
	static const struct {
		const char *name;
		uint8_t classes;
	} all[] = {{"finite", 4 | 8 | 16}, {"infinite", 1}, {"number", 1 | 4 | 8 | 16},
		{"notanumber", 2}, {"normal", 4 | 16}, {"subnormal", 8}};
	const struct ptx_mnem *mn = d->s->mn;
	uint8_t classes = 0;
	struct vinsn *in;
	uint32_t a, dst;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (ptx_has_mod(mn, all[i].name))
			classes = all[i].classes;
	if (!classes || d->s->n != 2 || !is_float(mn->type[0]))
		return false;
	a = dec_src(d, &d->s->opd[1], mn->type[0]);
	dst = dec_dst(d, &d->s->opd[0], PTX_PRED);
	if (a == VX_NONE || dst == VX_NONE)
		return false;
	in = dec_emit(d, vgpu_vec_find(mn->type[0] == PTX_F64 ? "testp_f64" : "testp_f32"), 1);
	in->a = a;
	in->d = dst;
	in->size = classes;
	return true;
}

static bool emit_fns(struct dec *d)
{
	uint32_t src[4] = {0}, dst;

	if (d->s->n != 4)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], PTX_B32);
		if (src[i] == VX_NONE)
			return false;
	}
	dst = dec_dst(d, &d->s->opd[0], PTX_B32);
	if (dst == VX_NONE)
		return false;
	set_operands(dec_emit(d, vop_fns, 8), dst, src, 3);
	return true;
}

bool dec_alu(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;

	if (!dec_mods_known(mn))
		return false;
	if (mn->flags & (PTX_F_READS_CC | PTX_F_WRITES_CC))
		return emit_carry(d);
	switch (mn->op) {
	case PTX_OP_lop3:
		return emit_lop3(d);
	case PTX_OP_set:
	case PTX_OP_setp:
		return emit_compare(d);
	case PTX_OP_selp:
	case PTX_OP_slct:
		return emit_select(d);
	case PTX_OP_testp:
		return emit_testp(d);
	case PTX_OP_fns:
		return emit_fns(d);
	default:
		break;
	}
	if (mn->n_types && mn->type[0] == PTX_PRED &&
		(mn->op == PTX_OP_and || mn->op == PTX_OP_or || mn->op == PTX_OP_xor ||
			mn->op == PTX_OP_not))
		return emit_pred_logic(d);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		if (shapes[i].op == mn->op)
			return emit_key(d, &shapes[i]);
	return false;
}

/* ---- cvt ---- */

static void cvt_key(
	struct key *k, const struct ptx_mnem *mn, const char *how, uint8_t to, uint8_t from)
{
	k->len = 0;
	key_add(k, how);
	if (ptx_has_mod(mn, "relu"))
		key_add(k, "relu");
	key_add(k, ptx_type_name(to));
	key_add(k, ptx_type_name(from));
}

bool dec_cvt(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	struct vinsn note = {0}, *in;
	uint8_t to = mn->type[0], from = mn->type[1];
	bool to_int, from_int, integral = false, pair, widens;
	struct key k = {.len = 0};
	uint32_t src[4] = {0}, dst;

	if (mn->n_types < 2 || d->s->n < 2 || !dec_mods_known(mn))
		return false;
	if (to == PTX_OTHER_TYPE || from == PTX_OTHER_TYPE)
		return dec_cvt_eight(d);
	for (unsigned i = 0; i < mn->n_mods; i++) {
		size_t n = strlen(mn->mods[i]);

		integral |= note_mod(&note, mn->mods[i]) && n == 3 && mn->mods[i][2] == 'i';
	}
	to = to >= PTX_B8 && to <= PTX_B64 ? as_unsigned(to) : to;
	to_int = to >= PTX_U8 && to <= PTX_S64;
	from_int = from >= PTX_U8 && from <= PTX_S64;
	if (to == PTX_S32 && from_int && !(note.flags & VI_SAT))
		to = PTX_U32;
	if (to == PTX_S64 && from_int && !(note.flags & VI_SAT))
		to = PTX_U64;
	cvt_key(&k, mn,
		to_int && from_int && note.flags & VI_SAT ? "cvtsat"
		: integral || (to_int && !from_int)       ? "cvti"
							  : "cvt",
		to, from);
	if (note.flags & VI_SAT && from == PTX_BF16)
		return false; /* PTX has no such conversion */
	if (note.flags & VI_FINITE && (from != PTX_F32 || note.flags & VI_SAT || !is_narrow(to)))
		return false;
	pair = to == PTX_F16X2 || to == PTX_BF16X2;
	/* Conversions from f16 and bf16 that have no handler of their own go through f32. */
	widens = (from == PTX_F16 || from == PTX_BF16) && !vgpu_vec_find(k.text);
	if (widens)
		cvt_key(&k, mn, to_int ? "cvti" : "cvt", to, PTX_F32);
	if (!vgpu_vec_find(k.text) || d->s->n != (pair ? 3 : 2))
		return false;
	for (unsigned i = 0; i + 1 < d->s->n; i++) {
		src[i] = dec_src(d, &d->s->opd[i + 1], from);
		if (src[i] == VX_NONE)
			return false;
	}
	if (widens) {
		src[0] = dec_half_widen(d, src[0], from, 0);
		if (integral && !to_int) {
			in = dec_emit(d, vgpu_vec_find("cvti_f32_f32"), 0);
			in->flags |= VI_PSEUDO;
			in->round = note.round;
			in->a = src[0];
			in->d = src[0] = dec_new_reg(d, 4);
		}
		from = PTX_F32;
	}
	dst = dec_dst(d, &d->s->opd[0], to);
	if (dst == VX_NONE)
		return false;
	/* The source register can be 64 bits wide although the conversion reads fewer bits, and the
	 * destination although it writes fewer. Here a wide source is narrowed first; a wide
	 * destination is widened after the conversion, below. */
	if (d->s->opd[1].kind == PTX_OPD_REG && dec_lane_bytes(from) == 4 &&
		dec_reg_lane_bytes(d, d->s->opd[1].reg) == 8) {
		in = dec_emit(d, vgpu_vec_find("cvt_u32_u64"), 0);
		in->flags |= VI_PSEUDO;
		in->a = src[0];
		in->d = src[0] = dec_new_reg(d, 4);
	}
	in = dec_emit(d, vgpu_vec_find(k.text), 2);
	set_operands(in, dst, src, d->s->n - 1u);
	in->flags |= note.flags;
	in->round = note.round;
	if (d->s->opd[0].kind == PTX_OPD_REG && dec_lane_bytes(to) == 4 &&
		dec_reg_lane_bytes(d, d->s->opd[0].reg) == 8) {
		uint32_t tmp = dec_new_reg(d, 4);

		in->d = tmp;
		in = dec_emit(d,
			vgpu_vec_find(
				to >= PTX_S8 && to <= PTX_S64 ? "cvt_u64_s32" : "cvt_u64_u32"),
			0);
		in->flags |= VI_PSEUDO;
		in->a = tmp;
		in->d = dst;
	}
	return true;
}

/* ---- mov ---- */

/* Finds the registers on the narrow side of a packing or unpacking mov: {a, b, c}, or the
 * components of a vector register. */
static bool narrow_parts(
	struct dec *d, const struct ptx_opd *o, uint8_t type, bool written, uint32_t *part)
{
	uint32_t n = dec_vector_size(d, o);

	for (uint32_t i = 0; i < n; i++)
		part[i] = dec_part(d, o->reg, i);
	for (uint32_t i = 0; n == 0 && i < o->n; i++) {
		const struct ptx_opd *each = &o->list[i];
		bool sink = written && each->kind == PTX_OPD_SINK;

		part[i] = sink      ? VX_NONE
			  : written ? dec_dst(d, each, type)
				    : dec_src(d, each, type);
		if (part[i] == VX_NONE && !sink)
			return false;
	}
	return true;
}

static bool mov_vector(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	bool pack = o[1].kind == PTX_OPD_VECTOR || dec_vector_size(d, &o[1]);
	const struct ptx_opd *list = pack ? &o[1] : &o[0];
	uint32_t n = dec_vector_size(d, list), part[8], wide;
	unsigned total = ptx_type_bytes(mn->type[0]);
	struct vinsn *in;

	if (n && n * ptx_type_bytes(d->f->regs.at[list->reg].sym->type.base) != total)
		return false;
	if (!n)
		n = list->n;
	if (n < 2 || n > 8 || !total || total % n || total / n > 8)
		return false;
	if (!narrow_parts(d, list, total / n == 8 ? PTX_B64 : PTX_B32, !pack, part))
		return false;
	wide = pack ? dec_dst(d, &o[0], mn->type[0]) : dec_src(d, &o[1], mn->type[0]);
	if (wide == VX_NONE)
		return false;
	in = dec_emit(d, pack ? vop_pack : vop_unpack, 1);
	in->a = in->d = wide;
	in->size = (uint8_t)(total / n);
	in->vec = (uint8_t)n;
	in->x = dec_ext(d, part, n);
	return true;
}

/* Finds the registers of {a, b, c, d}, or of a register declared as a vector. */
static bool vector_parts(struct dec *d, const struct ptx_opd *o, uint32_t part[4], uint32_t *ret_n)
{
	*ret_n = d->s->mn->vec;
	if (*ret_n > 4)
		return false;
	for (uint32_t i = 0; i < *ret_n; i++) {
		if (o->kind == PTX_OPD_VECTOR && o->n == *ret_n)
			part[i] = dec_dst(d, &o->list[i], d->s->mn->type[0]);
		else if (dec_vector_size(d, o) == *ret_n)
			part[i] = dec_part(d, o->reg, i);
		else
			return false;
		if (part[i] == VX_NONE)
			return false;
	}
	return true;
}

/* Decodes mov.v4.u32 from a special register such as %tid. */
static bool mov_special_vector(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	uint32_t part[4], n;
	unsigned base;

	if (o[1].kind != PTX_OPD_SPECIAL || !vector_parts(d, &o[0], part, &n))
		return false;
	switch (o[1].value) {
	case PTX_SR_TID:
	case PTX_SR_NTID:
	case PTX_SR_CTAID:
	case PTX_SR_NCTAID:
		base = (unsigned)o[1].value - 3;
		break;
	default:
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct vinsn *in;

		in = dec_emit(d, i < 3 ? vop_special : vgpu_vec_find("mov_b32"), 1);
		in->op = (uint8_t)(base + i);
		in->a = dec_const(d, 0, 4);
		in->d = part[i];
	}
	return true;
}

static void mov_special(struct dec *d, uint32_t dst, enum ptx_special sr, uint32_t number)
{
	struct vinsn *in = dec_emit(d, vop_special, 2);

	in->op = (uint8_t)sr;
	in->imm = sr >= PTX_SR_ENVREG ? number : 0;
	in->d = dst;
	in->flags |= ptx_type_bytes(d->s->mn->type[0]) == 8 ? VI_WIDE : 0;
}

/* Decodes a vector mov such as mov.v2.u32 {a, b}, {b, a}. It reads all sources before it writes the
 * first destination. */
static bool mov_parts(struct dec *d)
{
	const struct ptx_opd *o = d->s->opd;
	uint32_t to[4], from[4], n, bytes = ptx_type_bytes(d->s->mn->type[0]) > 4 ? 8 : 4;
	vop_fn *mov = vgpu_vec_find(bytes > 4 ? "mov_b64" : "mov_b32");

	if (!vector_parts(d, &o[0], to, &n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (o[1].kind == PTX_OPD_VECTOR && o[1].n == n)
			from[i] = dec_src(d, &o[1].list[i], d->s->mn->type[0]);
		else if (!vector_parts(d, &o[1], from, &n))
			return false;
		if (from[i] == VX_NONE)
			return false;
	}
	for (uint32_t i = 0; i < 2 * n; i++) {
		struct vinsn *in = dec_emit(d, mov, i == 0 ? 1 : 0);

		in->flags |= i ? VI_PSEUDO : 0;
		in->a = from[i % n];
		in->d = i < n ? dec_new_reg(d, bytes) : to[i % n];
		from[i % n] = in->d;
	}
	return true;
}

bool dec_mov(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	uint32_t dst, src;
	enum ptx_special sr;
	struct vinsn *in;

	if (d->s->n != 2 || !mn->n_types)
		return false;
	if (mn->vec > 1)
		return mov_special_vector(d) || mov_parts(d);
	if (mn->type[0] == PTX_PRED)
		return emit_pred_logic(d);
	if (o[0].kind == PTX_OPD_VECTOR || o[1].kind == PTX_OPD_VECTOR ||
		dec_vector_size(d, &o[0]) || dec_vector_size(d, &o[1]))
		return mov_vector(d);
	dst = dec_dst(d, &o[0], mn->type[0]);
	if (dst == VX_NONE)
		return false;
	if (o[1].kind == PTX_OPD_SPECIAL) {
		if (!dec_special(&o[1], &sr, &src))
			return false;
		if (sr) {
			mov_special(d, dst, sr, src);
			return true;
		}
	}
	src = dec_src(d, &o[1], mn->type[0]);
	if (src == VX_NONE)
		return false;
	in = dec_emit(d, vgpu_vec_find(ptx_type_bytes(mn->type[0]) > 4 ? "mov_b64" : "mov_b32"), 1);
	in->a = src;
	in->d = dst;
	if (ptx_type_bytes(mn->type[0]) == 16) {
		in = dec_emit(d, vgpu_vec_find("mov_b64"), 0);
		in->flags |= VI_PSEUDO;
		in->a = src + 8 * LANES;
		in->d = dst + 8 * LANES;
	}
	return true;
}
