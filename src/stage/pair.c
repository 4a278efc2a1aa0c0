/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs a pair of programs, or a single program, in an arrangement, and collects the results. The
 * programs measure the times themselves, all with the same clock. heddled counts the
 * preemptions. */
#include "base/text.h"
#include "stage/stage_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- building command lines ---- */

static int make_command(
	struct stage *s, const struct stage_run *run, bool high, struct stage_command *k)
{
	const struct stage_program *p = high ? &run->high : &run->low;
	int r = stage_command_begin(s, run, p, "-p",
		run->equal ? "normal"
		: high     ? "high"
			   : "low",
		k);

	if (r != CLI_OK)
		return r;
	if (s->spec.mps_priorities && !high)
		k->env[k->n_env++] = "CUDA_MPS_CLIENT_PRIORITY=1";
	stage_command_add(k, "--repeat", stage_command_say(k, "%u", run->rounds));
	if (run->low.name && run->high.name) {
		stage_command_add(k, "--role", high ? "high" : "low");
		stage_command_add(k, "--barrier", stage_command_say(k, "%s/barrier", s->dir));
		stage_command_add(k, "--delay-us", stage_command_say(k, "%.3f", run->delay_us));
	}
	return CLI_OK;
}

/* ---- parsing the programs' output ---- */

struct reading {
	struct stage_result *res;
	double *turnaround, *kernel;
	unsigned rounds, max_rounds;
	bool high, passed;
};

static void read_line(void *user, const json_t *o)
{
	struct reading *rd = user;
	uint64_t launch = stage_get_u64(o, "launch_ns"), done = stage_get_u64(o, "done_ns");
	struct stage_verdict v;

	if (stage_read_verdict(o, &v)) {
		rd->passed = v.passed;
		rd->res->checked += v.checked;
		rd->res->wrong += v.wrong;
		if (!rd->high)
			rd->res->low_blocks = v.blocks;
	} else if (json_object_get(o, "round") && rd->rounds < rd->max_rounds) {
		struct stage_round *r = &rd->res->at[rd->rounds];

		*(rd->high ? &r->high_launch_ns : &r->low_launch_ns) = launch;
		*(rd->high ? &r->high_done_ns : &r->low_done_ns) = done;
		rd->turnaround[rd->rounds] = (double)(done - launch);
		rd->kernel[rd->rounds++] = json_number_value(json_object_get(o, "kernel_ns"));
	}
}

static int read_child(struct stage *s, struct arena *a, const struct stage_run *run, bool high,
	struct child *child, struct stage_result *res)
{
	struct reading rd = {.res = res,
		.high = high,
		.max_rounds = run->rounds,
		.turnaround = ARENA_ARRAY(a, double, run->rounds),
		.kernel = ARENA_ARRAY(a, double, run->rounds)};
	const char *name = high ? run->high.name : run->low.name;
	char status[64];

	stage_each_line(child->out.at, read_line, &rd);
	if (child->status || !rd.passed || rd.rounds != run->rounds)
		return cli_error(s->c, NULL, "%s (%s): %s: %u of %s, results %s", name,
			s->spec.name, child_status_text(child, status, sizeof(status)), rd.rounds,
			COUNTED(run->rounds, "round"), rd.passed ? "correct" : "not all correct");
	if (!high) {
		res->low_kernel_rounds_ns = ARENA_ARRAY(a, double, rd.rounds);
		if (!res->low_kernel_rounds_ns)
			return cli_error(s->c, NULL, "out of memory");
		memcpy(res->low_kernel_rounds_ns, rd.kernel, rd.rounds * sizeof(*rd.kernel));
	}
	*(high ? &res->high_ns : &res->low_ns) = median_of(rd.turnaround, rd.rounds);
	*(high ? &res->high_kernel_ns : &res->low_kernel_ns) = median_of(rd.kernel, rd.rounds);
	return CLI_OK;
}

/* ---- reading the daemon's events ---- */

static long events_path(const struct stage *s, char *path, size_t size)
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

long stage_events_end(const struct stage *s)
{
	char path[128];

	return events_path(s, path, sizeof(path));
}

void stage_read_events(const struct stage *s, struct arena *a, long from, struct stage_result *res)
{
	char path[128];
	long end = events_path(s, path, sizeof(path));
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

void stage_measure_makespan(struct arena *a, struct stage_result *res)
{
	double *spans = ARENA_ARRAY(a, double, res->rounds);

	for (unsigned i = 0; spans && i < res->rounds; i++) {
		const struct stage_round *r = &res->at[i];
		uint64_t from = r->low_launch_ns, to = MAX(r->low_done_ns, r->high_done_ns);

		if (!from || (r->high_launch_ns && r->high_launch_ns < from))
			from = r->high_launch_ns;
		spans[i] = (double)(to - from);
	}
	res->makespan_ns = spans ? median_of(spans, res->rounds) : 0;
}

int stage_run(
	struct stage *s, struct arena *a, const struct stage_run *run, struct stage_result *ret)
{
	struct stage_result res = {.rounds = run->rounds};
	struct stage_command command;
	struct child child[2] = {{.fd = -1}, {.fd = -1}};
	bool part[2] = {run->low.name != NULL, run->high.name != NULL};
	char path[128];
	long from = events_path(s, path, sizeof(path));
	int r = CLI_OK, e;

	res.at = ARENA_ARRAY(a, struct stage_round, run->rounds);
	if (!res.at)
		return cli_error(s->c, NULL, "out of memory");
	snprintf(path, sizeof(path), "%s/barrier", s->dir);
	unlink(path);
	for (unsigned i = 0; i < 2 && r == CLI_OK; i++) {
		if (!part[i])
			continue;
		r = make_command(s, run, i == 1, &command);
		if (r == CLI_OK)
			r = stage_command_start(s, &command, false, &child[i]);
	}
	e = r == CLI_OK ? child_wait(child, 2, run->timeout_ms) : 0;
	if (e == -EINTR)
		r = CLI_FAILED; /* interrupted by the user: report no error */
	else if (e)
		r = cli_error(s->c, NULL, "%s beside %s (%s) did not end within %d s",
			part[1] ? run->high.name : "nothing", part[0] ? run->low.name : "nothing",
			s->spec.name, run->timeout_ms / 1000);
	for (unsigned i = 0; i < 2 && r == CLI_OK; i++)
		if (part[i])
			r = read_child(s, a, run, i == 1, &child[i], &res);
	if (r == CLI_OK) {
		stage_read_events(s, a, from, &res);
		stage_measure_makespan(a, &res);
		*ret = res;
	}
	child_finish(&child[0]);
	child_finish(&child[1]);
	return r;
}
