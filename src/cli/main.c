/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main function of the command heddle. It finds the verb (such as run), parses the verb's
 * arguments, runs the verb, and prints its output. The exit status is the verb's, or CLI_FAILED if
 * standard output could not be written. */
#include "base/environment.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/device.h"
#include "cli/progress.h"
#include "cli/ptx_file.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERB(id) extern const struct cli_verb cli_verb_##id;
#include "verbs.def"
#undef VERB

const struct cli_verb *const cli_verbs[] = {
#define VERB(id) &cli_verb_##id,
#include "verbs.def"
#undef VERB
};
const unsigned cli_verbs_len = ARRAY_LEN(cli_verbs);

/* Finds the verb whose name argv starts with. *ret_words receives the number of arguments that the
 * name consists of. */
static const struct cli_verb *find_verb(int argc, char **argv, int *ret_words)
{
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name, *blank = strchr(name, ' ');
		size_t first = blank ? (size_t)(blank - name) : strlen(name);

		if (strlen(argv[0]) != first || memcmp(argv[0], name, first) != 0)
			continue;
		if (blank && (argc < 2 || strcmp(argv[1], blank + 1) != 0))
			continue;
		*ret_words = blank ? 2 : 1;
		return cli_verbs[i];
	}
	return NULL;
}

static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (unsigned i = 0; i < cli_verbs_len; i++)
		if (strncmp(cli_verbs[i]->name, word, len) == 0 && cli_verbs[i]->name[len] == ' ')
			return true;
	return false;
}

void cli_emit(struct cli *c)
{
	if (c->out.len)
		progress_clear();
	/* The output may contain names and texts from files and other programs. */
	if (isatty(STDOUT_FILENO))
		cli_plain(c->out.at, c->out.len);
	if (c->out.len && !c->out_error && fwrite(c->out.at, 1, c->out.len, stdout) != c->out.len)
		c->out_error = errno;
	c->out.len = 0;
}

void cli_show(struct cli *c, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	if (c->json)
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		c->out.failed = true;
		return;
	}
	strbuf_add(&c->out, text, (size_t)n);
	if (n && text[n - 1] == '\n') {
		cli_emit(c);
		fflush(stdout);
	}
	free(text);
}

/* A full disk or a closed pipe is reported like any other failure. */
static int flush_out(struct cli *c, int status)
{
	cli_emit(c);
	if (fflush(stdout) != 0 && !c->out_error)
		c->out_error = errno;
	if (c->out.failed)
		c->out_error = ENOMEM;
	if (c->out_error && c->out_error != EPIPE)
		fprintf(stderr, "heddle: error: cannot write to standard output: %s\n",
			strerror(c->out_error));
	strbuf_finish(&c->out);
	strbuf_finish(&c->unread);
	return c->out_error && status == CLI_OK ? CLI_FAILED : status;
}

static void warn_of_environment(void *user, enum env_variable which, const char *line)
{
	(void)which;
	cli_warn(user, "%s", line);
}

static int run_verb(const struct cli_verb *v, int argc, char **argv)
{
	struct cli c = {.verb = v};
	int r;

	c.operands = calloc((size_t)argc + 1, sizeof(*c.operands));
	if (!c.operands)
		return cli_error(&c, NULL, "out of memory");
	r = cli_parse(&c, argc, argv);
	if (r < 0) {
		cli_help_verb(v, &c.out);
		r = CLI_OK;
	} else if (r == 0) {
		if (!(v->flags & CLI_NO_ENVIRONMENT))
			env_check(warn_of_environment, &c);
		r = cli_device(&c);
		if (r == 0)
			r = v->run(&c);
	}
	free(c.operands);
	progress_clear();
	cli_json_errors(&c);
	r = flush_out(&c, r);
	child_end_if_interrupted();
	return r;
}

const struct cli_verb *cli_near_verb(const char *group, const char *word)
{
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name;
		size_t len = strcspn(name, " ");

		if (group && (strlen(group) != len || !name[len] || memcmp(name, group, len) != 0))
			continue;
		if (group)
			name += len + 1;
		if (text_is_near(word, strlen(word), name, group ? strlen(name) : len))
			return cli_verbs[i];
	}
	return NULL;
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

		if (argc < 2 || argc > 3 || cli_completion(argv[1], program, &c.out) < 0) {
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
	return flush_out(&c, status);
}

int main(int argc, char **argv)
{
	const struct cli_verb *v;
	int words = 0, r;

	if (argc < 2) {
		struct strbuf out = {0};

		cli_help_all(NULL, &out);
		fputs(out.at ? out.at : "", stderr);
		strbuf_finish(&out);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0)
		argv[1] += 2;
	v = find_verb(argc - 1, argv + 1, &words);
	if (v)
		return run_verb(v, argc - 1 - words, argv + 1 + words);
	r = run_word(argc - 1, argv + 1);
	if (r >= 0)
		return r;
	return no_such_verb(NULL, argv[1]);
}
