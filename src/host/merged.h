/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The host side of merged launches (pass/merge.h; KernelMerge, section 2) for a program that has
 * the device to itself. One launch at a time, waited for. */
#ifndef HEDDLE_MERGED_H
#define HEDDLE_MERGED_H

#include "host/managed.h"
#include "pass/merge.h"

/* What the user chose. */
struct dev_merging {
	enum ctl_order order;
	/* Shares of the workers (of the SMs: CTL_APART) that keep to each kernel, from 1; in all as
	 * many as there are. Not where they steal. */
	uint32_t share[CTL_MAX_MERGED];
	bool help_others;                /* CTL_HELP */
	bool times;                      /* CTL_TIMES */
	bool count;                      /* CTL_COUNT */
	uint32_t own;                    /* bit k: kernel k has a launch of its own, beside that of
					    all (below); not of all kernels */
	uint32_t chunk;                  /* 0: 1 */
	uint32_t chunks[CTL_MAX_MERGED]; /* of each kernel, instead; 0: chunk */
	uint32_t yield_every;            /* of each kernel's tickets; 0: never */
	uint32_t workers_per_sm;         /* at most; 0: as many as fit */
	uint32_t workers;                /* at most, on all SMs together; 0: as many as fit */
	/* DEV_WEAVE: a bound for the assembler, 0: none; long blocks stay whole; short regions keep
	 * their branches. */
	uint32_t registers;
	bool unsliced, branches;
};

/* Two grids under one set of control blocks. In a merged launch every worker has the registers and
 * shared memory of the hungriest kernel (KernelMerge, section 2.4). With 65,536 registers, 2,048
 * threads, 32 blocks, 16 barriers a block and 227 KiB of shared memory on an SM of sm_90, beside a
 * kernel of 128 registers and 256 threads that is two workers, 512 threads: a kernel of 32
 * registers and blocks of 64 has 2,048 alone. Several of its blocks in one worker, four here, would
 * fill those 512, a quarter of what it has alone: threads are not what lacks. Nor would they share
 * out shared memory that the other asks for. So a kernel may have a launch of its own, too: the
 * form that holds it alone, which takes tickets of the same control block. Its workers have its own
 * demands (and 160 bytes of shared memory more): as many fit as its blocks do alone, but for that.
 * They take the room that the merged launch leaves: SMs of its own (CTL_APART), where it has all of
 * its own occupancy; else the rest of each SM, and all of it when the others are done.
 *
 * What the merged launch leaves: with shares, kernels with a launch of their own get none of its
 * workers; where workers steal, it has as large a part of them as of the kernels, unless told how
 * many. */

/* How a launch is to be made, from that and what fits. */
struct dev_merge_plan {
	uint32_t per_sm;  /* workers that fit one SM */
	uint32_t workers; /* in a launch */
	struct ctl_merge merge;
	bool together[CTL_MAX_MERGED]; /* all its blocks are there at once, so that its quotas never
					  drop */
	struct dev_merge_own {         /* launches of their own; workers 0: none */
		uint32_t per_sm, workers;
		struct ctl_merge merge;
	} own[CTL_MAX_MERGED];
};

enum dev_merge_status {
	DEV_MERGE_OK,
	DEV_MERGE_NO_WORKER, /* no worker would keep to kernel *ret_which, and none helps */
	DEV_MERGE_ORDER,     /* blocks of *ret_which may all wait for each other: only stealing,
				from one launch, is sure to bring them there at once */
	DEV_MERGE_TOO_FEW, /* the same, and it has too many for so few workers, together with others
			      of that kind */
	DEV_MERGE_NO_HELP, /* CTL_APART: on the SMs of *ret_which there are its own workers alone */
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

/* Pure: nothing is launched. all: of the n kernels; own: by kernel, those of how->own (else not
 * looked at, or NULL); of both, form and per_sm. *ret says how many workers there would be in any
 * case; ret_blocks, with DEV_MERGE_TOO_FEW, how many it takes. */
enum dev_merge_status dev_merge_plan(const struct dev_merging *how,
	const struct dev_merge_part *all, const struct dev_merge_part *own, unsigned n,
	const struct dev_merge_shape *shapes, uint32_t n_sms, struct dev_merge_plan *ret,
	unsigned *ret_which, uint64_t *ret_blocks);

/* Device memory of merged launches that follow each other. */
struct dev_merged {
	CUdeviceptr turns, block[CTL_MAX_MERGED]; /* ctl_turns; control blocks */
	uint32_t gen[CTL_MAX_MERGED];
	CUevent began, ended;
	CUstream stream[CTL_MAX_MERGED]; /* of launches of their own, made when first wanted */
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
 * kernel each), as plan says: as planned with them. The rest of params is written here. Returns a
 * driver error, or CUDA_ERROR_UNKNOWN if a whole launch handed out no block (several in a
 * row, where it depends on SMs who takes which). */
CUresult dev_merged_run(const struct cu_api *cu, const struct dev_merge_part *all,
	const struct dev_merge_part *own, unsigned n, const struct dev_merge_shape *shapes,
	const struct dev_merging *how, const struct dev_merge_plan *plan, struct dev_merged *io,
	struct dev_merged_stats *ret);

/* The same for a form of pass_fuse_*: one launch, of as many blocks as the largest kernel has (in
 * x: at most INT32_MAX). Of the stats, launches and ms. */
CUresult dev_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret);
uint64_t dev_fused_blocks(unsigned n, const struct dev_merge_shape *shapes);

#endif
