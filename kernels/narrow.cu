/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Narrow kernels, of which a program has thousands: a part of the Mandelbrot set, a product of
 * small matrices, a filter bank (Pagoda, section 6.1). Each is right for any number of threads in
 * any number of blocks, but matmul, which takes 128 threads and more, and filterbank, which takes
 * one block. Sums are fused, in one order, so that a host finds the same bits. */
// exec: narrow_empty --grid 3 --block 128 u32[4]:iota
// exec: mandelbrot --grid 2 --block 96 u32[600]:zero u32:24 u32:25 f32:-2.0 f32:-1.25 f32:0.1 u32:64
// exec: mandelbrot --grid 1 --block 40 u32[70]:zero u32:10 u32:7 f32:-0.75 f32:0.1 f32:0.01 u32:100
// exec: matmul --grid 1 --block 128 f32[1024]:rand(1) f32[1024]:rand(2) f32[1024]:zero u32:32
// exec: matmul --grid 3 --block 256 f32[4096]:rand(3) f32[4096]:rand(4) f32[4096]:zero u32:64
// exec: filterbank --grid 1 --block 128 --shared 2048 f32[256]:rand(1) f32[16]:rand(2) f32[16]:rand(3) f32[256]:zero u32:256 u32:8 u32:16
// exec: filterbank --grid 1 --block 100 --shared 1200 f32[150]:rand(4) f32[9]:rand(5) f32[9]:rand(6) f32[150]:zero u32:150 u32:3 u32:9
#include "heddle_cuda.h"

#include "../include/heddle/pagoda.h"

/* Nothing, with a parameter that is not looked at. */
KERNEL narrow_empty(u32 *out)
{
}

/* How many steps each point takes to leave, at most `limit`: irregular work. */
KERNEL mandelbrot(u32 *out, u32 width, u32 height, float x0, float y0, float step, u32 limit)
{
	u32 all = gridDim.x * blockDim.x;

	for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += all) {
		float cx = fmaf((float)(i % width), step, x0), x = 0;
		float cy = fmaf((float)(i / width), step, y0), y = 0;
		u32 n = 0;

		while (n < limit && fmaf(x, x, y * y) <= 4.0f) {
			float next = fmaf(x, x, fmaf(-y, y, cx));

			y = fmaf(x + x, y, cy);
			x = next;
			n++;
		}
		out[i] = n;
	}
}

#define TILE 16

/* c = a * b, n x n, n a multiple of 16; a tile of 16 x 16 at a time. */
KERNEL matmul(const float *a, const float *b, float *c, u32 n)
{
	__shared__ float as[TILE * TILE], bs[TILE * TILE];
	u32 tiles = n / TILE, t = threadIdx.x;

	for (u32 tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
		u32 row = tile / tiles * TILE, col = tile % tiles * TILE;
		float sum[2] = {0, 0};

		for (u32 k = 0; k < n; k += TILE) {
			for (u32 i = t; i < TILE * TILE; i += blockDim.x) {
				as[i] = a[(row + i / TILE) * n + k + i % TILE];
				bs[i] = b[(k + i / TILE) * n + col + i % TILE];
			}
			__syncthreads();
			for (u32 of = 0, i = t; i < TILE * TILE; of++, i += blockDim.x)
				for (u32 j = 0; j < TILE; j++)
					sum[of] = fmaf(as[i / TILE * TILE + j],
						bs[j * TILE + i % TILE], sum[of]);
			__syncthreads();
		}
		for (u32 of = 0, i = t; i < TILE * TILE; of++, i += blockDim.x)
			c[(row + i / TILE) * n + col + i % TILE] = sum[of];
	}
}

/* A signal through a filter h, every `every`th of it, at these places, through a filter f. Written
 * as for Pagoda. Shared memory: 2 * n floats. */
PAGODA_TASK filterbank(
	const float *r, const float *h, const float *f, float *out, u32 n, u32 every, u32 taps)
{
	float *filtered = (float *)getSMPtr(), *up = filtered + n;

	for (u32 i = getTid(); i < n; i += blockDim.x) {
		float sum = 0;

		for (u32 k = 0; k < taps && k <= i; k++)
			sum = fmaf(r[i - k], h[k], sum);
		filtered[i] = sum;
	}
	syncBlock();
	for (u32 i = getTid(); i < n; i += blockDim.x)
		up[i] = i % every ? 0.0f : filtered[i / every * every];
	syncBlock();
	for (u32 i = getTid(); i < n; i += blockDim.x) {
		float sum = 0;

		for (u32 k = 0; k < taps && k <= i; k++)
			sum = fmaf(up[i - k], f[k], sum);
		out[i] = sum;
	}
}
