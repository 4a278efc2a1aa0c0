/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the JSON writer. Its text is compared here with expected strings, and parsed by an
 * independent reader in the suite cli. */
#include "unit.h"

#include "base/json.h"

#include <math.h>

static void document(void **state)
{
	struct strbuf b = {0};
	struct json j;

	json_init(&j, &b);
	json_begin_object(&j, NULL);
	json_int(&j, "schema", 1);
	json_begin_array(&j, "pairs");
	json_begin_object(&j, NULL);
	json_str(&j, "low", "va");
	json_bool(&j, "verified", true);
	json_end(&j, '}');
	json_num(&j, NULL, 0.1);
	json_end(&j, ']');
	json_begin_array(&j, "none");
	json_end(&j, ']');
	json_str(&j, "last", NULL);
	json_end(&j, '}');
	assert_string_equal(b.at, "{\n"
				  "  \"schema\": 1,\n"
				  "  \"pairs\": [\n"
				  "    {\n"
				  "      \"low\": \"va\",\n"
				  "      \"verified\": true\n"
				  "    },\n"
				  "    0.1\n"
				  "  ],\n"
				  "  \"none\": [],\n"
				  "  \"last\": null\n"
				  "}\n");
	strbuf_finish(&b);
}

static void check_str(const char *in, const char *expect)
{
	struct strbuf b = {0};
	struct json j;

	json_init(&j, &b);
	json_str(&j, NULL, in);
	assert_string_equal(b.at, expect);
	strbuf_finish(&b);
}

static void strings(void **state)
{
	check_str("a\"b\\c\n\t\x01\x7f", "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"\n");
	/* JSON is also read on terminals, so C1 controls, direction overrides and tags are
	 * escaped. */
	check_str("\xc2\x9b"
		  "31m\xe2\x80\xae\xf3\xa0\x80\xa1",
		"\"\\u009b31m\\u202e\\udb40\\udc21\"\n");
	check_str("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n");
	/* Truncated, overlong, surrogate, beyond the last code point, a lone tail: each byte
	 * becomes one U+FFFD. */
	check_str("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n");
	check_str("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n");
	check_str("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
	check_str("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");
	check_str("\x80", "\"\xef\xbf\xbd\"\n");
}

static void check_num(double in, const char *expect)
{
	struct strbuf b = {0};
	struct json j;

	json_init(&j, &b);
	json_num(&j, NULL, in);
	assert_string_equal(b.at, expect);
	strbuf_finish(&b);
}

static void numbers(void **state)
{
	struct strbuf b = {0};
	struct json j;

	check_num(0.1, "0.1\n");
	check_num(1.0 / 3, "0.3333333333333333\n");
	check_num(0.1 + 0.2, "0.30000000000000004\n");
	check_num(1e300, "1e+300\n");
	check_num(-0.0, "-0\n");
	check_num(NAN, "null\n");
	check_num(-INFINITY, "null\n");
	json_init(&j, &b);
	json_int(&j, NULL, INT64_MIN);
	json_uint(&j, NULL, UINT64_MAX);
	assert_string_equal(b.at, "-9223372036854775808\n18446744073709551615\n");
	strbuf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(document),
		cmocka_unit_test(strings),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
