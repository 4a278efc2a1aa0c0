/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a table of results as JSON and as text. */
#include "lab/sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sheet_column(struct sheet *s, const char *head)
{
	table_column(&s->t, *head == '<' ? -1 : 0, *head == '<' ? head + 1 : head);
}

static void add_columns(struct sheet *s, const char *heads)
{
	while (*heads) {
		size_t len = strcspn(heads, "|");
		char *head = strndup(heads, len);

		sheet_column(s, head ? head : "");
		free(head);
		heads += len + (heads[len] == '|');
	}
}

void sheet_begin(struct sheet *s, struct cli *c, struct json *j, const char *key, const char *heads,
	const char *title, ...)
{
	char *text = NULL;
	va_list ap;

	*s = (struct sheet){.c = c, .j = j};
	va_start(ap, title);
	if (vasprintf(&text, title, ap) < 0)
		text = NULL;
	va_end(ap);
	cli_show(c, "\n%s\n", text ? text : "");
	free(text);
	add_columns(s, heads);
	json_begin_array(j, key);
}

void sheet_row(struct sheet *s)
{
	json_begin_object(s->j, NULL);
	table_row(&s->t);
}

void sheet_row_end(struct sheet *s)
{
	json_end(s->j, '}');
}

void sheet_str(struct sheet *s, const char *key, const char *value)
{
	json_str(s->j, key, value);
	table_cell(&s->t, "%s", value ? value : "-");
}

void sheet_uint(struct sheet *s, const char *key, uint64_t value)
{
	json_uint(s->j, key, value);
	table_cell(&s->t, "%llu", (unsigned long long)value);
}

void sheet_mark(struct sheet *s, bool noise)
{
	s->is_noise = noise;
}

void sheet_num(
	struct sheet *s, const char *key, double value, double factor, int digits, const char *unit)
{
	json_num(s->j, key, value);
	if (isfinite(value))
		table_cell(&s->t, "%s%.*f%s", s->is_noise ? "~" : "", digits, value * factor, unit);
	else
		table_cell(&s->t, "-");
	s->is_noise = false;
}

void sheet_end(struct sheet *s)
{
	json_end(s->j, ']');
	cli_show_table(s->c, &s->t);
}
