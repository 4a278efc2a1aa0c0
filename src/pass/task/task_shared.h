/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shared memory of a master block, through which its scheduler and its executors
 * communicate. */
#ifndef HEDDLE_TASK_SHARED_H
#define HEDDLE_TASK_SHARED_H

#include "ctl/task.h"

/* Data that executors need about a running block of a task. */
struct task_record {
	uint32_t row, ctaid[3];
	/* address of the block's shared memory; number of its barrier */
	uint32_t base, barrier;
	/* data of rounds.c, at +80 and +88 of a slot that begins 56 bytes before this record */
	uint32_t counts[2], words[4];
	uint64_t params; /* generic address of the task's parameters */
	/* failed: the first round that a failed thread did not reach */
	uint32_t failed, pad;
};
struct task_shared {
	/* One entry per warp: 0 if the warp is free, TASK_LEAVE, or TASK_RUN | record << 8 | index
	 * of the warp in the task's block. Entry 0 belongs to the scheduler's warp, which runs only
	 * blocks that are as wide as the master block. */
	uint32_t go[64];
	uint32_t left[32];   /* for each record: number of warps that are still running */
	uint32_t blocks[32]; /* for each row: number of blocks that have not ended */
	uint32_t gen[32];    /* for each row: value that its out[] gets at the task's end */
	uint32_t failed[32]; /* for each row: nonzero once a thread has failed */
	uint64_t column;     /* address of this block's struct task_column */
	uint64_t more;       /* address of the column's copies of parameters */
	uint64_t since;      /* saves %hd_t0 while the scheduler's warp runs a body */
	uint32_t index, pad[25];
	/* saves other registers while the scheduler's warp runs a body (emit_task.c) */
	uint32_t kept[11][32];
	struct task_desc row[32];
	struct task_record record[32];
};
#define TASK_RUN   0x80000000u
#define TASK_LEAVE 0xffffffffu
_Static_assert(sizeof(struct task_record) == 64, "lines");
_Static_assert(offsetof(struct task_record, counts) == 24, "where rounds count");
_Static_assert(offsetof(struct task_record, failed) == 112 - 56, "R_FAILED");

#endif
