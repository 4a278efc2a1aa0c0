/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface between the host and the master kernel (Pagoda), a kernel that stays on the GPU and
 * runs other kernels as tasks. Each block of the master kernel has a column in host memory: an
 * array of 31 rows. Warp 0 of the block is the scheduler; the other warps execute tasks. A row
 * holds a task, or one part of a large task, from when the host spawns it until the host sees its
 * end. */
#ifndef HEDDLE_CTL_TASK_H
#define HEDDLE_CTL_TASK_H

#include <stddef.h>
#include <stdint.h>

/* The protocol. Each row r has two generation bytes, in[r] and out[r]. Every value has one writer
 * at a time:
 * - If in[r] equals out[r], the row belongs to the host. To spawn a task, the host writes the
 *   task's descriptor (desc[r], but `first` for row 0). Then it increments in[r] with a release
 *   store.
 * - If they differ, the row belongs to the device. The scheduler reads all of in[] and `first` with
 *   one instruction. If bytes of in[] changed, it executes a fence and reads desc of these rows.
 * - When the last block of the row ends, its last warp executes a fence and sets out[r] to the
 *   generation.
 *
 * Pagoda's copies to the device had no order among their words. So Pagoda needs four states of a
 * slot, a chain of task ids (each slot names the task before it), and a flush of the last task
 * (section 4.2).
 *
 * A launch of the master kernel can end at any time (parking). The column in host memory and struct
 * task_own in device memory keep their values. So the next launch runs the rows that this launch
 * had not begun, and continues a row that it had begun in part. Several launches can run at once,
 * with different columns. A block's last store to its column (`launch`) reports that it has exited;
 * only then can another launch have this column. */

#define TASK_ENTRY "hd_tasks" /* name of the entry */
#define TASK_ROWS  31
#define TASK_UNIT  512u /* allocation unit of shared memory, in bytes */
#define TASK_ARGS  40u  /* largest size of parameters stored in the row, in bytes */
#define TASK_KINDS 32   /* maximum number of kernels in a module */

struct task_desc {
	uint16_t kind, arg_bytes;
	uint32_t block; /* block dimensions: x - 1 | (y - 1) << 10 | (z - 1) << 20 */
	uint32_t grid_x;
	uint16_t grid_y, grid_z;
	uint32_t dynamic_bytes;
	uint32_t need; /* TASK_NEED_* */
	uint8_t args[TASK_ARGS];
};
enum task_need {
	/* Mask of 8 bits: 0 if a block of the task needs no shared memory. Else 1 + log2 of the
	 * number of TASK_UNITs that it gets, which is a power of two. */
	TASK_NEED_SHARED = 0xff,
	TASK_NEED_BARRIER = 0x100, /* the task needs a barrier number of its own */
	/* the parameters did not fit in `args`; they are in task_args.more */
	TASK_NEED_MORE = 0x200,
	/* The task's blocks are divided into equal parts (the last part may be shorter), and this
	 * row contains one part. */
	TASK_NEED_PART = 10,  /* lowest bit of an 11-bit field: the part's number */
	TASK_NEED_PARTS = 21, /* lowest bit of an 11-bit field: how many parts; 0: not divided */
};
#define TASK_PARTS_MAX 2047u

/* Flags in the byte in[31], which only the host writes. */
enum task_control {
	/* Begin no more blocks of tasks, and exit when those that have begun have ended. If the
	 * host clears this bit before that, stay. */
	TASK_PARK = 1,
	/* A counter in this bit and the higher ones. A change means that the host is alive. */
	TASK_BEAT = 2,
};

/* Encodes the failure of a task as one number with three fields. Each value below is the number of
 * the lowest bit of a field:
 * - THREAD: the number of the thread that failed
 * - BLOCK: the number of that thread's block (x varies fastest)
 * - SITE: the trap or assertion in the kernel (numbered from 1: pass_task_site) */
enum task_why { TASK_WHY_THREAD = 0, TASK_WHY_BLOCK = 10, TASK_WHY_SITE = 48 };

/* The descriptor of row 0 is stored in 64-bit words. Each word contains six bytes of the
 * descriptor, and the generation in the upper two bytes. The scheduler reads these words with the
 * same instruction as in[], so a single task needs only one round trip over the bus. The words of
 * one read may be from different times, but each word is stored and read as a whole. So row 0
 * counts as complete when all words have the new generation. The host stores all words for every
 * task, so a word that is not updated yet has the generation before it. */
#define TASK_FIRST ((sizeof(struct task_desc) + 5) / 6)

/* A column: the rows of one block of the master kernel, in pinned host memory. A generation
 * is one byte here, because it is only compared with the previous one. So all out[] are in a single
 * cache line, in which the host sees which tasks have ended. */
struct task_column {
	uint8_t in[32];     /* generation of each row; [31]: enum task_control */
	uint64_t first[12]; /* descriptor of row 0; only TASK_FIRST words are used */
	/* out[31] is 1 once a task of the column has failed; it is stored before the task's end. */
	uint8_t out[32];
	uint32_t launch; /* number of the launch << 1 | 1 once the column's block has exited */
	uint8_t pad1[92];
	/* generation of the task that each row began last; identifies the task after a fault */
	uint8_t taken[32], pad2[96];
	/* 0, or the thread of the task that failed, encoded as enum task_why */
	uint64_t why[32];
	struct task_desc desc[TASK_ROWS]; /* desc[0] is unused: row 0 is in `first` */
	uint8_t pad3[64];
};

/* A column's data in device memory. Copies of parameters that do not fit in a row follow it. */
struct task_own {
	/* For a row whose task had begun only in part when the column's block exited: the number of
	 * the next block of that task. 0 for all other rows. */
	uint32_t next[32];
};

/* The parameter of the master kernel, passed by value. */
struct task_args {
	uint64_t columns; /* device address of an array of struct task_column */
	uint64_t more;    /* host memory: more_bytes for each row of each column */
	/* for each column: struct task_own, followed by more_bytes for each row */
	uint64_t own;
	/* device memory, initially 0: index in `list` of the next column to run */
	uint64_t ticket;
	/* host memory: uint32_t[n_columns], the columns of this launch */
	uint64_t list;
	/* a column exits if the host's beat does not change for this time; 0: never */
	uint64_t beat_ns;
	uint32_t n_columns, launch; /* launch: number of this launch */
	uint32_t more_bytes;        /* a multiple of 16 */
	/* shared memory of each block for tasks: a multiple of TASK_UNIT, up to 1,024 units */
	uint32_t shared_bytes;
	uint32_t first_free_sm; /* blocks on this SM and on SMs with higher numbers exit at once */
	/* host memory: 32 struct task_stamps per column, one for each row; 0: none */
	uint64_t stamps;
};

/* The times of a row's task in ns, by %globaltimer. They are stored after its end, `gen` last. */
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
