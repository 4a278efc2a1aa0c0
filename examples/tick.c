/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant with a short kernel every so often, which wants each to be done soon. Turnaround runs
 * from just before the launch call until the host knows that the kernel is done. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>

const struct example ex_program = {"tick", "burn", NULL, NULL};

int main(int argc, char **argv)
{
	double blocks = 0, threads = 128, kernel_us = 20, every_us = 1000, count = 1000;
	double wait_ms = 0, rounds = 0, kernel_ns = 0;
	const struct load_option options[] = {
		{"--blocks", "in a grid; 0: one an SM", &blocks},
		{"--threads", "in a block", &threads},
		{"--kernel-us", "length of the kernel", &kernel_us},
		{"--rounds", "in its place; 0: found by measuring, on an idle device", &rounds},
		{"--every-us", "time from one launch to the next", &every_us},
		{"--count", "how many launches", &count},
		{"--wait-ms", "after measuring the kernel, ahead of the first launch", &wait_ms},
		{NULL, NULL, NULL},
	};
	struct ex_options o = {0};
	struct ex_work w;
	int r = load_parse(argc, argv, options, &o);
	if (r || threads < 1 || threads > 1024 || count < 1 || count > 1e7)
		return r ? r - 1 : 2;
	/* One block is enough to measure with: more of them run beside it. */
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
	double *us = ex_alloc((size_t)count * sizeof(*us));
	uint64_t *at = ex_alloc((size_t)count * sizeof(*at));
	uint64_t next = ex_now_ns() + (uint64_t)(wait_ms * 1.0e6);
	for (size_t k = 0; k < (size_t)count; k++) {
		ex_sleep_until(next);
		at[k] = ex_now_ns();
		if (exd_launch(&w) || exd_wait())
			return 1;
		us[k] = (double)(ex_now_ns() - at[k]) / 1000.0;
		next += (uint64_t)(every_us * 1000.0);
		if (next < ex_now_ns())
			next = ex_now_ns();
	}
	if (exd_kernel_ns(&kernel_ns))
		return 1;
	load_log(&o, at, us, (size_t)count);
	load_report(&o, us, (size_t)count, kernel_ns / 1000.0);
	free(at);
	free(us);
	exd_close();
	return 0;
}
