/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inline assembly as libraries write it: nested and flat scopes with registers and labels of
 * their own. Many of these have the same name, and unrolling and inlining duplicate some scopes.
 * nvcc and clang compile this file. */
#include "../../../kernels/heddle_cuda.h"

static __device__ __forceinline__ u32 lop(u32 a, u32 b)
{
	u32 r;
	asm volatile("{ .reg .b32 t<3>;\n\t mov.b32 t0, %1; mov.b32 t1, %2;\n\t"
		     "{ .reg .b32 t1; mov.b32 t1, 0xff; and.b32 t0, t0, t1; }\n\t"
		     "lop3.b32 %0, t0, t1, 5, 0x96; }"
		     : "=r"(r)
		     : "r"(a), "r"(b));
	return r;
}

static __device__ __forceinline__ u32 loop(u32 n)
{
	u32 r;
	asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 i;\n\tmov.u32 i, 0; mov.u32 %0, 1;\n"
		     "LOOP:\n\tsetp.ge.u32 p, i, %1;\n\t@p bra.uni DONE;\n\tadd.u32 i, i, 1;\n\t"
		     "mul.lo.u32 %0, %0, 3; // grows\n\tbra.uni LOOP; /* again */\nDONE:\n\t}"
		     : "=r"(r)
		     : "r"(n));
	return r;
}

KERNEL asm_scopes(u32 *out, const u32 *in, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
#pragma unroll
	for (int k = 0; k < 4; k++)
		v = lop(v, in[i + k]) + loop(v & 7);
	if (n > 5) {
		v += loop(n);
		asm("{ .reg .pred p; setp.lt.u32 p, %1, 7; @p add.u32 %0, %0, 1; @!p sub.u32 %0, "
		    "%0, 1; }"
			: "+r"(v)
			: "r"(n));
	}
	out[i] = v;
}

KERNEL asm_forms(u32 *out, float *f, u64 *w)
{
	u32 a, b, s = threadIdx.x, lane;
	u64 d;
	float x, y, z, q;
	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(w[s]));
	asm volatile("mov.b64 %0, {%1, %2};" : "=l"(d) : "r"(b), "r"(a));
	asm volatile("ld.global.v4.f32 {%0,%1, %2 ,%3}, [%4+-16];"
		     : "=f"(x), "=f"(y), "=f"(z), "=f"(q)
		     : "l"(f + 4));
	asm volatile("vadd.u32.u32.u32.sat %0, %1.b0, %2.h1;" : "=r"(a) : "r"(a), "r"(b));
	asm volatile("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;"
		     : "=r"(b)
		     : "r"(a), "r"(b), "r"(s));
	asm volatile("add.cc.u32 %0, %0, %1; addc.u32 %1, %1, 0;" : "+r"(a), "+r"(b));
	asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(out + s), "r"(a) : "memory");
	asm volatile("{ .reg .pred p; .reg .pred q; setp.lt.u32 p|q, %0, WARP_SZ; "
		     "@p st.global.u32 [%1+4], %2; @q st.global.u32 [%1+4*2], 0x1F; }" ::"r"(a),
		     "l"(out), "r"(b)
		     : "memory");
	asm volatile("prefetch.global.L2 [%0];" ::"l"(f));
	asm volatile("red.global.add.f32 [%0], 0f3F800000;" ::"l"(f));
	asm volatile("atom.global.cas.b32 %0, [%1], %2, (1+2)*3;" : "=r"(a) : "l"(out), "r"(lane));
	asm volatile("membar.gl; bar.sync 1, 64; barrier.sync 2; bar.arrive 3, 128;");
	w[s] = d + a;
	f[s] = x * y + z * q;
}
