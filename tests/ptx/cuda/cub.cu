/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A large file: a template library with its inline assembly. */
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

template <typename Key, int items> __device__ void sort(Key *data)
{
	typedef cub::BlockRadixSort<Key, 128, items> Sort;
	__shared__ typename Sort::TempStorage storage;
	Key keys[items];

	for (int i = 0; i < items; i++)
		keys[i] = data[threadIdx.x * items + i];
	Sort(storage).Sort(keys);
	for (int i = 0; i < items; i++)
		data[threadIdx.x * items + i] = keys[i];
}

extern "C" __global__ void sort_u32(unsigned *data)
{
	sort<unsigned, 8>(data);
}
extern "C" __global__ void sort_f64(double *data)
{
	sort<double, 4>(data);
}
extern "C" __global__ void sort_u16(unsigned short *data)
{
	sort<unsigned short, 12>(data);
}
extern "C" __global__ void scan(float *data)
{
	typedef cub::BlockScan<float, 256> Scan;
	typedef cub::BlockReduce<float, 256> Reduce;
	__shared__ typename Scan::TempStorage scan_storage;
	__shared__ typename Reduce::TempStorage reduce_storage;
	float v = data[threadIdx.x], sum;

	Scan(scan_storage).InclusiveSum(v, v, sum);
	v += Reduce(reduce_storage).Sum(v);
	data[threadIdx.x] = v + sum;
}
