/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps rows of samples in memory and in the file of --resume. */
#include "lab/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/measure.h"
#include "base/text.h"

/* ---- reading the file of --resume ---- */

static bool has_text(const json_t *o, const char *key, const char *want)
{
	const char *have = json_string_value(json_object_get(o, key));

	return have && !strcmp(have, want);
}

static bool is_row(const json_t *o)
{
	const json_t *values;
	const char *name;

	if (!json_is_string(json_object_get(o, "row")) ||
		!json_is_object(json_object_get(o, "samples")))
		return false;
	json_object_foreach(json_object_get(o, "samples"), name, values)
	{
		for (size_t i = 0; i < json_array_size(values); i++)
			if (!json_is_number(json_array_get(values, i)) &&
				!json_is_string(json_array_get(values, i)))
				return false;
		if (!json_is_array(values))
			return false;
	}
	return true;
}

static int fail_line(struct samples *k, unsigned number)
{
	return cli_error(k->c, "it is a file of this verb's --resume, or a new one",
		"%s: line %u is no result", k->path, number);
}

static int take_line(struct samples *k, const char *line, size_t len, unsigned number)
{
	json_t *o = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	int r = CLI_OK;

	if (!is_row(o))
		r = fail_line(k, number);
	else if (!has_text(o, "device", k->device) || !has_text(o, "options", k->options))
		r = cli_error(k->c, "name another file, or the device and options of this one",
			"%s: line %u is of another device, or of other options", k->path, number);
	else if (json_object_set(k->rows, json_string_value(json_object_get(o, "row")),
			 json_object_get(o, "samples")))
		r = cli_error(k->c, NULL, "out of memory");
	json_decref(o);
	return r;
}

/* Truncates the file before an incomplete last line, so that the next row starts on a new line. */
static int drop_rest(struct samples *k, const char *rest, size_t at, unsigned number)
{
	static const char ours[] = "{\"device\":";

	if (!*rest || strncmp(rest, ours, MIN(strlen(rest), strlen(ours))) != 0)
		return fail_line(k, number);
	return truncate(k->path, (off_t)at)
		       ? cli_error(k->c, NULL, "%s: %s", k->path, strerror(errno))
		       : CLI_OK;
}

static int read_file(struct samples *k)
{
	struct strbuf text = {0};
	const char *at, *end;
	unsigned number = 1;
	int r = CLI_OK, e;

	if (!k->path || access(k->path, F_OK))
		return CLI_OK;
	e = file_read(k->path, false, &text);
	if (e)
		return cli_error(k->c, NULL, "%s: %s", k->path, strerror(-e));
	for (at = text.at; r == CLI_OK && at && (end = strchr(at, '\n')); at = end + 1)
		r = take_line(k, at, (size_t)(end - at), number++);
	if (r == CLI_OK && at && at < text.at + text.len)
		r = drop_rest(k, at, (size_t)(at - text.at), number);
	strbuf_finish(&text);
	return r;
}

int samples_open(struct samples *k, struct cli *c, const char *device, const char *options)
{
	uint64_t budget_s = 0;
	int r = cli_number(c, "budget-s", 1, 100000, &budget_s);

	*k = (struct samples){.c = c,
		.path = cli_value(c, "resume"),
		.device = device,
		.options = options,
		.rows = json_object(),
		.until_ms = budget_s ? clock_ms() + (double)budget_s * 1e3 : 0};
	return r == CLI_OK ? read_file(k) : r;
}

int samples_check(const struct cli *c)
{
	return cli_will_write(c, cli_value(c, "resume"), "name another file: --resume FILE");
}

void samples_close(struct samples *k)
{
	json_decref(k->rows);
	k->rows = NULL;
}

const json_t *samples_row(const struct samples *k, const char *key)
{
	return json_object_get(k->rows, key);
}

/* ---- adding rows ---- */

bool samples_is_late(const struct samples *k)
{
	return k->until_ms > 0 && k->begun && clock_ms() > k->until_ms;
}

