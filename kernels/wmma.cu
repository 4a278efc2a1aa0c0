/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Product of matrices of halves by tensor cores, sums in floats: a tile of 16 x 16 a warp. a (m x
 * k) by rows, b (k x n) by columns, c (m x n) by rows: c = a b + c. */
// exec: wmma --grid 1 --block 256 u16[1024]:iota u16[2048]:iota f32[2048]:const(0.25) u32:32 u32:64 u32:32
#include "heddle_cuda.h"

#define WORDS8(x) \
	"r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7])
#define TO_WORDS(x)                                                                         \
	"=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), \
		"=r"(x[7])
#define SUMS(x) \
	"f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7])
#define TO_SUMS(x)                                                                          \
	"+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), \
		"+f"(x[7])
#define LIST "{%0, %1, %2, %3, %4, %5, %6, %7}"

typedef unsigned short half_bits;

KERNEL wmma(const half_bits *a, const half_bits *b, float *c, u32 m, u32 n, u32 k)
{
	u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, across = n / 16;
	u32 row = warp / across * 16, column = warp % across * 16;
	if (row >= m)
		return;
	float sum[8];
	float *to = c + (u64)row * n + column;
	asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " LIST ", [%8], %9;"
		     : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3]), "=f"(sum[4]),
		     "=f"(sum[5]), "=f"(sum[6]), "=f"(sum[7])
		     : "l"(to), "r"(n)
		     : "memory");
	for (u32 i = 0; i < k; i += 16) {
		u32 left[8], right[8];
		asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " LIST ", [%8], %9;"
			     : TO_WORDS(left)
			     : "l"(a + (u64)row * k + i), "r"(k)
			     : "memory");
		asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " LIST ", [%8], %9;"
			     : TO_WORDS(right)
			     : "l"(b + (u64)column * k + i), "r"(k)
			     : "memory");
		asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " LIST ", "
			     "{%8, %9, %10, %11, %12, %13, %14, %15}, "
			     "{%16, %17, %18, %19, %20, %21, %22, %23}, " LIST ";"
			     : TO_SUMS(sum)
			     : WORDS8(left), WORDS8(right));
	}
	asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], " LIST ", %9;"
		     :
		     : SUMS(sum), "l"(to), "r"(n)
		     : "memory");
}
