/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sums of tensor cores: the forms of sums.def as kernels, the operands that they are tried with,
 * and what may come out.
 *
 * How a tensor core sums is not told by the PTX ISA. What was found by experiment (Fasi, Higham,
 * Mikaitis, Pranesh: "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021; Khattak,
 * Mikaitis: "Accurate models of NVIDIA tensor cores", arXiv 2512.07004; Xie et al.: "MMA-Sim",
 * arXiv 2511.10909): products are exact; they and the number that they are added to are aligned at
 * the largest exponent among them, cut off F bits behind its binary point, and added without an
 * error; the sum is cut off to f32, rounded to the nearest f16. A product's exponent is the sum of
 * its factors', so that it may be just below 4. Up to 16 products of f16 or bf16, 8 of tf32, are
 * one step on sm_90, with F = 25; on sm_80 to sm_89 half as many, and F = 24. ptxas makes two of
 * wmma.m16n16k8 of tf32, of four products each, for every target. f64 is a chain of fused
 * multiply-adds, integers are exact. Between steps a sum may have become infinite, and stays it.
 *
 * The bound follows. In a step of n products, with E the largest exponent: of n + 1 terms the one
 * of E loses nothing (it has at most 23 bits behind the point), each other less than 2^(E-F),
 * together less than n 2^(E-F). What is rounded is below T = |exact sum| + n 2^(E-F), and loses
 * less than one last place of T in f32, at most half a one in f16 and f64. Steps add up, with the
 * sum so far as a term of the next. Who adds with more bits, in another order within a step, or
 * rounds to the nearest stays within it, too. */
#ifndef HEDDLE_TESTS_SUMS_H
#define HEDDLE_TESTS_SUMS_H

#include "exact.h"
#include "wide.h"

struct sum_form {
	char text[64]; /* as sums.def has it */
	char shape[12];
	bool wmma, saturates, unknown; /* unknown: to the virtual GPU */
	unsigned target;
	unsigned m, n, k;
	const struct exact_type *d, *a, *b, *c;
};
typedef VEC(struct sum_form) sum_vec;
/* All of them, in order. Ends the process when memory is short or sums.def is wrong. */
void sums_expand(sum_vec *ret);
/* One from its text; false: no such shape or type. */
bool sum_parse(const char *text, struct sum_form *ret);

#define SUM_TILES 32
#define SUM_KINDS 8     /* of tiles, by turns */
#define SUM_PLACE 2048u /* bytes a matrix of a tile: A, B, C one behind the other; D */
#define SUM_IN    ((size_t)SUM_TILES * 3 * SUM_PLACE)
#define SUM_OUT   ((size_t)SUM_TILES * SUM_PLACE)
#define SUM_SIDE  32

/* Bits of the elements: A by rows, B by columns, C and D by rows. */
struct sum_tile {
	u64 a[SUM_SIDE * SUM_SIDE], b[SUM_SIDE * SUM_SIDE], c[SUM_SIDE * SUM_SIDE];
};
/* An entry with two parameters, SUM_IN bytes read and SUM_OUT written by SUM_TILES blocks of a
 * warp. */
void sum_kernel(struct strbuf *s, const struct sum_form *f, const char *name);
/* Tile `number` of a form, always the same; and how it and D lie in memory. */
void sum_fill(const struct sum_form *f, unsigned number, struct sum_tile *ret);
void sum_pack(const struct sum_form *f, unsigned number, const struct sum_tile *t, char *in);
void sum_unpack(const struct sum_form *f, unsigned number, const char *out, u64 *ret_d);

/* How sums are made from sm_80 on. */
struct sum_way {
	unsigned bits;  /* F */
	unsigned bytes; /* of A's row that are one step */
};
struct sum_way sum_way_of(unsigned sm);

/* One element of D: a row of A, a column of B. */
struct sum_exact {
	bool open; /* it may have overflowed on the way: anything goes */
	bool nan;  /* these two as they must be */
	int inf;   /* 1, -1 */
	struct wide sum;
	long double bound;
	u64 whole; /* integers: the bits, and nothing else will do */
};
void sum_reference(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c,
	struct sum_exact *ret);
/* What the papers say that comes out. */
u64 sum_model(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c);

struct sum_distance {
	bool beyond;        /* the bound; or not the NaN or infinity that it must be */
	long double bounds; /* of the bound, 0 to 1 */
	long double ulps;   /* last places of the exact sum, in D's type */
};
struct sum_distance sum_compare(const struct sum_form *f, const struct sum_exact *e, u64 d);
/* The same number, or both NaN. */
bool sum_same(const struct sum_form *f, u64 x, u64 y);

#endif
