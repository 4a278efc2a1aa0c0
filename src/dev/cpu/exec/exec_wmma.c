/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* wmma: matrices that a warp loads, multiplies and stores as a whole. The PTX ISA does not define
 * which lane holds which element.
 * - Here a matrix of R rows and C columns is stored in its fragments row by row. A lane has S
 *   elements. The i-th of them, in the order of the lane's registers and from the lower bits up, is
 *   element (S * lane + i) mod (R * C) of the matrix.
 * - If the fragments have more space than the matrix has elements (A and B of f16), each element is
 *   stored several times, and the first copy counts.
 * - Sums are computed as in mma (exec_matrix.c). */
#include <math.h>
#include <string.h>

#include "matrix.h"

#define SIDE_MAX 32

const struct wmma_shape wmma_shapes[] = {{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16},
	{"m8n32k16", 8, 32, 16}, {"m16n16k8", 16, 16, 8}, {"m8n8k4", 8, 8, 4}, {NULL, 0, 0, 0}};

static uint64_t get_bits(const void *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

/* Finds the address of each row (in->op: of each column), from the address in lane 0. */
static bool line_addresses(struct vx *x, const struct vinsn *in, const struct wmma_place *at,
	bool write, void *ret_p[SIDE_MAX])
{
	unsigned lines = in->op ? at->cols : at->rows, len = in->op ? at->rows : at->cols;
	unsigned bytes = wmma_bytes(at->type);
	uint64_t stride = in->b == VX_NONE ? len : *(const uint32_t *)VX_PTR(x, in->b);
	struct vinsn line = *in;
	uint32_t all = x->mask;
	void *p[LANES];
	bool ok = true;

	x->mask = 1;
	for (unsigned i = 0; i < lines && ok; i++) {
		line.imm = in->imm + i * stride * bytes;
		ok = vx_addresses(x, &line, len * bytes, write, p);
		ret_p[i] = p[0];
	}
	x->mask = all;
	return ok;
}

const struct vinsn *vop_wmma_memory(struct vx *x, const struct vinsn *in)
{
	const uint32_t *regs = x->f->frame->fn->ext + in->table;
	struct wmma_place at;
	void *p[SIDE_MAX];
	bool store = in->size;

	if (x->mask != ~0u)
		return x->mask ? matrix_not_whole(x, in) : in + 1;
	memcpy(&at, &in->c, sizeof(at));
	if (!line_addresses(x, in, &at, store, p))
		return NULL;
	vx_weak_sync(x);
	unsigned bytes = wmma_bytes(at.type), per = mma_per_word(at.type), slots = in->vec * per;
	unsigned word = bytes == 8 ? 8 : 4;
	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned s = 0; s < slots; s++) {
			unsigned e = (lane * slots + s) % (at.rows * at.cols);
			unsigned row = e / at.cols, col = e % at.cols;
			char *mem = (char *)p[in->op ? col : row] + bytes * (in->op ? row : col);
			char *reg =
				(char *)VX_PTR(x, regs[s / per]) + word * lane + bytes * (s % per);

			memcpy(store ? mem : reg, store ? reg : mem, bytes);
		}
	x->w->progress |= store;
	return in + 1;
}

/* Collects the elements of a matrix from the registers of all lanes. */
static void gather_matrix(struct vx *x, const uint32_t *regs, unsigned n, uint8_t type,
	unsigned elements, double *ret)
{
	unsigned bytes = wmma_bytes(type), per = mma_per_word(type), slots = n * per;
	unsigned word = bytes == 8 ? 8 : 4;

	for (unsigned e = 0; e < elements; e++) {
		unsigned lane = e / slots, s = e % slots;
		const char *reg = (const char *)VX_PTR(x, regs[s / per]) + word * lane;

		ret[e] = matrix_element(type, get_bits(reg, word), s % per);
	}
}

/* Rounds to f32 towards zero, as the hardware does between two instructions. An overflow stays
 * infinite. */
static double cut_off(double v)
{
	float f = (float)v;

	return (double)(fabs(v) < 0x1p128 && fabs((double)f) > fabs(v) ? nextafterf(f, 0) : f);
}

/* Executes wmma.mma. For tf32, ptxas emits two instructions, each for half the columns of A. So the
 * sum is rounded once more, after the first half. */
const struct vinsn *vop_wmma(struct vx *x, const struct vinsn *in)
{
	const struct wmma_shape *s = &wmma_shapes[in->op];
	struct wmma_types t;
	double a[32 * 16], b[16 * 32], c[256];
	unsigned n[4];

	if (x->mask != ~0u)
		return x->mask ? matrix_not_whole(x, in) : in + 1;
	memcpy(&t, &in->imm, sizeof(t));
	const uint32_t *rd = x->f->frame->fn->ext + in->table, *ra, *rb, *rc;
	n[0] = wmma_registers(s->m * s->n, t.d, false);
	n[1] = wmma_registers(s->m * s->k, t.a, true);
	n[2] = wmma_registers(s->k * s->n, t.b, true);
	n[3] = wmma_registers(s->m * s->n, t.c, false);
	ra = rd + n[0];
	rb = ra + n[1];
	rc = rb + n[2];
	gather_matrix(x, ra, n[1], t.a, s->m * s->k, a);
	gather_matrix(x, rb, n[2], t.b, s->k * s->n, b);
	gather_matrix(x, rc, n[3], t.c, s->m * s->n, c);
	for (unsigned row = 0; row < s->m; row++)
		for (unsigned col = 0; col < s->n; col++) {
			double *v = &c[row * s->n + col];

			for (unsigned k = 0; k < s->k; k++) {
				double f = a[row * s->k + k], g = b[k * s->n + col];

				if (t.a == PTX_TF32 && k == s->k / 2)
					*v = cut_off(*v);
				*v = t.d == PTX_F64 ? fma(f, g, *v) : *v + f * g;
			}
		}
	unsigned per = mma_per_word(t.d), bytes = wmma_bytes(t.d), word = bytes == 8 ? 8 : 4;
	for (unsigned e = 0; e < s->m * s->n; e++) {
		unsigned lane = e / (n[0] * per), k = e % (n[0] * per);
		uint64_t v = matrix_bits(t.d, c[e], in->flags & VI_SAT);

		memcpy((char *)VX_PTR(x, rd[k / per]) + word * lane + bytes * (k % per), &v, bytes);
	}
	return in + 1;
}
