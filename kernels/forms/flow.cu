/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control flow: dense switches, loops that lanes leave at different times, jumps into the middle of
 * a loop, scopes whose names hide each other, deep nesting. */
// exec: flow_switch --grid 3 --block 64 u32[192]:zero u32:5
// exec: flow_table --grid 3 --block 64 u32[192]:zero
// exec: flow_collatz --grid 3 --block 64 u32[192]:zero
// exec: flow_nested --grid 2 --block 64 u32[128]:zero u32:6
// exec: flow_scopes --grid 2 --block 32 u32[64]:iota u32[64]:zero
// exec: flow_middle --grid 2 --block 32 u32[64]:zero u32:9
// exec: flow_fma --grid 2 --block 64 f32[128]:zero f32:0.75
#include "../heddle_cuda.h"

static __device__ __noinline__ u32 step(u32 op, u32 v)
{
	switch (op) {
	case 0:
		return v + 1;
	case 1:
		return v * 3;
	case 2:
		return v ^ 0x55;
	case 3:
		return v >> 1;
	case 4:
		return v - 7;
	case 5:
		return ~v;
	case 6:
		return v << 2;
	case 7:
		return v * v;
	default:
		return 0;
	}
}

KERNEL flow_switch(u32 *out, u32 rounds)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
	for (u32 k = 0; k < rounds; k++)
		v = step((v + k) % 9, v) & 0xffffff;
	out[i] = v;
}

/* A branch through a table, as compilers newer than these write a switch. */
KERNEL flow_table(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v;
	asm volatile(
		"{\n\tts: .branchtargets T0, T1, T2, T3;\n\t.reg .u32 k;\n\tand.b32 k, %1, 3;\n\t"
		"brx.idx k, ts;\n\t"
		"T0:\n\tmov.u32 %0, 10;\n\tbra TE;\n\tT1:\n\tadd.u32 %0, %1, 20;\n\tbra TE;\n\t"
		"T2:\n\tmul.lo.u32 %0, %1, 30;\n\tbra TE;\n\tT3:\n\tnot.b32 %0, %1;\n\tTE:\n\t}"
		: "=&r"(v)
		: "r"(i));
	out[i] = v;
}

KERNEL flow_collatz(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = i + 1, steps = 0;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v / 2;
		steps++;
	}
	out[i] = steps;
}

KERNEL flow_nested(u32 *out, u32 n)
{
	__shared__ u32 line[64];
	u32 tid = threadIdx.x, sum = 0;
	for (u32 a = 0; a < n; a++) {
		for (u32 b = a; b < n; b++) {
			if ((tid + a * b) % 5 == 0)
				continue;
			for (u32 c = 0; c < (tid & 3); c++) {
				if (sum > 5000)
					break;
				sum += a * 7 + b * 3 + c;
			}
		}
		line[tid] = sum;
		__syncthreads();
		sum += line[(tid + 1) & 63] & 15;
		__syncthreads();
	}
	out[blockIdx.x * 64 + tid] = sum;
}

/* Scopes within scopes: v, the label L and the predicate p stand for something else in each. */
KERNEL flow_scopes(const u32 *in, u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
	asm volatile("{\n\t.reg .u32 v;\n\t.reg .pred p;\n\tmov.u32 v, %0;\n\t"
		     "{\n\t.reg .u32 v;\n\t.reg .pred p;\n\tmov.u32 v, 100;\n\tsetp.gt.u32 p, %0, "
		     "20;\n\t"
		     "@p bra L;\n\tadd.u32 %0, %0, v;\n\tL:\n\tadd.u32 %0, %0, 1;\n\t}\n\t"
		     "setp.gt.u32 p, v, 40;\n\t@p bra L;\n\tadd.u32 %0, %0, v;\n\tL:\n\t"
		     "{\n\t.reg .u32 v;\n\tshl.b32 v, %0, 1;\n\txor.b32 %0, %0, v;\n\t}\n\t}"
		     : "+r"(v));
	out[i] = v;
}

/* Entered at its head by even lanes, in its middle by odd ones. */
KERNEL flow_middle(u32 *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, k = 0, v = i;
	if (i & 1)
		goto middle;
head:
	v = v * 5 + 1;
	if (v & 4)
		k++;
middle:
	v ^= v >> 3;
	if (++k < n)
		goto head;
	out[i] = v;
}

/* Floating-point compares of every kind, with a NaN among the values. */
KERNEL flow_fma(float *out, float f)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = i == 5 ? __uint_as_float(0x7fc00000u) : f * ((float)i - 30.0f);
	float r = v < 3.0f ? 1.0f : 2.0f;
	r += v != v ? 4.0f : 0.0f;
	r += !(v > -3.0f) ? 8.0f : 0.0f;
	r += fminf(v, 10.0f) + fmaxf(v, -10.0f) + fabsf(v);
	r += v == 0.0f ? 16.0f : sqrtf(fabsf(v)) / (v * v + 1.0f);
	out[i] = r;
}
