/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes the matrix operations of a warp. First all lanes of the warp converge. Then one
 * instruction works on the registers of all lanes (exec_matrix.c). */
#include "decode.h"

#include <string.h>

#include "dev/cpu/exec/matrix.h"

#define REGS_MAX 40

/* Appends the registers of {a, b}, or a single register, to the list. */
static bool list_registers(struct dec *d, const struct ptx_opd *o, uint8_t type, unsigned n,
	uint32_t *list, unsigned *io_n)
{
	const struct ptx_opd *each = o->kind == PTX_OPD_VECTOR ? o->list : o;

	if ((o->kind == PTX_OPD_VECTOR ? o->n : 1u) != n || *io_n + n > REGS_MAX)
		return false;
	for (unsigned i = 0; i < n; i++) {
		uint32_t reg = dec_src(d, &each[i], type);

		if (reg == VX_NONE ||
			(each[i].kind == PTX_OPD_REG &&
				dec_reg_lane_bytes(d, each[i].reg) != dec_lane_bytes(type)))
			return false;
		list[(*io_n)++] = reg;
	}
	return true;
}

/* Decodes ldmatrix and stmatrix. */
static bool dec_rows(struct dec *d, bool is_load)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	unsigned num = ptx_has_mod(mn, "x4") ? 4 : ptx_has_mod(mn, "x2") ? 2 : 1, n = 0;
	struct vinsn to = {0}, *in;
	uint32_t list[REGS_MAX];

	if (d->s->n != 2 || !ptx_has_mod(mn, "m8n8") || mn->type[mn->n_types - 1] != PTX_B16)
		return false;
	to.space = mn->space;
	if (!dec_address(d, &o[is_load], &to) ||
		!list_registers(d, &o[!is_load], PTX_B32, num, list, &n))
		return false;
	dec_warp_meets(d);
	in = dec_emit(d, vop_matrix_rows, 8);
	in->size = !is_load;
	in->a = to.a;
	in->imm = to.imm;
	in->flags |= to.flags;
	in->space = to.space;
	in->op = ptx_has_mod(mn, "trans") ? VM_TURNED : VM_PLAIN;
	in->vec = (uint8_t)num;
	in->x = d->p->n_ranges++;
	in->table = dec_ext(d, list, n);
	return true;
}

static bool dec_movmatrix(struct dec *d)
{
	uint32_t dst, src;
	struct vinsn *in;

	if (d->s->n != 2 || !ptx_has_mod(d->s->mn, "trans"))
		return false;
	src = dec_src(d, &d->s->opd[1], PTX_B32);
	dst = dec_dst(d, &d->s->opd[0], PTX_B32);
	if (src == VX_NONE || dst == VX_NONE)
		return false;
	dec_warp_meets(d);
	in = dec_emit(d, vop_movmatrix, 4);
	in->a = src;
	in->d = dst;
	return true;
}

/* Returns true if the PTX ISA defines this shape for these types. */
static bool is_shape(const struct mma_shape *s, const struct mma_types *t)
{
	switch (t->a) {
	case PTX_F16:
	case PTX_BF16:
		return t->b == t->a && s->m == 16 && (s->k == 8 || s->k == 16) &&
		       (t->d == PTX_F32 || (t->d == PTX_F16 && t->a == PTX_F16));
	case PTX_TF32:
		return t->b == t->a && s->m == 16 && (s->k == 4 || s->k == 8) && t->d == PTX_F32;
	case PTX_F64:
		return t->b == t->a && t->d == PTX_F64 && (s->m == 8 ? s->k == 4 : s->k <= 16);
	case PTX_S8:
	case PTX_U8:
		return (t->b == PTX_S8 || t->b == PTX_U8) && t->d == PTX_S32 && s->k >= 16;
	default:
		return false;
	}
}

/* Checks the modifiers: integer sums can saturate; f64 sums are rounded to nearest. */
static bool mods_fit(const struct ptx_mnem *mn, uint8_t factor)
{
	static const char *const no[] = {
		"rz", "rm", "rp", "sp", "sp::ordered_metadata", "xor", "and"};

	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (ptx_has_mod(mn, no[i]))
			return false;
	return !ptx_has_mod(mn, "satfinite") || factor == PTX_S8 || factor == PTX_U8;
}

