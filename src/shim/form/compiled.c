/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads a kernel of compiled code on the device, and unloads the code. */
#include "shim/form/compiled.h"

bool has_libraries(void)
{
	return cu.cuLibraryLoadData && cu.cuLibraryUnload && cu.cuLibraryGetKernel &&
	       cu.cuLibraryGetModule && cu.cuKernelGetFunction;
}

static bool function_of_library(struct compiled *c, const char *name)
{
	CUkernel kernel;

	return cu.cuLibraryGetKernel(&kernel, c->lib, name) == CUDA_SUCCESS &&
	       cu.cuLibraryGetModule(&c->mod, c->lib) == CUDA_SUCCESS &&
	       cu.cuKernelGetFunction(&c->fn, kernel) == CUDA_SUCCESS;
}

static bool function_of_module(struct compiled *c, const char *text, const char *name)
{
	return cu.cuModuleLoadDataEx(&c->mod, text, 0, NULL, NULL) == CUDA_SUCCESS &&
	       cu.cuModuleGetFunction(&c->fn, c->mod, name) == CUDA_SUCCESS;
}

bool compiled_place(struct compiled *c, const char *text, const char *name)
{
	bool ok = c->lib ? function_of_library(c, name) : function_of_module(c, text, name);

	return ok && (!cu.cuFuncLoad || cu.cuFuncLoad(c->fn) == CUDA_SUCCESS);
}

void compiled_drop_ended(struct compiled *c)
{
	c->mod = NULL;
	compiled_drop(c);
}

void compiled_drop(struct compiled *c)
{
	if (c->lib)
		cu.cuLibraryUnload(c->lib);
	else if (c->mod)
		cu.cuModuleUnload(c->mod);
	*c = (struct compiled){0};
}
