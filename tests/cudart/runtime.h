/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prototypes of the CUDA runtime API, made from the table of src/cudart, for programs that link
 * one of its libraries. RT_ABI is the library's version, 12 or 13. */
#ifndef HEDDLE_TESTS_CUDART_RUNTIME_H
#define HEDDLE_TESTS_CUDART_RUNTIME_H

#include "cudart/types.h"

#if RT_ABI == 12
#define IN_12(x) x
#define IN_13(x)
#else
#define IN_12(x)
#define IN_13(x) x
#endif
#define IN_BOTH(x) x

#define RT_CU(abi, name, needs, cu, params, args) IN_##abi(rt_error name params;)
#define RT_CU2(abi, name, form, needs, cu, params, args) \
	IN_##abi(rt_error name params; rt_error name##form params;)
#define RT_FN(abi, name, needs, own, params, args) IN_##abi(rt_error name params;)
#define RT_FN2(abi, name, form, needs, own, params, args) \
	IN_##abi(rt_error name params; rt_error name##form params;)
#define RT_OWN(abi, name)
#define RT_LACKS(abi, name)        IN_##abi(rt_error name(void);)
#define RT_LACKS2(abi, name, form) IN_##abi(rt_error name(void); rt_error name##form(void);)
#include "cudart/cudart.def"

void **__cudaRegisterFatBinary(void *fatbin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
	int threads, void *tid, void *bid, struct rt_dim3 *block, struct rt_dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
	int external, size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address, const char *name,
	int external, size_t bytes, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(
	struct rt_dim3 grid, struct rt_dim3 block, size_t shared, void *stream);
rt_error __cudaPopCallConfiguration(
	struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream);
rt_error cudaGetLastError(void);
rt_error cudaPeekAtLastError(void);
const char *cudaGetErrorName(rt_error error);
const char *cudaGetErrorString(rt_error error);
rt_error cudaDriverGetVersion(int *version);
rt_error cudaRuntimeGetVersion(int *version);
struct rt_channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind);

/* The structure that this version's library fills, and the function that fills it. */
#if RT_ABI == 12
typedef struct rt_props12 rt_props;
#define get_properties cudaGetDeviceProperties_v2
#else
typedef struct rt_props13 rt_props;
#define get_properties cudaGetDeviceProperties
#endif

#endif
