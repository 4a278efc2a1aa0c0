/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the command line parser with a table that has every kind of option. Also checks that help,
 * manual page and completions contain everything in the table. */
#include "unit.h"

#include "front/cli.h"

#include <stdlib.h>
#include <string.h>

/* Replaces the function that prints. */
int cli_usage(const struct cli *c, const char *fmt, ...)
{
	return CLI_USAGE;
}

int cli_misuse(const struct cli *c, const char *fmt, ...)
{
	return CLI_USAGE;
}

static int nothing(struct cli *c)
{
	return CLI_OK;
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "whom it precedes"},
	{'n', "number", "N", "how many"},
	{'v', "verbose", NULL, "say more"},
	{'q', "quiet", NULL, "say less"},
	{0, "output", "FILE", "where to"},
	{0},
};
static const struct cli_verb weave = {
	.name = "loom weave",
	.operands = "FILE...",
	.summary = "weave files",
	.options = options,
	.min_operands = 1,
	.max_operands = 3,
	.run = nothing,
};
static const struct cli_verb start = {
	.name = "start",
	.operands = "-- PROG [ARG...]",
	.summary = "start a program",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = nothing,
};
static const struct cli_verb *const verbs[] = {&weave, &start};

/* Parses arguments separated by spaces. They stay valid until the next call. */
static int parse(struct cli *c, const struct cli_verb *verb, const char *line)
{
	static char text[256], *argv[32], *operands[33];
	int argc = 0;

	memset(c, 0, sizeof(*c));
	memset(operands, 0, sizeof(operands));
	strncpy(text, line, sizeof(text) - 1);
	for (char *p = strtok(text, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	c->verb = verb;
	c->operands = operands;
	return cli_parse(c, argc, argv);
}

static void spellings(void **state)
{
	static const char *const same[] = {
		"-p high -n 7 -v a b",
		"-phigh -n7 -v a b",
		"--priority high --number 7 --verbose a b",
		"--priority=high --number=7 a --verbose b",
		"a b -vphigh -n 7",
		"a -vp high b -n7",
		"-p low -n 9 -v a b -p high --number 7",
		"-p high -n 7 -v -- a b",
	};
	struct cli c;
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		assert_int_equal(parse(&c, &weave, same[i]), 0);
		assert_string_equal(cli_value(&c, "priority"), "high");
		assert_int_equal(cli_number(&c, "number", 0, 100, &n), 0);
		assert_int_equal(n, 7);
		assert_true(cli_has(&c, "verbose"));
		assert_false(cli_has(&c, "quiet"));
		assert_false(c.json);
		assert_null(cli_value(&c, "output"));
		assert_int_equal(c.n_operands, 2);
		assert_string_equal(c.operands[0], "a");
		assert_string_equal(c.operands[1], "b");
	}
	assert_int_equal(parse(&c, &weave, "--json - -- -v"), 0);
	assert_true(c.json);
	assert_string_equal(c.operands[0], "-");
	assert_string_equal(c.operands[1], "-v");
}

static void wrong(void **state)
{
	static const char *const lines[] = {
		"",
		"-v",
		"a b c d",
		"-x a",
		"--numbers 7 a",
		"--numb 7 a",
		"a -n",
		"a --number",
		"--verbose=1 a",
		"-p medium a",
		"-p hig a",
		"--priority= a",
		"-p high|normal a",
	};
	struct cli c;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(parse(&c, &weave, lines[i]), CLI_USAGE);
	assert_int_equal(parse(&c, &weave, "-h"), -1);
	assert_int_equal(parse(&c, &weave, "--help --nonsense"), -1);
}

static void programs(void **state)
{
	struct cli c;

	/* Arguments after the program's name belong to the program. */
	assert_int_equal(parse(&c, &start, "-p low prog -p high --json -- x"), 0);
	assert_string_equal(cli_value(&c, "priority"), "low");
	assert_false(c.json);
	assert_int_equal(c.n_operands, 6);
	assert_string_equal(c.operands[4], "--");
	assert_int_equal(parse(&c, &start, "-p low -- -prog -- x"), 0);
	assert_int_equal(c.n_operands, 3);
	assert_string_equal(c.operands[0], "-prog");
	assert_string_equal(c.operands[1], "--");
	assert_int_equal(parse(&c, &start, "-p low --"), CLI_USAGE);
}

/* A part of a command line has only its own options, not those of verbs. */
static void parts(void **state)
{
	static const struct cli_verb part = {
		.name = "thread",
		.operands = "COLOUR",
		.options = options,
		.min_operands = 1,
		.max_operands = -1,
		.flags = CLI_PART,
	};
	struct cli c;

	assert_int_equal(parse(&c, &part, "red -n 7 blue"), 0);
	assert_string_equal(cli_value(&c, "number"), "7");
	assert_int_equal(c.n_operands, 2);
	assert_int_equal(parse(&c, &part, "red --json"), CLI_USAGE);
	assert_int_equal(parse(&c, &part, "red -h"), CLI_USAGE);
	assert_int_equal(parse(&c, &part, "-n 7"), CLI_USAGE);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int status;
		uint64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"4096", 0, 4096},
		{"0x10", 0, 16},
		{"2k", 0, 2048},
		{"3M", 0, 3 << 20},
		{"15g", 0, (uint64_t)15 << 30},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", CLI_USAGE, 0},
		{"99999999999g", CLI_USAGE, 0},
		{"-1", CLI_USAGE, 0},
		{"+1", CLI_USAGE, 0},
		{" 1", CLI_USAGE, 0},
		{"", CLI_USAGE, 0},
		{"k", CLI_USAGE, 0},
		{"1kk", CLI_USAGE, 0},
		{"1t", CLI_USAGE, 0},
		{"0x", CLI_USAGE, 0},
	};
	struct cli c = {.verb = &weave};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t v = 77;

		assert_int_equal(cli_parse_number(&c, "n", cases[i].text, 0, UINT64_MAX, &v),
			cases[i].status);
		assert_true(v == (cases[i].status ? 77 : cases[i].value));
	}
	assert_int_equal(parse(&c, &weave, "-n 5 a"), 0);
	assert_int_equal(cli_number(&c, "number", 6, 9, &(uint64_t){0}), CLI_USAGE);
	assert_int_equal(cli_number(&c, "number", 1, 4, &(uint64_t){0}), CLI_USAGE);
}

