/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs several kernels together on one device, in any way (KernelMerge, section 2):
 * makes the combined form, compiles, loads, plans, runs and times it. libheddle and the command
 * line are thin layers above these functions, so heddle_corun runs exactly the code that `heddle
 * tune` measures.
 *
 * The caller owns all structures, and pointers in them are borrowed. Functions return 0 or a
 * negative errno, and on failure fill the given fault. The device's context must be current on the
 * calling thread. Only one thread at a time can use a device and its objects. */
#ifndef HEDDLE_HOST_CORUN_H
#define HEDDLE_HOST_CORUN_H

#include "host/assembler.h"
#include "host/corun_fault.h"
#include "host/green.h"
#include "host/merged.h"
#include "ptx/ptx.h"

#define HOST_MAX CTL_MAX_MERGED

/* ---- the device ---- */
struct host_device {
	struct cu_api cu; /* functions of the driver, which the caller has opened and initialized */
	int ordinal;      /* number of the device; set by the caller */
	CUdevice device;
	CUcontext context;
	char name[128], driver[16];
	uint32_t n_sms, registers; /* registers: per SM */
	struct assembler assembler;
	/* Created on first use. */
	CUstream main, stream[HOST_MAX];
	CUevent began, ended, kernel_began[HOST_MAX], kernel_ended[HOST_MAX];
	struct host_split *splits; /* created green contexts */
};

/* Opens the device. The caller sets d->cu and d->ordinal. Retains the primary context, but does not
 * make it current. `assembler` is the path of the assembler's executable; if it is "", all code is
 * compiled in this process. */
int host_device_open(struct host_device *d, const char *assembler, struct host_fault *f);
/* Destroys the streams, events and green contexts that were created on demand. The caller releases
 * the assembler and the context. */
void host_device_close(struct host_device *d);

/* ---- loading PTX on the device ---- */
/* Compiles the text in a separate process, which puts the result into the driver's cache for
 * host_load. Fails with CRASHED if the compiler crashed twice on the text, and with LATE if it took
 * too long; host_load reports all other errors. `what` names the text in faults; if it is NULL, its
 * kernels' names are used. Stores the compile time in *ret_ms, unless ret_ms is NULL. */
int host_assemble(struct host_device *d, const struct strbuf *text, const char *what,
	double *ret_ms, struct host_fault *f);
/* Loads the text, which ends with a NUL, and finds a kernel entry in it. */
int host_load(const struct host_device *d, const char *what, const char *text, const char *entry,
	CUmodule *ret_module, CUfunction *ret_fn, struct host_fault *f);
/* Raises fn's limit of dynamic shared memory to this many bytes. */
int host_room(
	const struct host_device *d, CUfunction fn, uint32_t shared_bytes, struct host_fault *f);
/* Launches one unmodified kernel. `params` is one buffer with its parameters, of `bytes` bytes.
 * Does not wait for the kernel. */
CUresult host_launch(const struct cu_api *cu, CUfunction fn, const struct host_shape *shape,
	const void *params, size_t bytes, CUstream stream);

/* ---- kernels ---- */
struct host_kernel {
	const char *name;  /* name in messages */
	const char *entry; /* name of the entry in its module */
	const char *file;  /* file of its module, for messages; NULL: unknown */
	struct arena *arena;
	CUmodule module; /* the loaded module, which has the kernel's variables */
	CUfunction fn;
	uint32_t bytes; /* size of its parameters */
	/* host_kernel_open sets the fields below. */
	/* The kernel extracted from its module, without the module's variables. The variables stay
	 * in `module`, and forms get their addresses. */
	struct ptx_module *alone;
	uint8_t digest[32]; /* SHA-256 of the extracted entry, before its variables are replaced */
	int local_bytes;    /* per thread */
	uint64_t *vars;     /* addresses that the code in `alone` reads from an array */
	size_t n_vars;
	const char *no_vars; /* why its module variables cannot be replaced; NULL: they can */
};

/* Prepares a kernel for forms. `m` is the module of k->entry, and is only read. A kernel whose
 * variables cannot be replaced is opened as well, and can run unmodified. The caller must close k
 * even after a failure. */
