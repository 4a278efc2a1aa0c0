/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What decoding and running of matrix operations share (exec_matrix.c). */
#ifndef HEDDLE_VGPU_MATRIX_H
#define HEDDLE_VGPU_MATRIX_H

#include "exec_ctl.h"

enum vmatrix { VM_PLAIN, VM_TURNED };

/* mma: m rows, 8 columns, sums of k products. */
struct mma_shape {
	const char *name;
	uint8_t m, k;
};
extern const struct mma_shape mma_shapes[]; /* up to one without a name */

/* Of its matrices (enum ptx_type), in an instruction's imm. */
struct mma_types {
	uint8_t d, a, b;
};
/* Registers a lane, of A, of B, and of each of C and D. */
struct mma_counts {
	unsigned a, b, c;
};

/* Elements in 32 bits, or in the 64 of f64. */
static inline unsigned mma_per_word(uint8_t type)
{
	return type == PTX_S8 || type == PTX_U8 ? 4 : type == PTX_F16 || type == PTX_BF16 ? 2 : 1;
}

static inline struct mma_counts mma_count(const struct mma_shape *s, const struct mma_types *t)
{
	unsigned p = mma_per_word(t->a);

	return (struct mma_counts){s->m * s->k / 32u / p, 8u * s->k / 32u / p,
		s->m * 8u / 32u / (t->d == PTX_F16 ? 2u : 1u)};
}

/* ldmatrix; in->size: stmatrix. */
const struct vinsn *vop_matrix_rows(struct vx *x, const struct vinsn *in);
const struct vinsn *vop_movmatrix(struct vx *x, const struct vinsn *in);
const struct vinsn *vop_mma(struct vx *x, const struct vinsn *in);

#endif
