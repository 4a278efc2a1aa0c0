/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block: what a managed kernel and its host agree on (design: mechanism 2).
 * Three structures: arguments by value (one appended parameter), a block in device memory that
 * resets itself, and a slot of host memory that one relay warp reads and workers report into.
 * Layouts are fixed: the preempt pass emits them as offsets, and processes of different builds
 * share struct ctl_host through the daemon. Bump CTL_VERSION with any change. */
#ifndef HEDDLE_CONTROL_H
#define HEDDLE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

/* Life of a launch, device side (thread 0 of a block, the leader, does all this).
 *
 * enter: store total and host into the block; old = atom.add(state, 1). If old's generation is not
 *   args.gen the launch is already over (a late helper): atom.add(state, -1) with the exit rule.
 *
 * relay: hardware block 0 of a launch with CTL_RELAY, if it wins CAS(relay, 0, 1). Its first warp
 *   alone reads host->seq; on a change it reads host->quota, writes block->quota,
 *   stores applied_seq and reports progress. It leaves when ticket >= total or all quotas are 0:
 *   sets relay to 0, then looks at seq once more and tries to become relay again if it changed (so
 *   that a word written while it was leaving is not lost). A block 0 that loses is a worker.
 *
 * worker: claims the lowest free bit of ranks[%smid]. At each ticket: q = quota[%smid]; leaves when
 *   rank >= q; else t = atom.add(ticket, chunk), leaves when t >= total; runs what it claimed, all
 *   of it; then barrier, fence, atom.add(finished, blocks run). With CTL_PULL_AHEAD the next claim
 *   is made while the present one runs. If yield_every != 0 and the claim reaches or crosses a
 *   multiple of it, the leader sets every quota to 0 after claiming.
 *
 * exit: gives the rank back, last_exit_ns = max(%globaltimer); old = atom.add(state, -1). Who
 *   brought the count to 0: if finished == total, CAS state from {gen, 0} to {gen + 1, 0}; the
 *   winner resets ticket, finished, ranks, quotas (to CTL_NO_QUOTA), relay, total, reports done
 *   to the host slot, fences at system scope and sets gate = gen + 1. If not finished: reports
 *   drained.
 *
 * Host side: generations on one block rise by one a launch; the stream waits for gate > gen. */

#define CTL_VERSION  1
#define CTL_MAX_SMS  256
#define CTL_NO_QUOTA 255u      /* no block count per SM reaches it */
#define CTL_PARAM    "hd_args" /* name of the appended parameter */

enum ctl_flags {
	CTL_RELAY = 1,      /* block 0 tries to become the relay */
	CTL_PULL_AHEAD = 2, /* claim the next chunk while this one runs */
	CTL_GUARD = 4,      /* guard form: one hardware block, one ticket, real exits */
};

/* By value, 8-byte aligned, behind the kernel's own parameters. */
struct ctl_args {
	uint64_t block;       /* device address of struct ctl_block */
	uint64_t host;        /* struct ctl_host as the device sees it; 0: none, no relay */
	uint64_t total;       /* blocks in the grid, > 0 */
	uint32_t grid[3];     /* the grid, in blocks */
	uint32_t gen;         /* this launch's generation on its control block */
	uint32_t chunk;       /* blocks a claim, at least 1 */
	uint32_t flags;       /* enum ctl_flags */
	uint32_t shrink;      /* claims are at most (total - last ticket) >> shrink, at least 1;
				 choose 2^shrink >= 2 x workers; 0: never shrink */
	uint32_t yield_every; /* tickets after which all quotas drop to 0; 0: never */
	uint64_t user;        /* for passes built on this one; 0 */
};

/* Device memory, 128-byte aligned. Zeroed once when allocated, quotas set to CTL_NO_QUOTA. */
struct ctl_block {
	uint64_t ticket; /* next block to hand out; may pass total */
	uint64_t pad0[15];
	uint64_t finished; /* blocks whose effects are visible device-wide */
	uint64_t pad1[15];
	uint64_t state;        /* generation << 32 | workers (and relay) present */
	uint64_t total, host;  /* of the present generation */
	uint64_t last_exit_ns; /* %globaltimer */
	uint32_t relay;        /* 1: a warp reads the host's word */
	uint32_t applied_seq;  /* ctl_host.seq last applied */
	uint32_t gate;         /* generation the next launch may have; streams wait on it */
	uint32_t pad2[21];
	uint32_t quota[CTL_MAX_SMS];
	uint32_t ranks[CTL_MAX_SMS]; /* bit r: rank r is taken on this SM */
};

/* Pinned host memory shared by tenant, daemon and device; 128-byte aligned. Each side writes only
 * its own lines. */
struct ctl_host {
	/* host -> device. Write quota, then seq (release). */
	uint32_t seq;
	uint32_t pad0;
	uint64_t store_ns; /* CLOCK_MONOTONIC of the last store, for measuring */
	uint32_t pad1[28];
	uint8_t quota[CTL_MAX_SMS]; /* workers per SM; CTL_NO_QUOTA: no bound */
	/* device -> host; gen-valued fields say which launch they speak of. */
	uint32_t arrived;     /* gen + 1, once the first relay or worker ran */
	uint32_t done;        /* gen + 1, when every block has finished and all workers left */
	uint32_t drained_seq; /* applied_seq when the last worker left with blocks unfinished */
	uint32_t drains;      /* how often that happened in this launch */
	uint64_t ticket, finished;
	uint64_t arrived_ns, seen_ns, drained_ns, done_ns; /* %globaltimer; seen: last seq change */
	uint64_t pad2[8];
};

_Static_assert(sizeof(struct ctl_args) == 64, "emitted as offsets");
_Static_assert(sizeof(struct ctl_block) == 384 + 8 * CTL_MAX_SMS, "emitted as offsets");
_Static_assert(sizeof(struct ctl_host) == 256 + CTL_MAX_SMS, "emitted as offsets");

#endif
