/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that several files of the driver API use and that need no separate header. Callers hold
 * drv.lock, except for these:
 * - drv_enter_adding takes the lock itself.
 * - drv_channel_bytes, drv_jit_silent and drv_lines_give need no lock. */
#ifndef HEDDLE_VGPU_DRV_FUNC_H
#define HEDDLE_VGPU_DRV_FUNC_H

#include "drv_queue.h"

/* Checks a launch and creates an op for it, with its own copy of the parameters. The op is not yet
 * in a stream. */
CUresult drv_launch_op(struct drv_ctx *c, const struct drv_launch *shape, void **params,
	void **extra, struct drv_op **ret);
/* Checks the sizes and attributes of a launch. */
CUresult drv_launch_check(const struct drv_launch *l);
/* Copies the attributes that a graph's node keeps when its parameters are set (drv_graphattr.c). */
void drv_attributes_copy(struct drv_launch *to, const struct drv_launch *from);
/* Decides whether a launch's clusters can run (in drv_cluster.c). The virtual GPU runs clusters of
 * one block; it refuses all others, and tells the user so once for each kernel. */
CUresult drv_cluster_check(const struct drv_launch *l);
/* Reads the cluster's size of a launch attribute. Returns false if only some dimensions are 0. */
bool drv_cluster_of(const CUlaunchAttribute *a, uint32_t ret_size[3]);
CUresult drv_event_record(CUevent event, struct drv_stream *s);
void drv_event_destroy(struct drv_event *e);

/* Returns the array of a handle, or NULL if the handle is not an array (in drv_array.c). */
struct drv_array *drv_array_of(CUarray array);
/* Returns the bytes per channel, or 0 if the format is unknown. */
unsigned drv_channel_bytes(CUarray_format format);
void drv_array_destroy(struct drv_array *a);
struct drv_image;
void drv_image_destroy(struct drv_image *i); /* drv_texture.c */
/* Checks the array sides of a copy against the sizes of the arrays, and replaces them by the
 * arrays' device memory. */
CUresult drv_copy_without_arrays(CUDA_MEMCPY3D *io_copy);

/* Returns the resources of an SM that one block uses (in drv_func.c). threads: of the block;
 * shared: its bytes of dynamic shared memory. */
struct sm_demand drv_demand_of(const struct drv_func *f, uint32_t threads, uint32_t shared);
/* Returns how many of these blocks an SM holds, or 0 if they exceed the function's limits. */
uint32_t drv_blocks_per_sm(const struct drv_func *f, uint32_t threads, size_t shared);

/* Checks a CUDA_MEMCPY3D and converts it to a struct drv_copy. */
CUresult drv_copy_of_3d(const CUDA_MEMCPY3D *from, struct drv_copy *ret);
bool drv_set_ok(const struct drv_set *s);

/* Nonzero while the thread is in a call of a per-thread variant such as _ptsz (drv_ptsz.c). */
extern _Thread_local int drv_per_thread;

/* Sets the log buffers given in the options to empty texts (in drv_module.c). */
CUresult drv_jit_silent(unsigned n, const CUjit_option *options, void **values);
/* Gives module m the source line numbers that were registered for this text (in drv_lines.c). */
void drv_lines_give(const char *text, size_t len, struct vgpu_module *m);

/* Waits for the context's work, as drv_wait_ctx does. Meanwhile, calls that begin with
 * drv_enter_adding on this context wait, so they add no work. NVIDIA's driver behaves in the same
 * way, because it holds a lock during the wait (bench/waiting.c; 580.159, H100). */
CUresult drv_wait_alone(struct drv_ctx *c);
/* Takes the lock and returns the current context, as drv_enter does, but first waits until no
 * drv_wait_alone of that context is in progress. Most calls that add work, memory or a stream begin
 * with this call. On success the lock is held. */
CUresult drv_enter_adding(struct drv_ctx **ret);
#define DRV_ENTER_ADDING(ctx)                                   \
	struct drv_ctx *ctx;                                    \
	do {                                                    \
		CUresult enter_result = drv_enter_adding(&ctx); \
		if (enter_result != CUDA_SUCCESS)               \
			return enter_result;                    \
	} while (0)
/* Loads the library's code into the context. The first time this waits for the context's work. If l
 * is NULL, it does nothing. */
CUresult drv_place(struct drv_ctx *c, struct drv_library *l);
/* Removes all libraries from the context. If no other context on the device has a library, its
 * variables there get their initial values and its kernels their default attributes. Managed
 * variables keep their values while a context on any device has the library. */
void drv_unplace_all(struct drv_ctx *c);

#endif
