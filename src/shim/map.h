/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A map from handle to record, which the launch path reads without a lock. Records are never freed
 * while the process lives, so a reader may keep a record. A handle that the driver reuses gets a
 * new record. */
#ifndef HEDDLE_SHIM_MAP_H
#define HEDDLE_SHIM_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct map_table;
struct map {
	struct map_table *table;
	pthread_mutex_t lock;
};
#define MAP_INIT                                \
	{                                       \
		NULL, PTHREAD_MUTEX_INITIALIZER \
	}

void *map_get(const struct map *m, const void *key); /* NULL: none */
/* Sets the value of a key; NULL removes the key. False: out of memory. */
bool map_put(struct map *m, const void *key, void *value);
/* Calls fn for each key that has a value, under the map's lock. */
void map_each(struct map *m, void (*fn)(void *user, const void *key, void *value), void *user);

#endif
