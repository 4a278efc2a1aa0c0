/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See form.h. */
#include "form.h"

#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void form_write(struct form *f, struct strbuf *out)
{
	*f = (struct form){.out = out};
}

void form_read(struct form *f, const char *text, size_t len)
{
	*f = (struct form){.at = text, .end = text + len};
}

void form_fail(struct form *f, const char *fmt, ...)
{
	va_list ap;

	if (f->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	f->failed = true;
}

/* ---- writing JSON ---- */

static void put(struct form *f, const char *text)
{
	strbuf_add(f->out, text, strlen(text));
}

static void put_number(struct form *f, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	strbuf_add(f->out, text + at, sizeof(text) - at);
}

static void put_text(struct form *f, const char *v)
{
	put(f, "\"");
	for (; *v; v++) {
		unsigned char c = (unsigned char)*v;

		if (c == '"' || c == '\\')
			put(f, "\\");
		if (c < 32 || c == 127)
			strbuf_printf(f->out, "\\u%04x", c);
		else
			strbuf_add(f->out, v, 1);
	}
	put(f, "\"");
}

/* ---- reading JSON ---- */

static void skip_blanks(struct form *f)
{
	while (!f->out && f->at < f->end && (*f->at == ' ' || *f->at == '\t' || *f->at == '\r'))
		f->at++;
}

/* If the next character is c, consumes it and returns true. */
static bool take(struct form *f, char c)
{
	skip_blanks(f);
	if (f->failed || f->at >= f->end || *f->at != c)
		return false;
	f->at++;
	return true;
}

static void expect(struct form *f, char c, const char *key)
{
	if (!take(f, c))
		form_fail(f, "%s: '%c' expected", key, c);
}

static bool take_word(struct form *f, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(f);
	if (f->failed || (size_t)(f->end - f->at) < n || memcmp(f->at, word, n) != 0)
		return false;
	f->at += n;
	return true;
}

/* Returns false if the text has no number up to max here; then the form has failed. */
static bool take_number(struct form *f, const char *key, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	bool any = false, fits = true;

	skip_blanks(f);
	for (; !f->failed && f->at < f->end && *f->at >= '0' && *f->at <= '9'; f->at++) {
		uint64_t digit = (uint64_t)(*f->at - '0');

		fits = fits && v <= (max - digit) / 10 && digit <= max;
		v = v * 10 + digit;
		any = true;
	}
	if (!any || !fits)
		form_fail(f, "%s: a number from 0 to %llu expected", key, (unsigned long long)max);
	else
		*ret = v;
	return any && fits;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character of an escape, after the backslash; 0: it is none of those that are written. */
static char take_escape(struct form *f)
{
	unsigned v = 0;

	if (f->at < f->end && (*f->at == '"' || *f->at == '\\'))
		return *f->at++;
	if (f->end - f->at < 5 || *f->at != 'u')
		return 0;
	f->at++;
	for (unsigned i = 0; i < 4; i++, f->at++) {
		int digit = hex_digit(*f->at);

		if (digit < 0)
			return 0;
		v = v * 16 + (unsigned)digit;
	}
	return v < 128 ? (char)v : 0;
}

static void take_text(struct form *f, const char *key, char *v, size_t size)
{
	size_t n = 0;

	expect(f, '"', key);
	while (!f->failed) {
		char c;

		if (f->at >= f->end) {
			form_fail(f, "%s: its text does not end", key);
			return;
		}
		c = *f->at++;
		if (c == '"')
			break;
		if (c == '\\')
			c = take_escape(f);
		if (!c || n + 1 >= size)
			form_fail(f, c ? "%s: its text is too long" : "%s: bad character", key);
		else
			v[n++] = c;
	}
	memset(v + n, 0, size - n);
}

/* ---- fields ---- */

/* Writes or reads what stands before a value. Returns false if reading has failed. */
static bool form_key(struct form *f, const char *key)
{
	char name[40];

	if (f->out) {
		put(f, f->inside ? ", \"" : "\"");
		put(f, key);
		put(f, "\": ");
		f->inside = true;
		return true;
	}
	if (f->inside)
		expect(f, ',', key);
	f->inside = true;
	snprintf(name, sizeof(name), "\"%s\"", key);
	if (!f->failed && !take_word(f, name))
		form_fail(f, "%s expected", name);
	expect(f, ':', key);
	return !f->failed;
}

void form_begin(struct form *f, const char *key, char open)
{
	if (key)
		form_key(f, key);
	else if (f->inside && f->out)
		put(f, ", ");
	else if (f->inside)
		expect(f, ',', "array");
	if (f->out)
		strbuf_add(f->out, &open, 1);
	else
		expect(f, open, key ? key : "line");
	f->inside = false;
}

void form_end(struct form *f, char close)
{
	if (f->out)
		strbuf_add(f->out, &close, 1);
	else
		expect(f, close, "end of the object");
	f->inside = true;
}

bool form_more(struct form *f, const char *key, uint32_t index, uint32_t n)
{
	skip_blanks(f);
	if (f->out)
		return index < n;
	if (f->failed || f->at >= f->end || *f->at == ']')
		return false;
	if (index >= n)
		form_fail(f, "%s: more than %u elements", key, (unsigned)n);
	return !f->failed;
}

void form_finish(struct form *f)
{
	skip_blanks(f);
	if (!f->out && f->at < f->end)
		form_fail(f, "text after the end of the object");
}

bool form_has(struct form *f, const char *key, bool has)
{
	struct form ahead = *f;

	if (f->out)
		return has;
	return !f->failed && form_key(&ahead, key);
}

void form_number(struct form *f, const char *key, uint64_t *v, uint64_t max)
{
	if (!form_key(f, key))
		return;
	if (f->out)
		put_number(f, *v);
	else
		take_number(f, key, max, v);
}

void form_number32(struct form *f, const char *key, uint32_t *v, uint32_t max)
{
	uint64_t wide = *v;

	form_number(f, key, &wide, max);
	*v = (uint32_t)wide;
}

void form_signed(struct form *f, const char *key, int64_t *v, int64_t min, int64_t max)
{
	uint64_t most = (uint64_t)max, far = 0;
	bool negative = f->out && *v < 0;

	if (!form_key(f, key))
		return;
	if (f->out) {
		put(f, negative ? "-" : "");
		put_number(f, negative ? 0 - (uint64_t)*v : (uint64_t)*v);
		return;
	}
	negative = take(f, '-');
	if (negative)
		most = 0 - (uint64_t)min;
	if (take_number(f, key, most, &far))
		*v = negative ? (int64_t)(0 - far) : (int64_t)far;
}

void form_time(struct form *f, const char *key, uint64_t *v)
{
	if (!form_key(f, key))
		return;
	if (f->out && *v == UINT64_MAX)
		put(f, "null");
	else if (f->out)
		put_number(f, *v);
	else if (take_word(f, "null"))
		*v = UINT64_MAX;
	else
		take_number(f, key, UINT64_MAX, v);
}

void form_flag(struct form *f, const char *key, bool *v)
{
	if (!form_key(f, key))
		return;
	if (f->out)
		put(f, *v ? "true" : "false");
	else if (take_word(f, "true"))
		*v = true;
	else if (take_word(f, "false"))
		*v = false;
	else
		form_fail(f, "%s: true or false expected", key);
}

void form_hex(struct form *f, const char *key, uint64_t *v)
{
	char text[17];

	if (f->out)
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)*v);
	form_text(f, key, text, sizeof(text));
	if (f->out || f->failed)
		return;
	*v = 0;
	for (unsigned i = 0; i < 16; i++) {
		if (hex_digit(text[i]) < 0) {
			form_fail(f, "%s: 16 hexadecimal digits expected", key);
			return;
		}
		*v = *v << 4 | (uint64_t)hex_digit(text[i]);
	}
}

