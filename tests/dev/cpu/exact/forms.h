/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The forms of exact.def as kernels, with their operands. A form's operands are the same
 * wherever it runs, so results that were compared with a reference in one place can be compared
 * with a device's in another. */
#ifndef HEDDLE_TESTS_FORMS_H
#define HEDDLE_TESTS_FORMS_H

#include "exact.h"

#define FORM_SPECIAL 16
#define FORM_RANDOM  64
#define FORM_SIDE    (FORM_SPECIAL + FORM_RANDOM)
#define FORM_N       (FORM_SIDE * FORM_SIDE) /* all pairs; a multiple of FORM_THREADS */
#define FORM_THREADS 256
#define FORM_SOURCES 4
#define FORM_IN      ((size_t)FORM_N * FORM_SOURCES) /* in 64-bit words */
#define FORM_OUT     ((size_t)FORM_N * 2)

struct form_row {
	const char *forms, *operands, *reference;
	unsigned target; /* the lowest sm_ target with the form */
};
/* The rows of exact.def, in order, and their number. */
extern const struct form_row form_rows[];
extern const size_t form_n_rows;

struct form {
	unsigned row;
	struct exact_insn insn;
};
typedef VEC(struct form) form_vec;
/* Expands all forms, in order. Exits if memory runs out or exact.def is wrong. */
void forms_expand(form_vec *ret);

/* Calls `each` with every text that the braces expand to, in order. */
typedef void form_text_fn(void *arg, const char *text);
void forms_alternatives(const char *text, form_text_fn *each, void *arg);
/* Return the k-th value that is likely to expose errors; k is less than FORM_SPECIAL. */
u64 form_special_float(const struct exact_type *t, unsigned k);
u64 form_special_bits(unsigned bits, unsigned k);

/* Returns the type of operand k (0: the destination); *ret_bits is its register's width in bits. */
const struct exact_type *form_operand(const struct form *f, unsigned k, unsigned *ret_bits);
/* Writes an entry with two parameters. Each thread reads FORM_SOURCES words and writes two. */
void form_kernel(struct strbuf *s, const struct form *f, const char *name);
/* Returns whether the form has a second destination, or writes the carry flag. */
bool form_has_second(const struct form *f);
/* Fills FORM_IN words: all pairs of special and random values; further operands are sampled. */
void form_fill(const struct form *f, u64 *in);
/* Returns whether the first two operands of sample k are both special values. */
static inline bool form_is_special(unsigned k)
{
	return k % FORM_SIDE < FORM_SPECIAL && k / FORM_SIDE < FORM_SPECIAL;
}

#endif
