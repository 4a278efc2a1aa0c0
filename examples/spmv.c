/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* SPMV: y = A x with rows whose lengths differ greatly around a mean, and elements in a band.
 * Values are small integers, so sums are exact in any order. */
#include "common.h"

#define BLOCK 128
#define BAND  16384

struct problem {
	float *value;
	uint32_t *column;
	const uint32_t *row_start;
	const float *x;
	float *y;
	uint32_t rows;
	uint64_t seed;
};

static void fill_rows(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	uint64_t band = p->rows < BAND ? p->rows : BAND;
	for (uint64_t row = from; row < to; row++)
		for (uint32_t j = p->row_start[row]; j < p->row_start[row + 1]; j++) {
			uint64_t r = ex_random(p->seed, j);
			p->value[j] = (float)((int)(r >> 40) % 17 - 8);
			p->column[j] = (uint32_t)((row + r % band) % p->rows);
		}
}

/* Rows of all right-hand sides in one numbering. */
static void multiply(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t k = from; k < to; k++) {
		uint64_t row = k % p->rows;
		const float *x = p->x + k / p->rows * p->rows;
		float sum = 0.0f;
		for (uint32_t j = p->row_start[row]; j < p->row_start[row + 1]; j++)
			sum += p->value[j] * x[p->column[j]];
		p->y[k] = sum;
	}
}

/* From a quarter of the mean to seven quarters of it. */
static void fill_row_start(uint32_t *start, uint32_t rows, uint32_t mean, uint64_t seed)
{
	start[0] = 0;
	for (uint32_t i = 0; i < rows; i++)
		start[i + 1] = start[i] + mean / 4 +
			       (uint32_t)(ex_random(seed, i) % (mean + mean / 2 + 1));
}

static void build(struct ex_work *w)
{
	uint32_t rows = w->size->p[0], mean = w->size->p[1], sides = w->size->p[2];
	uint32_t per_block = w->size->p[3];
	ex_apply_scale(w, &rows, &sides, &per_block);
	uint32_t *start = ex_alloc(((size_t)rows + 1) * 4);
	fill_row_start(start, rows, mean, w->seed);
	size_t elements = start[rows], vectors = (size_t)rows * sides;
	unsigned value = ex_add_buffer(w, elements * 4, false);
	unsigned column = ex_add_buffer(w, elements * 4, false);
	unsigned row_start = ex_add_buffer(w, ((size_t)rows + 1) * 4, false);
	for (uint32_t i = 0; i <= rows; i++)
		((uint32_t *)w->buffer[row_start].host)[i] = start[i];
	free(start);
	unsigned from = ex_add_buffer(w, vectors * 4, false);
	ex_add_buffer(w, vectors * 4, true);
	ex_add_u32(w, rows);
	ex_add_u32(w, rows);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(rows, BLOCK / 32);
	w->grid[1] = sides / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	float *x = w->buffer[from].host;
	for (size_t i = 0; i < vectors; i++)
		x[i] = (float)ex_small_int(w->seed + 2, i);
	w->expected[0] = ex_alloc(vectors * 4);
	struct problem p = {w->buffer[value].host, w->buffer[column].host,
		w->buffer[row_start].host, x, w->expected[0], rows, w->seed + 1};
	ex_parallel(rows, fill_rows, &p);
	w->expected_bytes[0] = vectors * 4;
	ex_reference(w, vectors, multiply, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[4].host, w->expected[0], w->buffer[4].bytes / 4);
}

const struct example ex_program = {"spmv", "spmv", build, check};
