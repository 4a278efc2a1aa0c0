/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Addresses of code. In memory, where another kernel may have put them or may find them: objects
 * with virtual functions, pointers to functions in buffers, tables, parameters. And in registers
 * only. No address is left in a buffer: it is another in every run. */
// exec: pointer_object --grid 3 --block 32 u32[96]:zero u64[3]:zero
// exec: pointer_make --grid 3 --block 32 u32[96]:zero u64[3]:zero
// exec: pointer_stored --grid 2 --block 32 u32[64]:zero u64[4]:zero
// exec: pointer_taken --grid 2 --block 32 u32[64]:zero u64[2]:zero
// exec: pointer_table --grid 2 --block 32 u32[64]:zero
// exec: pointer_given --grid 2 --block 32 u32[64]:zero u64:0
// exec: pointer_passed --grid 2 --block 32 u32[64]:zero u32:5
// exec: pointer_returned --grid 2 --block 32 u32[64]:zero u32:5
#include "../heddle_cuda.h"

typedef u32 function(u32);

static __device__ __noinline__ u32 twice(u32 v)
{
	return v * 2;
}

static __device__ __noinline__ u32 square(u32 v)
{
	return v * v;
}

struct shape {
	u32 side;
	__device__ shape(u32 s) : side(s)
	{
	}
	virtual __device__ u32 area() const
	{
		return side * side;
	}
	static __device__ void *operator new(size_t n)
	{
		return malloc(n);
	}
};

struct bar : shape {
	u32 other;
	__device__ bar(u32 s) : shape(s), other(s + 1)
	{
	}
	virtual __device__ u32 area() const
	{
		return side * other;
	}
};

static __device__ __forceinline__ shape *made(u32 n)
{
	return n & 1 ? new bar(n) : new shape(n);
}

/* Made by one thread, used by its block. */
KERNEL pointer_object(u32 *out, shape *volatile *slot)
{
	if (threadIdx.x == 0)
		slot[blockIdx.x] = made(blockIdx.x + 4);
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = slot[blockIdx.x]->area() + threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0) {
		free(slot[blockIdx.x]);
		slot[blockIdx.x] = 0;
	}
}

/* Only made: an object leads to its class's table, which is the same for every kernel. */
KERNEL pointer_make(u32 *out, shape *volatile *slot)
{
	if (threadIdx.x == 0)
		slot[blockIdx.x] = made(blockIdx.x + 4);
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = slot[blockIdx.x]->side + threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0) {
		free(slot[blockIdx.x]);
		slot[blockIdx.x] = 0;
	}
}

KERNEL pointer_stored(u32 *out, function *volatile *table)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (threadIdx.x < 2)
		table[blockIdx.x * 2 + threadIdx.x] = threadIdx.x ? twice : square;
	__syncthreads();
	out[i] = table[blockIdx.x * 2 + (threadIdx.x & 1)](i);
	__syncthreads();
	if (threadIdx.x < 2)
		table[blockIdx.x * 2 + threadIdx.x] = 0;
}

/* Calls nothing, but others could. */
KERNEL pointer_taken(u32 *out, function *volatile *table)
{
	if (threadIdx.x == 0)
		table[blockIdx.x] = twice;
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = table[blockIdx.x] != 0;
	__syncthreads();
	if (threadIdx.x == 0)
		table[blockIdx.x] = 0;
}

__device__ function *const functions[3] = {twice, square, twice};

KERNEL pointer_table(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = functions[i % 3](i);
}

/* As a host would pass what it has read from a variable. */
KERNEL pointer_given(u32 *out, function *f)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = f ? f(i) : i;
}

static __device__ __noinline__ u32 applied(function *f, u32 v)
{
	return f(v) + 1;
}

KERNEL pointer_passed(u32 *out, u32 which)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = applied(i & which ? twice : square, i);
}

static __device__ __noinline__ function *chosen(u32 n)
{
	return n & 2 ? twice : square;
}

KERNEL pointer_returned(u32 *out, u32 which)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = chosen(i & which)(i);
}
