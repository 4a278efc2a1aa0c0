/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench preempt prints FLEP's tables for this device:
 * - co-runs of pairs and triplets (bench_corun.c)
 * - the cost of the preemptible form alone (section 6.5, figure 17)
 * - spatial preemption (section 6.4, figures 15 and 16; bench_spatial.c)
 * - weighted fairness (section 6.3.3, figures 13 and 14; bench_shares.c)
 * - predictions of durations (section 6.2, figure 7; bench_predict.c)
 *
 * One call of the command measures with and without heddle, and compares every kernel's result with
 * the one computed on the host. */
#include "base/text.h"
#include "front/progress.h"
#include "lab/bench.h"
#include "lab/lab.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int bench_try(
	struct bench *b, struct stage *s, const struct stage_run *run, struct stage_result *ret)
{
	if (stage_run(s, &b->arena, run, ret) != CLI_OK)
		b->failures++;
	return child_interrupted() ? CLI_FAILED : CLI_OK;
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

static const char *const parts[] = {"pairs", "delay", "equal", "triplets", "overhead", "spatial",
	"extra", "shares", "predict", "slicing", "orders"};

/* Is part in the list that was given? */
static bool is_wanted(const struct bench *b, const char *part)
{
	const char *at = cli_value(b->c, "part");
	size_t len = strlen(part);

	if (!at || !strcmp(at, "all"))
		return true;
	for (; at; at = strchr(at, ','), at += at != NULL)
		if (!strncmp(at, part, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

static int check_parts(struct bench *b)
{
	const char *given = cli_value(b->c, "part");

	for (const char *at = given; at && strcmp(given, "all") != 0;) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < ARRAY_LEN(parts) &&
			(strlen(parts[i]) != len || strncmp(parts[i], at, len) != 0))
			i++;
		if (i == ARRAY_LEN(parts))
			return cli_usage(b->c,
				"--part is all, or a list of pairs, delay, equal, triplets, "
				"overhead, spatial, extra, shares, predict, slicing, orders, not "
				"'%.*s'",
				(int)len, at);
		at = at[len] ? at + len + 1 : NULL;
	}
	return CLI_OK;
}

static unsigned corun_parts(const struct bench *b)
{
	return (is_wanted(b, "pairs") ? BENCH_PAIRS : 0) |
	       (is_wanted(b, "delay") ? BENCH_DELAY : 0) |
	       (is_wanted(b, "equal") ? BENCH_EQUAL : 0) |
	       (is_wanted(b, "triplets") ? BENCH_TRIPLETS : 0);
}

/* Returns the number of steps of the requested parts. The spatial part corrects its number later,
 * when it is known. */
static unsigned count_steps(const struct bench *b)
{
	unsigned n = 0;

	if (is_wanted(b, "overhead"))
		n += 2 * PASSES * PROGRAMS;
	n += bench_corun_steps(b, corun_parts(b));
	if (is_wanted(b, "spatial"))
		n += bench_spatial_steps(b);
	if (is_wanted(b, "extra"))
		n += bench_extra_steps(b);
	if (is_wanted(b, "shares"))
		n += bench_shares_steps(b);
	if (is_wanted(b, "slicing"))
		n += bench_slicing_steps(b);
	if (is_wanted(b, "orders"))
		n += bench_orders_steps(b);
	if (is_wanted(b, "predict"))
		n += bench_predict_steps(b);
	return n;
}

int lab_preempt(struct cli *c)
{
	struct bench b = {.c = c, .quick = cli_has(c, "quick")};
	const char *api = cli_value(c, "programs");
	uint64_t rounds = 0;
	struct json j;
	int r = cli_number(c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK)
		r = check_parts(&b);
	if (r == CLI_OK)
		r = cli_number(c, "budget-s", 1, 100000, &b.budget_s);
	b.resume = cli_value(c, "resume");
	if (r == CLI_OK)
		r = cli_will_write(c, b.resume, "name another file: --resume FILE");
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
		json_uint(&j, "warm_rounds", b.device == DEV_CPU ? 0 : STAGE_SEARCH_ROUNDS);
		json_str(&j, "programs", b.runtime ? "runtime" : "driver");
		b.j = &j;
		cli_show(c, "device: %s; %s each, medians; %s API\n\n", b.device_name,
			COUNTED(b.rounds, "round"), b.runtime ? "runtime" : "driver");
	}
	progress_begin(count_steps(&b));
	if (r == CLI_OK && is_wanted(&b, "overhead"))
		r = bench_overhead(&b);
	if (r == CLI_OK && corun_parts(&b))
		r = bench_corun(&b, corun_parts(&b));
	if (r == CLI_OK && is_wanted(&b, "spatial"))
		r = bench_spatial(&b);
	if (r == CLI_OK && is_wanted(&b, "extra"))
		r = bench_extra(&b);
	if (r == CLI_OK && is_wanted(&b, "shares"))
		r = bench_shares(&b);
	if (r == CLI_OK && is_wanted(&b, "slicing"))
		r = bench_slicing(&b);
	if (r == CLI_OK && is_wanted(&b, "orders"))
		r = bench_orders(&b);
	if (r == CLI_OK && is_wanted(&b, "predict"))
		r = bench_predict(&b);
	if (r == CLI_OK) {
		json_uint(b.j, "failures", b.failures);
		json_end(b.j, '}');
	}
	if (b.reference[0])
		cli_remove_folder(b.reference);
	arena_finish(&b.arena);
	return r == CLI_OK && b.failures ? CLI_FAILED : r;
}
