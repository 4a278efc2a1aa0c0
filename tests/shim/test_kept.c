/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that a stored form is read back unchanged, and that truncated or changed data does no
 * harm. */
#include "unit.h"

#include "shim/form/kept.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 7

static struct made example(uint32_t n_vars)
{
	static const char *const names[] = {"counter", "_ZN1a1bE$x", "t"};
	struct made m = {.info = {.n_params = 2,
				 .arg_offset = 16,
				 .param_bytes = 16 + sizeof(struct ctl_args)}};

	assert_true(made_params(&m));
	m.offsets[1] = 8;
	m.sizes[0] = m.sizes[1] = 8;
	m.vars.n = n_vars;
	m.vars.at = calloc(n_vars + 1, sizeof(*m.vars.at));
	for (uint32_t i = 0; i < n_vars; i++) {
		m.vars.at[i] = (struct var){(uint64_t)i << 40 | 4, 1u << i % 5};
		strbuf_add(&m.vars.names, names[i % 3], strlen(names[i % 3]) + 1);
	}
	for (uint32_t i = 0; i < n_vars % 4; i++)
		assert_true(VEC_PUSH(&m.lines, i * 7));
	strbuf_puts(&m.text, ".version 8.0");
	return m;
}

static struct strbuf written(uint32_t n_vars)
{
	struct made m = example(n_vars);
	struct strbuf b = {0};

	kept_write(&m, VERSION, &b);
	made_finish(&m);
	assert_false(b.failed);
	return b;
}

/* Reads from an exact copy, so that a sanitizer detects reads past its end. */
static bool read_back(const char *at, size_t len, struct made *ret)
{
	char *exact = malloc(len + !len);
	bool ok;

	assert_non_null(exact);
	memcpy(exact, at, len);
	*ret = (struct made){0};
	ok = kept_read(exact, len, VERSION, ret);
	free(exact);
	return ok;
}

/* Walks through the names as globals_find does. */
static void walk(const struct made *m)
{
	const char *name = m->vars.names.at;

	for (uint32_t i = 0; i < m->vars.n; i++) {
		assert_true(*name);
		name += strlen(name) + 1;
	}
	assert_ptr_equal(name, m->vars.names.at + m->vars.names.len);
	assert_true(made_sane(m));
}

static void comes_back(void **state)
{
	for (uint32_t n = 0; n < 5; n++) {
		struct strbuf b = written(n);
		struct made m, was = example(n);

		assert_true(read_back(b.at, b.len, &m));
		walk(&m);
		assert_int_equal(m.vars.n, n);
		assert_int_equal(m.vars.names.len, was.vars.names.len);
		if (n) {
			assert_memory_equal(m.vars.at, was.vars.at, 16 * n);
			assert_memory_equal(m.vars.names.at, was.vars.names.at, m.vars.names.len);
		}
		assert_memory_equal(m.sizes, was.sizes, 8);
		assert_string_equal(m.text.at, was.text.at);
		assert_int_equal(m.lines.len, n % 4);
		if (n % 4)
			assert_memory_equal(m.lines.at, was.lines.at, 4 * (n % 4));
		made_finish(&m);
		made_finish(&was);
		m = (struct made){0};
		assert_false(kept_read(b.at, b.len, VERSION + 1, &m));
		made_finish(&m);
		strbuf_finish(&b);
	}
}

static void too_many(void **state)
{
	struct strbuf most = written(VARS_MAX), more = written(VARS_MAX + 1);
	struct made m;

	assert_true(read_back(most.at, most.len, &m));
	made_finish(&m);
	assert_false(read_back(more.at, more.len, &m));
	made_finish(&m);
	strbuf_finish(&most);
	strbuf_finish(&more);
}

static void cut(void **state)
{
	struct strbuf b = written(3);

	for (size_t len = 0; len < b.len; len++) {
		struct made m;

		/* A truncated file is accepted only if just a part of the text at its end is
		 * missing, but not all of it. */
		assert_int_equal(read_back(b.at, len, &m), len + strlen(".version 8.0") > b.len);
		made_finish(&m);
	}
	strbuf_finish(&b);
}

/* Replaces every byte, and every four bytes in a row, by other values. */
static void changed(void **state)
{
	static const uint32_t values[] = {0, 1, 2, 4, 0x7f, 0xff, 0x1000, 0x1001, 0x7fffffff,
		0x80000000, 0xfffffff0, 0xffffffff};
	struct strbuf b = written(3);
	size_t head = b.len - strlen(".version 8.0");
	unsigned refused = 0;

	for (size_t at = 0; at < head; at++) {
		for (size_t i = 0; i < 2 * ARRAY_LEN(values); i++) {
			size_t n = i % 2 ? 1 : MIN(4, head - at);
			char saved[4];
			struct made m;

			memcpy(saved, b.at + at, n);
			memcpy(b.at + at, &values[i / 2], n);
			if (read_back(b.at, b.len, &m))
				walk(&m);
			else
				refused++;
			made_finish(&m);
			memcpy(b.at + at, saved, n);
		}
	}
	assert_true(refused > 100);
	strbuf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(too_many),
		cmocka_unit_test(cut),
		cmocka_unit_test(changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
