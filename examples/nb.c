/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NB: accelerations of bodies under gravity (nbody of the CUDA samples). The host adds in double
 * precision. The device adds in single precision with an approximate square root, and components of
 * a sum cancel. So results are compared within 2e-5 of max(|value|, 1). A few different systems
 * repeat, and the host computes only those. */
#include "common.h"

#include <math.h>

#define BLOCK      256
#define SOFTENING2 1.0e-2f
#define BOUND      2.0e-5

struct problem {
	const float *position; /* x, y, z, mass */
	float *acceleration;
	uint32_t n;
};

static void accelerate_body(const struct problem *p, const float *at, const float *me, float *to)
{
	double x = 0.0, y = 0.0, z = 0.0;
	for (uint32_t j = 0; j < p->n; j++) {
		const float *other = at + 4 * (size_t)j;
		double dx = (double)other[0] - me[0], dy = (double)other[1] - me[1];
		double dz = (double)other[2] - me[2];
		double r2 = dx * dx + dy * dy + dz * dz + (double)SOFTENING2;
		double pull = other[3] / (r2 * sqrt(r2));
		x += dx * pull;
		y += dy * pull;
		z += dz * pull;
	}
	to[0] = (float)x;
	to[1] = (float)y;
	to[2] = (float)z;
	to[3] = 0.0f;
}

/* Bodies of all different systems in one numbering. */
static void accelerate(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t b = from; b < to; b++) {
		const float *at = p->position + b / p->n * 4 * p->n;
		accelerate_body(p, at, p->position + 4 * b, p->acceleration + 4 * b);
	}
}

/* A cube of side 1 with a total mass of 1. */
static void fill(const struct ex_work *w, float *position, uint64_t bodies, uint32_t n)
{
	for (uint64_t i = 0; i < 4 * bodies; i++) {
		float unit = ex_unit(w->seed, i);
		position[i] = i % 4 == 3 ? (0.5f + unit) / (float)n : unit;
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], systems = w->size->p[1], per_block = w->size->p[2];
	uint32_t distinct = w->size->p[3];
	ex_apply_scale(w, &n, &systems, &per_block);
	distinct = distinct < systems ? distinct : systems;
	size_t bytes = (size_t)n * distinct * 16;
	unsigned position = ex_add_buffer(w, bytes, false);
	ex_add_buffer(w, (size_t)n * systems * 16, true);
	ex_add_u32(w, n);
	ex_add_f32(w, SOFTENING2);
	ex_add_u32(w, distinct);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = systems / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	fill(w, w->buffer[position].host, (uint64_t)n * distinct, n);
	w->expected[0] = ex_alloc(bytes);
	w->expected_bytes[0] = bytes;
	struct problem p = {w->buffer[position].host, w->expected[0], n};
	ex_reference(w, (uint64_t)n * distinct, accelerate, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_repeated(v, w->buffer[1].host, w->buffer[1].bytes / 4, w->expected[0],
		w->expected_bytes[0] / 4, BOUND, 1.0);
}

const struct example ex_program = {"nb", "nb", build, check};
