/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* CFD: steps of the Euler equations on a mesh of cells with four faces. The mesh is a lattice with
 * skewed normals, walls along two sides and undisturbed air beyond the others. The device may
 * contract multiplications and additions, so results are compared within 1e-5 of max(|value|,
 * 1). */
#include "common.h"

#include <math.h>

#define BLOCK       128
#define GAMMA       1.4f /* these four as in the kernel */
#define DISSIPATION 0.2f
#define WALL        0xffffffffu
#define FAR         0xfffffffeu
#define BOUND       1.0e-5
#define STEP        0.01f

enum { DENSITY, MX, MY, MZ, ENERGY, QUANTITIES };

struct problem {
	float *state, *result;
	uint32_t *neighbour;
	float *normal;
	uint32_t n, inner;
	uint64_t seed;
};
struct gas { /* a state with what follows from it */
	float q[QUANTITIES], velocity[3], pressure, speed;
};

static struct gas gas_of(const float *q)
{
	struct gas g;
	float v2 = 0.0f;
	for (int k = 0; k < QUANTITIES; k++)
		g.q[k] = q[k];
	for (int k = 0; k < 3; k++) {
		g.velocity[k] = q[MX + k] / q[DENSITY];
		v2 += g.velocity[k] * g.velocity[k];
	}
	g.pressure = (GAMMA - 1.0f) * (q[ENERGY] - 0.5f * q[DENSITY] * v2);
	g.pressure = g.pressure < 1.0e-6f ? 1.0e-6f : g.pressure;
	g.speed = sqrtf(v2) + sqrtf(GAMMA * g.pressure / q[DENSITY]);
	return g;
}

static void add_half_flux(float *sum, const struct gas *g, const float *normal)
{
	float through = 0.0f;
	for (int k = 0; k < 3; k++)
		through += 0.5f * g->velocity[k] * normal[k];
	for (int k = 0; k < QUANTITIES; k++)
		sum[k] += through * g->q[k];
	for (int k = 0; k < 3; k++)
		sum[MX + k] += 0.5f * g->pressure * normal[k];
	sum[ENERGY] += through * g->pressure;
}

static void add_face(float *sum, const struct gas *me, const struct problem *p, const float *state,
	uint32_t next, const float *normal)
{
	float q[QUANTITIES] = {1.0f, 0.6f, 0.0f, 0.0f, 2.5f}; /* undisturbed */
	if (next == WALL) {
		for (int k = 0; k < 3; k++)
			sum[MX + k] += me->pressure * normal[k];
		return;
	}
	for (int k = 0; k < QUANTITIES && next != FAR; k++)
		q[k] = state[(size_t)k * p->n + next];
	struct gas other = gas_of(q);
	float area = sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
	float factor = 0.5f * DISSIPATION * area * (me->speed + other.speed);
	for (int k = 0; k < QUANTITIES; k++)
		sum[k] += factor * (me->q[k] - other.q[k]);
	add_half_flux(sum, me, normal);
	add_half_flux(sum, &other, normal);
}

static void relax_cell(const struct problem *p, const float *state, float *result, uint32_t i)
{
	float q[QUANTITIES];
	for (int k = 0; k < QUANTITIES; k++)
		q[k] = state[(size_t)k * p->n + i];
	for (uint32_t pass = 0; pass < p->inner; pass++) {
		float sum[QUANTITIES] = {0};
		struct gas me = gas_of(q);
		for (size_t j = 0; j < 4; j++) {
			const float normal[3] = {p->normal[j * p->n + i],
				p->normal[(4 + j) * p->n + i], p->normal[(8 + j) * p->n + i]};
			add_face(sum, &me, p, state, p->neighbour[j * p->n + i], normal);
		}
		for (int k = 0; k < QUANTITIES; k++)
			q[k] -= STEP * sum[k];
	}
	for (int k = 0; k < QUANTITIES; k++)
		result[(size_t)k * p->n + i] = q[k];
}

/* The cells of all states are numbered consecutively, and a thread may get only part of a state. */
static void relax(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t c = from; c < to; c++) {
		size_t base = c / p->n * QUANTITIES * p->n;
		relax_cell(p, p->state + base, p->result + base, (uint32_t)(c % p->n));
	}
}

static void fill_states(void *context, uint64_t from, uint64_t to)
{
	static const float middle[QUANTITIES] = {1.0f, 0.6f, 0.0f, 0.0f, 2.5f};
	static const float spread[QUANTITIES] = {0.2f, 0.4f, 0.4f, 0.4f, 0.5f};
	const struct problem *p = context;
	for (uint64_t i = from; i < to; i++) {
		uint64_t k = i / p->n % QUANTITIES;
		p->state[i] = middle[k] + spread[k] * (ex_unit(p->seed, i) - 0.5f);
	}
}

/* Makes a lattice of `side` cells a row. Faces are in the order left, right, below, above; their
 * normals point outwards and are skewed. */
static void fill_mesh(struct problem *p)
{
	static const float outward[4][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}};
	uint32_t n = p->n, side = (uint32_t)ceil(sqrt(n));
	for (uint32_t i = 0; i < n; i++) {
		p->neighbour[i] = i % side == 0 ? FAR : i - 1;
		p->neighbour[n + i] = i % side == side - 1 || i + 1 == n ? FAR : i + 1;
		p->neighbour[2 * (size_t)n + i] = i < side ? WALL : i - side;
		p->neighbour[3 * (size_t)n + i] = i + side >= n ? WALL : i + side;
		for (size_t j = 0; j < 4; j++)
			for (size_t k = 0; k < 3; k++) {
				size_t at = (k * 4 + j) * n + i;
				p->normal[at] =
					outward[j][k] + 0.2f * (ex_unit(p->seed + 1, at) - 0.5f);
			}
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], inner = w->size->p[1], states = w->size->p[2];
	uint32_t per_block = w->size->p[3];
	ex_apply_scale(w, &n, &states, &per_block);
	size_t values = (size_t)n * QUANTITIES * states;
	unsigned state = ex_add_buffer(w, values * 4, false);
	unsigned neighbour = ex_add_buffer(w, (size_t)n * 16, false);
	unsigned normal = ex_add_buffer(w, (size_t)n * 48, false);
	ex_add_buffer(w, values * 4, true);
	ex_add_u32(w, n);
	ex_add_u32(w, inner);
	ex_add_f32(w, STEP);
	ex_add_u32(w, per_block);
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = states / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	w->expected[0] = ex_alloc(values * 4);
	struct problem p = {w->buffer[state].host, w->expected[0], w->buffer[neighbour].host,
		w->buffer[normal].host, n, inner, w->seed};
	fill_mesh(&p);
	ex_parallel(values, fill_states, &p);
	w->expected_bytes[0] = values * 4;
	ex_reference(w, (uint64_t)n * states, relax, &p);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_bound(v, w->buffer[3].host, w->expected[0], w->buffer[3].bytes / 4, BOUND, 1.0);
}

const struct example ex_program = {"cfd", "cfd", build, check};
