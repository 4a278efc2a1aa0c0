/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures how well heddled predicts launch durations for input sizes that have never run (FLEP,
 * section 6.2, figure 7). Each program first runs at some sizes, from which heddled learns, and
 * then at sizes in between. Both times in the table come from heddled: its prediction before the
 * first launch of a size, and the mean measured duration of a few launches of that size. */
#include "lab/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "front/ask.h"
#include "front/progress.h"

#define LEARN         10 /* number of sizes to learn from, and of launches of each size */
#define HELD_OUT      9
#define HELD_LAUNCHES 5 /* launches of each held-out size */
/* with --quick: number of programs, of sizes of each kind, and of launches */
#define QUICK 3
/* the smallest and the greatest size, relative to the small input's work */
#define LEAST    0.4
#define GREATEST 2.0

struct predict {
	struct bench *b;
	unsigned programs, learn, held_out, launches;
	VEC(struct wire_shape) shapes; /* shapes of the current program's kernel */
	const char *program;
	bool is_wanted; /* the latest kernel in heddled's answer is the program's */
	bool failed;
};

static void plan_sizes(struct predict *p, struct bench *b)
{
	*p = (struct predict){.b = b,
		.programs = b->quick ? QUICK - 1 : PROGRAMS,
		.learn = b->quick ? QUICK : LEARN,
		.held_out = b->quick ? QUICK - 1 : HELD_OUT,
		.launches = b->quick ? QUICK : LEARN};
}

unsigned bench_predict_steps(const struct bench *b)
{
	struct predict p;

	plan_sizes(&p, (struct bench *)b);
	return p.programs * (p.learn + p.held_out);
}

/* Returns the scale of size i. The sizes to learn from are evenly spaced, and the held-out sizes
 * are halfway between them. */
static double scale_of(const struct predict *p, unsigned i, bool held_out)
{
	double step = (GREATEST - LEAST) / (p->learn - 1);

	return LEAST + step * (i + (held_out ? 0.5 : 0));
}

/* Returns which of the learnt sizes to run at step i. The order is shuffled so that the largest
 * size does not run last, when the device is warmest. If the number of sizes is a multiple of 3,
 * the sizes stay in ascending order. */
static unsigned shuffled_index(const struct predict *p, unsigned i)
{
	return p->learn % 3 ? i * 3 % p->learn : i;
}

static int run_size(struct predict *p, struct stage *stage, double scale, unsigned launches)
{
	struct stage_run run = bench_run(p->b, p->program, NULL);
	struct stage_result res = {0};

	run.low.size = "small";
	run.low.scale = scale;
	run.rounds = launches;
	run.reference = NULL; /* the host's result differs for each size, so it is not cached */
	progress_step("%s: %s, %.2f of its work", stage->spec.name, p->program, scale);
	if (stage_run(stage, &p->b->arena, &run, &res) != CLI_OK)
		p->b->failures++;
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}

/* ---- asking heddled for its predictions ---- */

static void take_kernel(void *user, const struct wire_kernel *k, const struct wire_shape *s)
{
	struct predict *p = user;

	if (k)
		p->is_wanted = !strcmp(k->name, p->program);
	if (s && p->is_wanted && !VEC_PUSH(&p->shapes, *s))
		p->failed = true;
}

static int ask_heddled(struct predict *p, const struct stage *stage)
{
	char socket[108];
	int e;

	snprintf(socket, sizeof(socket), "%s/heddled.sock", stage->dir);
	p->shapes.len = 0;
	e = ask_profile(socket, take_kernel, p);
	e = p->failed ? -ENOMEM : e;
	return e ? cli_error(p->b->c, NULL, "heddled does not say what it has learnt: %s",
			   strerror(-e))
		 : CLI_OK;
}

static bool is_same(const struct wire_shape *a, const struct wire_shape *b)
{
	return a->total == b->total && a->threads == b->threads &&
	       a->shared_bytes == b->shared_bytes && !memcmp(a->input, b->input, sizeof(a->input));
}

static bool is_known(const struct wire_shape *known, size_t n, const struct wire_shape *s)
{
	for (size_t i = 0; i < n; i++)
		if (is_same(&known[i], s))
			return true;
	return false;
}

/* ---- measuring a program ---- */

/* Packs a row of samples: "learnt" is the number of sizes that heddled knew before. Each held-out
 * size has a value in "blocks", "predicted_ns" and "measured_ns". known[0] to known[n-1] are the
 * sizes that heddled knew before the held-out sizes ran; only later sizes count. */
static json_t *pack(const struct predict *p, const struct wire_shape *known, size_t n)
{
	json_t *blocks = json_array(), *predicted = json_array(), *measured = json_array();

	for (size_t i = 0; i < p->shapes.len; i++) {
		const struct wire_shape *s = &p->shapes.at[i];

		if (is_known(known, n, s) || s->predicted_ns == UINT64_MAX || !s->moving_ns)
			continue;
		json_array_append_new(blocks, json_integer((json_int_t)s->total));
		json_array_append_new(predicted, json_integer((json_int_t)s->predicted_ns));
		json_array_append_new(measured, json_integer((json_int_t)s->moving_ns));
	}
	return json_pack("{so so so so}", "learnt", samples_number((double)n), "blocks", blocks,
		"predicted_ns", predicted, "measured_ns", measured);
}

