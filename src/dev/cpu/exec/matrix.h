/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Declarations that the decoding and the execution of matrix operations share (exec_matrix.c,
 * exec_wmma.c). */
#ifndef HEDDLE_VGPU_MATRIX_H
#define HEDDLE_VGPU_MATRIX_H

#include "exec_ctl.h"

enum vmatrix { VM_PLAIN, VM_TURNED };

/* An mma shape: m rows, 8 columns, and k products per sum. */
struct mma_shape {
	const char *name;
	uint8_t m, k;
};
extern const struct mma_shape mma_shapes[]; /* the last entry has no name */

/* The types of an mma's matrices (enum ptx_type), stored in the instruction's imm. */
struct mma_types {
	uint8_t d, a, b;
};
/* Registers per lane for A, for B, and for each of C and D. */
struct mma_counts {
	unsigned a, b, c;
};

/* Returns the number of elements per 32-bit register (per 64 bits for f64). */
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

/* A shape of wmma: m rows of A, n columns of B, and sums of k products. */
struct wmma_shape {
	const char *name;
	uint8_t m, n, k;
};
extern const struct wmma_shape wmma_shapes[]; /* the last entry has no name */
struct wmma_types {                           /* stored in the instruction's imm */
	uint8_t d, c, a, b;
};
/* a matrix in memory, in c of the instruction; op is set if columns are contiguous */
struct wmma_place {
	uint8_t rows, cols, type;
};

static inline unsigned wmma_bytes(uint8_t type)
{
	return type == PTX_F64 ? 8 : 4 / mma_per_word(type);
}

/* Returns the number of registers per lane of a matrix fragment. `factor` is set for A and B, which
 * always have eight registers for f16. */
static inline unsigned wmma_registers(unsigned elements, uint8_t type, bool factor)
{
	return factor && type == PTX_F16 ? 8 : elements / LANES / mma_per_word(type);
}

/* These convert element e of a register's bits to a double, and a sum to the bits of a result. */
double matrix_element(uint8_t type, uint64_t bits, unsigned e);
uint64_t matrix_bits(uint8_t type, double sum, bool saturates);
/* Reports a fault, because not all lanes of the warp execute the instruction. */
const struct vinsn *matrix_not_whole(struct vx *x, const struct vinsn *in);

/* Executes ldmatrix, or stmatrix if in->size is set. */
const struct vinsn *vop_matrix_rows(struct vx *x, const struct vinsn *in);
const struct vinsn *vop_movmatrix(struct vx *x, const struct vinsn *in);
const struct vinsn *vop_mma(struct vx *x, const struct vinsn *in);
/* Loads or stores a wmma matrix. in->size is set for a store; vec: number of registers; b: elements
 * between the starts of two rows (or columns) in memory, or VX_NONE. */
const struct vinsn *vop_wmma_memory(struct vx *x, const struct vinsn *in);
const struct vinsn *vop_wmma(struct vx *x, const struct vinsn *in);

#endif
