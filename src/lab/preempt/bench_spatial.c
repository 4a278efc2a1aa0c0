/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures spatial preemption (FLEP, section 6.4, figure 15). Every program with its large input
 * runs beside every other program, which has its trivial input and high priority. heddle preempts
 * the large program on all SMs or on some of them. The table shows the loss compared with both
 * programs without heddle: relative to the time until both are done, and in microseconds for each
 * preemption, with a confidence interval. */
#include "base/text.h"
#include "lab/bench.h"
#include "lab/preempt/lost.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>

#define MAX_PAIRS  (PROGRAMS * (PROGRAMS - 1))
#define PASSES     2
#define QUICK_LOWS 4

static const char *const form_names[LOST_FORMS] = {"original", "kept", "temporal", "spatial"};

struct spatial {
	struct bench *b;
	struct lost_pair pair[MAX_PAIRS];
	unsigned n_pairs;
};

/* ---- measuring the pairs ---- */

static unsigned count_lows(const struct bench *b)
{
	return b->quick ? QUICK_LOWS : PROGRAMS;
}

static unsigned count_passes(const struct bench *b)
{
	return b->quick ? 1 : PASSES;
}

static unsigned count_pairs(const struct bench *b)
{
	return b->quick ? QUICK_LOWS : MAX_PAIRS;
}

unsigned bench_spatial_steps(const struct bench *b)
{
	return LOST_FORMS * count_pairs(b) * count_passes(b);
}

/* Lists all pairs, or with --quick one pair for each of a few low-priority programs. A group of
 * pairs has each low-priority program once, so that a call without time for all groups has results
 * of all programs. */
static int list_pairs(struct spatial *sp, struct bench *b)
{
	size_t max = (size_t)b->rounds * PASSES;

	sp->b = b;
	for (unsigned d = 1; d < PROGRAMS && sp->n_pairs < count_pairs(b); d++)
		for (unsigned low = 0; low < count_lows(b); low++) {
			struct lost_pair *p = &sp->pair[sp->n_pairs++];

			*p = (struct lost_pair){.low = low, .high = (low + 5 * d) % PROGRAMS};
			for (unsigned k = 0; k < LOST_FORMS; k++) {
				p->of[k].ns = ARENA_ARRAY(&b->arena, double, max);
				if (!p->of[k].ns)
					return cli_error(b->c, NULL, "out of memory");
			}
		}
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

static int run_pair(struct spatial *sp, struct bench_stage *stage, struct lost_pair *p,
	unsigned form, unsigned pass)
{
	struct bench *b = sp->b;
	struct stage_run run = bench_run(b, bench_programs[p->low], bench_programs[p->high]);
	struct stage_result res;
	char key[64];
	int r;

	run.high.size = "trivial";
	run.rounds += b->device == DEV_CPU || form == LOST_ORIGINAL ? 0 : STAGE_SEARCH_ROUNDS;
	snprintf(key, sizeof(key), "spatial %s + %s, %s, pass %u", run.low.name, run.high.name,
		form_names[form], pass + 1);
	r = bench_pair(b, stage, &run, key, &res);
	if (r == CLI_OK && res.rounds && res.low_ns > 0)
		add_rounds(&p->of[form], &res, run.rounds - b->rounds);
	return r;
}

/* Measures a group of pairs in all forms. Each pass goes through the forms in the reverse direction
 * of the previous one, so that drift does not favour one form. */
static int measure_group(struct spatial *sp, unsigned first, unsigned n)
{
	/* MPS is on because without MPS the device runs the tenants in time slices, and heddle can
	 * preempt only on all SMs. min_managed_us is 1 because the kernels with trivial input are
	 * otherwise too short for heddle to manage. */
	bool mps = sp->b->device != DEV_CPU;
	struct stage_spec spec[LOST_FORMS] = {{.mps = mps},
		{.managed = true, .policy = "none", .options = {"--set", "min_managed_us=1"}},
		{.managed = true, .options = {"--set", "min_managed_us=1", "--temporal"}},
		{.managed = true, .options = {"--set", "min_managed_us=1"}}};
	int r = CLI_OK;

	for (unsigned pass = 0; r == CLI_OK && pass < count_passes(sp->b); pass++)
		for (unsigned i = 0; r == CLI_OK && i < LOST_FORMS; i++) {
			unsigned form = pass % 2 ? LOST_FORMS - 1 - i : i;
			struct bench_stage stage = {.spec = spec[form]};

			stage.spec.name = form_names[form];
			stage.spec.mps = mps;
			for (unsigned p = first; r == CLI_OK && p < first + n; p++)
				r = run_pair(sp, &stage, &sp->pair[p], form, pass);
			bench_stage_close(&stage);
		}
	return r;
}

/* ---- showing the tables ---- */

static void show_lows(struct spatial *sp)
{
	struct bench *b = sp->b;
	struct sheet s;

	sheet_begin(&s, b->c, b->j, "spatial",
		"<low|pairs|temporal|spatial|us lost: temporal|spatial|noisy pairs",
		"preemption overhead, (T - T_original) / T_original, and us lost a preemption "
		"beyond "
		"the same never preempted,\nbeside a trivial high-priority kernel (~ noise: rounds "
		"of a "
		"pair differ by more than 10 %%)");
	for (unsigned low = 0; low < PROGRAMS; low++) {
		double overhead[LOST_FORMS], us[LOST_FORMS];
		unsigned n = lost_mean(sp->pair, sp->n_pairs, (int)low, overhead, us);
		unsigned noisy = lost_noisy(sp->pair, sp->n_pairs, (int)low, FIGURES_SPREAD);

		if (!n)
			continue;
		sheet_row(&s);
		sheet_str(&s, "low", bench_programs[low]);
		sheet_uint(&s, "pairs", n);
		sheet_mark(&s, noisy);
		sheet_num(&s, "temporal_overhead", overhead[LOST_TEMPORAL], 100, 2, " %");
		sheet_num(&s, "spatial_overhead", overhead[LOST_SPATIAL], 100, 2, " %");
		sheet_num(&s, "temporal_lost_us", us[LOST_TEMPORAL], 1, 1, "");
		sheet_num(&s, "spatial_lost_us", us[LOST_SPATIAL], 1, 1, "");
		sheet_uint(&s, "noisy", noisy);
		sheet_row_end(&s);
	}
	sheet_end(&s);
}

/* noisy is the number of noisy pairs. */
static void show_lost(struct bench *b, const struct lost *l, unsigned noisy)
{
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
			noisy ? "noise: " : "", form_names[k], l->overhead[k] * 100, l->us[k],
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
	unsigned lows = count_lows(b);
	struct lost lost = {0};
	int r = sp ? list_pairs(sp, b) : cli_error(b->c, NULL, "out of memory");

	for (unsigned i = 0; r == CLI_OK && i < sp->n_pairs; i += lows)
		r = measure_group(sp, i, lows);
	if (!bench_shows(r))
		return r;
	if (lost_sum_up(sp->pair, sp->n_pairs, &lost))
		return cli_error(b->c, NULL, "out of memory");
	show_lows(sp);
	show_lost(b, &lost, lost_noisy(sp->pair, sp->n_pairs, -1, FIGURES_SPREAD));
	return r;
}
