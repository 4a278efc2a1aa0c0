/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Input and output of verbs: errors in a uniform style (what, where, what to do), reading and
 * writing of whole files, and finding heddle's installed files. */
#include "base/file.h"
#include "base/part.h"
#include "base/text.h"
#include "front/cli.h"
#include "front/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	char *text, *hint;
} errors[16]; /* errors for --json; any beyond 16 are dropped */
static unsigned n_errors;

static const struct cli *whole_of(const struct cli *c)
{
	return c->whole ? c->whole : c;
}

static bool as_json(const struct cli *c)
{
	return c->json && !(c->verb->flags & (CLI_TEXT_ERRORS | CLI_PROGRAM));
}

static void print_message(
	const struct cli *c, const char *level, const char *hint, const char *fmt, va_list ap)
{
	const struct cli *whole = whole_of(c);
	char part[64] = "";

	progress_clear();
	if (c->whole)
		snprintf(part, sizeof(part), "%s %u: ", c->verb->name, c->number);
	if (as_json(whole) && strcmp(level, "error") == 0) {
		char *text = NULL;

		if (n_errors < ARRAY_LEN(errors) && vasprintf(&text, fmt, ap) >= 0) {
			errors[n_errors].hint = hint ? strdup(hint) : NULL;
			if (asprintf(&errors[n_errors].text, "%s%s", part, text) >= 0)
				n_errors++;
			free(text);
		}
		return;
	}
	fprintf(stderr, "%s%s: %s: %s", cli_prefix(whole->verb), whole->verb->name, level, part);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	if (hint)
		fprintf(stderr, "  hint: %s\n", hint);
}

/* Returns whether b is a complete JSON object, which can be kept as a result. */
static bool is_whole(const struct strbuf *b)
{
	bool in_string = false;
	int depth = 0;

	for (size_t i = 0; i < b->len; i++) {
		char c = b->at[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			depth += (c == '{' || c == '[') - (c == '}' || c == ']');
	}
	return b->len && b->at[0] == '{' && depth == 0 && !in_string;
}

void cli_json_errors(struct cli *c)
{
	struct strbuf list = {0};
	struct json j;

	if (!as_json(c) || !n_errors)
		return;
	if (!is_whole(&c->out)) {
		c->out.len = 0;
		cli_json_open(c, &j, 1);
		json_end(&j, '}');
	}
	while (c->out.len && c->out.at[c->out.len - 1] != '}')
		c->out.len--;
	c->out.len -= c->out.len > 0;
	while (c->out.len &&
		(c->out.at[c->out.len - 1] == '\n' || c->out.at[c->out.len - 1] == ' '))
		c->out.len--;
	strbuf_puts(&c->out, ",\n  \"errors\": ");
	json_init(&j, &list);
	json_begin_array(&j, NULL);
	for (unsigned i = 0; i < n_errors; i++) {
		json_begin_object(&j, NULL);
		json_str(&j, "error", errors[i].text);
		json_str(&j, "hint", errors[i].hint);
		json_end(&j, '}');
		free(errors[i].text);
		free(errors[i].hint);
	}
	json_end(&j, ']');
	n_errors = 0;
	while (list.len && list.at[list.len - 1] == '\n')
		list.len--;
	strbuf_add(&c->out, list.at ? list.at : "[]", list.at ? list.len : 2);
	strbuf_puts(&c->out, "\n}\n");
	strbuf_finish(&list);
}

int cli_error(const struct cli *c, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(c, "error", hint, fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}

void cli_warn(const struct cli *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(c, "warning", NULL, fmt, ap);
	va_end(ap);
}

static void say_usage(const struct cli *c, bool synopsis, const char *fmt, va_list ap)
{
	const struct cli *whole = whole_of(c);
	struct strbuf line = {0};

	print_message(c, "error", NULL, fmt, ap);
	if (as_json(whole))
		return;
	if (synopsis)
		cli_usage_line(whole->verb, &line);
	fprintf(stderr, "%s  hint: %s%s -h says more\n", line.at ? line.at : "",
		cli_prefix(whole->verb), whole->verb->name);
	strbuf_finish(&line);
}

int cli_usage(const struct cli *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_usage(c, false, fmt, ap);
	va_end(ap);
	return CLI_USAGE;
}

int cli_misuse(const struct cli *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_usage(c, true, fmt, ap);
	va_end(ap);
	return CLI_USAGE;
}

void cli_plain(char *text, size_t len)
{
	text_plain(text, len, "\t\n");
}

void cli_show_diags(const struct diag_list *d)
{
	struct strbuf text = {0};

	diag_render(d, &text);
	cli_plain(text.at, text.len);
	if (text.len)
		fwrite(text.at, 1, text.len, stderr);
	strbuf_finish(&text);
}

int cli_read_file(const struct cli *c, const char *path, char **ret_text, size_t *ret_len)
{
	struct strbuf b = {0};
	int r = file_read(path, true, &b);

	if (r < 0) {
		strbuf_finish(&b);
		return cli_error(c, NULL, "%s: %s", path, strerror(-r));
	}
	*ret_text = b.at;
	*ret_len = b.len;
	return 0;
}

int cli_will_write(const struct cli *c, const char *path, const char *hint)
{
	struct stat st;
	bool made;
	int fd;

	/* Opening a pipe or a device twice could disturb its reader, so do not try it here. */
	if (!path || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return CLI_OK;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	made = fd >= 0;
	/* opening without O_EXCL follows a symbolic link to a file that does not exist yet */
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return cli_error(c, hint, "%s: %s", path, strerror(errno));
	close(fd);
	if (made)
		unlink(path);
	return CLI_OK;
}

int cli_will_write_in(const struct cli *c, const char *folder, const char *hint)
{
	struct strbuf path = {0};
	int fd = -1;

	strbuf_printf(&path, "%s/.heddle-XXXXXX", folder);
	if (path.failed)
		return cli_error(c, NULL, "out of memory");
	fd = mkostemp(path.at, O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		unlink(path.at);
	}
	strbuf_finish(&path);
	return fd >= 0 ? CLI_OK : cli_error(c, hint, "%s: %s", folder, strerror(errno));
}

int cli_write_file(
	const struct cli *c, const char *path, const char *hint, const struct strbuf *data)
{
	FILE *f = data->failed ? NULL : fopen(path, "wb");
	bool ok = f && fwrite(data->at, 1, data->len, f) == data->len;

	if (data->failed)
		return cli_error(c, NULL, "out of memory");
	if ((f && fclose(f)) || !ok)
		return cli_error(c, hint, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

int cli_make_folder(const char *kind, char ret_path[64])
{
	const char *at = getenv("TMPDIR");
	char path[64];

	if (!at || snprintf(path, 64, "%s/heddle-%s-XXXXXX", at, kind) >= 64)
		snprintf(path, 64, "/tmp/heddle-%s-XXXXXX", kind);
	if (!mkdtemp(path))
		return -errno;
	memcpy(ret_path, path, sizeof(path));
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	remove(path);
	return 0;
}

void cli_remove_folder(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void cli_json_open(struct cli *c, struct json *j, unsigned schema)
{
	json_init(j, c->json ? &c->out : &c->unread);
	json_begin_object(j, NULL);
	json_uint(j, "schema", schema);
	json_str(j, "command", c->verb->name);
}

const struct strbuf *cli_json_text(const struct cli *c)
{
	return c->json ? &c->out : &c->unread;
}

int cli_find_part(const char *part, const char *build_path, char **ret_path)
{
	return part_find(HEDDLE_PARTS, part, build_path, ret_path);
}
