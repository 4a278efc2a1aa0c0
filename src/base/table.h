/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Text in columns, for a terminal. Every table that a command prints is made here. A column is as
 * wide as its widest cell, and cells are one space apart. The caller adds the columns, then the
 * cells row by row, and prints the table once. */
#ifndef HEDDLE_TABLE_H
#define HEDDLE_TABLE_H

#include "base/base.h"

struct table_column {
	size_t head; /* offset in text */
	unsigned width;
	bool left;
};

struct table_row {
	size_t first; /* index of its first cell */
	size_t note;  /* offset in text of what follows the cells, or of the whole line */
	bool has_note, is_line;
};

/* All zeros is a table without columns. */
struct table {
	unsigned margin;    /* spaces before each row */
	unsigned limit;     /* longer rows are cut after this many bytes; 0: no limit */
	struct strbuf text; /* texts of heads and cells, each with its NUL */
	VEC(struct table_column) columns;
	VEC(size_t) cells; /* offsets in text */
	VEC(struct table_row) rows;
	bool failed; /* memory ran out */
};

/* Adds a column. width is its minimum width in bytes; a negative width aligns it to the left, as in
 * printf. The head is copied. */
void table_column(struct table *t, int width, const char *head);
/* Begins a row. Cells missing at the row's end are empty. */
void table_row(struct table *t);
/* Adds the next cell of the row. Cells beyond the last column are left out. */
void table_cell(struct table *t, const char *fmt, ...) HD_PRINTF(2, 3);
/* Adds a number with this many digits after the point, followed by its unit. Adds a dash if the
 * number is not finite. */
void table_number(struct table *t, int digits, double value, const char *unit);
/* Ends the row with text of any length, which follows its last cell and belongs to no column. */
void table_note(struct table *t, const char *text);
/* Adds a row that is one line of text across all columns. */
void table_line(struct table *t, const char *text);
/* Appends the table: the heads (unless all are empty), and the rows. Spaces at the end of a row are
 * left out. If memory ran out, out->failed is set. */
void table_print(const struct table *t, struct strbuf *out);
/* Frees the table and sets it to all zeros. */
void table_finish(struct table *t);

#endif
