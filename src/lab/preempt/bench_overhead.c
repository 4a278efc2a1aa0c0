/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures what the preemptible form costs a kernel that runs alone (FLEP, section 6.5, figure 17).
 * The plain and the preemptible form run in turn, in two passes, so that a change of the device
 * during the measurement shows as a difference of the passes. */
#include "lab/bench.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>

#define PASSES 2

enum { PLAIN, PREEMPTIBLE, FORMS };

struct cost {
	double ns[FORMS], spread[FORMS]; /* ns is 0 if there is no result */
};

unsigned bench_overhead_steps(const struct bench *b)
{
	(void)b;
	return FORMS * PASSES * PROGRAMS;
}

static int measure(struct bench *b, struct bench_stage stages[FORMS], unsigned i, struct cost *ret)
{
	double ns[FORMS][PASSES];

	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned k = 0; k < FORMS; k++) {
			struct stage_run run = bench_run(b, bench_programs[i], NULL);
			struct stage_result res;
			char key[64];

			snprintf(key, sizeof(key), "overhead %s, %s, pass %u", bench_programs[i],
				stages[k].spec.name, pass + 1);
			if (bench_pair(b, &stages[k], &run, key, &res) != CLI_OK)
				return CLI_FAILED;
			ns[k][pass] = res.low_kernel_ns;
		}
	for (unsigned k = 0; k < FORMS; k++) {
		bool all = ns[k][0] > 0 && ns[k][1] > 0;

		ret->ns[k] = all ? median_of(ns[k], PASSES) : 0;
		ret->spread[k] = all ? (ns[k][PASSES - 1] - ns[k][0]) / ret->ns[k] : 0;
	}
	return CLI_OK;
}

static void show(struct bench *b, const struct cost cost[PROGRAMS])
{
	double logs = 0, worst = 0;
	unsigned n = 0, noisy = 0;
	struct sheet s;

	sheet_begin(&s, b->c, b->j, "overhead", "<kernel|plain us|preemptible us|ratio|spread",
		"kernels alone, plain and preemptible (spread: of the two passes; ~ noise)");
	for (unsigned i = 0; i < PROGRAMS; i++) {
		const struct cost *c = &cost[i];
		double spread = MAX(c->spread[PLAIN], c->spread[PREEMPTIBLE]), ratio;

		if (!(c->ns[PLAIN] > 0) || !(c->ns[PREEMPTIBLE] > 0))
			continue;
		ratio = c->ns[PREEMPTIBLE] / c->ns[PLAIN];
		logs += log(ratio);
		worst = MAX(worst, ratio);
		n++;
		noisy += spread > FIGURES_SPREAD;
		sheet_row(&s);
		sheet_str(&s, "program", bench_programs[i]);
		sheet_num(&s, "plain_us", c->ns[PLAIN] / 1e3, 1, 1, "");
		sheet_num(&s, "preemptible_us", c->ns[PREEMPTIBLE] / 1e3, 1, 1, "");
		sheet_mark(&s, spread > FIGURES_SPREAD);
		sheet_num(&s, "ratio", ratio, 1, 4, "");
		sheet_num(&s, "spread", spread, 100, 1, " %");
		sheet_row_end(&s);
	}
	sheet_end(&s);
	json_num(b->j, "overhead_geomean", n ? exp(logs / n) - 1 : NAN);
	json_num(b->j, "overhead_worst", n ? worst - 1 : NAN);
	json_uint(b->j, "overhead_noisy", noisy);
	if (n)
		cli_show(b->c, "%sgeometric mean %+.2f %%, worst %+.2f %%\n",
			noisy ? "noise: " : "", (exp(logs / n) - 1) * 100, (worst - 1) * 100);
}

int bench_overhead(struct bench *b)
{
	struct bench_stage stages[FORMS] = {[PLAIN] = {.spec = {.name = "plain"}},
		[PREEMPTIBLE] = {.spec = {.name = "preemptible", .managed = true}}};
	struct cost cost[PROGRAMS] = {{{0}}};
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < PROGRAMS; i++)
		r = measure(b, stages, i, &cost[i]);
	for (unsigned k = 0; k < FORMS; k++)
		bench_stage_close(&stages[k]);
	if (bench_shows(r))
		show(b, cost);
	return r;
}
