/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the shim knows of loaded code: the PTX of modules and libraries, kernels, and their
 * preemptible forms. A kernel's record lives as long as the process; its PTX goes with the module.
 */
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
	struct form *other; /* the same within fewer registers, so that more blocks fit on an SM,
			       with some of them spilled: which is faster is measured; or NULL */
	struct kernel *kernel;
	struct compiled on;
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* of the kernel's own parameters */
	uint32_t regs, static_shared, local, max_threads;
	uint32_t native_threads;   /* the same of the program's own kernel; 0: not asked yet */
	uint32_t raised;           /* limit of dynamic shared memory, for padding; 0: not raised */
	uint32_t which;            /* 1: it is an other, as known.h counts them */
	const struct known *known; /* from earlier starts, of it and its other */
	uint32_t n_known;
	_Atomic uint32_t retried_at;
	_Atomic uint32_t carveout; /* percent that the daemon named and it has; 0: its own */
	uint8_t known_key[32];     /* under which that is kept; of an other: none */
	/* Where pointers led when the driver was last asked (inputs.c); under the lock. */
	struct form_input {
		uint64_t value, bytes;
		uint32_t epoch, uses;
	} input[WIRE_INPUTS];
	pthread_mutex_t lock;
	/* Launches of one block size and shared memory, and of grids of about one size: a block of
	 * a grid that is much smaller does, as a rule, much more. */
	struct form_shape {
		uint32_t threads, shared, scale; /* scale: as in known.h */
		uint32_t per_sm;                 /* workers on an SM; 0: does not fit */
		uint32_t as_it_is; /* blocks of the program's own kernel on an SM; only known of
				      such as wait for each other (rising_order) */
		struct pads pads;  /* of guard forms */
		struct pace pace;
	} shape[KERNEL_SHAPES];
	unsigned n_shapes;
};

#define KERNEL_ATTRIBUTES 20
struct kernel {
	void *handle;          /* CUfunction or CUkernel */
	void *owner;           /* CUmodule or CUlibrary */
	struct shim *session;  /* of the device; a library's kernel has a record for each */
	bool in_library, seen; /* seen: its module was, as it was loaded */
	char *name;
	uint64_t hash;
	struct code *code; /* under kernel_lock */
	_Atomic int state;
	_Atomic bool loaded;       /* launched before: its code is on the device */
	_Atomic uint64_t wave_of;  /* shared memory << 32 | threads of a block, of which */
	_Atomic uint32_t wave;     /* so many fit on the device at once, as it is (gate.c) */
	struct form *_Atomic form; /* valid when KERNEL_READY */
	_Atomic int why;           /* enum wire_reason: why it is KERNEL_PLAIN */
	_Atomic uint64_t launches; /* while launches are recorded: so many of it (record.c) */
	_Atomic uint64_t missed;   /* threads launched as they are while the form was made */
	bool gone;                 /* unloaded; under kernel_lock, as is: */
	unsigned held;             /* whoever uses its handles: it is not unloaded meanwhile */
	/* What the program set, to be set on the form too. */
	bool attr_set[KERNEL_ATTRIBUTES], cache_set;
	int attr[KERNEL_ATTRIBUTES];
	CUfunc_cache cache;
};
extern pthread_mutex_t kernel_lock; /* code, state changes, attributes */
extern pthread_cond_t kernel_done;  /* a kernel has left KERNEL_BUSY */

/* A module or library was loaded from these bytes: keeps its PTX, if it has any. */
void kernel_module_loaded(void *handle, struct image_bytes image);
void kernel_library_loaded(void *handle, struct image_bytes image);
void kernel_module_of_library(void *module, void *library);
void kernel_module_unloaded(void *handle);
/* A handle of a kernel of that module became known; of a library: on all devices. */
void kernel_known(void *handle, void *owner, bool in_library, const char *name);
/* Another handle of the same kernel (cuKernelGetFunction). */
void kernel_also(void *handle, void *known);
/* The record of a launched handle; made on first sight. NULL: out of memory. */
struct kernel *kernel_of(void *handle);
/* The preemptible form, or NULL while it is made. Launches wait for forms for 20 ms in all the
 * program, or as HEDDLE_FORM_WAIT_MS says: so long as those take that are there from an earlier
 * start. */
