/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface between merged launches and their host (KernelMerge, section 2). A merged launch
 * runs several kernels, each with its own arguments and control block (control.h). Its order (enum
 * ctl_order) determines from which kernel a worker claims blocks. */
#ifndef HEDDLE_CTL_MERGE_H
#define HEDDLE_CTL_MERGE_H

#include <stdbool.h>

#include "ctl/control.h"

#define CTL_MAX_MERGED  8
#define CTL_MERGE_ENTRY "hd_merged" /* name of the entry */

/* Rules by which a worker chooses the kernel of its next blocks. */
enum ctl_order {
	/* Each worker claims blocks of all kernels alternately, and may begin with any kernel. The
	 * kernel's own ticket selects the blocks. Workers skip a kernel without tickets. */
	CTL_STEAL,
	/* Each worker serves one kernel, and exits when that kernel has no tickets left
	 * (KernelMerge, figure 3b). */
	CTL_PARTITION,
	/* Each worker serves one kernel, as with CTL_PARTITION. The order in which workers start on
	 * an SM determines their kernels, so each SM runs all kernels. */
	CTL_MIXED,
	/* Each worker serves the kernel that owns its SM (proposed in KernelMerge, section 2.5). */
	CTL_APART,
	/* All workers share one queue, in which the kernels alternate (KernelMerge, section 2.2 and
	 * figure 3a). A shared counter selects the kernel, and then the kernel's ticket selects the
	 * block. So each claim takes two consecutive memory round trips, and nothing is claimed in
	 * advance. */
	CTL_STEAL_SHARED,
};
static inline bool ctl_steals(enum ctl_order order)
{
	return order == CTL_STEAL || order == CTL_STEAL_SHARED;
}
enum ctl_merge_flags {
	/* a worker whose kernel has no tickets left claims blocks of the other kernels */
	CTL_HELP = 1,
	/* the launch fills struct ctl_turns.of, except for the fields of CTL_COUNT */
	CTL_TIMES = 2,
	CTL_COUNT = 4, /* the launch also fills `now` and `most` */
};

/* The arguments of a merged launch, passed by value after struct ctl_args of all its kernels,
 * 8-byte aligned. */
struct ctl_merge {
	uint64_t turns; /* device address of struct ctl_turns */
	uint32_t order; /* enum ctl_order */
	uint32_t flags;
	/* Assigns workers to kernels. A worker with number i serves the first kernel k for which
	 *     (i + shift) % of < upto[k]
	 * is true. If there is none, the worker exits. The number i is:
	 * - CTL_PARTITION: the worker's index times stride, modulo the number of workers
	 * - CTL_MIXED: the worker's index on its SM
	 * - CTL_APART: the index of the SM */
	uint32_t upto[CTL_MAX_MERGED];
	/* CTL_PARTITION: coprime to the number of workers, so that neighbouring workers serve
	 * different kernels */
	uint32_t stride;
	uint32_t of, shift;
	uint32_t pad;
};

/* Results and counters of a merged launch, in device memory, 8-byte aligned. The host fills it with
 * 0 before each launch, except began_ns, which it sets to UINT64_MAX. */
struct ctl_turns {
	/* CTL_STEAL_SHARED: shared counter that selects the kernel of the next claim */
	uint32_t next;
	uint32_t pad;
	struct ctl_times {
		/* %globaltimer when the first block was claimed, and when the last block had run */
		uint64_t began_ns, ended_ns;
		/* time from each claim to the next, summed over all workers */
		uint64_t busy_ns;
		/* workers that have blocks of the kernel: now, and at most so far */
		uint32_t now, most;
	} of[CTL_MAX_MERGED];
	uint32_t on_sm[CTL_MAX_SMS]; /* number of workers that have started on each SM */
};
_Static_assert(sizeof(struct ctl_merge) == 64, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, of) == 8, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, on_sm) == 8 + 32 * CTL_MAX_MERGED, "emitted as offsets");

#endif
