/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A second, independent reading of PTX as a flat row of tokens, to hold the parser and the printer
 * against: what went in must come out, but for gaps, comments, and three ways of writing that the
 * printer settles: "+-8" for "-8", one declaration for each name, offsets of symbols in decimal. */
#ifndef HEDDLE_TESTS_PTX_TOKENS_H
#define HEDDLE_TESTS_PTX_TOKENS_H

#include "base/base.h"

struct token {
	const char *s;
	size_t len;
	unsigned line;
};
typedef VEC(struct token) token_row;

void tokens_read(token_row *row, const char *text, size_t len);
/* Index of the first difference, or SIZE_MAX. */
size_t tokens_differ(const token_row *a, const token_row *b);

#endif
