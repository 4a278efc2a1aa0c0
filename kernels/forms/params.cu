/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernel parameters that are more than scalars: structures, odd alignments, arrays indexed at run
 * time, addresses taken, pointers inside. */
// exec: param_struct --grid 2 --block 32 hex:0700000000002040000000000000f03f u32[64]:zero
// exec: param_array --grid 2 --block 32 hex:0100000002000000030000000400000005000000060000000700000008000000 u32[64]:zero
// exec: param_mixed --grid 2 --block 32 u8:7 u16:300 f64:0.25 u8:9 i64:-5 f64[64]:zero
// exec: param_address --grid 2 --block 32 hex:0a000000140000001e00000028000000 u32[64]:zero u32:2
// exec: param_large --grid 1 --block 32 u32[64]:iota u32[32]:zero u32:1 u32:2 u32:3 u32:4 u32:5 u32:6 u32:7 u32:8
#include "../heddle_cuda.h"

struct mixed {
	int a;
	float b;
	double c;
};

KERNEL param_struct(struct mixed m, u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = m.a * 100 + (u32)(m.b * 10.0f) + (u32)(m.c * i);
}

struct table {
	u32 word[8];
};

KERNEL param_array(struct table t, u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = t.word[i % 8] * 3;
}

KERNEL param_mixed(
	unsigned char a, unsigned short b, double c, signed char d, long long e, double *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c * threadIdx.x + d + (double)e;
}

static __device__ __noinline__ u32 pick(const u32 *p, u32 k)
{
	return p[k & 3];
}

struct four {
	u32 word[4];
};

KERNEL param_address(struct four f, u32 *out, u32 k)
{
	u32 v = pick(f.word, k + threadIdx.x);
	f.word[threadIdx.x & 3] = v + 1; /* a copy: the parameter itself stays as it is */
	out[blockIdx.x * blockDim.x + threadIdx.x] = pick(f.word, threadIdx.x) + v;
}

KERNEL param_large(const u32 *in, u32 *out, u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h)
{
	u32 i = threadIdx.x;
	out[i] = in[i] * a + in[i + 1] * b + in[i + 2] * c + in[i + 3] * d + in[i + 4] * e +
		 in[i + 5] * f + in[i + 6] * g + in[i + 7] * h;
}
