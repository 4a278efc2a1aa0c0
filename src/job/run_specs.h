/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs several kernel specifications on one device in any way (KernelMerge, section 2): load,
 * fill, run, time, compare with the plain kernels, write back. */
#ifndef HEDDLE_CLI_RUN_SPECS_H
#define HEDDLE_CLI_RUN_SPECS_H

#include "host/corun.h"
#include "host/together.h"
#include "job/gauge.h"
#include "job/job_kernel.h"

#define CORUN_MAX HOST_MAX

struct corun_options {
	enum dev_kind device;
	enum host_way way;
	/* number of runs, each on freshly filled buffers; at least 1 */
	unsigned repeat;
	struct host_merging merging; /* only for HOST_WAY_MERGE */
	/* corun_run looks up the stored way, and sets `way` and `merging` */
	bool tuned;
	const char *store;  /* file of the stored way; NULL: model_store_path */
	unsigned compile_s; /* timeout for compiling several kernels as one, seconds */
	/* first run each kernel alone and plain, then compare the memory after each run */
	bool check;
};

/* A buffer whose contents differ from the plain kernel's result. */
struct corun_difference {
	unsigned kernel, arg; /* indices, from 0 */
	uint64_t elements;    /* number of elements that differ */
	uint64_t first;       /* index of the first element that differs */
};

struct corun_result {
	char device_name[128];
	uint32_t n_sms, registers;  /* number of SMs; registers of each SM */
	struct host_times times;    /* times of the run with the median duration */
	uint32_t fit[CORUN_MAX];    /* number of blocks of the plain kernel that fit on an SM */
	uint64_t blocks[CORUN_MAX]; /* number of blocks in the plain kernel's grid */
	struct pass_woven woven;    /* only for HOST_WAY_WEAVE */
	/* only for HOST_WAY_MERGE; for fused kernels, per_sm and workers are numbers of blocks */
	struct host_merge_plan plan;
	/* Differences of the first run that has any; in the caller's arena. */
	struct corun_difference *differences;
	unsigned n_differences;
};

/* Runs the kernels of specs[0] to specs[n-1] and writes the requested buffers to files. Returns
 * CLI_OK, or CLI_FAILED after it reports an error through c. Results that differ from the plain
 * kernels' are not an error. */
int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	struct corun_options *o, struct corun_result *ret);

/* ---- corun_run in steps, to measure several ways on the same device with the same data ---- */

/* A device, opened for the lifetime of the process. */
struct corun_device {
	struct host_device d;
	struct gauge gauge;
};
int corun_device_open(const struct cli *c, enum dev_kind kind, struct corun_device *ret);

/* An unmodified kernel, loaded on the device. One set of kernels can use it, or several sets one
 * after another. */
struct corun_kernel {
	struct job_kernel k;
	struct host_kernel host;
	uint32_t fit; /* number of blocks that fit on an SM */
	/* want[a] is a copy, in device memory, of what the kernel alone leaves in the buffer of
	 * argument a; 0 if a is a scalar. want is NULL if results are not compared. */
	CUdeviceptr *want;
};
/* Loads a kernel. With check it also runs the kernel alone, and keeps the result for comparison.
 * Call corun_kernel_close even after a failure. */
int corun_kernel_open(struct cli *c, struct corun_device *d, const struct spec *spec, bool check,
	struct corun_kernel *ret);
/* Makes a second instance of a kernel, with its own buffers. Initial contents and expected results
 * belong to `first`, which must stay open longer. Recorded kernels cannot have a twin because their
 * buffers may contain each other's addresses. */
int corun_kernel_twin(struct cli *c, struct corun_device *d, struct corun_kernel *first,
	struct corun_kernel *ret);
void corun_kernel_close(struct corun_kernel *k);
/* Compares the buffers after a run with the expected contents. Reports differences and adds them to
 * *res. number is the kernel's index, from 0. */
int corun_kernel_compare(struct cli *c, struct corun_device *d, struct corun_kernel *k,
	unsigned number, struct corun_result *res);

struct corun;
/* Makes a set of loaded kernels that can run together. Either all kernels have expected results
 * (want) or none has. The set only borrows the device and the kernels. Call corun_close even after
 * a failure. */
int corun_open(struct cli *c, struct arena *arena, struct corun_device *d,
	struct corun_kernel *const *of, unsigned n, struct corun **ret);
/* Opens a device, loads the kernels of specs[0] to specs[n-1], and makes a set of them. */
int corun_open_specs(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	enum dev_kind device, bool check, struct corun **ret);
void corun_limit(struct corun *x, unsigned compile_s); /* default: ASSEMBLER_LIMIT_S */
void corun_close(struct corun *x);
/* Prepares a way of running the kernels; needed once for each way and its options. m has the way's
 * options: the shares for HOST_WAY_GREEN, the options for HOST_WAY_WEAVE, and for HOST_WAY_MERGE
 * the kernels that are launched separately. If the way is impossible for these kernels, the
 * function writes the reason to why; if why is NULL, it reports the reason as an error. */
int corun_prepare(
	struct corun *x, enum host_way way, const struct host_merging *m, struct strbuf *why);
/* Computes the launch parameters of a way (HOST_WAY_MERGE and fused ways). */
int corun_plan(struct corun *x, enum host_way way, const struct host_merging *m, struct strbuf *why,
	struct host_merge_plan *ret);
/* Fills all buffers, runs the kernels, and compares the buffers if the kernels have expected
 * results. *ret_same is false if a buffer differs. Ways with several launches set only `ms` in
 * *ret; with `each` they also set the time of each kernel, measured by events between the
 * kernels. */
int corun_once(struct corun *x, enum host_way way, const struct host_merging *m,
	const struct host_merge_plan *plan, bool each, struct host_times *ret, bool *ret_same);
/* Sets the dynamic shared memory that later unmodified launches of kernel k use. */
void corun_take_shared(struct corun *x, unsigned k, uint32_t bytes);
/* Returns a result in which only device_name, n_sms, registers, fit and blocks are valid. */
const struct corun_result *corun_seen(const struct corun *x);
/* Returns how long it took to make a form (a rewritten kernel) and to compile it, in ms. Call it
 * after corun_prepare. */
void corun_made(const struct corun *x, enum host_way way, double *ret_make, double *ret_compile);
/* The result of weaving, valid after corun_prepare. The pointers are borrowed. */
struct corun_woven {
	const struct host_form *form;
	const char *name; /* the kernel that could not be woven */
	uint32_t warps;   /* number of warps in a block */
};
void corun_look_at_woven(
	const struct corun *x, const struct host_merging *m, struct corun_woven *ret);
/* Fills *ret with the digests and names that identify these kernels in the store of results. Both
 * belong to x. */
void corun_identify(struct corun *x, struct model_together *ret);
/* Reads the way that heddle tune stored (path as for model_store_open). */
int corun_look_up(
	struct corun *x, const char *path, enum host_way *ret_way, struct host_merging *io);

#endif
