/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Diagnostics. Each has an error, its location in the input, and advice what to do next. Parsers
 * add diagnostics to a list and continue; they never print them. A list stores at most DIAG_MAX
 * entries; the errors after these are only counted. */
#ifndef HEDDLE_DIAG_H
#define HEDDLE_DIAG_H

#include "base.h"

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };
#define DIAG_MAX 100

struct diag {
	enum diag_level level;
	uint32_t line, col; /* counted from 1; 0 for the whole file */
	uint32_t span;      /* number of characters to underline, at least 1 */
	const char *message;
	const char *hint; /* the next step for the user, or NULL */
};

struct diag_list {
	struct arena *arena;
	const char *file; /* file name as printed */
	const char *text; /* source text, from which the line is printed; may be NULL */
	size_t text_len;
	struct diag at[DIAG_MAX];
	unsigned len, errors, dropped;
};

void diag_init(
	struct diag_list *d, struct arena *a, const char *file, const char *text, size_t len);
void diag_add(struct diag_list *d, enum diag_level level, uint32_t line, uint32_t col,
	uint32_t span, const char *fmt, ...) HD_PRINTF(6, 7);
/* Adds an error about a whole line of input. Returns -EINVAL. */
int diag_line_error(struct diag_list *d, uint32_t line, const char *fmt, ...) HD_PRINTF(3, 4);
/* Adds a hint to the last entry. */
void diag_hint(struct diag_list *d, const char *fmt, ...) HD_PRINTF(2, 3);
/* Appends each entry in order: "file:line:col: error: message", the source line, a caret and the
 * hint. */
void diag_render(const struct diag_list *d, struct strbuf *out);

#endif
