/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A hash table from numbers, addresses or texts to pointers. An empty one is all zeros. Not thread
 * safe; without a writer, several threads may read. Tables with other demands are apart: the names
 * of a PTX module (ptx/names.c), which the lexer finds by a hash that it computes as it reads, and
 * the shim's handles (shim/core/map.c), which launches read while another thread writes. */
#ifndef HEDDLE_MAP_H
#define HEDDLE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_map_entry {
	uint64_t key;     /* the hash of `text`, if the key is a text */
	const char *text; /* NULL if the key is a number or an address */
	void *value;      /* NULL if the entry is free */
};

struct hash_map {
	struct hash_map_entry *at;
	/* number of used entries; number of all entries: 0 or a power of two, at least twice
	 * `len` */
	size_t len, cap;
};
void hash_map_free(struct hash_map *m); /* empties the map; the caller owns keys and values */

/* These return NULL if the map does not have the key. */
void *hash_map_get(const struct hash_map *m, uint64_t key);
void *hash_map_at(const struct hash_map *m, const void *address);
void *hash_map_named(const struct hash_map *m, const char *text);

/* Sets the value of a key; NULL removes the key. Returns false, with the map as it was, if memory runs
 * out, which cannot happen if the key has a value. The map keeps the pointer `text` while the key has
 * a value. A map has keys of one kind only. */
bool hash_map_put(struct hash_map *m, uint64_t key, void *value);
bool hash_map_put_at(struct hash_map *m, const void *address, void *value);
bool hash_map_put_named(struct hash_map *m, const char *text, void *value);

/* The entry after `e`, or the first one if e is NULL, in no particular order; NULL: there is no
 * other. Only the values of entries may change meanwhile. */
const struct hash_map_entry *hash_map_next(
	const struct hash_map *m, const struct hash_map_entry *e);

#endif
