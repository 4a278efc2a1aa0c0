/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The host side of merged launches (pass/merge.h; KernelMerge, section 2), for a program that has
 * the device to itself. It runs one launch at a time, and waits for each. */
#ifndef HEDDLE_HOST_MERGED_H
#define HEDDLE_HOST_MERGED_H

#include "host/managed.h"
#include "pass/merge.h"

/* Options of a merged launch. */
struct host_merging {
	enum ctl_order order;
	/* Each kernel's share of the workers, or of the SMs with CTL_APART. A share is at least 1;
	 * only the proportions of the shares count. Not used with stealing. */
	uint32_t share[CTL_MAX_MERGED];
	bool help_others; /* sets CTL_HELP */
	bool times;       /* sets CTL_TIMES */
	bool count;       /* sets CTL_COUNT */
	/* bit k: kernel k has a launch of its own besides the merged one (see below); not all
	 * kernels can have one */
	uint32_t own;
	uint32_t chunk;                  /* blocks per claim; 0: 1 */
	uint32_t chunks[CTL_MAX_MERGED]; /* chunk of each kernel; 0: the field `chunk` */
	/* quotas drop after this many tickets of each kernel; 0: never */
	uint32_t yield_every;
	uint32_t workers_per_sm; /* maximum number on an SM; 0: as many as fit */
	uint32_t workers;        /* maximum number in all; 0: as many as fit */
	/* Options of HOST_WAY_WEAVE. registers: limit for the assembler, 0: none; unsliced: long
	 * blocks stay whole; branches: short regions keep their branches. */
	uint32_t registers;
	bool unsliced, branches;
};

/* A kernel can have a launch of its own besides the merged launch, for the following reason. In a
 * merged launch every worker has the registers and shared memory of the most demanding kernel
 * (KernelMerge, section 2.4). An example, for an SM of sm_90 with 65,536 registers, 2,048 threads,
 * 32 blocks, 16 barriers per block and 227 KiB of shared memory: if one kernel needs 128 registers
 * and blocks of 256 threads, two workers fit, with 512 threads. A second kernel with 32 registers
 * and blocks of 64 threads has 2,048 threads when it runs alone. Four of its blocks in each worker
 * would fill those 512 threads, which is a quarter of its occupancy alone, and they would not share
 * the other kernel's shared memory.
 *
 * So a kernel can also have a launch of its own, with its own form. Its workers claim blocks from
 * the same control block as the merged launch. They have only their own kernel's demands (plus 160
 * bytes of shared memory), so as many fit as the kernel's blocks do alone. They use the part of
 * each SM that the merged launch does not use. With SMs of its own (CTL_APART) the kernel has its
 * full occupancy there. Otherwise it has the rest of each SM, and the whole SM when the other
 * kernels are complete.
 *
 * How much the merged launch uses: with shares, kernels with a launch of their own get no workers
 * of the merged launch. With stealing, the number of merged workers is reduced in proportion to the
 * number of its kernels, unless the caller sets it. */

/* The plan of a launch, computed from struct host_merging and from the number of workers that
 * fit. */
struct host_merge_plan {
	uint32_t per_sm;  /* number of workers that fit on an SM */
	uint32_t workers; /* number of workers in a launch */
	struct ctl_merge merge;
	/* for each kernel: true if all its blocks must be on the device at once, so its quotas
	 * never drop */
	bool together[CTL_MAX_MERGED];
	struct host_merge_own { /* a launch of its own for a kernel; workers 0: it has none */
		uint32_t per_sm, workers;
		struct ctl_merge merge;
	} own[CTL_MAX_MERGED];
};

