/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What one launch of a managed kernel is told (control.h). */
#ifndef HEDDLE_ARGS_H
#define HEDDLE_ARGS_H

#include <stdint.h>

/* Grids from this size on use 64-bit tickets, claimed one after another. */
#define CTL_TICKETS_32 0xf0000000ull

enum ctl_flags {
	CTL_RELAY = 1,      /* block 0 tries to become the relay */
	CTL_PULL_AHEAD = 2, /* claim the next chunk while this one runs */
	CTL_GUARD = 4,      /* guard form: one hardware block, one ticket, real exits */
	CTL_WAIT_WORD = 8,  /* look at no quota before the host's word args.seq is applied; seq 0:
			       before the relay has looked for a word at all */
	CTL_ONCE = 16,      /* one claim an SM though that word is withdrawn by then */
	CTL_UNSTEERED = 32, /* merged (merge.h): nobody lowers quotas while it runs, and no worker
			       looks at one */
	CTL_BY_CLAIMS = 64, /* with that: tickets are claims, and the next is made as the blocks of
			       the present one begin, except near the end of the grid */
};

/* By value, 8-byte aligned, behind the kernel's own parameters. What merged and fused forms alone
 * have (no tenant is looked at there):
 *   inverse   floor(2^32 / n) of the grid's x and y, at most 2^32 - 1; {0, 0}: there are
 *             CTL_TICKETS_32 blocks or more, whose numbers are not 32 bits
 *
 * With CTL_BY_CLAIMS the ticket counts claims, and which blocks a claim has is settled. The first
 * `even` of all `claims` have `chunk` blocks each: of 2^s claims that follow each other (the last
 * of these may be fewer), the first block of each comes first, then the second of each ..., as a
 * launch would hand them out. Behind them come 2^s claims of 2^(c-1) blocks, 2^s of half as many,
 * and so on, c times, and then single blocks. apart is s | c << 8 | c << 16; for a single worker
 * s | c << 8: none halve. */
struct ctl_args {
	uint64_t block;   /* device address of struct ctl_block */
	uint64_t host;    /* struct ctl_host as the device sees it; 0: none, no relay */
	uint64_t total;   /* blocks in the grid, > 0 */
	uint32_t grid[3]; /* the grid, in blocks */
	uint32_t gen;     /* this launch's generation on its control block */
	uint32_t chunk;   /* blocks a claim, at least 1 */
	uint32_t flags;   /* enum ctl_flags */
	union {
		uint32_t shrink; /* claims are at most (total - last ticket) >> shrink, at least 1;
				    choose 2^shrink >= 2 x workers; 0: never shrink */
		uint32_t claims;
		uint32_t least; /* CTL_GUARD: the smallest quota that the grid's blocks obey */
	};
	uint32_t yield_every;    /* tickets after which all quotas drop to 0; 0: never */
	union {                  /* the second of each: merged */
		uint64_t tenant; /* struct ctl_tenant as the device sees it; 0: none */
		uint32_t inverse[2];
	};
	union {
		uint32_t seq; /* CTL_WAIT_WORD: the word to wait for; 0: whatever is read first */
		uint32_t apart;
	};
	uint32_t round; /* 0: the launch itself; 1, 2 ...: workers launched again for it */
	uint32_t never; /* 0, which the assembler must not know (tails.c) */
	union {
		uint32_t even;
		uint32_t more; /* CTL_GUARD: quotas above least that they obey as well */
	};
};

_Static_assert(sizeof(struct ctl_args) == 80, "emitted as offsets; hd_closer has it as a number");

#endif
