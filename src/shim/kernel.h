/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's records of loaded code: the PTX of modules and libraries, their kernels, and the
 * kernels' preemptible forms. A kernel's record lives as long as the process; its PTX is freed with
 * the module. */
#ifndef HEDDLE_SHIM_KERNEL_H
#define HEDDLE_SHIM_KERNEL_H

#include "image/image.h"
#include "pass/pass.h"
#include "shim/compile.h"
#include "shim/kept.h"
#include "shim/known.h"
#include "shim/map.h"
#include "shim/pace.h"
#include "shim/pads.h"
#include "shim/shim.h"

/* PTX of one module, shared by those who need it. */
struct code {
	_Atomic unsigned refs;
	struct image_entry entry; /* its bytes are a copy, still packed */
	uint8_t digest[32];
};

enum kernel_state {
	KERNEL_PLAIN, /* no PTX, refused, or unloaded: passed on */
	KERNEL_NEW,   /* has PTX, nobody has launched it yet */
	KERNEL_BUSY,  /* being rewritten in the background */
	KERNEL_READY, /* form is there */
};

#define KERNEL_SHAPES (KNOWN_MAX / 2)
/* A preemptible form, loaded in the shim's context. */
struct form {
	/* the same kernel within fewer registers, or NULL. More of its blocks fit on an SM, but it
	 * may spill; measurement decides which form is used */
	struct form *other;
	struct kernel *kernel;
	struct compiled on;
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* of the kernel's own parameters */
	uint32_t regs, static_shared, local, max_threads;
	uint32_t native_threads;   /* max_threads of the program's own kernel; 0: not asked yet */
	uint32_t raised;           /* limit of dynamic shared memory, for padding; 0: not raised */
	uint32_t which;            /* 1: this is another form's `other`; as `form` in known.h */
	const struct known *known; /* from earlier starts, for both forms */
	uint32_t n_known;
	_Atomic uint32_t retried_at;
	_Atomic uint32_t carveout; /* percent that the daemon named, as applied; 0: its own */
	uint8_t known_key[32];     /* the cache's key for `known`; unused in an `other` */
	/* Allocations at the driver's last answer (inputs.c); under the lock. */
	struct form_input {
		uint64_t value, bytes;
		uint32_t epoch, uses;
	} input[WIRE_INPUTS];
	pthread_mutex_t lock;
	/* Launches with one block size, shared memory and grid size class. Grid size matters, since
	 * a block of a much smaller grid usually does much more work. */
	struct form_shape {
		uint32_t threads, shared, scale; /* scale: as in known.h */
		uint32_t per_sm;                 /* workers on an SM; 0: does not fit */
		/* blocks of the program's own kernel on an SM; only known of kernels whose blocks
		 * wait for each other (rising_order) */
		uint32_t as_it_is;
		struct pads pads; /* of guard forms */
		struct pace pace;
	} shape[KERNEL_SHAPES];
	unsigned n_shapes;
};

#define KERNEL_ATTRIBUTES 20
struct kernel {
	void *handle;          /* CUfunction or CUkernel */
	void *owner;           /* CUmodule or CUlibrary */
	struct shim *session;  /* of the device; a library's kernel has a record for each */
	bool in_library, seen; /* seen: the shim saw the load of its module */
	char *name;
	uint64_t hash;
	struct code *code; /* under kernel_lock */
	_Atomic int state;
	_Atomic bool loaded; /* launched before: its code is on the device */
	/* the shape of `wave`: shared memory << 32 | threads of a block */
	_Atomic uint64_t wave_of;
	/* the blocks that fit on the device at once, of its original kernel (gate.c) */
	_Atomic uint32_t wave;
	struct form *_Atomic form; /* valid when KERNEL_READY */
	_Atomic int why;           /* enum wire_reason: why it is KERNEL_PLAIN */
	_Atomic uint64_t launches; /* launches of it, counted while the shim records (record.c) */
	_Atomic uint64_t missed;   /* threads launched as they are while the form was made */
	bool gone;                 /* unloaded; under kernel_lock, as is: */
	unsigned held;             /* users of its handles; unloading waits for 0 */
	struct kernel *next_gone;  /* of the list of unloaded kernels */
	/* The program's settings, to be applied to the form as well. */
	bool attr_set[KERNEL_ATTRIBUTES], cache_set;
	int attr[KERNEL_ATTRIBUTES];
	CUfunc_cache cache;
};
extern pthread_mutex_t kernel_lock; /* code, state changes, attributes */
extern pthread_cond_t kernel_done;  /* a kernel has left KERNEL_BUSY */