enum host_merge_status {
	HOST_MERGE_OK,
	/* no worker would serve kernel *ret_which, and no other worker helps it */
	HOST_MERGE_NO_WORKER,
	/* Blocks of kernel *ret_which may all wait for each other. All of them are on the device at
	 * once only with stealing and in a single launch. */
	HOST_MERGE_ORDER,
	/* The blocks of kernel *ret_which may all wait for each other, and there may be more such
	 * kernels. All their blocks together are more than the workers. */
	HOST_MERGE_TOO_FEW,
	/* CTL_APART with CTL_HELP, which lets workers serve other kernels after their own: kernel
	 * *ret_which has a launch of its own, so only the workers of that launch run on its SMs,
	 * and those serve no other kernel */
	HOST_MERGE_NO_HELP,
};

struct host_merge_shape {
	struct host_shape shape; /* the shape with which the kernel is launched alone */
	/* true if all its blocks are on the device at once when it runs alone */
	bool fits;
};

/* A form that is loaded on the device. */
struct host_merge_part {
	CUfunction fn;
	const struct pass_merged *form;
	void *params;    /* parameter buffer, in which the kernels' own parameters are set */
	uint32_t per_sm; /* number of its workers that fit on an SM */
};

/* Computes the plan, and launches nothing. `all` is the merged form of the n kernels. `own` has, by
 * kernel, the forms of the kernels in merging->own; it can be NULL if there are none. Only the
 * fields `form` and `per_sm` are used. Sets the number of workers in *ret in any case. With
 * HOST_MERGE_TOO_FEW, *ret_blocks is the number of workers that would be needed. */
enum host_merge_status host_merge_plan(const struct host_merging *merging,
	const struct host_merge_part *all, const struct host_merge_part *own, unsigned n,
	const struct host_merge_shape *shapes, uint32_t n_sms, struct host_merge_plan *ret,
	unsigned *ret_which, uint64_t *ret_blocks);

/* Device memory, events and streams for a sequence of merged launches. */
struct host_merged {
	/* turns: struct ctl_turns; block: the kernels' control blocks */
	CUdeviceptr turns, block[CTL_MAX_MERGED];
	uint32_t gen[CTL_MAX_MERGED];
	CUevent began, ended;
	/* streams of the kernels' own launches; created on first use */
	CUstream stream[CTL_MAX_MERGED];
	CUevent ready, done[CTL_MAX_MERGED];
};
CUresult host_merged_create(const struct cu_api *cu, unsigned n, struct host_merged *ret);
void host_merged_destroy(const struct cu_api *cu, struct host_merged *d);

struct host_merged_stats {
	uint32_t launches; /* 1 plus the number of times resumed */
	/* time from the start of the first launch to the end of the last one, from events */
	float ms;
	/* sums over all launches; only with host_merging.times */
	struct ctl_times of[CTL_MAX_MERGED];
	uint64_t first_ns; /* the earliest began_ns */
	unsigned stalled;  /* with CUDA_ERROR_UNKNOWN: the first kernel that did not complete */
};

/* Runs the merged form `all` (made by pass_merge) until all its kernels are complete. Also runs the
 * forms in `own`, each of a single kernel, as planned. Fills in the rest of the parameters. Returns
 * a driver error, or CUDA_ERROR_UNKNOWN if a whole launch ran no block. With CTL_MIXED and
 * CTL_APART, a worker's SM or its number there decides which kernel the worker serves, and other
 * programs may occupy all SMs of a kernel. Then this function waits for them; after a few launches
 * all workers serve all kernels, except with a launch of a kernel's own and CTL_APART. */
CUresult host_merged_run(const struct cu_api *cu, const struct host_merge_part *all,
	const struct host_merge_part *own, unsigned n, const struct host_merge_shape *shapes,
	const struct host_merging *merging, const struct host_merge_plan *plan,
	struct host_merged *io, struct host_merged_stats *ret);

/* Runs a form of pass_fuse_* in one launch, with as many blocks as the largest kernel has (at most
 * INT32_MAX in x). Sets launches and ms of the stats. */
CUresult host_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct host_merge_shape *shapes, void *params, struct host_merged *io,
	struct host_merged_stats *ret);
uint64_t host_fused_blocks(unsigned n, const struct host_merge_shape *shapes);

#endif
