/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main function of the command heddle. It has the table of verbs (such as run), and the
 * options of heddle itself; front/run.c finds and runs a verb. */
#include "cli/heddled.h"
#include "front/cli.h"
#include "job/ptx_file.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERB(id) extern const struct cli_verb cli_verb_##id;
#include "verbs.def"
#undef VERB

static const struct cli_verb *const verbs[] = {
#define VERB(id) &cli_verb_##id,
#include "verbs.def"
#undef VERB
};
static const struct cli_verb *const daemon_verbs[] = {&cli_heddled};

static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (unsigned i = 0; i < cli_verbs_len; i++)
		if (strncmp(cli_verbs[i]->name, word, len) == 0 && cli_verbs[i]->name[len] == ' ')
			return true;
	return false;
}

/* Reports an unknown verb. group is "ptx", or NULL for a first word. Returns CLI_USAGE. */
static int no_such_verb(const char *group, const char *word)
{
	const struct cli_verb *near = cli_near_verb(group, word);

	fprintf(stderr, "heddle%s%s: error: no such verb: '%s'\n  hint: ", group ? " " : "",
		group ? group : "", word);
	if (near && group)
		fprintf(stderr, "heddle %s is one; ", near->name);
	else if (near)
		fprintf(stderr, "heddle %.*s is one; ", (int)strcspn(near->name, " "), near->name);
	fprintf(stderr, "heddle %s%s-h lists %s\n", group ? group : "", group ? " " : "",
		near ? "all" : "them");
	return CLI_USAGE;
}

/* Handles first arguments that are not verbs but options of heddle itself, used by shells and the
 * build. Returns -1 if argv[0] is none of them. */
static int run_word(int argc, char **argv)
{
	struct cli c = {0};
	int status = CLI_OK;

	if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0) {
		cli_help_all(NULL, &c.out);
	} else if (strcmp(argv[0], "--print-man") == 0) {
		if (argc > 1 && strcmp(argv[1], "heddled") == 0)
			cli_man_options(&cli_heddled, &c.out);
		else
			cli_man(&c.out);
	} else if (strcmp(argv[0], "--print-completion") == 0) {
		const char *program = argc > 2 ? argv[2] : "heddle";

		if (strcmp(program, "heddled") == 0)
			cli_set_verbs(daemon_verbs, 1);
		else if (strcmp(program, "heddle") != 0)
			argc = 0;
		if (argc < 2 || argc > 3 || cli_completion(argv[1], &c.out) < 0) {
			fputs("usage: heddle --print-completion bash|zsh|fish [heddle|heddled]\n",
				stderr);
			status = CLI_USAGE;
		}
	} else if (strcmp(argv[0], "--print-kernels") == 0) {
		cli_ptx_names(&c, argv + 1);
	} else if (is_group(argv[0])) {
		bool asked =
			argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);

		if (!asked && argc > 1) {
			status = no_such_verb(argv[0], argv[1]);
		} else {
			cli_help_all(argv[0], &c.out);
			if (!asked) {
				fprintf(stderr, "heddle %s: error: a verb is missing\n%s", argv[0],
					c.out.at ? c.out.at : "");
				strbuf_finish(&c.out);
				status = CLI_USAGE;
			}
		}
	} else {
		return -1;
	}
	return cli_finish(&c, status);
}

int main(int argc, char **argv)
{
	const struct cli_verb *v;
	int words = 0, r;

	cli_set_verbs(verbs, ARRAY_LEN(verbs));
	if (argc < 2) {
		struct strbuf out = {0};

		cli_help_all(NULL, &out);
		fputs(out.at ? out.at : "", stderr);
		strbuf_finish(&out);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0)
		argv[1] += 2;
	v = cli_find_verb(argc - 1, argv + 1, &words);
	if (v)
		return cli_run_verb(v, argc - 1 - words, argv + 1 + words);
	r = run_word(argc - 1, argv + 1);
	if (r >= 0)
		return r;
	return no_such_verb(NULL, argv[1]);
}
