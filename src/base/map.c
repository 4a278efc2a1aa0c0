/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The hash table: open addressing, and linear probing from an entry's home. Each entry is found by
 * probing from its home up to the first free place, so a removal closes the gap. */
#include "base/map.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

/* Returns the entry of this key, or the free entry where the key belongs. */
static struct hash_map_entry *find_place(const struct hash_map *m, uint64_t key, const char *text)
{
	size_t i = (key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32 & (m->cap - 1);

	while (m->at[i].value && (m->at[i].key != key || (text && strcmp(m->at[i].text, text))))
		i = (i + 1) & (m->cap - 1);
	return &m->at[i];
}

static bool grow_map(struct hash_map *m)
{
	struct hash_map bigger = {.len = m->len, .cap = m->cap ? m->cap * 2 : FIRST_CAP};

	bigger.at = calloc(bigger.cap, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->at[i].value)
			*find_place(&bigger, m->at[i].key, m->at[i].text) = m->at[i];
	free(m->at);
	*m = bigger;
	return true;
}

static void *find_value(const struct hash_map *m, uint64_t key, const char *text)
{
	return m->cap ? find_place(m, key, text)->value : NULL;
}

static void remove_entry(struct hash_map *m, struct hash_map_entry *e)
{
	size_t mask = m->cap - 1;

	e->value = NULL;
	m->len--;
	for (size_t i = (size_t)(e - m->at + 1) & mask; m->at[i].value; i = (i + 1) & mask) {
		struct hash_map_entry moved = m->at[i];

		m->at[i].value = NULL;
		*find_place(m, moved.key, moved.text) = moved;
	}
}

static bool set_value(struct hash_map *m, uint64_t key, const char *text, void *value)
{
	struct hash_map_entry *e = m->cap ? find_place(m, key, text) : NULL;

	if (e && e->value && value) {
		e->value = value;
		return true;
	}
	if (!value) {
		if (e && e->value)
			remove_entry(m, e);
		return true;
	}
	if (m->len * 2 >= m->cap && !grow_map(m))
		return false;
	*find_place(m, key, text) = (struct hash_map_entry){key, text, value};
	m->len++;
	return true;
}

static uint64_t key_of_address(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static uint64_t key_of_text(const char *text)
{
	return hash_bytes(text, strlen(text), 0);
}

void *hash_map_get(const struct hash_map *m, uint64_t key)
{
	return find_value(m, key, NULL);
}

void *hash_map_at(const struct hash_map *m, const void *address)
{
	return find_value(m, key_of_address(address), NULL);
}

void *hash_map_named(const struct hash_map *m, const char *text)
{
	return find_value(m, key_of_text(text), text);
}

bool hash_map_put(struct hash_map *m, uint64_t key, void *value)
{
	return set_value(m, key, NULL, value);
}

bool hash_map_put_at(struct hash_map *m, const void *address, void *value)
{
	return set_value(m, key_of_address(address), NULL, value);
}

bool hash_map_put_named(struct hash_map *m, const char *text, void *value)
{
	return set_value(m, key_of_text(text), text, value);
}

const struct hash_map_entry *hash_map_next(const struct hash_map *m, const struct hash_map_entry *e)
{
	for (size_t i = e ? (size_t)(e - m->at) + 1 : 0; i < m->cap; i++)
		if (m->at[i].value)
			return &m->at[i];
	return NULL;
}

void hash_map_free(struct hash_map *m)
{
	free(m->at);
	*m = (struct hash_map){0};
}
