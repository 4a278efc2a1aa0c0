/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* BO: European calls by binomial trees (binomialOptions of the CUDA samples). The host walks the
 * same trees in double precision and the device in single precision, so results are compared within
 * 2e-5 of max(value, 1). All batches price the same options, so the host computes each of them
 * once. */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define BLOCK      128
#define STEPS_MAX  2048 /* of the kernel: BLOCK * NODES */
#define RATE       0.06
#define VOLATILITY 0.10
#define BOUND      2.0e-5

enum { PRICE, STRIKE, MOVE, UP, DOWN, ROWS }; /* of the options' array */

struct problem {
	float *option, *value;
	uint32_t options, steps;
	uint64_t seed;
};

static void draw_option(const struct problem *p, uint32_t i)
{
	double years = 1.0 + 9.0 * ex_unit(p->seed, 3 * i + 2), step = years / p->steps;
	double move = VOLATILITY * sqrt(step), discount = exp(-RATE * step);
	double up = (1.0 / discount - exp(-move)) / (exp(move) - exp(-move));
	float *to = p->option + i;
	to[PRICE * p->options] = 5.0f + 25.0f * ex_unit(p->seed, 3 * i);
	to[STRIKE * p->options] = 1.0f + 99.0f * ex_unit(p->seed, 3 * i + 1);
	to[MOVE * p->options] = (float)move;
	to[UP * p->options] = (float)(up * discount);
	to[DOWN * p->options] = (float)((1.0 - up) * discount);
}

static void price(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	double *node = ex_alloc((p->steps + 1) * sizeof(double));
	for (uint64_t i = from; i < to; i++) {
		double option[ROWS];
		for (uint32_t k = 0; k < ROWS; k++)
			option[k] = p->option[k * p->options + i];
		for (uint32_t j = 0; j <= p->steps; j++) {
			double moves = 2.0 * j - p->steps;
			double gain = option[PRICE] * exp(option[MOVE] * moves) - option[STRIKE];
			node[j] = gain > 0.0 ? gain : 0.0;
		}
		for (uint32_t level = p->steps; level > 0; level--)
			for (uint32_t j = 0; j < level; j++)
				node[j] = option[UP] * node[j + 1] + option[DOWN] * node[j];
		p->value[i] = (float)node[0];
	}
	free(node);
}

static void build(struct ex_work *w)
{
	uint32_t options = w->size->p[0], steps = w->size->p[1], batches = w->size->p[2];
	uint32_t per_block = w->size->p[3];
	ex_apply_scale(w, &options, &batches, &per_block);
	steps = steps < STEPS_MAX ? steps : STEPS_MAX;
	unsigned option = ex_add_buffer(w, (size_t)options * ROWS * 4, false);
	ex_add_buffer(w, (size_t)options * batches * 4, true);
	ex_add_u32(w, options);
	ex_add_u32(w, steps);
	ex_add_u32(w, per_block);
	w->grid[0] = options;
	w->grid[1] = batches / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	w->expected[0] = ex_alloc((size_t)options * 4);
	w->expected_bytes[0] = (size_t)options * 4;
	struct problem p = {w->buffer[option].host, w->expected[0], options, steps, w->seed};
	for (uint32_t i = 0; i < options; i++)
		draw_option(&p, i);
	ex_reference(w, options, price, &p);
}

/* Batch b begins with option b, so its expected result is the options' values, rotated by b. */
static void check(const struct ex_work *w, struct ex_verdict *v)
{
	uint32_t options = (uint32_t)(w->expected_bytes[0] / 4);
	uint64_t count = w->buffer[1].bytes / 4;
	const float *value = w->expected[0];
	float *want = ex_alloc(count * 4);
	for (uint64_t i = 0; i < count; i++)
		want[i] = value[(i + i / options) % options];
	ex_check_bound(v, w->buffer[1].host, want, count, BOUND, 1.0);
	free(want);
}

const struct example ex_program = {"bo", "bo", build, check};
