/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads and writes the file of --resume. A line of the file is a JSON object:
 *     {"device", "rounds", "runtime", "case", "arrangement",
 *      "programs": [{"launch_ns": [], "done_ns": [], "kernel_ns": [],
 *                    "kernel": [threads, registers, shared_bytes, blocks_per_sm]}],
 *      "preemptions", "shrinks", "checked"} */
#include "lab/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const char *case_key(
	const struct cases *cs, const struct bench_case *c, char *buf, size_t size)
{
	static const char *const kinds[CASE_KINDS] = {
		"alone", "pair", "delayed", "equal", "triplet", "reordered", "arriving", "at once"};
	size_t at = (size_t)snprintf(buf, size, "%s %.3f", kinds[c->kind], c->delay);

	for (unsigned i = 0; i < c->n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, " %s%s",
			cs->table->programs[c->program[i]], c->large[i] ? "-large" : "");
	return buf;
}

/* ---- writing ---- */

static json_t *pack_times(const struct crew_times *t, unsigned rounds)
{
	json_t *launch = json_array(), *done = json_array(), *kernel = json_array();

	for (unsigned k = 0; k < rounds; k++) {
		json_array_append_new(launch, json_integer((json_int_t)t->at[k].low_launch_ns));
		json_array_append_new(done, json_integer((json_int_t)t->at[k].low_done_ns));
		json_array_append_new(kernel, json_real(t->kernel_ns[k]));
	}
	return json_pack("{so so so s[iiii]}", "launch_ns", launch, "done_ns", done, "kernel_ns",
		kernel, "kernel", (int)t->kernel.threads, (int)t->kernel.registers,
		(int)t->kernel.shared_bytes, (int)t->kernel.blocks_per_sm);
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

void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k)
{
	const struct crew_result *res = &c->by[k];
	json_t *programs, *o;
	char key[96], *line;

	if (!b->resume)
		return;
	programs = json_array();
	for (unsigned i = 0; i < res->n; i++)
		json_array_append_new(programs, pack_times(&res->of[i], res->rounds));
	o = json_pack("{ss si sb ss ss so si si si}", "device", b->device_name, "rounds",
		(int)b->rounds, "runtime", (int)b->runtime, "case",
		case_key(cs, c, key, sizeof(key)), "arrangement", cs->spec[k].name, "programs",
		programs, "preemptions", (int)res->preemptions, "shrinks", (int)res->shrinks,
		"checked", (int)res->checked);
	line = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(o);
	if (!line || !append_line(b->resume, line)) {
		cli_error(b->c, NULL, "%s: %s; results are not kept there", b->resume,
			strerror(errno));
		b->resume = NULL;
	}
	free(line);
}

/* ---- reading ---- */

static bool get_numbers(const json_t *o, const char *key, unsigned n, double *ret)
{
	const json_t *v = json_object_get(o, key);

	if (json_array_size(v) != n)
		return false;
	for (unsigned k = 0; k < n; k++) {
		ret[k] = json_number_value(json_array_get(v, k));
		if (!(ret[k] >= 0 && ret[k] < 9e15)) /* exact in a double */
			return false;
	}
	return true;
}

static unsigned get_unsigned(const json_t *array, size_t i)
{
	return (unsigned)json_integer_value(json_array_get(array, i));
}

static bool get_times(struct arena *a, const json_t *o, unsigned rounds, struct crew_times *ret)
{
	double *launch = ARENA_ARRAY(a, double, rounds), *done = ARENA_ARRAY(a, double, rounds);
	double *kernel = ARENA_ARRAY(a, double, rounds);
	const json_t *takes = json_object_get(o, "kernel");

	*ret = (struct crew_times){.at = ARENA_ARRAY(a, struct stage_round, rounds),
		.turnaround_ns = ARENA_ARRAY(a, double, rounds),
		.kernel_ns = kernel,
		.kernel = {get_unsigned(takes, 0), get_unsigned(takes, 1), get_unsigned(takes, 2),
			get_unsigned(takes, 3)}};
	if (!launch || !done || !kernel || !ret->at || !ret->turnaround_ns ||
		!get_numbers(o, "launch_ns", rounds, launch) ||
		!get_numbers(o, "done_ns", rounds, done) ||
		!get_numbers(o, "kernel_ns", rounds, kernel))
		return false;
	for (unsigned k = 0; k < rounds; k++) {
		if (done[k] < launch[k])
			return false;
		ret->at[k].low_launch_ns = (uint64_t)launch[k];
		ret->at[k].low_done_ns = (uint64_t)done[k];
	}
	return true;
}

