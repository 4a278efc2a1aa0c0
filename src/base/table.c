/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lays out a table once all of its cells are known. */
#include "base/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a string to t->text. Returns its offset there. */
static size_t keep(struct table *t, const char *text)
{
	size_t at = t->text.len;

	strbuf_add(&t->text, text, strlen(text) + 1);
	t->failed |= t->text.failed;
	return at;
}

static const char *text_at(const struct table *t, size_t at)
{
	return t->text.at && at < t->text.len ? t->text.at + at : "";
}

void table_column(struct table *t, int width, const char *head)
{
	struct table_column c = {.left = width < 0};
	size_t len = strlen(head);

	c.width = (unsigned)abs(width);
	c.width = MAX(c.width, (unsigned)len);
	c.head = keep(t, head);
	if (!VEC_PUSH(&t->columns, c))
		t->failed = true;
}

void table_row(struct table *t)
{
	struct table_row row = {.first = t->cells.len};

	if (!VEC_PUSH(&t->rows, row))
		t->failed = true;
}

void table_line(struct table *t, const char *text)
{
	struct table_row row = {.first = t->cells.len, .note = keep(t, text), .is_line = true};

	if (!VEC_PUSH(&t->rows, row))
		t->failed = true;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	size_t n, at;
	va_list ap;
	char *text;
	int len;

	if (!t->rows.len)
		return;
	n = t->cells.len - t->rows.at[t->rows.len - 1].first;
	if (n >= t->columns.len)
		return;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		t->failed = true;
		return;
	}
	at = keep(t, text);
	if (!VEC_PUSH(&t->cells, at))
		t->failed = true;
	t->columns.at[n].width = MAX(t->columns.at[n].width, (unsigned)len);
	free(text);
}

void table_number(struct table *t, int digits, double value, const char *unit)
{
	if (isfinite(value))
		table_cell(t, "%.*f%s", digits, value, unit);
	else
		table_cell(t, "-");
}

void table_note(struct table *t, const char *text)
{
	struct table_row *r = t->rows.len ? &t->rows.at[t->rows.len - 1] : NULL;

	if (!r || !*text)
		return;
	r->note = keep(t, text);
	r->has_note = true;
}

/* Removes spaces at the end of the line that began at `from`, cuts it at the limit, and ends it. */
static void end_line(const struct table *t, size_t from, struct strbuf *out)
{
	if (t->limit && out->len > from + t->limit)
		out->len = from + t->limit;
	while (out->len > from && out->at[out->len - 1] == ' ')
		out->len--;
	strbuf_puts(out, "\n");
}

static void add_cell(const struct table *t, size_t column, const char *text, struct strbuf *out)
{
	const struct table_column *c = &t->columns.at[column];
	int width = (int)c->width;

	if (column)
		strbuf_puts(out, " ");
	strbuf_printf(out, "%*s", c->left ? -width : width, text);
}

static void print_heads(const struct table *t, struct strbuf *out)
{
	size_t from = out->len;
	bool any = false;

	for (size_t i = 0; i < t->columns.len; i++)
		any |= *text_at(t, t->columns.at[i].head) != 0;
	if (!any)
		return;
	strbuf_printf(out, "%*s", (int)t->margin, "");
	for (size_t i = 0; i < t->columns.len; i++)
		add_cell(t, i, text_at(t, t->columns.at[i].head), out);
	end_line(t, from, out);
}

static void print_row(const struct table *t, size_t row, struct strbuf *out)
{
	const struct table_row *r = &t->rows.at[row];
	size_t end = row + 1 < t->rows.len ? t->rows.at[row + 1].first : t->cells.len;
	size_t from = out->len;

	if (r->is_line) {
		strbuf_puts(out, text_at(t, r->note));
		end_line(t, from, out);
		return;
	}
	strbuf_printf(out, "%*s", (int)t->margin, "");
	for (size_t i = r->first; i < end; i++)
		add_cell(t, i - r->first, text_at(t, t->cells.at[i]), out);
	if (r->has_note)
		strbuf_printf(out, " %s", text_at(t, r->note));
	end_line(t, from, out);
}

void table_print(const struct table *t, struct strbuf *out)
{
	if (t->failed) {
		out->failed = true;
		return;
	}
	print_heads(t, out);
	for (size_t i = 0; i < t->rows.len; i++)
		print_row(t, i, out);
}

void table_finish(struct table *t)
{
	strbuf_finish(&t->text);
	VEC_FREE(&t->columns);
	VEC_FREE(&t->cells);
	VEC_FREE(&t->rows);
	*t = (struct table){0};
}
