/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures the gain of the high-priority program and the loss of the low-priority program if heddle
 * frees more SMs than the high-priority program needs (FLEP, section 6.4, figure 16). */
#include "lab/bench.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>

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

	return 2 * n + n * steps; /* runs of programs alone and of pairs */
}

static int extra_alone(struct bench *b, struct extra_pair *pairs, unsigned n)
{
	struct bench_stage stage = {.spec = {.name = "alone", .mps = b->device != DEV_CPU}};
	char key[64];
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		struct stage_run low = bench_run(b, bench_programs[pairs[i].low], NULL);
		struct stage_run high = bench_run(b, NULL, bench_programs[pairs[i].high]);
		struct stage_result res;

		high.high.size = "trivial";
		snprintf(key, sizeof(key), "extra %s alone, large", low.low.name);
		r = bench_pair(b, &stage, &low, key, &res);
		pairs[i].low_alone_ns = res.low_ns;
		snprintf(key, sizeof(key), "extra %s alone, trivial", high.high.name);
		if (r == CLI_OK)
			r = bench_pair(b, &stage, &high, key, &res);
		pairs[i].high_alone_ns = res.high_ns;
	}
	bench_stage_close(&stage);
	return r;
}

static int extra_step(
	struct bench *b, struct extra_pair *pairs, unsigned n, unsigned step, unsigned sms)
{
	char text[32], key[64];
	struct bench_stage stage = {
		.spec = {.name = text,
			.managed = true,
			.mps = b->device != DEV_CPU,
			.options = {"--set", "min_managed_us=1", "--set", text}}};
	int r = CLI_OK;

	snprintf(text, sizeof(text), "extra_sms=%u", sms);
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		struct stage_run run =
			bench_run(b, bench_programs[pairs[i].low], bench_programs[pairs[i].high]);

		run.high.size = "trivial";
		snprintf(key, sizeof(key), "extra %s + %s, %s", run.low.name, run.high.name, text);
		r = bench_pair(b, &stage, &run, key, &pairs[i].step[step]);
	}
	bench_stage_close(&stage);
	return r;
}

static void show_step(struct sheet *s, const struct extra_pair *p, unsigned step, unsigned sms)
{
	const struct stage_result *r = &p->step[step];
	double speedup = r->high_ns && p->step[0].high_ns ? p->step[0].high_ns / r->high_ns : NAN;
	double high = p->high_alone_ns ? r->high_ns / p->high_alone_ns : NAN;
	double low = p->low_alone_ns ? r->low_ns / p->low_alone_ns : NAN;
	struct figures f;
	const char *noise = NULL;
	char why[96];

	if (!r->high_ns)
		return;
	if (high > 0 && low > 0) {
		f = figures_of(r, p->low_alone_ns, p->high_alone_ns);
		noise = figures_noise(&f, 2, stage_spread(r, true), why, sizeof(why));
	}
	sheet_row(s);
	table_cell(&s->t, "%s", bench_programs[p->low]);
	table_cell(&s->t, "%s", bench_programs[p->high]);
	sheet_uint(s, "extra_sms", sms);
	sheet_mark(s, noise);
	sheet_num(s, "high_us", r->high_ns / 1e3, 1, 1, "");
	sheet_num(s, "low_us", r->low_ns / 1e3, 1, 1, "");
	json_str(s->j, "noise", noise);
	sheet_num(s, "high_speedup", speedup, 1, 2, "x");
	sheet_num(s, "high_slowdown", high, 1, 2, "x");
	sheet_num(s, "low_slowdown", low, 1, 3, "x");
	sheet_uint(s, "preemptions", r->preemptions + r->shrinks);
	json_uint(s->j, "checked", r->checked);
	json_uint(s->j, "wrong", r->wrong);
	sheet_row_end(s);
}

static void show_extra(struct bench *b, const struct extra_pair *pairs, unsigned n,
	const unsigned *sms, unsigned steps)
{
	struct sheet s;

	sheet_begin(&s, b->c, b->j, "extra",
		"<low|<high|extra SMs|high us|low us|speedup|high over alone|low over "
		"alone|preempted",
		"SMs given up beyond those that a trivial high-priority kernel needs: its "
		"turnaround, "
		"its speedup over\nnone, and both programs' times over alone (~ noise)");
	for (unsigned i = 0; i < n; i++) {
		json_begin_object(b->j, NULL);
		json_str(b->j, "low", bench_programs[pairs[i].low]);
		json_str(b->j, "high", bench_programs[pairs[i].high]);
		json_num(b->j, "low_alone_us", pairs[i].low_alone_ns / 1e3);
		json_num(b->j, "high_alone_us", pairs[i].high_alone_ns / 1e3);
		json_begin_array(b->j, "steps");
		for (unsigned k = 0; k < steps; k++)
			show_step(&s, &pairs[i], k, sms[k]);
		json_end(b->j, ']');
		json_end(b->j, '}');
	}
	sheet_end(&s);
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
	if (bench_shows(r))
		show_extra(b, pairs, n, sms, steps);
	return r;
}
