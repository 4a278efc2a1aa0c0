/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that files of the driver API share and that need no header of their own. drv.lock
 * held. */
#ifndef HEDDLE_VGPU_DRV_FUNC_H
#define HEDDLE_VGPU_DRV_FUNC_H

#include "drv_queue.h"

/* Makes a checked launch op, with its own copy of the parameters, not yet in a stream. */
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
/* Replaces sides that are arrays by device memory, checked against the arrays' sizes. */
CUresult drv_copy_without_arrays(CUDA_MEMCPY3D *io_copy);

/* drv_func.c: the resources of an SM that a block of such a launch takes. */
struct sm_demand drv_demand_of(const struct drv_func *f, uint32_t threads, uint32_t shared);

/* Checks and converts the API's structure. */
CUresult drv_copy_of_3d(const CUDA_MEMCPY3D *from, struct drv_copy *ret);
CUresult drv_copy_of_2d(const CUDA_MEMCPY2D *from, struct drv_copy *ret);
bool drv_set_ok(const struct drv_set *s);

/* Nonzero while the thread is in a call of the per-thread kind (drv_ptsz.c). */
extern _Thread_local int drv_per_thread;

/* drv_module.c: sets the log buffers that the options name to empty texts. */
CUresult drv_jit_silent(unsigned n, const CUjit_option *options, void **values);
/* drv_lines.c: gives the module the line numbers that were registered for this text. */
void drv_lines_give(const char *text, size_t len, struct vgpu_module *m);

/* drv_wait_ctx for calls during which no work can be added to the context, as with NVIDIA's driver
 * (bench/waiting.c; 580.159, H100), which holds a lock meanwhile. */
CUresult drv_wait_alone(struct drv_ctx *c);
/* drv_enter for calls that add work, memory or a stream: waits for drv_wait_alone first. */
CUresult drv_enter_adding(struct drv_ctx **ret);
#define DRV_ENTER_ADDING(ctx)                                   \
	struct drv_ctx *ctx;                                    \
	do {                                                    \
		CUresult enter_result = drv_enter_adding(&ctx); \
		if (enter_result != CUDA_SUCCESS)               \
			return enter_result;                    \
	} while (0)
/* Loads the library's code into the context. The first time, if l is not NULL, this waits for the
 * context's work. */
CUresult drv_place(struct drv_ctx *c, struct drv_library *l);
/* Removes all libraries from the context. A library that is in no context starts afresh on its next
 * use: with the initial values of its variables, and its kernels' default attributes. */
void drv_unplace_all(struct drv_ctx *c);

#endif
