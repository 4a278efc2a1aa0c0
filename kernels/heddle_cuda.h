/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The part of CUDA C that the kernels in this folder use, for compilers that have no CUDA headers.
 * Under nvcc nothing is declared here: nvcc brings its own. Under clang (-nocudainc -nocudalib) the
 * same names are declared on top of clang's NVPTX builtins, so that one source serves both, and so
 * that no call stays unresolved in the PTX but those that every driver resolves (vprintf,
 * __assertfail). What a kernel here includes is this file, and heddle_warp.h where it needs warp
 * operations or atomics. */
#ifndef HEDDLE_CUDA_H
#define HEDDLE_CUDA_H

#define KERNEL extern "C" __global__ void

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __clang__

#define __global__             __attribute__((global))
#define __device__             __attribute__((device))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __noinline__           __attribute__((noinline))
#define __forceinline__        inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n)           __attribute__((aligned(n)))
#define HD                     static __device__ __forceinline__

/* Special registers: objects whose members read the register. Nothing is ever stored in them. */
#define HD_SREG(type, reg)                                       \
	struct type {                                            \
		__declspec(property(get = get_x)) u32 x;         \
		__declspec(property(get = get_y)) u32 y;         \
		__declspec(property(get = get_z)) u32 z;         \
		static __device__ __forceinline__ u32 get_x()    \
		{                                                \
			return __nvvm_read_ptx_sreg_##reg##_x(); \
		}                                                \
		static __device__ __forceinline__ u32 get_y()    \
		{                                                \
			return __nvvm_read_ptx_sreg_##reg##_y(); \
		}                                                \
		static __device__ __forceinline__ u32 get_z()    \
		{                                                \
			return __nvvm_read_ptx_sreg_##reg##_z(); \
		}                                                \
	}
HD_SREG(hd_tid, tid);
HD_SREG(hd_ntid, ntid);
HD_SREG(hd_ctaid, ctaid);
HD_SREG(hd_nctaid, nctaid);
extern const __device__ __attribute__((weak)) hd_tid threadIdx;
extern const __device__ __attribute__((weak)) hd_ntid blockDim;
extern const __device__ __attribute__((weak)) hd_ctaid blockIdx;
extern const __device__ __attribute__((weak)) hd_nctaid gridDim;
#define warpSize 32

struct __align__(8) float2
{
	float x, y;
};
struct __align__(16) float4
{
	float x, y, z, w;
};
struct __align__(8) int2
{
	int x, y;
};
struct __align__(16) uint4
{
	u32 x, y, z, w;
};

/* ---- barriers and fences (__syncthreads itself is a builtin of clang) ---- */
HD int __syncthreads_count(int p)
{
	return __nvvm_bar0_popc(p);
}
HD int __syncthreads_and(int p)
{
	return __nvvm_bar0_and(p);
}
HD int __syncthreads_or(int p)
{
	return __nvvm_bar0_or(p);
}
HD void __threadfence()
{
	__nvvm_membar_gl();
}
HD void __threadfence_block()
{
	__nvvm_membar_cta();
}

/* ---- output: calls that the driver resolves ---- */
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(
	const char *message, const char *file, u32 line, const char *function, u64 char_size);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))

#include "heddle_math.h"

#else /* nvcc */

#include <assert.h>
#include <stdio.h>
#define HD static __device__ __forceinline__

#endif
#endif
