/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share repeats the evaluation of "Adaptive simultaneous multi-tenancy" (section 4) on
 * this device. Every program compares its results with a computation on the host. */
#include "base/text.h"
#include "cli/bench/bench_share.h"
#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>

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

static int read_options(struct share *s)
{
	struct cli *c = s->b.c;
	uint64_t rounds = s->b.quick ? 1 : 3, budget = 0;
	int r = cli_number(c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK)
		r = cli_number(c, "budget-s", 1, 100000, &budget);
	if (r == CLI_OK && s->by_sm && (s->predict || cli_has(c, "store")))
		r = cli_usage(c, "--by-sm: leave --store and --predict out, which are for other "
				 "arrangements");
	if (r == CLI_OK)
		r = share_choose(s);
	s->b.rounds = (unsigned)rounds;
	s->b.until_ms = budget ? clock_ms() + (double)budget * 1e3 : 0;
	s->b.resume = cli_value(c, "resume");
	return r;
}

/* Checks that this heddled has the pair model, which the key `predict` turns on. Under policy
 * greedy, a heddled without the model ignores the key, so its results would wrongly count as those
 * of the model. A heddled with the model refuses an unknown value of the key, so this function
 * passes such a value. */
static int check_predict(struct share *s)
{
	struct child child = {.fd = -1};
	char *heddled = NULL;
	bool refuses = false;

	if (!s->predict)
		return CLI_OK;
	if (!cli_find_part(NULL, "heddled", &heddled) &&
		!child_start((char *const[]){heddled, "--check-config", "--config-root",
				     "/nonexistent", "--policy", "greedy", "--set",
				     SHARE_PREDICT_KEY "pairs=unknown", NULL},
			NULL, "/dev/null", &child) &&
		!child_wait(&child, 1, 20000))
		refuses = child.status != 0;
	child_finish(&child);
	free(heddled);
	return refuses ? CLI_OK
		       : cli_error(s->b.c, "leave --predict out",
				 "greedy+predict: policy greedy of this heddled has no option "
				 "pairs");
}

static int write_svg(struct share *s)
{
	const char *path = cli_value(s->b.c, "svg");
	struct strbuf text = {0};
	int r;

	if (!path)
		return CLI_OK;
	share_svg(s, &text);
	r = cli_write_file(s->b.c, path, NULL, &text);
	strbuf_finish(&text);
	return r;
}

static void begin_json(struct share *s, struct json *j)
{
	cli_json_open(s->b.c, j, 1);
	json_str(j, "device", s->b.device_name);
	json_uint(j, "sms", s->b.sms);
	json_str(j, "size", s->large ? "large" : "small");
	json_uint(j, "rounds", s->b.rounds);
	json_uint(j, "warm_rounds", s->b.device == DEV_CPU ? 1 : STAGE_SEARCH_ROUNDS);
	s->b.j = j;
	cli_show(s->b.c, "device: %s, %u SMs; %s inputs, %s in each order, medians\n\n",
		s->b.device_name, s->b.sms, s->large ? "large" : "small",
		COUNTED(s->b.rounds, "round"));
}

static int show_tables(struct share *s)
{
	int r = share_read_registers(s);

	if (r == CLI_OK)
		r = share_show_programs(s);
	if (r != CLI_OK)
		return r;
	share_show_pairs(s);
	if (cli_has(s->b.c, "oracle"))
		r = share_oracle(s);
	if (r != CLI_OK)
		return r;
	json_uint(s->b.j, "left", s->cs.left);
	json_uint(s->b.j, "failures", s->b.failures);
	json_end(s->b.j, '}');
	if (s->cs.left)
		cli_show(s->b.c, "\n%s %s missing for want of time%s\n",
			COUNTED(s->cs.left, "result"), s->cs.left == 1 ? "is" : "are",
			s->b.resume ? "; call this again to go on" : "");
	return write_svg(s);
}

static int run_all(struct share *s)
{
	const char *size = cli_value(s->b.c, "size");
	struct json j;
	int r = read_options(s);

	if (r == CLI_OK)
		r = cli_will_write(s->b.c, cli_value(s->b.c, "svg"), NULL);
	if (r == CLI_OK)
		r = cli_will_write(s->b.c, s->b.resume, "name another file: --resume FILE");
	if (r == CLI_OK)
		r = check_predict(s);
	if (r == CLI_OK)
		r = stage_device(s->b.c, cli_value(s->b.c, "device"), &s->b.device,
			s->b.device_name, &s->b.sms);
	if (r == CLI_OK)
		r = share_read_store(s);
	if (r == CLI_OK)
		r = share_choose_arrangements(s);
	if (r != CLI_OK)
		return r;
	s->large = size ? !strcmp(size, "large") : s->b.device == DEV_CUDA;
	share_scale(s);
	r = share_list(s);
	if (r != CLI_OK)
		return r;
	begin_json(s, &j);
	progress_begin(cases_steps(&s->cs));
	r = cases_measure(&s->cs);
	progress_clear();
	return r == CLI_OK ? show_tables(s) : r;
}

static int run_bench_share(struct cli *c)
{
	struct share *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return cli_error(c, NULL, "out of memory");
	s->b = (struct bench){.c = c, .quick = cli_has(c, "quick")};
	s->predict = cli_has(c, "predict");
	s->by_sm = cli_has(c, "by-sm");
	s->store = cli_value(c, "store");
	arena_init(&s->b.arena, 0);
	child_catch_signals();
	cli_make_folder("reference", s->b.reference);
	r = run_all(s);
	if (r == CLI_OK && s->b.failures)
		r = CLI_FAILED;
	if (s->b.reference[0])
		cli_remove_folder(s->b.reference);
	arena_finish(&s->b.arena);
	free(s);
	return r;
}

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
		"counted), failures, left (results for which --budget-s left no "
		"time); programs, an array of program, class (low: fewer than half of the issue "
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
	.run = run_bench_share,
};