int host_kernel_open(const struct host_device *d, const struct ptx_module *m, struct host_kernel *k,
	struct host_fault *f);
void host_kernel_close(struct host_kernel *k);
/* Stores the addresses of k's variables in a loaded module. Call it after loading a module that
 * contains k as kernel number `which`. */
int host_kernel_fill_vars(const struct host_device *d, const struct host_kernel *k, unsigned which,
	CUmodule module, struct host_fault *f);
/* Finds how many of the kernel's blocks fit on an SM. */
int host_kernel_fit(const struct host_device *d, const struct host_kernel *k,
	const struct host_shape *shape, uint32_t *ret, struct host_fault *f);

/* ---- kernels that run together ---- */
struct host_set {
	struct host_form **forms; /* the set's list of forms; initially NULL; the caller frees it */
	unsigned n;
	/* its kernel's number in the set that it was taken from, from 1; 0: it was not taken
	 * from one */
	unsigned number;
	const struct host_kernel *of[HOST_MAX];
	struct host_merge_shape shapes[HOST_MAX];
	const void *params[HOST_MAX]; /* parameter buffers, which every run reads */
	/* for each kernel: blocks that fit on an SM when it runs alone */
	uint32_t fit[HOST_MAX];
};

/* The code of one launch that runs all kernels of a set, for these block shapes. */
struct host_form {
	struct host_form *next; /* next in the list *host_set.forms; host_forms_free frees it */
	/* The key of the form: kernels, block shapes and way. */
	struct host_set set;
	enum host_way way;
	uint32_t max_registers;
	bool unsliced, branches;
	/* The result of making it. */
	struct host_fault never; /* if it has an error code: why the form cannot be made */
	struct arena arena;
	struct pass_merged form;
	uint8_t digest[32]; /* SHA-256 of the form's text */
	CUmodule module;
	CUfunction fn;
	/* blocks that fit on an SM; registers per thread, as compiled */
	uint32_t per_sm, registers;
	struct host_merged device;
	void *params;
	double make_ms, compile_ms; /* time to make the PTX; time in which the driver compiled it */
};
void host_forms_free(const struct host_device *d, struct host_form **list);

/* Measured times, taken from events of the driver. For the single kernels of a merged launch, the
 * times come from the workers' clocks instead, and span the time from the claim of the kernel's
 * first block to the end of its last block. */
struct host_times {
	double ms; /* time of all kernels together */
	struct {
		/* start of this kernel, in ms after the start of the whole run; for a merged
		 * launch, in ms after the start of the first kernel */
		double began_ms;
		double ms;      /* time from began_ms to its end */
		double busy_ms; /* merged: total time that all workers spent on this kernel */
		uint32_t most;  /* merged, if counted: greatest number of workers on it at a time */
	} of[HOST_MAX];
	uint32_t launches; /* merged: 1 plus the number of times it was resumed */
};

/* Appends a kernel to a set, which must have fewer than HOST_MAX. */
int host_set_add(const struct host_device *d, struct host_set *s, const struct host_kernel *k,
	const struct host_shape *shape, const void *params, struct host_fault *f);
/* Makes everything that this way needs, unless it exists already. `m` contains the shares for
 * HOST_WAY_GREEN, the kernels with launches of their own for HOST_WAY_MERGE, and the options for
 * HOST_WAY_WEAVE; for other ways it can be NULL. */
int host_prepare(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_fault *f);
/* Returns the form of a prepared way, or NULL if the way has none. */
struct host_form *host_form_find(
	const struct host_set *s, enum host_way way, const struct host_merging *m);
/* Makes the form if it does not exist yet. host_prepare calls this. */
int host_form_make(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_fault *f);
/* Computes the plan of a prepared way, without launching anything. For fused forms, sets only
 * per_sm and workers (the number of blocks); for unmodified kernels, sets nothing. */
int host_plan(const struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_merge_plan *ret, struct host_fault *f);
/* Runs all kernels once according to the plan, and waits for them. A way with several launches
 * times each kernel only if `each` is set, with events between the kernels. */
int host_run(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, const struct host_merge_plan *plan, bool each,
	struct host_times *ret, struct host_fault *f);

#endif
