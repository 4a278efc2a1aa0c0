/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block: the interface between a managed kernel and its host (doc/protocol.md). It
 * has three structures: arguments by value (one appended parameter), a block in device memory
 * that resets itself, and a slot of host memory that one relay warp reads and workers report
 * into. Layouts are fixed: the preempt pass emits them as offsets, and processes of different
 * builds share struct ctl_host through the daemon. Raise CTL_VERSION with any change. */
#ifndef HEDDLE_CONTROL_H
#define HEDDLE_CONTROL_H

#include "ctl/args.h"
#include "ctl/words.h"

/* doc/protocol.md has the tables of the protocol: the actions of a hardware block as it enters,
 * as the relay, as a worker and as it exits; the exit rule; the guard form; and the actions of
 * the host. Change them together with this file. sched/launch_state.h has the daemon's view of a
 * launch. */

#define CTL_VERSION 9
#define CTL_NARROW  (1u << 31)
#define CTL_PARAM   "hd_args"   /* name of the appended parameter */
#define CTL_CLOSER  "hd_closer" /* entry that runs after guard grids: pass_closer_ptx */

/* Device memory, 128-byte aligned. Zeroed once when allocated, with quotas set to CTL_NO_QUOTA. */
struct ctl_block {
	uint64_t ticket; /* the next block to claim; may exceed total */
	uint64_t pad0[15];
	/* blocks that have run; exact once the count in state is 0, and their effects are
	 * visible then */
	uint64_t finished;
	uint64_t pad1[15];
	/* generation << 32 | CTL_NARROW | present workers, including the relay */
	uint64_t state;
	uint64_t total, host; /* total blocks and host slot of the present generation */
	uint64_t gone;        /* workers that have left, in all generations */
	uint32_t relay;       /* 1: a warp reads the host's word */
	uint32_t applied_seq; /* ctl_host.seq last applied in this generation; 0: none */
	/* the generation that the next launch may have; streams wait for it */
	uint32_t gate;
	uint32_t drains;      /* of the present generation */
	uint32_t passed;      /* blocks of a guard grid that left without a ticket */
	uint32_t drained_seq; /* the greatest applied_seq when the generation drained */
	uint32_t narrow;      /* 1: some quota of the last word is less than CTL_NO_QUOTA */
	uint32_t begun;       /* 1: the first word of this generation is applied, if there is one */
	/* the greatest args.round of the workers that came in this generation */
	uint32_t rounds;
	uint32_t told; /* workers that reported a drain and have left, in all generations */
	uint32_t pad2[14];
	uint32_t quota[CTL_MAX_SMS];
	uint32_t workers[CTL_MAX_SMS]; /* workers of the present generation on this SM */
	uint32_t once[CTL_MAX_SMS]; /* generation and word of the last CTL_ONCE claim on this SM */
};

_Static_assert(sizeof(struct ctl_block) == 384 + 12 * CTL_MAX_SMS, "emitted as offsets");

#endif