static int measure_program(struct predict *p, struct stage *stage, const char *key)
{
	struct wire_shape *known;
	size_t n = 0;
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < p->learn; i++)
		r = run_size(p, stage, scale_of(p, shuffled_index(p, i), false), p->launches);
	if (r == CLI_OK)
		r = ask_heddled(p, stage);
	if (r != CLI_OK)
		return r;
	n = p->shapes.len;
	known = ARENA_ARRAY(&p->b->arena, struct wire_shape, n + 1);
	if (!known)
		return cli_error(p->b->c, NULL, "out of memory");
	if (n)
		memcpy(known, p->shapes.at, n * sizeof(*known));
	for (unsigned i = 0; r == CLI_OK && i < p->held_out; i++)
		r = run_size(p, stage, scale_of(p, i, true), HELD_LAUNCHES);
	if (r == CLI_OK)
		r = ask_heddled(p, stage);
	if (r == CLI_OK)
		samples_add(&p->b->samples, key, pack(p, known, n));
	return r;
}

static int measure_programs(struct predict *p)
{
	struct bench_stage stage = {.spec = {.name = "heddle",
					    .managed = true,
					    .options = {"--set", "min_managed_us=1"}}};
	int r = CLI_OK;
	char key[32];

	for (unsigned i = 0; r == CLI_OK && i < p->programs; i++) {
		p->program = bench_programs[i];
		snprintf(key, sizeof(key), "predict %s", p->program);
		if (samples_row(&p->b->samples, key) || !samples_may_begin(&p->b->samples)) {
			progress_more(-(int)(p->learn + p->held_out));
			continue;
		}
		r = bench_stage_need(p->b, &stage);
		if (r == CLI_OK)
			r = measure_program(p, &stage.stage, key);
	}
	bench_stage_close(&stage);
	return r;
}

/* ---- showing the tables ---- */

/* Shows a program's row. *ret_mean is its mean error; NaN if no size was predicted, because its
 * launches were not managed. */
static void show_program(struct predict *p, struct sheet *s, const json_t *row, double *ret_mean)
{
	unsigned n, m, k;
	double *blocks = samples_values(row, "blocks", &p->b->arena, &n);
	double *predicted = samples_values(row, "predicted_ns", &p->b->arena, &m);
	double *measured = samples_values(row, "measured_ns", &p->b->arena, &k);
	double sum = 0, worst = 0;

	n = n == m && n == k ? n : 0;
	sheet_row(s);
	sheet_str(s, "program", p->program);
	sheet_uint(s, "sizes_learnt", (uint64_t)samples_first(row, "learnt"));
	table_cell(&s->t, "%u", n);
	json_begin_array(s->j, "sizes");
	for (unsigned i = 0; i < n; i++) {
		double error = fabs(predicted[i] - measured[i]) / measured[i];

		json_begin_object(s->j, NULL);
		json_uint(s->j, "blocks", (uint64_t)blocks[i]);
		json_num(s->j, "predicted_us", predicted[i] / 1e3);
		json_num(s->j, "measured_us", measured[i] / 1e3);
		json_num(s->j, "error", error);
		json_end(s->j, '}');
		sum += error;
		worst = MAX(worst, error);
	}
	json_end(s->j, ']');
	*ret_mean = n ? sum / n : NAN;
	sheet_num(s, "error_mean", *ret_mean, 100, 1, " %");
	sheet_num(s, "error_worst", n ? worst : NAN, 100, 1, " %");
	sheet_row_end(s);
}

static void show(struct predict *p)
{
	struct bench *b = p->b;
	double sum = 0, worst = 0, mean;
	unsigned n = 0;
	struct sheet s;
	char key[32];

	sheet_begin(&s, b->c, b->j, "predict", "<program|sizes learnt|held out|error: mean|worst",
		"error of predicted durations of sizes that have never run");
	for (unsigned i = 0; i < p->programs; i++) {
		const json_t *row;

		p->program = bench_programs[i];
		snprintf(key, sizeof(key), "predict %s", p->program);
		row = samples_row(&b->samples, key);
		if (!row)
			continue;
		show_program(p, &s, row, &mean);
		if (isnan(mean)) {
			b->failures++;
			continue;
		}
		sum += mean;
		worst = MAX(worst, mean);
		n++;
	}
	sheet_end(&s);
	json_num(b->j, "predict_error_mean", n ? sum / n : NAN);
	json_num(b->j, "predict_error_worst", n ? worst : NAN);
	if (n)
		cli_show(b->c, "%.1f %% in the mean of the programs, %.1f %% for the worst\n",
			sum / n * 100, worst * 100);
}

int bench_predict(struct bench *b)
{
	struct predict p;
	int r;

	plan_sizes(&p, b);
	r = measure_programs(&p);
	if (bench_shows(r))
		show(&p);
	VEC_FREE(&p.shapes);
	return r;
}
