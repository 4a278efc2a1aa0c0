/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A driver with a few functions that only report their arguments, to test the shim's jumps to the
 * driver. */
#include "dev/cu.h"

#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* Number of calls of cuInit, and the errors that its next calls return, up to the first 0. */
API int fake_inits, fake_errors[4];
int fake_inits, fake_errors[4];
/* Returns the MPS errors (800 and above) only to a program that uses MPS. */
API CUresult cuInit(unsigned int flags);
CUresult cuInit(unsigned int flags)
{
	int error = fake_errors[fake_inits++ % 4];

	if (error && (error < 800 || getenv("CUDA_MPS_PIPE_DIRECTORY")))
		return (CUresult)error;
	return flags == 77 ? CUDA_ERROR_STUB_LIBRARY : CUDA_SUCCESS;
}

/* Eight arguments: six in registers, two on the stack. The sum shows whether any are swapped. */
API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int n, CUjit_option *options, void **values);
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int n, CUjit_option *options, void **values)
{
	uint64_t sum = (uintptr_t)state + 10 * (uint64_t)type + 100 * (uintptr_t)data +
		       1000 * size + 10000 * (uintptr_t)name + 100000 * (uint64_t)n +
		       1000000 * (uintptr_t)options + 10000000 * (uintptr_t)values;

	return (CUresult)sum;
}

/* A floating-point argument, like that of cuTexRefSetMipmapLevelBias. */
API CUresult cuTexRefSetMipmapLevelBias(void *ref, float bias);
CUresult cuTexRefSetMipmapLevelBias(void *ref, float bias)
{
	return (CUresult)(bias * 4);
}

API CUresult cuLaunchKernel(void);
CUresult cuLaunchKernel(void)
{
	return CUDA_SUCCESS;
}
API CUresult cuLaunchKernel_ptsz(void);
CUresult cuLaunchKernel_ptsz(void)
{
	return CUDA_SUCCESS;
}
static CUresult inner_free(void)
{
	return CUDA_SUCCESS;
}
API CUresult cuMemFree_v2(void);
CUresult cuMemFree_v2(void)
{
	return inner_free();
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status);
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	*fn = NULL;
	if (!strcmp(symbol, "cuLaunchKernel"))
		*fn = flags & 2 ? (void *)cuLaunchKernel_ptsz : (void *)cuLaunchKernel;
	else if (!strcmp(symbol, "cuMemFree")) /* differs from the exported address */
		*fn = (void *)inner_free;
	else if (!strcmp(symbol, "cuInit"))
		*fn = (void *)cuInit;
	else if (!strcmp(symbol, "cuTexRefSetMipmapLevelBias"))
		*fn = (void *)cuTexRefSetMipmapLevelBias;
	else
		return CUDA_ERROR_NOT_FOUND;
	return CUDA_SUCCESS;
}
