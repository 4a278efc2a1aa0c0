/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Growing arrays and byte buffers. A full buffer doubles its capacity, so n pushes cost O(n) in
 * total. If memory runs out, the array or buffer stays unchanged. A strbuf also remembers that
 * memory ran out, so code that writes to a strbuf many times needs only one check, after the last
 * write. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool vec_grow(void **at, size_t *cap, size_t len, size_t elem_bytes)
{
	size_t want;
	void *p;

	if (len < *cap)
		return true;
	want = *cap ? *cap * 2 : 8;
	if (want < *cap || want > SIZE_MAX / elem_bytes)
		return false;
	p = realloc(*at, want * elem_bytes);
	if (!p)
		return false;
	*at = p;
	*cap = want;
	return true;
}

void vec_free(void **at, size_t *len, size_t *cap)
{
	free(*at);
	*at = NULL;
	*len = *cap = 0;
}

/* Makes room for len more bytes and the NUL. */
static bool strbuf_reserve(struct strbuf *b, size_t len)
{
	size_t want = b->cap ? b->cap : 64;
	char *p;

	if (b->failed)
		return false;
	if (len < b->cap && b->len < b->cap - len)
		return true;
	if (len > SIZE_MAX / 4 - b->len) {
		b->failed = true;
		return false;
	}
	while (want <= b->len + len)
		want *= 2;
	p = realloc(b->at, want);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->at = p;
	b->cap = want;
	return true;
}

void strbuf_add(struct strbuf *b, const char *s, size_t len)
{
	if (!strbuf_reserve(b, len))
		return;
	if (len)
		memcpy(b->at + b->len, s, len);
	b->len += len;
	b->at[b->len] = 0;
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	/* Most texts fit in the buffer's free space, so format into it at once. The return value is
	 * the length that is needed otherwise. */
	if (!strbuf_reserve(b, 1))
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(b->at + b->len, b->cap - b->len, fmt, ap);
	if (n >= 0 && (size_t)n >= b->cap - b->len) {
		b->at[b->len] = 0;
		if (strbuf_reserve(b, (size_t)n))
			n = vsnprintf(b->at + b->len, b->cap - b->len, fmt, again);
		else
			n = -1;
	}
	if (n >= 0)
		b->len += (size_t)n;
	else
		b->failed = true;
	b->at[b->len] = 0;
	va_end(again);
	va_end(ap);
}

void strbuf_finish(struct strbuf *b)
{
	free(b->at);
	*b = (struct strbuf){0};
}
