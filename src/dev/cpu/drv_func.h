/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Doors between the files of the driver API that need no header of their own. drv.lock held. */
#ifndef HEDDLE_VGPU_DRV_FUNC_H
#define HEDDLE_VGPU_DRV_FUNC_H

#include "drv_queue.h"

/* A launch that has been checked, with its own copy of the parameters, in no stream yet. */
CUresult drv_launch_op(struct drv_ctx *c, const struct drv_launch *shape, void **params,
	void **extra, struct drv_op **ret);
CUresult drv_event_record(CUevent event, struct drv_stream *s);

/* From the API's structures, checked. */
CUresult drv_copy_of_3d(const CUDA_MEMCPY3D *from, struct drv_copy *ret);
CUresult drv_copy_of_2d(const CUDA_MEMCPY2D *from, struct drv_copy *ret);
bool drv_set_ok(const struct drv_set *s);

/* The thread's default stream while it is in a call of the per-thread kind (drv_ptsz.c). */
extern _Thread_local int drv_per_thread;

/* drv_lines.c: to a module of this text, what was told of it. */
void drv_lines_give(const char *text, size_t len, struct vgpu_module *m);

#endif
