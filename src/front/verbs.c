/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of the program's verbs, and functions that need only a verb's row. */
#include "front/cli.h"

const struct cli_verb *const *cli_verbs;
unsigned cli_verbs_len;

void cli_set_verbs(const struct cli_verb *const *verbs, unsigned n)
{
	cli_verbs = verbs;
	cli_verbs_len = n;
}

static const struct cli_option common[] = {
	{0, "json", NULL, "print the result as JSON"},
	{'h', "help", NULL, "print this help"},
};

const struct cli_option *cli_option_at(const struct cli_verb *v, unsigned i)
{
	unsigned own = 0;

	while (v->options && v->options[own].name)
		own++;
	if (i < own)
		return &v->options[i];
	if (v->flags & CLI_PART)
		return NULL;
	return i - own < ARRAY_LEN(common) ? &common[i - own] : NULL;
}

const char *cli_prefix(const struct cli_verb *v)
{
	return v->flags & CLI_PROGRAM ? "" : "heddle ";
}
