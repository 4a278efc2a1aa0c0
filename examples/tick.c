/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant with a short kernel at fixed intervals that must be done soon. Turnaround begins just
 * before the launch call and ends when the host knows that the kernel is done. To disturb a series
 * of other programs, it can go on until SIGTERM, and it reports at each SIGUSR1 what happened since
 * the last one. */
#include "load.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LOG_LIMIT ((size_t)1 << 20) /* turnarounds until a report, when there is no --count */

const struct example ex_program = {"tick", "burn", NULL, NULL};

static volatile sig_atomic_t report_wanted, end_wanted;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		report_wanted = 1;
	else
		end_wanted = 1;
}

static void listen_to_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
}

/* The values that a thread of burn writes, the same in every block, and memory for what the device
 * wrote. */
static float *expect(struct ex_work *w)
{
	float *row = ex_alloc(w->block * sizeof(*row));

	for (uint32_t i = 0; i < w->block; i++) {
		row[i] = (float)i;
		for (uint32_t k = 0; k < w->arg[1].word; k++)
			row[i] = fmaf(row[i], 0.999f, 1.0f);
	}
	w->buffer[0].host = ex_alloc(w->buffer[0].bytes);
	return row;
}

/* Returns 0, or a negative number if the device failed. Adds the wrong results to *wrong. */
static int compare(const struct ex_work *w, const float *row, size_t *wrong)
{
	struct ex_verdict v = {0};

	if (exd_download(w))
		return -1;
	for (uint32_t b = 0; b < w->grid[0]; b++)
		ex_check_words(
			&v, (const float *)w->buffer[0].host + (size_t)b * w->block, row, w->block);
	*wrong += v.wrong > 0;
	return exd_reset(w);
}

static int report(const struct ex_options *o, double *us, size_t count, size_t wrong)
{
	double kernel_ns = 0;

	if (count > 0 && exd_kernel_ns(&kernel_ns))
		return -1;
	load_report(o, us, count, kernel_ns / 1000.0);
	if (wrong)
		fprintf(stderr, "tick: %zu of %zu results WRONG\n", wrong, count);
	fflush(stdout);
	return 0;
}

struct pace {
	double wait_ms, every_us, pause_us, seed;
};

/* Makes `count` launches (0: until a signal ends it), and returns the exit status. */
static int run(const struct ex_options *o, struct ex_work *w, size_t count, const struct pace *pace,
	bool check)
{
	size_t limit = count ? count : LOG_LIMIT, k = 0, n = 0, wrong = 0, all_wrong = 0;
	double *us = ex_alloc(limit * sizeof(*us));
	uint64_t *at = ex_alloc(limit * sizeof(*at));
	uint64_t next = ex_now_ns() + (uint64_t)(pace->wait_ms * 1.0e6);
	float *row = check ? expect(w) : NULL;

	if (check && exd_reset(w))
		return 1;
	while (!end_wanted && (!count || k < count)) {
		ex_sleep_until(next);
		at[k] = ex_now_ns();
		if (exd_launch(w) || exd_wait())
			return 1;
		us[k] = (double)(ex_now_ns() - at[k]) / 1000.0;
		k++;
		if (check && compare(w, row, &wrong))
			return 1;
		if (!count && (report_wanted || k == limit)) {
			report_wanted = 0;
			if (report(o, us, k, wrong))
				return 1;
			all_wrong += wrong;
			k = wrong = 0;
		}
		next += (uint64_t)(pace->every_us * 1000.0);
		if (next < ex_now_ns())
			next = ex_now_ns();
		next += (uint64_t)(pace->pause_us * 1000.0 *
				   (double)ex_unit((uint64_t)pace->seed, n++));
	}
	load_log(o, at, us, k);
	all_wrong += report(o, us, k, wrong) ? 1 : wrong;
	free(us);
	free(at);
	free(row);
	return all_wrong > 0;
}

int main(int argc, char **argv)
{
	double blocks = 0, threads = 128, kernel_us = 20, count = 1000, rounds = 0, check = 0;
	struct pace pace = {.every_us = 1000, .seed = 1};
	const struct load_option options[] = {
		{"--blocks", "in a grid; 0: one an SM", &blocks},
		{"--threads", "in a block", &threads},
		{"--kernel-us", "length of the kernel", &kernel_us},
		{"--rounds", "in its place; 0: found by measuring, on an idle device", &rounds},
		{"--every-us", "time from one launch to the next", &pace.every_us},
		{"--pause-us", "and then a pause, at random, of so much at most", &pace.pause_us},
		{"--seed", "of the pauses", &pace.seed},
		{"--count", "how many launches; 0: until told to end", &count},
		{"--wait-ms", "after measuring the kernel, ahead of the first launch",
			&pace.wait_ms},
		{"--check", "1: every result is compared with the host's", &check},
		{NULL, NULL, NULL},
	};
	struct ex_options o = {0};
	struct ex_work w;
	int r = load_parse(argc, argv, options, &o);
	if (r || threads < 1 || threads > 1024 || count > 1e7)
		return r ? r - 1 : 2;
	listen_to_signals();
	/* Measuring one block is enough, because further blocks run beside it. */
	if (load_open(&o, blocks > 0 ? (uint32_t)blocks : 1, (uint32_t)threads, kernel_us, &rounds,
		    &w))
		return 1;
	if (blocks <= 0) {
		w.grid[0] = (uint32_t)exd_multiprocessors();
		w.buffer[0].bytes = (size_t)w.grid[0] * w.block * sizeof(float);
		if (exd_upload(&w))
			return 1;
	}
	load_ready(&o, rounds);
	r = run(&o, &w, count >= 1 ? (size_t)count : 0, &pace, check > 0);
	ex_free_work(&w);
	exd_close();
	return r;
}
