/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that stay functions: they read ids, hold barriers, own shared memory, call each other,
 * call themselves, or are called through a pointer. */
// exec: callee_ids --grid 3,2,2 --block 32 u32[384]:zero
// exec: callee_barrier --grid 5 --block 64 u32[320]:iota u32[320]:zero
// exec: callee_recursive --grid 2 --block 32 u32[64]:zero
// exec: callee_struct --grid 2 --block 32 f32[64]:zero
// exec: callee_pointer --grid 2 --block 32 u32[64]:zero u32:1
#include "../heddle_cuda.h"

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
