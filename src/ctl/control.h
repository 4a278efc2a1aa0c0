/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block: the interface between a managed kernel and its host (doc/protocol.md). It
 * consists of three structures:
 * - arguments, which the launch passes by value as one additional parameter
 * - a block in device memory, which the kernel resets at its end
 * - a slot of host memory, from which one relay warp reads quotas and in which workers report
 *
 * The layouts are fixed, because the preempt pass emits them as offsets, and because processes of
 * different builds share struct ctl_host through heddled. Raise CTL_VERSION with any change. */
#ifndef HEDDLE_CONTROL_H
#define HEDDLE_CONTROL_H

#include "ctl/args.h"
#include "ctl/words.h"

/* doc/protocol.md describes the protocol in tables: what a hardware block does when it enters, as
 * the relay, as a worker, and when it exits; the exit rule; the guard form; and what the host does.
 * Change those tables together with this file. sched/engine/launch_state.h has heddled's view of a
 * launch. */

#define CTL_VERSION 9
#define CTL_NARROW  (1u << 31)
#define CTL_PARAM   "hd_args"   /* name of the parameter that the passes append */
#define CTL_CLOSER  "hd_closer" /* entry that runs after guard grids; see pass_closer_ptx */

/* The control block in device memory, 128-byte aligned. When the host allocates it, the host fills
 * it with 0 and the quotas with CTL_NO_QUOTA. A host that waits for each launch (host/managed.h)
 * can also write to it between launches. */
struct ctl_block {
	uint64_t ticket; /* next ticket to claim; may exceed `total` */
	uint64_t pad0[15];
	/* number of blocks that have run. Exact once the count of workers in `state` is 0; then the
	 * stores of these blocks are visible as well */
	uint64_t finished;
	uint64_t pad1[15];
	/* generation << 32 | CTL_NARROW | number of workers that run now, including the relay.
	 * CTL_NARROW is set if `narrow` was 1 when the previous generation ended */
	uint64_t state;
	uint64_t total, host; /* total blocks and host slot of the present generation */
	uint64_t gone;        /* workers that have exited, summed over all generations */
	uint32_t relay;       /* 1 while a warp acts as the relay */
	uint32_t applied_seq; /* ctl_host.seq last applied in this generation; 0: none */
	/* generation of the next launch; work that follows launch g in its stream waits until this
	 * exceeds g */
	uint32_t gate;
	uint32_t drains;      /* number of drains in the present generation */
	uint32_t passed;      /* blocks of a guard grid that exited without a ticket */
	uint32_t drained_seq; /* greatest applied_seq with which this generation drained */
	uint32_t narrow;      /* 1 if the last update has a quota below CTL_NO_QUOTA */
	/* 1: the relay has applied the first quota update of this generation, or has found that
	 * heddled has not stored one yet */
	uint32_t begun;
	/* greatest args.round of all workers that have entered in this generation */
	uint32_t rounds;
	/* number of workers that reported a drain and then exited, in all generations */
	uint32_t told;
	uint32_t pad2[14];
	uint32_t quota[CTL_MAX_SMS];
	uint32_t workers[CTL_MAX_SMS]; /* workers of the present generation on each SM */
	/* for each SM: generation and quota word of the last CTL_ONCE claim */
	uint32_t once[CTL_MAX_SMS];
};

_Static_assert(sizeof(struct ctl_block) == 384 + 12 * CTL_MAX_SMS, "emitted as offsets");

#endif
