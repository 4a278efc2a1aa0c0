/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses the arguments of a verb into its struct cli, as described by the verb's struct cli_verb.
 * Options may appear anywhere before "--", or with CLI_OPERANDS_LAST before the first operand. The
 * last value of a repeated option counts, unless the verb's on_option collects all. Options cannot
 * be abbreviated, because an option added in a later version could then change the meaning of a
 * script. */
#include "base/number.h"
#include "base/text.h"
#include "front/cli.h"

#include <errno.h>
#include <string.h>

static int option_by_name(const struct cli_verb *v, const char *name, size_t len)
{
	const struct cli_option *o;

	for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return (int)i;
	return -1;
}

static int option_by_letter(const struct cli_verb *v, char letter)
{
	const struct cli_option *o;

	for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
		if (o->letter == letter)
			return (int)i;
	return -1;
}

bool cli_has(const struct cli *c, const char *option)
{
	int i = option_by_name(c->verb, option, strlen(option));

	return i >= 0 && c->given[i];
}

const char *cli_value(const struct cli *c, const char *option)
{
	int i = option_by_name(c->verb, option, strlen(option));

	return i >= 0 ? c->values[i] : NULL;
}

void cli_value_set(struct cli *c, const char *option, const char *value)
{
	int i = option_by_name(c->verb, option, strlen(option));

	if (i >= 0)
		c->values[i] = value;
}

/* Returns whether value is one of the strings in "a|b|c". A string in capitals allows any other
 * text. */
static bool is_one_of(const char *words, const char *value, size_t len)
{
	if (!len || memchr(value, '|', len))
		return false;
	for (const char *w = words; w; w = strchr(w, '|')) {
		w += *w == '|';
		if (*w >= 'A' && *w <= 'Z')
			return true;
		if (strncmp(w, value, len) == 0 && (w[len] == '|' || w[len] == 0))
			return true;
	}
	return false;
}

static int option_set(struct cli *c, int i, const char *value)
{
	const struct cli_option *o = cli_option_at(c->verb, (unsigned)i);
	size_t len = value ? strlen(value) : 0;

	/* With a number, as in "cuda:1", check only the kind here; device.c handles the number. */
	if (value && !strcmp(o->name, "device") &&
		(!strncmp(value, "cpu:", 4) || !strncmp(value, "cuda:", 5)))
		len = strcspn(value, ":");
	if (o->value && strchr(o->value, '|') && !is_one_of(o->value, value, len))
		return cli_usage(c, "--%s: '%s' is not one of %s", o->name, value, o->value);
	c->given[i] = true;
	c->values[i] = value;
	return c->verb->on_option ? c->verb->on_option(c, o, value) : 0;
}

/* Reports an unknown option, given as "--name" or "--name=value", and suggests a similar one. */
static int no_such_option(const struct cli *c, const char *option)
{
	size_t len = strcspn(option + 2, "=");
	const struct cli_option *o;

	for (unsigned i = 0; (o = cli_option_at(c->verb, i)); i++)
		if (text_is_near(option + 2, len, o->name, strlen(o->name)))
			return cli_misuse(c, "no such option: '%s'; --%s is one", option, o->name);
	return cli_misuse(c, "no such option: '%s'", option);
}

/* Parses a long option: "--name", "--name=value" or "--name value". *next is the index of the next
 * argument. */
static int parse_long(struct cli *c, char **argv, int argc, int *next)
{
	const char *name = argv[*next - 1] + 2, *eq = strchr(name, '=');
	int i = option_by_name(c->verb, name, eq ? (size_t)(eq - name) : strlen(name));
	const struct cli_option *o;

	if (i < 0)
		return no_such_option(c, argv[*next - 1]);
	o = cli_option_at(c->verb, (unsigned)i);
	if (!o->value)
		return eq ? cli_misuse(c, "--%s takes no value", o->name) : option_set(c, i, NULL);
	if (eq)
		return option_set(c, i, eq + 1);
	if (*next == argc)
		return cli_misuse(c, "--%s: %s is missing", o->name, o->value);
	return option_set(c, i, argv[(*next)++]);
}

/* Parses short options: "-abc", "-xVALUE" or "-x VALUE". */
static int parse_letters(struct cli *c, char **argv, int argc, int *next)
{
	for (const char *p = argv[*next - 1] + 1; *p; p++) {
		int i = option_by_letter(c->verb, *p), r;
		const struct cli_option *o;

		if (i < 0)
			return cli_misuse(c, "no such option: '-%c'", *p);
		o = cli_option_at(c->verb, (unsigned)i);
		if (o->value) {
			if (p[1])
				return option_set(c, i, p + 1);
			if (*next == argc)
				return cli_misuse(c, "-%c: %s is missing", *p, o->value);
			return option_set(c, i, argv[(*next)++]);
		}
		r = option_set(c, i, NULL);
		if (r)
			return r;
	}
	return 0;
}

int cli_parse(struct cli *c, int argc, char **argv)
{
	const struct cli_verb *v = c->verb;
	bool options = true;
	int next = 0, r;

	/* --json is searched for first, so that errors in other options are also reported as
	 * JSON. */
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0 &&
			(argv[i][0] == '-' || !(v->flags & CLI_OPERANDS_LAST));
		i++)
		c->json |= strcmp(argv[i], "--json") == 0;

	while (next < argc) {
		char *arg = argv[next++];

		r = 0;
		if (options && strcmp(arg, "--") == 0) {
			options = false;
			c->behind = !c->n_operands;
		} else if (options && strncmp(arg, "--", 2) == 0) {
			r = parse_long(c, argv, argc, &next);
		} else if (options && arg[0] == '-' && arg[1]) {
			r = parse_letters(c, argv, argc, &next);
		} else {
			c->operands[c->n_operands++] = arg;
			if (v->flags & CLI_OPERANDS_LAST)
				options = false;
		}
		if (r)
			return r;
		if (cli_has(c, "help"))
			return -1;
	}
	c->json = cli_has(c, "json");
	if (c->n_operands < v->min_operands)
		return cli_misuse(c, "what is missing: %s", v->operands);
	if (v->max_operands >= 0 && c->n_operands > v->max_operands)
		return cli_misuse(c, "unexpected: '%s'", c->operands[v->max_operands]);
	return 0;
}

int cli_parse_number(const struct cli *c, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *ret)
{
	int r = number_parse_scaled(text, min, max, ret);

	if (r == -EINVAL)
		return cli_usage(c, "%s: '%s' is not a number", what, text);
	if (r < 0)
		return cli_usage(c, "%s: %s is not between %llu and %llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	return 0;
}

int cli_number(const struct cli *c, const char *option, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *text = cli_value(c, option);
	char what[64] = "--";

	if (!text)
		return 0;
	strncat(what, option, sizeof(what) - 3);
	return cli_parse_number(c, what, text, min, max, ret);
}
