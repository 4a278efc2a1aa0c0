/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A map from driver handles to records, which the launch path reads without a lock. The records
 * that the launch path reads are never freed while the process lives, so it can keep a pointer to a
 * record. If the driver reuses a handle, the handle gets a new record. */
#ifndef HEDDLE_SHIM_MAP_H
#define HEDDLE_SHIM_MAP_H

#include "shim/core/lock.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct map_table;
struct map {
	struct map_table *table;
	struct lock lock;
};
void map_init(struct map *m);                        /* no key has a value */
void *map_get(const struct map *m, const void *key); /* NULL: the key has no value */
/* Sets the value of a key. If value is NULL, removes the key. Returns false if memory is
 * exhausted. */
bool map_put(struct map *m, const void *key, void *value);
/* Calls fn for each key that has a value. Holds the map's lock meanwhile. */
void map_each(struct map *m, void (*fn)(void *user, const void *key, void *value), void *user);

#endif
