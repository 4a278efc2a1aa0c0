/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main program of every example. It prepares the inputs and then runs rounds: clear the
 * outputs, wait for the common start, launch, wait, copy back, compare. It prints a line for each
 * round, and a verdict. The turnaround of a launch begins just before the launch call and ends when
 * the host knows that the stream is done. */
#include "common.h"
#include "meet.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct round {
	uint64_t launch_ns, started_ns, done_ns;
	double kernel_ns;
	bool checked;
	struct ex_verdict verdict;
};

static const char *class_of_device(const struct ex_options *o)
{
	if (o->device_class)
		return o->device_class;
	return strcasestr(exd_name(), "virtual") ? "cpu" : "gpu";
}

/* Waits until all programs of the common start are ready. The program with the role high also waits
 * until the kernel of the role low has started, and then for the delay. */
static int common_start(const struct ex_options *o, struct meet *m, bool spin)
{
	uint64_t started = 0;
	if (!m)
		return 0;
	int r = meet_all(m);
	if (r == 0 && !strcmp(o->role, "high")) {
		r = meet_await_started(m, spin, &started);
		if (r == 0)
			ex_sleep_until(started + (uint64_t)(o->delay_us * 1000.0));
	}
	if (r)
		fprintf(stderr, "%s: common start: %s\n", ex_program.name, strerror(-r));
	return r;
}

/* Launches the kernel and waits for its end. If other programs start by this kernel's start, polls
 * for that start: all the time on a GPU, and now and then on the virtual GPU, which needs the CPUs
 * itself. */
static int launch_and_wait(const struct ex_options *o, const struct ex_work *w, struct meet *m,
	bool spin, struct round *r)
{
	r->launch_ns = ex_now_ns();
	if (exd_launch(w))
		return -1;
	if (m && !strcmp(o->role, "low")) {
		int started;
		while ((started = exd_started()) == 0)
			if (!spin)
				ex_sleep_until(ex_now_ns() + 200000);
		if (started < 0)
			return -1;
		r->started_ns = ex_now_ns();
		meet_tell_started(m, r->started_ns);
	}
	if (exd_wait())
		return -1;
	r->done_ns = ex_now_ns();
	return exd_kernel_ns(&r->kernel_ns);
}

static int run_round(const struct ex_options *o, const struct ex_work *w, struct meet *m, bool spin,
	bool check, struct round *ret_round)
{
	struct round r = {.checked = check};
	if (exd_reset(w) || common_start(o, m, spin) || launch_and_wait(o, w, m, spin, &r))
		return -1;
	if (m && meet_all(m)) /* nobody's comparing disturbs a kernel that still runs */
		return -1;
	if (check) {
		if (exd_download(w))
			return -1;
		ex_program.check(w, &r.verdict);
	}
	*ret_round = r;
	return 0;
}

static void print_wrong(const struct ex_verdict *v)
{
	if (v->wrong)
		fprintf(stderr, "%s: %llu wrong, first at %llu: %.9g, should be %.9g\n",
			ex_program.name, (unsigned long long)v->wrong,
			(unsigned long long)v->first_wrong, v->got, v->want);
}

static void print_round(const struct ex_options *o, unsigned k, const struct round *r)
{
	const struct ex_verdict *v = &r->verdict;
	const char *result = !r->checked ? "not checked" : v->wrong ? "WRONG" : "correct";
	if (o->json) {
		printf("{\"schema\":1,\"program\":\"%s\",\"size\":\"%s\",\"role\":\"%s\","
		       "\"round\":%u,\"launch_ns\":%llu,\"started_ns\":%llu,\"done_ns\":%llu,"
		       "\"turnaround_ns\":%llu,\"kernel_ns\":%.0f,\"result\":\"%s\","
		       "\"max_error\":%.3g}\n",
			ex_program.name, o->size, o->role, k, (unsigned long long)r->launch_ns,
			(unsigned long long)r->started_ns, (unsigned long long)r->done_ns,
			(unsigned long long)(r->done_ns - r->launch_ns), r->kernel_ns, result,
			v->max_error);
	} else {
		printf("%s %s %u: turnaround %.1f us, kernel %.1f us, %s\n", ex_program.name,
			o->size, k, (double)(r->done_ns - r->launch_ns) / 1000.0,
			r->kernel_ns / 1000.0, result);
	}
	print_wrong(v);
	fflush(stdout);
}

