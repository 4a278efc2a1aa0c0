/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Matrices in a warp's registers: loads, stores, transposition, products. All lanes participate
 * (the decoder makes them converge first). The same formula gives the elements of each lane for all
 * shapes (PTX ISA, "Matrix Fragments for mma"). Let g = lane / 4 and t = lane % 4, with p elements
 * per 32 bits. Element e of register r is
 * - for A, in row g + 8 * (r & 1) and column 4p * (r / 2) + p * t + e (with 8 rows: in row g and
 *   column 4p * r + p * t + e)
 * - for B, in row 4p * r + p * t + e and column g
 *
 * For C and D, register r (of 32 bits or more) is in row g + 8 * (r / 2) and column 2t + (r & 1).
 *
 * A sum is computed in double, in ascending order of k, and rounded once; an f64 sum uses fused
 * multiply-adds. The hardware's order and precision are not documented, so results can differ in
 * the last bits. tests/dev/cpu/exact/sums.h bounds the difference. */
#include "exec_ctl.h"

#include <math.h>
#include <string.h>

#include "half.h"
#include "matrix.h"

#define ROWS_MAX 16
#define DEEP_MAX 64

const struct mma_shape mma_shapes[] = {{"m8n8k4", 8, 4}, {"m16n8k4", 16, 4}, {"m16n8k8", 16, 8},
	{"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}, {"m8n8k16", 8, 16}, {NULL, 0, 0}};

const struct vinsn *matrix_not_whole(struct vx *x, const struct vinsn *in)
{
	return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(x->mask | 1u << 31),
		0, "not all 32 lanes of its warp are there");
}

static const uint32_t *registers_of(const struct vx *x, const struct vinsn *in)
{
	return x->f->frame->fn->ext + in->table;
}

/* ---- loading, storing and transposing ---- */

/* Finds the addresses of the rows, which the first lanes of the warp provide. */
static bool row_addresses(struct vx *x, const struct vinsn *in, bool write, void *ret_p[LANES])
{
	uint32_t all = x->mask;
	bool ok;

	x->mask = in->vec == 4 ? ~0u : (1u << 8 * in->vec) - 1;
	ok = vx_addresses(x, in, 16, write, ret_p);
	x->mask = all;
	return ok;
}

/* Computes the row and column of a lane's element e in an 8 by 8 matrix, which can be
 * transposed. */
static void place_element(
	const struct vinsn *in, unsigned lane, unsigned e, unsigned *ret_row, unsigned *ret_col)
{
	unsigned row = lane / 4, col = 2 * (lane % 4) + e;

	*ret_row = in->op == VM_TURNED ? col : row;
	*ret_col = in->op == VM_TURNED ? row : col;
}

const struct vinsn *vop_matrix_rows(struct vx *x, const struct vinsn *in)
{
	bool store = in->size;
	void *p[LANES];
	unsigned row, col;

	if (x->mask != ~0u)
		return x->mask ? matrix_not_whole(x, in) : in + 1;
	if (!row_addresses(x, in, store, p))
		return NULL;
	for (unsigned k = 0; k < in->vec; k++) {
		uint32_t reg = registers_of(x, in)[k];

		for (unsigned i = 0; i < LANES; i++) {
			uint16_t v[2];

			if (store)
				memcpy(v, (const uint32_t *)VX_PTR(x, reg) + i, sizeof(v));
			for (unsigned e = 0; e < 2; e++) {
				char *at;

				place_element(in, i, e, &row, &col);
				at = (char *)p[8 * k + row] + 2 * col;
				if (store)
					memcpy(at, &v[e], 2);
				else
					memcpy(&v[e], at, 2);
			}
			if (!store)
				memcpy(VX_U32(x, reg) + i, v, sizeof(v));
		}
	}
	x->w->progress |= store;
	return in + 1;
}

const struct vinsn *vop_movmatrix(struct vx *x, const struct vinsn *in)
{
	const uint32_t *a = VX_PTR(x, in->a);
	uint32_t *d = VX_U32(x, in->d), r[LANES] = {0};

	if (x->mask != ~0u)
		return x->mask ? matrix_not_whole(x, in) : in + 1;
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned e = 0; e < 2; e++) {
			unsigned row = 2 * (i % 4) + e, col = i / 4;

			r[i] |= (a[4 * row + col / 2] >> 16 * (col % 2) & 0xffff) << 16 * e;
		}
	memcpy(d, r, sizeof(r));
	return in + 1;
}

/* ---- products ---- */

