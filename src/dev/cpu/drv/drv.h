/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The driver API's objects on the virtual GPU. One lock, drv.lock, guards them. The driver releases
 * the lock while host functions execute. Except in serial mode, it also releases the lock while
 * large copies and blocks execute. Every handle of the program is looked up before use, so a stale
 * or foreign handle gives an error code. Callers of functions that use these objects hold the lock,
 * except where a comment says otherwise. */
#ifndef HEDDLE_VGPU_DRV_H
#define HEDDLE_VGPU_DRV_H

#include <pthread.h>

#include "dev/cpu/sm/sm_pool.h"
#include "dev/cu.h"
#include "dev/cu_link.h"

enum obj_kind {
	OBJ_CTX = 1,
	OBJ_STREAM,
	OBJ_EVENT,
	OBJ_MODULE,
	OBJ_LIBRARY,
	OBJ_FUNC,
	OBJ_KERNEL,
	OBJ_ALLOC, /* looked up by its address */
	OBJ_GRAPH,
	OBJ_NODE,
	OBJ_EXEC,
	OBJ_POOL,
	OBJ_LINK,
	OBJ_ARRAY,
	OBJ_IMAGE, /* a texture or surface object */
};
/* The first member of every object. */
struct obj {
	enum obj_kind kind;
	struct drv_ctx *ctx;
	/* in drv_ctx.all of its context; freed by the call that destroys the object, or with the
	 * context */
	struct obj *prev, *next;
};

struct drv_ctx {
	struct obj obj;
	struct obj all; /* ring of all objects of the context */
	CUdevice dev;
	unsigned refs, flags, api_version;
	uint32_t peers; /* bit mask of devices whose memory the context's kernels can access */
	uint64_t id;
	bool primary;
	CUresult error; /* sticky: error code of a fault, which all later calls return */
	bool is_unused; /* the context was reset, and has not been used since then */
	CUfunc_cache cache;
	CUsharedconfig shared_config;
	size_t limit[16];                   /* indexed by CUlimit */
	struct drv_stream *legacy, *active; /* active: list of the streams that have work */
	/* alone: the number of drv_wait_alone calls in progress. local_bytes: the greatest local
	 * memory per thread that a launch has needed so far. */
	unsigned alone, local_bytes;
	/* printf output of kernels, written at the next synchronization */
	struct strbuf printed;
	pthread_mutex_t print_lock;
};

struct drv_module {
	struct obj obj;
	struct vgpu_module *code;
	struct drv_library *library; /* NULL if it was loaded as a module */
	struct drv_func **funcs;
	unsigned n_funcs;
};

/* A kernel. Its CUfunction handle is &obj, its CUkernel handle &kernel. */
struct drv_func {
	struct obj obj, kernel;
	struct drv_module *module;
	struct vgpu_kernel *code;
	unsigned index; /* index in module->funcs */
	struct vgpu_kernel_info info;
	int max_dynamic_shared, carveout;
	/* cluster attributes, from .reqnctapercluster or set by the program */
	int cluster[3], large_clusters, cluster_policy;
	bool told_of_clusters; /* the message about unsupported clusters was printed */
	CUfunc_cache cache;
	/* State of the old launch interface (cuFuncSetBlockShape and similar). */
	uint32_t old_block[3], old_shared, old_bytes;
	uint8_t *old_params;
};

struct drv_library {
	struct obj obj;
	/* one module per device; all except the first are created on first use */
	struct drv_module *module[SM_MAX_DEVICES];
	char *ptx;
	size_t ptx_len;
	VEC(uint64_t) placed; /* ids of the contexts in which the library's code is loaded */
	/* next in the list `libraries` (drv_module.c); library_destroy frees it */
	struct drv_library *next;
};

struct drv_array {
	struct obj obj;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	/* pitch: from row to row; slice: from slice or layer to the next */
	uint64_t addr, bytes, pitch, slice;
	unsigned channel_bytes;
};

enum alloc_kind { ALLOC_DEVICE, ALLOC_HOST, ALLOC_REGISTERED, ALLOC_MANAGED };
struct drv_alloc {
	struct obj obj;
	enum alloc_kind kind;
	CUdevice dev; /* device whose memory it uses */
	uint64_t addr, bytes, id;
	unsigned flags;
	/* freed: cuMemFreeAsync was called, but the free is still queued */
	bool sync_memops, pooled, freed;
	/* stream in which it was freed; later uses in this stream are refused */
	struct drv_stream *freed_in;
};

