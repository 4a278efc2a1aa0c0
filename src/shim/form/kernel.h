/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's records of loaded code: the PTX of modules and libraries, their kernels, and the
 * kernels' preemptible forms. A kernel's record lives as long as the process. The PTX of a module
 * is freed when the program unloads the module. */
#ifndef HEDDLE_SHIM_KERNEL_H
#define HEDDLE_SHIM_KERNEL_H

#include "image/image.h"
#include "pass/pass.h"
#include "shim/core/lock.h"
#include "shim/core/map.h"
#include "shim/form/form.h"
#include "shim/form/kept.h"

/* PTX of one module, with a reference count. */
struct code {
	_Atomic unsigned refs;
	struct image_entry entry; /* its bytes are a copy, and still compressed */
	uint8_t digest[32];
};

enum kernel_state {
	KERNEL_PLAIN, /* runs unchanged: it has no PTX, was refused, or is unloaded */
	KERNEL_NEW,   /* has PTX, but was not launched yet */
	KERNEL_BUSY,  /* a thread is rewriting it in the background */
	KERNEL_READY, /* `form` is valid */
};

#define KERNEL_ATTRIBUTES 20
struct kernel {
	void *handle; /* CUfunction or CUkernel */
	void *owner;  /* CUmodule or CUlibrary */
	/* session of its device; a library's kernel has one record per device */
	struct session *session;
	bool in_library, seen; /* seen: the shim saw the program load the module */
	char *name;
	uint64_t hash;
	struct code *code; /* guarded by kernel_lock */
	_Atomic int state;
	_Atomic bool loaded; /* it was launched before, so its code is on the device */
	/* the launch shape to which `wave` applies: shared memory << 32 | threads of a block */
	_Atomic uint64_t wave_of;
	/* number of blocks of the original kernel that fit on the device at once (gate.c) */
	_Atomic uint32_t wave;
	struct form *_Atomic form; /* valid in KERNEL_READY */
	_Atomic int why;           /* in KERNEL_PLAIN: the reason, an enum wire_reason */
	/* number of its launches, counted only while the shim records (record.c) */
	_Atomic uint64_t launches;
	/* number of threads launched unmanaged while the form was being made */
	_Atomic uint64_t missed;
	/* guarded by kernel_lock, like `held`: the program has unloaded the kernel */
	bool gone;
	/* number of users of its handles; unloading waits until it is 0 */
	unsigned held;
	struct kernel *next_gone; /* next in the list of unloaded kernels */
	/* Settings that the program made, and that the form must get as well. */
	bool attr_set[KERNEL_ATTRIBUTES], cache_set;
	int attr[KERNEL_ATTRIBUTES];
	CUfunc_cache cache;
};
extern struct lock kernel_lock;    /* guards code, state changes and attributes of kernels */
extern pthread_cond_t kernel_done; /* signalled when a kernel leaves KERNEL_BUSY */

/* Call after the program has loaded a module or library from these bytes. Keeps a copy of the PTX
 * in them, if they contain any. */
void kernel_module_loaded(struct session *session, void *handle, struct image_bytes image);
void kernel_library_loaded(void *handle, struct image_bytes image);
void kernel_module_of_library(struct session *session, void *module, void *library);
void kernel_module_unloaded(void *handle);
/* Registers a kernel when the program gets its handle. A kernel of a library is registered for all
 * devices. */
void kernel_known(
	struct session *session, void *handle, void *owner, bool in_library, const char *name);
/* Registers another handle of a known kernel (cuKernelGetFunction). */
void kernel_also(struct session *session, void *handle, void *known);
/* Returns the record of the kernel with this handle, and makes one if there is none. Returns NULL
 * if memory is exhausted. */
struct kernel *kernel_of(struct session *session, void *handle);
/* For the thread that makes forms: keeps the handles of `k` valid until kernel_release. Returns
 * false if the kernel is unloaded. */
bool kernel_hold(struct session *session, struct kernel *k);
void kernel_release(struct session *session, struct kernel *k);
/* Called after cuFuncSetAttribute and similar functions have succeeded. */
void kernel_attribute(struct session *session, void *handle, int attr, int value);
void kernel_cache_config(struct session *session, void *handle, CUfunc_cache config);
/* While a context may be ending, the module holds kernel_lock: no thread requests a form. Kernels of
 * libraries outlive a context, so they get new forms at their next launch. */
struct session_ends;
void kernels_pause(struct session *session, const struct session_ends *ends);
void kernels_forget(struct session *session, const struct session_ends *ends);
void kernels_resume(struct session *session, const struct session_ends *ends);
bool kernels_open(struct session *session);
void kernels_after_fork(void);
/* Returns how often the shim's context has ended. A form (preemptible kernel) that was made before
 * the latest end no longer exists. Call under kernel_lock. */
unsigned kernels_epoch(struct session *session);
/* code_get adds a reference. code_put removes one, and frees the code if it was the last. Both
 * ignore NULL. */
void code_get(struct code *c);
void code_put(struct code *c);
/* Makes form f available to k's launches, and applies to f all settings that the program made for
 * the kernel. f NULL: the kernel gets no form, for the reason `why`. Call under kernel_lock. */
void kernel_publish(
	struct session *session, struct kernel *k, struct form *f, enum wire_reason why);
/* Makes the launches of k unmanaged from now on. Call under kernel_lock. */
void kernel_give_up(struct kernel *k, enum wire_reason why);

#endif
