/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests diag and log: their output, and that hostile input cannot make it long or corrupt it. */
#include "unit.h"

#include "base/diag.h"

#include <string.h>

static struct arena arena;
static struct diag_list list;
static struct strbuf out;

static int setup(void **state)
{
	arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	arena_finish(&arena);
	strbuf_finish(&out);
	return 0;
}

static const char *render(void)
{
	strbuf_finish(&out);
	diag_render(&list, &out);
	return out.at ? out.at : "";
}

static void caret(void **state)
{
	static const char text[] = "first\n\tadd.u99 %r1, %r2;\r\nlast";

	diag_init(&list, &arena, "x.ptx", text, sizeof(text) - 1);
	diag_add(&list, DIAG_ERROR, 2, 6, 3, "unknown type '.%s'", "u99");
	diag_hint(&list, "integer types are u16, u32 and u64");
	diag_add(&list, DIAG_WARNING, 3, 1, 1, "no newline");
	diag_add(&list, DIAG_NOTE, 0, 0, 0, "whole file");
	diag_add(&list, DIAG_NOTE, 1, 0, 0, "line alone");
	assert_int_equal(list.errors, 1);
	assert_string_equal(render(), "x.ptx:2:6: error: unknown type '.u99'\n"
				      "  \tadd.u99 %r1, %r2;\n"
				      "  \t    ^~~\n"
				      "  hint: integer types are u16, u32 and u64\n"
				      "x.ptx:3:1: warning: no newline\n"
				      "  last\n"
				      "  ^\n"
				      "x.ptx: note: whole file\n"
				      "x.ptx:1: note: line alone\n"
				      "  first\n");
}

static void odd_places(void **state)
{
	static const char text[] = "ab\x1b[2J\n";

	/* A position past the end of the line, one past the end of the file, no text at all, and
	 * a terminal escape. */
	diag_init(&list, &arena, "x", text, sizeof(text) - 1);
	diag_add(&list, DIAG_ERROR, 1, 99, 5, "one");
	diag_add(&list, DIAG_ERROR, 9, 1, 1, "two");
	assert_string_equal(
		render(), "x:1:99: error: one\n  ab?[2J\n        ^\nx:9:1: error: two\n");
	diag_init(&list, &arena, NULL, NULL, 0);
	diag_add(&list, DIAG_ERROR, 1, 1, 1, "three");
	assert_string_equal(render(), "<input>:1:1: error: three\n");
}

static void long_line(void **state)
{
	static char text[100000];
	const char *line, *next;

	memset(text, 'x', sizeof(text));
	text[50000] = '!';
	diag_init(&list, &arena, "x", text, sizeof(text));
	diag_add(&list, DIAG_ERROR, 1, 50001, 40000, "here");
	render();
	assert_true(out.len < 500);
	assert_non_null(strchr(out.at, '!'));
	/* The caret is under the marked character: both are equally far from the starts of their
	 * lines. */
	line = strchr(out.at, '\n') + 1;
	next = strchr(line, '\n') + 1;
	assert_int_equal(strchr(line, '!') - line, strchr(next, '^') - next);
}

static void bounded(void **state)
{
	diag_init(&list, &arena, "x", NULL, 0);
	for (int i = 0; i < DIAG_MAX + 7; i++) {
		diag_add(&list, DIAG_ERROR, 1, 1, 1, "number %d", i);
		diag_hint(&list, "hint %d", i);
	}
	assert_int_equal(list.len, DIAG_MAX);
	assert_int_equal(list.errors, DIAG_MAX + 7);
	assert_string_equal(list.at[DIAG_MAX - 1].hint, "hint 99");
	assert_non_null(strstr(render(), "x: note: 7 more not shown\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caret, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_places, setup, teardown),
		cmocka_unit_test_setup_teardown(long_line, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
