/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The arguments of one launch of a managed kernel. See control.h. */
#ifndef HEDDLE_ARGS_H
#define HEDDLE_ARGS_H

#include <stdint.h>

/* Grids of this size or larger use 64-bit tickets, claimed one at a time. */
#define CTL_TICKETS_32 0xf0000000ull

enum ctl_flags {
	CTL_RELAY = 1,      /* block 0 tries to become the relay */
	CTL_PULL_AHEAD = 2, /* claim the next chunk before the present one has finished */
	/* guard form: each hardware block claims one ticket, and its threads really exit */
	CTL_GUARD = 4,
	/* Workers wait until the relay has applied the quota update with number args.seq. If
	 * args.seq is 0, they wait until the relay has tried to read an update. */
	CTL_WAIT_WORD = 8,
	/* For a launch with CTL_WAIT_WORD: if heddled has meanwhile stored quotas with a newer
	 * sequence number than args.seq, the first worker on each SM makes its first claim all the
	 * same, without reading the quota. So the launch makes progress with each grant, however
	 * soon heddled revokes it. */
	CTL_ONCE = 16,
	/* Merged launches (merge.h): quotas never fall while the launch runs, so workers do not
	 * read them. */
	CTL_UNSTEERED = 32,
	/* Used with CTL_UNSTEERED: tickets count claims, not blocks. A worker makes its next claim
	 * when the blocks of its present claim begin, except near the end of the grid. */
	CTL_BY_CLAIMS = 64,
};

/* The arguments of a launch, passed by value after the kernel's own parameters, 8-byte aligned.
 *
 * Only merged and fused forms, which read no quotas of a tenant, have `inverse`. It contains
 * floor(2^32 / n) for the grid's x and y, at most 2^32 - 1. It is {0, 0} if the grid has
 * CTL_TICKETS_32 blocks or more, because tickets are then 64-bit numbers.
 *
 * With CTL_BY_CLAIMS the ticket counts claims, and the number of a claim determines its blocks. The
 * claims have these sizes, in this order (s and c are parts of `apart`):
 *
 *     claims     blocks in each
 *     even       chunk
 *     2^s        2^(c-1)
 *     2^s        2^(c-2), and so on: c sizes, down to 1
 *     the rest   1
 *
 * The field `claims` is the number of all claims. Successive claims of one size form groups of 2^s
 * claims; the last group of the first size may be smaller. The blocks of a group are interleaved.
 * For example, if s is 2, the first claim of a group has blocks 0, 4, 8 ... of the group, and the
 * second claim has blocks 1, 5, 9 ....
 *
 * The field `apart` consists of:
 * - bits 0 to 7: s
 * - bits 8 to 15: c
 * - bits 16 to 23: c again, or 0 for a single worker, which has no claims of the smaller sizes */
struct ctl_args {
	uint64_t block;   /* device address of struct ctl_block */
	uint64_t host;    /* device's view of struct ctl_host; 0: none, and no relay */
	uint64_t total;   /* number of blocks in the grid, at least 1 */
	uint32_t grid[3]; /* grid dimensions in blocks */
	uint32_t gen;     /* this launch's generation on its control block */
	uint32_t chunk;   /* blocks per claim, at least 1 */
	uint32_t flags;   /* enum ctl_flags */
	union {
		/* A claim has at most (total - t) >> shrink blocks, and at least 1; t is the
		 * worker's last ticket. Choose 2^shrink >= 2 x workers. 0: claims never shrink. */
		uint32_t shrink;
		uint32_t claims;
		uint32_t least; /* CTL_GUARD: smallest quota that limits the grid's blocks */
	};
	uint32_t yield_every;    /* all quotas drop to 0 after this many tickets; 0: never */
	union {                  /* only merged launches have `inverse` */
		uint64_t tenant; /* device's view of struct ctl_tenant; 0: none */
		uint32_t inverse[2];
	};
	union {
		/* CTL_WAIT_WORD: number of the quota update to wait for; 0: the first update that
		 * the relay reads */
		uint32_t seq;
		uint32_t apart;
	};
	/* 0: the original launch; 1, 2 ...: a later grid of workers for the same launch */
	uint32_t round;
	uint32_t never; /* always 0, but the assembler must not know this (emit_tails.c) */
	union {
		uint32_t even;
		/* CTL_GUARD: the quotas from `least` to `least + more` limit the grid's blocks */
		uint32_t more;
	};
};

_Static_assert(sizeof(struct ctl_args) == 80, "emitted as offsets; hd_closer has it as a number");

#endif
