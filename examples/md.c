/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MD: Lennard-Jones forces. Atoms are on a jittered lattice, and the list of each atom contains the
 * nearest lattice points. Both sides round every operation separately, so results are exact. */
#include "common.h"

#include <math.h>

#define BLOCK   256
#define CUTOFF2 6.0f
#define LJ1     1.5f
#define LJ2     2.0f

struct problem {
	float *position, *force; /* x, y, z, and a fourth that fills up */
	const uint32_t *neighbour;
	uint32_t n, neighbours, side;
	uint64_t seed;
};

static void force_on(const struct problem *p, const float *at, uint32_t i, float *ret_force)
{
	float fx = 0.0f, fy = 0.0f, fz = 0.0f, energy = 0.0f;
	for (uint32_t k = 0; k < p->neighbours; k++) {
		const float *other = at + 4 * (size_t)p->neighbour[(size_t)k * p->n + i];
		float dx = at[4 * (size_t)i] - other[0], dy = at[4 * (size_t)i + 1] - other[1];
		float dz = at[4 * (size_t)i + 2] - other[2];
		float r2 = dx * dx + dy * dy;
		r2 = r2 + dz * dz;
		if (!(r2 < CUTOFF2 && r2 > 0.0f))
			continue;
		float inv = 1.0f / r2, inv6 = inv * inv;
		inv6 = inv6 * inv;
		float f = LJ1 * inv6;
		f = f - LJ2;
		f = inv * inv6 * f;
		fx += dx * f;
		fy += dy * f;
		fz += dz * f;
		energy += inv6 * f;
	}
	ret_force[0] = fx;
	ret_force[1] = fy;
	ret_force[2] = fz;
	ret_force[3] = energy;
}

static void place_and_solve(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t replica = from; replica < to; replica++) {
		float *at = p->position + 4 * replica * p->n,
		      *force = p->force + 4 * replica * p->n;
		for (uint32_t i = 0; i < p->n; i++) {
			uint64_t r = ex_random(p->seed, replica * p->n + i);
			uint32_t place[3] = {
				i % p->side, i / p->side % p->side, i / p->side / p->side};
			for (int k = 0; k < 3; k++)
				at[4 * i + k] = (float)place[k] +
						(float)(r >> (20 * k) & 0xfffff) * 0x1p-22f;
			at[4 * i + 3] = 0.0f;
		}
		for (uint32_t i = 0; i < p->n; i++)
			force_on(p, at, i, force + 4 * i);
	}
}

/* Lattice steps by increasing distance. The list wraps around at the ends of the numbering. */
static void fill_lists(uint32_t *list, uint32_t n, uint32_t neighbours, uint32_t side)
{
	uint32_t found = 0;
	for (int d = 1; found < neighbours; d++)
		for (int z = -5; z <= 5; z++)
			for (int y = -5; y <= 5; y++)
				for (int x = -5; x <= 5 && found < neighbours; x++) {
					if (x * x + y * y + z * z != d)
						continue;
					int64_t s = side;
					int64_t step = ((z * s + y) * s + x) % (int64_t)n + n;
					for (uint32_t i = 0; i < n; i++)
						list[(size_t)found * n + i] =
							(uint32_t)((i + step) % n);
					found++;
				}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], neighbours = w->size->p[1], replicas = w->size->p[2];
	uint32_t per_block = w->size->p[3];
	ex_apply_scale(w, &n, &replicas, &per_block);
	size_t bytes = (size_t)n * replicas * 16;
	unsigned position = ex_add_buffer(w, bytes, false);
	unsigned list = ex_add_buffer(w, (size_t)n * neighbours * 4, false);
	ex_add_buffer(w, bytes, true);
	ex_add_u32(w, n);
	ex_add_u32(w, neighbours);
	ex_add_f32(w, CUTOFF2);
	ex_add_f32(w, LJ1);
	ex_add_f32(w, LJ2);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = replicas / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	w->expected[0] = ex_alloc(bytes);
	uint32_t side = (uint32_t)ceil(cbrt(n));
	fill_lists(w->buffer[list].host, n, neighbours, side);
	struct problem p = {w->buffer[position].host, w->expected[0], w->buffer[list].host, n,
		neighbours, side, w->seed};
	ex_parallel(replicas, place_and_solve, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[2].host, w->expected[0], w->buffer[2].bytes / 4);
}

const struct example ex_program = {"md", "md", build, check};
