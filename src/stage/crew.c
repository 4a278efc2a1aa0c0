/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs the programs of a crew (crew.h). Each program reads commands as lines on its standard input
 * and replies with lines of JSON; the last line of a reply marks its end. The programs measure the
 * times themselves, all with the same clock. */
#include "stage/crew.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stage/stage_command.h"

#define POLL_MS 20

void crew_open(struct crew *crew, struct stage *s, const struct stage_run *how)
{
	*crew = (struct crew){.s = s, .how = how};
}

static void dismiss_member(struct crew_member *m)
{
	child_finish(&m->child);
	m->up = m->ready = m->warm = false;
	m->read = 0;
}

void crew_close(struct crew *crew)
{
	/* A program ends when its standard input is closed. All inputs are closed before the first
	 * wait, so that the programs end at the same time. */
	for (unsigned i = 0; i < crew->n; i++)
		child_close_input(&crew->at[i].child);
	for (unsigned i = 0; i < crew->n; i++)
		if (crew->at[i].up)
			child_collect(&crew->at[i].child, 1, 5000);
	for (unsigned i = 0; i < crew->n; i++)
		dismiss_member(&crew->at[i]);
	crew->n = 0;
}

/* Returns the program's weight, or NULL if the stage gives it none. */
static const char *weight_of(const struct stage_spec *spec, const char *program)
{
	for (unsigned i = 0; i < ARRAY_LEN(spec->weights); i++)
		if (spec->weights[i].program && !strcmp(spec->weights[i].program, program))
			return spec->weights[i].weight;
	return NULL;
}

static int start_member(struct crew *crew, struct crew_member *m)
{
	struct stage_command k;
	const char *weight = weight_of(&crew->s->spec, m->program.name);
	int r = stage_command_begin(crew->s, crew->how, &m->program, weight ? "-w" : "-p",
		weight ? weight : m->priority, &k);

	if (r != CLI_OK)
		return r;
	if (crew->s->spec.mps_priorities && strcmp(m->priority, "high") != 0)
		k.env[k.n_env++] = "CUDA_MPS_CLIENT_PRIORITY=1";
	k.argv[k.n_argv++] = "--commands";
	r = stage_command_start(crew->s, &k, true, &m->child);
	m->up = r == CLI_OK;
	return r;
}

struct crew_member *crew_enlist(
	struct crew *crew, const char *name, const char *size, double scale, const char *priority)
{
	struct crew_member *m = NULL;

	for (unsigned i = 0; !m && i < crew->n; i++) {
		struct crew_member *o = &crew->at[i];

		if (!strcmp(o->program.name, name) && !strcmp(o->program.size, size) &&
			o->program.scale == scale && !strcmp(o->priority, priority))
			m = o;
	}
	if (!m && crew->n == CREW_MAX) {
		cli_error(crew->s->c, NULL, "more than %u programs at a time", CREW_MAX);
		return NULL;
	}
	if (!m) {
		m = &crew->at[crew->n++];
		*m = (struct crew_member){.program = {name, size, scale},
			.priority = priority,
			.child = {.fd = -1, .in = -1}};
	}
	return m->up || start_member(crew, m) == CLI_OK ? m : NULL;
}

/* ---- while the programs run ---- */

static int report_failure(const struct crew *crew, const struct crew_member *m, const char *what)
{
	return cli_error(crew->s->c, NULL, "%s, %s (%s): %s", m->program.name, m->program.size,
		crew->s->spec.name, what);
}

/* Returns whether the program has reported this state in output not yet read. */
static bool has_said(const struct crew_member *m, const char *state)
{
	const char *p = m->child.out.at ? m->child.out.at + m->read : NULL;
	char key[32];

	snprintf(key, sizeof(key), "\"state\":\"%s\"", state);
	p = p ? strstr(p, key) : NULL;
	return p && strchr(p, '\n');
}

/* Waits until all members report this state. */
static int await_state(
	struct crew *crew, struct crew_member *const *members, unsigned n, const char *state)
{
	double end = clock_ms() + crew->how->timeout_ms;

