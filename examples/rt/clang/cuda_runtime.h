/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The part of CUDA 12's runtime API that the programs in this folder use, for clang without CUDA
 * headers (-nocudainc). clang turns <<< >>> into calls of the last two functions. */
#ifndef HEDDLE_EXAMPLES_RT_CLANG_CUDA_RUNTIME_H
#define HEDDLE_EXAMPLES_RT_CLANG_CUDA_RUNTIME_H

#include "../../../kernels/heddle_cuda.h"

struct dim3 {
	u32 x, y, z;
	constexpr dim3(u32 x_ = 1, u32 y_ = 1, u32 z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
};

/* Two of the fields; "other" is what lies around them. */
struct cudaDeviceProp {
	char name[256];
	char other1[132];
	int multiProcessorCount;
	char other2[640];
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorNotReady = 600 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { cudaStreamNonBlocking = 1 };
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2

extern "C" {
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, u32);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t *);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t);
const char *cudaGetErrorString(cudaError_t);
u32 __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = nullptr);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
}

#endif
