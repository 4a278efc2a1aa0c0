/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NN: the ten records nearest to each of many points. The kernel stores the smallest distance among
 * the records of each warp, which is compared bit for bit. The ten warps with the smallest
 * distances contain the ten nearest records. For the first query, the host picks these out and
 * compares them with a search through all records. */
#include "common.h"

#include <math.h>
#include <string.h>

#define BLOCK    256
#define PER_LANE 4 /* as in the kernel */
#define PER_WARP (32 * PER_LANE)
#define NEAREST  10

struct problem {
	const float *lat, *lng, *query_lat, *query_lng;
	float *nearest;
	uint32_t n, warps;
};

/* Computes the distances of 16 lanes side by side, so that the compiler can use vector
 * instructions. */
static float nearest_of_warp(const struct problem *p, uint32_t warp, float qx, float qy)
{
	float best[16];
	uint32_t begin = warp * PER_WARP, i = begin;
	uint32_t end = begin + PER_WARP < p->n ? begin + PER_WARP : p->n;
	for (uint32_t k = 0; k < 16; k++)
		best[k] = 3.0e38f;
	for (; i + 16 <= end && i < end; i += 16)
		for (uint32_t k = 0; k < 16; k++) {
			float dx = p->lat[i + k] - qx, dy = p->lng[i + k] - qy;
			float d = dx * dx + dy * dy;
			best[k] = d < best[k] ? d : best[k];
		}
	for (; i < end; i++) {
		float dx = p->lat[i] - qx, dy = p->lng[i] - qy;
		float d = dx * dx + dy * dy;
		best[0] = d < best[0] ? d : best[0];
	}
	for (uint32_t k = 1; k < 16; k++)
		best[0] = best[k] < best[0] ? best[k] : best[0];
	return sqrtf(best[0]);
}

static void answer(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t q = from; q < to; q++)
		for (uint32_t warp = 0; warp < p->warps; warp++)
			p->nearest[q * p->warps + warp] =
				nearest_of_warp(p, warp, p->query_lat[q], p->query_lng[q]);
}

static void fill(float *to, uint32_t n, uint64_t seed, float scale)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (ex_unit(seed, i) - 0.5f) * scale;
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], queries = w->size->p[1], per_block = w->size->p[2];
	ex_apply_scale(w, &n, &queries, &per_block);
	unsigned lat = ex_add_buffer(w, (size_t)n * 4, false);
	unsigned lng = ex_add_buffer(w, (size_t)n * 4, false);
	unsigned qlat = ex_add_buffer(w, (size_t)queries * 4, false);
	unsigned qlng = ex_add_buffer(w, (size_t)queries * 4, false);
	w->grid[0] = ex_div_up(n, BLOCK * PER_LANE);
	w->grid[1] = queries / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	uint32_t warps = w->grid[0] * BLOCK / 32;
	size_t out = (size_t)queries * warps * 4;
	ex_add_buffer(w, out, true);
	ex_add_u32(w, n);
	ex_add_u32(w, per_block);
	fill(w->buffer[lat].host, n, w->seed, 180.0f);
	fill(w->buffer[lng].host, n, w->seed + 1, 360.0f);
	fill(w->buffer[qlat].host, queries, w->seed + 2, 180.0f);
	fill(w->buffer[qlng].host, queries, w->seed + 3, 360.0f);
	w->expected[0] = ex_alloc(out);
	struct problem p = {w->buffer[lat].host, w->buffer[lng].host, w->buffer[qlat].host,
		w->buffer[qlng].host, w->expected[0], n, warps};
	w->expected_bytes[0] = out;
	ex_reference(w, queries, answer, &p);
}

/* Keeps the ten smallest in order. */
static void keep(float *ten, float d)
{
	if (d >= ten[NEAREST - 1])
		return;
	int k = NEAREST - 1;
	for (; k > 0 && ten[k - 1] > d; k--)
		ten[k] = ten[k - 1];
	ten[k] = d;
}

static void keep_range(const struct ex_work *w, float *ten, uint32_t from, uint32_t to)
{
	const float *lat = w->buffer[0].host, *lng = w->buffer[1].host;
	float qx = *(const float *)w->buffer[2].host, qy = *(const float *)w->buffer[3].host;
	for (uint32_t i = from; i < to; i++) {
		float dx = lat[i] - qx, dy = lng[i] - qy;
		keep(ten, sqrtf(dx * dx + dy * dy));
	}
}

/* The second stage for the first query. */
static void ten_nearest(const struct ex_work *w, const float *of_warp, float *ten)
{
	uint32_t n = (uint32_t)(w->buffer[0].bytes / 4), warps = w->grid[0] * BLOCK / 32;
	float limit[NEAREST];
	for (int k = 0; k < NEAREST; k++)
		ten[k] = limit[k] = INFINITY;
	for (uint32_t warp = 0; warp < warps; warp++)
		keep(limit, of_warp[warp]);
	for (uint32_t warp = 0; warp < warps; warp++)
		if (of_warp[warp] <= limit[NEAREST - 1] && warp * PER_WARP < n)
			keep_range(w, ten, warp * PER_WARP,
				warp * PER_WARP + PER_WARP < n ? warp * PER_WARP + PER_WARP : n);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	float ten[NEAREST], all[NEAREST];
	const float *got = w->buffer[4].host;
	ex_check_words(v, got, w->expected[0], w->buffer[4].bytes / 4);
	if (v->wrong)
		return;
	for (int k = 0; k < NEAREST; k++)
		all[k] = INFINITY;
	keep_range(w, all, 0, (uint32_t)(w->buffer[0].bytes / 4));
	ten_nearest(w, got, ten);
	ex_check_words(v, ten, all, NEAREST);
}

const struct example ex_program = {"nn", "nn", build, check};
