/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A table of results that is written twice at once: as an array in the open JSON object, and as
 * text. A row is an object of the array and a row of the text. Keys that only the JSON has are
 * written with json.h, and cells that only the text has with table.h, between the calls of this
 * file. */
#ifndef HEDDLE_LAB_SHEET_H
#define HEDDLE_LAB_SHEET_H

#include "base/table.h"
#include "front/cli.h"

struct sheet {
	struct cli *c;
	struct json *j;
	struct table t;
	bool is_noise; /* sheet_num marks the next number with ~ */
};

/* Shows the title, and begins the array `key`. heads are the heads of the columns, separated by |.
 * A column whose head begins with < is aligned to the left. */
void sheet_begin(struct sheet *s, struct cli *c, struct json *j, const char *key, const char *heads,
	const char *title, ...) HD_PRINTF(6, 7);
/* Adds a column to the right of those given to sheet_begin. */
void sheet_column(struct sheet *s, const char *head);
void sheet_row(struct sheet *s);
void sheet_row_end(struct sheet *s);
/* These functions write a key of the row's object, and the row's next cell. */
void sheet_str(struct sheet *s, const char *key, const char *value);
void sheet_uint(struct sheet *s, const char *key, uint64_t value);
/* The cell has value * factor with this number of digits after the point, and the unit. A value
 * that is not finite becomes null in JSON and a dash in the text. */
void sheet_num(struct sheet *s, const char *key, double value, double factor, int digits,
	const char *unit);
/* If noise is true, marks the next number as noise. */
void sheet_mark(struct sheet *s, bool noise);
/* Ends the array, and shows the text of the table. */
void sheet_end(struct sheet *s);

#endif