	for (unsigned i = 0; i < n;) {
		struct crew_member *m = members[i];

		if (has_said(m, state)) {
			i++;
			continue;
		}
		if (m->child.fd < 0)
			return report_failure(
				crew, m, "it ended, and should have waited for more to do");
		if (clock_ms() > end)
			return report_failure(crew, m, "it does not end in time");
		if (child_collect(&m->child, 1, POLL_MS) == -EINTR)
			return CLI_FAILED;
	}
	return CLI_OK;
}

static void forget_output(struct crew_member *m)
{
	m->read = m->child.out.len;
}

static int send_line(struct crew *crew, struct crew_member *m, const char *line)
{
	int e = child_tell(&m->child, line);

	return e ? report_failure(crew, m, strerror(-e)) : CLI_OK;
}

static void take_kernel(void *user, const json_t *o)
{
	struct crew_member *m = user;

	if (json_object_get(o, "registers"))
		m->kernel = (struct crew_kernel){.threads = (unsigned)stage_get_u64(o, "threads"),
			.registers = (unsigned)stage_get_u64(o, "registers"),
			.shared_bytes = (unsigned)stage_get_u64(o, "shared_bytes"),
			.blocks_per_sm = (unsigned)stage_get_u64(o, "blocks_per_sm")};
}

static int await_ready(struct crew *crew, struct crew_member *m)
{
	int r = await_state(crew, &m, 1, "ready");

	if (r != CLI_OK)
		return r;
	stage_each_line(m->child.out.at + m->read, take_kernel, m);
	forget_output(m);
	m->ready = true;
	return CLI_OK;
}

/* Waits until the program is ready, and lets it launch before anything is measured: in a managed
 * stage on a GPU until the shim has found the kernel's best form, elsewhere once. */
static int prepare_member(struct crew *crew, struct crew_member *m)
{
	char line[32];
	int r = m->ready ? CLI_OK : await_ready(crew, m);

	if (r != CLI_OK)
		return r;
	if (m->warm)
		return CLI_OK;
	snprintf(line, sizeof(line), "run %d\n",
		crew->s->spec.managed && crew->s->spec.device != DEV_CPU ? STAGE_SEARCH_ROUNDS : 1);
	forget_output(m);
	r = send_line(crew, m, line);
	if (r == CLI_OK)
		r = await_state(crew, &m, 1, "done");
	m->warm = r == CLI_OK;
	return r;
}

static bool takes_part(const struct crew_run *run, const struct crew_member *m)
{
	for (unsigned i = 0; i < run->n; i++) {
		if (run->of[i] == m)
			return true;
	}
	return false;
}

/* Waits for programs outside this run that are still starting. A starting program loads code,
 * allocates and copies, which would delay the measured programs by milliseconds. */
static void await_others(struct crew *crew, const struct crew_run *run)
{
	for (unsigned i = 0; i < crew->n; i++) {
		struct crew_member *m = &crew->at[i];

		if (!m->up || m->ready || takes_part(run, m))
			continue;
		if (await_ready(crew, m) != CLI_OK)
			dismiss_member(m); /* the program starts again in the run that needs it */
	}
}

static int tell_all(struct crew *crew, const struct crew_run *run)
{
	char line[256], path[128];
	int r = CLI_OK;

	snprintf(path, sizeof(path), "%s/barrier-%u", crew->s->dir, crew->n_runs++);
	for (unsigned i = 0; r == CLI_OK && i < run->n; i++) {
		forget_output(run->of[i]);
		if (run->n == 1)
			snprintf(line, sizeof(line), "run %u\n", run->rounds);
		else
			snprintf(line, sizeof(line), "run %u %s %.3f %u %s\n", run->rounds,
				i && !run->at_once ? "high" : "low", run->delay_us[i], run->n,
				path);
		r = send_line(crew, run->of[i], line);
	}
	if (r == CLI_OK)
		r = await_state(crew, run->of, run->n, "done");
	unlink(path);
	return r;
}

/* ---- reading the programs' output ---- */

struct reading {
	struct crew_times *to;
	struct crew_result *res;
	unsigned rounds;
	bool done;
};

