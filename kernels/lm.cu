/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* LM: forces between particles in a lattice of boxes, as lavaMD of Rodinia computes them. A block
 * has one box and keeps its PARTICLES and those of one neighbour at a time in shared memory; a
 * thread adds up what acts on one particle. The potential of a pair falls off with the exponential
 * of its squared distance. A point's v is half the square of its position's length, so the distance
 * of two needs one scalar product. All in double precision; sums are stored in single. `neighbour`
 * has a row of all boxes for each neighbour, NONE where the lattice ends. Replicas: gridDim.y *
 * per_block; replica r has the points and charges of input r % distinct. */
// exec: lm --grid 2 --block 128 f64[1600]:rand(1) f64[400]:rand(2) u32[4]:const(1) f32[1600]:zero u32:2 u32:2 u32:2 f32:0.5 u32:2
// exec: lm --grid 3,2 --block 128 f64[1200]:rand(3) f64[300]:rand(4) u32[3]:const(2) f32[2400]:zero u32:3 u32:1 u32:1 f32:0.5 u32:1
#include "heddle_cuda.h"

#define BLOCK     128
#define PARTICLES 100
#define NONE      0xffffffffu
#define LOG2E     1.4426950408889634
#define LN2_HIGH  0.6931471803691238
#define LN2_LOW   1.9082149292705877e-10
#define ROUNDING \
	6755399441055744.0 /* 1.5 * 2^52: added, it leaves the nearest integer at the end */

struct lm_point {
	double v, x, y, z;
};

/* exp(a) = 2^k exp(r) for |a| < 700, r's part by its series. */
HD double lm_exp(double a)
{
	double shifted = fma(a, LOG2E, ROUNDING), k = shifted - ROUNDING;
	double r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, a));
	double e = 1.0 / 39916800;
	e = fma(e, r, 1.0 / 3628800);
	e = fma(e, r, 1.0 / 362880);
	e = fma(e, r, 1.0 / 40320);
	e = fma(e, r, 1.0 / 5040);
	e = fma(e, r, 1.0 / 720);
	e = fma(e, r, 1.0 / 120);
	e = fma(e, r, 1.0 / 24);
	e = fma(e, r, 1.0 / 6);
	e = fma(e, r, 0.5);
	e = fma(e, r, 1.0);
	e = fma(e, r, 1.0);
	u64 bits = (u64)__double_as_longlong(e) + ((u64)__double_as_longlong(shifted) << 52);
	return __longlong_as_double((long long)bits);
}

HD void act(struct lm_point *sum, const struct lm_point *me, const struct lm_point *other,
	double charge, double falloff)
{
	double product = fma(me->x, other->x, fma(me->y, other->y, me->z * other->z));
	double potential = charge * lm_exp(-falloff * (me->v + other->v - product));
	double pull = 2.0 * potential;
	sum->v += potential;
	sum->x = fma(pull, me->x - other->x, sum->x);
	sum->y = fma(pull, me->y - other->y, sum->y);
	sum->z = fma(pull, me->z - other->z, sum->z);
}

KERNEL __launch_bounds__(BLOCK)
	lm(const struct lm_point *point, const double *charge, const u32 *neighbour, float4 *force,
		u32 boxes, u32 neighbours, u32 distinct, float falloff, u32 per_block)
{
	__shared__ struct lm_point home[PARTICLES], other[PARTICLES];
	__shared__ double charges[PARTICLES];
	u32 tid = threadIdx.x;
	for (u32 k = 0; k < per_block; k++) {
		u32 replica = blockIdx.y * per_block + k;
		u64 input = (u64)(replica % distinct) * boxes;
		struct lm_point sum = {0.0, 0.0, 0.0, 0.0};
		if (tid < PARTICLES)
			home[tid] = point[(input + blockIdx.x) * PARTICLES + tid];
		for (u32 j = 0; j < neighbours; j++) {
			u32 box = neighbour[(u64)j * boxes + blockIdx.x];
			if (box == NONE)
				continue;
			__syncthreads();
			if (tid < PARTICLES) {
				other[tid] = point[(input + box) * PARTICLES + tid];
				charges[tid] = charge[(input + box) * PARTICLES + tid];
			}
			__syncthreads();
			for (u32 i = 0; i < PARTICLES && tid < PARTICLES; i++)
				act(&sum, &home[tid], &other[i], charges[i], falloff);
		}
		if (tid < PARTICLES)
			force[((u64)replica * boxes + blockIdx.x) * PARTICLES + tid] =
				make_float4((float)sum.v, (float)sum.x, (float)sum.y, (float)sum.z);
	}
}
