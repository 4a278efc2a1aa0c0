/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests every form of every exact arithmetic instruction against references that share nothing
 * with the interpreter: integers of 128 bits, and MPFR. exact.def lists the forms, following the
 * PTX ISA; the virtual GPU itself says which of them it knows. */
#ifndef HEDDLE_TESTS_EXACT_H
#define HEDDLE_TESTS_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

typedef uint64_t u64;

enum exact_kind { KIND_UINT, KIND_INT, KIND_BITS, KIND_FLOAT, KIND_PRED };
struct exact_type {
	const char *name;
	enum exact_kind kind;
	unsigned bits;   /* width of one element */
	unsigned n;      /* number of elements */
	unsigned fbits;  /* floats: bits of the fraction */
	uint32_t f_bias; /* floats: the exponent's bias */
	bool no_inf;     /* the largest exponent encodes numbers; only all ones is NaN */
};
extern const struct exact_type exact_types[];
const struct exact_type *exact_type_of(const char *name); /* NULL if unknown */

/* A form's text, such as "setp.lt.and.ftz.f32". */
struct exact_insn {
	char text[80];
	char parts[12][16]; /* the first part is the operation */
	unsigned n_parts;
	const struct exact_type *type[3];
	unsigned n_types, n_src;
	unsigned imm; /* immediate operand after the others, if there is one */
	bool has_imm;
};
bool exact_has(const struct exact_insn *i, const char *part);
bool exact_is(const struct exact_insn *i, const char *op);

/* Computes the result from the operands' bits; ret[1] is for a second destination. Returns false
 * if the ISA leaves the result open. */
typedef bool exact_ref(const struct exact_insn *i, const u64 *v, u64 ret[2]);
/* Defined in exact_int.c. */
exact_ref ref_integer, ref_bits, ref_carry, ref_compare, ref_select, ref_logic, ref_video;
exact_ref ref_float, ref_convert, ref_extreme, ref_class; /* in exact_float.c */

/* Compares two floats: returns -1 if a < b, 0 if they are equal, 1 if a > b, 2 if they are
 * unordered. With `flush`, subnormals count as zeros. */
int exact_float_order(const struct exact_type *t, u64 a, u64 b, bool flush);
void exact_float_init(void);
void exact_float_finish(void);

/* Returns the next number of an xorshift generator, whose state is never 0. */
static inline u64 exact_rng(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
static inline u64 exact_mask(unsigned bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}
/* Returns element k of a packed value. */
static inline u64 exact_part(const struct exact_type *t, u64 v, unsigned k)
{
	return v >> (t->bits * k) & exact_mask(t->bits);
}

#endif