/* Every text that is generated from the table (help, manual page, completions) names all its
 * options and their values. */
static void derived(void **state)
{
	static const char *const words[] = {"priority", "number", "verbose", "quiet", "output"};
	static const char *const shells[] = {"bash", "zsh", "fish"};
	struct strbuf b = {0};

	cli_help_verb(&weave, &b);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_non_null(strstr(b.at, words[i]));
	assert_non_null(strstr(b.at, "usage: heddle loom weave [-p high|normal|low] [-n N] [-v] "
				     "[-q] [--output FILE]\n"
				     "       [--json] FILE...\n"));
	strbuf_finish(&b);
	cli_help_all("loom", &b);
	assert_non_null(strstr(b.at, "loom weave"));
	assert_null(strstr(b.at, "start"));
	strbuf_finish(&b);
	cli_man(&b);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_non_null(strstr(b.at, words[i]));
	strbuf_finish(&b);
	for (size_t s = 0; s < ARRAY_LEN(shells); s++) {
		assert_int_equal(cli_completion(shells[s], &b), 0);
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			assert_non_null(strstr(b.at, words[i]));
		assert_non_null(strstr(b.at, "high normal low"));
		assert_non_null(strstr(b.at, "loom"));
		strbuf_finish(&b);
	}
	assert_true(cli_completion("tcsh", &b) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings),
		cmocka_unit_test(wrong),
		cmocka_unit_test(programs),
		cmocka_unit_test(parts),
		cmocka_unit_test(numbers),
		cmocka_unit_test(derived),
	};

	cli_set_verbs(verbs, ARRAY_LEN(verbs));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
