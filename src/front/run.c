/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the verb that a command line names, runs it, and prints its output. The exit status is the
 * verb's, or CLI_FAILED if standard output could not be written. Verbs that belong to another
 * program, such as those of heddle bench to heddle-bench, are run by executing that program. */
#include "base/environment.h"
#include "base/text.h"
#include "front/child.h"
#include "front/cli.h"
#include "front/device.h"
#include "front/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cli_verb *cli_find_verb(int argc, char **argv, int *ret_words)
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

int cli_finish(struct cli *c, int status)
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

void cli_show_table(struct cli *c, struct table *t)
{
	if (!c->json) {
		table_print(t, &c->out);
		cli_emit(c);
		fflush(stdout);
	}
	table_finish(t);
}

/* Replaces this process with the program that has the verb, and passes on the arguments. Returns
 * CLI_FAILED after it reports that the program is missing. */
static int execute(const struct cli_verb *v, int argc, char **argv)
{
	const char *last = strchr(v->name, ' ');
	struct cli c = {.verb = v};
	char *path = NULL, **words = calloc((size_t)argc + 3, sizeof(*words));
	int r = words ? cli_find_part(NULL, v->program, &path) : -ENOMEM;

	if (r == 0) {
		words[0] = path;
		words[1] = (char *)(last ? last + 1 : v->name);
		memcpy(words + 2, argv, (size_t)argc * sizeof(*words));
		execv(path, words);
		r = -errno;
	}
	free(path);
	free(words);
	return cli_error(&c, "install it in the folder of heddle; this verb is a part of it",
		"cannot run %s: %s", v->program, strerror(-r));
}

static void warn_of_environment(void *user, enum env_variable which, const char *line)
{
	(void)which;
	cli_warn(user, "%s", line);
}

int cli_run_verb(const struct cli_verb *v, int argc, char **argv)
{
	struct cli c = {.verb = v};
	int r;

	if (v->program)
		return execute(v, argc, argv);
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
	r = cli_finish(&c, r);
	child_end_if_interrupted();
	return r;
}
