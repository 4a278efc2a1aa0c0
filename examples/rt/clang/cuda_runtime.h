/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The part of the CUDA runtime API that vecadd.cu uses, for clang without CUDA headers
 * (-nocudainc). clang turns <<< >>> into calls of the last two functions. */
#ifndef HEDDLE_EXAMPLES_RT_CLANG_CUDA_RUNTIME_H
#define HEDDLE_EXAMPLES_RT_CLANG_CUDA_RUNTIME_H

#include "../../../kernels/heddle_cuda.h"

struct dim3 {
	u32 x, y, z;
	constexpr dim3(u32 x_ = 1, u32 y_ = 1, u32 z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
};

typedef struct CUstream_st *cudaStream_t;
enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost };

extern "C" {
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaGetLastError(void);
cudaError_t cudaDeviceSynchronize(void);
const char *cudaGetErrorString(cudaError_t);
u32 __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = nullptr);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
}

#endif