static void take_line(void *user, const json_t *o)
{
	struct reading *rd = user;
	uint64_t launch = stage_get_u64(o, "launch_ns"), done = stage_get_u64(o, "done_ns");

	if (json_object_get(o, "state")) {
		rd->res->checked += (unsigned)stage_get_u64(o, "checked");
		rd->res->wrong += (unsigned)stage_get_u64(o, "wrong");
		rd->done = true;
	} else if (json_object_get(o, "round") && rd->rounds < rd->res->rounds) {
		rd->to->at[rd->rounds] =
			(struct stage_round){.low_launch_ns = launch, .low_done_ns = done};
		rd->to->kernel_ns[rd->rounds++] =
			json_number_value(json_object_get(o, "kernel_ns"));
	}
}

static int read_member(struct crew *crew, struct arena *a, struct crew_member *m, unsigned i,
	struct crew_result *res)
{
	struct crew_times *to = &res->of[i];
	struct reading rd = {.to = to, .res = res};

	to->turnaround_ns = ARENA_ARRAY(a, double, res->rounds);
	to->kernel_ns = ARENA_ARRAY(a, double, res->rounds);
	to->at = ARENA_ARRAY(a, struct stage_round, res->rounds);
	if (!to->turnaround_ns || !to->kernel_ns || !to->at)
		return cli_error(crew->s->c, NULL, "out of memory");
	to->kernel = m->kernel;
	stage_each_line(m->child.out.at + m->read, take_line, &rd);
	forget_output(m);
	if (!rd.done || rd.rounds != res->rounds || res->wrong)
		return report_failure(crew, m,
			res->wrong ? "results are wrong" : "it ran fewer rounds than it was told");
	return CLI_OK;
}

double crew_makespan_ns(const struct crew_result *res, unsigned round)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (unsigned i = 0; i < res->n; i++) {
		from = MIN(from, res->of[i].at[round].low_launch_ns);
		to = MAX(to, res->of[i].at[round].low_done_ns);
	}
	return (double)(to - from);
}

bool crew_sum_up(struct arena *a, struct crew_result *res)
{
	double *v = ARENA_ARRAY(a, double, res->rounds);

	if (!v)
		return false;
	for (unsigned i = 0; i < res->n; i++) {
		struct crew_times *t = &res->of[i];

		for (unsigned k = 0; k < res->rounds; k++)
			v[k] = t->turnaround_ns[k] =
				(double)(t->at[k].low_done_ns - t->at[k].low_launch_ns);
		t->median_ns = median_of(v, res->rounds);
		memcpy(v, t->kernel_ns, res->rounds * sizeof(*v));
		t->kernel_median_ns = median_of(v, res->rounds);
	}
	for (unsigned k = 0; k < res->rounds; k++)
		v[k] = crew_makespan_ns(res, k);
	res->makespan_ns = median_of(v, res->rounds);
	return true;
}

int crew_run(
	struct crew *crew, struct arena *a, const struct crew_run *run, struct crew_result *ret)
{
	struct crew_result res = {.n = run->n, .rounds = run->rounds};
	struct stage_result steered = {0};
	int r = CLI_OK;
	long from;

	*ret = (struct crew_result){0};
	await_others(crew, run);
	for (unsigned i = 0; r == CLI_OK && i < run->n; i++)
		r = prepare_member(crew, run->of[i]);
	from = stage_events_end(crew->s);
	if (r == CLI_OK)
		r = tell_all(crew, run);
	for (unsigned i = 0; r == CLI_OK && i < run->n; i++)
		r = read_member(crew, a, run->of[i], i, &res);
	if (r == CLI_OK && !crew_sum_up(a, &res))
		r = cli_error(crew->s->c, NULL, "out of memory");
	if (r != CLI_OK) {
		for (unsigned i = 0; i < run->n; i++)
			dismiss_member(run->of[i]);
		return r;
	}
	stage_read_events(crew->s, a, from, &steered);
	res.preemptions = steered.preemptions;
	res.shrinks = steered.shrinks;
	*ret = res;
	return CLI_OK;
}
