/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside libheddle: the content of a handle. Every public function makes the handle's context
 * current for its duration, and restores the caller's context. */
#ifndef HEDDLE_RT_H
#define HEDDLE_RT_H

#include "base/base.h"
#include "base/diag.h"
#include "dev/dev.h"
#include "heddle/heddle.h"
#include "host/corun.h"
#include "host/together.h"
#include "model/plain.h"
#include "ptx/ptx.h"

#define RT_MAX HEDDLE_MAX_KERNELS
#define RT_API __attribute__((visibility("default")))

_Static_assert(RT_MAX == HOST_MAX && RT_MAX <= DEV_GREEN_MAX, "one number");

struct rt_kernel {
	struct rt_kernel *next;
	struct arena arena;
	struct diag_list diags;
	char *name, *entry, *text;
	struct ptx_module *ptx;
	struct host_kernel host; /* its module may also belong to other kernels of the same text */
	bool shares;             /* the module is another kernel's */
	uint32_t n_params, *offsets, *sizes;
};

struct heddle {
	char error[1024];
	bool ready; /* the device is open */
	struct host_device d;
	int n_devices; /* of its kind, visible to this process */
	struct rt_kernel *kernels;
	struct host_form *forms;
	struct heddle_tasks *pools;
};

/* Sets the error text: what is wrong, and what to do (hint may be NULL). Returns err. */
int rt_fail(struct heddle *h, int err, const char *hint, const char *fmt, ...) HD_PRINTF(4, 5);
/* The same for a driver error; what: the action that failed. -EIO. */
int rt_cu_failed(struct heddle *h, CUresult r, const char *what);
int rt_out_of_memory(struct heddle *h);
/* The same for a fault, of a set of kernels (NULL: none). instead: the hint's recommendation if
 * this way fails; NULL: ways that run any kernels. Returns the fault's errno. */
int rt_host_failed(struct heddle *h, const struct host_fault *f, const struct host_set *s,
	const char *instead);
#define RT_TRY(h, call, what)                             \
	do {                                              \
		CUresult r_ = (call);                     \
		if (r_ != CUDA_SUCCESS)                   \
			return rt_cu_failed(h, r_, what); \
	} while (0)

/* Around all use of the device. -EINVAL: the handle did not open. */
int rt_enter(struct heddle *h);
void rt_leave(struct heddle *h);

struct rt_kernel *rt_find(struct heddle *h, const char *name); /* NULL: none */
void rt_kernel_free(struct heddle *h, struct rt_kernel *k);

/* ---- pool_all.c ---- */
/* Around calls that wait for all kernels of the context: loading and unloading modules, freeing,
 * and the first launch of a kernel with more local memory than any before (seen with NVIDIA's
 * driver 580.159 on an H100). All pools of the process leave the GPU, and return if they have work.
 * -ETIMEDOUT, with the error's text set: a task has not ended within 10 s, and no pool is held.
 * Call without any pool's lock. */
int rt_pools_hold(struct heddle *h);
void rt_pools_release(void);

#endif
