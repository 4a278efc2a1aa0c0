/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface between merged launches and their host (KernelMerge, section 2). A merged launch
 * has several kernels, each with its own arguments and control block (control.h), and an order
 * in which workers take blocks. */
#ifndef HEDDLE_CTL_MERGE_H
#define HEDDLE_CTL_MERGE_H

#include <stdbool.h>

#include "ctl/control.h"

#define CTL_MAX_MERGED  8
#define CTL_MERGE_ENTRY "hd_merged" /* name of the entry */

/* How a worker chooses the kernel of its next blocks. */
enum ctl_order {
	/* In turns: each worker takes blocks of one kernel after those of another, and may begin
	 * with any. The kernel's own ticket selects the blocks. Workers skip a kernel without
	 * tickets. */
	CTL_STEAL,
	/* Each worker has a kernel, and leaves when that kernel has no tickets left (figure 3b). */
	CTL_PARTITION,
	/* The same, but workers get kernels in the order in which they come to their SM, so each
	 * SM has all kernels. */
	CTL_MIXED,
	/* The same, but by SM: each kernel has its own SMs (proposed in section 2.5). */
	CTL_APART,
	/* In turns, as in section 2.2 and figure 3a: all workers share one queue in which the
	 * kernels take turns. A shared word selects the kernel, and the kernel's ticket the
	 * block. Each claim takes two consecutive memory round trips, and nothing is claimed in
	 * advance. */
	CTL_STEAL_SHARED,
};
static inline bool ctl_steals(enum ctl_order order)
{
	return order == CTL_STEAL || order == CTL_STEAL_SHARED;
}
enum ctl_merge_flags {
	CTL_HELP = 1,  /* a worker whose kernel has no tickets left takes blocks of the others */
	CTL_TIMES = 2, /* struct ctl_turns.of is filled, except for the fields of CTL_COUNT */
	CTL_COUNT = 4, /* `now` and `most` are filled */
};

/* Passed by value, 8-byte aligned, after the constituents' struct ctl_args. */
struct ctl_merge {
	uint64_t turns; /* device address of struct ctl_turns */
	uint32_t order; /* enum ctl_order */
	uint32_t flags;
	/* Number i belongs to the first kernel k with (i + shift) modulo of < upto[k]. A worker
	 * whose number belongs to no kernel leaves. i is, by order: the worker's number times
	 * stride, modulo the number of workers; its number on its SM; or the SM. */
	uint32_t upto[CTL_MAX_MERGED];
	/* CTL_PARTITION: has no common divisor with the number of workers, so that neighbours
	 * get different kernels */
	uint32_t stride;
	uint32_t of, shift;
	uint32_t pad;
};

/* Device memory, 8-byte aligned; zeroed before each launch, except began_ns: UINT64_MAX. */
struct ctl_turns {
	uint32_t next; /* CTL_STEAL_SHARED: selects the kernel of the next claim */
	uint32_t pad;
	struct ctl_times {
		/* %globaltimer: when the first block was claimed, and when the last one had run */
		uint64_t began_ns, ended_ns;
		/* of all workers together, from each claim to the next */
		uint64_t busy_ns;
		uint32_t now, most; /* workers that have blocks of it */
	} of[CTL_MAX_MERGED];
	uint32_t on_sm[CTL_MAX_SMS]; /* workers that have come to this SM */
};
_Static_assert(sizeof(struct ctl_merge) == 64, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, of) == 8, "emitted as offsets");
_Static_assert(offsetof(struct ctl_turns, on_sm) == 8 + 32 * CTL_MAX_MERGED, "emitted as offsets");

#endif
