/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For CUDA source: Pagoda's device API (PPoPP '17, table 1), for code that was written for it.
 *
 * There a task is a __device__ function whose address the host gives. Here it is a kernel, since
 * hosts name it (heddle_load), so such a function begins with PAGODA_TASK instead; its body stays.
 * What these functions give is the same in a task of a pool (heddle/task.h) and in a launch. All
 * threads of a block come to syncBlock, which needs no flag at spawning: whether a kernel has
 * barriers is seen in its code. The shared memory of a task is what its spawning asks for
 * (heddle_task.shared_bytes).
 *
 * Include it behind CUDA's own headers, or what declares their names. */
#ifndef HEDDLE_PAGODA_H
#define HEDDLE_PAGODA_H

#define PAGODA_TASK extern "C" __global__ void

/* Behind what the task has of its own kind, __shared__ variables. */
extern "C" __shared__ __attribute__((aligned(32))) char heddle_pagoda_shared[];

/* The thread's number in its task, through all of its blocks: x first, in each dimension. */
static __device__ __forceinline__ int getTid(void)
{
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	return (int)(block * (blockDim.x * blockDim.y * blockDim.z) + thread);
}

/* A barrier of the thread's block. */
static __device__ __forceinline__ void syncBlock(void)
{
	__syncthreads();
}

/* The block's shared memory, aligned to 32 bytes. */
static __device__ __forceinline__ void *getSMPtr(void)
{
	return heddle_pagoda_shared;
}

#endif
