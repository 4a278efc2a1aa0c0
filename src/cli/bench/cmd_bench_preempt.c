/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench preempt: FLEP's tables on this device. 28 pairs of a long program of low priority
 * and a short one of high priority (section 6.3.1, figure 8), the cost of the preemptible form
 * alone (section 6.5, figure 17), and what is in bench_spatial.c (section 6.4, figures 15 and 16)
 * and bench_shares.c (section 6.3.3, figures 13 and 14).
 * Every arrangement runs in the same call, every result is compared with the host's. */
#include "cli/bench/bench.h"
#include "cli/bench/figures.h"
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
	{0, "quick", NULL, "a few pairs and rounds"},
	{0, "device", "auto|cpu|cuda", "where it runs (auto: the GPU if there is one)"},
	{0, "part", "all|pairs|overhead|spatial|extra|shares", "which tables (all)"},
	{0, "rounds", "N",
		"launches of each program in each arrangement; shares: windows of time (10)"},
	{0, "budget-s", "N",
		"spatial, shares: as many pairs and rounds as fit into about so many seconds"},
	{0, "check", "each|last",
		"which results are compared with the host's (each; shares: last)"},
	{0, "programs", "driver|runtime", "example programs on which CUDA API (driver)"},
	{0},
};

#define LOWS  4 /* the first four run the large input (FLEP, section 6.3.1) */
#define PAIRS (LOWS * (PROGRAMS - 1))

#define ARRANGEMENTS 6

const char *const bench_programs[] = {"cfd", "nn", "pf", "pl", "md", "spmv", "mm", "va"};
_Static_assert(ARRAY_LEN(bench_programs) == PROGRAMS, "PROGRAMS counts them");

void bench_progress(const char *arrangement, const char *low, const char *high)
{
	progress_step("%s: %s%s%s", arrangement, low ? low : "", low && high ? " + " : "",
		high ? high : "");
}

struct stage_run bench_run(const struct bench *b, const char *low, const char *high)
{
	return (struct stage_run){.low = {low, "large", 0},
		.high = {high, "small", 0},
		.rounds = b->rounds,
		.runtime = b->runtime,
		.check = cli_value(b->c, "check"),
		.reference = b->reference[0] ? b->reference : NULL,
		.timeout_ms = b->device == DEV_CPU ? 300000 : 60000};
}

/* ---- figure 8: pairs ---- */

int bench_try(
	struct bench *b, struct stage *s, const struct stage_run *run, struct stage_result *ret)
{
	if (stage_run(s, &b->arena, run, ret) != CLI_OK)
		b->failures++;
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}

static int measure_alone(struct bench *b)
{
	struct stage_spec spec = {.name = "alone", .device = b->device};
	struct stage stage;
	int r = stage_open(b->c, &spec, &stage);

	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; r == CLI_OK && i < PROGRAMS; i++) {
		struct stage_run large = bench_run(b, bench_programs[i], NULL);
		struct stage_run small = bench_run(b, NULL, bench_programs[i]);
		struct stage_result res = {0};

		bench_progress("alone", bench_programs[i], NULL);
		if (i < LOWS || !b->quick)
			r = bench_try(b, &stage, &large, &res);
		b->large_ns[i] = res.low_ns;
		if (r == CLI_OK)
			r = bench_try(b, &stage, &small, &res);
		b->small_ns[i] = res.high_ns;
	}
	stage_close(&stage);
	return r;
}

struct pair {
	unsigned low, high;
	struct stage_result by[ARRANGEMENTS];
};

static unsigned list_pairs(const struct bench *b, struct pair *pairs)
{
	unsigned n = 0;

	for (unsigned low = 0; low < LOWS; low++)
		for (unsigned high = 0; high < PROGRAMS; high++)
			if (high != low && (!b->quick || high == (low + 5) % PROGRAMS))
				pairs[n++] = (struct pair){.low = low, .high = high};
	return n;
}

