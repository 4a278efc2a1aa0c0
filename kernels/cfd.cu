/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* CFD: one finite-volume step of the Euler equations of a gas on an unstructured mesh of cells with
 * four faces. A face either touches a neighbour, or is a wall, or lies at the far boundary. Through
 * it goes the mean of both sides' fluxes, less a dissipation that grows with the jump and with the
 * wave speeds. `inner` steps relax a cell's own state against its frozen neighbours before the
 * result is stored. Arrays hold one quantity after the other (density, momentum, energy), then one
 * flow state after the other; states (gridDim.y * per_block) share the mesh. */
// exec: cfd --grid 3,2 --block 128 f32[3000]:const(1) u32[1200]:const(5) f32[3600]:rand(1) f32[3000]:zero u32:300 u32:2 f32:0.01 u32:1
#include "heddle_cuda.h"

#define GAMMA       1.4f
#define DISSIPATION 0.2f
#define WALL        0xffffffffu
#define FAR         0xfffffffeu

struct state {
	float density, mx, my, mz, energy;
};
struct flow { /* what follows from a state: velocity, pressure, the fastest wave */
	float vx, vy, vz, pressure, speed;
};

HD struct state load_state(const float *variable, u32 n, u32 i)
{
	struct state s = {variable[i], variable[n + i], variable[2 * n + i], variable[3 * n + i],
		variable[4 * n + i]};
	return s;
}

HD struct flow flow_of(struct state s)
{
	struct flow f;
	float inv = 1.0f / s.density;
	f.vx = s.mx * inv;
	f.vy = s.my * inv;
	f.vz = s.mz * inv;
	float v2 = f.vx * f.vx + f.vy * f.vy + f.vz * f.vz;
	f.pressure = fmaxf((GAMMA - 1.0f) * (s.energy - 0.5f * s.density * v2), 1.0e-6f);
	f.speed = sqrtf(v2) + sqrtf(GAMMA * f.pressure * inv);
	return f;
}

/* The flux of s through the face with normal (nx, ny, nz) whose volume flow is vn, added to sum. */
HD void add_flux(struct state *sum, struct state s, struct flow f, float nx, float ny, float nz)
{
	float vn = 0.5f * (f.vx * nx + f.vy * ny + f.vz * nz);
	float p = 0.5f * f.pressure;
	sum->density += vn * s.density;
	sum->mx += vn * s.mx + p * nx;
	sum->my += vn * s.my + p * ny;
	sum->mz += vn * s.mz + p * nz;
	sum->energy += vn * (s.energy + f.pressure);
}

HD void add_jump(struct state *sum, struct state me, struct state other, float factor)
{
	sum->density += factor * (me.density - other.density);
	sum->mx += factor * (me.mx - other.mx);
	sum->my += factor * (me.my - other.my);
	sum->mz += factor * (me.mz - other.mz);
	sum->energy += factor * (me.energy - other.energy);
}

HD void face(struct state *sum, struct state me, struct flow mine, const float *variable, u32 n,
	u32 next, float nx, float ny, float nz)
{
	if (next == WALL) { /* nothing passes; only the pressure pushes */
		sum->mx += mine.pressure * nx;
		sum->my += mine.pressure * ny;
		sum->mz += mine.pressure * nz;
		return;
	}
	struct state other = {1.0f, 0.6f, 0.0f, 0.0f, 2.5f}; /* undisturbed air far away */
	if (next != FAR)
		other = load_state(variable, n, next);
	struct flow its = flow_of(other);
	float area = sqrtf(nx * nx + ny * ny + nz * nz);
	add_jump(sum, me, other, 0.5f * DISSIPATION * area * (mine.speed + its.speed));
	add_flux(sum, me, mine, nx, ny, nz);
	add_flux(sum, other, its, nx, ny, nz);
}

KERNEL __launch_bounds__(128) cfd(const float *variables, const u32 *neighbour, const float *normal,
	float *result, u32 n, u32 inner, float step, u32 per_block)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	for (u32 k = 0; k < per_block; k++) {
		u64 base = (u64)(blockIdx.y * per_block + k) * 5 * n;
		const float *variable = variables + base;
		float *out = result + base;
		struct state me = load_state(variable, n, i);
		for (u32 pass = 0; pass < inner; pass++) {
			struct state sum = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
			struct flow mine = flow_of(me);
#pragma unroll
			for (u32 j = 0; j < 4; j++)
				face(&sum, me, mine, variable, n, neighbour[j * n + i],
					normal[j * n + i], normal[(4 + j) * n + i],
					normal[(8 + j) * n + i]);
			me.density -= step * sum.density;
			me.mx -= step * sum.mx;
			me.my -= step * sum.my;
			me.mz -= step * sum.mz;
			me.energy -= step * sum.energy;
		}
		out[i] = me.density;
		out[n + i] = me.mx;
		out[2 * n + i] = me.my;
		out[3 * n + i] = me.mz;
		out[4 * n + i] = me.energy;
	}
}