struct form *kernel_form(struct kernel *k);
void kernel_await_none(void); /* those that wait now go as they are */
/* remember_write for it, by a thread that makes forms. False: its module is gone, or no thread. */
bool kernel_remember(struct kernel *k);
/* So many threads went without it: forms that are missed most are made first. */
void kernel_missed(struct kernel *k, uint64_t threads);
/* For threads that make forms: so many at once as keep half of the processors busy. Who waits for
 * another process lets others do so meanwhile. */
void kernel_turn_begin(void);
void kernel_turn_end(void);
/* For the thread that makes forms: its handles stay until kernel_release. False: they are gone. */
bool kernel_hold(struct kernel *k);
void kernel_release(struct kernel *k);
/* cuFuncSetAttribute and its kin, after the driver agreed. */
void kernel_attribute(void *handle, int attr, int value);
void kernel_cache_config(void *handle, CUfunc_cache config);
/* Around a call of the driver that may end a context, with no thread inside (compile_pause) and no
 * launch managed: nobody asks for a form, or uses one. */
void kernels_freeze(void);
/* ended: the context that has ended, with the modules in it; NULL: none has. is_shims: it had the
 * forms, too: kernels of libraries get new ones at their next launch. */
void kernels_thaw(CUcontext ended, bool is_shims);
/* Under kernel_lock: how often that was so. A form that was begun before is of no use. */
unsigned kernels_epoch(void);
/* Ahead of a launch of the form: as the daemon says (carveout.c). */
void carveout_set(struct form *f);

/* Makes k's form: parse, rewrite, compile, load. In any of the threads that do so. 0 or negative
 * errno with *ret_why. (rewrite.c) */
int rewrite_kernel(struct kernel *k, struct code *c, struct form **ret, enum wire_reason *ret_why);
void rewrite_idle(void);             /* no form has been in the making for a while */
void rewrite_unload(struct form *f); /* and its other */
/* The context has ended: nobody uses the form, or its other, any more. Frees both. */
void rewrite_free_ended(struct form *f);
void rewrite_forget(void);       /* likewise, of the closer */
CUfunction rewrite_closer(void); /* the kernel behind guard grids; loaded with the first of them */

/* Variables of the original module (globals.c). What names one reads its address from an array of
 * the form's own. What is at a .const one's is still read as .const, so that passes know it:
 * pass_leave_const comes behind them. */
int globals_bake(
	struct ptx_module *m, const struct kernel *k, struct vars *ret, struct diag_list *diags);
/* Are they there, and aligned as the text has it? */
bool globals_fit(const struct kernel *k, const struct vars *v);
/* Where the driver has a variable of the kernel's module, and its bytes. */
bool globals_address(const struct kernel *k, const char *name, CUdeviceptr *ret, size_t *ret_bytes);
/* Both within placing_begin. What the array is to hold; NULL: one of them cannot
 * be found. And into the array of a form that was loaded. */
uint64_t *globals_find(const struct kernel *k, const struct vars *v);
bool globals_fill(CUmodule form, const uint64_t *at, uint32_t n);

/* Addresses of variables that the program asked for are remembered until then. owner: module or
 * library, NULL: all. (symbols.c) */
void symbols_forget(const void *owner);
void symbols_after_fork(void);

/* Files kept for the next start (cache.c). Never an error: a miss is a miss. */
bool cache_get(const uint8_t key[32], struct strbuf *ret);
void cache_put(const uint8_t key[32], const void *data, size_t len);
/* The same in two steps: what is not worth keeping yet. Then one of the other two. */
bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret);
void cache_commit(const struct staged *s);
void cache_unstage(const struct staged *s);

#endif
