/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The kernels of heddle bench merge and the sizes at which pairs are measured. Some kernels are too
 * short if they go through their data once. Their grid then has one more dimension, which repeats
 * the work: the second one for va, the last one for the others. These kernels ignore the index in
 * that dimension. Each repetition writes or adds the same values, so the results do not depend on
 * the number of repetitions. */
#include "lab/merge/bench_merge.h"

#define F64M "f32[67108864]"
#define U64M "u32[67108864]"
#define F32M "f32[33554432]"
#define F16M "f32[16777216]"

const struct merge_row merge_rows[MERGE_KERNELS] = {
	{"bitonic", "bitonic.ptx", "bitonic_tile", "--grid 131072 --block 256 " U64M ":rand(1)",
		"--grid 16 --block 256 u32[8192]:rand(1)"},
	{"msort", "msort.ptx", "msort_tile",
		"--grid 262144 --block 128 " U64M ":rand(2) " U64M ":zero",
		"--grid 24 --block 128 u32[6144]:rand(2) u32[6144]:zero"},
	{"kmeans", "kmeans.ptx", "kmeans",
		"--grid 131072 --block 128 f32[134217728]:rand(3) f32[384]:rand(4) "
		"u32[16777216]:zero u32:16777216 u32:48 u32:8",
		"--grid 16 --block 64 f32[4096]:rand(3) f32[32]:rand(4) u32[1024]:zero u32:1024 "
		"u32:8 u32:4"},
	{"va", "va.ptx", "va",
		"--grid 131072,12 --block 256 " F32M ":rand(5) " F32M ":rand(6) " F32M
		":zero u32:33554432 u32:1",
		"--grid 16,2 --block 128 f32[2048]:rand(5) f32[2048]:rand(6) f32[2048]:zero "
		"u32:2048 u32:1"},
	{"transpose", "transpose.ptx", "transpose",
		"--grid 256,256,8 --block 32,8 " F64M ":rand(7) " F64M ":zero u32:8192 u32:8192",
		"--grid 4,5,2 --block 32,8 f32[20480]:rand(7) f32[20480]:zero u32:128 u32:160"},
	{"blackscholes", "blackscholes.ptx", "blackscholes",
		"--grid 131072,1,3 --block 128 " F16M ":rand(8) " F16M ":rand(9) " F16M
		":rand(10) " F16M ":zero " F16M ":zero u32:16777216 f32:0.02 f32:0.3",
		"--grid 16,1,2 --block 64 f32[1024]:rand(8) f32[1024]:rand(9) f32[1024]:rand(10) "
		"f32[1024]:zero f32[1024]:zero u32:1024 f32:0.02 f32:0.3"},
	{"histogram", "histogram.ptx", "histogram",
		"--grid 8192,1,6 --block 128 " U64M ":rand(11) u32[256]:zero u32:67108864",
		"--grid 8,1,2 --block 128 u32[20480]:rand(11) u32[256]:zero u32:20480"},
};
