/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A pair of programs, or one alone, run in an arrangement, and what came of it. Times are the
 * programs' own, on one clock; preemptions are the daemon's account. */
#include "cli/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- command lines ---- */

struct command {
	char *argv[40];
	char *env[12];
	unsigned n_argv, n_env;
	char text[12][160]; /* what they point to */
	unsigned n_text;
	char *program;
};

static char *say(struct command *k, const char *fmt, ...) HD_PRINTF(2, 3);
static char *say(struct command *k, const char *fmt, ...)
{
	char *p = k->text[k->n_text++];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, sizeof(k->text[0]), fmt, ap);
	va_end(ap);
	return p;
}

/* An option and its value. */
static void add(struct command *k, const char *option, const char *value)
{
	k->argv[k->n_argv++] = (char *)option;
	k->argv[k->n_argv++] = (char *)value;
}

static void arrange(
	const struct stage *s, const struct stage_run *run, bool high, struct command *k)
{
	if (s->spec.device == DEV_CPU)
		k->env[k->n_env++] = say(k, "HEDDLE_VGPU=stage%s", strrchr(s->dir, '-'));
	/* What is measured are the forms, from the first launch on. */
	if (s->spec.managed) {
		k->env[k->n_env++] = "HEDDLE_FORM_WAIT_MS=60000";
		add(k, s->heddle, "run");
		add(k, "--socket", say(k, "%s/heddled.sock", s->dir));
		add(k, "--device", s->spec.device == DEV_CPU ? "cpu" : "cuda");
		add(k, "-p", run->equal ? "normal" : high ? "high" : "low");
		k->argv[k->n_argv++] = "--";
	} else if (s->spec.device == DEV_CPU) {
		k->env[k->n_env++] = say(k, "LD_LIBRARY_PATH=%s", s->cpu_folder);
	} else if (s->spec.mps) {
		k->env[k->n_env++] = say(k, "CUDA_MPS_PIPE_DIRECTORY=%s/mps", s->dir);
		if (s->spec.mps_priorities && !high)
			k->env[k->n_env++] = "CUDA_MPS_CLIENT_PRIORITY=1";
	} else {
		k->env[k->n_env++] = say(k, "CUDA_MPS_PIPE_DIRECTORY=%s/none", s->dir);
	}
}

static int make_command(struct stage *s, const struct stage_run *run, bool high, struct command *k)
{
	const struct stage_program *p = high ? &run->high : &run->low;
	const char *folder = run->runtime ? "examples/rt" : "examples";
	char path[128];

	*k = (struct command){0};
	snprintf(path, sizeof(path), "%s/%s", folder, p->name);
	if (cli_find_part(path, path, &k->program))
		return cli_error(s->c, "heddle builds them where a compiler for kernels is",
			"the example program %s was not found", path);
	arrange(s, run, high, k);
	k->argv[k->n_argv++] = k->program;
	add(k, "--size", p->size);
	add(k, "--scale", say(k, "%.6g", p->scale > 0 ? p->scale : 1.0));
	add(k, "--repeat", say(k, "%u", run->rounds));
	add(k, "--check", run->check ? run->check : "each");
	k->argv[k->n_argv++] = "--json";
	if (run->reference)
		add(k, "--reference", run->reference);
	if (run->low.name && run->high.name) {
		add(k, "--role", high ? "high" : "low");
		add(k, "--barrier", say(k, "%s/barrier", s->dir));
		add(k, "--delay-us", say(k, "%.3f", run->delay_us));
	}
	return CLI_OK;
}

/* ---- output ---- */

