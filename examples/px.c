/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PX: resampling of a particle filter (particlefilter of Rodinia). For each particle, the device
 * searches the cumulative weights from the start. The searched numbers increase from particle to
 * particle, so the host searches once for all particles. There are only comparisons, so results are
 * exact. */
#include "common.h"

#include <math.h>

#define BLOCK 128
#define WIDE  512.0f /* of the picture that the particles lie in */

struct problem {
	float *x, *y, *cumulative, *number; /* one frame after the other */
	float *new_x, *new_y;
	uint32_t n;
	uint64_t seed;
};

/* Makes weights like likelihoods: a few particles have most of the weight. */
static void fill_frame(const struct problem *p, uint64_t frame)
{
	uint64_t first = frame * p->n;
	double sum = 0.0, all = 0.0, start = ex_unit(p->seed, frame);
	for (uint64_t i = first; i < first + p->n; i++)
		all += exp(-8.0 * ex_unit(p->seed + 1, i));
	for (uint64_t i = first; i < first + p->n; i++) {
		sum += exp(-8.0 * ex_unit(p->seed + 1, i));
		p->cumulative[i] = (float)(sum / all);
		p->number[i] = (float)((start + (double)(i - first)) / p->n);
		p->x[i] = WIDE * ex_unit(p->seed + 2, i);
		p->y[i] = WIDE * ex_unit(p->seed + 3, i);
	}
}

static void resample_frame(const struct problem *p, uint64_t frame)
{
	uint64_t first = frame * p->n, found = first, last = first + p->n - 1;
	for (uint64_t i = first; i <= last; i++) {
		while (found < last && p->cumulative[found] < p->number[i])
			found++;
		p->new_x[i] = p->x[found];
		p->new_y[i] = p->y[found];
	}
}

static void fill_and_resample(void *context, uint64_t from, uint64_t to)
{
	for (uint64_t frame = from; frame < to; frame++) {
		fill_frame(context, frame);
		resample_frame(context, frame);
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], frames = w->size->p[1], per_block = w->size->p[2];
	ex_apply_scale(w, &n, &frames, &per_block);
	size_t bytes = (size_t)n * frames * 4;
	unsigned first =
		ex_add_buffer(w, bytes, false); /* x, y, cumulative, number, then results */
	for (int k = 1; k < 4; k++)
		ex_add_buffer(w, bytes, false);
	ex_add_buffer(w, bytes, true);
	ex_add_buffer(w, bytes, true);
	ex_add_u32(w, n);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = frames / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	w->expected[0] = ex_alloc(bytes);
	w->expected[1] = ex_alloc(bytes);
	struct problem p = {w->buffer[first].host, w->buffer[first + 1].host,
		w->buffer[first + 2].host, w->buffer[first + 3].host, w->expected[0],
		w->expected[1], n, w->seed};
	ex_parallel(frames, fill_and_resample, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	for (unsigned k = 0; k < 2; k++)
		ex_check_words(
			v, w->buffer[4 + k].host, w->expected[k], w->buffer[4 + k].bytes / 4);
}

const struct example ex_program = {"px", "px", build, check};
