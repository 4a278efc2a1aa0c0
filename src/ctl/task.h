/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels as tasks of a kernel that stays (Pagoda): what it and hosts tell each
 * other. A column is one of its blocks: warp 0 schedules, the others execute. A row of a column
 * holds a task from when it is spawned until its end is seen.
 *
 * Every word has one writer at a time, and each line of host memory one poller, the column's
 * scheduler. in[r] == out[r]: the row is the host's. The host fills desc[r], and stores in[r], one
 * more, with release. The scheduler reads in[] at once, a byte a lane, and, where some changed,
 * fences and reads their rows. The last warp of the task's last block fences and stores out[r]:
 * from then on the row is the host's again. That is what the paper's four states, its chained task
 * ids and its flush of the last task are for: there a copy had no order within (section 4.2).
 *
 * A launch of the master kernel may end at any time (parking). Only in, out and next outlast it:
 * the next launch finds again each row that this one had seen and not begun. Several launches may
 * run at once, each with columns of its own. The last store of a column says that it has left
 * (`launch`); only then may another launch bring it. */
#ifndef HEDDLE_CTL_TASK_H
#define HEDDLE_CTL_TASK_H

#include <stddef.h>
#include <stdint.h>

#define TASK_ENTRY "hd_tasks" /* the entry's name */
#define TASK_ROWS  31
#define TASK_UNIT  512u /* bytes of shared memory that are given out at a time */
#define TASK_ARGS  40u  /* bytes of parameters in the row itself */
#define TASK_KINDS 32   /* in one module */

struct task_desc {
	uint16_t kind, arg_bytes;
	uint32_t block; /* x - 1 | (y - 1) << 10 | (z - 1) << 20 */
	uint32_t grid_x;
	uint16_t grid_y, grid_z;
	uint32_t dynamic_bytes;
	uint32_t need; /* TASK_NEED_* */
	uint8_t args[TASK_ARGS];
};
enum task_need {
	TASK_NEED_SHARED = 0xff, /* 0: none; else 1 + the logarithm of its units: a power of two */
	TASK_NEED_BARRIER = 0x100, /* a barrier's number */
	TASK_NEED_MORE = 0x200,    /* its parameters are behind the columns */
	/* Its blocks are cut in equal parts, the last one shorter, and the row has one of them. */
	TASK_NEED_PART = 10,  /* 11 bits: which */
	TASK_NEED_PARTS = 21, /* and of how many; 0: it has all */
};
#define TASK_PARTS_MAX 2047u

/* in[31], which the host alone writes; a byte. */
enum task_control {
	TASK_PARK = 1, /* leave, once all that was begun has ended; cleared ahead of that: stay */
	TASK_BEAT = 2, /* counted up from here on: the host is alive */
};

/* A thread of it that failed: its number, and behind these bits its block's (x first), and which of
 * the kernel's traps and assertions it was (from 1: pass_task_site). */
enum task_why { TASK_WHY_THREAD = 0, TASK_WHY_BLOCK = 10, TASK_WHY_SITE = 48 };

/* Row 0's descriptor: six bytes a word, and the generation in the upper two. The scheduler reads
 * them in its look at in[], with the same instruction: a task that comes alone is there with one
 * way over the bus, and not seen, then fetched. What one look finds need not be of one time,
 * neither in[] and these words, nor these among each other; a word, 64 bits that are stored and
 * read as one, is. So each says whose it is, and row 0 counts as seen when all do. All are stored
 * each time: what else is there is of the generation before, as that was read by the same lanes. */
#define TASK_FIRST ((sizeof(struct task_desc) + 5) / 6)

/* Pinned host memory. A generation is a byte here, as it is only compared with the one before it:
 * what the host looks through is one line. */
struct task_column {
	uint8_t in[32];     /* generations; [31]: control */
	uint64_t first[12]; /* TASK_FIRST of them */
	uint8_t out[32];    /* [31]: 1 once any task of the column failed, ahead of its end */
	uint32_t launch;    /* << 1, | 1: has left */
	uint8_t pad1[92];
	uint8_t taken[32], pad2[96];      /* generation begun last; says what a fault met */
	uint64_t why[32];                 /* 0, or how the task failed: TASK_WHY_* */
	struct task_desc desc[TASK_ROWS]; /* 64 bytes each; [0] is not used: first */
	uint8_t pad3[64];
};

/* Device memory, one for each column; behind it the copies of parameters that are too many for a
 * row. */
struct task_own {
	uint32_t next[32]; /* blocks begun of a task that was not whole when its block left */
};

/* The master kernel's parameter, by value. */
struct task_args {
	uint64_t columns;           /* struct task_column[] as the device sees it */
	uint64_t more;              /* more_bytes for each row of each column; host memory */
	uint64_t own;               /* struct task_own, and as many bytes for each row, again */
	uint64_t ticket;            /* device memory, 0: the next place in list */
	uint64_t list;              /* uint32_t[n_columns]: columns of this launch; host memory */
	uint64_t beat_ns;           /* a column leaves after so long without a beat; 0: never */
	uint32_t n_columns, launch; /* launch: its number */
	uint32_t more_bytes;        /* a multiple of 16 */
	uint32_t shared_bytes;  /* for tasks, of a block: a multiple of TASK_UNIT, up to 1,024 */
	uint32_t first_free_sm; /* blocks on this SM and those behind it leave at once */
	uint64_t stamps;        /* struct task_stamps for each row of 32; host memory; or 0 */
};

/* When what happened to a row's task, by %globaltimer (ns); stored behind its end, gen last. */
struct task_stamps {
	uint64_t seen, placed, begun, ended, fenced, gen, pad[2];
};

_Static_assert(offsetof(struct task_desc, block) == 4 && offsetof(struct task_desc, grid_x) == 8 &&
		       offsetof(struct task_desc, dynamic_bytes) == 16,
	"the host stores words");
_Static_assert(sizeof(struct task_desc) == 64 && offsetof(struct task_desc, args) == 24, "a line");
_Static_assert(sizeof(struct task_column) % 128 == 0, "lines");
_Static_assert(offsetof(struct task_column, desc) % 64 == 0, "a descriptor is in one line");
_Static_assert(offsetof(struct task_column, out) == 128, "what a look finds");

#endif
