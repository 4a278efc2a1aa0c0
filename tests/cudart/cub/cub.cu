/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs CUB on the virtual GPU: prefix sums, a sum and a sort. CUB chooses among its tuned variants
 * by a kernel's PTX version, and finds none if the runtime reports another version than the
 * .target. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstdio>

#define N 5000

static unsigned in[N], out[N], *a, *b;

static cudaError_t run(int what, void *space, size_t &bytes)
{
	switch (what) {
	case 0:
		return cub::DeviceScan::InclusiveSum(space, bytes, a, b, N);
	case 1:
		return cub::DeviceReduce::Sum(space, bytes, a, b, N);
	default:
		return cub::DeviceRadixSort::SortKeys(space, bytes, a, b, N);
	}
}

static unsigned wrong(int what)
{
	unsigned sum = 0, n = 0;

	for (unsigned i = 0; i < N; i++) {
		sum += in[i];
		n += what == 0 && out[i] != sum;
	}
	if (what == 1)
		return out[0] != sum;
	if (what == 2)
		std::sort(in, in + N);
	for (unsigned i = 0; what == 2 && i < N; i++)
		n += in[i] != out[i];
	return n;
}

int main()
{
	static const char *const names[] = {"scan", "reduce", "sort"};
	int bad = 0;

	for (unsigned i = 0; i < N; i++)
		in[i] = i * 2654435761u;
	cudaMalloc(&a, sizeof(in));
	cudaMalloc(&b, sizeof(in));
	cudaMemcpy(a, in, sizeof(in), cudaMemcpyHostToDevice);
	for (int i = 0; i < 3; i++) {
		void *space = nullptr;
		size_t bytes = 0;
		cudaError_t e = run(i, nullptr, bytes);

		cudaMalloc(&space, bytes);
		if (e == cudaSuccess)
			e = run(i, space, bytes);
		cudaMemcpy(out, b, sizeof(out), cudaMemcpyDeviceToHost);
		unsigned n = wrong(i);
		printf("%s: %s, %u wrong\n", names[i], cudaGetErrorName(e), n);
		bad |= e != cudaSuccess || n;
		cudaFree(space);
	}
	return bad;
}