bool samples_may_begin(struct samples *k)
{
	if (samples_is_late(k)) {
		k->left++;
		return false;
	}
	k->begun++;
	return true;
}

static bool append_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	size_t len = strlen(line);
	bool ok = fd >= 0 && write(fd, line, len) == (ssize_t)len && write(fd, "\n", 1) == 1;
	int e = errno;

	if (fd >= 0)
		close(fd);
	errno = e;
	return ok;
}

/* Returns the row's line for the file, or NULL if memory runs out. The caller frees the line. */
static char *line_of(const struct samples *k, const char *key, json_t *samples)
{
	json_t *o = json_pack("{ss ss ss so}", "device", k->device, "options", k->options, "row",
		key, "samples", samples);
	char *line = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));

	json_decref(o);
	return line;
}

void samples_add(struct samples *k, const char *key, json_t *samples)
{
	char *line = line_of(k, key, samples);
	/* The row is read back from its line, so that later calls, which read the file, compute the
	 * same figures. */
	json_t *o = line ? json_loads(line, 0, NULL) : NULL;

	if (!o || json_object_set(k->rows, key, json_object_get(o, "samples"))) {
		cli_error(k->c, NULL, "out of memory");
	} else if (k->path && !append_line(k->path, line)) {
		cli_error(
			k->c, NULL, "%s: %s; results are not kept there", k->path, strerror(errno));
		k->path = NULL;
	}
	json_decref(o);
	free(line);
}

/* ---- access to a row's samples ---- */

json_t *samples_number(double value)
{
	json_t *array = json_array();

	json_array_append_new(array, value == floor(value) && fabs(value) < 9e15
					     ? json_integer((json_int_t)value)
					     : json_real(value));
	return array;
}

json_t *samples_numbers(const double *values, unsigned n)
{
	json_t *array = json_array(), *one;

	for (unsigned i = 0; i < n; i++) {
		one = samples_number(isfinite(values[i]) ? values[i] : 0);
		json_array_extend(array, one);
		json_decref(one);
	}
	return array;
}

unsigned samples_count(const json_t *samples, const char *name)
{
	return (unsigned)json_array_size(json_object_get(samples, name));
}

bool samples_read(const json_t *samples, const char *name, unsigned n, double *ret)
{
	const json_t *array = json_object_get(samples, name);
	bool ok = json_array_size(array) == n;

	for (unsigned i = 0; i < n; i++)
		ret[i] = ok ? json_number_value(json_array_get(array, i)) : 0;
	return ok;
}

double *samples_values(const json_t *samples, const char *name, struct arena *a, unsigned *ret_n)
{
	unsigned n = samples_count(samples, name);
	double *values = n ? ARENA_ARRAY(a, double, n) : NULL;

	*ret_n = values ? n : 0;
	if (values)
		samples_read(samples, name, n, values);
	return values;
}

double samples_first(const json_t *samples, const char *name)
{
	return json_number_value(json_array_get(json_object_get(samples, name), 0));
}

double samples_median(const json_t *samples, const char *name)
{
	struct arena arena;
	double *values, median;
	unsigned n;

	arena_init(&arena, 0);
	values = samples_values(samples, name, &arena, &n);
	median = values ? median_of(values, n) : 0;
	arena_finish(&arena);
	return median;
}

void samples_finish(struct samples *k, struct json *j)
{
	json_t *samples;
	const char *key;
	char *text;

	json_begin_array(j, "samples");
	json_object_foreach(k->rows, key, samples)
	{
		json_t *o = json_pack("{ss}", "row", key);

		json_object_update(o, samples);
		text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
		json_raw(j, NULL, text ? text : "null");
		free(text);
		json_decref(o);
	}
	json_end(j, ']');
	json_uint(j, "left", k->left);
	if (k->left)
		cli_show(k->c, "\n%s %s missing for want of time%s\n", COUNTED(k->left, "row"),
			k->left == 1 ? "is" : "are", k->path ? "; call this again to go on" : "");
}
