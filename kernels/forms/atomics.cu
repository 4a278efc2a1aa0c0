/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Atomics on global and shared memory whose outcome does not depend on their order. */
// exec: atomic_global --grid 5 --block 64 u32[8]:zero u64[2]:zero f32[1]:zero
// exec: atomic_shared --grid 4 --block 128 u32[64]:zero
// exec: atomic_cas --grid 4 --block 64 u32[1]:zero u64[1]:zero
// exec: atomic_inline --grid 4 --block 64 u32[4]:zero u64[1]:zero
#include "../heddle_warp.h"

KERNEL atomic_global(u32 *word, u64 *wide, float *real)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	atomicAdd(&word[0], i);
	atomicMax(&word[1], i * 7 % 311);
	atomicMin((int *)&word[2], -(int)(i % 97));
	atomicOr(&word[3], 1u << (i & 31));
	atomicXor(&word[4], i * 2654435761u);
	atomicInc(&word[5], 1000000);
	atomicAnd(&word[6], ~(1u << (i & 7)));
	atomicSub((int *)&word[7], 3);
	atomicAdd(&wide[0], (u64)i << 20);
	atomicMax(&wide[1], (u64)i * i);
	atomicAdd(real, 0.5f);
}

KERNEL atomic_shared(u32 *histogram)
{
	__shared__ u32 bin[64];
	u32 tid = threadIdx.x;
	if (tid < 64)
		bin[tid] = 0;
	__syncthreads();
	atomicAdd(&bin[(tid * 13 + blockIdx.x) % 64], 1u);
	atomicMax(&bin[63], tid / 100);
	__syncthreads();
	if (tid < 64)
		atomicAdd(&histogram[tid], bin[tid]);
}

KERNEL atomic_cas(u32 *word, u64 *wide)
{
	u32 seen = *word, was;
	do {
		was = seen;
		seen = atomicCAS(word, was, was + 3);
	} while (seen != was);
	u64 wseen = *wide, wwas;
	do {
		wwas = wseen;
		wseen = atomicCAS(wide, wwas, wwas + 5);
	} while (wseen != wwas);
}

KERNEL atomic_inline(u32 *word, u64 *wide)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	asm volatile("red.global.add.u32 [%0], %1;" ::"l"(word), "r"(i) : "memory");
	asm volatile("{\n\t.reg .s32 old;\n\t"
		     "atom.acq_rel.gpu.global.max.s32 old, [%0], %1;\n\t}" ::"l"(word + 1),
		     "r"(i)
		     : "memory");
	asm volatile("red.relaxed.gpu.global.or.b32 [%0+8], %1;" ::"l"(word), "r"(1u << (i & 31))
		     : "memory");
	asm volatile("{\n\t.reg .u64 old;\n\t"
		     "atom.global.sys.add.u64 old, [%0], %1;\n\t}" ::"l"(wide),
		     "l"((u64)i)
		     : "memory");
	asm volatile("red.global.add.u64 [%0], 3;" ::"l"(wide) : "memory");
	asm volatile("{\n\t.reg .u32 old;\n\tatom.global.dec.u32 old, [%0], 4;\n\t}" ::"l"(word + 3)
		     : "memory");
}
