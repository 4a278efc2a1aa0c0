/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of wide.h. */
#include "wide.h"

#include <math.h>

struct wide_value wide_decode(const struct exact_type *t, u64 bits)
{
	u64 field = bits >> t->fbits & exact_mask(t->bits - 1 - t->fbits);
	u64 fraction = bits & exact_mask(t->fbits);
	struct wide_value v = {.negative = bits >> (t->bits - 1) & 1};

	v.nan = field == 2 * t->f_bias + 1 && fraction;
	v.inf = field == 2 * t->f_bias + 1 && !fraction;
	v.scale = (int)(field ? field : 1) - (int)t->f_bias;
	v.significand = fraction | (u64)(field != 0) << t->fbits;
	v.exp = v.scale - (int)t->fbits;
	return v;
}

void wide_add(struct wide *w, bool negative, unsigned __int128 significand, int exp)
{
	unsigned at = (unsigned)(exp - WIDE_LOW), shift = at % 32;
	u64 part[] = {(u64)significand, (u64)(significand >> 64)};

	at /= 32;
	/* Adds 32 bits at a time; each piece, shifted, spans two limbs. */
	for (unsigned i = 0; i < 4; i++, at++) {
		u64 v = (part[i / 2] >> 32 * (i % 2) & 0xffffffff) << shift;

		if (!v)
			continue;
		w->limb[at] += negative ? -(int64_t)(v & 0xffffffff) : (int64_t)(v & 0xffffffff);
		w->limb[at + 1] += negative ? -(int64_t)(v >> 32) : (int64_t)(v >> 32);
	}
}

void wide_add_product(struct wide *w, const struct wide_value *a, const struct wide_value *b)
{
	wide_add(w, a->negative != b->negative, (unsigned __int128)a->significand * b->significand,
		a->exp + b->exp);
}

void wide_sub(struct wide *w, const struct wide *other)
{
	for (unsigned i = 0; i < WIDE_LIMBS; i++)
		w->limb[i] -= other->limb[i];
}

/* Gets the magnitude as limbs of 32 bits, and the sign. Returns the index of the highest bit, or
 * -1. */
static int magnitude(const struct wide *w, uint32_t limb[WIDE_LIMBS], bool *ret_negative)
{
	int64_t carry = 0;
	int top = -1;

	for (unsigned i = 0; i < WIDE_LIMBS; i++) {
		int64_t v = w->limb[i] + carry;

		limb[i] = (uint32_t)v;
		carry = v >> 32;
	}
	*ret_negative = carry < 0;
	carry = 1;
	for (unsigned i = 0; i < WIDE_LIMBS; i++) {
		if (*ret_negative) {
			carry += (uint32_t)~limb[i];
			limb[i] = (uint32_t)carry;
			carry >>= 32;
		}
		if (limb[i])
			top = (int)(32 * i) + 31 - __builtin_clz(limb[i]);
	}
	return top;
}

int wide_sign(const struct wide *w)
{
	uint32_t limb[WIDE_LIMBS];
	bool negative;

	return magnitude(w, limb, &negative) < 0 ? 0 : negative ? -1 : 1;
}

/* Returns n bits, from bit `from` upwards. Bits below bit 0 are zero. */
static u64 bits_from(const uint32_t limb[WIDE_LIMBS], int from, unsigned n)
{
	u64 v = 0;

	for (unsigned i = 0; i < n; i++) {
		int at = from + (int)i;

		if (at >= 0 && at < 32 * WIDE_LIMBS)
			v |= (u64)(limb[at / 32] >> at % 32 & 1) << i;
	}
	return v;
}

static bool any_below(const uint32_t limb[WIDE_LIMBS], int end)
{
	for (int i = 0; 32 * i < end; i++) {
		uint32_t mask = end - 32 * i >= 32 ? ~0u : (1u << (end - 32 * i)) - 1;

		if (limb[i] & mask)
			return true;
	}
	return false;
}

long double wide_value(const struct wide *w)
{
	uint32_t limb[WIDE_LIMBS];
	bool negative;
	int top = magnitude(w, limb, &negative);

	if (top < 0)
		return 0;
	long double v = ldexpl((long double)bits_from(limb, top - 63, 64), top - 63 + WIDE_LOW);
	return negative ? -v : v;
}

u64 wide_round(const struct wide *w, const struct exact_type *t, bool nearest)
{
	uint32_t limb[WIDE_LIMBS];
	bool negative;
	int top = magnitude(w, limb, &negative), least = 1 - (int)t->f_bias;
	u64 sign = (u64)negative << (t->bits - 1);
	u64 inf = (u64)(2 * t->f_bias + 1) << t->fbits;

	if (top < 0)
		return 0;
	/* The last bit that is kept; for subnormals, that of the smallest exponent. */
	int scale = MAX(top + WIDE_LOW, least), last = scale - (int)t->fbits - WIDE_LOW;
	u64 v = bits_from(limb, last, t->fbits + 1);
	if (nearest && bits_from(limb, last - 1, 1) && ((v & 1) || any_below(limb, last - 1)))
		v++;
	/* If rounding carries out of the significand, the addition increments the exponent by
	 * itself. */
	if (v >> t->fbits)
		v += (u64)(scale - least) << t->fbits;
	return sign | MIN(v, inf);
}