struct drv_device {
	/* the device's number on the virtual GPU; its CUdevice is its index in drv.device */
	unsigned number;
	struct sm *sm;
	struct vgpu_pool *pool;
	struct drv_ctx *primary;
	unsigned primary_flags;
	struct drv_pool *default_pool;
};

struct drv_state {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signaled when work that a host thread can wait for has ended */
	int pid;                /* process that called cuInit; 0: not initialized */
	struct sm_config config;
	struct sm *first; /* device 0 of the virtual GPU, which may be hidden from the program */
	struct drv_device device[SM_MAX_DEVICES];
	unsigned n_devices; /* number of visible devices; at least one after cuInit */
	struct vgpu_mem *mem;
	struct drv_ctx *contexts[64];
	unsigned n_contexts;
	uint64_t next_id; /* id of the next context, stream, allocation or capture */
};
extern struct drv_state drv;

/* Functions that add, remove and look up handles. drv_get returns NULL unless h is a live object of
 * that kind. */
void drv_obj_add(struct obj *o, enum obj_kind kind, struct drv_ctx *ctx);
bool drv_obj_add_at(const void *handle, struct obj *o);
void drv_obj_remove(struct obj *o);
void drv_obj_remove_at(const void *handle, struct obj *o);
void *drv_get(const void *h, enum obj_kind kind);

/* Takes the lock and returns the thread's current context. Most functions that need a context begin
 * with this call. It fails if there is no current context, or if that context has failed; the lock
 * is then not held. The macro DRV_ENTER makes the calling function return the error. */
CUresult drv_enter(struct drv_ctx **ret);
CUresult drv_enter_init(void); /* takes the lock without requiring a context */
CUresult drv_leave(CUresult r);
#define DRV_ENTER(ctx)                                   \
	struct drv_ctx *ctx;                             \
	do {                                             \
		CUresult enter_result = drv_enter(&ctx); \
		if (enter_result != CUDA_SUCCESS)        \
			return enter_result;             \
	} while (0)
#define DRV_ENTER_INIT()                                  \
	do {                                              \
		CUresult enter_result = drv_enter_init(); \
		if (enter_result != CUDA_SUCCESS)         \
			return enter_result;              \
	} while (0)

/* drv_devices.c */
int drv_devices_open(void); /* returns 0 even if no device is visible; n_devices is then 0 */
void drv_devices_close(void);
void drv_device_uuid(unsigned number, CUuuid *ret);
/* Returns NULL if there is no such device or it is not visible. */
static inline struct drv_device *drv_device_of(CUdevice dev)
{
	return dev >= 0 && (unsigned)dev < drv.n_devices ? &drv.device[dev] : NULL;
}

void drv_ctx_destroy(struct drv_ctx *c);
void drv_ctx_flush_print(struct drv_ctx *c);      /* call it without the lock */
struct drv_func *drv_func_of(const void *handle); /* handle: CUfunction or CUkernel */
/* Returns the version of a library's kernel for this device. A kernel that does not belong to a
 * library is returned as it is. NULL if out of memory, or if the handle is not a kernel. */
struct drv_func *drv_func_on(CUdevice dev, const void *handle);
void drv_module_destroy(struct drv_module *m);
CUresult drv_code_of(const void *image, char **ret_ptx, size_t *ret_len);
/* drv_mem.c */
struct drv_alloc *drv_alloc_of(uint64_t addr);
/* True if one allocation contains all these bytes. */
bool drv_in_range(uint64_t addr, uint64_t bytes);
/* True if work queued now may access these bytes. */
bool drv_usable(const struct drv_stream *s, uint64_t addr, uint64_t bytes);
void drv_alloc_destroy(struct drv_alloc *a);
/* Call it without the lock. */
CUresult drv_alloc_pooled(CUdevice dev, size_t bytes, CUdeviceptr *ret);
/* drv_report.c */
void drv_report(const char *fmt, ...) HD_PRINTF(1, 2);
void drv_report_fault(const struct vgpu_fault *f, const char *kernel, int error);

#endif