static unsigned list_arrangements(const struct bench *b, struct stage_spec *specs)
{
	static const struct stage_spec gpu[] = {
		{.name = "MPS", .mps = true},
		{.name = "MPS prio", .mps = true, .mps_priorities = true},
		{.name = "sliced"},
		{.name = "heddle", .managed = true},
		{.name = "heddle MPS", .managed = true, .mps = true},
	};
	static const struct stage_spec cpu[] = {
		{.name = "unmanaged"},
		{.name = "heddle", .managed = true},
	};
	const struct stage_spec *from = b->device == DEV_CPU ? cpu : gpu;
	unsigned n = b->device == DEV_CPU ? ARRAY_LEN(cpu) : ARRAY_LEN(gpu);

	for (unsigned i = 0; i < n; i++) {
		specs[i] = from[i];
		specs[i].device = b->device;
	}
	return n;
}

/* Why its figures are no result, or NULL. */
static const char *noise(
	const struct bench *b, const struct pair *p, unsigned k, char *buf, size_t size)
{
	struct figures f = figures_of(&p->by[k], b->large_ns[p->low], b->small_ns[p->high]);

	return figures_noise(&f, 2, stage_spread(&p->by[k], true), buf, size);
}

static void json_pair(
	struct bench *b, const struct pair *p, const struct stage_spec *specs, unsigned n)
{
	double low = b->large_ns[p->low], high = b->small_ns[p->high];
	char why[96];

	json_begin_object(b->j, NULL);
	json_str(b->j, "low", bench_programs[p->low]);
	json_str(b->j, "high", bench_programs[p->high]);
	json_num(b->j, "low_alone_us", low / 1e3);
	json_num(b->j, "high_alone_us", high / 1e3);
	json_num(b->j, "ideal", 1 + low / high);
	json_begin_array(b->j, "arrangements");
	for (unsigned k = 0; k < n; k++) {
		const struct stage_result *r = &p->by[k];
		struct figures f = figures_of(r, low, high);

		if (!r->high_ns)
			continue;
		json_begin_object(b->j, NULL);
		json_str(b->j, "name", specs[k].name);
		json_num(b->j, "high_us", r->high_ns / 1e3);
		json_num(b->j, "low_us", r->low_ns / 1e3);
		json_num(b->j, "high_speedup", p->by[0].high_ns / r->high_ns);
		json_num(b->j, "antt", f.antt);
		json_num(b->j, "stp", f.stp);
		json_num(b->j, "stp_makespan", f.stp_makespan);
		json_str(b->j, "noise", noise(b, p, k, why, sizeof(why)));
		json_uint(b->j, "preemptions", r->preemptions);
		json_uint(b->j, "checked", r->checked);
		json_uint(b->j, "wrong", r->wrong);
		json_end(b->j, '}');
	}
	json_end(b->j, ']');
	json_end(b->j, '}');
}

static void text_pair(struct bench *b, const struct pair *p, unsigned n)
{
	double low = b->large_ns[p->low], high = b->small_ns[p->high];
	char why[96];

	cli_show(b->c, "%-4s %-4s %6.1f", bench_programs[p->low], bench_programs[p->high],
		1 + low / high);
	for (unsigned k = 0; k < n; k++)
		if (p->by[k].high_ns)
			cli_show(b->c, " %c%9.0f (%5.1fx)",
				noise(b, p, k, why, sizeof(why)) ? '~' : ' ',
				p->by[k].high_ns / 1e3, p->by[0].high_ns / p->by[k].high_ns);
		else
			cli_show(b->c, "  %18s", "failed");
	cli_show(b->c, "\n");
}