static uint64_t get_u64(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

struct reading {
	struct stage_result *res;
	double *turnaround, *kernel;
	unsigned rounds;
	bool high, passed;
};

static void read_line(struct reading *rd, unsigned max_rounds, const json_t *o)
{
	uint64_t launch = get_u64(o, "launch_ns"), done = get_u64(o, "done_ns");

	if (json_object_get(o, "verdict")) {
		const char *v = json_string_value(json_object_get(o, "verdict"));

		rd->passed = v && !strcmp(v, "pass");
		rd->res->checked += (unsigned)get_u64(o, "checked");
		rd->res->wrong += (unsigned)get_u64(o, "wrong");
		if (!rd->high)
			rd->res->low_blocks = get_u64(o, "blocks");
	} else if (json_object_get(o, "round") && rd->rounds < max_rounds) {
		struct stage_round *r = &rd->res->at[rd->rounds];

		*(rd->high ? &r->high_launch_ns : &r->low_launch_ns) = launch;
		*(rd->high ? &r->high_done_ns : &r->low_done_ns) = done;
		rd->turnaround[rd->rounds] = (double)(done - launch);
		rd->kernel[rd->rounds++] = json_number_value(json_object_get(o, "kernel_ns"));
	}
}

static void read_output(struct reading *rd, unsigned max_rounds, char *text)
{
	for (char *save = NULL, *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(line, 0, NULL);

		if (json_is_object(o))
			read_line(rd, max_rounds, o);
		json_decref(o);
	}
}

static int read_child(struct stage *s, struct arena *a, const struct stage_run *run, bool high,
	struct child *child, struct stage_result *res)
{
	struct reading rd = {.res = res,
		.high = high,
		.turnaround = ARENA_ARRAY(a, double, run->rounds),
		.kernel = ARENA_ARRAY(a, double, run->rounds)};
	const char *name = high ? run->high.name : run->low.name;
	char status[64];

	read_output(&rd, run->rounds, child->out.at);
	if (child->status || !rd.passed || rd.rounds != run->rounds)
		return cli_error(s->c, NULL, "%s (%s): %s: %u of %u rounds, results %s", name,
			s->spec.name, child_status_text(child, status, sizeof(status)), rd.rounds,
			run->rounds, rd.passed ? "correct" : "not all correct");
	*(high ? &res->high_ns : &res->low_ns) = median_of(rd.turnaround, rd.rounds);
	*(high ? &res->high_kernel_ns : &res->low_kernel_ns) = median_of(rd.kernel, rd.rounds);
	return CLI_OK;
}

/* ---- the daemon's events ---- */

static long events_size(const struct stage *s, char *path, size_t size)
{
	FILE *f;
	long end = 0;

	snprintf(path, size, "%s/events", s->dir);
	f = s->spec.managed ? fopen(path, "rb") : NULL;
	if (f && !fseek(f, 0, SEEK_END))
		end = ftell(f);
	if (f)
		fclose(f);
	return end;
}

static void count_preemptions(struct arena *a, struct stage_result *res)
{
	unsigned max = 1, n = 0;
	const char *at = res->events;
	struct stage_event e;

	for (const char *p = res->events; (p = strstr(p, "\"drained\"")); p++)
		max++;
	res->handover_ns = ARENA_ARRAY(a, double, max);
	res->put_off = ARENA_ARRAY(a, double, max);
	while (stage_next_event(&at, &e)) {
		if (!strcmp(e.what, "preempt"))
			res->preemptions++;
		if (!strcmp(e.what, "shrink"))
			res->shrinks++;
		if (!strcmp(e.what, "drained") && e.store_ns && n < max && res->put_off) {
			res->put_off[n] = (double)(e.total - MIN(e.finished, e.total));
			res->handover_ns[n++] = (double)(e.t_ns - e.store_ns);
		}
	}
	res->handovers = n;
}

static void read_events(const struct stage *s, struct arena *a, long from, struct stage_result *res)
{
	char path[128];
	long end = events_size(s, path, sizeof(path));
	FILE *f;

	if (end <= from)
		return;
	res->events = arena_zalloc(a, (size_t)(end - from) + 1);
	f = fopen(path, "rb");
	if (f && res->events && !fseek(f, from, SEEK_SET) &&
		fread(res->events, 1, (size_t)(end - from), f) == (size_t)(end - from))
		count_preemptions(a, res);
	if (f)
		fclose(f);
}

static void measure_makespan(struct arena *a, const struct stage_run *run, struct stage_result *res)
{
	double *spans = ARENA_ARRAY(a, double, run->rounds);

	for (unsigned i = 0; i < run->rounds; i++) {
		const struct stage_round *r = &res->at[i];
		uint64_t from = r->low_launch_ns, to = MAX(r->low_done_ns, r->high_done_ns);

		if (!from || (r->high_launch_ns && r->high_launch_ns < from))
			from = r->high_launch_ns;
		spans[i] = (double)(to - from);
	}
	res->makespan_ns = median_of(spans, run->rounds);
}

int stage_run(
	struct stage *s, struct arena *a, const struct stage_run *run, struct stage_result *ret)
{
	struct stage_result res = {.rounds = run->rounds};
	struct command command[2];
	struct child child[2] = {{.fd = -1}, {.fd = -1}};
	bool part[2] = {run->low.name != NULL, run->high.name != NULL};
	char path[128];
	long from = events_size(s, path, sizeof(path));
	int r = CLI_OK, e;

	res.at = ARENA_ARRAY(a, struct stage_round, run->rounds);
	if (!res.at)
		return cli_error(s->c, NULL, "out of memory");
	snprintf(path, sizeof(path), "%s/barrier", s->dir);
	unlink(path);
	for (unsigned i = 0; i < 2 && r == CLI_OK; i++) {
		if (!part[i])
			continue;
		r = make_command(s, run, i == 1, &command[i]);
		if (r != CLI_OK)
			break;
		e = child_start(command[i].argv, command[i].env, NULL, &child[i]);
		if (e)
			r = cli_error(s->c, NULL, "%s: %s", command[i].program, strerror(-e));
		free(command[i].program);
	}
	e = r == CLI_OK ? child_wait(child, 2, run->timeout_ms) : 0;
	if (e == -EINTR)
		r = CLI_FAILED; /* whoever sent the signal knows why */
	else if (e)
		r = cli_error(s->c, NULL, "%s beside %s (%s) did not end within %d s",
			part[1] ? run->high.name : "nothing", part[0] ? run->low.name : "nothing",
			s->spec.name, run->timeout_ms / 1000);
	for (unsigned i = 0; i < 2 && r == CLI_OK; i++)
		if (part[i])
			r = read_child(s, a, run, i == 1, &child[i], &res);
	if (r == CLI_OK) {
		read_events(s, a, from, &res);
		measure_makespan(a, run, &res);
		*ret = res;
	}
	child_finish(&child[0]);
	child_finish(&child[1]);
	return r;
}
