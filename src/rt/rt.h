/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside libheddle: the content of a handle. Public functions that call the driver make the
 * handle's context current meanwhile, and then restore the caller's context. */
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

_Static_assert(RT_MAX == HOST_MAX && RT_MAX <= HOST_GREEN_MAX, "one number");

struct rt_kernel {
	/* next in the list heddle.kernels, which owns it until heddle_close */
	struct rt_kernel *next;
	struct arena arena;
	struct diag_list diags;
	char *name, *entry, *text;
	struct ptx_module *ptx;
	/* the unmodified kernel; its module may be shared with other kernels of the same text */
	struct host_kernel host;
	bool shares; /* the module belongs to another kernel */
	uint32_t n_params, *offsets, *sizes;
};

struct heddle {
	char error[1024];
	bool ready; /* the device is open */
	struct host_device d;
	int n_devices; /* number of devices of this kind that the process can use */
	struct rt_kernel *kernels;
	struct host_form *forms;
	struct heddle_tasks *pools;
};

/* Sets the error text: what is wrong, and what the program can do (`hint`, which can be NULL).
 * Returns err. */
int rt_fail(struct heddle *h, int err, const char *hint, const char *fmt, ...) HD_PRINTF(4, 5);
/* Sets the error text for a driver error. `what` is the action that failed. Returns -EIO. */
int rt_cu_failed(struct heddle *h, CUresult r, const char *what);
int rt_out_of_memory(struct heddle *h);
/* Sets the error text for a fault of a set of kernels (s is NULL if there is none). `instead` is
 * what the hint recommends if this way fails; if it is NULL, the hint names the ways
 * that run any kernels. Returns the fault's errno. */
int rt_host_failed(struct heddle *h, const struct host_fault *f, const struct host_set *s,
	const char *instead);
#define RT_TRY(h, call, what)                             \
	do {                                              \
		CUresult r_ = (call);                     \
		if (r_ != CUDA_SUCCESS)                   \
			return rt_cu_failed(h, r_, what); \
	} while (0)

/* Call these around all use of the device. rt_enter returns -EINVAL if the handle was not opened
 * successfully. */
int rt_enter(struct heddle *h);
void rt_leave(struct heddle *h);

struct rt_kernel *rt_find(struct heddle *h, const char *name); /* NULL: there is none */
void rt_kernel_free(struct heddle *h, struct rt_kernel *k);

/* ---- pool_all.c ---- */
/* Call these around driver calls that wait for all kernels of the context: loading and unloading
 * modules, freeing memory, and the first launch of a kernel with more local memory than any before
 * (observed with NVIDIA's driver 580.159 on an H100). rt_pools_hold stops all pools of the process,
 * and rt_pools_release launches those that have work. rt_pools_hold returns -ETIMEDOUT, with the
 * error text set, if a task has not ended within 10 s; then no pool is held. Call without any
 * pool's lock. */
int rt_pools_hold(struct heddle *h);
void rt_pools_release(void);

#endif
