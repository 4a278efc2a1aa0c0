/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* cuLink*: returns its only PTX input unchanged, which is enough for programs that compile at run
 * time. Several inputs would have to be linked into one module, so they are refused. */
#include <stdlib.h>
#include <string.h>

#include "drv_accept.h"
#include "drv_func.h"
#include "image/image.h"

struct drv_link {
	struct obj obj;
	char *ptx;
	size_t len;
};

CUresult cuLinkCreate(unsigned int n, CUjit_option *options, void **values, CUlinkState *state)
{
	DRV_ENTER(c);
	CUresult r = state ? drv_jit_silent(n, options, values) : CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_link *l = calloc(1, sizeof(*l));
	if (!l)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	drv_obj_add(&l->obj, OBJ_LINK, NULL);
	*state = (CUlinkState)l;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
	const char *name, unsigned int n, CUjit_option *options, void **values)
{
	DRV_ENTER(c);
	struct drv_link *l = drv_get(state, OBJ_LINK);

	if (!l)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!data || !size)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_OBJECT) {
		drv_say_no_ptx();
		return drv_leave(CUDA_ERROR_NO_BINARY_FOR_GPU);
	}
	if (l->ptx || (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY))
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (type == CU_JIT_INPUT_FATBINARY)
		return drv_leave(drv_code_of(data, &l->ptx, &l->len));
	l->ptx = malloc(size + 1);
	if (!l->ptx)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	memcpy(l->ptx, data, size);
	l->ptx[size] = 0;
	l->len = strlen(l->ptx);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int n,
	CUjit_option *options, void **values)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
	DRV_ENTER(c);
	struct drv_link *l = drv_get(state, OBJ_LINK);

	if (!l || !image)
		return drv_leave(l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	if (!l->ptx)
		return drv_leave(CUDA_ERROR_INVALID_IMAGE);
	*image = l->ptx;
	if (bytes)
		*bytes = l->len + 1;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLinkDestroy(CUlinkState state)
{
	DRV_ENTER_INIT();
	struct drv_link *l = drv_get(state, OBJ_LINK);

	if (!l)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	drv_obj_remove(&l->obj);
	free(l->ptx);
	free(l);
	return drv_leave(CUDA_SUCCESS);
}
