/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For CUDA source: Pagoda's device API (PPoPP '17, table 1), so that code written for Pagoda can be
 * used.
 *
 * In Pagoda a task is a __device__ function, and the host passes its address. In heddle a task is a
 * kernel, because the host refers to it by name (heddle_load). So begin such a function with
 * PAGODA_TASK and keep its body. These functions return the same values in a task of a pool
 * (heddle/task.h) and in an ordinary launch. All threads of a block must reach syncBlock. The host
 * need not announce barriers when it spawns a task, because heddle finds them in the code.
 * heddle_task.shared_bytes sets the size of a task's shared memory.
 *
 * Include this header after CUDA's own headers, or after another header that declares their
 * names. */
#ifndef HEDDLE_PAGODA_H
#define HEDDLE_PAGODA_H

#define PAGODA_TASK extern "C" __global__ void

/* The task's dynamic shared memory. It follows the task's own __shared__ variables. */
extern "C" __shared__ __attribute__((aligned(32))) char heddle_pagoda_shared[];

/* Returns the thread's index among all threads of the task. x varies fastest, for blocks and
 * threads. */
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
