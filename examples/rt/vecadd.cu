/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: vecadd [LAUNCHES [ELEMENTS]]. Computes c = a + b on the device, like a first CUDA program;
 * each sum is compared with the host's. nvcc builds it as it is; rt/clang/build.sh builds it with
 * clang, without a CUDA toolkit. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                             \
	do {                                                                                    \
		cudaError_t error_ = (call);                                                    \
		if (error_ != cudaSuccess) {                                                    \
			fprintf(stderr, "vecadd: %s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* A whole number from 1 to max. */
static int number(const char *text, int max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > max) {
		fprintf(stderr, "vecadd: '%s': a number from 1 to %d is expected\n", text, max);
		exit(2);
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? number(argv[1], 1000000) : 1;
	int n = argc > 2 ? number(argv[2], 10000000) : 1000000;
	size_t bytes = (size_t)n * sizeof(float);
	float *host = (float *)malloc(bytes), *a, *b, *c;
	int wrong = 0;

	if (!host) {
		fprintf(stderr, "vecadd: no memory for %d elements\n", n);
		return 1;
	}
	CHECK(cudaMalloc((void **)&a, bytes));
	CHECK(cudaMalloc((void **)&b, bytes));
	CHECK(cudaMalloc((void **)&c, bytes));
	for (int i = 0; i < n; i++)
		host[i] = (float)i;
	CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
	for (int i = 0; i < launches; i++) {
		vecadd<<<(n + 255) / 256, 256>>>(a, b, c, n);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		wrong += host[i] != (float)i + (float)i;
	printf("%d launch%s: %d of %d sums wrong\n", launches, launches == 1 ? "" : "es", wrong, n);
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
	free(host);
	return wrong != 0;
}
