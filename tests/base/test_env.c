/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how heddle reads words that people type: environment variables, counts, misspelt names. */
#include "base/environment.h"
#include "base/text.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct strbuf said;

static void say(void *user, enum env_variable which, const char *line)
{
	assert_ptr_equal(user, &said);
	strbuf_printf(&said, "%u %s\n", which, line);
}

/* Sets NAME=VALUE as heddle's only variable, and returns the warning, or "". */
static const char *check(const char *name, const char *value)
{
	strbuf_finish(&said);
	clearenv();
	setenv("PATH", "/bin", 1);
	setenv(name, value, 1);
	env_check(say, &said);
	return said.at ? said.at : "";
}

static void says(const char *name, const char *value, enum env_variable which, const char *part)
{
	const char *line = check(name, value);

	assert_int_equal(atoi(line), which);
	if (!strstr(line, part) || !strstr(line, name))
		fail_msg("%s=%s: \"%s\" without \"%s\"", name, value, line, part);
}

static void faults(void **state)
{
	says("HEDDLE_CACHE_MB", "lots", ENV_CACHE_MB, "=lots: not a number from 0 to 4294967295");
	says("HEDDLE_CACHE_MB", "5M", ENV_CACHE_MB, "512 is used");
	says("HEDDLE_CACHE_MB", "4294967296", ENV_CACHE_MB, "not a number");
	says("HEDDLE_FORM_WAIT_MS", "-5", ENV_FORM_WAIT_MS, "=-5: not a number from 0 to 1000000");
	says("HEDDLE_FORM_WAIT_MS", " 5", ENV_FORM_WAIT_MS, "20 is used");
	says("HEDDLE_WEIGHT", "1001", ENV_WEIGHT, "from 1 to 1000");
	says("HEDDLE_PRIORITY", "urgent", ENV_PRIORITY, "not one of high|normal|low|N; normal");
	says("HEDDLE_PRIORITY", "N", ENV_PRIORITY, "not one of");
	says("HEDDLE_PRIORITY", "1000", ENV_PRIORITY, "not one of");
	says("HEDDLE_ORDER", "diagonal", ENV_ORDER, "not one of row|column|hilbert; row is used");
	says("HEDDLE_DEVICE", "gpu", ENV_DEVICE, "not one of cuda|cpu|auto");
	says("HEDDLE_PRIORTY", "high", ENV_VARIABLES, "HEDDLE_PRIORITY is one");
	says("HEDDLE_VPGU", "", ENV_VARIABLES, "HEDDLE_VGPU is one");
	says("HEDDLE_HOME", "/", ENV_VARIABLES, "heddle-environment(7)");
}

static void fine(void **state)
{
	static const char *const right[][2] = {{"HEDDLE_CACHE_MB", "0"}, {"HEDDLE_CACHE_MB", ""},
		{"HEDDLE_FORM_WAIT_MS", "1000000"}, {"HEDDLE_PRIORITY", "high"},
		{"HEDDLE_PRIORITY", "999"}, {"HEDDLE_PRIORITY", ""}, {"HEDDLE_DEVICE", "auto"},
		{"HEDDLE_VGPU", "anything"}, {"HEDDLE", "x"}, {"XHEDDLE_CACHE_MB", "lots"}};

	for (size_t i = 0; i < ARRAY_LEN(right); i++)
		assert_string_equal(check(right[i][0], right[i][1]), "");
}

static void numbers(void **state)
{
	clearenv();
	assert_int_equal(env_number(ENV_CACHE_MB), 512);
	setenv("HEDDLE_CACHE_MB", "7", 1);
	assert_int_equal(env_number(ENV_CACHE_MB), 7);
	setenv("HEDDLE_CACHE_MB", "lots", 1);
	assert_int_equal(env_number(ENV_CACHE_MB), 512);
	setenv("HEDDLE_WEIGHT", "0", 1);
	assert_int_equal(env_number(ENV_WEIGHT), 1);
}

static void word_values(void **state)
{
	clearenv();
	assert_string_equal(env_word(ENV_ORDER), "row");
	setenv("HEDDLE_ORDER", "hilbert", 1);
	assert_string_equal(env_word(ENV_ORDER), "hilbert");
	setenv("HEDDLE_ORDER", "hil", 1);
	assert_string_equal(env_word(ENV_ORDER), "row");
	setenv("HEDDLE_ORDER", "", 1);
	assert_string_equal(env_word(ENV_ORDER), "row");
	setenv("HEDDLE_PRIORITY", "7", 1);
	assert_string_equal(env_word(ENV_PRIORITY), "7");
	setenv("HEDDLE_PRIORITY", "", 1);
	assert_string_equal(env_word(ENV_PRIORITY), "normal");
}

static void words(void **state)
{
	static const char *const near[][2] = {
		{"rnu", "run"}, {"rum", "run"}, {"ru", "run"}, {"runn", "run"}, {"run", "run"}};
	static const char *const far[][2] = {
		{"nur", "run"}, {"r", "run"}, {"urn", "runs"}, {"", "run"}};

	for (size_t i = 0; i < ARRAY_LEN(near); i++)
		assert_true(text_is_near(
			near[i][0], strlen(near[i][0]), near[i][1], strlen(near[i][1])));
	for (size_t i = 0; i < ARRAY_LEN(far); i++)
		assert_false(
			text_is_near(far[i][0], strlen(far[i][0]), far[i][1], strlen(far[i][1])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults),
		cmocka_unit_test(fine),
		cmocka_unit_test(numbers),
		cmocka_unit_test(word_values),
		cmocka_unit_test(words),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strbuf_finish(&said);
	return r;
}
