/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared memory of a master block: the interface between its scheduler and its executors. */
#ifndef HEDDLE_TASK_SHARED_H
#define HEDDLE_TASK_SHARED_H

#include "ctl/task.h"

struct task_record { /* of a task's block that runs */
	uint32_t row, ctaid[3];
	uint32_t base, barrier;       /* address of its shared memory; barrier's number */
	uint32_t counts[2], words[4]; /* rounds.c: +80 and +88 of a slot that begins 56 earlier */
	uint64_t params;              /* generic address */
	uint32_t failed, pad;         /* failed: first round that a thread failed ahead of */
};
struct task_shared {
	uint32_t go[64];     /* of warps: 0 free; TASK_RUN | record << 8 | warp of its block;
				TASK_LEAVE. [0]: the scheduler's, in blocks as wide as this one */
	uint32_t left[32];   /* records: warps that still run */
	uint32_t blocks[32]; /* rows: blocks that have not ended */
	uint32_t gen[32];    /* rows: what out is to become */
	uint32_t failed[32]; /* rows: not 0: a thread has failed; who waits for it need not */
	uint64_t column;     /* this one's struct task_column, */
	uint64_t more;       /* and copies of parameters */
	uint64_t since;      /* kept by the scheduler for as long as it executes, */
	uint32_t index, pad[25];
	uint32_t kept[11][32]; /* and this */
	struct task_desc row[32];
	struct task_record record[32];
};
#define TASK_RUN   0x80000000u
#define TASK_LEAVE 0xffffffffu
_Static_assert(sizeof(struct task_record) == 64, "lines");
_Static_assert(offsetof(struct task_record, counts) == 24, "where rounds count");
_Static_assert(offsetof(struct task_record, failed) == 112 - 56, "R_FAILED");

#endif
