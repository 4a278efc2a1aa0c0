/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sums of products of floating-point numbers without any rounding: a fixed-point number so wide
 * that every product of two f64 has its place in it, subnormal or not. */
#ifndef HEDDLE_TESTS_WIDE_H
#define HEDDLE_TESTS_WIDE_H

#include "exact.h"

#define WIDE_LOW   (-2208) /* the exponent of its last bit */
#define WIDE_LIMBS 140     /* of 32 bits: up to 2^2272 */

struct wide {
	int64_t limb[WIDE_LIMBS]; /* each times 2^(WIDE_LOW + 32 i); carried when it is looked at */
};

/* A value of a type: significand * 2^exp, negative or not; NaN and infinity by flags. */
struct wide_value {
	bool negative, nan, inf;
	u64 significand;
	int exp;
	int scale; /* the exponent that the format has for it; of subnormals and zeros the least */
};
struct wide_value wide_decode(const struct exact_type *t, u64 bits);

/* Adds ± significand * 2^exp; exp at least WIDE_LOW, the value below 2^2200. */
void wide_add(struct wide *w, bool negative, unsigned __int128 significand, int exp);
void wide_add_product(struct wide *w, const struct wide_value *a, const struct wide_value *b);
void wide_sub(struct wide *w, const struct wide *other);
/* -1, 0, 1 */
int wide_sign(const struct wide *w);
/* Cut off to what a long double holds. */
long double wide_value(const struct wide *w);
/* The bits in a type: to the nearest, of two the even one; or towards zero. Infinity from
 * 2^(largest exponent + 1) on, and as rounding has it. */
u64 wide_round(const struct wide *w, const struct exact_type *t, bool nearest);

#endif
