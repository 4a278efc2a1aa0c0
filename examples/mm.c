/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MM: products of square matrices of small integers, so every element is exact. Instead of
 * multiplying again, the host checks that C r = A (B r) for a random vector r, in integers modulo
 * 2^64. A wrong element goes unnoticed with a probability of 2^-32; otherwise its row is
 * reported. */
#include "common.h"

#include <stdlib.h>

#define TILE  64 /* as in the kernel */
#define BLOCK 256

static void fill(void *context, uint64_t from, uint64_t to)
{
	const struct ex_work *w = context;
	float *a = w->buffer[0].host, *b = w->buffer[1].host;
	for (uint64_t i = from; i < to; i++) {
		a[i] = (float)ex_small_int(w->seed, i);
		b[i] = (float)ex_small_int(w->seed + 1, i);
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], products = w->size->p[1], per_block = w->size->p[2];
	uint32_t rows = products / per_block; /* of blocks */
	if (per_block > 1)
		per_block = (uint32_t)(per_block * w->scale + 0.5);
	else
		rows = (uint32_t)(rows * w->scale + 0.5);
	rows = rows ? rows : 1;
	per_block = per_block ? per_block : 1;
	products = rows * per_block;
	size_t bytes = (size_t)n * n * products * 4;
	ex_add_buffer(w, bytes, false);
	ex_add_buffer(w, bytes, false);
	ex_add_buffer(w, bytes, true);
	ex_add_u32(w, n);
	ex_add_u32(w, per_block);
	w->grid[0] = w->grid[1] = n / TILE;
	w->grid[2] = rows;
	w->block = BLOCK;
	ex_parallel((uint64_t)n * n * products, fill, w);
}

struct probe {
	const struct ex_work *w;
	uint8_t *row_wrong;
	uint32_t n;
};

/* Multiplies m by v, row by row. An element that is not an integer counts as wrong. */
static void times(const float *m, const uint64_t *v, uint64_t *ret_product, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t sum = 0;
		for (uint32_t j = 0; j < n; j++) {
			float e = m[(size_t)i * n + j];
			bool whole = e > -1.0e9f && e < 1.0e9f && e == (float)(int32_t)e;
			sum += whole ? (uint64_t)(int64_t)(int32_t)e * v[j] : 0x5bd1e995u + j;
		}
		ret_product[i] = sum;
	}
}

static void probe_products(void *context, uint64_t from, uint64_t to)
{
	struct probe *p = context;
	size_t matrix = (size_t)p->n * p->n;
	uint64_t *r = ex_alloc((size_t)p->n * 8 * 4), *br = r + p->n, *abr = br + p->n;
	uint64_t *cr = abr + p->n;
	for (uint64_t k = from; k < to; k++) {
		for (uint32_t i = 0; i < p->n; i++)
			r[i] = ex_random(p->w->seed + 7, k * p->n + i) >> 32 | 1;
		times((const float *)p->w->buffer[1].host + k * matrix, r, br, p->n);
		times((const float *)p->w->buffer[0].host + k * matrix, br, abr, p->n);
		times((const float *)p->w->buffer[2].host + k * matrix, r, cr, p->n);
		for (uint32_t i = 0; i < p->n; i++)
			p->row_wrong[k * p->n + i] = cr[i] != abr[i];
	}
	free(r);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	uint32_t n = w->grid[0] * TILE;
	uint64_t products = w->buffer[2].bytes / 4 / n / n;
	struct probe p = {w, ex_alloc(products * n), n};
	ex_parallel(products, probe_products, &p);
	for (uint64_t k = 0; k < products * n; k++)
		if (p.row_wrong[k] && v->wrong++ == 0)
			v->first_wrong = k * n; /* the first element of the row */
	free(p.row_wrong);
}

const struct example ex_program = {"mm", "mm", build, check};
