/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernels run together on one device, in every way that there is (KernelMerge, section 2):
 * their form made, compiled, loaded, planned, run and timed. libheddle and the command line are
 * both thin over this, so that what heddle tune measures is what heddle_corun runs.
 *
 * The caller owns all structures; what they point to is borrowed. Functions return 0 or a negative
 * errno, and then fill the fault that they are given. The device's context is current on the
 * calling thread; one thread at a time uses a device and what belongs to it. */
#ifndef HEDDLE_CORUN_HOST_H
#define HEDDLE_CORUN_HOST_H

#include "host/assembler.h"
#include "host/corun_fault.h"
#include "host/green.h"
#include "host/merged.h"
#include "ptx/ptx.h"

#define HOST_MAX CTL_MAX_MERGED

/* ---- the device ---- */
struct host_device {
	struct cu_api cu; /* opened and started by the caller */
	int ordinal;      /* which one: the caller's */
	CUdevice device;
	CUcontext context;
	char name[128], driver[16];
	uint32_t n_sms, registers; /* registers: of an SM */
	struct assembler assembler;
	/* Made when first wanted. */
	CUstream main, stream[HOST_MAX];
	CUevent began, ended, kernel_began[HOST_MAX], kernel_ended[HOST_MAX];
	struct host_split *splits; /* green contexts */
};

/* d->cu and d->ordinal are set. Retains the primary context, and does not make it current.
 * assembler: its path;
 * "": none, then all is compiled in this process. */
int host_device_open(struct host_device *d, const char *assembler, struct host_fault *f);
/* Ends what was made when first wanted; assembler and context are the caller's to end. */
void host_device_close(struct host_device *d);

/* ---- PTX on the device ---- */
/* Compiles text in a separate process, into the driver's cache, from where host_load has it then. A
 * text on which the compiler crashes, twice, is CRASHED, one that takes too long LATE; what else
 * may be wrong host_load says. what: how a fault calls the text; NULL: by the form's kernels.
 * ret_ms (NULL: not wanted): what compiling took. */
int host_compile_apart(struct host_device *d, const struct strbuf *text, const char *what,
	double *ret_ms, struct host_fault *f);
/* Loads text, which ends with a NUL, and finds an entry in it. */
int host_load(const struct host_device *d, const char *what, const char *text, const char *entry,
	CUmodule *ret_module, CUfunction *ret_fn, struct host_fault *f);
/* Lets fn be launched with so much dynamic shared memory. */
int host_room(
	const struct host_device *d, CUfunction fn, uint32_t shared_bytes, struct host_fault *f);
/* One kernel as it is, its parameters in one buffer of so many bytes. Nothing is waited for. */
CUresult host_launch(const struct cu_api *cu, CUfunction fn, const struct dev_shape *shape,
	const void *params, size_t bytes, CUstream stream);

/* ---- kernels ---- */
struct host_kernel {
	const char *name;  /* for messages */
	const char *entry; /* in its module */
	const char *file;  /* of its module, for messages; NULL: unknown */
	struct arena *arena;
	CUmodule module; /* as it is loaded, for its variables */
	CUfunction fn;
	uint32_t bytes; /* of its parameters */
	/* host_kernel_open sets the rest. */
	struct ptx_module *alone; /* the entry on its own, which names no module variables: they
				     stay in `module`, and forms get their addresses */
	uint8_t digest[32];       /* of the entry on its own, before that */
	int local_bytes;          /* of a thread */
	uint64_t *vars;           /* addresses that `alone` reads from its array */
	size_t n_vars;
	const char *no_vars; /* NULL; or why it cannot do without its module variables */
};

/* m: the module that k->entry is in, read only. A kernel that cannot leave its variables is opened,
 * too: it runs as it is. To be closed also after a failure. */
int host_kernel_open(const struct host_device *d, const struct ptx_module *m, struct host_kernel *k,
	struct host_fault *f);
