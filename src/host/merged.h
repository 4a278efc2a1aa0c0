/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The host side of merged launches (pass/merge.h; KernelMerge, section 2) for a program that has
 * the device to itself. One launch at a time, with a wait for each. */
#ifndef HEDDLE_MERGED_H
#define HEDDLE_MERGED_H

#include "host/managed.h"
#include "pass/merge.h"

/* The user's choices. */
struct dev_merging {
	enum ctl_order order;
	/* Each kernel's share of the workers (of the SMs: CTL_APART), from 1; the sum is at most
	 * their number. Unused with stealing. */
	uint32_t share[CTL_MAX_MERGED];
	bool help_others; /* CTL_HELP */
	bool times;       /* CTL_TIMES */
	bool count;       /* CTL_COUNT */
	/* bit k: kernel k has a launch of its own, besides the merged one (below); not all
	 * kernels */
	uint32_t own;
	uint32_t chunk;                  /* 0: 1 */
	uint32_t chunks[CTL_MAX_MERGED]; /* each kernel's chunk instead; 0: chunk */
	uint32_t yield_every;            /* by tickets of each kernel; 0: never */
	uint32_t workers_per_sm;         /* at most; 0: as many as fit */
	uint32_t workers;                /* at most, on all SMs together; 0: as many as fit */
	/* DEV_WEAVE: a register bound for the assembler, 0: none; unsliced: long blocks stay whole;
	 * branches: short regions keep their branches. */
	uint32_t registers;
	bool unsliced, branches;
};

/* Two grids under one set of control blocks. In a merged launch every worker has the registers and
 * shared memory of the most demanding kernel (KernelMerge, section 2.4). An example, for an SM of
 * sm_90 with 65,536 registers, 2,048 threads, 32 blocks, 16 barriers a block and 227 KiB of shared
 * memory: beside a kernel of 128 registers and 256 threads, two workers fit, with 512 threads. A
 * kernel of 32 registers and blocks of 64 threads has 2,048 threads alone. Four of its blocks in
 * each worker would fill those 512 threads, a quarter of its occupancy alone, and they would not
 * share the other kernel's shared memory. So a kernel may also have a launch of its own: its own
 * form, which takes tickets of the same control block. Its workers have only its own demands (and
 * 160 bytes more of shared memory), so as many fit as its blocks do alone. They take the room that
 * the merged launch leaves. With SMs of its own (CTL_APART) the kernel has its full occupancy
 * there. Otherwise it has the rest of each SM, and the whole SM when the other kernels are done.
 *
 * The room: with shares, kernels with a launch of their own get no workers of the merged launch.
 * With stealing, the merged launch has a part of the workers in proportion to its kernels, unless
 * their number is given. */

/* The plan of a launch, from struct dev_merging and what fits. */
struct dev_merge_plan {
	uint32_t per_sm;  /* workers that fit one SM */
	uint32_t workers; /* in a launch */
	struct ctl_merge merge;
	/* all its blocks are resident at once, so its quotas never drop */
	bool together[CTL_MAX_MERGED];
	struct dev_merge_own { /* launches of their own; workers 0: none */
		uint32_t per_sm, workers;
		struct ctl_merge merge;
	} own[CTL_MAX_MERGED];
};

enum dev_merge_status {
	DEV_MERGE_OK,
	DEV_MERGE_NO_WORKER, /* no worker would serve kernel *ret_which, and none helps */
	/* blocks of *ret_which may all wait for each other: only stealing, from one launch, makes
	 * sure that all are resident at once */
	DEV_MERGE_ORDER,
	/* the same, and its blocks, with others of that kind, outnumber the workers */
	DEV_MERGE_TOO_FEW,
	DEV_MERGE_NO_HELP, /* CTL_APART: only its own workers are on the SMs of *ret_which */
};

struct dev_merge_shape {
	struct dev_shape shape; /* as the kernel is launched alone */
	bool fits;              /* alone, all of its blocks are on the device at once */
};

/* A form on the device. */
struct dev_merge_part {
	CUfunction fn;
	const struct pass_merged *form;
	void *params;    /* its buffer, the kernels' own parameters in place */
	uint32_t per_sm; /* workers of it that fit one SM */
};

/* Pure: launches nothing. all: for the n kernels; own: by kernel, for those in how->own (others are
 * ignored, or NULL); form and per_sm are used. *ret has the number of workers in any case;
 * ret_blocks, with DEV_MERGE_TOO_FEW, the number that is needed. */
enum dev_merge_status dev_merge_plan(const struct dev_merging *how,
	const struct dev_merge_part *all, const struct dev_merge_part *own, unsigned n,
	const struct dev_merge_shape *shapes, uint32_t n_sms, struct dev_merge_plan *ret,
	unsigned *ret_which, uint64_t *ret_blocks);

/* Device memory for a sequence of merged launches. */
struct dev_merged {
	CUdeviceptr turns, block[CTL_MAX_MERGED]; /* ctl_turns; control blocks */
	uint32_t gen[CTL_MAX_MERGED];
	CUevent began, ended;
	CUstream stream[CTL_MAX_MERGED]; /* of the kernels' own launches; made on first use */
	CUevent ready, done[CTL_MAX_MERGED];
};
CUresult dev_merged_create(const struct cu_api *cu, unsigned n, struct dev_merged *ret);
void dev_merged_destroy(const struct cu_api *cu, struct dev_merged *d);

struct dev_merged_stats {
	uint32_t launches; /* 1 + times resumed */
	float ms;          /* by events, from the first launch to the last's end */
	struct ctl_times of[CTL_MAX_MERGED]; /* of all launches; with dev_merging.times */
	uint64_t first_ns;                   /* the least began_ns */
	unsigned stalled; /* CUDA_ERROR_UNKNOWN: the first kernel that was not done */
};

/* Runs all (made by pass_merge) to the end of all its kernels, and beside it own (likewise, of one
 * kernel each), as planned for them. Fills in the rest of params. Returns a driver error, or
 * CUDA_ERROR_UNKNOWN if a whole launch handed out no block (several launches in a row, if SMs
 * decide which kernel a worker serves). */
CUresult dev_merged_run(const struct cu_api *cu, const struct dev_merge_part *all,
	const struct dev_merge_part *own, unsigned n, const struct dev_merge_shape *shapes,
	const struct dev_merging *how, const struct dev_merge_plan *plan, struct dev_merged *io,
	struct dev_merged_stats *ret);

/* The same for a form of pass_fuse_*: one launch, with as many blocks as the largest kernel (in x:
 * at most INT32_MAX). Sets launches and ms of the stats. */
CUresult dev_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret);
uint64_t dev_fused_blocks(unsigned n, const struct dev_merge_shape *shapes);

#endif