static bool get_result(struct bench *b, const json_t *o, unsigned n, struct crew_result *ret)
{
	const json_t *programs = json_object_get(o, "programs");
	struct crew_result res = {.n = n,
		.rounds = b->rounds,
		.preemptions = (unsigned)json_integer_value(json_object_get(o, "preemptions")),
		.shrinks = (unsigned)json_integer_value(json_object_get(o, "shrinks")),
		.checked = (unsigned)json_integer_value(json_object_get(o, "checked"))};

	if (json_array_size(programs) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!get_times(&b->arena, json_array_get(programs, i), b->rounds, &res.of[i]))
			return false;
	if (!crew_sum_up(&b->arena, &res))
		return false;
	*ret = res;
	return true;
}

static bool is_same(const json_t *o, const char *key, const char *want)
{
	const char *have = json_string_value(json_object_get(o, key));

	return have && !strcmp(have, want);
}

/* Of this device and these options. */
static bool is_ours(const struct bench *b, const json_t *o)
{
	return is_same(o, "device", b->device_name) &&
	       json_integer_value(json_object_get(o, "rounds")) == (json_int_t)b->rounds &&
	       json_is_true(json_object_get(o, "runtime")) == b->runtime;
}

/* Stores the result of a line in its case. A result for a case that this run does not list is
 * ignored. Returns false if the line is not a valid result. */
static bool take_result(struct bench *b, struct cases *cs, const json_t *o)
{
	char key[96];

	for (unsigned i = 0; i < cs->n; i++) {
		struct bench_case *c = &cs->at[i];

		if (!is_same(o, "case", case_key(cs, c, key, sizeof(key))))
			continue;
		for (unsigned k = 0; k < CASES_ARRANGEMENTS; k++)
			if (cs->spec[k].name && is_same(o, "arrangement", cs->spec[k].name) &&
				!get_result(b, o, c->n, &c->by[k]))
				return false;
	}
	return json_is_string(json_object_get(o, "case"));
}

static int is_none(struct bench *b, unsigned number)
{
	return cli_error(b->c, "it is a file of this verb's --resume, or a new one",
		"%s: line %u is no result", b->resume, number);
}

static int take_line(
	struct bench *b, struct cases *cs, const char *line, size_t len, unsigned number)
{
	json_t *o = json_loadb(line, len, 0, NULL);
	int r = CLI_OK;

	if (json_is_object(o) && !is_ours(b, o))
		r = cli_error(b->c, "name another file, or the --rounds and --programs of this one",
			"%s: line %u is of another device, or of other rounds or programs",
			b->resume, number);
	else if (!json_is_object(o) || !take_result(b, cs, o))
		r = is_none(b, number);
	json_decref(o);
	return r;
}

/* Truncates the file before an incomplete last line, so that the next result starts on a new
 * line. */
static int drop_rest(struct bench *b, const char *rest, size_t at, unsigned number)
{
	static const char ours[] = "{\"device\":";

	if (strncmp(rest, ours, MIN(strlen(rest), strlen(ours))) != 0 || !*rest)
		return is_none(b, number);
	return truncate(b->resume, (off_t)at)
		       ? cli_error(b->c, NULL, "%s: %s", b->resume, strerror(errno))
		       : CLI_OK;
}

int resume_get(struct bench *b, struct cases *cs)
{
	struct strbuf text = {0};
	const char *at, *end;
	unsigned number = 1;
	int r = CLI_OK, e;

	if (!b->resume || access(b->resume, F_OK))
		return CLI_OK;
	e = file_read(b->resume, false, &text);
	if (e)
		return cli_error(b->c, NULL, "%s: %s", b->resume, strerror(-e));
	for (at = text.at; r == CLI_OK && at && (end = strchr(at, '\n')); at = end + 1)
		r = take_line(b, cs, at, (size_t)(end - at), number++);
	if (r == CLI_OK && at && at < text.at + text.len)
		r = drop_rest(b, at, (size_t)(at - text.at), number);
	strbuf_finish(&text);
	return r;
}
