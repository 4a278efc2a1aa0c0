/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the hash table with a plain array. */
#include "base/base.h"
#include "base/map.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define KEYS 500

static int values[KEYS];

/* Compares the map with the array `has`: has[i] says whether keys[i] is in the map. */
static void compare(const struct hash_map *m, const uint64_t *keys, const bool *has)
{
	const struct hash_map_entry *e = NULL;
	size_t n = 0, seen = 0;

	for (size_t i = 0; i < KEYS; i++) {
		assert_ptr_equal(hash_map_get(m, keys[i]), has[i] ? &values[i] : NULL);
		n += has[i];
	}
	assert_int_equal(m->len, n);
	while ((e = hash_map_next(m, e))) {
		size_t i = (size_t)((int *)e->value - values);

		assert_int_equal(e->key, keys[i]);
		assert_true(has[i]);
		seen++;
	}
	assert_int_equal(seen, n);
}

/* Adds and removes random keys. With `spread` 0, keys differ only in their high bits. */
static void at_random(uint64_t spread)
{
	struct hash_map m = {0};
	uint64_t keys[KEYS];
	bool has[KEYS] = {false};

	for (size_t i = 0; i < KEYS; i++)
		keys[i] = spread ? i * spread : i << 40;
	compare(&m, keys, has);
	for (uint64_t step = 0; step < 6000; step++) {
		size_t i = random_bits(1, step) % KEYS;
		bool adds = random_bits(2, step) % 1000 < (step < 3000 ? 700 : 300);

		assert_true(hash_map_put(&m, keys[i], adds ? &values[i] : NULL));
		has[i] = adds;
		if (step % 100 == 0)
			compare(&m, keys, has);
	}
	compare(&m, keys, has);
	hash_map_free(&m);
	assert_int_equal(m.cap, 0);
	assert_null(hash_map_get(&m, 0));
}

static void numbers(void **state)
{
	(void)state;
	at_random(1); /* 0 is a valid key */
	at_random(16);
	at_random(0);
}

static void addresses(void **state)
{
	struct hash_map m = {0};

	(void)state;
	assert_true(hash_map_put_at(&m, &values[1], &values[2]));
	assert_true(hash_map_put_at(&m, &values[1], &values[3]));
	assert_ptr_equal(hash_map_at(&m, &values[1]), &values[3]);
	assert_null(hash_map_at(&m, &values[0]));
	assert_int_equal(m.len, 1);
	assert_true(hash_map_put_at(&m, &values[0], NULL));
	assert_true(hash_map_put_at(&m, &values[1], NULL));
	assert_int_equal(m.len, 0);
	hash_map_free(&m);
}

static void texts(void **state)
{
	static char names[KEYS][16];
	struct hash_map m = {0};
	char other[16];

	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		snprintf(names[i], sizeof(names[i]), "name_%zu", i);
		assert_true(hash_map_put_named(&m, names[i], &values[i]));
	}
	for (size_t i = 0; i < KEYS; i++) {
		snprintf(other, sizeof(other), "name_%zu", i);
		assert_ptr_equal(hash_map_named(&m, other), &values[i]);
		if (i % 2)
			assert_true(hash_map_put_named(&m, other, NULL));
	}
	for (size_t i = 0; i < KEYS; i++)
		assert_ptr_equal(hash_map_named(&m, names[i]), i % 2 ? NULL : &values[i]);
	assert_null(hash_map_named(&m, ""));
	assert_int_equal(m.len, KEYS / 2);
	hash_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(addresses),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
