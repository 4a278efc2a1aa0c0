/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A streaming JSON writer (RFC 8259). Each level is indented by two spaces, and a newline follows
 * the outermost value. */
#include "json.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *j, struct strbuf *out)
{
	*j = (struct json){.out = out};
}

static void write_indent(struct json *j)
{
	strbuf_puts(j->out, "\n");
	for (unsigned i = 0; i < j->depth; i++)
		strbuf_puts(j->out, "  ");
}

/* Escapes characters that control a terminal, because users also read heddle's JSON in
 * terminals. */
static void write_escaped(struct strbuf *out, const unsigned char *s, unsigned n)
{
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (unsigned i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	if (c > 0xffff)
		strbuf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		strbuf_printf(out, "\\u%04x", c);
}

static void write_quoted(struct strbuf *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	strbuf_puts(out, "\"");
	while (*s) {
		unsigned n = text_utf8((const char *)s, strlen((const char *)s));

		if (n == 0) {
			strbuf_puts(out, "\xef\xbf\xbd");
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			strbuf_printf(out, "\\%c", *s);
		} else if (*s == '\n') {
			strbuf_puts(out, "\\n");
		} else if (*s == '\t') {
			strbuf_puts(out, "\\t");
		} else if (!text_is_plain((const char *)s, n)) {
			write_escaped(out, s, n);
		} else {
			strbuf_add(out, (const char *)s, n);
		}
		s += n;
	}
	strbuf_puts(out, "\"");
}

/* Writes what precedes a value: the comma, line break and key. */
static void begin_value(struct json *j, const char *key)
{
	uint64_t bit = (uint64_t)1 << (j->depth & 63);

	if (j->depth) {
		if (j->has_items & bit)
			strbuf_puts(j->out, ",");
		j->has_items |= bit;
		write_indent(j);
	}
	if (key) {
		write_quoted(j->out, key);
		strbuf_puts(j->out, ": ");
	}
}

static void end_value(struct json *j)
{
	if (!j->depth)
		strbuf_puts(j->out, "\n");
}

static void open_level(struct json *j, const char *key, const char *bracket)
{
	begin_value(j, key);
	strbuf_puts(j->out, bracket);
	j->depth++;
	j->has_items &= ~((uint64_t)1 << (j->depth & 63));
}

void json_begin_object(struct json *j, const char *key)
{
	open_level(j, key, "{");
}

void json_begin_array(struct json *j, const char *key)
{
	open_level(j, key, "[");
}

void json_end(struct json *j, char close)
{
	bool any = j->has_items >> (j->depth & 63) & 1;

	j->depth--;
	if (any)
		write_indent(j);
	strbuf_add(j->out, &close, 1);
	end_value(j);
}

void json_str(struct json *j, const char *key, const char *value)
{
	begin_value(j, key);
	if (value)
		write_quoted(j->out, value);
	else
		strbuf_puts(j->out, "null");
	end_value(j);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin_value(j, key);
	strbuf_printf(j->out, "%lld", (long long)value);
	end_value(j);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	strbuf_printf(j->out, "%llu", (unsigned long long)value);
	end_value(j);
}

void json_num(struct json *j, const char *key, double value)
{
	char text[40];

	begin_value(j, key);
	if (isfinite(value)) {
		/* Uses the first of 6, 15, 16 and 17 digits that reads back as the same value. A
		 * decimal comma of the locale is replaced, because JSON does not allow it. */
		for (int digits = 6; digits <= 17; digits += digits == 6 ? 9 : 1) {
			snprintf(text, sizeof(text), "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
		for (char *p = text; *p; p++)
			if (*p == ',')
				*p = '.';
		strbuf_puts(j->out, text);
	} else {
		strbuf_puts(j->out, "null");
	}
	end_value(j);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	strbuf_puts(j->out, value ? "true" : "false");
	end_value(j);
}

void json_raw(struct json *j, const char *key, const char *text)
{
	begin_value(j, key);
	strbuf_puts(j->out, text);
	end_value(j);
}
