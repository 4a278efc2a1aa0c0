/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PL: likelihoods of a particle filter. The sums over pixels are integers. The exponential function
 * of the device is an approximation, so weights and block sums are compared within 2e-5. */
#include "common.h"

#include <math.h>

#define BLOCK      256 /* these three as in the kernel */
#define OBJECT     100
#define BACKGROUND 228
#define BOUND      2.0e-5

struct problem {
	const uint8_t *frame;
	const float *x, *y;
	const int32_t *shape; /* pairs */
	float *weight, *block_sum;
	uint32_t n, width, height, points, blocks;
	float scale;
};

static int clamp(int v, int max)
{
	return v < 0 ? 0 : v > max ? max : v;
}

static float weight_of(const struct problem *p, const uint8_t *pixels, uint32_t i)
{
	int px = (int)rintf(p->x[i]), py = (int)rintf(p->y[i]);
	int32_t sum = 0;
	for (uint32_t k = 0; k < p->points; k++) {
		int col = clamp(px + p->shape[2 * k], (int)p->width - 1);
		int row = clamp(py + p->shape[2 * k + 1], (int)p->height - 1);
		int v = pixels[row * (int)p->width + col];
		sum += (v - BACKGROUND) * (v - BACKGROUND) - (v - OBJECT) * (v - OBJECT);
	}
	return (float)exp((double)((float)sum * p->scale));
}

/* The host divides the work by the blocks of all frames, so that one thread computes the sum of
 * each block. */
static void weigh(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t k = from; k < to; k++) {
		uint64_t frame = k / p->blocks;
		uint32_t first = (uint32_t)(k % p->blocks) * BLOCK;
		double sum = 0.0;
		for (uint32_t i = first; i < first + BLOCK && i < p->n; i++) {
			float v = weight_of(p, p->frame + frame * p->width * p->height, i);
			p->weight[frame * p->n + i] = v;
			sum += v;
		}
		p->block_sum[k] = (float)sum;
	}
}

/* Offsets by rising distance from the middle. */
static void fill_shape(int32_t *shape, uint32_t points)
{
	uint32_t found = 0;
	for (int d = 0; found < points; d++)
		for (int y = -16; y <= 16; y++)
			for (int x = -16; x <= 16 && found < points; x++)
				if (x * x + y * y == d) {
					shape[2 * found] = x;
					shape[2 * found++ + 1] = y;
				}
}

static void fill_frames(void *context, uint64_t from, uint64_t to)
{
	const struct ex_work *w = context;
	uint8_t *pixel = w->buffer[0].host;
	for (uint64_t i = from; i < to; i++)
		pixel[i] = (uint8_t)(ex_random(w->seed, i) % 256);
}

static void build(struct ex_work *w)
{
	const uint32_t *size = w->size->p;
	uint32_t n = size[0], width = size[1], height = size[2], points = size[3];
	uint32_t frames = size[4], per_block = size[5];
	ex_apply_scale(w, &n, &frames, &per_block);
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = frames / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	size_t pixels = (size_t)frames * width * height;
	size_t weights = (size_t)frames * n * 4, sums = (size_t)frames * w->grid[0] * 4;
	float scale = 1.0f / (2100.0f * (float)points);
	ex_add_buffer(w, pixels, false);
	unsigned x = ex_add_buffer(w, (size_t)n * 4, false);
	unsigned y = ex_add_buffer(w, (size_t)n * 4, false);
	unsigned shape = ex_add_buffer(w, (size_t)points * 8, false);
	ex_add_buffer(w, weights, true);
	ex_add_buffer(w, sums, true);
	ex_add_u32(w, n);
	ex_add_u32(w, width);
	ex_add_u32(w, height);
	ex_add_u32(w, points);
	ex_add_f32(w, scale);
	ex_add_u32(w, per_block);
	float *px = w->buffer[x].host, *py = w->buffer[y].host;
	for (uint32_t i = 0; i < n; i++) {
		px[i] = ex_unit(w->seed + 1, i) * (float)width;
		py[i] = ex_unit(w->seed + 2, i) * (float)height;
	}
	fill_shape(w->buffer[shape].host, points);
	ex_parallel(pixels, fill_frames, w);
	w->expected[0] = ex_alloc(weights);
	w->expected[1] = ex_alloc(sums);
	struct problem p = {w->buffer[0].host, px, py, w->buffer[shape].host, w->expected[0],
		w->expected[1], n, width, height, points, w->grid[0], scale};
	w->expected_bytes[0] = weights;
	w->expected_bytes[1] = sums;
	ex_reference(w, (uint64_t)frames * w->grid[0], weigh, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	for (unsigned k = 0; k < 2; k++)
		ex_check_bound(v, w->buffer[4 + k].host, w->expected[k], w->buffer[4 + k].bytes / 4,
			BOUND, 0.0);
}

const struct example ex_program = {"pl", "pl", build, check};
