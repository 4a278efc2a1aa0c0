/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The row of heddle bench merge: its options and help. The command heddle also contains this row,
 * for help, manual page and completions. part_merge.c runs it. */
#include "lab/lab.h"

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "part", "all|overhead|pairs|tuned",
		"overhead: one kernel in the scheduler; pairs: measure pairs and keep the best way "
		"of each; tuned: run the kept ways in this process; all: overhead and pairs "
		"(default: all)"},
	{0, "pairs", "A+B,...", "only these pairs; one name: its pairs with all others"},
	{0, "rounds", "N", "measure each way N times (default: 10)"},
	{0, "points", "N", "partitions of each kind to try, at most 64 (default: 15)"},
	{0, "budget-s", "N",
		"run as many rounds and pairs as fit into about N seconds; --resume goes on from "
		"there"},
	{0, "resume", "FILE", "keep each result there, and measure only those that are missing"},
	{0, "size", "large|small",
		"size of the kernels' inputs (default: large on a GPU, else small)"},
	{0, "store", "FILE", "keep the chosen ways there, as heddle tune does"},
	{0, "svg", "FILE", "pairs: draw the curves over the partition there"},
	{0, "data", "FILE", "also write the JSON result there"},
	{0},
};

const struct cli_verb cli_verb_bench_merge = {
	.name = "bench merge",
	.operands = "",
	.summary = "pairs of kernels together, as in KernelMerge, every result verified",
	.details = "The kernels are bitonic and merge sort, k-means, vector addition, "
		   "transposition, Black-Scholes and histogram; the pairs are all pairs of these, "
		   "and each kernel with itself. heddle runs each pair one after the other, in "
		   "streams, in green contexts if the driver has them, merged in every order with "
		   "claims of several sizes, and fused. gain is the time one after the other over "
		   "the time of the way. heddle keeps the best way of each pair; --part tuned, in "
		   "a later run, compares it with one after the other and with streams. In --part "
		   "overhead, ids is the cost of computing a block's ids, occupancy what the plain "
		   "kernel loses with only as many blocks on an SM as workers, queue what claiming "
		   "and the worker's loop add to both, and choosing what the choice of a kernel "
		   "adds; shared is the total if all workers choose by one word (steal:shared).",
	.json = "device, sms, version, size, rounds, warm_rounds (runs before, not counted), "
		"wrong, failures, left (rows for which --budget-s left no time); samples, an array "
		"of row (its name) and of arrays of numbers or names: the raw times in ms; "
		"kernels, an array of name, "
		"ms (alone), blocks, fit, waves, bytes, mhz; overhead, an array of kernel, "
		"plain_ms, "
		"limited_ms (as many blocks on an SM as workers), ids_ms, keep_ms (one kernel, no "
		"turns), total_ms, claims (an array of chunk, ms), shared_claims, fit, workers "
		"(per SM), ids, occupancy, queue, choosing, total, best, shared, shared_best (each "
		"part of plain_ms), make_ms, compile_ms; overhead_geomean, "
		"overhead_best_geomean, overhead_shared_geomean; pairs, an array of first, second, "
		"mhz, "
		"sequential_ms, streams, green, vertical, horizontal, steal, steal_best, partition "
		"(gains; null: not measured), partition_way, tuned_way, tuned (its gain, measured "
		"once more), "
		"tuned_of_plain (over the better of sequential and streams), make_ms, compile_ms, "
		"ways (way, refused, wrong, ms, "
		"spread, runs, chosen), curve (arrays part, of the workers for the first "
		"kernel, and ms); summary, with pairs, better "
		"(more than 1.05), better_merged (of these, by merging), geomean, best, worst, "
		"steal_of_partition, least_of_plain; "
		"tuned, "
		"an array of first, second, way, sequential_ms, streams_ms, ms, gain, of_plain; "
		"tuned_summary, of the same keys as summary.",
	.options = options,
	.program = LAB_PROGRAM,
};
