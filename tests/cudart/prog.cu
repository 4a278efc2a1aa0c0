/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program of the CUDA runtime as users of nvcc write it: kernels and templates with <<< >>>,
 * variables of each kind, and the header's inline functions, which call the library. Prints a
 * line for each part. */
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                              \
	do {                                                                     \
		cudaError_t error_ = (call);                                     \
		if (error_ != cudaSuccess) {                                     \
			printf("%s: %s (%s)\n", #call, cudaGetErrorName(error_), \
				cudaGetErrorString(error_));                     \
			exit(1);                                                 \
		}                                                                \
	} while (0)

__device__ int on_device[4] = {1, 2, 3, 4};
__constant__ int constants[4];
__managed__ int managed = 5;

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

template <class T> __global__ void fill(T *out, T value)
{
	out[threadIdx.x] = value;
}

__global__ void variables(int *out)
{
	int i = threadIdx.x;
	out[i] = on_device[i] * constants[i] + managed;
	__syncthreads();
	if (i == 0)
		managed = 77;
}

__global__ void reverse(int *at, int n)
{
	extern __shared__ int part[];
	part[threadIdx.x] = at[threadIdx.x];
	__syncthreads();
	at[threadIdx.x] = part[n - 1 - threadIdx.x];
}

__global__ void say(int n)
{
	if (threadIdx.x == 0)
		printf("block %d of %d\n", blockIdx.x, n);
}

static void vectors(void)
{
	const int n = 1000;
	float *a, *b, *c;
	int bad = 0, grid, block;

	CHECK(cudaMallocManaged(&a, n * sizeof(*a)));
	CHECK(cudaMallocHost(&b, n * sizeof(*b)));
	CHECK(cudaMalloc(&c, n * sizeof(*c)));
	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 2 * i;
	}
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0));
	add<<<(n + block - 1) / block, block>>>(a, b, c, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(a, c, n * sizeof(*a), cudaMemcpyDefault));
	for (int i = 0; i < n; i++)
		bad += a[i] != 3.0f * i;
	printf("vectors: %d wrong\n", bad);
	CHECK(cudaFree(a));
	CHECK(cudaFreeHost(b));
	CHECK(cudaFree(c));
}

static void symbols(void)
{
	int in[4] = {10, 20, 30, 40}, out[4], *p;

	CHECK(cudaMalloc(&p, sizeof(in)));
	CHECK(cudaMemcpyToSymbol(constants, in, sizeof(in)));
	managed += 1;
	variables<<<1, 4>>>(p);
	CHECK(cudaMemcpy(out, p, sizeof(out), cudaMemcpyDeviceToHost));
	CHECK(cudaDeviceSynchronize());
	printf("symbols: %d %d %d %d, managed %d\n", out[0], out[1], out[2], out[3], managed);
	CHECK(cudaMemcpyFromSymbol(out, on_device, sizeof(out)));
	printf("on_device: %d %d\n", out[0], out[3]);
	CHECK(cudaFree(p));
}

static void streams(void)
{
	cudaStream_t s;
	cudaEvent_t before, after;
	double *d, host[8];
	float ms = -1;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaEventCreate(&before));
	CHECK(cudaEventCreate(&after));
	CHECK(cudaMallocAsync(&d, sizeof(host), s));
	CHECK(cudaEventRecord(before, s));
	fill<<<1, 8, 0, s>>>(d, 2.5);
	CHECK(cudaEventRecord(after, s));
	CHECK(cudaMemcpyAsync(host, d, sizeof(host), cudaMemcpyDeviceToHost, s));
	CHECK(cudaFreeAsync(d, s));
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaEventElapsedTime(&ms, before, after));
	printf("streams: %g, %s\n", host[7], ms >= 0 ? "timed" : "not timed");
	CHECK(cudaEventDestroy(before));
	CHECK(cudaEventDestroy(after));
	CHECK(cudaStreamDestroy(s));
}

static void shared(void)
{
	const int n = 1024;
	int *p, bad = 0;

	CHECK(cudaMallocManaged(&p, n * sizeof(*p)));
	for (int i = 0; i < n; i++)
		p[i] = i;
	CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	reverse<<<1, n, 65536>>>(p, n);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++)
		bad += p[i] != n - 1 - i;
	printf("shared: %d wrong\n", bad);
	CHECK(cudaFree(p));
}

int main(void)
{
	cudaDeviceProp prop;
	cudaFuncAttributes attributes;

	CHECK(cudaGetDeviceProperties(&prop, 0));
	printf("%s, sm_%d%d, warps of %d\n", prop.name, prop.major, prop.minor, prop.warpSize);
	vectors();
	symbols();
	streams();
	shared();
	CHECK(cudaFuncGetAttributes(&attributes, fill<double>));
	printf("fill<double>: %d threads at most\n", attributes.maxThreadsPerBlock);
	say<<<2, 32>>>(2);
	CHECK(cudaDeviceSynchronize());
	add<<<1, 4096>>>(nullptr, nullptr, nullptr, 0);
	printf("4096 threads: %s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}
