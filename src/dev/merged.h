/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The host side of merged launches (pass/merge.h; KernelMerge, section 2) for a program that has
 * the device to itself. One launch at a time, waited for. */
#ifndef HEDDLE_MERGED_H
#define HEDDLE_MERGED_H

#include "dev/managed.h"
#include "pass/merge.h"

/* What the user chose. */
struct dev_merging {
	enum ctl_order order;
	/* Shares of the workers (of the SMs: CTL_APART) that keep to each kernel, from 1; in all as
	 * many as there are. Not for CTL_STEAL. */
	uint32_t share[CTL_MAX_MERGED];
	bool help_others;                /* CTL_HELP */
	bool times;                      /* CTL_TIMES */
	uint32_t chunk;                  /* 0: 1 */
	uint32_t chunks[CTL_MAX_MERGED]; /* of each kernel, instead; 0: chunk */
	uint32_t yield_every;            /* of each kernel's tickets; 0: never */
	uint32_t workers_per_sm;         /* at most; 0: as many as fit */
	uint32_t workers;                /* at most, on all SMs together; 0: as many as fit */
	/* DEV_WEAVE: a bound for the assembler, 0: none; long blocks stay whole. */
	uint32_t registers;
	bool unsliced;
};

/* How a launch is to be made, from that and what fits. */
struct dev_merge_plan {
	uint32_t per_sm;  /* workers that fit one SM */
	uint32_t workers; /* in a launch */
	struct ctl_merge merge;
	bool together[CTL_MAX_MERGED]; /* all its blocks are there at once, so that its quotas never
					  drop */
};

enum dev_merge_status {
	DEV_MERGE_OK,
	DEV_MERGE_NO_WORKER, /* no worker would keep to kernel *ret_which, and none helps */
	DEV_MERGE_ORDER,     /* blocks of *ret_which may all wait for each other: only CTL_STEAL is
				sure to bring them there at once */
	DEV_MERGE_TOO_FEW, /* the same, and it has too many for so few workers, together with others
			      of that kind */
};

struct dev_merge_shape {
	struct dev_shape shape; /* as the kernel is launched alone */
	bool fits;              /* alone, all of its blocks are on the device at once */
};

/* Pure: nothing is launched. per_sm: workers that fit one of n_sms SMs. *ret says how many workers
 * there would be in any case; ret_blocks, with DEV_MERGE_TOO_FEW, how many it takes. */
enum dev_merge_status dev_merge_plan(const struct dev_merging *how, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, uint32_t per_sm, uint32_t n_sms,
	struct dev_merge_plan *ret, unsigned *ret_which, uint64_t *ret_blocks);

/* Device memory of merged launches that follow each other. */
struct dev_merged {
	CUdeviceptr turns, block[CTL_MAX_MERGED]; /* ctl_turns; control blocks */
	uint32_t gen[CTL_MAX_MERGED];
	CUevent began, ended;
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

/* Runs fn (made by pass_merge, form says how) to the end of all its kernels. params: form's
 * parameter buffer with the kernels' own parameters in place; the rest is written here.
 * Returns a driver error, or CUDA_ERROR_UNKNOWN if a whole launch handed out no block (several in a
 * row, where it depends on SMs who takes which). */
CUresult dev_merged_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, const struct dev_merging *how,
	const struct dev_merge_plan *plan, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret);

/* The same for a form of pass_fuse_*: one launch, of as many blocks as the largest kernel has (in
 * x: at most INT32_MAX). Of the stats, launches and ms. */
CUresult dev_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret);
uint64_t dev_fused_blocks(unsigned n, const struct dev_merge_shape *shapes);

#endif
