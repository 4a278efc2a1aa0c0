/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* LM: forces between particles in a lattice of boxes (lavaMD of Rodinia). Host and device compute
 * in double precision, with different exponential functions, and store in single precision. So
 * results are compared within 1e-6 of max(|value|, 1). A few different inputs repeat, and the host
 * computes only those. */
#include "common.h"

#include <math.h>

#define BLOCK     128
#define PARTICLES 100 /* of a box; these two as in the kernel */
#define NONE      0xffffffffu
#define FALLOFF   0.5f
#define BOUND     1.0e-6

enum { V, X, Y, Z, WORDS }; /* of a point; V: half the squared length of the others */

struct problem {
	double *point, *charge;
	uint32_t *neighbour;
	float *force;
	uint32_t boxes, neighbours, side;
	uint64_t seed;
};

/* Returns neighbour number `step` of a box (0: the box itself) in a lattice of `side` boxes in each
 * dimension. */
static uint32_t neighbour_of(const struct problem *p, uint32_t box, uint32_t step)
{
	static const int moves[3] = {0, -1, 1};
	int side = (int)p->side;
	int x = (int)box % side + moves[step % 3];
	int y = (int)box / side % side + moves[step / 3 % 3];
	int z = (int)box / side / side + moves[step / 9 % 3];
	int64_t at = ((int64_t)z * side + y) * side + x;
	bool inside = x >= 0 && x < side && y >= 0 && y < side && z >= 0;
	return inside && at < p->boxes ? (uint32_t)at : NONE;
}

/* The boxes of all inputs are numbered consecutively, here and below. A box has a side of 1. */
static void fill_boxes(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t i = from * PARTICLES; i < to * PARTICLES; i++) {
		uint32_t box = (uint32_t)(i / PARTICLES % p->boxes), side = p->side;
		uint32_t place[3] = {box % side, box / side % side, box / side / side};
		double *at = p->point + i * WORDS, squares = 0.0;
		for (uint64_t k = 0; k < 3; k++) {
			at[X + k] = place[k] + (double)ex_unit(p->seed, 4 * i + k);
			squares += at[X + k] * at[X + k];
		}
		at[V] = squares / 2.0;
		p->charge[i] = 0.1 + 0.9 * ex_unit(p->seed, 4 * i + 3);
	}
}

static void add_box(const struct problem *p, uint64_t box, const double *me, double *sum)
{
	for (uint64_t i = box * PARTICLES; i < (box + 1) * PARTICLES; i++) {
		const double *other = p->point + i * WORDS;
		double product = me[X] * other[X] + me[Y] * other[Y] + me[Z] * other[Z];
		double half_square = me[V] + other[V] - product;
		double potential = p->charge[i] * exp(-FALLOFF * half_square);
		sum[V] += potential;
		for (int k = X; k <= Z; k++)
			sum[k] += 2.0 * potential * (me[k] - other[k]);
	}
}

static void add_up(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t i = from * PARTICLES; i < to * PARTICLES; i++) {
		uint64_t box = i / PARTICLES % p->boxes, input = i / PARTICLES - box;
		double sum[WORDS] = {0.0};
		for (uint32_t j = 0; j < p->neighbours; j++) {
			uint32_t next = p->neighbour[(uint64_t)j * p->boxes + box];
			if (next != NONE)
				add_box(p, input + next, p->point + i * WORDS, sum);
		}
		for (int k = 0; k < WORDS; k++)
			p->force[i * WORDS + (uint64_t)k] = (float)sum[k];
	}
}

static void build(struct ex_work *w)
{
	uint32_t boxes = w->size->p[0], neighbours = w->size->p[1], replicas = w->size->p[2];
	uint32_t per_block = w->size->p[3], distinct = w->size->p[4];
	ex_apply_scale(w, &boxes, &replicas, &per_block);
	distinct = distinct < replicas ? distinct : replicas;
	struct problem p = {.boxes = boxes, .neighbours = neighbours, .seed = w->seed};
	p.side = (uint32_t)ceil(cbrt(boxes));
	uint64_t all = (uint64_t)boxes * distinct;
	unsigned point = ex_add_buffer(w, all * PARTICLES * WORDS * sizeof(double), false);
	unsigned charge = ex_add_buffer(w, all * PARTICLES * sizeof(double), false);
	unsigned neighbour = ex_add_buffer(w, (size_t)neighbours * boxes * 4, false);
	ex_add_buffer(w, (size_t)boxes * replicas * PARTICLES * WORDS * 4, true);
	ex_add_u32(w, boxes);
	ex_add_u32(w, neighbours);
	ex_add_u32(w, distinct);
	ex_add_f32(w, FALLOFF);
	ex_add_u32(w, per_block);
	w->grid[0] = boxes;
	w->grid[1] = replicas / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	p.point = w->buffer[point].host;
	p.charge = w->buffer[charge].host;
	p.neighbour = w->buffer[neighbour].host;
	for (uint32_t j = 0; j < neighbours; j++)
		for (uint32_t box = 0; box < boxes; box++)
			p.neighbour[(size_t)j * boxes + box] = neighbour_of(&p, box, j);
	ex_parallel(all, fill_boxes, &p);
	w->expected_bytes[0] = all * PARTICLES * WORDS * 4;
	w->expected[0] = p.force = ex_alloc(w->expected_bytes[0]);
	ex_reference(w, all, add_up, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_repeated(v, w->buffer[3].host, w->buffer[3].bytes / 4, w->expected[0],
		w->expected_bytes[0] / 4, BOUND, 1.0);
}

const struct example ex_program = {"lm", "lm", build, check};
