/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block: what a managed kernel and its host agree on (doc/protocol.md).
 * Three structures: arguments by value (one appended parameter), a block in device memory that
 * resets itself, and a slot of host memory that one relay warp reads and workers report into.
 * Layouts are fixed: the preempt pass emits them as offsets, and processes of different builds
 * share struct ctl_host through the daemon. Bump CTL_VERSION with any change. */
#ifndef HEDDLE_CONTROL_H
#define HEDDLE_CONTROL_H

#include "ctl/args.h"
#include "ctl/words.h"

/* doc/protocol.md has the tables of the protocol: what a hardware block does as it enters, as the
 * relay, as a worker and as it exits, the exit rule, the guard form, and what the host does. Change
 * them together with this file. sched/launch_state.h has the daemon's view of a launch. */

#define CTL_VERSION 9
#define CTL_NARROW  (1u << 31)
#define CTL_PARAM   "hd_args"   /* name of the appended parameter */
#define CTL_CLOSER  "hd_closer" /* entry behind guard grids: pass_closer_ptx */

/* Device memory, 128-byte aligned. Zeroed once when allocated, quotas set to CTL_NO_QUOTA. */
struct ctl_block {
	uint64_t ticket; /* next block to hand out; may pass total */
	uint64_t pad0[15];
	uint64_t finished; /* blocks that have run; exact, and their effects visible, once state's
			      count is 0 */
	uint64_t pad1[15];
	uint64_t state;       /* generation << 32 | CTL_NARROW | workers (and relay) present */
	uint64_t total, host; /* of the present generation */
	uint64_t gone;        /* workers that have left, of all generations */
	uint32_t relay;       /* 1: a warp reads the host's word */
	uint32_t applied_seq; /* ctl_host.seq last applied in this generation; 0: none */
	uint32_t gate;        /* generation the next launch may have; streams wait on it */
	uint32_t drains;      /* of the present generation */
	uint32_t passed;      /* blocks of a guard grid that left without a ticket */
	uint32_t drained_seq; /* the greatest applied_seq at which the generation drained */
	uint32_t narrow;      /* 1: some quota of the last word is less than CTL_NO_QUOTA */
	uint32_t begun;       /* 1: this generation's first word, if there is any, is applied */
	uint32_t rounds;      /* the greatest args.round of those that came in this generation */
	uint32_t told;        /* who reported drained and left again, of all generations */
	uint32_t pad2[14];
	uint32_t quota[CTL_MAX_SMS];
	uint32_t workers[CTL_MAX_SMS]; /* of the present generation on this SM */
	uint32_t once[CTL_MAX_SMS]; /* generation and word of the last claim for CTL_ONCE there */
};

_Static_assert(sizeof(struct ctl_block) == 384 + 12 * CTL_MAX_SMS, "emitted as offsets");

#endif
