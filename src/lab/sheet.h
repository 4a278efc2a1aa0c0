/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One table of results, written twice at once: as an array in the JSON object that is open, and as text.
 * A row is an object of the array and a row of the text. Keys that the text lacks are written with
 * json.h, and cells that the JSON lacks with table.h, between the calls of this file. */
#ifndef HEDDLE_LAB_SHEET_H
#define HEDDLE_LAB_SHEET_H

#include "base/table.h"
#include "front/cli.h"

struct sheet {
	struct cli *c;
	struct json *j;
	struct table t;
	bool is_noise; /* the next number is marked with ~ */
};

/* Shows the title, and begins the array `key`. heads: the columns' heads, with | between; those that
 * begin with < are aligned to the left. */
void sheet_begin(struct sheet *s, struct cli *c, struct json *j, const char *key, const char *heads,
	const char *title, ...) HD_PRINTF(6, 7);
/* Adds a column after those of sheet_begin. */
void sheet_column(struct sheet *s, const char *head);
void sheet_row(struct sheet *s);
void sheet_row_end(struct sheet *s);
/* A key of the row's object, and the next cell. */
void sheet_str(struct sheet *s, const char *key, const char *value);
void sheet_uint(struct sheet *s, const char *key, uint64_t value);
/* The cell has value * factor, with so many digits after the point, and the unit. A value that is not
 * finite is null, and a dash. */
void sheet_num(struct sheet *s, const char *key, double value, double factor, int digits,
	const char *unit);
/* Marks the next number as noise, if `noise` is true. */
void sheet_mark(struct sheet *s, bool noise);
/* Ends the array, and shows the text. */
void sheet_end(struct sheet *s);

#endif
