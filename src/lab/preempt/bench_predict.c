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

#define LEARN         10 /* sizes, and launches of each: a hundred */
#define HELD_OUT      9
#define HELD_LAUNCHES 5   /* of each */
#define QUICK         3   /* sizes of either kind, and launches; and programs */
#define LEAST         0.4 /* of the small input's work; */
#define GREATEST      2.0

struct predict {
	struct bench *b;
	unsigned programs, learn, held_out, launches;
	VEC(struct wire_shape) shapes; /* of the program that runs now */
	const char *program;
	bool is_wanted; /* the kernel that came last is the program's */
	bool failed;
	double sum, worst; /* of the programs' mean errors */
	unsigned n;        /* programs that have one */
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
	run.reference = NULL; /* of another size each time */
	progress_step("%s: %s, %.2f of its work", stage->spec.name, p->program, scale);
	return bench_try(p->b, stage, &run, &res);
}

/* ---- what heddled knows ---- */

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

/* ---- a program ---- */

static double show_size(struct predict *p, const struct wire_shape *s)
{
	double predicted = (double)s->predicted_ns, measured = (double)s->moving_ns;
	double error = fabs(predicted - measured) / measured;
	struct json *j = p->b->j;

	json_begin_object(j, NULL);
	json_uint(j, "blocks", s->total);
	json_num(j, "predicted_us", predicted / 1e3);
	json_num(j, "measured_us", measured / 1e3);
	json_num(j, "error", error);
	json_end(j, '}');
	return error;
}

/* Prints a program's figures. known[0] to known[n-1] are the sizes that heddled knew before the
 * held-out sizes ran; only later sizes count. */
static void show_program(struct predict *p, const struct wire_shape *known, size_t n)
{
	double sum = 0, worst = 0;
	unsigned held_out = 0;
	struct json *j = p->b->j;

	json_begin_object(j, NULL);
	json_str(j, "program", p->program);
	json_uint(j, "sizes_learnt", n);
	json_begin_array(j, "sizes");
	for (size_t i = 0; i < p->shapes.len; i++) {
		const struct wire_shape *s = &p->shapes.at[i];
		double error;

		if (is_known(known, n, s) || s->predicted_ns == UINT64_MAX || !s->moving_ns)
			continue;
		error = show_size(p, s);
		sum += error;
		worst = MAX(worst, error);
		held_out++;
	}
	json_end(j, ']');
	json_num(j, "error_mean", held_out ? sum / held_out : NAN);
	json_num(j, "error_worst", held_out ? worst : NAN);
	json_end(j, '}');
	if (!held_out) {
		cli_show(p->b->c, "%-5s no size was predicted: its launches were not managed\n",
			p->program);
		p->b->failures++;
		return;
	}
	cli_show(p->b->c, "%-5s %5zu %8u %10.1f %% %10.1f %%\n", p->program, n, held_out,
		sum / held_out * 100, worst * 100);
	p->sum += sum / held_out;
	p->worst = MAX(p->worst, sum / held_out);
	p->n++;
}

static int measure_program(struct predict *p, struct stage *stage, const char *program)
{
	struct wire_shape *known;
	size_t n = 0;
	int r = CLI_OK;

	p->program = program;
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
		show_program(p, known, n);
	return r;
}

int bench_predict(struct bench *b)
{
	struct stage_spec spec = {.name = "heddle",
		.device = b->device,
		.managed = true,
		.options = {"--set", "min_managed_us=1"}};
	struct predict p;
	struct stage stage;
	int r = stage_open(b->c, &spec, &stage);

	if (r != CLI_OK)
		return r;
	plan_sizes(&p, b);
	json_begin_array(b->j, "predict");
	cli_show(b->c, "\nerror of predicted durations of sizes that have never run, %%\n"
		       "      sizes learnt, held out    mean       worst\n");
	for (unsigned i = 0; r == CLI_OK && i < p.programs; i++)
		r = measure_program(&p, &stage, bench_programs[i]);
	json_end(b->j, ']');
	json_num(b->j, "predict_error_mean", p.n ? p.sum / p.n : NAN);
	json_num(b->j, "predict_error_worst", p.n ? p.worst : NAN);
	if (p.n)
		cli_show(b->c, "%.1f %% in the mean of the programs, %.1f %% for the worst\n",
			p.sum / p.n * 100, p.worst * 100);
	stage_close(&stage);
	VEC_FREE(&p.shapes);
	return r;
}
