/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main function of heddle-bench, the laboratory: it measures what the papers measured. heddle
 * bench PART executes it as heddle-bench PART, with the same options. */
#include "lab/lab.h"

#include <stdio.h>
#include <string.h>

#define PART(id) extern const struct cli_verb cli_verb_bench_##id;
#include "parts.def"
#undef PART

static const struct part {
	const struct cli_verb *row;
	int (*run)(struct cli *c);
} parts[] = {
#define PART(id) {&cli_verb_bench_##id, lab_##id},
#include "parts.def"
#undef PART
};

static int print_help(FILE *to)
{
	struct strbuf out = {0};

	cli_help_all("bench", &out);
	fputs(out.at ? out.at : "", to);
	strbuf_finish(&out);
	return to == stdout ? CLI_OK : CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct cli_verb *rows[ARRAY_LEN(parts)];

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		rows[i] = parts[i].row;
	cli_set_verbs(rows, ARRAY_LEN(parts));
	if (argc < 2)
		return print_help(stderr);
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
		return print_help(stdout);
	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(argv[1], strchr(parts[i].row->name, ' ') + 1) == 0) {
			struct cli_verb here = *parts[i].row;

			here.program = NULL;
			here.run = parts[i].run;
			return cli_run_verb(&here, argc - 2, argv + 2);
		}
	fprintf(stderr,
		"heddle bench: error: no such verb: '%s'\n  hint: heddle bench -h lists them\n",
		argv[1]);
	return CLI_USAGE;
}
