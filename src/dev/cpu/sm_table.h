/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The layout of the segment that processes share. Authoritative are procs, launches and slots, each
 * made valid by its last store (pid, used, proc); everything else is derived from them and rebuilt
 * when a process died while it held the lock. */
#ifndef HEDDLE_VGPU_SM_TABLE_H
#define HEDDLE_VGPU_SM_TABLE_H

#include <pthread.h>

#include "sm.h"

#define SM_MAGIC      0x31756771u /* changes with the layout */
#define SM_MAX_PROCS  128
#define SM_MAX_LAUNCH 1024
#define SM_NONE       0xffffu

struct sm_proc {
	uint64_t start_time;     /* from /proc, so that a reused pid is another process */
	_Atomic uint32_t pid;    /* 0: free */
	_Atomic uint32_t word;   /* futex */
	_Atomic uint32_t grants; /* placed and not yet taken (derived) */
	uint16_t first, last;    /* list of those slots (derived) */
	uint64_t memory_bytes;
	uint64_t generation; /* tells two users of one place apart, in the place's life */
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

/* A block's place: proc != SM_NONE means that it is taken. */
struct sm_slot {
	uint64_t block;
	uint16_t proc, launch;
	uint16_t next; /* in the list of its process's grants (derived) */
	uint8_t taken; /* its process knows of it */
};

struct sm_unit {
	struct sm_demand free; /* (derived) */
	uint32_t free_slots;   /* bit mask (derived) */
};

struct sm_table {
	uint32_t magic, bytes;
	struct sm_config config;
	pthread_mutex_t lock; /* robust, shared between processes */
	uint64_t next_seq;
	uint32_t n_queued; /* (derived) */
	uint16_t
		queue[SM_MAX_LAUNCH]; /* launches with blocks to place, first one first (derived) */
	struct sm_proc proc[SM_MAX_PROCS];
	struct sm_launch_entry launch[SM_MAX_LAUNCH];
	struct sm_unit unit[SM_MAX_SMS];
	struct sm_slot slot[SM_MAX_SMS * SM_MAX_SLOTS];
};

struct sm {
	struct sm_table *t;
	uint16_t me;
	int fd; /* -1: private */
	char path[160];
	_Atomic uint64_t next_reap_ns;
};

/* All with the lock held. */
void sm_lock(struct sm_table *t);
void sm_unlock(struct sm_table *t);
void sm_place(struct sm_table *t);   /* as many blocks as fit, in order */
void sm_rebuild(struct sm_table *t); /* everything derived */
void sm_forget_proc(struct sm_table *t, uint16_t proc);
bool sm_reap(struct sm_table *t); /* dead processes; true: there were some */
int sm_join(struct sm_table *t, uint16_t *ret_proc);
bool sm_fits(const struct sm_unit *u, const struct sm_demand *d);
void sm_poke(struct sm_proc *p, int threads);

#endif
