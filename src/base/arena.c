/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Memory that is freed all at once: a list of chunks, where allocation advances a pointer in the
 * newest chunk. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_MIN_BYTES (64u << 10)
#define CHUNK_MAX_BYTES ((size_t)8 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

struct arena_chunk {
	struct arena_chunk *next; /* next chunk in the list arena.head; arena_finish frees all */
	size_t cap;
	_Alignas(16) char data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
	*a = (struct arena){.limit_bytes = limit_bytes};
}

void arena_finish(struct arena *a)
{
	struct arena_chunk *c = a->head;

	while (c) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
	*a = (struct arena){.limit_bytes = a->limit_bytes};
}

/* Allocates a chunk. Large chunks use huge pages: when a hundred megabytes are written once, page
 * faults of small pages take more time than the writes. */
static struct arena_chunk *new_chunk(size_t cap)
{
	size_t bytes = sizeof(struct arena_chunk) + cap;
	void *p;

	if (cap < 2 * HUGE_PAGE_BYTES)
		return malloc(bytes);
	p = aligned_alloc(HUGE_PAGE_BYTES, round_up(bytes, HUGE_PAGE_BYTES));
	if (p)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void *arena_alloc_chunk(struct arena *a, size_t bytes)
{
	size_t need = MAX((bytes + 15) & ~(size_t)15, 16), cap;
	size_t allowed = a->limit_bytes ? a->limit_bytes - a->used_bytes : SIZE_MAX;
	struct arena_chunk *c;

	if (bytes > SIZE_MAX - CHUNK_MIN_BYTES || need > allowed)
		return NULL;
	/* Chunk sizes double, so a large module needs only a few chunks. */
	cap = a->head ? MIN(a->head->cap * 2, CHUNK_MAX_BYTES) : CHUNK_MIN_BYTES;
	cap = MAX(cap, need);
	c = new_chunk(cap);
	if (!c)
		return NULL;
	c->next = a->head;
	c->cap = cap;
	a->head = c;
	a->used_bytes += need;
	a->next = c->data + need;
	a->left_bytes = MIN(cap, allowed) - need;
	return c->data;
}

void *arena_zalloc(struct arena *a, size_t bytes)
{
	void *p = arena_alloc(a, bytes);

	return p ? memset(p, 0, bytes) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = len == SIZE_MAX ? NULL : arena_alloc(a, len + 1);

	if (!p)
		return NULL;
	memcpy(p, s, len);
	p[len] = 0;
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0)
		p = arena_alloc(a, (size_t)n + 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return p;
}
