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

/* ---- barriers and fences ----
 * In assembly: clang up to 15 believes that its own barrier and fence builtins leave shared
 * variables alone whose address is not taken, and moves loads across them. */
#define __syncthreads() asm volatile("bar.sync 0;" ::: "memory")
#define HD_BAR_RED(name, op, ret)                                                        \
	HD int name(int p)                                                               \
	{                                                                                \
		int r;                                                                   \
		asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\t" op ret \
			     : "=r"(r)                                                   \
			     : "r"(p)                                                    \
			     : "memory");                                                \
		return r;                                                                \
	}
HD_BAR_RED(__syncthreads_count, "bar.red.popc.u32 %0, 0, p;", "\n\t}")
HD_BAR_RED(__syncthreads_and, "bar.red.and.pred q, 0, p;", "\n\tselp.s32 %0, 1, 0, q;\n\t}")
HD_BAR_RED(__syncthreads_or, "bar.red.or.pred q, 0, p;", "\n\tselp.s32 %0, 1, 0, q;\n\t}")
#undef HD_BAR_RED
HD void __threadfence()
{
	asm volatile("membar.gl;" ::: "memory");
}
HD void __threadfence_block()
{
	asm volatile("membar.cta;" ::: "memory");
}

/* ---- output: calls that the driver resolves ---- */
extern "C" __device__ int printf(const char *, ...);
typedef __SIZE_TYPE__ size_t;
extern "C" __device__ void *malloc(size_t);
extern "C" __device__ void free(void *);
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
