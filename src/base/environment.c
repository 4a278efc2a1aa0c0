/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the environment variables in environment.def. An empty variable counts as not set. */
#include "base/environment.h"
#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX_LEN 7 /* length of HEDDLE_, the prefix of all names in the table */

enum kind { WORD, COUNT, ANY };

static const struct variable {
	const char *name;
	enum kind kind;
	const char *words, *otherwise;
	uint64_t min, max, number;
} variables[] = {
#define WORDS(id, name, words, otherwise)     {name, WORD, words, otherwise, 0, 0, 0},
#define NUMBER(id, name, min, max, otherwise) {name, COUNT, NULL, NULL, min, max, otherwise},
#define TEXT(id, name)                        {name, ANY, NULL, NULL, 0, 0, 0},
#include "base/environment.def"
};

static bool read_number(const struct variable *v, const char *text, uint64_t *ret)
{
	return number_parse(text, v->min, v->max, ret) == 0;
}

uint64_t env_number(enum env_variable which)
{
	const struct variable *v = &variables[which];
	const char *text = secure_getenv(v->name);
	uint64_t n = v->number;

	if (text)
		read_number(v, text, &n);
	return n;
}

/* Returns true if value is one of the words in a list such as "a|b|N", where N stands for a
 * number. */
static bool is_word(const char *words, const char *value)
{
	size_t len = strlen(value);

	for (const char *w = words; w; w = strchr(w, '|')) {
		w += *w == '|';
		if (strcspn(w, "|") == len && memcmp(w, value, len) == 0)
			return *w != 'N';
		if (*w == 'N' && len && len < 4 && strspn(value, "0123456789") == len)
			return true;
	}
	return false;
}

const char *env_word(enum env_variable which)
{
	const struct variable *v = &variables[which];
	const char *text = secure_getenv(v->name);

	return text && is_word(v->words, text) ? text : v->otherwise;
}

/* Checks the value of a variable. If it is invalid, writes the reason to buf and returns true. */
static bool is_wrong(const struct variable *v, const char *value, char *buf, size_t size)
{
	uint64_t n;

	if (!*value || v->kind == ANY)
		return false;
	if (v->kind == COUNT) {
		if (read_number(v, value, &n))
			return false;
		snprintf(buf, size, "%s=%.80s: not a number from %llu to %llu; %llu is used",
			v->name, value, (unsigned long long)v->min, (unsigned long long)v->max,
			(unsigned long long)v->number);
		return true;
	}
	if (is_word(v->words, value))
		return false;
	snprintf(buf, size, "%s=%.80s: not one of %s; %s is used", v->name, value, v->words,
		v->otherwise);
	return true;
}

/* Writes a message about a variable whose name is not in the table. */
static void say_unknown(const char *name, size_t len, char *buf, size_t size)
{
	for (unsigned i = 0; i < ENV_VARIABLES; i++) {
		const char *known = variables[i].name;

		if (!text_is_near(name, len, known, strlen(known)))
			continue;
		snprintf(buf, size, "%.*s: heddle reads no such variable; %s is one",
			(int)MIN(len, 80), name, known);
		return;
	}
	snprintf(buf, size, "%.*s: heddle reads no such variable; heddle-environment(7) lists them",
		(int)MIN(len, 80), name);
}

void env_check(void (*say)(void *user, enum env_variable which, const char *line), void *user)
{
	char line[320];

	if (getauxval(AT_SECURE) || !environ)
		return;
	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");
		unsigned i = 0;

		if (strncmp(*e, variables[0].name, PREFIX_LEN) != 0)
			continue;
		while (i < ENV_VARIABLES && (strlen(variables[i].name) != len ||
						    memcmp(variables[i].name, *e, len) != 0))
			i++;
		if (i == ENV_VARIABLES)
			say_unknown(*e, len, line, sizeof(line));
		else if (!is_wrong(
				 &variables[i], (*e)[len] ? *e + len + 1 : "", line, sizeof(line)))
			continue;
		say(user, (enum env_variable)i, line);
	}
}
