/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests numbers in text: what is accepted, where a number ends, and what is refused. */
#include "base/base.h"
#include "base/number.h"
#include "unit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>

static void digits(void **state)
{
	struct number n = number_digits("12x3", SIZE_MAX, 10);

	(void)state;
	assert_int_equal(n.value, 12);
	assert_int_equal(n.len, 2);
	n = number_digits("fFg", SIZE_MAX, 16);
	assert_int_equal(n.value, 255);
	assert_int_equal(n.len, 2);
	n = number_digits("1012", SIZE_MAX, 2);
	assert_int_equal(n.value, 5);
	assert_int_equal(n.len, 3);
	n = number_digits("1234", 2, 10);
	assert_int_equal(n.value, 12);
	n = number_digits("18446744073709551615 ", SIZE_MAX, 10);
	assert_true(n.value == UINT64_MAX && !n.too_large && n.len == 20);
	n = number_digits("18446744073709551616 ", SIZE_MAX, 10);
	assert_true(n.value == UINT64_MAX && n.too_large && n.len == 20);
	n = number_digits("100000000000000000000000000000", SIZE_MAX, 16);
	assert_true(n.value == UINT64_MAX && n.too_large && n.len == 30);
	for (const char *const *s = (const char *const[]){"", "-1", "+1", " 1", "x", NULL}; *s; s++)
		assert_int_equal(number_digits(*s, SIZE_MAX, 10).len, 0);
}

static void literals(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		size_t len;
	} rows[] = {{"0x1F,", 31, 4}, {"0X1f", 31, 4}, {"010", 8, 3}, {"08", 0, 1}, {"0", 0, 1},
		{"0xg", 0, 1}, {"256, 1", 256, 3}, {"", 0, 0}, {"-1", 0, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct number n = number_literal(rows[i].text, SIZE_MAX);

		assert_int_equal(n.value, rows[i].value);
		assert_int_equal(n.len, rows[i].len);
	}
}

static void scaled(void **state)
{
	uint64_t n = 5;

	(void)state;
	assert_string_equal(number_scaled("12x3", &n), "x3");
	assert_int_equal(n, 12);
	assert_string_equal(number_scaled("64K]", &n), "]");
	assert_int_equal(n, 65536);
	assert_string_equal(number_scaled("2g", &n), "");
	assert_int_equal(n, 2ull << 30);
	assert_null(number_scaled("18446744073709551616", &n));
	assert_null(number_scaled("18014398509481984K", &n));
	assert_null(number_scaled("-1", &n));
	assert_null(number_scaled("", &n));
	assert_int_equal(n, 2ull << 30);
}

/* Tests each kind of refusal, for plain numbers and numbers with a unit. */
static void wholes(void **state)
{
	static const struct {
		const char *text;
		int plain, with_unit;
		uint64_t value;
	} rows[] = {
		{"10", 0, 0, 10},
		{"0010", 0, 0, 10},
		{"100", 0, 0, 100},
		{"9", -ERANGE, -ERANGE, 0},
		{"2000000", -ERANGE, -ERANGE, 0},
		{"18446744073709551616", -ERANGE, -ERANGE, 0},
		{"", -EINVAL, -EINVAL, 0},
		{"-10", -EINVAL, -EINVAL, 0},
		{"+10", -EINVAL, -EINVAL, 0},
		{" 10", -EINVAL, -EINVAL, 0},
		{"10 ", -EINVAL, -EINVAL, 0},
		{"10x", -EINVAL, -EINVAL, 0},
		{"10kb", -EINVAL, -EINVAL, 0},
		{"0x", -EINVAL, -EINVAL, 0},
		{"k", -EINVAL, -EINVAL, 0},
		{"0x10", -EINVAL, 0, 16},
		{"2k", -EINVAL, 0, 2048},
		{"0x2K", -EINVAL, 0, 2048},
		{"1m", -EINVAL, -ERANGE, 0},
		{"18014398509481984k", -EINVAL, -ERANGE, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t n = 7, m = 7;

		assert_int_equal(number_parse(rows[i].text, 10, 1000000, &n), rows[i].plain);
		assert_int_equal(
			number_parse_scaled(rows[i].text, 10, 1000000, &m), rows[i].with_unit);
		assert_int_equal(n, rows[i].plain ? 7 : rows[i].value);
		assert_int_equal(m, rows[i].with_unit ? 7 : rows[i].value);
	}
}

static void reals(void **state)
{
	double v = 7;

	(void)state;
	assert_int_equal(number_parse_real("-1.5e3", &v), 0);
	assert_true(v == -1500);
	assert_int_equal(number_parse_real("inf", &v), 0);
	assert_true(isinf(v));
	v = 7;
	assert_int_equal(number_parse_real("1e999", &v), -ERANGE);
	assert_int_equal(number_parse_real("", &v), -EINVAL);
	assert_int_equal(number_parse_real(" 1", &v), -EINVAL);
	assert_int_equal(number_parse_real("1.5f", &v), -EINVAL);
	assert_int_equal(number_parse_real("1,5", &v), -EINVAL);
	assert_true(v == 7);
}

/* A program may set a locale with a decimal comma. */
static void locales(void **state)
{
	static const char *const names[] = {
		"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "de_DE"};
	const char *found = NULL;
	double v = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names) && !found; i++)
		found = setlocale(LC_NUMERIC, names[i]);
	if (!found)
		skip();
	assert_int_equal(number_parse_real("1.5", &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(number_parse_real("1,5", &v), -EINVAL);
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits),
		cmocka_unit_test(literals),
		cmocka_unit_test(scaled),
		cmocka_unit_test(wholes),
		cmocka_unit_test(reals),
		cmocka_unit_test(locales),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
