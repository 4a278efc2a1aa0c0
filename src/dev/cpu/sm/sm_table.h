/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The layout of the shared segment. The arrays proc, launch and slot are authoritative. The last
 * store to an entry makes the entry valid: to pid in proc, to used in launch, to proc in slot. All
 * other data is derived from these arrays, and is rebuilt when a process died while it held the
 * lock. sm_life.h tells which processes are alive. */
#ifndef HEDDLE_VGPU_SM_TABLE_H
#define HEDDLE_VGPU_SM_TABLE_H

#include <pthread.h>
#include <sys/types.h>

#include "sm.h"
#include "sm_life.h"

#define SM_LAYOUT     3u /* incremented with every change of the layout below */
#define SM_MAGIC      (0x75677030u + SM_LAYOUT)
#define SM_MAX_LAUNCH 1024
#define SM_NONE       0xffffu

struct sm_proc {
	pthread_mutex_t life;  /* held by a thread of the process while the process lives */
	_Atomic uint32_t pid;  /* in the process's own pid namespace; 0: entry is free */
	_Atomic uint32_t word; /* futex */
	/* number of slots placed for the process that it has not taken (derived) */
	_Atomic uint32_t grants;
	uint16_t first, last; /* list of these slots (derived) */
	uint64_t memory_bytes;
	_Atomic uint64_t generation; /* changes whenever a process takes or gives up this entry */
};

struct sm_launch_entry {
	uint64_t seq; /* order of arrival */
	uint64_t n_blocks, next_block, user;
	struct sm_demand demand;
	int32_t priority;
	uint16_t proc;
	bool cooperative;
	uint8_t used;
	uint32_t resident; /* (derived) */
};

/* A slot for a block. It is in use if proc is not SM_NONE. */
struct sm_slot {
	uint64_t block;
	uint16_t proc, launch;
	uint16_t next; /* next in the process's list of grants (derived) */
	uint8_t taken; /* the process has noticed that it has this slot */
};

struct sm_unit {
	struct sm_demand free; /* (derived) */
	uint32_t free_slots;   /* bit mask (derived) */
};

struct sm_table {
	uint32_t magic, bytes;
	struct sm_config config;
	pthread_mutex_t lock; /* robust, and shared between processes */
	uint64_t next_seq;
	uint32_t n_queued; /* (derived) */
	uint16_t
		/* launches that have blocks to place, in placement order (derived) */
		queue[SM_MAX_LAUNCH];
	struct sm_proc proc[SM_MAX_PROCS];
	struct sm_launch_entry launch[SM_MAX_LAUNCH];
	struct sm_unit unit[SM_MAX_SMS];
	struct sm_slot slot[SM_MAX_SMS * SM_MAX_SLOTS];
};

struct sm {
	struct sm_table *t;
	uint16_t me; /* index in t->proc; SM_NONE: the process has no entry */
	uint64_t generation;
	bool shared;
	struct sm_keeper keeper;
	char path[160];
	dev_t dev;
	ino_t ino;
	_Atomic uint64_t next_reap_ns;
};

/* Opens the segment's file (sm_segment.c), or creates a new one if its users are all dead, and sets
 * s->t. *ret_fd is the file's descriptor, which holds the file lock; close it with
 * sm_segment_unlock when s is in the table. */
int sm_segment_open(struct sm *s, const struct sm_config *c, int *ret_fd);
/* Unmaps the segment, and removes the file if no process uses it. */
void sm_segment_close(struct sm *s);
/* Releases the file lock, also if a child that was forked meanwhile has a copy of the
 * descriptor. */
void sm_segment_unlock(int fd);
void sm_table_init(struct sm_table *t, const struct sm_config *c, bool shared);

void sm_lock(struct sm *s);
void sm_unlock(struct sm *s);
/* Call these with the lock held, except sm_poke. */
void sm_place(struct sm_table *t);   /* places as many blocks as fit, in queue order */
void sm_rebuild(struct sm_table *t); /* recomputes all derived fields */
void sm_forget_proc(struct sm_table *t, uint16_t proc);
bool sm_reap(struct sm *s); /* frees slots of dead processes; returns true if there were any */
int sm_join(struct sm *s);
void sm_poke(struct sm_proc *p, int threads);

#endif