void form_text(struct form *f, const char *key, char *v, size_t size)
{
	if (!form_key(f, key))
		return;
	if (f->out)
		put_text(f, v);
	else
		take_text(f, key, v, size);
}

void form_word(struct form *f, const char *key, const char *const *words, uint32_t n, uint32_t *v)
{
	char text[24];

	if (f->out)
		snprintf(text, sizeof(text), "%s", words[*v]);
	form_text(f, key, text, sizeof(text));
	for (uint32_t i = 0; i < n && !f->out && !f->failed; i++) {
		if (strcmp(words[i], text) == 0) {
			*v = i;
			return;
		}
	}
	if (!f->out)
		form_fail(f, "%s: '%s' is not known", key, text);
}

/* ---- arrays ---- */

static double take_real(struct form *f, const char *key, double limit)
{
	char text[40];
	size_t n = 0;
	double v;

	skip_blanks(f);
	while (f->at < f->end && n + 1 < sizeof(text) && strchr("+-.0123456789eE", *f->at) &&
		*f->at)
		text[n++] = *f->at++;
	text[n] = 0;
	if (number_parse_real(text, &v) < 0 || !(fabs(v) <= limit)) {
		form_fail(f, "%s: a number expected", key);
		return 0;
	}
	return v;
}

static void double_value(struct form *f, const char *key, void *v, uint32_t i)
{
	double *at = (double *)v + i;

	if (f->out)
		strbuf_printf(f->out, "%.17g", *at);
	else
		*at = take_real(f, key, 1e300);
}

static void float_value(struct form *f, const char *key, void *v, uint32_t i)
{
	float *at = (float *)v + i;

	if (f->out)
		strbuf_printf(f->out, "%.9g", (double)*at);
	else
		*at = (float)take_real(f, key, 1e30);
}

static void number32_value(struct form *f, const char *key, void *v, uint32_t i)
{
	uint64_t wide = 0;

	if (f->out)
		put_number(f, ((uint32_t *)v)[i]);
	else if (take_number(f, key, UINT32_MAX, &wide))
		((uint32_t *)v)[i] = (uint32_t)wide;
}

/* Returns the number of elements without the zeros at the end. */
static uint32_t trimmed(const void *v, uint32_t n, size_t bytes)
{
	static const char zero[8];

	while (n && memcmp((const char *)v + (n - 1) * bytes, zero, bytes) == 0)
		n--;
	return n;
}

static void form_values(struct form *f, const char *key, void *v, uint32_t n, size_t bytes,
	void (*value)(struct form *f, const char *key, void *v, uint32_t i))
{
	uint32_t i = 0, len = f->out ? trimmed(v, n, bytes) : n;

	form_begin(f, key, '[');
	for (; form_more(f, key, i, len); i++) {
		if (i && f->out)
			put(f, ",");
		else if (i)
			expect(f, ',', key);
		value(f, key, v, i);
	}
	form_end(f, ']');
	if (!f->out)
		memset((char *)v + i * bytes, 0, (n - i) * bytes);
}

void form_floats(struct form *f, const char *key, float *v, uint32_t n)
{
	form_values(f, key, v, n, sizeof(*v), float_value);
}

void form_doubles(struct form *f, const char *key, double *v, uint32_t n)
{
	form_values(f, key, v, n, sizeof(*v), double_value);
}

void form_numbers32(struct form *f, const char *key, uint32_t *v, uint32_t n)
{
	form_values(f, key, v, n, sizeof(*v), number32_value);
}