static bool dec_mma(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	struct mma_types t;
	struct mma_counts n;
	uint32_t list[REGS_MAX];
	unsigned shape = 0, len = 0;
	uint8_t word, sum;
	struct vinsn *in;

	while (mma_shapes[shape].name && !ptx_has_mod(mn, mma_shapes[shape].name))
		shape++;
	if (!mma_shapes[shape].name || d->s->n != 4 || mn->n_types != 4 ||
		mn->type[3] != mn->type[0])
		return false;
	t = (struct mma_types){mn->type[0], mn->type[1], mn->type[2]};
	if (!is_shape(&mma_shapes[shape], &t) || !mods_fit(mn, t.a) || !ptx_has_mod(mn, "row") ||
		!ptx_has_mod(mn, "col"))
		return false;
	n = mma_count(&mma_shapes[shape], &t);
	word = t.a == PTX_F64 ? PTX_B64 : PTX_B32;
	sum = t.d == PTX_F64 ? PTX_B64 : PTX_B32;
	if (!list_registers(d, &o[0], sum, n.c, list, &len) ||
		!list_registers(d, &o[1], word, n.a, list, &len) ||
		!list_registers(d, &o[2], word, n.b, list, &len) ||
		!list_registers(d, &o[3], sum, n.c, list, &len))
		return false;
	dec_warp_meets(d);
	in = dec_emit(d, vop_mma, 16);
	in->op = (uint8_t)shape;
	in->flags |= ptx_has_mod(mn, "satfinite") ? VI_SAT : 0;
	memcpy(&in->imm, &t, sizeof(t));
	in->table = dec_ext(d, list, len);
	return true;
}

/* ---- wmma ---- */

static const struct wmma_shape *wmma_shape_of(const struct ptx_mnem *mn)
{
	const struct wmma_shape *s = wmma_shapes;

	while (s->name && !ptx_has_mod(mn, s->name))
		s++;
	return s->name ? s : NULL;
}

/* Returns true if the shape allows this element type for A and B. wmma_types_of checks which types
 * of C and D belong to it. */
static bool wmma_factor(const struct wmma_shape *s, uint8_t type)
{
	if (s->k == 16)
		return type == PTX_F16 || type == PTX_BF16 || type == PTX_S8 || type == PTX_U8;
	return type == (s->k == 8 ? PTX_TF32 : PTX_F64);
}

static bool wmma_sum(const struct wmma_shape *s, uint8_t type)
{
	if (s->k == 16)
		return type == PTX_F16 || type == PTX_F32 || type == PTX_S32;
	return type == (s->k == 8 ? PTX_F32 : PTX_F64);
}

static uint8_t register_type(uint8_t element)
{
	return element == PTX_F64 ? PTX_B64 : PTX_B32;
}

/* Decodes wmma.load.{a, b, c} r, [p]{, stride} and wmma.store.d [p], r{, stride}. */
static bool dec_wmma_memory(struct dec *d, bool is_load)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	const struct wmma_shape *s = wmma_shape_of(mn);
	bool a = ptx_has_mod(mn, "a"), b = ptx_has_mod(mn, "b"), col = ptx_has_mod(mn, "col");
	struct wmma_place at = {.type = mn->n_types ? mn->type[0] : PTX_NOTYPE};
	struct vinsn to = {.b = VX_NONE}, *in;
	uint32_t list[REGS_MAX];
	unsigned n = 0;

	if (!s || mn->n_types != 1 || d->s->n < 2 || d->s->n > 3 || col == ptx_has_mod(mn, "row") ||
		!(a || b ? wmma_factor(s, at.type) : wmma_sum(s, at.type)))
		return false;
	at.rows = b ? s->k : s->m;
	at.cols = a ? s->k : s->n;
	to.vec = (uint8_t)wmma_registers((unsigned)at.rows * at.cols, at.type, a || b);
	if (!dec_address(d, &o[is_load], &to) ||
		!list_registers(d, &o[!is_load], register_type(at.type), to.vec, list, &n))
		return false;
	if (d->s->n == 3)
		to.b = dec_src(d, &o[2], PTX_U32);
	if (d->s->n == 3 && to.b == VX_NONE)
		return false;
	dec_warp_meets(d);
	in = dec_emit(d, vop_wmma_memory, 16);
	in->size = !is_load;
	in->a = to.a;
	in->b = to.b;
	memcpy(&in->c, &at, sizeof(at));
	in->imm = to.imm;
	in->flags |= to.flags;
	in->space = mn->space;
	in->op = col;
	in->vec = to.vec;
	in->x = d->p->n_ranges++;
	in->table = dec_ext(d, list, n);
	return true;
}

