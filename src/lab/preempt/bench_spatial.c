/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures spatial preemption (FLEP, section 6.4).
 *
 * Figure 15: every program with its large input runs beside every other program, which has its
 * trivial input and high priority. heddle preempts the large program on all SMs or on some of them.
 * The table shows the loss compared with both programs without heddle. It gives the loss relative
 * to the time until both are done, and in microseconds for each preemption, with a confidence
 * interval.
 *
 * Figure 16: the gain of the high-priority program and the loss of the low-priority program if
 * heddle frees more SMs than the high-priority program needs. */
#include "base/text.h"
#include "front/progress.h"
#include "lab/bench.h"
#include "lab/preempt/lost.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS  (PROGRAMS * (PROGRAMS - 1))
#define MAX_PASSES 16
#define QUICK_LOWS 4

struct spatial {
	struct bench *b;
	struct lost_pair pair[MAX_PAIRS];
	unsigned n_pairs, n_run; /* the first of them take part */
};

/* ---- measuring ---- */

static unsigned count_lows(const struct bench *b)
{
	return b->quick ? QUICK_LOWS : PROGRAMS;
}

unsigned bench_spatial_steps(const struct bench *b)
{
	return LOST_FORMS * (b->quick ? QUICK_LOWS : MAX_PAIRS);
}

/* Lists all pairs, or with --quick one pair for each of a few low-priority programs. The time
 * budget may end the measurement anywhere in the list. So the list begins with pairs of different
 * low-priority programs, until each has appeared once. */
static int list_pairs(struct spatial *sp, struct bench *b)
{
	size_t max = (size_t)b->rounds * MAX_PASSES;

	sp->b = b;
	for (unsigned d = 1; d < PROGRAMS; d++) {
		for (unsigned low = 0; low < count_lows(b); low++) {
			struct lost_pair *p = &sp->pair[sp->n_pairs++];

			*p = (struct lost_pair){.low = low, .high = (low + 5 * d) % PROGRAMS};
			for (unsigned k = 0; k < LOST_FORMS; k++) {
				p->of[k].ns = ARENA_ARRAY(&b->arena, double, max);
				if (!p->of[k].ns)
					return cli_error(b->c, NULL, "out of memory");
			}
		}
		if (b->quick)
			break;
	}
	sp->n_run = sp->n_pairs;
	return CLI_OK;
}

static void add_rounds(struct lost_samples *to, const struct stage_result *res, unsigned first)
{
	unsigned n = res->rounds - first;

	for (unsigned i = first; i < res->rounds; i++) {
		const struct stage_round *r = &res->at[i];
		uint64_t end = MAX(r->low_done_ns, r->high_done_ns);

		to->ns[to->n++] = (double)(end - MIN(r->low_launch_ns, r->high_launch_ns));
	}
	/* Rounds are similar, so each is assumed to have the same share of the preemptions. */
	to->preemptions += ((res->preemptions + res->shrinks) * n + res->rounds / 2) / res->rounds;
}

static int run_pair(struct spatial *sp, struct stage *stage, struct lost_pair *p, unsigned form)
{
	struct bench *b = sp->b;
	struct stage_run run = bench_run(b, bench_programs[p->low], bench_programs[p->high]);
	struct stage_result res = {0};
	int r;

	run.high.size = "trivial";
	run.rounds += b->device == DEV_CPU || form == LOST_ORIGINAL ? 0 : STAGE_SEARCH_ROUNDS;
	bench_progress(stage->spec.name, run.low.name, run.high.name);
	r = bench_try(b, stage, &run, &res);
	if (r == CLI_OK && res.rounds && res.low_ns > 0)
		add_rounds(&p->of[form], &res, run.rounds - b->rounds);
	return r;
}

/* Runs all listed pairs in one form of measurement, such as without heddle, or preempted on all
 * SMs. If stop_at is not 0, the list is shortened to end with the pair that is running at that
 * time. The caller sets stop_at only for the first form of the first pass. */
static int run_form(
	struct spatial *sp, const struct stage_spec *spec, unsigned form, double stop_at)
{
	struct stage stage;
	int r = stage_open(sp->b->c, spec, &stage);

	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; r == CLI_OK && i < sp->n_run; i++) {
		r = run_pair(sp, &stage, &sp->pair[i], form);
		if (stop_at > 0 && clock_ms() / 1e3 > stop_at && i + 1 < sp->n_run) {
			progress_more(-(int)(LOST_FORMS * (sp->n_run - i - 1)));
			sp->n_run = i + 1;
		}
	}
	stage_close(&stage);
	return r;
}

