/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block: what a managed kernel and its host agree on (design: mechanism 2).
 * Three structures: arguments by value (one appended parameter), a block in device memory that
 * resets itself, and a slot of host memory that one relay warp reads and workers report into.
 * Layouts are fixed: the preempt pass emits them as offsets, and processes of different builds
 * share struct ctl_host through the daemon. Bump CTL_VERSION with any change. */
#ifndef HEDDLE_CONTROL_H
#define HEDDLE_CONTROL_H

#include "ctl/args.h"
#include "ctl/words.h"

/* Life of a launch, device side (thread 0 of a block, the leader, does all this). What the daemon
 * makes of it is in sched/launch_state.h.
 *
 * enter: old = atom.add(state, 1). While one is counted the generation cannot change. If old's
 *   generation is not args.gen the launch is already over (a late helper): nothing but the exit
 *   rule. Else total and host are stored into the block, and rounds = max(args.round).
 *
 * relay: hardware block 0 of a launch with CTL_RELAY, if it wins CAS(relay, 0, 1). A block 0 that
 *   loses is a worker. Its first warp alone reads host->word, and once, at its start,
 *   tenant->word. As long as the launch has no word of its own (host->seq is 0) it obeys the
 *   tenant's, if that is not 0. Without any word it sets begun at once. A generation's first relay
 *   reports arrived, with the tenant's word that it obeys (began). At first, and on each change, it
 *   reads the quotas (unless the word says that they are the same on all SMs), writes block->quota,
 *   narrow, applied_seq (0 for the tenant's word) and begun, and reports progress (now and then
 *   without a change, too, and as it leaves).
 *   It leaves when ticket >= total or all quotas are 0: sets relay to 0, then looks at seq once
 *   more and tries to become relay again if it changed (so that a word written while it was leaving
 *   is not lost). And when it alone is counted, and some worker has left since it came (gone), or
 *   it has been alone for some milliseconds: sets relay to 0, then CAS state from what it saw to
 * one less, and goes on as the last to leave. If that fails somebody has come, and it tries to
 * become relay again. So no launch waits with a relay and without workers; it says that it has
 * drained, and the host, if it granted it, launches the next round, with a relay. Workers that come
 * between (late ones of an earlier round) hear no word until then.
 *
 * worker: with CTL_WAIT_WORD, waits until applied_seq has reached args.seq in this generation, or
 *   if that is 0, until begun. If applied_seq is past args.seq by then, with CTL_ONCE, the first
 *   such worker on each SM (once[%smid]) makes its first claim without a look at the quota: a
 *   launch that all had left gets something done for each word, however soon that is taken back.
 *   Everybody also waits for begun who found CTL_NARROW in state when entering: the launch before
 *   ended while it had less than the device, and what followed it in the queue would otherwise run
 *   on past a word that came a little too late for it.
 *   Once it is to claim it counts in workers[%smid], which the relay never does.
 *   At each claim: q = quota[%smid]; 0: leaves. If workers of its SM > q: old = atom.add(workers,
 *   -1), leaves when old > q, else atom.add(workers, 1). So, however many do that at once, as many
 *   leave as are too many. One that came between and saw too few stays a claim longer at most.
 *   Else t = atom.add(ticket, chunk), leaves when t >= total; runs what it claimed, all of it; then
 *   a barrier and atom.add(finished, blocks run). With CTL_PULL_AHEAD the next claim is made when
 *   the present one begins, except near the end of the grid (where the shrunk claim is one block).
 *   If yield_every != 0 and the claim reaches or crosses a multiple of it, the leader sets every
 *   quota to 0 after claiming.
 *
 * exit: after a barrier of its block, a fence: what the worker wrote is released before it is gone.
 *   Ahead of that it counts in workers no more, if it still did. Counts in gone; old =
 *   atom.add(state, -1).
 *
 * exit rule, for who brought the count to 0: total is 0: nothing is under way. finished < total: is
 *   counted again, and unless the generation is over counts in drains and reports drained, with
 *   rounds; then counts in told, takes itself off, and if that is the last one again, the exit
 *   rule once more: nothing, if nobody else has left (gone, told) since it looked at what it
 *   reported. So what is reported last is the latest, and the launch cannot complete, nor its slot
 *   be another's, while somebody has still to write there. finished is total: CAS state from {gen,
 * 0} to {gen + 1, 1}: being counted in the next generation keeps late helpers from counting to 0
 * meanwhile; with CTL_NARROW if narrow is 1. The winner resets ticket, finished, workers, quotas
 * (to CTL_NO_QUOTA), relay, total, host, applied_seq, drains, narrow, begun, rounds (to 0), takes
 * itself off the count, reports done to the host slot, fences at system scope and sets gate = gen
 * + 1.
 *
 * guard form (CTL_GUARD kernels): one hardware block, one ticket, real exits. A block leaves
 *   without a ticket unless least <= quota[%smid] <= least + more (args). It then counts in passed,
 *   so that the relay knows when all blocks of the grid have come and gone: the closer sets that
 *   back. None of them is counted in state, where late helpers of the launch before may still come
 *   and go. Launched as (total - ticket) blocks in x or more, one more with CTL_RELAY, at most 2^31
 * - 1; behind it on the same stream the closer (entry CTL_CLOSER, one thread, same args): when
 *   ticket >= total it enters, with all blocks finished, and exits; else it reports drained. To
 *   continue, the host launches the two again (same gen). Never two guard grids of one generation
 *   at once. CTL_WAIT_WORD and CTL_ONCE mean what they do for workers, CTL_NARROW nothing.
 *   The host pads the dynamic shared memory of a grid so that as many of its blocks fit on an SM
 *   as the quota says. Least and more are the quotas that this padding serves. A word with another
 *   quota therefore drains the launch, and the host launches the rest with another padding. A
 *   launch that cannot be padded has least 1 and more 254: each quota but 0 means all.
 *
 * Host side: generations on one block rise by one a launch; the stream waits for gate > gen. The
 * host's first word has seq 1, and a seq is never 0. A launch gets none before it has arrived: what
 * is queued costs nothing, and begins with its tenant's word. After quotas were raised, workers are
 * launched again, with CTL_WAIT_WORD, the seq that raised them (else they may meet the old quotas
 * and leave again), CTL_ONCE if nobody was left, and the next round. Workers too many leave by
 * themselves: a grid of workers may be as large as the device holds. */

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
