/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* FD: a step of finite differences on a volume (FDTD3d of the CUDA samples). The host adds in the
 * same precision and order, so results are exact. All passes write the same volume, so each block
 * also writes a bit sum for each pass, which shows that the pass ran. */
#include "common.h"

#include <string.h>

#define RADIUS 4 /* these four as in the kernel */
#define WIDE   32
#define HIGH   16
#define BLOCK  (WIDE * HIGH)

struct problem {
	float *field, *result;
	uint32_t *sums;
	uint32_t tiles_x, tiles_y, deep;
	size_t pitch, plane; /* of field */
	float factor[RADIUS + 1];
	uint64_t seed;
};

static void fill(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t i = from; i < to; i++)
		p->field[i] = ex_unit(p->seed, i) - 0.5f;
}

/* Computes the results of one row of a block. at: the point of the field that belongs to the row's
 * first element. */
static void step_row(const struct problem *p, const float *at, float *to)
{
	for (uint32_t x = 0; x < WIDE; x++)
		to[x] = p->factor[0] * at[x];
	for (size_t r = 1; r <= RADIUS; r++) {
		const float *before = at - r * p->plane, *behind = at + r * p->plane;
		const float *above = at - r * p->pitch, *below = at + r * p->pitch;
		const float *left = at - r, *right = at + r;
		for (uint32_t x = 0; x < WIDE; x++) {
			float sum = before[x] + behind[x];
			sum += above[x];
			sum += below[x];
			sum += left[x];
			sum += right[x];
			to[x] += p->factor[r] * sum;
		}
	}
}

/* Parts of the volume as the kernel's blocks have them. */
static void step(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	size_t wide = (size_t)p->tiles_x * WIDE, high = (size_t)p->tiles_y * HIGH;
	for (uint64_t block = from; block < to; block++) {
		size_t col = block % p->tiles_x * WIDE, row = block / p->tiles_x * HIGH;
		uint32_t sum = 0, bits[WIDE];
		for (size_t z = 0; z < p->deep; z++)
			for (size_t y = row; y < row + HIGH; y++) {
				float *out = p->result + (z * high + y) * wide + col;
				step_row(p,
					p->field + (z + RADIUS) * p->plane +
						(y + RADIUS) * p->pitch + col + RADIUS,
					out);
				memcpy(bits, out, sizeof(bits));
				for (uint32_t x = 0; x < WIDE; x++)
					sum += bits[x];
			}
		p->sums[block] = sum;
	}
}

static void build(struct ex_work *w)
{
	uint32_t tiles_x = w->size->p[1], tiles_y = w->size->p[2], deep = w->size->p[0];
	uint32_t passes = w->size->p[3], per_block = w->size->p[4];
	ex_apply_scale(w, &deep, &passes, &per_block);
	uint32_t blocks = tiles_x * tiles_y;
	struct problem p = {.tiles_x = tiles_x,
		.tiles_y = tiles_y,
		.deep = deep,
		.seed = w->seed,
		.factor = {0.5f, 0.0325f, -0.0275f, 0.0175f, -0.0125f}};
	p.pitch = (size_t)tiles_x * WIDE + 2 * RADIUS;
	p.plane = p.pitch * ((size_t)tiles_y * HIGH + 2 * RADIUS);
	size_t points = p.plane * (deep + 2 * RADIUS);
	size_t bytes = (size_t)blocks * BLOCK * deep * 4;
	unsigned field = ex_add_buffer(w, points * 4, false);
	unsigned factors = ex_add_buffer(w, sizeof(p.factor), false);
	ex_add_buffer(w, bytes, true);
	ex_add_buffer(w, (size_t)blocks * passes * 4, true);
	ex_add_u32(w, tiles_x);
	ex_add_u32(w, tiles_y);
	ex_add_u32(w, deep);
	ex_add_u32(w, per_block);
	w->grid[0] = blocks;
	w->grid[1] = passes / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	memcpy(w->buffer[factors].host, p.factor, sizeof(p.factor));
	p.field = w->buffer[field].host;
	ex_parallel(points, fill, &p);
	w->expected_bytes[0] = bytes;
	w->expected_bytes[1] = (size_t)blocks * 4;
	w->expected[0] = p.result = ex_alloc(bytes);
	w->expected[1] = p.sums = ex_alloc(w->expected_bytes[1]);
	ex_reference(w, blocks, step, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[2].host, w->expected[0], w->buffer[2].bytes / 4);
	ex_check_repeated(v, w->buffer[3].host, w->buffer[3].bytes / 4, w->expected[1],
		w->expected_bytes[1] / 4, 0.0, 0.0);
}

const struct example ex_program = {"fd", "fd", build, check};
