/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The row of heddle bench preempt: its options and help. The command heddle also contains this row,
 * for help, manual page and completions. part_preempt.c runs it. */
#include "lab/lab.h"

static const struct cli_option options[] = {
	{0, "quick", NULL,
		"a few pairs and rounds; on the virtual GPU, co-runs with a third of the work"},
	{0, "device", "auto|cpu|cuda",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "part", "LIST",
		"tables, with commas: pairs, delay, equal, triplets, overhead, spatial, extra, "
		"shares, predict, slicing, orders (default: all)"},
	{0, "rounds", "N",
		"launches of each program in each arrangement; shares: windows of time (default: "
		"10)"},
	{0, "budget-s", "N", "start no measurement after N seconds; --resume goes on from there"},
	{0, "resume", "FILE", "keep each result there, and measure only those that are missing"},
	{0, "check", "each|last",
		"which results to compare with the host's (default: each; shares: last)"},
	{0, "programs", "driver|runtime",
		"which CUDA API the example programs use (default: driver)"},
	{0},
};

const struct cli_verb cli_verb_bench_preempt = {
	.name = "bench preempt",
	.operands = "",
	.summary = "FLEP's tables on this device, every result verified",
	.json = "device, rounds, warm_rounds (launches of each program before, not counted, in "
		"parts spatial and shares), programs (driver, runtime), failures, left (rows for "
		"which --budget-s left no time); samples, an array of row (its name) and of arrays "
		"of numbers: the raw times in ns, by round; pairs, an array "
		"of low, "
		"high, low_alone_us, high_alone_us, ideal (the speedup if the high one never "
		"waited), and arrangements (name, high_us, low_us, high_speedup, antt, stp, "
		"stp_makespan, noise (why it is no result, or null), preemptions, checked, wrong); "
		"summary, an array of name, pairs, "
		"speedup_mean, speedup_best, speedup_worst, ideal_mean, antt_mean, stp_mean, "
		"stp_makespan_mean, preemptions, noisy (pairs), by arrangement over the pairs that "
		"ran; delay, pairs with delay (of the low one's time alone) beside; delay_summary, "
		"an array of delay, ideal_mean, arrangements (name, speedup_mean, pairs); equal "
		"and triplets, arrays of programs (program, size, alone_us), antt_ideal (if the "
		"shortest went first), arrangements (name, antt, antt_gain (over the first "
		"arrangement's), of_ideal (antt_ideal over antt), stp, stp_makespan, makespan_us, "
		"noise, preemptions, checked, wrong); equal_summary and triplets_summary, arrays "
		"of "
		"name, cases, antt_gain_mean, antt_gain_best, antt_gain_worst, ideal_gain_mean, "
		"of_ideal_mean, stp_mean, makespan_lost_mean (over the first arrangement's), "
		"preemptions, noisy; overhead, "
		"an array of program, plain_us, preemptible_us, ratio, spread; overhead_geomean, "
		"overhead_worst, overhead_noisy (programs that differ by more than 10 %); spatial, "
		"an array of low, pairs, temporal_overhead, "
		"spatial_overhead, temporal_lost_us, spatial_lost_us (a preemption), by program of "
		"low priority, noisy (those of its pairs whose rounds differ by more than 10 %); "
		"temporal_total and spatial_total, each overhead_mean, lost_us (a "
		"preemption, the mean of the pairs), lost_us_low and lost_us_high (its 95 % "
		"confidence interval), preemptions; spatial_pairs, spatial_rounds, "
		"spatial_reduction, spatial_reduction_low, spatial_reduction_high, "
		"spatial_overhead_reduction, spatial_noisy (pairs); extra, an array "
		"of low, high, low_alone_us, high_alone_us, and steps (extra_sms, high_us, low_us, "
		"noise, high_speedup over the first step, high_slowdown and low_slowdown over "
		"alone, "
		"preemptions, checked, wrong); shares, an array of set, ratio (of the weights), "
		"deviation (the greatest of a share from its weight's, in points), share_spread "
		"and lost_spread (of the windows, in points; null: there is one), lost (the "
		"throughput, 1 - the sum of "
		"progress), deviation_sliced, lost_sliced (without heddle), deviation_mps, "
		"lost_mps, noise_mps (under MPS; with a GPU), noise, checked, wrong, "
		"and programs (program, size, weight, share_wanted, share (percent of the work), "
		"share_had (percent of the time, by heddled's account), share_sliced, progress "
		"(rounds a second over those alone), progress_sliced, alone_per_s and "
		"alone_per_s_sliced (rounds a second), share_mps, progress_mps, alone_per_s_mps); "
		"shares_summary, an array of name (the "
		"ratio), sets, deviation_mean, deviation_worst, lost_mean, lost_worst, "
		"deviation_sliced_mean, deviation_sliced_worst, lost_sliced_mean, noisy (sets), "
		"and the same with _mps; "
		"shares_left_out, the sets for which the budget left no time; slicing, an array of "
		"program, way_out_us (until heddle has the device from it), slices, plain_us, "
		"preemptible_us, sliced_us, spread; slicing_summary, an array of name, "
		"overhead_geomean, overhead_worst, noisy (programs); orders, an array of kernel, "
		"grid, plain_ms, row_ms, column_ms, hilbert_ms, column_percent and "
		"hilbert_percent (more than row_ms), spread (of the middle half of the rounds; "
		"null: one round), same (as the plain kernel's results, "
		"bit for bit); predict, an array of "
		"program, sizes_learnt, sizes (held out: blocks, predicted_us, measured_us, error "
		"(relative)), error_mean, error_worst; predict_error_mean, predict_error_worst "
		"(the "
		"programs' means).",
	.options = options,
	.program = LAB_PROGRAM,
};