/* Reads the element types. With f16 factors the mnemonic lists only the types of D and C
 * (".f32.f16"). Otherwise it lists four types, in the order D, A, B, C. */
static bool wmma_types_of(const struct ptx_mnem *mn, struct wmma_types *ret)
{
	const uint8_t *t = mn->type;
	bool bytes = mn->n_types == 4 && (t[1] == PTX_S8 || t[1] == PTX_U8);

	if (mn->n_types == 2) {
		*ret = (struct wmma_types){t[0], t[1], PTX_F16, PTX_F16};
		return (t[0] == PTX_F16 || t[0] == PTX_F32) && (t[1] == PTX_F16 || t[1] == PTX_F32);
	}
	if (mn->n_types != 4 || t[0] != t[3] || t[2] != t[1])
		return false;
	*ret = (struct wmma_types){t[0], t[3], t[1], t[2]};
	return t[0] == (bytes ? PTX_S32 : t[1] == PTX_F64 ? PTX_F64 : PTX_F32) && t[1] != PTX_F16;
}

static bool dec_wmma(struct dec *d)
{
	const struct ptx_mnem *mn = d->s->mn;
	const struct ptx_opd *o = d->s->opd;
	const struct wmma_shape *s = wmma_shape_of(mn);
	struct wmma_types t;
	uint32_t list[REGS_MAX];
	unsigned len = 0;

	/* The memory layout of A and B does not matter here, because the fragments in registers are
	 * the same for each layout. */
	if (!s || d->s->n != 4 || !wmma_types_of(mn, &t) || !wmma_factor(s, t.a) ||
		!mods_fit(mn, t.a))
		return false;
	unsigned sums = (unsigned)s->m * s->n;
	if (!list_registers(
		    d, &o[0], register_type(t.d), wmma_registers(sums, t.d, false), list, &len) ||
		!list_registers(d, &o[1], register_type(t.a),
			wmma_registers((unsigned)s->m * s->k, t.a, true), list, &len) ||
		!list_registers(d, &o[2], register_type(t.b),
			wmma_registers((unsigned)s->k * s->n, t.b, true), list, &len) ||
		!list_registers(
			d, &o[3], register_type(t.c), wmma_registers(sums, t.c, false), list, &len))
		return false;
	dec_warp_meets(d);
	struct vinsn *in = dec_emit(d, vop_wmma, 32);
	in->op = (uint8_t)(s - wmma_shapes);
	in->flags |= ptx_has_mod(mn, "satfinite") ? VI_SAT : 0;
	memcpy(&in->imm, &t, sizeof(t));
	in->table = dec_ext(d, list, len);
	return true;
}

bool dec_matrix(struct dec *d)
{
	switch (d->s->mn->op) {
	case PTX_OP_ldmatrix:
		return dec_rows(d, true);
	case PTX_OP_stmatrix:
		return dec_rows(d, false);
	case PTX_OP_movmatrix:
		return dec_movmatrix(d);
	case PTX_OP_wmma_load:
		return dec_wmma_memory(d, true);
	case PTX_OP_wmma_store:
		return dec_wmma_memory(d, false);
	case PTX_OP_wmma_mma:
		return dec_wmma(d);
	default:
		return dec_mma(d);
	}
}