/* Measures the pairs in all forms. With a time budget, each pass goes through the forms in the
 * reverse direction of the previous one, so that drift does not favour one form. */
static int measure_pairs(struct spatial *sp)
{
	/* MPS is on because without MPS the device runs the tenants in time slices, and heddle can
	 * preempt only on all SMs. min_managed_us is 1 because the kernels with trivial input are
	 * otherwise too short for heddle to manage. */
	bool mps = sp->b->device != DEV_CPU;
	struct stage_spec spec[LOST_FORMS] = {{.name = "original"},
		{.name = "kept",
			.managed = true,
			.policy = "none",
			.options = {"--set", "min_managed_us=1"}},
		{.name = "temporal",
			.managed = true,
			.options = {"--set", "min_managed_us=1", "--temporal"}},
		{.name = "spatial", .managed = true, .options = {"--set", "min_managed_us=1"}}};
	double began = clock_ms() / 1e3, budget = (double)sp->b->budget_s;
	int r = CLI_OK, planned = 0; /* passes behind this one */

	for (unsigned pass = 0; r == CLI_OK && pass < MAX_PASSES; pass++) {
		double from = clock_ms() / 1e3, took, left;
		int more;

		for (unsigned i = 0; r == CLI_OK && i < LOST_FORMS; i++) {
			unsigned form = pass % 2 ? LOST_FORMS - 1 - i : i;
			bool first = pass == 0 && i == 0 && budget > 0;

			spec[form].device = sp->b->device;
			spec[form].mps = mps;
			r = run_form(
				sp, &spec[form], form, first ? began + budget / LOST_FORMS : 0);
		}
		took = clock_ms() / 1e3 - from;
		left = budget - (clock_ms() / 1e3 - began);
		more = left >= took ? (int)MIN(left / MAX(took, 1e-3), MAX_PASSES) : 0;
		progress_more(LOST_FORMS * (int)sp->n_run * (more - planned));
		if (!more)
			break;
		planned = more - 1;
	}
	return r;
}

static void show_lows(struct spatial *sp)
{
	struct bench *b = sp->b;

	json_begin_array(b->j, "spatial");
	cli_show(b->c, "\npreemption overhead, (T - T_original) / T_original, and us lost a "
		       "preemption,\nbeyond the same never preempted, beside a trivial "
		       "high-priority kernel;\n~ noise: rounds of a pair differ by more than 10 "
		       "%%:\n"
		       "                                       temporal"
		       "              spatial\n");
	for (unsigned low = 0; low < PROGRAMS; low++) {
		double overhead[LOST_FORMS], us[LOST_FORMS];
		unsigned n = lost_mean(sp->pair, sp->n_run, (int)low, overhead, us);
		unsigned noisy = lost_noisy(sp->pair, sp->n_run, (int)low, FIGURES_SPREAD);

		if (!n)
			continue;
		json_begin_object(b->j, NULL);
		json_str(b->j, "low", bench_programs[low]);
		json_uint(b->j, "pairs", n);
		json_num(b->j, "temporal_overhead", overhead[LOST_TEMPORAL]);
		json_num(b->j, "spatial_overhead", overhead[LOST_SPATIAL]);
		json_num(b->j, "temporal_lost_us", us[LOST_TEMPORAL]);
		json_num(b->j, "spatial_lost_us", us[LOST_SPATIAL]);
		json_uint(b->j, "noisy", noisy);
		json_end(b->j, '}');
		cli_show(b->c, "%-5s %-24s%c%+8.2f %% %9.1f us  %+8.2f %% %9.1f us\n",
			bench_programs[low], COUNTED(n, "pair"), noisy ? '~' : ' ',
			overhead[LOST_TEMPORAL] * 100, us[LOST_TEMPORAL],
			overhead[LOST_SPATIAL] * 100, us[LOST_SPATIAL]);
	}
	json_end(b->j, ']');
}

