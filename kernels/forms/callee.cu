/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that stay functions: they read ids, hold barriers, own shared memory, call each other,
 * call themselves, or are called through a pointer. */
// exec: callee_ids --grid 3,2,2 --block 32 u32[384]:zero
// exec: callee_barrier --grid 5 --block 64 u32[320]:iota u32[320]:zero
// exec: callee_recursive --grid 2 --block 32 u32[64]:zero
// exec: callee_struct --grid 2 --block 32 f32[64]:zero
// exec: callee_pointer --grid 2 --block 32 u32[64]:zero u32:1
// exec: callee_spin --grid 40 --block 96 u32[4]:zero u32[3840]:zero
// exec: callee_spin_leave --grid 40 --block 96 u32[4]:zero u32[3840]:zero
// exec: callee_spin_vote --grid 40 --block 96 u32[4]:zero u32[3840]:zero
#include "../heddle_warp.h"

static __device__ __noinline__ u32 block_number()
{
	return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

static __device__ __noinline__ u32 thread_number()
{
	return block_number() * blockDim.x + threadIdx.x;
}

KERNEL callee_ids(u32 *out)
{
	u32 i = thread_number();
	out[i] = i * 2 + blockIdx.z;
}

static __device__ __noinline__ u32 reversed(u32 v)
{
	__shared__ u32 line[64];
	line[threadIdx.x] = v;
	__syncthreads();
	u32 r = line[blockDim.x - 1 - threadIdx.x];
	__syncthreads();
	return r;
}

KERNEL callee_barrier(const u32 *in, u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	u32 v = reversed(in[i]);
	if (blockIdx.x & 1)
		v = reversed(v + threadIdx.x);
	out[i] = v;
}

static __device__ __noinline__ u32 fibonacci(u32 n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

KERNEL callee_recursive(u32 *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = fibonacci(threadIdx.x % 8);
}

struct triple {
	float a, b, c;
};

static __device__ __noinline__ struct triple rotated(struct triple t)
{
	struct triple r = {t.b, t.c, t.a + 1.0f};
	return r;
}

KERNEL callee_struct(float *out)
{
	struct triple t = {(float)threadIdx.x, 2.0f, (float)blockIdx.x};
	t = rotated(rotated(t));
	out[blockIdx.x * blockDim.x + threadIdx.x] = t.a + 10.0f * t.b + 100.0f * t.c;
}

static __device__ __noinline__ u32 twice(u32 v)
{
	return v * 2;
}

static __device__ __noinline__ u32 square(u32 v)
{
	return v * v;
}

KERNEL callee_pointer(u32 *out, u32 which)
{
	u32 (*f)(u32) = (threadIdx.x & which) ? twice : square;
	out[blockIdx.x * blockDim.x + threadIdx.x] = f(threadIdx.x);
}

/* All blocks race for a few words: lanes come out of this one by one. */
static __device__ __noinline__ u32 race(u32 *word, u32 add)
{
	u32 seen = *(volatile u32 *)word, before;
	do {
		before = seen;
		seen = atomicCAS(word, before, before + add);
	} while (seen != before);
	return add + 1;
}

/* What lies behind the race takes whole warps: a neighbour's value through shared memory, round
 * after round. */
static __device__ __forceinline__ u32 race_and_pass_on(u32 *words, u32 *line, u32 v, u32 rounds)
{
	u32 t = threadIdx.x;
	for (u32 i = 0; i < rounds; i++) {
		if ((t + i) % 5 != 0)
			v += race(words + (t + i) % 4, 1 + t % 3);
		line[t] = v;
		__syncthreads();
		v = v * 3 + line[(t + 33) % 96];
		__syncthreads();
	}
	return v;
}

KERNEL callee_spin(u32 *words, u32 *out)
{
	__shared__ u32 line[96];
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = race_and_pass_on(words, line, i, 6);
}

/* Some lanes leave ahead of it. */
KERNEL callee_spin_leave(u32 *words, u32 *out)
{
	__shared__ u32 line[96];
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	line[threadIdx.x] = i;
	__syncthreads();
	out[i] = i;
	if (threadIdx.x % 7 == blockIdx.x % 7)
		return;
	out[i] = race_and_pass_on(words, line, i, 6);
}

KERNEL callee_spin_vote(u32 *words, u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
	for (u32 k = 0; k < 6; k++) {
		if ((threadIdx.x + k) % 5 != 0)
			v += race(words + (threadIdx.x + k) % 4, 1 + threadIdx.x % 3);
		v += __ballot_sync(0xffffffff, v & 4);
	}
	out[i] = v;
}
