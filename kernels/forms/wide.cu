/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Arithmetic beyond 32-bit words: doubles, 64-bit integers, half precision, conversions. */
// exec: wide_double --grid 2 --block 32 f64[64]:iota f64[128]:zero
// exec: wide_integer --grid 2 --block 32 u64[64]:iota u64[384]:zero u64:12345678901
// exec: wide_signed --grid 2 --block 32 i64[256]:zero i64:-987654321
// exec: wide_half --grid 2 --block 32 u16[128]:zero
// exec: wide_convert --grid 2 --block 32 i64[512]:zero f32:1.7
#include "../heddle_cuda.h"

KERNEL wide_double(const double *in, double *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	double v = in[i] + 0.125;
	out[2 * i] = fma(v, v, -1.0) / (v + 3.0);
	out[2 * i + 1] = sqrt(fabs(v - 20.0)) + __dmul_rn(v, 0.1);
}

KERNEL wide_integer(const u64 *in, u64 *out, u64 m)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	u64 v = in[i] * 0x9e3779b97f4a7c15ull + m;
	u64 *to = out + i * 6;
	to[0] = v;
	to[1] = v / (in[i] + 3);
	to[2] = v % (in[i] + 7);
	to[3] = __umul64hi(v, m);
	to[4] = v << (i & 63) | v >> ((64 - i) & 63);
	to[5] = __clzll(v >> (i & 31));
}

KERNEL wide_signed(long long *out, long long m)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	long long v = m * (i - 20);
	out[i * 4] = v / (i + 1);
	out[i * 4 + 1] = v % (i + 5);
	out[i * 4 + 2] = v >> (i & 15);
	out[i * 4 + 3] = (v < 0 ? -v : v) + (int)v / (i - 100) + (int)v % (i + 9);
}

KERNEL wide_half(unsigned short *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned short a, b, c;
	float f = 0.25f * i, g;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(f));
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(f + 1.5f));
	asm("fma.rn.f16 %0, %1, %2, %1;" : "=h"(c) : "h"(a), "h"(b));
	asm("cvt.f32.f16 %0, %1;" : "=f"(g) : "h"(c));
	out[2 * i] = c;
	u32 pair = a | (u32)b << 16, sum;
	asm("add.f16x2 %0, %1, %1;" : "=r"(sum) : "r"(pair));
	out[2 * i + 1] = (unsigned short)((sum >> 16) ^ (unsigned short)(int)g);
}

KERNEL wide_convert(long long *out, float f)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	float v = f * (i - 31);
	long long *to = out + i * 8;
	to[0] = (int)v;
	to[1] = (u32)v;
	to[2] = (long long)(v * 1.0e10f);
	to[3] = (signed char)i;
	to[4] = (short)(i * 1000);
	to[5] = __float2int_rn(v);
	to[6] = (long long)((double)v * 3.0);
	to[7] = (long long)((float)(i * 0x1000001ll));
}
