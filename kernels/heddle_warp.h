/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Warp operations and atomics under CUDA's names, for clang without CUDA's headers; nothing under
 * nvcc. Every warp operation takes the mask of the lanes that take part. Atomics are relaxed, at
 * device scope, as CUDA's are. */
#ifndef HEDDLE_WARP_H
#define HEDDLE_WARP_H

#include "heddle_cuda.h"

#ifdef __clang__

/* c: the clamp and segment word of shfl.sync, 0x1f but for .up, which clamps at lane 0. */
#define HD_SHFL(name, mode, c)                                                           \
	HD int name(u32 mask, int v, u32 n)                                              \
	{                                                                                \
		return __nvvm_shfl_sync_##mode##_i32(mask, v, n, c);                     \
	}                                                                                \
	HD u32 name(u32 mask, u32 v, u32 n)                                              \
	{                                                                                \
		return (u32)__nvvm_shfl_sync_##mode##_i32(mask, (int)v, n, c);           \
	}                                                                                \
	HD float name(u32 mask, float v, u32 n)                                          \
	{                                                                                \
		return __nvvm_shfl_sync_##mode##_f32(mask, v, n, c);                     \
	}                                                                                \
	HD int name(u32 mask, int v, u32 n, u32 width)                                   \
	{                                                                                \
		return __nvvm_shfl_sync_##mode##_i32(mask, v, n, (32 - width) << 8 | c); \
	}
HD_SHFL(__shfl_sync, idx, 31)
HD_SHFL(__shfl_up_sync, up, 0)
HD_SHFL(__shfl_down_sync, down, 31)
HD_SHFL(__shfl_xor_sync, bfly, 31)
#undef HD_SHFL

HD void __syncwarp(u32 mask = ~0u)
{
	asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
HD int __all_sync(u32 mask, int p)
{
	return __nvvm_vote_all_sync(mask, p);
}
HD int __any_sync(u32 mask, int p)
{
	return __nvvm_vote_any_sync(mask, p);
}
HD u32 __ballot_sync(u32 mask, int p)
{
	return __nvvm_vote_ballot_sync(mask, p);
}
HD u32 __match_any_sync(u32 mask, u32 v)
{
	return __nvvm_match_any_sync_i32(mask, v);
}
HD u32 __match_all_sync(u32 mask, u32 v, int *pred)
{
	return __nvvm_match_all_sync_i32p(mask, v, pred);
}
HD u32 __activemask()
{
	u32 m;
	asm volatile("activemask.b32 %0;" : "=r"(m));
	return m;
}

/* The generic-address forms: the compiler narrows them to .global or .shared where it can tell. */
#define HD_ATOM(name, type, as, builtin)              \
	HD type name(type *p, type v)                 \
	{                                             \
		return (type)builtin((as *)p, (as)v); \
	}
HD_ATOM(atomicAdd, int, int, __nvvm_atom_add_gen_i)
HD_ATOM(atomicAdd, u32, int, __nvvm_atom_add_gen_i)
HD_ATOM(atomicAdd, u64, long long, __nvvm_atom_add_gen_ll)
HD_ATOM(atomicAdd, float, float, __nvvm_atom_add_gen_f)
HD_ATOM(atomicAdd, double, double, __nvvm_atom_add_gen_d)
HD_ATOM(atomicExch, int, int, __nvvm_atom_xchg_gen_i)
HD_ATOM(atomicExch, u32, int, __nvvm_atom_xchg_gen_i)
HD_ATOM(atomicExch, u64, long long, __nvvm_atom_xchg_gen_ll)
HD_ATOM(atomicMin, int, int, __nvvm_atom_min_gen_i)
HD_ATOM(atomicMin, u32, u32, __nvvm_atom_min_gen_ui)
HD_ATOM(atomicMax, int, int, __nvvm_atom_max_gen_i)
HD_ATOM(atomicMax, u32, u32, __nvvm_atom_max_gen_ui)
HD_ATOM(atomicMax, u64, unsigned long long, __nvvm_atom_max_gen_ull)
HD_ATOM(atomicAnd, u32, int, __nvvm_atom_and_gen_i)
HD_ATOM(atomicOr, u32, int, __nvvm_atom_or_gen_i)
HD_ATOM(atomicXor, u32, int, __nvvm_atom_xor_gen_i)
HD_ATOM(atomicInc, u32, u32, __nvvm_atom_inc_gen_ui)
HD_ATOM(atomicDec, u32, u32, __nvvm_atom_dec_gen_ui)
#undef HD_ATOM

HD int atomicSub(int *p, int v)
{
	return __nvvm_atom_add_gen_i(p, -v);
}
HD u32 atomicCAS(u32 *p, u32 expected, u32 v)
{
	return (u32)__nvvm_atom_cas_gen_i((int *)p, (int)expected, (int)v);
}
HD u64 atomicCAS(u64 *p, u64 expected, u64 v)
{
	return (u64)__nvvm_atom_cas_gen_ll((long long *)p, (long long)expected, (long long)v);
}

#endif
#endif