/* Mean and best speedup, mean ANTT and STP of each arrangement over the pairs that all ran. */
static void summary(struct bench *b, const struct pair *pairs, unsigned n_pairs,
	const struct stage_spec *specs, unsigned n)
{
	double ideal = 0;

	for (unsigned i = 0; i < n_pairs; i++)
		ideal += (1 + b->large_ns[pairs[i].low] / b->small_ns[pairs[i].high]) / n_pairs;
	json_begin_array(b->j, "summary");
	cli_show(b->c, "\nideal speedup in the mean: %.1f\n", ideal);
	for (unsigned k = 0; k < n; k++) {
		double sum = 0, best = 0, worst = INFINITY, antt = 0, stp = 0, makespan = 0;
		unsigned m = 0, preemptions = 0, noisy = 0;
		char why[96];

		for (unsigned i = 0; i < n_pairs; i++) {
			const struct pair *p = &pairs[i];
			const struct stage_result *r = &p->by[k];
			struct figures f;
			double speedup;

			if (!r->high_ns || !p->by[0].high_ns)
				continue;
			f = figures_of(r, b->large_ns[p->low], b->small_ns[p->high]);
			speedup = p->by[0].high_ns / r->high_ns;
			sum += speedup;
			best = MAX(best, speedup);
			worst = MIN(worst, speedup);
			antt += f.antt;
			stp += f.stp;
			makespan += f.stp_makespan;
			preemptions += r->preemptions;
			noisy += noise(b, p, k, why, sizeof(why)) != NULL;
			m++;
		}
		if (!m)
			continue;
		json_begin_object(b->j, NULL);
		json_str(b->j, "name", specs[k].name);
		json_uint(b->j, "pairs", m);
		json_num(b->j, "speedup_mean", sum / m);
		json_num(b->j, "speedup_best", best);
		json_num(b->j, "speedup_worst", worst);
		json_num(b->j, "ideal_mean", ideal);
		json_num(b->j, "antt_mean", antt / m);
		json_num(b->j, "stp_mean", stp / m);
		json_num(b->j, "stp_makespan_mean", makespan / m);
		json_uint(b->j, "preemptions", preemptions);
		json_uint(b->j, "noisy", noisy);
		json_end(b->j, '}');
		cli_show(b->c,
			"%-10s  %sspeedup %5.1f mean, %5.1f best, %5.1f worst; ANTT %.2f, "
			"STP %.2f (makespan %.2f); %u preemptions; %u pairs",
			specs[k].name, noisy ? "noise: " : "", sum / m, best, worst, antt / m,
			stp / m, makespan / m, preemptions, m);
		cli_show(b->c, noisy ? ", %u of them noise\n" : "\n", noisy);
	}
	json_end(b->j, ']');
}

static int bench_pairs(struct bench *b)
{
	struct pair *pairs = ARENA_ARRAY(&b->arena, struct pair, PAIRS);
	struct stage_spec specs[ARRANGEMENTS];
	unsigned n_pairs, n = list_arrangements(b, specs);
	int r = pairs ? measure_alone(b) : CLI_FAILED;

	n_pairs = list_pairs(b, pairs);
	for (unsigned k = 0; r == CLI_OK && k < n; k++) {
		struct stage stage;

		if (stage_open(b->c, &specs[k], &stage) != CLI_OK) {
			b->failures++;
			progress_more(-(int)n_pairs);
			continue;
		}
		for (unsigned i = 0; r == CLI_OK && i < n_pairs; i++) {
			struct stage_run run = bench_run(
				b, bench_programs[pairs[i].low], bench_programs[pairs[i].high]);

			bench_progress(specs[k].name, run.low.name, run.high.name);
			r = bench_try(b, &stage, &run, &pairs[i].by[k]);
			if (pairs[i].by[k].high_ns)
				cli_show(b->c, "# %s: %s beside %s: %.0f us\n", specs[k].name,
					run.high.name, run.low.name, pairs[i].by[k].high_ns / 1e3);
		}
		stage_close(&stage);
	}
	if (r != CLI_OK)
		return r;
	json_begin_array(b->j, "pairs");
	cli_show(b->c, "turnaround of the high-priority program, us (speedup over the first "
		       "arrangement; ~ noise: it cannot be, or rounds differ by more than 10 "
		       "%%)\nlow  high  ideal");
	for (unsigned k = 0; k < n; k++)
		cli_show(b->c, "  %18s", specs[k].name);
	cli_show(b->c, "\n");
	for (unsigned i = 0; i < n_pairs; i++) {
		json_pair(b, &pairs[i], specs, n);
		text_pair(b, &pairs[i], n);
	}
	json_end(b->j, ']');
	summary(b, pairs, n_pairs, specs, n);
	return CLI_OK;
}

