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
void drv_event_destroy(struct drv_event *e);

/* drv_array.c: the array of a handle; NULL: it is none. */
struct drv_array *drv_array_of(CUarray array);
/* Bytes of a channel; 0: the format is not known. */
unsigned drv_channel_bytes(CUarray_format format);
void drv_array_destroy(struct drv_array *a);
struct drv_image;
void drv_image_destroy(struct drv_image *i); /* drv_texture.c */
/* Sides that are arrays become memory of the device, checked against the arrays' sizes. */
CUresult drv_copy_without_arrays(CUDA_MEMCPY3D *io_copy);

/* drv_func.c: what a block of such a launch takes of an SM. */
struct sm_demand drv_demand_of(const struct drv_func *f, uint32_t threads, uint32_t shared);

/* From the API's structures, checked. */
CUresult drv_copy_of_3d(const CUDA_MEMCPY3D *from, struct drv_copy *ret);
CUresult drv_copy_of_2d(const CUDA_MEMCPY2D *from, struct drv_copy *ret);
bool drv_set_ok(const struct drv_set *s);

/* The thread's default stream while it is in a call of the per-thread kind (drv_ptsz.c). */
extern _Thread_local int drv_per_thread;

/* drv_module.c: the logs that the options name become empty texts. */
CUresult drv_jit_silent(unsigned n, const CUjit_option *options, void **values);
/* drv_lines.c: to a module of this text, what was told of it. */
void drv_lines_give(const char *text, size_t len, struct vgpu_module *m);

/* drv_wait_ctx for calls behind which, as long as they wait, nothing is added to the context, as
 * with NVIDIA's driver (bench/waiting.c; 580.159, H100): it holds a lock meanwhile. */
CUresult drv_wait_alone(struct drv_ctx *c);
/* drv_enter for what adds work, or memory, or a stream: behind those who have the context to
 * themselves. */
CUresult drv_enter_adding(struct drv_ctx **ret);
#define DRV_ENTER_ADDING(ctx)                                   \
	struct drv_ctx *ctx;                                    \
	do {                                                    \
		CUresult enter_result = drv_enter_adding(&ctx); \
		if (enter_result != CUDA_SUCCESS)               \
			return enter_result;                    \
	} while (0)
/* Its code is in the context from here on. The first time, and where l is not NULL, that waits. */
CUresult drv_place(struct drv_ctx *c, struct drv_library *l);
/* No library is in the context any more. One that is in none starts afresh on its next use: with
 * its variables' initial values, and its kernels' attributes. */
void drv_unplace_all(struct drv_ctx *c);

#endif
