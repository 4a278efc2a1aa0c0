/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles and structures of the CUDA driver API, in the layout of its 64-bit binary interface. Only
 * the virtual GPU's driver looks inside its own handles; all other code treats every handle as
 * opaque. */
#ifndef HEDDLE_CU_TYPES_H
#define HEDDLE_CU_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "cu_enums.h"

enum cu_fn_flags { CU_PTSZ = 1, CU_PTDS = 2 }; /* flags of rows of cu_api.def */

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct CUgreenCtx_st *CUgreenCtx;

typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

typedef struct CUipcMemHandle_st {
	char reserved[64];
} CUipcMemHandle;
typedef struct CUipcEventHandle_st {
	char reserved[64];
} CUipcEventHandle;

typedef struct CUdevprop_st {
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	int sharedMemPerBlock;
	int totalConstantMemory;
	int SIMDWidth;
	int memPitch;
	int regsPerBlock;
	int clockRate;
	int textureAlign;
} CUdevprop;

typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
typedef void (*CUhostFn)(void *userData);
typedef void (*CUstreamCallback)(CUstream hStream, CUresult status, void *userData);
typedef size_t (*CUoccupancyB2DSize)(int blockSize);

typedef struct CUmemLocation_st {
	CUmemLocationType type;
	int id;
} CUmemLocation;

typedef struct CUaccessPolicyWindow_st {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	CUaccessProperty hitProp, missProp;
} CUaccessPolicyWindow;

typedef union CUlaunchAttributeValue_union {
	char pad[64];
	CUaccessPolicyWindow accessPolicyWindow;
	int cooperative;
	CUsynchronizationPolicy syncPolicy;
	struct {
		unsigned int x, y, z;
	} clusterDim, preferredClusterDim;
	CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
	int programmaticStreamSerializationAllowed;
	struct {
		CUevent event;
		int flags;
		int triggerAtBlockStart;
	} programmaticEvent;
	struct {
		CUevent event;
		int flags;
	} launchCompletionEvent;
	int priority;
	struct {
		unsigned char default_, remote;
	} memSyncDomainMap;
	CUlaunchMemSyncDomain memSyncDomain;
	unsigned int sharedMemCarveout;
} CUlaunchAttributeValue;
typedef CUlaunchAttributeValue CUstreamAttrValue;
typedef CUlaunchAttributeValue CUkernelNodeAttrValue;

typedef struct CUlaunchAttribute_st {
	CUlaunchAttributeID id;
	char pad[4];
	CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	CUlaunchAttribute *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

typedef union CUstreamBatchMemOpParams_union {
	CUstreamBatchMemOpType operation;
	struct {
		CUstreamBatchMemOpType operation;
		CUdeviceptr address;
		union {
			uint32_t value;
			uint64_t value64;
		};
		unsigned int flags;
		CUdeviceptr alias;
	} waitValue, writeValue;
	struct {
		CUstreamBatchMemOpType operation;
		unsigned int flags;
	} flushRemoteWrites, memoryBarrier;
	uint64_t pad[6];
} CUstreamBatchMemOpParams;

#include "cu_structs.h"
#endif