/* ---- figure 17: the cost of the form alone ---- */

#define PASSES 2

static int overhead_of(
	struct bench *b, struct stage stages[2], unsigned i, double ret_ns[2], double ret_spread[2])
{
	double ns[2][PASSES];

	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned k = 0; k < 2; k++) {
			struct stage_run run = bench_run(b, bench_programs[i], NULL);
			struct stage_result res = {0};

			bench_progress(stages[k].spec.name, bench_programs[i], NULL);
			if (bench_try(b, &stages[k], &run, &res) != CLI_OK)
				return CLI_FAILED;
			ns[k][pass] = res.low_kernel_ns;
		}
	for (unsigned k = 0; k < 2; k++) {
		ret_ns[k] = median_of(ns[k], PASSES);
		ret_spread[k] = ret_ns[k] ? (ns[k][PASSES - 1] - ns[k][0]) / ret_ns[k] : 0;
	}
	return CLI_OK;
}

static int bench_overhead(struct bench *b)
{
	struct stage_spec specs[2] = {{.name = "plain", .device = b->device},
		{.name = "preemptible", .device = b->device, .managed = true}};
	struct stage stages[2];
	double logs = 0, worst = 0;
	unsigned n = 0, noisy = 0;
	int r = stage_open(b->c, &specs[0], &stages[0]);

	if (r != CLI_OK)
		return r;
	r = stage_open(b->c, &specs[1], &stages[1]);
	if (r != CLI_OK)
		goto out;
	json_begin_array(b->j, "overhead");
	cli_show(b->c, "\nkernel alone, us      plain  preemptible  ratio  (spreads; ~ noise)\n");
	for (unsigned i = 0; r == CLI_OK && i < PROGRAMS; i++) {
		double ns[2], spread[2];
		bool is_noise;

		r = overhead_of(b, stages, i, ns, spread);
		if (r != CLI_OK || !ns[0] || !ns[1])
			continue;
		logs += log(ns[1] / ns[0]);
		worst = MAX(worst, ns[1] / ns[0]);
		n++;
		is_noise = MAX(spread[0], spread[1]) > FIGURES_SPREAD;
		noisy += is_noise;
		json_begin_object(b->j, NULL);
		json_str(b->j, "program", bench_programs[i]);
		json_num(b->j, "plain_us", ns[0] / 1e3);
		json_num(b->j, "preemptible_us", ns[1] / 1e3);
		json_num(b->j, "ratio", ns[1] / ns[0]);
		json_num(b->j, "spread", MAX(spread[0], spread[1]));
		json_end(b->j, '}');
		cli_show(b->c, "%-16s %10.1f %12.1f %c%.4f  (%.1f %%, %.1f %%)\n",
			bench_programs[i], ns[0] / 1e3, ns[1] / 1e3, is_noise ? '~' : ' ',
			ns[1] / ns[0], spread[0] * 100, spread[1] * 100);
	}
	json_end(b->j, ']');
	json_num(b->j, "overhead_geomean", n ? exp(logs / n) - 1 : 0);
	json_num(b->j, "overhead_worst", worst - 1);
	json_uint(b->j, "overhead_noisy", noisy);
	cli_show(b->c, "%sgeometric mean %+.2f %%, worst %+.2f %%\n", noisy ? "noise: " : "",
		n ? (exp(logs / n) - 1) * 100 : 0.0, (worst - 1) * 100);
	stage_close(&stages[1]);
out:
	stage_close(&stages[0]);
	return r;
}

static bool wants(const struct bench *b, const char *part)
{
	const char *given = cli_value(b->c, "part");

	return !given || !strcmp(given, "all") || !strcmp(given, part);
}

/* Of the parts that are asked for; what those of spatial have more of, or fewer, they say when they
 * know. */
