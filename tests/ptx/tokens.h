/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A second, independent reader of PTX, which produces a flat row of tokens to check the parser and
 * the printer. The tokens of a file and of the printed text must be equal, except for gaps,
 * comments, and three notations that the printer normalises: "+-8" becomes "-8", each name gets its
 * own declaration, and offsets of symbols are decimal. */
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
/* Returns the index of the first difference, or SIZE_MAX. */
size_t tokens_differ(const token_row *a, const token_row *b);

#endif