static bool is_enough(const struct ex_options *o, unsigned rounds, uint64_t end_ns)
{
	if (o->until)
		return access(o->until, F_OK) == 0;
	return o->for_ms > 0.0 ? ex_now_ns() >= end_ns : rounds >= o->repeat;
}

struct tally {
	unsigned rounds, checked, wrong;
};

/* Rounds until it is enough. Adds up those that were wrong. */
static int run_rounds(const struct ex_options *o, const struct ex_work *w, struct meet *m,
	bool spin, struct tally *t)
{
	uint64_t end = ex_now_ns() + (uint64_t)(o->for_ms * 1.0e6);
	unsigned k = 0;
	if (o->start_at_ns)
		ex_sleep_until(o->start_at_ns);
	for (; !is_enough(o, k, end); k++) {
		struct round r;
		bool check = !strcmp(o->check, "each");
		if (run_round(o, w, m, spin, check, &r))
			return -1;
		print_round(o, k, &r);
		t->checked += check;
		t->wrong += r.verdict.wrong > 0;
	}
	if (!strcmp(o->check, "last") && k > 0) {
		struct round r = {.checked = true};
		if (exd_download(w))
			return -1;
		ex_program.check(w, &r.verdict);
		t->checked++;
		t->wrong += r.verdict.wrong > 0;
		print_wrong(&r.verdict);
	}
	t->rounds += k;
	return 0;
}

/* The same with others, where o names a barrier. */
static int run_together(
	const struct ex_options *o, const struct ex_work *w, bool spin, struct tally *t)
{
	struct meet *m = NULL;
	int r = o->barrier ? meet_open(o->barrier, o->parties, &m) : 0;
	if (r) {
		fprintf(stderr, "%s: %s: %s\n", ex_program.name, o->barrier, strerror(-r));
		return -1;
	}
	r = run_rounds(o, w, m, spin, t);
	if (r && m)
		meet_cancel(m);
	meet_close(m);
	return r;
}

/* ---- --commands ---- */

/* Parses "run ROUNDS" or "run ROUNDS ROLE DELAY-US PARTIES FILE". Returns false if the line is
 * neither. path: receives the file's path. */
static bool parse_command(const char *line, struct ex_options *o, char path[PATH_MAX])
{
	char role[8], format[48];
	int n;

	snprintf(format, sizeof(format), "run %%u %%7s %%lf %%u %%%d[^\n]", PATH_MAX - 1);
	n = sscanf(line, format, &o->repeat, role, &o->delay_us, &o->parties, path);
	o->barrier = n == 5 ? path : NULL;
	o->role = n == 5 && !strcmp(role, "high") ? "high" : "low";
	return o->repeat > 0 &&
	       (n == 1 || (n == 5 && o->parties > 0 && o->delay_us >= 0.0 &&
				  (!strcmp(role, "high") || !strcmp(role, "low"))));
}

static void print_state(const char *state, const struct tally *t)
{
	printf("{\"schema\":1,\"program\":\"%s\",\"state\":\"%s\",\"rounds\":%u,"
	       "\"checked\":%u,\"wrong\":%u}\n",
		ex_program.name, state, t->rounds, t->checked, t->wrong);
	fflush(stdout);
}

static int print_resources(const struct ex_work *w)
{
	struct ex_resources r;

	if (exd_resources(w, &r))
		return -1;
	printf("{\"schema\":1,\"program\":\"%s\",\"threads\":%u,\"registers\":%u,"
	       "\"shared_bytes\":%u,\"blocks_per_sm\":%u}\n",
		ex_program.name, w->block, r.registers, r.shared_bytes, r.blocks_per_sm);
	return 0;
}