/* The program loaded a module or library from these bytes: keeps its PTX, if it has any. */
void kernel_module_loaded(void *handle, struct image_bytes image);
void kernel_library_loaded(void *handle, struct image_bytes image);
void kernel_module_of_library(void *module, void *library);
void kernel_module_unloaded(void *handle);
/* A kernel's handle became known. A library's kernel is recorded on all devices. */
void kernel_known(void *handle, void *owner, bool in_library, const char *name);
/* Another handle of the same kernel (cuKernelGetFunction). */
void kernel_also(void *handle, void *known);
/* The record of a launched handle; makes one if there is none. NULL: out of memory. */
struct kernel *kernel_of(void *handle);
/* The preemptible form; NULL while it is made. The launches of a program wait for forms for 20 ms
 * in total (or HEDDLE_FORM_WAIT_MS): the time that cached forms take to load. */
struct form *kernel_form(struct kernel *k);
void kernel_await_none(void); /* waiting launches continue unmanaged */
/* Has a form-making thread call remember_write. False: the module is gone, or there is no
 * thread. */
bool kernel_remember(struct kernel *k);
/* So many threads of a launch ran without the form. Forms with the highest count are made first. */
void kernel_missed(struct kernel *k, uint64_t threads);
/* For threads that make forms: as many take a turn at once as keep half of the processors busy. A
 * thread that waits for another process ends its turn meanwhile. */
void kernel_turn_begin(void);
void kernel_turn_end(void);
/* For the thread that makes forms: k's handles stay valid until kernel_release. False: unloaded. */
bool kernel_hold(struct kernel *k);
void kernel_release(struct kernel *k);
/* cuFuncSetAttribute and its kin, after the driver agreed. */
void kernel_attribute(void *handle, int attr, int value);
void kernel_cache_config(void *handle, CUfunc_cache config);
/* Around a driver call that may end a context, after compile_pause and with no launch managed: no
 * thread asks for a form or uses one. */
void kernels_freeze(void);
/* ended: the context that has ended, with its modules; NULL: none has. is_shims: the forms were in
 * it, so kernels of libraries get new forms at their next launch. */
void kernels_thaw(CUcontext ended, bool is_shims);
/* Under kernel_lock: how often the shim's context has ended. A form from an earlier epoch is
 * useless. */
unsigned kernels_epoch(void);
/* Before a launch of the form: applies the daemon's split (carveout.c). */
void carveout_set(struct form *f);

/* Makes k's form: parse, rewrite, compile, load. For threads that make forms. Returns 0, or a
 * negative errno with *ret_why. (rewrite.c) */
int rewrite_kernel(struct kernel *k, struct code *c, struct form **ret, enum wire_reason *ret_why);
void rewrite_idle(void);             /* no form has been in the making for a while */
void rewrite_unload(struct form *f); /* and its other */
/* After the context's end, when no thread uses the form or its other any more. Frees both. */
void rewrite_free_ended(struct form *f);
void rewrite_forget(void); /* likewise, of the closer */
/* the kernel that follows guard grids; loaded with the first of them */
CUfunction rewrite_closer(void);

/* Module variables of the original (globals.c). Code that names a variable reads its address from
 * an array in the form. Loads from a .const variable stay .const, so that passes recognise them;
 * pass_leave_const runs later. */
int globals_bake(
	struct ptx_module *m, const struct kernel *k, struct vars *ret, struct diag_list *diags);
/* Do the variables exist, with the alignment that the text assumes? */
bool globals_fit(const struct kernel *k, const struct vars *v);
/* The driver's address of a variable of the kernel's module, and its size in bytes. */
bool globals_address(const struct kernel *k, const char *name, CUdeviceptr *ret, size_t *ret_bytes);
/* Both within placing_begin. globals_find returns the array's content; NULL: a variable cannot be
 * found. globals_fill writes it into the array of a loaded form. */
uint64_t *globals_find(const struct kernel *k, const struct vars *v);
bool globals_fill(CUmodule form, const uint64_t *at, uint32_t n);

/* Forgets the cached addresses of the owner's variables. owner: module or library; NULL: all.
 * (symbols.c) */
void symbols_forget(const void *owner);
void symbols_after_fork(void);

/* Files for the next start (cache.c). Errors are not reported: they count as misses. */
bool cache_get(const uint8_t key[32], struct strbuf *ret);
void cache_put(const uint8_t key[32], const void *data, size_t len);
/* The same in two steps, for an entry that may turn out not worth keeping. Then commit or
 * unstage. */
bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret);
void cache_commit(const struct staged *s);
void cache_unstage(const struct staged *s);

#endif
