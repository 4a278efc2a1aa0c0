/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that stored data about launches is read back unchanged, and that truncated or changed data
 * is refused or does no harm. */
#include "shim/form/known.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static uint32_t examples(struct known ret[KNOWN_MAX], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = (struct known){.form = i % 2,
			.threads = 32 * (i + 1),
			.shared = 1024 * i,
			.scale = i % 32,
			.pace = {.ns = {20.5 + i, 10, i % 3 ? 9.75 : 0},
				.grid_ns = 1000000,
				.total_seen = 4096,
				.launches = 7 + i}};
	return n;
}

static void what_was_written_is_read(void **state)
{
	struct known at[KNOWN_MAX], back[KNOWN_MAX];

	for (uint32_t n = 0; n <= KNOWN_MAX; n++) {
		struct strbuf b = {0};

		known_write(at, examples(at, n), &b);
		assert_int_equal(known_read(b.at, b.len, back), n);
		for (uint32_t i = 0; i < n; i++) {
			const struct pace *p = known_find(back, n, &at[i]);

			assert_non_null(p);
			assert_memory_equal(p->ns, at[i].pace.ns, sizeof(p->ns));
			assert_int_equal(p->grid_ns, 1000000);
			assert_int_equal(p->total_seen, 4096);
			assert_int_equal(p->launches, 7 + i);
			assert_int_equal(p->skipped, 0);
		}
		for (unsigned k = 0; k < 4; k++) {
			struct known like = at[0];

			like.form ^= k == 0;
			like.threads -= k == 1;
			like.shared += k == 2;
			like.scale += k == 3;
			assert_null(known_find(back, n, &like));
		}
		strbuf_finish(&b);
	}
}

static void nothing_else_is(void **state)
{
	struct known at[KNOWN_MAX], back[KNOWN_MAX];
	struct strbuf b = {0};
	char longer[KNOWN_MAX * 128];

	known_write(at, examples(at, 3), &b);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(known_read(b.at, len, back), 0);
	memcpy(longer, b.at, b.len);
	longer[b.len] = 0;
	assert_int_equal(known_read(longer, b.len + 1, back), 0);
	strbuf_finish(&b);

	at[1].pace.ns[1] = -1;
	known_write(at, 3, &b);
	assert_int_equal(known_read(b.at, b.len, back), 0);
	strbuf_finish(&b);
	examples(at, 3);
	at[2].pace.ns[0] = 0.0 / 0.0;
	known_write(at, 3, &b);
	assert_int_equal(known_read(b.at, b.len, back), 0);
	strbuf_finish(&b);
	examples(at, 3);
	at[0].threads = 2048;
	known_write(at, 3, &b);
	assert_int_equal(known_read(b.at, b.len, back), 0);
	strbuf_finish(&b);
	examples(at, 3);
	at[1].scale = 32;
	known_write(at, 3, &b);
	assert_int_equal(known_read(b.at, b.len, back), 0);
	strbuf_finish(&b);
}

static void any_bytes_do_no_harm(void **state)
{
	struct known at[KNOWN_MAX], back[KNOWN_MAX];

	srand(5);
	for (unsigned round = 0; round < 20000; round++) {
		struct strbuf b = {0};
		uint32_t n = examples(at, (uint32_t)rand() % (KNOWN_MAX + 1));

		known_write(at, n, &b);
		for (int k = rand() % 8; k > 0; k--)
			b.at[(size_t)rand() % b.len] = (char)rand();
		n = known_read(b.at, b.len, back);
		assert_in_range(n, 0, KNOWN_MAX);
		for (uint32_t i = 0; i < n; i++) {
			bool settled;

			assert_in_range(back[i].form, 0, 1);
			assert_in_range(pace_chunk(&back[i].pace, 1000, 0, &settled), 1, 32);
			pace_is_short(&back[i].pace, 100, 1000);
		}
		strbuf_finish(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(any_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
