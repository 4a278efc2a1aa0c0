/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Bit manipulation: what the compilers make of shifts and masks, and instructions that only inline
 * assembly writes. */
// exec: bits_c --grid 2 --block 32 u32[512]:zero u32:2463534242
// exec: bits_inline --grid 2 --block 32 u32[768]:zero u32:2463534242
// exec: bits_video --grid 2 --block 32 u32[256]:zero u32:19088743
#include "../heddle_cuda.h"

KERNEL bits_c(u32 *out, u32 seed)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	u32 v = seed * (i + 1), n = i & 31, *to = out + i * 8;
	to[0] = v << n | v >> ((32 - n) & 31);
	to[1] = (v & 0xf0f0f0f0u) | (~seed & i);
	to[2] = v >> 5 & 0x3ff;
	to[3] = __popc(v) * 100 + __clz(v) + __ffs(v);
	to[4] = __brev(v);
	to[5] = __byte_perm(v, seed, 0x5140 + (i & 3));
	to[6] = __umulhi(v, seed);
	to[7] = (u32)((int)v >> n) ^ (v / 10) ^ (v % 7);
}

KERNEL bits_inline(u32 *out, u32 seed)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	u32 v = seed * (i + 1), n = i & 31, *to = out + i * 12;
	asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(to[0]) : "r"(v), "r"(seed), "r"(n));
	asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(to[1]) : "r"(v), "r"(seed), "r"(i));
	asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(to[2]) : "r"(v), "r"(seed), "r"(i));
	asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(to[3]) : "r"(v), "r"(seed), "r"(i & 3));
	asm("bfe.u32 %0, %1, %2, 9;" : "=r"(to[4]) : "r"(v), "r"(n));
	asm("bfe.s32 %0, %1, 4, %2;" : "=r"(to[5]) : "r"(v), "r"(n));
	asm("bfi.b32 %0, %1, %2, %3, 6;" : "=r"(to[6]) : "r"(v), "r"(seed), "r"(n));
	asm("bfind.u32 %0, %1;" : "=r"(to[7]) : "r"(v >> n));
	asm("bfind.shiftamt.s32 %0, %1;" : "=r"(to[8]) : "r"(v));
#ifdef __clang__ /* which knows no PTX that has it */
	to[9] = 0x1fu << n;
#else
	asm("bmsk.clamp.b32 %0, %1, 5;" : "=r"(to[9]) : "r"(n));
#endif
	asm("mad24.lo.u32 %0, %1, %2, 77;" : "=r"(to[10]) : "r"(v & 0xffffff), "r"(seed & 0xffff));
	asm("{\n\t.reg .u32 t;\n\tadd.cc.u32 t, %1, %2;\n\taddc.u32 %0, t, 0;\n\t}"
		: "=r"(to[11])
		: "r"(v), "r"(seed));
}

KERNEL bits_video(u32 *out, u32 seed)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	u32 v = seed * (i + 1), *to = out + i * 4;
	asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(to[0]) : "r"(v), "r"(seed), "r"(i));
	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(to[1]) : "r"(v), "r"(seed), "r"(i));
	asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(to[2]) : "r"(v), "r"(seed), "r"(i));
	asm("sad.u32 %0, %1, %2, %3;" : "=r"(to[3]) : "r"(v), "r"(seed), "r"(i));
}
