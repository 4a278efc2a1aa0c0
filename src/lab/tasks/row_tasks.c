/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The row of heddle bench tasks: its options and help. The command heddle also contains this row,
 * for help, manual page and completions. part_tasks.c runs it. */
#include "lab/lab.h"

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "program", "all|empty|mandelbrot|matmul|filterbank",
		"only this program (default: all)"},
	{0, "tasks", "N",
		"tasks of each program (default: 32k on a GPU, 96 on the virtual GPU; empty ones: "
		"1M, "
		"2,000)"},
	{0, "threads", "N", "threads of a task, 128 to 256, a multiple of 32 (default: 128)"},
	{0, "streams", "N",
		"launch in 1, 2, 4 and so on up to N streams, at most 32 (default: 32)"},
	{0, "rounds", "N",
		"measure each N times, and take the median (default: 5 on a GPU, else 1)"},
	{0, "seed", "N", "seed of the inputs (default: 1)"},
	{0, "blocks-per-sm", "N", "blocks of the pool on each SM (default: as many as fit)"},
	{0, "leave-sms", "N", "SMs that the pool leaves free (default: 0)"},
	{0, "nap", "NS",
		"pause between two polls of the pool that find nothing, in ns (default: 64)"},
	{0, "budget-s", "N", "start no measurement after N seconds; --resume goes on from there"},
	{0, "resume", "FILE", "keep each result there, and measure only those that are missing"},
	{0, "stamps", NULL, "show the parts of a task's time; empty tasks only"},
	{0},
};

const struct cli_verb cli_verb_bench_tasks = {
	.name = "bench tasks",
	.operands = "",
	.summary = "thousands of narrow tasks in a pool, and as launches, every result verified",
	.details = "First, empty tasks: how many a second 1, 2, 4 and 8 threads spawn one by one, "
		   "until the host sees the end of the last one; the host's time for a spawn while "
		   "the pool has room; and the time from a spawn until the host sees the task's "
		   "end, one task at a time. With --stamps also the parts of that time: from when "
		   "the pool found the task until it was placed, had begun, had ended, and its "
		   "results were visible; the rest is the host and the bus. Programs are left out "
		   "then, and rates are lower, since stamps take time. Then programs of narrow "
		   "tasks: parts of the Mandelbrot set of irregular sizes, products of small "
		   "matrices, filter banks. Each runs in a pool, and as launches in turn to 1, 2, "
		   "4 and so on streams, from one thread. heddle compares the results of each task "
		   "with those of this host. Inputs are copied before, outputs stay on the device. "
		   "On the virtual GPU counts and sizes are small, and there is no ratio.",
	.json = "device, virtual, columns (blocks of the pool), executors (warps of each), "
		"threads, "
		"rounds, warm_rounds, seed, left (rows for which --budget-s left no time); "
		"samples, an array of row (its name) and of arrays of numbers: the raw times; "
		"empty, with tasks, ms, per_second (of one thread), spawn_ns, "
		"producers (an array of threads, ms, per_second); latency, with samples, p50_us, "
		"p99_us, max_us, with --stamps legs_us (medians: placed, begun, ended, fenced, "
		"rest); programs, an array of program, tasks, ms (in the pool), launches "
		"(an array of streams, ms), ratio (the best of launches over the pool; on a GPU), "
		"checked, wrong (outputs); wrong, in all",
	.options = options,
	.program = LAB_PROGRAM,
};