static int obey(const struct ex_options *given, const struct ex_work *w, bool spin, struct tally *t)
{
	struct ex_options o = *given;
	char line[PATH_MAX + 64], path[PATH_MAX];

	if (print_resources(w))
		return -1;
	print_state("ready", t);
	while (fgets(line, sizeof(line), stdin)) {
		struct tally one = {0};

		if (!parse_command(line, &o, path)) {
			fprintf(stderr, "%s: no command: %s", ex_program.name, line);
			return -1;
		}
		if (run_together(&o, w, spin, &one))
			return -1;
		print_state("done", &one);
		t->rounds += one.rounds;
		t->checked += one.checked;
		t->wrong += one.wrong;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Shows the median kernel time of each size, and the --scale that would give the intended time. */
static int calibrate(const struct ex_options *o, const char *device_class)
{
	enum { RUNS = 9 };
	size_t count;
	const struct ex_size *s = ex_sizes(&count);
	for (size_t k = 0; k < count; k++) {
		if (strcmp(s[k].program, ex_program.name) ||
			strcmp(s[k].device_class, device_class))
			continue;
		struct ex_work w = {.size = &s[k], .scale = o->scale, .seed = o->seed};
		double ns[RUNS];
		ex_program.build(&w);
		if (exd_upload(&w))
			return -1;
		for (unsigned j = 0; j < RUNS; j++)
			if (exd_launch(&w) || exd_wait() || exd_kernel_ns(&ns[j]))
				return -1;
		qsort(ns, RUNS, sizeof(ns[0]), by_value);
		double us = ns[RUNS / 2] / 1000.0;
		printf("{\"schema\":1,\"program\":\"%s\",\"class\":\"%s\",\"size\":\"%s\","
		       "\"grid\":[%u,%u,%u],\"block\":%u,\"kernel_ms\":%.4f,"
		       "\"target_ms\":%.4f,\"scale\":%.4f,\"device\":\"%s\"}\n",
			s[k].program, device_class, s[k].size, w.grid[0], w.grid[1], w.grid[2],
			w.block, us / 1000.0, s[k].target_us / 1000.0,
			us > 0.0 ? s[k].target_us / us : 0.0, exd_name());
		fflush(stdout);
		ex_free_work(&w);
	}
	return 0;
}

static int run(const struct ex_options *o, const char *device_class)
{
	struct ex_work w = {.size = ex_find_size(ex_program.name, device_class, o->size),
		.scale = o->scale,
		.seed = o->seed};
	bool spin = !strcmp(device_class, "gpu");
	struct tally t = {0};
	if (!w.size) {
		fprintf(stderr, "%s: no size %s\n", ex_program.name, o->size);
		return 1;
	}
	ex_reference_folder(o->reference);
	ex_program.build(&w);
	int r = exd_upload(&w);
	if (r == 0)
		r = o->commands ? obey(o, &w, spin, &t) : run_together(o, &w, spin, &t);
	const char *verdict = r || t.wrong ? "fail" : "pass";
	if (o->json)
		printf("{\"schema\":1,\"program\":\"%s\",\"size\":\"%s\",\"device\":\"%s\","
		       "\"class\":\"%s\",\"blocks\":%llu,\"threads\":%u,\"rounds\":%u,"
		       "\"checked\":%u,\"wrong\":%u,\"verdict\":\"%s\"}\n",
			ex_program.name, o->size, exd_name(), device_class,
			(unsigned long long)w.grid[0] * w.grid[1] * w.grid[2], w.block, t.rounds,
			t.checked, t.wrong, verdict);
	else
		printf("%s %s: %s: %u of %u checked results correct\n", ex_program.name, o->size,
			verdict, t.checked - t.wrong, t.checked);
	ex_free_work(&w);
	return r || t.wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct ex_options o;
	char ptx[PATH_MAX];
	int r = ex_parse(argc, argv, &o);
	if (r)
		return r - 1;
	ex_find_ptx(&o, ex_program.name, ptx, sizeof(ptx));
	if (exd_open(&o, ptx, ex_program.kernel))
		return 1;
	const char *device_class = class_of_device(&o);
	if (o.calibrate)
		r = calibrate(&o, device_class) ? 1 : 0;
	else
		r = run(&o, device_class);
	exd_close();
	return r;
}