/* noisy: of its pairs. */
static void show_lost(struct bench *b, const struct lost *l, unsigned noisy)
{
	static const char *const name[LOST_FORMS] = {"original", "kept", "temporal", "spatial"};
	static const char *const key[LOST_FORMS] = {"", "", "temporal_total", "spatial_total"};

	for (unsigned k = LOST_TEMPORAL; k < LOST_FORMS; k++) {
		json_begin_object(b->j, key[k]);
		json_num(b->j, "overhead_mean", l->overhead[k]);
		json_num(b->j, "lost_us", l->us[k]);
		json_num(b->j, "lost_us_low", l->us_low[k]);
		json_num(b->j, "lost_us_high", l->us_high[k]);
		json_uint(b->j, "preemptions", l->preemptions[k]);
		json_end(b->j, '}');
		cli_show(b->c,
			"%s%-8s %+.2f %%; %.1f us lost a preemption (95 %%: %.1f to %.1f), %s\n",
			noisy ? "noise: " : "", name[k], l->overhead[k] * 100, l->us[k],
			l->us_low[k], l->us_high[k], COUNTED(l->preemptions[k], "preemption"));
	}
	json_uint(b->j, "spatial_pairs", l->pairs);
	json_uint(b->j, "spatial_rounds", l->rounds);
	json_num(b->j, "spatial_reduction", l->reduction);
	json_num(b->j, "spatial_reduction_low", l->reduction_low);
	json_num(b->j, "spatial_reduction_high", l->reduction_high);
	json_num(b->j, "spatial_overhead_reduction", l->overhead_reduction);
	json_uint(b->j, "spatial_noisy", noisy);
	if (!l->pairs) {
		cli_show(b->c, "no pair was preempted in both ways: no result\n");
		return;
	}
	cli_show(b->c,
		"%sspatial loses %.1f %% less (95 %%: %.1f to %.1f), %s, %s each way; "
		"its overhead is %.1f %% less",
		noisy ? "noise: " : "", l->reduction * 100, l->reduction_low * 100,
		l->reduction_high * 100, COUNTED(l->pairs, "pair"), COUNTED(l->rounds, "round"),
		l->overhead_reduction * 100);
	cli_show(b->c, noisy ? "; %s %s noise\n" : "\n", COUNTED(noisy, "pair"),
		noisy == 1 ? "is" : "are");
}

int bench_spatial(struct bench *b)
{
	struct spatial *sp = arena_zalloc(&b->arena, sizeof(*sp));
	struct lost lost = {0};
	int r = sp ? list_pairs(sp, b) : cli_error(b->c, NULL, "out of memory");

	if (r == CLI_OK)
		r = measure_pairs(sp);
	if (r == CLI_OK && lost_sum_up(sp->pair, sp->n_run, &lost))
		r = cli_error(b->c, NULL, "out of memory");
	if (r != CLI_OK)
		return r;
	show_lows(sp);
	show_lost(b, &lost, lost_noisy(sp->pair, sp->n_run, -1, FIGURES_SPREAD));
	return CLI_OK;
}

/* ---- figure 16: more SMs than needed ---- */

#define STEPS       6
#define EXTRA_PAIRS 4

struct extra_pair {
	unsigned low, high;
	double low_alone_ns, high_alone_ns;
	struct stage_result step[STEPS];
};

static unsigned count_extra(const struct bench *b, unsigned *ret_steps)
{
	*ret_steps = b->quick ? 2 : STEPS;
	return b->quick ? 1 : EXTRA_PAIRS;
}

unsigned bench_extra_steps(const struct bench *b)
{
	unsigned steps, n = count_extra(b, &steps);

	return n + n * steps; /* alone, and beside each other */
}

static int extra_alone(struct bench *b, struct extra_pair *pairs, unsigned n)
{
	struct stage_spec spec = {
		.name = "alone", .device = b->device, .mps = b->device != DEV_CPU};
	struct stage stage;
	int r = stage_open(b->c, &spec, &stage);

	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		struct stage_run low = bench_run(b, bench_programs[pairs[i].low], NULL);
		struct stage_run high = bench_run(b, NULL, bench_programs[pairs[i].high]);
		struct stage_result res = {0};

		high.high.size = "trivial";
		bench_progress(spec.name, low.low.name, high.high.name);
		r = bench_try(b, &stage, &low, &res);
		pairs[i].low_alone_ns = res.low_ns;
		if (r == CLI_OK)
			r = bench_try(b, &stage, &high, &res);
		pairs[i].high_alone_ns = res.high_ns;
	}
	stage_close(&stage);
	return r;
}

static int extra_step(
	struct bench *b, struct extra_pair *pairs, unsigned n, unsigned step, unsigned sms)
{
	char text[32];
	struct stage_spec spec = {.name = text,
		.device = b->device,
		.managed = true,
		.mps = b->device != DEV_CPU,
		.options = {"--set", "min_managed_us=1", "--set", text}};
	struct stage stage;
	int r;

