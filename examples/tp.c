/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* TP: histograms of angles between points on a sphere (tpacf of Parboil). The host computes the
 * same cosines in single precision, with each operation rounded separately, and counts them, so
 * results are exact. A few different random sets repeat, and the host counts only those. */
#include "common.h"

#include <math.h>
#include <string.h>

#define BLOCK 256 /* these two as in the kernel */
#define BINS  20
#define PI    3.14159265358979323846
/* end of the first bin, in radians; the last bin counts all larger angles */
#define FIRST_ANGLE 0.02

struct problem {
	float *observed, *random;
	float limit[BINS - 1];
	uint32_t *histogram;
	uint32_t n, points, blocks;
	uint64_t seed;
};

/* n points, evenly spread: x of all, then y, then z. */
static void fill_points(float *to, uint32_t n, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		double z = 2.0 * ex_unit(seed, 2 * (uint64_t)i) - 1.0;
		double turn = 2.0 * PI * ex_unit(seed, 2 * (uint64_t)i + 1);
		double radius = sqrt(1.0 - z * z);
		to[i] = (float)(radius * cos(turn));
		to[n + (size_t)i] = (float)(radius * sin(turn));
		to[2 * (size_t)n + i] = (float)z;
	}
}

/* Returns the cosines of angles that grow by the same factor from bin to bin, up to 180 degrees. */
static void fill_limits(float *limit)
{
	double factor = pow(PI / FIRST_ANGLE, 1.0 / (BINS - 1));
	for (int k = 0; k < BINS - 1; k++)
		limit[k] = (float)cos(FIRST_ANGLE * pow(factor, k));
}

/* Computes a few cosines side by side, so that the compiler can use vector instructions. */
static void count_point(const struct problem *p, const float *random, uint32_t i, uint32_t *count)
{
	enum { SOME = 64 };
	float x = p->observed[i], y = p->observed[p->n + (size_t)i];
	float z = p->observed[2 * (size_t)p->n + i], cosine[SOME];
	const float *rx = random, *ry = rx + p->points, *rz = ry + p->points;
	for (uint32_t first = 0; first < p->points; first += SOME) {
		uint32_t some = p->points - first < SOME ? p->points - first : SOME;
		for (uint32_t j = 0; j < some; j++)
			cosine[j] = x * rx[first + j] + y * ry[first + j] + z * rz[first + j];
		for (uint32_t j = 0; j < some; j++) {
			uint32_t bin = BINS - 1; /* most pairs lie in the last bins */
			while (bin > 0 && cosine[j] >= p->limit[bin - 1])
				bin--;
			count[bin]++;
		}
	}
}

/* Histograms of all different sets in one numbering. */
static void count_pairs(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t k = from; k < to; k++) {
		const float *random = p->random + k / p->blocks * 3 * p->points;
		uint32_t first = (uint32_t)(k % p->blocks) * BLOCK;
		uint32_t *count = p->histogram + k * BINS;
		memset(count, 0, BINS * sizeof(count[0]));
		for (uint32_t i = first; i < first + BLOCK && i < p->n; i++)
			count_point(p, random, i, count);
	}
}

static void fill_sets(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t k = from; k < to; k++)
		fill_points(p->random + k * 3 * p->points, p->points, p->seed + 1 + k);
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], points = w->size->p[1], sets = w->size->p[2];
	uint32_t per_block = w->size->p[3], distinct = w->size->p[4];
	ex_apply_scale(w, &n, &sets, &per_block);
	distinct = distinct < sets ? distinct : sets;
	struct problem p = {.n = n, .points = points, .seed = w->seed};
	p.blocks = ex_div_up(n, BLOCK);
	w->grid[0] = p.blocks;
	w->grid[1] = sets / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	unsigned observed = ex_add_buffer(w, (size_t)n * 12, false);
	unsigned random = ex_add_buffer(w, (size_t)points * distinct * 12, false);
	unsigned limits = ex_add_buffer(w, sizeof(p.limit), false);
	ex_add_buffer(w, (size_t)sets * p.blocks * BINS * 4, true);
	ex_add_u32(w, n);
	ex_add_u32(w, points);
	ex_add_u32(w, distinct);
	ex_add_u32(w, per_block);
	p.observed = w->buffer[observed].host;
	p.random = w->buffer[random].host;
	fill_points(p.observed, n, w->seed);
	ex_parallel(distinct, fill_sets, &p);
	fill_limits(p.limit);
	memcpy(w->buffer[limits].host, p.limit, sizeof(p.limit));
	w->expected_bytes[0] = (size_t)distinct * p.blocks * BINS * 4;
	w->expected[0] = p.histogram = ex_alloc(w->expected_bytes[0]);
	ex_reference(w, (uint64_t)distinct * p.blocks, count_pairs, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_repeated(v, w->buffer[3].host, w->buffer[3].bytes / 4, w->expected[0],
		w->expected_bytes[0] / 4, 0.0, 0.0);
}

const struct example ex_program = {"tp", "tp", build, check};
