/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Formats diagnostics for users: file:line:column, the source line, a caret, and what to do
 * next. */
#include "diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The number of characters of a source line that are shown. A line of hostile input can be
 * megabytes long. */
#define LINE_SHOWN_MAX 160

void diag_init(struct diag_list *d, struct arena *a, const char *file, const char *text, size_t len)
{
	memset(d, 0, sizeof(*d));
	d->arena = a;
	d->file = file;
	d->text = text;
	d->text_len = len;
}

static const char *vformat(struct arena *a, const char *fmt, va_list ap)
{
	char line[1024];
	const char *p = NULL;
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	/* Only a message that quotes the input can be longer than the buffer. It is truncated. */
	if (n >= 0)
		p = arena_strndup(a, line, MIN((size_t)n, sizeof(line) - 1));
	return p ? p : "(out of memory)";
}

static void add_entry(struct diag_list *d, enum diag_level level, uint32_t line, uint32_t col,
	uint32_t span, const char *fmt, va_list ap)
{
	d->errors += level == DIAG_ERROR;
	if (d->len == DIAG_MAX) {
		d->dropped++;
		return;
	}
	d->at[d->len++] = (struct diag){
		.level = level,
		.line = line,
		.col = col,
		.span = MAX(span, 1),
		.message = vformat(d->arena, fmt, ap),
	};
}

void diag_add(struct diag_list *d, enum diag_level level, uint32_t line, uint32_t col,
	uint32_t span, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_entry(d, level, line, col, span, fmt, ap);
	va_end(ap);
}

int diag_line_error(struct diag_list *d, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_entry(d, DIAG_ERROR, line, 0, 1, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

void diag_hint(struct diag_list *d, const char *fmt, ...)
{
	va_list ap;

	/* The list is empty, or it dropped the entry that this hint belongs to. */
	if (!d->len || d->dropped)
		return;
	va_start(ap, fmt);
	d->at[d->len - 1].hint = vformat(d->arena, fmt, ap);
	va_end(ap);
}

/* The offset of a line in the text. Each search starts from the last line found, so rendering takes
 * linear time if the entries are in order. */
struct line_pos {
	uint32_t line;
	size_t offset;
};

static bool line_seek(const struct diag_list *d, struct line_pos *pos, uint32_t line)
{
	if (line < pos->line)
		*pos = (struct line_pos){.line = 1};
	while (pos->line < line) {
		const char *nl = memchr(d->text + pos->offset, '\n', d->text_len - pos->offset);

		if (!nl)
			return false;
		pos->offset = (size_t)(nl - d->text) + 1;
		pos->line++;
	}
	return true;
}

static void render_source(
	const struct diag_list *d, const struct diag *e, struct line_pos *pos, struct strbuf *out)
{
	const char *s, *nl;
	size_t len, col = e->col - 1, span;

	if (!d->text || !line_seek(d, pos, e->line))
		return;
	s = d->text + pos->offset;
	len = d->text_len - pos->offset;
	nl = memchr(s, '\n', len);
	if (nl)
		len = (size_t)(nl - s);
	if (len && s[len - 1] == '\r')
		len--;
	if (!e->col || col > len)
		col = len;
	/* Only the part of a very long line around the column is shown. */
	if (col > LINE_SHOWN_MAX / 2 && len > LINE_SHOWN_MAX) {
		size_t cut = col - LINE_SHOWN_MAX / 2;

		s += cut;
		len -= cut;
		col -= cut;
	}
	len = MIN(len, LINE_SHOWN_MAX);
	strbuf_puts(out, "  ");
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		/* Control characters could move the terminal's cursor. */
		strbuf_add(out, (unsigned char)c < 32 && c != '\t' ? "?" : c == 127 ? "?" : &c, 1);
	}
	strbuf_puts(out, "\n");
	if (!e->col)
		return;
	strbuf_puts(out, "  ");
	for (size_t i = 0; i < col; i++)
		strbuf_add(out, s[i] == '\t' ? "\t" : " ", 1);
	strbuf_puts(out, "^");
	span = MIN((size_t)e->span, len > col ? len - col : 1);
	for (size_t i = 1; i < span; i++)
		strbuf_puts(out, "~");
	strbuf_puts(out, "\n");
}

void diag_render(const struct diag_list *d, struct strbuf *out)
{
	static const char *const level_names[] = {"note", "warning", "error"};
	struct line_pos pos = {.line = 1};

	for (unsigned i = 0; i < d->len; i++) {
		const struct diag *e = &d->at[i];

		strbuf_puts(out, d->file ? d->file : "<input>");
		if (e->line)
			strbuf_printf(out, ":%u", e->line);
		if (e->line && e->col)
			strbuf_printf(out, ":%u", e->col);
		strbuf_printf(out, ": %s: %s\n", level_names[e->level], e->message);
		if (e->line)
			render_source(d, e, &pos, out);
		if (e->hint)
			strbuf_printf(out, "  hint: %s\n", e->hint);
	}
	if (d->dropped)
		strbuf_printf(out, "%s: note: %u more not shown\n", d->file ? d->file : "<input>",
			d->dropped);
}
