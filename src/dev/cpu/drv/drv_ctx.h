/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The stack of contexts of the calling thread. */
#ifndef HEDDLE_VGPU_DRV_CTX_H
#define HEDDLE_VGPU_DRV_CTX_H

#include "drv.h"

/* Returns the thread's current context in *ret, or fails with CUDA_ERROR_INVALID_CONTEXT or
 * CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult drv_ctx_current(struct drv_ctx **ret);
struct drv_ctx *drv_ctx_of(CUcontext h); /* NULL if there is no such context or it is not in use */

#endif
