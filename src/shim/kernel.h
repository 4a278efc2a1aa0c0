/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's records of loaded code: the PTX of modules and libraries, their kernels, and the
 * kernels' preemptible forms. A kernel's record lives as long as the process. The PTX of a module
 * is freed when the program unloads the module. */
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
	/* A second form of the same kernel that uses fewer registers; NULL if there is none. More
	 * of its blocks fit on an SM, but it may spill registers. The shim measures which of the
	 * two is faster. */
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
	/* Sizes of allocations as the driver last reported them (inputs.c); guarded by `lock`. */
	struct form_input {
		uint64_t value, bytes;
		uint32_t epoch, uses;
	} input[WIRE_INPUTS];
	pthread_mutex_t lock;
	/* Properties of launches with the same block size, shared memory and class of grid
	 * size. The grid size matters, because in a much smaller grid each block usually does much
	 * more work. */
	struct form_shape {
		uint32_t threads, shared, scale; /* scale: as in known.h */
		uint32_t per_sm;                 /* workers on an SM; 0: does not fit */
		/* occupancy of the program's own kernel, in blocks per SM; known only for kernels
		 * whose blocks wait for each other (rising_order) */
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
	/* the launch shape to which `wave` applies: shared memory << 32 | threads of a block */
	_Atomic uint64_t wave_of;
	/* number of blocks of the original kernel that fit on the device at once (gate.c) */
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

/* Call after the program has loaded a module or library from these bytes. Keeps a copy of the PTX
 * in them, if they contain any. */
void kernel_module_loaded(void *handle, struct image_bytes image);
void kernel_library_loaded(void *handle, struct image_bytes image);
void kernel_module_of_library(void *module, void *library);
void kernel_module_unloaded(void *handle);
/* Registers a kernel when the program gets its handle. A kernel of a library is registered for all
 * devices. */
void kernel_known(void *handle, void *owner, bool in_library, const char *name);
/* Another handle of the same kernel (cuKernelGetFunction). */
void kernel_also(void *handle, void *known);
/* Returns the record of the kernel with this handle, and makes one if there is none. Returns NULL
 * if memory is exhausted. */
struct kernel *kernel_of(void *handle);
/* Returns the kernel's preemptible form, or NULL if it has none yet. The first call requests the
 * form, and may wait until it is made. All launches of a program together wait for at most 20 ms
 * (or HEDDLE_FORM_WAIT_MS), which is enough to load forms from the cache. */
struct form *kernel_form(struct kernel *k);
void kernel_await_none(void); /* waiting launches continue unmanaged */
/* Makes one of the form-making threads call remember_write for the kernel. Returns false if the
 * kernel has no form now, or if there is no such thread. */
bool kernel_remember(struct kernel *k);
/* Records that a launch with `threads` threads ran without the kernel's preemptible form. Kernels
 * with the largest total get their forms first. */
void kernel_missed(struct kernel *k, uint64_t threads);
/* Limits how many form-making threads work at once: half as many as there are processors, but at
 * least one and at most four. kernel_turn_begin waits until the calling thread may work. While a
 * thread waits for another process, it calls kernel_turn_end, so that another thread can work. */
void kernel_turn_begin(void);
void kernel_turn_end(void);
/* For the thread that makes forms: keeps the handles of `k` valid until kernel_release. Returns
 * false if the kernel is unloaded. */
bool kernel_hold(struct kernel *k);
void kernel_release(struct kernel *k);
/* cuFuncSetAttribute and its kin, after the driver agreed. */
void kernel_attribute(void *handle, int attr, int value);
void kernel_cache_config(void *handle, CUfunc_cache config);
/* Call this before a driver call that may end a context. Until kernels_thaw, no thread requests a
 * form. A context that the shim itself uses must not end before compile_pause has been called and
 * no launch is managed; other contexts may. */
void kernels_freeze(void);
/* Call this after a driver call that may have ended a context. `ended` is the context that has
 * ended together with its modules, or NULL if none has. is_shims: the shim had its forms in this
 * context. Kernels of libraries outlive a context, so they get new forms at their next launch. */
void kernels_thaw(CUcontext ended, bool is_shims);
/* Returns how often the shim's context has ended. A form (preemptible kernel) that was made before
 * the latest end no longer exists. Call under kernel_lock. */
unsigned kernels_epoch(void);
/* Sets the form's split of an SM's memory into L1 cache and shared memory, as heddled requests
 * (carveout.c). Call it before each launch of the form. */
void carveout_set(struct form *f);

/* Makes the form of `k`: parses, rewrites, compiles and loads it. Only threads that make forms call
 * this. Returns 0, or a negative errno and the reason in *ret_why (rewrite.c). */
int rewrite_kernel(struct kernel *k, struct code *c, struct form **ret, enum wire_reason *ret_why);
void rewrite_idle(void);             /* no form has been in the making for a while */
void rewrite_unload(struct form *f); /* and its other */
/* Frees the form and its `other` after the context has ended. No thread uses them any more. */
void rewrite_free_ended(struct form *f);
void rewrite_forget(void); /* likewise, of the closer */
/* Returns the closer, a small kernel that follows each grid of the guard form and completes the
 * launch. (In the guard form, each hardware block runs one block of the grid.) It is loaded
 * together with the first guard form. */
CUfunction rewrite_closer(void);

/* Changes code that names a module variable, so that it reads the variable's original address from
 * an array in the form (globals.c). Loads from a .const variable keep the state space .const at
 * first, because the passes that run afterwards treat such loads specially. At the end,
 * host_leave_const turns them into global loads. */
int globals_bake(
	struct ptx_module *m, const struct kernel *k, struct vars *ret, struct diag_list *diags);
/* Returns true if all variables exist and have the alignment that the form's text assumes. */
bool globals_fit(const struct kernel *k, const struct vars *v);
/* Finds the driver's address and the size in bytes of a variable of the kernel's module. */
bool globals_address(const struct kernel *k, const char *name, CUdeviceptr *ret, size_t *ret_bytes);
/* globals_find returns the addresses for the form's array (globals.c), or NULL if a variable cannot
 * be found. globals_fill writes these addresses into the array of a loaded form. Call both between
 * placing_begin and placing_end. */
uint64_t *globals_find(const struct kernel *k, const struct vars *v);
bool globals_fill(CUmodule form, const uint64_t *at, uint32_t n);

/* Forgets the cached addresses of a module's or library's variables (symbols.c). If owner is NULL,
 * forgets all addresses. */
void symbols_forget(const void *owner);
void symbols_after_fork(void);

/* Read and write files for the program's next start (cache.c). Errors are not reported: an entry
 * that cannot be read counts as a miss. */
bool cache_get(const uint8_t key[32], struct strbuf *ret);
void cache_put(const uint8_t key[32], const void *data, size_t len);
/* Write an entry in two steps, for an entry that may turn out not to be worth keeping. cache_commit
 * keeps the staged entry, cache_unstage drops it. */
bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret);
void cache_commit(const struct staged *s);
void cache_unstage(const struct staged *s);

#endif
