/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sums products of floating-point numbers without any rounding, in a fixed-point number that is
 * wide enough for every product of two f64 values, subnormal or not. */
#ifndef HEDDLE_TESTS_WIDE_H
#define HEDDLE_TESTS_WIDE_H

#include "exact.h"

#define WIDE_LOW   (-2208) /* exponent of its lowest bit */
#define WIDE_LIMBS 140     /* limbs of 32 bits, which hold up to 2^2272 */

struct wide {
	/* each counts 2^(WIDE_LOW + 32 i); carries are propagated when it is read */
	int64_t limb[WIDE_LIMBS];
};

/* A decoded value: significand * 2^exp with its sign; flags mark NaN and infinity. */
struct wide_value {
	bool negative, nan, inf;
	u64 significand;
	int exp;
	int scale; /* exponent in the format; for subnormals and zeros the smallest one */
};
struct wide_value wide_decode(const struct exact_type *t, u64 bits);

/* Adds ± significand * 2^exp; exp is at least WIDE_LOW, and the value below 2^2200. */
void wide_add(struct wide *w, bool negative, unsigned __int128 significand, int exp);
void wide_add_product(struct wide *w, const struct wide_value *a, const struct wide_value *b);
void wide_sub(struct wide *w, const struct wide *other);
/* Returns -1, 0 or 1. */
int wide_sign(const struct wide *w);
/* Truncates the sum to a long double. */
long double wide_value(const struct wide *w);
/* Rounds to a type's bits: to the nearest, ties to even, or towards zero. From 2^(largest
 * exponent + 1) on, and where rounding overflows, the result is infinity. */
u64 wide_round(const struct wide *w, const struct exact_type *t, bool nearest);

#endif