static unsigned count_steps(const struct bench *b)
{
	unsigned n_pairs = b->quick ? LOWS : PAIRS, n = 0;
	struct stage_spec specs[ARRANGEMENTS];

	if (wants(b, "overhead"))
		n += 2 * PASSES * PROGRAMS;
	if (wants(b, "pairs"))
		n += PROGRAMS + n_pairs * list_arrangements(b, specs);
	if (wants(b, "spatial"))
		n += bench_spatial_steps(b);
	if (wants(b, "extra"))
		n += bench_extra_steps(b);
	if (wants(b, "shares"))
		n += bench_shares_steps(b);
	return n;
}

static int run(struct cli *c)
{
	struct bench b = {.c = c, .quick = cli_has(c, "quick")};
	const char *api = cli_value(c, "programs");
	uint64_t rounds = 0;
	struct json j;
	int r = cli_number(c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK)
		r = cli_number(c, "budget-s", 1, 100000, &b.budget_s);
	b.runtime = api && !strcmp(api, "runtime");
	arena_init(&b.arena, 0);
	child_catch_signals();
	cli_make_folder("reference", b.reference);
	if (r == CLI_OK)
		r = stage_device(c, cli_value(c, "device"), &b.device, b.device_name, &b.sms);
	b.rounds = rounds ? (unsigned)rounds : b.quick ? 2 : 10;
	if (r == CLI_OK) {
		cli_json_open(c, &j, 1);
		json_str(&j, "device", b.device_name);
		json_uint(&j, "rounds", b.rounds);
		json_str(&j, "programs", b.runtime ? "runtime" : "driver");
		b.j = &j;
		cli_show(c, "device: %s; %u rounds each, medians; %s API\n\n", b.device_name,
			b.rounds, b.runtime ? "runtime" : "driver");
	}
	progress_begin(count_steps(&b));
	if (r == CLI_OK && wants(&b, "overhead"))
		r = bench_overhead(&b);
	if (r == CLI_OK && wants(&b, "pairs"))
		r = bench_pairs(&b);
	if (r == CLI_OK && wants(&b, "spatial"))
		r = bench_spatial(&b);
	if (r == CLI_OK && wants(&b, "extra"))
		r = bench_extra(&b);
	if (r == CLI_OK && wants(&b, "shares"))
		r = bench_shares(&b);
	if (r == CLI_OK) {
		json_uint(b.j, "failures", b.failures);
		json_end(b.j, '}');
	}
	if (b.reference[0])
		cli_remove_folder(b.reference);
	arena_finish(&b.arena);
	return r == CLI_OK && b.failures ? CLI_FAILED : r;
}

const struct cli_verb cli_verb_bench_preempt = {
	.name = "bench preempt",
	.operands = "",
	.summary = "FLEP's tables on this device, every result verified",
	.json = "device, rounds, programs (driver, runtime), failures; pairs, an array of low, "
		"high, low_alone_us, high_alone_us, ideal (the speedup if the high one never "
		"waited), and arrangements (name, high_us, low_us, high_speedup, antt, stp, "
		"stp_makespan, noise (why it is no result, or null), preemptions, checked, wrong); "
		"summary, an array of name, pairs, "
		"speedup_mean, speedup_best, speedup_worst, ideal_mean, antt_mean, stp_mean, "
		"stp_makespan_mean, preemptions, noisy (pairs), by arrangement over the pairs that "
		"ran; overhead, "
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
		"progress), deviation_sliced, lost_sliced (without heddle), noise, checked, wrong, "
		"and programs (program, size, weight, share_wanted, share (percent of the work), "
		"share_had (percent of the time, by heddled's account), share_sliced, progress "
		"(rounds a second over those alone), progress_sliced, alone_per_s and "
		"alone_per_s_sliced (rounds a second)); shares_summary, an array of name (the "
		"ratio), sets, deviation_mean, deviation_worst, lost_mean, lost_worst, "
		"deviation_sliced_mean, deviation_sliced_worst, lost_sliced_mean, noisy (sets); "
		"shares_left_out, the sets for which the budget left no time.",
	.options = options,
	.run = run,
};