double matrix_element(uint8_t type, uint64_t v, unsigned e)
{
	double f64;
	float f32;
	uint32_t u;

	switch (type) {
	case PTX_F16:
		return (double)half_to_f32((uint32_t)(v >> 16 * e) & 0xffff, HALF_F16);
	case PTX_BF16:
		return (double)half_to_f32((uint32_t)(v >> 16 * e) & 0xffff, HALF_BF16);
	case PTX_S8:
		return (double)(int8_t)(v >> 8 * e);
	case PTX_U8:
		return (double)(uint8_t)(v >> 8 * e);
	case PTX_S32:
		return (double)(int32_t)v;
	case PTX_F64:
		memcpy(&f64, &v, 8);
		return f64;
	default: /* f32, or tf32, which ignores the lowest 13 bits */
		u = (uint32_t)v & (type == PTX_TF32 ? 0xffffe000u : ~0u);
		memcpy(&f32, &u, 4);
		return (double)f32;
	}
}

static uint64_t of_f32(double v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	return f == f ? u : 0x7fffffffu;
}

/* The sum of byte products is exact in a double. */
static uint64_t of_s32(double v, bool saturates)
{
	if (saturates)
		v = v > 2147483647.0 ? 2147483647.0 : v < -2147483648.0 ? -2147483648.0 : v;
	return (uint32_t)(int64_t)v;
}

uint64_t matrix_bits(uint8_t type, double sum, bool saturates)
{
	uint64_t u;

	switch (type) {
	case PTX_F16:
		return half_from_f64(sum, HALF_F16, VR_RN);
	case PTX_S32:
		return of_s32(sum, saturates);
	case PTX_F64:
		memcpy(&u, &sum, 8);
		return u;
	default:
		return of_f32(sum);
	}
}

static uint64_t matrix_reg(struct vx *x, uint32_t reg, unsigned lane, bool wide)
{
	return wide ? ((const uint64_t *)VX_PTR(x, reg))[lane]
		    : ((const uint32_t *)VX_PTR(x, reg))[lane];
}

const struct vinsn *vop_mma(struct vx *x, const struct vinsn *in)
{
	const struct mma_shape *s = &mma_shapes[in->op];
	const struct mma_types *t = (const struct mma_types *)&in->imm;
	struct mma_counts n = mma_count(s, t);
	const uint32_t *dst = registers_of(x, in), *ra = dst + n.c, *rb = ra + n.a, *rc = rb + n.b;
	double a[ROWS_MAX][DEEP_MAX], b[DEEP_MAX][8];
	uint64_t out[8][LANES];
	unsigned p = mma_per_word(t->a), halves = t->d == PTX_F16 ? 2 : 1;
	bool wide = t->a == PTX_F64;

	if (x->mask != ~0u)
		return x->mask ? matrix_not_whole(x, in) : in + 1;
	for (unsigned i = 0; i < LANES; i++) {
		unsigned g = i / 4, c = i % 4;

		for (unsigned r = 0; r < n.a; r++)
			for (unsigned e = 0; e < p; e++) {
				unsigned row = s->m == 8 ? g : g + 8 * (r & 1);
				unsigned col = 4 * p * (s->m == 8 ? r : r / 2) + p * c + e;

				a[row][col] =
					matrix_element(t->a, matrix_reg(x, ra[r], i, wide), e);
			}
		for (unsigned r = 0; r < n.b; r++)
			for (unsigned e = 0; e < p; e++)
				b[4 * p * r + p * c + e][g] =
					matrix_element(t->b, matrix_reg(x, rb[r], i, wide), e);
	}
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned r = 0; r < n.c; r++) {
			out[r][i] = 0;
			for (unsigned e = 0; e < halves; e++) {
				unsigned row = i / 4 + 8 * (halves == 2 ? r : r / 2);
				unsigned col = 2 * (i % 4) + (halves == 2 ? e : r & 1);
				double v = matrix_element(t->d, matrix_reg(x, rc[r], i, wide), e);

				for (unsigned k = 0; k < s->k; k++)
					v = wide ? fma(a[row][k], b[k][col], v)
						 : v + a[row][k] * b[k][col];
				out[r][i] |= matrix_bits(t->d, v, in->flags & VI_SAT)
					     << (halves == 2 ? 16 * e : 0);
			}
		}
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned r = 0; r < n.c; r++) {
			if (wide)
				VX_U64(x, dst[r])[i] = out[r][i];
			else
				VX_U32(x, dst[r])[i] = (uint32_t)out[r][i];
		}
	return in + 1;
}
