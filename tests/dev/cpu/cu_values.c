/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiled, but never run, where NVIDIA's cuda.h is installed: our constants and prototypes must
 * match NVIDIA's. cu_values.sh builds this file twice: with -DVENDOR it prints the sizes of
 * NVIDIA's structures, without it the sizes of ours. The two outputs must be equal. */
#include <stddef.h>
#include <stdio.h>

#ifdef VENDOR
#include <cuda.h>
/* NVIDIA's header defines these names as macros, which expand to another version of the function
 * than a row without _vN in cu_api.def means. */
#undef cuGetProcAddress
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuGraphAddDependencies
#define CUDA_KERNEL_NODE_PARAMS CUDA_KERNEL_NODE_PARAMS_v2

#define CU_ENUM(type)
#define CU_ENUM_END(type)
#define CU_VAL(name, value) _Static_assert((int)(name) == (int)(value), #name);
#include "dev/cu_enums.def"
#define CU_RES(name, value, text) _Static_assert((name) == (value), #name);
#include "dev/cu_result.def"
#define CU_FN(name, symbol, since, flags, params, args) CUresult symbol params;
#include "dev/cu_api.def"
#else
#include "dev/cu.h"
#endif

#define SIZE(type)       printf(#type " %zu\n", sizeof(type))
#define PLACE(type, mem) printf(#type "." #mem " %zu\n", offsetof(type, mem))

int main(void)
{
	SIZE(CUlaunchConfig);
	PLACE(CUlaunchConfig, attrs);
	SIZE(CUlaunchAttribute);
	PLACE(CUlaunchAttribute, value);
	SIZE(CUlaunchAttributeValue);
	PLACE(CUlaunchAttributeValue, launchCompletionEvent.flags);
	SIZE(CUaccessPolicyWindow);
	SIZE(CUstreamBatchMemOpParams);
	PLACE(CUstreamBatchMemOpParams, waitValue.flags);
	PLACE(CUstreamBatchMemOpParams, writeValue.alias);
	SIZE(CUDA_MEMCPY2D);
	PLACE(CUDA_MEMCPY2D, Height);
	SIZE(CUDA_MEMCPY3D);
	PLACE(CUDA_MEMCPY3D, dstHeight);
	SIZE(CUDA_KERNEL_NODE_PARAMS);
	PLACE(CUDA_KERNEL_NODE_PARAMS, kern);
	SIZE(CUDA_MEMSET_NODE_PARAMS);
	PLACE(CUDA_MEMSET_NODE_PARAMS, width);
	SIZE(CUDA_HOST_NODE_PARAMS);
	SIZE(CUgraphEdgeData);
	SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS);
	SIZE(CUgraphExecUpdateResultInfo);
	SIZE(CUmemPoolProps);
	SIZE(CUmemAccessDesc);
	SIZE(CUexecAffinityParam);
	SIZE(CUctxCreateParams);
	SIZE(CUDA_LAUNCH_PARAMS);
	SIZE(CUdevprop);
	SIZE(CUuuid);
	return 0;
}