	snprintf(text, sizeof(text), "extra_sms=%u", sms);
	r = stage_open(b->c, &spec, &stage);
	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		struct stage_run run =
			bench_run(b, bench_programs[pairs[i].low], bench_programs[pairs[i].high]);

		run.high.size = "trivial";
		bench_progress(text, run.low.name, run.high.name);
		r = bench_try(b, &stage, &run, &pairs[i].step[step]);
	}
	stage_close(&stage);
	return r;
}

static void show_step(struct bench *b, const struct extra_pair *p, unsigned step, unsigned sms)
{
	const struct stage_result *r = &p->step[step];
	double speedup = r->high_ns ? p->step[0].high_ns / r->high_ns : 0;
	double high = p->high_alone_ns ? r->high_ns / p->high_alone_ns : 0;
	double low = p->low_alone_ns ? r->low_ns / p->low_alone_ns : 0;
	struct figures f = {0};
	const char *noise = NULL;
	char why[96];

	if (!r->high_ns)
		return;
	if (high > 0 && low > 0) {
		f = figures_of(r, p->low_alone_ns, p->high_alone_ns);
		noise = figures_noise(&f, 2, stage_spread(r, true), why, sizeof(why));
	}
	json_begin_object(b->j, NULL);
	json_uint(b->j, "extra_sms", sms);
	json_num(b->j, "high_us", r->high_ns / 1e3);
	json_num(b->j, "low_us", r->low_ns / 1e3);
	json_str(b->j, "noise", noise);
	json_num(b->j, "high_speedup", speedup);
	json_num(b->j, "high_slowdown", high);
	json_num(b->j, "low_slowdown", low);
	json_uint(b->j, "preemptions", r->preemptions + r->shrinks);
	json_uint(b->j, "checked", r->checked);
	json_uint(b->j, "wrong", r->wrong);
	json_end(b->j, '}');
	cli_show(b->c, "%-4s %-4s %5u %c%10.1f %8.2fx %8.2fx %12.1f %8.3fx %6u\n",
		bench_programs[p->low], bench_programs[p->high], sms, noise ? '~' : ' ',
		r->high_ns / 1e3, speedup, high, r->low_ns / 1e3, low, r->preemptions + r->shrinks);
}

static void show_extra(struct bench *b, const struct extra_pair *pairs, unsigned n,
	const unsigned *sms, unsigned steps)
{
	json_begin_array(b->j, "extra");
	cli_show(b->c,
		"\nSMs given up beyond what a trivial high-priority kernel needs: its "
		"turnaround, speedup\nover none, and both programs' times over alone; ~ noise\n"
		"low  high extra     high us  speedup    alone       low us    alone  preempted\n");
	for (unsigned i = 0; i < n; i++) {
		json_begin_object(b->j, NULL);
		json_str(b->j, "low", bench_programs[pairs[i].low]);
		json_str(b->j, "high", bench_programs[pairs[i].high]);
		json_num(b->j, "low_alone_us", pairs[i].low_alone_ns / 1e3);
		json_num(b->j, "high_alone_us", pairs[i].high_alone_ns / 1e3);
		json_begin_array(b->j, "steps");
		for (unsigned k = 0; k < steps; k++)
			show_step(b, &pairs[i], k, sms[k]);
		json_end(b->j, ']');
		json_end(b->j, '}');
	}
	json_end(b->j, ']');
}

int bench_extra(struct bench *b)
{
	/* The paper pairs the high-priority programs nn and md with cfd and pl. */
	struct extra_pair pairs[EXTRA_PAIRS] = {{3, 1}, {3, 4}, {0, 1}, {0, 4}};
	unsigned steps, n = count_extra(b, &steps);
	unsigned sms[STEPS] = {0};
	int r;

	/* In each step, the low-priority program gives up a number of additional SMs, about half as
	 * many as in the next step. In the last step the number is that of all SMs. */
	for (unsigned k = 1; k < steps; k++)
		sms[k] = MAX(b->sms >> (steps - 1 - k), 1u);
	r = extra_alone(b, pairs, n);
	for (unsigned k = 0; r == CLI_OK && k < steps; k++)
		r = extra_step(b, pairs, n, k, sms[k]);
	if (r != CLI_OK)
		return r;
	show_extra(b, pairs, n, sms, steps);
	return CLI_OK;
}
