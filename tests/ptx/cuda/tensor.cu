/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels with the matrix and asynchronous instructions that the compilation's target supports. */
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void fragments(const half *a, const half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.0f);
	for (int k = 0; k < 4; k++) {
		wmma::load_matrix_sync(fa, a + k * 16, 64);
		wmma::load_matrix_sync(fb, b + k * 16, 64);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c, fc, 64, wmma::mem_row_major);
}

extern "C" __global__ void pipeline(const float4 *in, float4 *out)
{
	__shared__ float4 stage[2][64];
	int i = threadIdx.x;

	__pipeline_memcpy_async(&stage[0][i], &in[i], 16);
	__pipeline_commit();
	__pipeline_memcpy_async(&stage[1][i], &in[i + 64], 16);
	__pipeline_commit();
	__pipeline_wait_prior(1);
	__syncthreads();
	out[i] = stage[0][63 - i];
	__pipeline_wait_prior(0);
	__syncthreads();
	out[i + 64] = stage[1][63 - i];
}

extern "C" __global__ void small_floats(const float *in, __nv_fp8_e4m3 *out, __nv_fp8x2_e5m2 *pair)
{
	out[threadIdx.x] = __nv_fp8_e4m3(in[threadIdx.x]);
	pair[threadIdx.x] = __nv_fp8x2_e5m2(make_float2(in[threadIdx.x], 3.0f));
}

#if __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void __cluster_dims__(2, 1, 1) hopper(float *out, unsigned long long d)
{
	__shared__ unsigned long long bar;
	float x = 0, y = 0, z = 0, w = 0;
	unsigned s = (unsigned)__cvta_generic_to_shared(&bar);

	asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(s));
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, "
		     "p, 1, 1, 0, 0;\n}\n"
		     : "+f"(x), "+f"(y), "+f"(z), "+f"(w)
		     : "l"(d), "r"(1));
	asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
	asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n@P1 bra DONE;\n"
		     "bra LAB_WAIT;\nDONE:\n}" ::"r"(s));
	asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 1;\n@P1 bra DONE;\n"
		     "bra LAB_WAIT;\nDONE:\n}" ::"r"(s));
	asm volatile(
		"barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
	asm volatile("griddepcontrol.wait;");
	out[threadIdx.x] = x + y + z + w;
}
#endif
