/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The row of heddle bench share: its options and help. The command heddle also contains this row,
 * for help, manual page and completions. part_share.c runs it. */
#include "lab/lab.h"

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "of", "LIST", "programs, with commas (default: bo,fd,lm,mh,nb,px,tp,pl,va)"},
	{0, "pairs", "LIST", "only these pairs, such as mm+va,px+fd (default: all pairs of --of)"},
	{0, "by-sm", NULL,
		"compare greedy with splits that differ by SM, instead of the other arrangements"},
	{0, "only", "LIST",
		"only these arrangements, such as mps,greedy (default: all that the other options "
		"allow)"},
	{0, "low", "LIST",
		"programs of low utilisation, with commas (default: those that the table of "
		"utilisations lists)"},
	{0, "size", "large|small",
		"size of the programs' inputs (default: large on a GPU, else small)"},
	{0, "rounds", "N", "launches of each program in each order (default: 3)"},
	{0, "quick", NULL, "three pairs, one round"},
	{0, "store", "FILE",
		"also greedy+profile: heddled starts with the profiles in this file, of heddle "
		"profile --store"},
	{0, "predict", NULL,
		"also greedy+predict: heddled asks the pair model before programs share"},
	{0, "oracle", NULL,
		"also try fixed numbers of blocks on each SM, and report the part of the best "
		"one's gain that greedy has"},
	{0, "check", "each|last", "which results to compare with the host's (default: each)"},
	{0, "resume", "FILE", "keep each result there, and measure only those that are missing"},
	{0, "budget-s", "N", "start no measurement after N seconds; --resume goes on from there"},
	{0, "svg", "FILE", "draw the STP of each pair there"},
	{0},
};

const struct cli_verb cli_verb_bench_share = {
	.name = "bench share",
	.operands = "",
	.summary = "pairs of programs that share SMs, as in SiM, every result verified",
	.details = "All pairs of the programs run in each arrangement, in three orders: the first "
		   "program first and the second after a tenth of the first one's time alone; the "
		   "other way round; both at once. sequential is one program after the other, "
		   "computed from the programs alone. mps is MPS without heddle (on the virtual "
		   "GPU: unmanaged), mps-priority gives the program that arrives second the high "
		   "client priority, workers are preemptible forms with the policy none, and "
		   "greedy is the policy of that name, which learns from the runs. With --by-sm "
		   "greedy runs beside splits by the policy split: in whole-25, whole-50 and "
		   "whole-75 the pair's first program has that percentage of the SMs for itself, "
		   "and the second the others; in mixed-75 it has three quarters of the blocks "
		   "that fit on even SMs and a quarter on odd ones, and the second the other way "
		   "round. With --store, greedy+profile is the same policy with what heddle "
		   "profile measured before. With --oracle each pair also runs with up to seven "
		   "fixed divisions of each SM, as many blocks of the second as fit beside some of "
		   "the first; the oracle takes the best of them or sequential, so its figure is "
		   "slightly too high. STP is the time of sequential over the time from the first "
		   "launch until both programs are done. By turnarounds, it is the sum over the "
		   "programs of the time alone over the time together, and ANTT is the mean of the "
		   "inverse ratios. A pair's figures are geometric means over its orders.",
	.json = "device, sms, size, rounds, warm_rounds (launches of each program before, not "
		"counted), failures, left (rows for which --budget-s left no "
		"time); samples, an array of row (its name) and of arrays of numbers: the raw "
		"times in ns, by round; programs, an array of program, class (low: fewer than half "
		"of the issue "
		"slots used; high; null: not known), takes (threads, registers (of a thread), "
		"shared_bytes, blocks_per_sm; and of an SM's limits, with as many blocks as fit: "
		"threads_percent, registers_percent, shared_percent, blocks_percent), utilisation "
		"and utilisation_paper (percent of issue slots; null: not known), plain_us and "
		"workers_us (the kernel alone), form_ratio, spread, plain_registers and "
		"workers_registers (of a thread); form_geomean, registers_geomean; "
		"curves, an array of program, curve (without --store empty; per_sm, the blocks on "
		"each SM; block_ns, an SM's time for a block; of_most, this over that with the "
		"most "
		"blocks); pairs, an array "
		"of first, second, class (low: of one of the programs, or of both), class_paper "
		"(by the "
		"paper's utilisations; null: not a pair of the paper's programs), "
		"first_alone_us, second_alone_us, arrangements (name, stp_makespan, stp, antt, "
		"spread (of the time until both are done, of the median; the largest of the "
		"orders; null: one round), noise (why it is no result, or null), preemptions, "
		"shrinks, checked, orders (order (first, second: this one arrives first; "
		"together), makespan_us, first_us, second_us, stp_makespan, stp, antt, spread)), "
		"and with --by-sm best_split (of the splits; name, stp_makespan, greedy (its "
		"stp_makespan), over_greedy, noise); "
		"summary_paper, summary_paper_low and summary_paper_high (of pairs of the paper's "
		"programs, by its classes), summary (of all pairs), summary_low and summary_high "
		"(of a "
		"class), arrays of name, pairs (that are no noise), stp_makespan_geomean, "
		"stp_makespan_best, stp_makespan_worst, stp_geomean, antt_geomean, preemptions, "
		"shrinks (all of these of pairs that are no noise; null: there is none), noisy "
		"(pairs "
		"that are noise); with --oracle, oracle: pairs, an array of first, second, "
		"splits (an array of first_blocks and second_blocks (on each SM), stp_makespan; "
		"null: not measured), best (name, or sequential), oracle_gain and greedy_gain "
		"(stp_makespan less 1), "
		"share_percent (of the oracle's gain that greedy has; null: the oracle gains "
		"less than half a percent); stp_makespan_geomean and greedy_geomean (of the "
		"pairs), share_percent (of those).",
	.options = options,
	.program = LAB_PROGRAM,
};
