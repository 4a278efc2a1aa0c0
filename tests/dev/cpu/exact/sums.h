/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sums of tensor cores: the forms of sums.def as kernels, their operands, and the allowed results.
 *
 * The PTX ISA does not say how a tensor core sums. Experiments found the following (Fasi, Higham,
 * Mikaitis, Pranesh: "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021; Khattak,
 * Mikaitis: "Accurate models of NVIDIA tensor cores", arXiv 2512.07004; Xie et al.: "MMA-Sim",
 * arXiv 2511.10909). Products are exact. They and the addend are aligned at the largest exponent,
 * truncated F bits after its binary point, and added without error. The sum is truncated to f32, or
 * rounded to the nearest f16. A product's exponent is the sum of its factors' exponents, so its
 * significand may be just below 4. On sm_90, up to 16 products of f16 or bf16, or 8 of tf32, are
 * one step, with F = 25; on sm_80 to sm_89 half as many, with F = 24. For every target, ptxas makes
 * two steps of four products each of wmma.m16n16k8 of tf32. f64 is a chain of fused multiply-adds,
 * and integers are exact. Between steps a sum may become infinite, and stays so.
 *
 * The bound: let a step have n products, and let E be the largest exponent. Of the n + 1 terms, the
 * one with exponent E loses nothing (it has at most 23 bits after the point). Each other term loses
 * less than 2^(E-F), and all together less than n 2^(E-F). The rounded value is below T = |exact
 * sum| + n 2^(E-F). Rounding loses less than one unit in the last place of T in f32, and at most
 * half a unit in f16 and f64. The errors of steps add up, with the sum so far as a term of the next
 * step. Hardware with more bits, another order within a step, or rounding to the nearest also stays
 * within the bound. */
#ifndef HEDDLE_TESTS_SUMS_H
#define HEDDLE_TESTS_SUMS_H

#include "exact.h"
#include "wide.h"

struct sum_form {
	char text[64]; /* as in sums.def */
	char shape[12];
	bool wmma, saturates, unknown; /* `unknown`: the virtual GPU does not know the form */
	unsigned target;
	unsigned m, n, k;
	const struct exact_type *d, *a, *b, *c;
};
typedef VEC(struct sum_form) sum_vec;
/* Expands all forms, in order. Exits if memory runs out or sums.def is wrong. */
void sums_expand(sum_vec *ret);
/* Parses one form's text. Returns false if there is no such shape or type. */
bool sum_parse(const char *text, struct sum_form *ret);

#define SUM_TILES 32
#define SUM_KINDS 8 /* kinds of tiles, which alternate */
/* bytes of one matrix; a tile has A, B and C in this order as input, and D as output */
#define SUM_PLACE 2048u
#define SUM_IN    ((size_t)SUM_TILES * 3 * SUM_PLACE)
#define SUM_OUT   ((size_t)SUM_TILES * SUM_PLACE)
#define SUM_SIDE  32

/* Bits of the elements: A, C and D row by row, B column by column. */
struct sum_tile {
	u64 a[SUM_SIDE * SUM_SIDE], b[SUM_SIDE * SUM_SIDE], c[SUM_SIDE * SUM_SIDE];
};
/* Writes an entry with two parameters. SUM_TILES blocks of one warp read SUM_IN bytes and write
 * SUM_OUT. */
void sum_kernel(struct strbuf *s, const struct sum_form *f, const char *name);
/* sum_fill makes tile `number` of a form, the same one on every call. sum_pack puts its A, B and C
 * into the kernel's input; sum_unpack gets its D from the output. */
void sum_fill(const struct sum_form *f, unsigned number, struct sum_tile *ret);
void sum_pack(const struct sum_form *f, unsigned number, const struct sum_tile *t, char *in);
void sum_unpack(const struct sum_form *f, unsigned number, const char *out, u64 *ret_d);

/* How tensor cores sum, from sm_80 on. */
struct sum_way {
	unsigned bits;  /* F in the text above */
	unsigned bytes; /* bytes of A's row that one step takes */
};
struct sum_way sum_way_of(unsigned sm);

/* The exact value of one element of D: a row of A times a column of B. */
struct sum_exact {
	bool open; /* may have overflowed between steps: any result is allowed */
	bool nan;  /* NaN or infinity: the result must be exactly this */
	int inf;   /* sign of the infinity: 1 or -1; 0: finite */
	struct wide sum;
	long double bound;
	u64 whole; /* for integers: the exact bits, the only allowed result */
};
void sum_reference(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c,
	struct sum_exact *ret);
/* The result according to the papers. */
u64 sum_model(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c);

struct sum_distance {
	bool beyond;        /* beyond the bound, or not the required NaN or infinity */
	long double bounds; /* as a fraction of the bound, 0 to 1 */
	long double ulps;   /* distance from the exact sum, in units of D's last place */
};
struct sum_distance sum_compare(const struct sum_form *f, const struct sum_exact *e, u64 d);
/* Returns whether x and y are the same number, or both NaN. */
bool sum_same(const struct sum_form *f, u64 x, u64 y);

#endif
