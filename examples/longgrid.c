/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant that keeps the device full for a given time. It launches long grids one after another,
 * whose blocks have a given length. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>

const struct example ex_program = {"longgrid", "burn", NULL, NULL};

int main(int argc, char **argv)
{
	double blocks = 0, threads = 256, block_us = 1000, for_ms = 1000, rounds = 0;
	double kernel_ns = 0;
	const struct load_option options[] = {
		{"--blocks", "in a grid; 0: four times what fits", &blocks},
		{"--threads", "in a block", &threads},
		{"--block-us", "length of a block when the device is full", &block_us},
		{"--rounds", "in its place; 0: found by measuring, on an idle device", &rounds},
		{"--for-ms", "how long to go on", &for_ms},
		{NULL, NULL, NULL},
	};
	struct ex_options o = {0};
	struct ex_work w;
	int r = load_parse(argc, argv, options, &o);
	if (r || threads < 1 || threads > 1024)
		return r ? r - 1 : 2;
	if (load_open(&o, (uint32_t)blocks, (uint32_t)threads, block_us, &rounds, &w))
		return 1;
	load_ready(&o, rounds);
	size_t count = 0, cap = 1 << 16;
	double *us = ex_alloc(cap * sizeof(*us));
	uint64_t end = ex_now_ns() + (uint64_t)(for_ms * 1.0e6);
	while (ex_now_ns() < end && count < cap) {
		uint64_t start = ex_now_ns();
		if (exd_launch(&w) || exd_wait() || exd_kernel_ns(&kernel_ns))
			return 1;
		us[count++] = (double)(ex_now_ns() - start) / 1000.0;
	}
	load_report(&o, us, count, kernel_ns / 1000.0);
	free(us);
	ex_free_work(&w);
	exd_close();
	return 0;
}
