/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The base of all layers: memory arenas, growing arrays, byte buffers, hashes. Nothing in this
 * header does I/O, logs or exits. If memory runs out, arena functions return NULL, and vector
 * functions return false. The arena or vector stays unchanged then, so that a library can return an
 * error to its caller. */
#ifndef HEDDLE_BASE_H
#define HEDDLE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a)          (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define MIN(a, b)             ((a) < (b) ? (a) : (b))
#define MAX(a, b)             ((a) > (b) ? (a) : (b))
/* The plural ending of a noun that follows the number n: PLURAL(n, "s"). */
#define PLURAL(n, ending) ((n) == 1 ? "" : (ending))
#define HD_PRINTF(f, a)   __attribute__((format(printf, f, a)))

static inline uint64_t round_up(uint64_t n, uint64_t multiple)
{
	return multiple ? (n + multiple - 1) / multiple * multiple : n;
}

/* ---- arena: allocations that are freed all at once; not thread safe ---- */
struct arena {
	struct arena_chunk *head;
	char *next;        /* start of the free space in the newest chunk */
	size_t left_bytes; /* bytes of free space at `next` (never beyond the limit) */
	/* limit on the arena's memory, or 0 for none; allocations beyond it fail, which protects
	 * against hostile input */
	size_t limit_bytes;
	size_t used_bytes;
};
void arena_init(struct arena *a, size_t limit_bytes);
void arena_finish(struct arena *a);
void *arena_alloc_chunk(struct arena *a, size_t bytes); /* allocates a new chunk for this request */
/* Returns 16-byte aligned memory that is not zeroed. Returns NULL if memory runs out or the arena's
 * limit is reached. */
static inline void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	char *p = a->next;

	/* A size of 0 bytes, or one that overflowed to 0, takes the slow path too. */
	if (need - 1 >= a->left_bytes)
		return arena_alloc_chunk(a, bytes);
	a->next += need;
	a->left_bytes -= need;
	a->used_bytes += need;
	return p;
}
void *arena_zalloc(struct arena *a, size_t bytes);               /* zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t len); /* appends a NUL */
char *arena_printf(struct arena *a, const char *fmt, ...) HD_PRINTF(2, 3);
#define ARENA_NEW(a, type)      ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(n)))

/* ---- vector: VEC(int) v = {0}; VEC_PUSH(&v, 3); v.len; v.at[0]; VEC_FREE(&v). ---- */
#define VEC(type)                \
	struct {                 \
		type *at;        \
		size_t len, cap; \
	}
/* Makes space for one more element. Returns false if out of memory. */
bool vec_grow(void **at, size_t *cap, size_t len, size_t elem_bytes);
#define VEC_PUSH(v, ...)                                                                           \
	((v)->len < (v)->cap || vec_grow((void **)&(v)->at, &(v)->cap, (v)->len, sizeof(*(v)->at)) \
			? ((v)->at[(v)->len++] = (__VA_ARGS__), true)                              \
			: false)
#define VEC_FREE(v) vec_free((void **)&(v)->at, &(v)->len, &(v)->cap)
void vec_free(void **at, size_t *len, size_t *cap);

/* ---- strbuf: a growing byte buffer, always NUL-terminated once written. ---- */
struct strbuf {
	char *at;
	size_t len, cap;
	bool failed; /* out of memory: the contents are truncated, and later writes are ignored */
};
void strbuf_add(struct strbuf *b, const char *s, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) HD_PRINTF(2, 3);
void strbuf_finish(struct strbuf *b); /* frees the buffer and leaves b empty */

/* ---- hashes ---- */
/* For tables in memory only; the value is never stored in a file. */
uint64_t hash_bytes(const void *p, size_t len, uint64_t seed);
/* Returns the i-th number of the random sequence of a seed: SplitMix64 (Steele, Lea, Flood
 * 2014). */
uint64_t random_bits(uint64_t seed, uint64_t i);
/* Computes SHA-256 (FIPS 180-4), for cache keys. */
void sha256(const void *p, size_t len, uint8_t ret_digest[32]);
void hex_encode(const uint8_t *p, size_t len, char *ret_text /* at least 2 * len + 1 bytes */);

#endif
