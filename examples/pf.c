/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PF: cheapest paths down a grid of weights. Weights are integers, so the host's dynamic
 * programming over whole rows gives exactly the same values. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 256 /* as in the kernel */

struct problem {
	const uint8_t *weight;
	const int32_t *above;
	int32_t *cost;
	uint32_t columns, rows, steps;
};

static int32_t smaller(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static void descend(int32_t *to, const int32_t *from, const uint8_t *weight, uint32_t n)
{
	if (n == 1) {
		to[0] = from[0] + weight[0];
		return;
	}
	to[0] = smaller(from[0], from[1]) + weight[0];
	for (uint32_t i = 1; i + 1 < n; i++)
		to[i] = smaller(smaller(from[i - 1], from[i]), from[i + 1]) + weight[i];
	to[n - 1] = smaller(from[n - 2], from[n - 1]) + weight[n - 1];
}

static void solve(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	size_t bytes = (size_t)p->columns * 4;
	int32_t *line[2] = {ex_alloc(bytes), ex_alloc(bytes)};
	for (uint64_t batch = from; batch < to; batch++) {
		memcpy(line[0], p->above, bytes);
		for (uint32_t s = 0; s < p->steps; s++) {
			size_t row = (batch + s) % p->rows;
			descend(line[(s + 1) & 1], line[s & 1], p->weight + row * p->columns,
				p->columns);
		}
		memcpy(p->cost + batch * p->columns, line[p->steps & 1], bytes);
	}
	free(line[0]);
	free(line[1]);
}

static void build(struct ex_work *w)
{
	const uint32_t *size = w->size->p;
	uint32_t columns = size[0], rows = size[1], steps = size[2], batches = size[3];
	uint32_t per_block = size[4];
	ex_apply_scale(w, &columns, &batches, &per_block);
	size_t cells = (size_t)columns * rows;
	unsigned weight = ex_add_buffer(w, cells, false);
	unsigned above = ex_add_buffer(w, (size_t)columns * 4, false);
	size_t out = (size_t)batches * columns * 4;
	ex_add_buffer(w, out, true);
	ex_add_u32(w, columns);
	ex_add_u32(w, rows);
	ex_add_u32(w, steps);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(columns, BLOCK - 2 * steps);
	w->grid[1] = batches / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	uint8_t *at = w->buffer[weight].host;
	for (size_t i = 0; i < cells; i++)
		at[i] = (uint8_t)(ex_random(w->seed, i) % 10);
	int32_t *first = w->buffer[above].host;
	for (uint32_t i = 0; i < columns; i++)
		first[i] = (int32_t)(ex_random(w->seed + 1, i) % 100);
	w->expected[0] = ex_alloc(out);
	struct problem p = {at, first, w->expected[0], columns, rows, steps};
	w->expected_bytes[0] = out;
	ex_reference(w, batches, solve, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[2].host, w->expected[0], w->buffer[2].bytes / 4);
}

const struct example ex_program = {"pf", "pf", build, check};
