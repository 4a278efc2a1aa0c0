/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control flow and data that need nvcc's own headers: calls through pointers, recursion, virtual
 * functions, switches, printf, assert, textures, surfaces, managed and constant data, a dynamic
 * stack, half precision, cooperative groups. */
#include <assert.h>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>

typedef int (*binary)(int, int);
struct big {
	int a[10];
	double d;
	char c;
};
struct shape {
	__device__ virtual float area(float x) const = 0;
};
struct square : shape {
	__device__ float area(float x) const override
	{
		return x * x;
	}
};
struct circle : shape {
	__device__ float area(float x) const override
	{
		return 3.14159f * x * x;
	}
};

__constant__ int table[64];
__constant__ float weights[3] = {0.1f, 1e-8f, 3e10f};
__device__ int counter = 7;
__device__ float4 vectors[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ int *pointer = &counter;
__managed__ int shared_with_host = 3;
__device__ __noinline__ int plus(int a, int b)
{
	return a + b + counter;
}
__device__ __noinline__ int times(int a, int b)
{
	return a * b;
}
__device__ __noinline__ big make(big b, int k)
{
	b.a[k] += 3;
	b.d *= 2;
	return b;
}
__device__ binary functions[] = {plus, times};
__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void __launch_bounds__(256, 2) calls(int *out, big b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	big r = make(b, n & 7);
	square s;
	circle c;
	const shape *p = n & 1 ? (const shape *)&s : &c;

	assert(n < 1000);
	if (i >= n)
		return;
	out[i] = functions[n & 1](i, n) + fibonacci(n) + r.a[i & 7] + (int)(r.d + p->area(n));
	if (i == 0)
		printf("%d %s %f\n", n, "blocks", r.d);
	__syncthreads();
	out[i] += table[i & 63] + *pointer + shared_with_host;
}

extern "C" __global__ void switches(int *out, const float *in, int n)
{
	extern __shared__ int dynamic[];
	__shared__ float fixed[8][9];
	int i = threadIdx.x, v = 0, local[16];

	for (int k = 0; k < 16; k++)
		local[k] = i * k;
	switch (n) {
	case 0:
		v = 5;
		break;
	case 1:
		v = local[i & 15];
		break;
	case 2:
		v = i * 3;
		break;
	case 3:
		v = __popc(i);
		break;
	case 4:
		__trap();
	case 7:
		v = __ffs(i) + local[(i + 3) & 15];
		break;
	default:
		v = -1;
	}
	dynamic[i] = v;
	fixed[i & 7][i % 9] = in[i] * weights[i % 3];
	__syncthreads();
	while (v > n && __any_sync(~0u, v))
		v -= dynamic[(i + v) & 31] | 1;
	if (__syncthreads_or(v == n))
#if __CUDA_ARCH__ >= 800
		v += __reduce_add_sync(~0u, v);
#else
		v += __match_any_sync(~0u, v);
#endif
	out[i] = v + (int)fixed[(i + 1) & 7][2] + __shfl_xor_sync(~0u, v, 3);
	atomicAdd(&out[i], 1);
	atomicCAS_block(&out[i], 2, 3);
	__threadfence_system();
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *out)
{
	float4 v = tex2D<float4>(t, threadIdx.x * 0.5f, 2.0f);
	float g = tex2DLod<float>(t, 1.0f, 2.0f, 1.0f) + tex3D<float>(t, 1, 2, 3) +
		  tex2Dgather<float4>(t, 1, 2, 0).x;

	surf2Dwrite(v, s, (int)threadIdx.x * 16, 3, cudaBoundaryModeClamp);
	out[threadIdx.x] = v.x + g + surf1Dread<float>(s, 4);
}

extern "C" __global__ void precise(float *f, double *d, __half *h, __nv_bfloat162 *b, long long *l)
{
	int i = threadIdx.x;

	f[i] = sinf(f[i]) + expf(f[i]) + powf(f[i], 1.7f) + __fdividef(f[i], 3.0f) + tanhf(f[i]);
	d[i] = sqrt(d[i]) / (d[i] + 1.0) + exp(d[i]) + fmod(d[i], 3.0);
	h[i] = __hfma(h[i], h[i], __float2half(0.5f)) + hexp(h[i]);
	b[i] = __hmul2(b[i], __float22bfloat162_rn(make_float2(f[i], 2.0f)));
	l[i] = l[i] / 7 + __mul64hi(l[i], 12345678901LL) + clock64() + __brevll(l[i]);
}

namespace cg = cooperative_groups;
extern "C" __global__ void groups(int *out)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<8>(block);
	auto active = cg::coalesced_threads();
	int v = out[threadIdx.x];

	for (int k = 4; k; k /= 2)
		v += tile.shfl_down(v, k);
	v += tile.any(v > 3) + (int)active.size() + (int)active.thread_rank();
	block.sync();
	if (__isGlobal(out) && __activemask())
		cg::this_grid().sync();
	out[threadIdx.x] = v;
	int *dynamic = (int *)alloca(v);
	dynamic[v & 3] = 1;
	out[threadIdx.x + 32] = dynamic[0];
}
