/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program of the runtime API with an error: fault pointer|trap|none. Prints the result codes of
 * all later calls, which must be the same natively and under heddle. */
#include <cstdio>
#include <cstring>

__global__ void add(unsigned *p, unsigned n)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		p[i] += i;
}

__global__ void trap(unsigned *p, unsigned at)
{
	if (blockIdx.x == at)
		__trap();
	p[blockIdx.x] = at;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	unsigned *p = NULL, seen = 0;

	printf("%d\n", cudaMalloc(&p, 400000));
	printf("%d\n", cudaMemset(p, 0, 400000));
	for (int i = 0; i < 50; i++)
		add<<<300, 128>>>(p, 100000);
	printf("%d\n", cudaDeviceSynchronize());
	printf("%d\n", cudaMemcpy(&seen, p + 77, 4, cudaMemcpyDeviceToHost));
	printf("%u\n", seen / 50);
	if (!strcmp(what, "pointer"))
		add<<<300, 128>>>(p, 1000000000);
	if (!strcmp(what, "trap"))
		trap<<<300, 128>>>(p, 150);
	printf("%d\n", cudaDeviceSynchronize());
	printf("%d\n", cudaGetLastError());
	printf("%d\n", cudaMemcpy(&seen, p, 4, cudaMemcpyDeviceToHost));
	printf("%d\n", cudaFree(p));
	return 0;
}
