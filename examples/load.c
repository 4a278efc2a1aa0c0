/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A load's length is given as the time of a block. How many rounds take that time is measured at
 * the start, on an idle device with as many blocks as will be on it at once. If something else uses
 * the device at that time, pass the number of rounds that an undisturbed run found. */
#include "load.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_ROUNDS  20000
#define PROBES        4
#define THREADS_AN_SM 2048

static int complain(const char *program, const struct load_option *options)
{
	fprintf(stderr, "usage: %s [--json] [--ptx FILE] [--toolchain nvcc|clang] [--log FILE]\n",
		program);
	for (; options->name; options++)
		fprintf(stderr, "  %s N  %s (%g)\n", options->name, options->help, *options->value);
	return 3;
}

int load_parse(int argc, char **argv, const struct load_option *options, struct ex_options *o)
{
	for (int k = 1; k < argc; k++) {
		const char *value = k + 1 < argc ? argv[k + 1] : NULL;
		if (!strcmp(argv[k], "--json")) {
			o->json = true;
			continue;
		}
		const struct load_option *opt = options;
		while (opt->name && strcmp(opt->name, argv[k]))
			opt++;
		char *end = NULL;
		if (value && !strcmp(argv[k], "--ptx"))
			o->ptx = value;
		else if (value && !strcmp(argv[k], "--toolchain"))
			o->toolchain = value;
		else if (value && !strcmp(argv[k], "--log"))
			o->log = value;
		else if (!value || !opt->name || (*opt->value = strtod(value, &end)) < 0.0 ||
			 end == value || *end)
			return complain(argv[0], options);
		k++;
	}
	return 0;
}

static int time_once(const struct ex_work *w, double *ret_ns)
{
	return exd_launch(w) || exd_wait() || exd_kernel_ns(ret_ns) ? -1 : 0;
}

/* Finds how many rounds take block_us. w's grid has as many blocks as are on the device at once.
 * Disturbances only make a launch longer, so the shortest of several launches counts. */
static int measure_rounds(struct ex_work *w, double block_us, double *ret_rounds)
{
	double one_ns = HUGE_VAL, many_ns = HUGE_VAL, ns;

	for (int k = 0; k < PROBES; k++) { /* what does not depend on the rounds drops out */
		w->arg[1].word = 1;
		if (time_once(w, &ns))
			return -1;
		one_ns = fmin(one_ns, ns);
		w->arg[1].word = PROBE_ROUNDS;
		if (time_once(w, &ns))
			return -1;
		many_ns = fmin(many_ns, ns);
	}
	if (many_ns <= one_ns) {
		fprintf(stderr, "%s: the device is too disturbed to measure a round\n",
			ex_program.name);
		return -1;
	}
	*ret_rounds = block_us * 1000.0 * PROBE_ROUNDS / (many_ns - one_ns);
	return 0;
}

int load_open(const struct ex_options *o, uint32_t blocks, uint32_t threads, double block_us,
	double *rounds, struct ex_work *ret_work)
{
	struct ex_work w = {.grid = {1, 1, 1}, .block = threads};
	char ptx[PATH_MAX];
	ex_find_ptx(o, "burn", ptx, sizeof(ptx));
	if (exd_open(o, ptx, "burn"))
		return -1;
	uint32_t fit = (uint32_t)exd_multiprocessors() * (THREADS_AN_SM / threads);
	blocks = blocks ? blocks : 4 * fit;
	ex_add_buffer(&w, (size_t)blocks * threads * sizeof(float), true);
	ex_add_u32(&w, 1);
	if (exd_upload(&w))
		return -1;
	w.grid[0] = blocks < fit ? blocks : fit;
	if (*rounds < 1 && measure_rounds(&w, block_us, rounds))
		return -1;
	w.arg[1].word = *rounds < 1.0 ? 1 : *rounds > 4.0e9 ? 4000000000u : (uint32_t)*rounds;
	*rounds = w.arg[1].word;
	w.grid[0] = blocks;
	*ret_work = w;
	return 0;
}

void load_ready(const struct ex_options *o, double rounds)
{
	printf(o->json ? "{\"schema\":1,\"program\":\"%s\",\"state\":\"ready\",\"rounds\":%.0f}\n"
		       : "%s: ready, %.0f rounds a block\n",
		ex_program.name, rounds);
	fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void load_log(const struct ex_options *o, const uint64_t *start_ns, const double *us, size_t count)
{
	FILE *f = o->log ? fopen(o->log, "w") : NULL;

	if (!f) {
		if (o->log)
			perror(o->log);
		return;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%llu %.1f\n", (unsigned long long)start_ns[i], us[i]);
	fclose(f);
}

void load_report(const struct ex_options *o, double *us, size_t count, double kernel_us)
{
	if (count == 0)
		return;
	qsort(us, count, sizeof(us[0]), by_value);
	double p50 = us[count / 2], p99 = us[(count * 99 + 99) / 100 - 1], max = us[count - 1];
	printf(o->json ? "{\"schema\":1,\"program\":\"%s\",\"count\":%zu,\"p50_us\":%.1f,"
			 "\"p99_us\":%.1f,\"max_us\":%.1f,\"kernel_us\":%.1f}\n"
		       : "%s: %zu launches, turnaround %.1f us median, %.1f p99, %.1f max; "
			 "last kernel %.1f us\n",
		ex_program.name, count, p50, p99, max, kernel_us);
}
