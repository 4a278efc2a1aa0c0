/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What merged launches and their host share (KernelMerge, section 2): kernels of one launch, each
 * with arguments and a control block of its own (control.h), and the order in which workers take
 * blocks. */
#ifndef HEDDLE_CTL_MERGE_H
#define HEDDLE_CTL_MERGE_H

#include <stdbool.h>

#include "ctl/control.h"

#define CTL_MAX_MERGED  8
#define CTL_MERGE_ENTRY "hd_merged" /* the entry's name */

/* Which kernel a worker takes its next blocks from. */
enum ctl_order {
	/* By turns: each worker takes blocks of one kernel after those of another, and begins with
	 * any; a kernel's own ticket says which. A kernel without tickets left is passed over. */
	CTL_STEAL,
	/* Each worker has a kernel, and leaves when that has no tickets left (figure 3b). */
	CTL_PARTITION,
	/* The same, by the order in which workers came to their SM: each SM has all kinds. */
	CTL_MIXED,
	/* The same, by SM: each kernel has SMs of its own (what section 2.5 wishes for). */
	CTL_APART,
	/* By turns, as in section 2.2 and figure 3a: all share one queue, in which the kernels take
	 * turns. A word that all draw from says whose turn it is, that kernel's ticket which block:
	 * two ways to memory for each claim, one behind the other, and nothing is claimed ahead. */
	CTL_STEAL_SHARED,
};
static inline bool ctl_steals(enum ctl_order order)
{
	return order == CTL_STEAL || order == CTL_STEAL_SHARED;
}
enum ctl_merge_flags {
	CTL_HELP = 1,  /* who has a kernel takes blocks of the others once it has no tickets left */
	CTL_TIMES = 2, /* struct ctl_turns.of is filled, but for what CTL_COUNT fills */
	CTL_COUNT = 4, /* now and most of it are */
};

/* By value, 8-byte aligned, behind the constituents' struct ctl_args. */
struct ctl_merge {
	uint64_t turns; /* struct ctl_turns as the device sees it */
	uint32_t order; /* enum ctl_order */
	uint32_t flags;
	/* Number i belongs to the first kernel k with (i + shift) modulo of < upto[k]; a worker
	 * whose number belongs to none leaves. i is the worker's number times stride, both modulo
	 * the workers there are; its number on its SM; or the SM. */
	uint32_t upto[CTL_MAX_MERGED];
	uint32_t stride; /* CTL_PARTITION: without a common divisor with the number of workers, so
			    that neighbours differ */
	uint32_t of, shift;
	uint32_t pad;
};

/* Device memory, 8-byte aligned; zeroed ahead of each launch, but for began_ns: UINT64_MAX. */
struct ctl_turns {
	uint32_t next; /* CTL_STEAL_SHARED: whose turn it is */
	uint32_t pad;
	struct ctl_times {
		uint64_t began_ns, ended_ns; /* %globaltimer: first block claimed, last one run */
		uint64_t busy_ns;            /* of all workers together, from claim to the next */
		uint32_t now, most;          /* workers with blocks of it */
	} of[CTL_MAX_MERGED];
	uint32_t on_sm[CTL_MAX_SMS]; /* workers that have come */
};
_Static_assert(sizeof(struct ctl_merge) == 64, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, of) == 8, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, on_sm) == 8 + 32 * CTL_MAX_MERGED, "emitted as offsets");

#endif
