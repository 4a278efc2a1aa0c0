/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What verbs say and read: errors in one style (what, where, what to do), whole files, the parts of
 * the installation. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const struct cli *c, const char *level, const char *fmt, va_list ap)
{
	const struct cli *whole = c->whole ? c->whole : c;

	fprintf(stderr, "heddle %s: %s: ", whole->verb->name, level);
	if (c->whole)
		fprintf(stderr, "%s %u: ", c->verb->name, c->number);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int cli_error(const struct cli *c, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, "error", fmt, ap);
	va_end(ap);
	if (hint)
		fprintf(stderr, "  hint: %s\n", hint);
	return CLI_FAILED;
}

void cli_warn(const struct cli *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, "warning", fmt, ap);
	va_end(ap);
}

int cli_usage(const struct cli *c, const char *fmt, ...)
{
	const struct cli_verb *v = c->whole ? c->whole->verb : c->verb;
	struct strbuf synopsis = {0};
	va_list ap;

	va_start(ap, fmt);
	say(c, "error", fmt, ap);
	va_end(ap);
	cli_synopsis(v, &synopsis);
	fprintf(stderr, "usage: %s\n  hint: heddle %s -h says more\n",
		synopsis.at ? synopsis.at : "", v->name);
	strbuf_finish(&synopsis);
	return CLI_USAGE;
}

void cli_show_diags(const struct diag_list *d)
{
	struct strbuf text = {0};

	diag_render(d, &text);
	if (text.len)
		fwrite(text.at, 1, text.len, stderr);
	strbuf_finish(&text);
}

int cli_read_file(const struct cli *c, const char *path, char **ret_text, size_t *ret_len)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	struct strbuf b = {0};
	char chunk[16384];
	int err = 0;
	size_t n;

	if (!f)
		return cli_error(c, NULL, "%s: %s", path, strerror(errno));
	strbuf_add(&b, "", 0);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		strbuf_add(&b, chunk, n);
	if (ferror(f))
		err = errno;
	else if (b.failed)
		err = ENOMEM;
	if (f != stdin)
		fclose(f);
	if (err) {
		strbuf_finish(&b);
		return cli_error(c, NULL, "%s: %s", path, strerror(err));
	}
	*ret_text = b.at;
	*ret_len = b.len;
	return 0;
}

void cli_json_open(struct cli *c, struct json *j, unsigned schema)
{
	json_init(j, &c->out);
	json_begin_object(j, NULL);
	json_uint(j, "schema", schema);
	json_str(j, "command", c->verb->name);
}

int cli_find_part(const char *installed_path, const char *build_path, char **ret_path)
{
	const struct {
		const char *up, *path;
	} places[] = {{"/../", installed_path}, {"/", build_path}};
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return -ENOENT;
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = NULL, *real;

		if (!places[i].path ||
			asprintf(&path, "%s%s%s", self, places[i].up, places[i].path) < 0)
			continue;
		real = realpath(path, NULL);
		free(path);
		if (real) {
			*ret_path = real;
			return 0;
		}
	}
	return -ENOENT;
}
