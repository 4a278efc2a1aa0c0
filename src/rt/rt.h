/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* libheddle inside: what a handle holds. Every public function makes the handle's context the
 * calling thread's current one for as long as it runs, and leaves the caller's as it was. */
#ifndef HEDDLE_RT_H
#define HEDDLE_RT_H

#include "base/base.h"
#include "base/diag.h"
#include "dev/dev.h"
#include "heddle/heddle.h"
#include "host/assembler.h"
#include "host/green.h"
#include "host/way.h"
#include "model/plain.h"
#include "ptx/ptx.h"

#define RT_MAX HEDDLE_MAX_KERNELS
#define RT_API __attribute__((visibility("default")))

_Static_assert(RT_MAX == CTL_MAX_MERGED && RT_MAX <= DEV_GREEN_MAX, "one number");

struct rt_kernel {
	struct rt_kernel *next;
	struct arena arena;
	struct diag_list diags;
	char *name, *entry, *text;
	struct ptx_module *ptx;
	struct ptx_module *alone; /* the entry, which names no module variables: to be merged */
	CUmodule module;          /* also of others that were loaded from the same text */
	bool shares;              /* it is such another's */
	CUfunction fn;
	uint32_t n_params, bytes; /* of all parameters */
	uint32_t *offsets, *sizes;
	int local_bytes; /* of a thread */
	uint64_t *vars;  /* what `alone` wants to have in its array, n_vars of them */
	size_t n_vars;
	const char *no_vars; /* not NULL: it cannot be without its module variables; "" or a name */
	uint8_t digest[32];
};

/* One launch of several kernels with these blocks, compiled. */
struct rt_form {
	struct rt_form *next;
	enum dev_how how;
	uint32_t registers; /* DEV_WEAVE: how it is made */
	bool unsliced, branches;
	unsigned n;
	const struct rt_kernel *of[RT_MAX];
	uint32_t block[RT_MAX][3], shared_bytes[RT_MAX];
	int never; /* 0, or the error that making it ends with: why says it */
	char *why;
	struct pass_merged form;
	char *not_woven; /* DEV_WEAVE: why it is fused vertically; NULL: it is woven */
	CUmodule module;
	CUfunction fn;
	uint32_t per_sm;
	struct dev_merged device;
};

struct rt_split { /* green contexts */
	struct rt_split *next;
	unsigned n;
	uint32_t share[RT_MAX];
	struct dev_green green;
};

struct heddle {
	char error[1024];
	bool ready; /* the device is open */
	struct cu_api cu;
	struct assembler assembler;
	CUdevice device;
	CUcontext context;
	char name[128], driver[16];
	uint32_t n_sms;
	CUstream main, streams[RT_MAX];
	CUevent began, ended, done[RT_MAX];
	struct rt_kernel *kernels;
	struct rt_form *forms;
	struct rt_split *splits;
	struct heddle_tasks *pools;
};

/* Says what is wrong, and what to do (hint may be NULL). Returns err. */
int rt_fail(struct heddle *h, int err, const char *hint, const char *fmt, ...) HD_PRINTF(4, 5);
/* The same of a driver's error; what: what was done. -EIO. */
int rt_cu_failed(struct heddle *h, CUresult r, const char *what);
int rt_out_of_memory(struct heddle *h);
#define RT_TRY(h, call, what)                             \
	do {                                              \
		CUresult r_ = (call);                     \
		if (r_ != CUDA_SUCCESS)                   \
			return rt_cu_failed(h, r_, what); \
	} while (0)

/* Around all that uses the device. -EINVAL for a handle that did not open. */
int rt_enter(struct heddle *h);
void rt_leave(struct heddle *h);

struct rt_kernel *rt_find(struct heddle *h, const char *name); /* NULL: none */
void rt_kernel_free(struct heddle *h, struct rt_kernel *k);
int rt_compile(struct heddle *h, const char *what, const char *ptx, const char *entry,
	uint32_t shared_bytes, CUmodule *ret_module, CUfunction *ret_fn);
/* Ahead of that, a text of ours: compiled by a process of its own, into the driver's cache. What it
 * dies of (-ENOTSUP) or has no end with (-ETIMEDOUT) is none for this one: said with `what` and the
 * kernels, and what to do instead. 0 also where there is no such process. */
int rt_compile_apart(
	struct heddle *h, const struct strbuf *text, const char *what, const char *instead);

/* ---- vars.c ---- */
/* k->alone names its module variables no longer; or k->no_vars says that it has to. */
int rt_vars_leave(struct heddle *h, struct rt_kernel *k);
/* Once a form is compiled in which it is guest `which`. */
int rt_vars_fill(struct heddle *h, const struct rt_kernel *k, unsigned which, CUmodule form);

/* ---- pool_all.c ---- */
/* Around what waits for all kernels of the context to end: loading and unloading modules, freeing,
 * the first launch of a kernel with more local memory than any before (seen with NVIDIA's driver
 * 580.159 on an H100). All pools of the process leave the GPU, and come back as far as they have
 * work. -ETIMEDOUT, said: a task has not ended within 10 s, and no pool is held. With no pool's
 * lock. */
int rt_pools_hold(struct heddle *h);
void rt_pools_release(void);

/* ---- form.c ---- */
struct rt_set { /* the kernels of one call */
	unsigned n;
	struct rt_kernel *of[RT_MAX];
	const struct heddle_launch *launch; /* n of them */
	uint32_t fit[RT_MAX];               /* blocks that an SM holds alone */
};
/* Made if it is not there yet. */
int rt_form_get(struct heddle *h, const struct rt_set *s, enum dev_how how,
	const struct dev_merging *m, struct rt_form **ret);
int rt_form_run(struct heddle *h, const struct rt_set *s, struct rt_form *f,
	const struct dev_merging *m, struct heddle_result *ret);
void rt_form_free(struct heddle *h, struct rt_form *f);

#endif