void host_kernel_close(struct host_kernel *k);
/* Once a module is loaded in which k is guest `which`: gives it the addresses of k's variables. */
int host_kernel_fill_vars(const struct host_device *d, const struct host_kernel *k, unsigned which,
	CUmodule module, struct host_fault *f);
/* How many of its blocks an SM holds at once. */
int host_kernel_fit(const struct host_device *d, const struct host_kernel *k,
	const struct dev_shape *shape, uint32_t *ret, struct host_fault *f);

/* ---- several launched together ---- */
struct host_set {
	struct host_form *
		*forms; /* where forms are kept: a list, NULL at first, freed by the caller */
	unsigned n;
	unsigned number; /* its only kernel's, from 1, among those of another set; else 0 */
	const struct host_kernel *of[HOST_MAX];
	struct dev_merge_shape shapes[HOST_MAX];
	const void *params[HOST_MAX]; /* buffers; read by each run */
	uint32_t fit[HOST_MAX];       /* blocks of it that an SM holds at once, alone */
};

/* One launch that holds all kernels of a set, for these shapes of their blocks. */
struct host_form {
	struct host_form *next;
	/* What it is made of, and how; of shapes the blocks count. */
	struct host_set set;
	enum dev_how how;
	uint32_t max_registers;
	bool unsliced, branches;
	/* What became of it. */
	struct host_fault never; /* with a code: why there is none */
	struct arena arena;
	struct pass_merged form;
	uint8_t digest[32]; /* SHA-256 of its text */
	CUmodule module;
	CUfunction fn;
	uint32_t per_sm, registers; /* blocks that an SM holds; of a thread, as compiled */
	struct dev_merged device;
	void *params;
	double make_ms, compile_ms; /* its text; its code, by the driver */
};
void host_forms_free(const struct host_device *d, struct host_form **list);

/* Times by events; of a merged launch by its workers' clocks, from when a kernel's first block was
 * claimed until its last one had run. */
struct host_times {
	double ms; /* of all together */
	struct {
		double began_ms; /* after the whole began; merged: after the first kernel began */
		double ms;       /* from there to its end */
		double busy_ms;  /* merged: of all workers together with this kernel */
		uint32_t most;   /* merged, if counted: so many workers had it at once */
	} of[HOST_MAX];
	uint32_t launches; /* merged: 1 + times resumed */
};

/* Appends a kernel to a set of fewer than HOST_MAX. */
int host_set_add(const struct host_device *d, struct host_set *s, const struct host_kernel *k,
	const struct dev_shape *shape, const void *params, struct host_fault *f);
/* Makes what this way needs, unless it is there. m: of DEV_GREEN the shares, of DEV_MERGE `own`, of
 * DEV_WEAVE how it is woven; else NULL will do. */
int host_prepare(struct host_device *d, const struct host_set *s, enum dev_how how,
	const struct dev_merging *m, struct host_fault *f);
/* The form of a way that is prepared; NULL: none is. */
struct host_form *host_form_find(
	const struct host_set *s, enum dev_how how, const struct dev_merging *m);
/* Makes it, if there is none; part of host_prepare. */
int host_form_make(struct host_device *d, const struct host_set *s, enum dev_how how,
	const struct dev_merging *m, struct host_fault *f);
/* Pure, for a way that is prepared. Of fused forms, per_sm and workers (the blocks) are set; of
 * what runs kernels as they are, nothing. */
int host_plan(const struct host_device *d, const struct host_set *s, enum dev_how how,
	const struct dev_merging *m, struct dev_merge_plan *ret, struct host_fault *f);
/* Runs all kernels once, as planned, and waits. Of ways that are not one launch, times of each
 * kernel are taken only if `each`, with events between them. */
int host_run(struct host_device *d, const struct host_set *s, enum dev_how how,
	const struct dev_merging *m, const struct dev_merge_plan *plan, bool each,
	struct host_times *ret, struct host_fault *f);

#endif
