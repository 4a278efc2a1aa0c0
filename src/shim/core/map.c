/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* An open-addressed hash table. When it is half full, a new table replaces it, usually a larger
 * one. Writers hold the lock; readers do not. A writer stores an entry's value before the entry's
 * key, so a reader that sees the key also finds the value. Old tables are never freed, because a
 * reader may still use one. This costs little: where each new table is twice as large, all old
 * tables together are about as large as the present one. */
#include "shim/core/map.h"
#include "shim/core/lock.h"

#include <stdlib.h>

struct map_entry {
	const void *key;
	void *value;
};
struct map_table {
	size_t cap, used;
	struct map_table *older; /* keeps older tables reachable */
	struct map_entry at[];
};

static size_t first_probe(const void *key, size_t cap)
{
	return (uintptr_t)((uintptr_t)key * 0x9e3779b97f4a7c15u) >> 32 & (cap - 1);
}

static struct map_entry *find_entry(struct map_table *t, const void *key)
{
	for (size_t i = first_probe(key, t->cap);; i = (i + 1) & (t->cap - 1)) {
		const void *k = __atomic_load_n(&t->at[i].key, __ATOMIC_ACQUIRE);

		if (k == key || !k)
			return &t->at[i];
	}
}

void *map_get(const struct map *m, const void *key)
{
	struct map_table *t = __atomic_load_n(&m->table, __ATOMIC_ACQUIRE);
	struct map_entry *e;

	if (!t || !key)
		return NULL;
	e = find_entry(t, key);
	return __atomic_load_n(&e->key, __ATOMIC_ACQUIRE)
		       ? __atomic_load_n(&e->value, __ATOMIC_ACQUIRE)
		       : NULL;
}

static void insert_entry(struct map_table *t, const void *key, void *value)
{
	struct map_entry *e = find_entry(t, key);

	__atomic_store_n(&e->value, value, __ATOMIC_RELEASE);
	if (!e->key)
		t->used++;
	__atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
}

static struct map_table *grow_table(struct map_table *old)
{
	size_t live = 0, cap = 64;
	struct map_table *t;

	for (size_t i = 0; old && i < old->cap; i++)
		live += old->at[i].key && old->at[i].value;
	while (cap < live * 4)
		cap *= 2;
	t = calloc(1, sizeof(*t) + cap * sizeof(t->at[0]));
	if (!t)
		return NULL;
	t->cap = cap;
	t->older = old;
	for (size_t i = 0; old && i < old->cap; i++) {
		if (old->at[i].key && old->at[i].value)
			insert_entry(t, old->at[i].key, old->at[i].value);
	}
	return t;
}

bool map_put(struct map *m, const void *key, void *value)
{
	struct map_table *t;
	bool ok = true;

	if (!key)
		return false;
	lock_take(&m->lock);
	t = m->table;
	if (!t || t->used * 2 >= t->cap) {
		t = grow_table(t);
		if (t)
			__atomic_store_n(&m->table, t, __ATOMIC_RELEASE);
		else
			ok = (t = m->table) && t->used + 1 < t->cap;
	}
	if (ok)
		insert_entry(t, key, value);
	lock_drop(&m->lock);
	return ok;
}

void map_each(struct map *m, void (*fn)(void *user, const void *key, void *value), void *user)
{
	struct map_table *t;

	lock_take(&m->lock);
	t = m->table;
	for (size_t i = 0; t && i < t->cap; i++) {
		if (t->at[i].key && t->at[i].value)
			fn(user, t->at[i].key, t->at[i].value);
	}
	lock_drop(&m->lock);
}

void map_init(struct map *m)
{
	m->table = NULL;
	lock_init(&m->lock, LOCK_map);
}
