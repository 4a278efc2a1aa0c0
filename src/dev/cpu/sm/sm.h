/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's SMs, shared by all processes of a user: the owner of each block slot, and the
 * queue of launches that still have blocks to place. The table holds no code and no memory of
 * kernels: each process steps its own blocks.
 *
 * Placing follows the hardware: launches in order of priority, then of arrival; while the first of
 * them has blocks to place, no later launch gets a slot. A cooperative launch is placed whole or
 * not at all. The table survives the death of any process at any instruction (robust mutex, rebuilt
 * from the slots), and waiting processes free the slots of dead processes. */
#ifndef HEDDLE_VGPU_SM_H
#define HEDDLE_VGPU_SM_H

#include <stdatomic.h>

#include "base/base.h"

#define SM_MAX_SMS     144
#define SM_MAX_SLOTS   32 /* blocks an SM */
#define SM_MAX_PROCS   128
#define SM_MAX_DEVICES 8

/* The device's resources; occupancy and placing use the same numbers. */
struct sm_config {
	char name[64];    /* of the instance */
	uint32_t device;  /* which of the instance's devices: each has its own table */
	uint32_t devices; /* how many it has; 0: as the instance has, else one */
	uint32_t n_sms;
	uint32_t threads, blocks, regs, shared_bytes; /* an SM */
	uint64_t memory_bytes;
	uint32_t workers;     /* threads that step this process's blocks */
	uint8_t converge;     /* enum vgpu_converge */
	uint8_t fma;          /* enum vgpu_fma */
	bool serial;          /* one thread, virtual clock, an instance of its own */
	uint64_t turns;       /* vgpu_set_turns */
	uint64_t garbage;     /* vgpu_set_garbage */
	uint64_t weak;        /* vgpu_set_weak */
	uint32_t assemble_ms; /* what compiling takes, where it is not in the driver's cache */
	char crash[64];       /* texts in which this stands crash the compiler; empty: none */
	bool once;            /* each of them once, if the driver's cache is a folder */
	char hang[64];        /* or are never compiled */
	char count[200];      /* vgpu_set_counts */
	char report[200];     /* destination of fault reports: "stderr", "none" or a file */
	char wrong[40];       /* the first word that is not understood; empty: none */
};
/* From HEDDLE_VGPU's text (NULL: none): NAME and OPTION[=VALUE], separated by commas. -EINVAL: *ret
 * has the defaults in place of what was not understood, and ret->name the rest of the text. */
int sm_config_parse(const char *text, struct sm_config *ret);

/* The resources of an SM that one block takes. */
struct sm_demand {
	uint32_t threads, regs, shared_bytes; /* rounded up to what is allocated */
};
struct sm_demand sm_demand_of(uint32_t threads, uint32_t regs_per_thread, uint32_t shared_bytes);
/* An estimated number of registers refuses no block. If a whole SM has too few, the block gets all
 * of them, as from an assembler that knows the block's size, but at least 16 a thread. */
void sm_demand_limit(const struct sm_config *c, struct sm_demand *d);
/* How many such blocks an empty SM holds; 0: none. */
uint32_t sm_blocks_per_sm(const struct sm_config *c, const struct sm_demand *d);

struct sm;
struct sm_block {
	uint64_t user; /* of the launch */
	uint64_t index;
	uint16_t sm, slot;
};

/* The workers of one device, if the process has c->workers for all its devices. */
uint32_t sm_workers(const struct sm_config *c);

/* Joins device c->device of the instance named in *c. If the device exists, its SM limits and the
 * number of devices replace those in *c. Device 0 is joined first and left last, so that all
 * processes of an instance agree. -EUSERS: SM_MAX_PROCS processes use it; -EPERM: other users may
 * write its file; -ETIMEDOUT: a process keeps its file locked; -EAGAIN: no thread can be made. */
int sm_open(struct sm_config *c, struct sm **ret);
void sm_close(struct sm *s);
/* Another process took this one for dead and gave its slots away: from then on launches fail
 * (-ESTALE), nothing is placed, and earlier launches do not complete. */
bool sm_lost(struct sm *s);

/* Queues a launch, higher priorities first; each block returns `user`. -EAGAIN: the queue is full;
 * try again when a launch has finished. */
int sm_launch(struct sm *s, const struct sm_demand *d, uint64_t n_blocks, int priority,
	bool cooperative, uint64_t user, uint32_t *ret_id);
/* Removes its unplaced blocks from the queue, and returns their number; placed blocks stay. */
uint64_t sm_cancel(struct sm *s, uint32_t id);
/* Returns the blocks that were placed for this process since the last call, at most max. */
unsigned sm_take(struct sm *s, struct sm_block *ret, unsigned max);
/* The block has ended: its slot goes to the next one. */
void sm_release(struct sm *s, uint16_t sm, uint16_t slot);
/* Device memory of all processes together; -ENOMEM past the limit. */
int sm_memory_take(struct sm *s, uint64_t bytes);
void sm_memory_give(struct sm *s, uint64_t bytes);
uint64_t sm_memory_used(struct sm *s);

/* Sleeps until a block is placed for this process or sm_wake is called: read the word, check for
 * work, then call sm_sleep with the word. sm_sleep also frees dead processes' slots. */
uint32_t sm_word(struct sm *s);
void sm_sleep(struct sm *s, uint32_t word, uint64_t timeout_ns);
void sm_wake(struct sm *s, int threads);
bool sm_has_grants(struct sm *s);

/* For tests and ps: resident blocks of this process, and of all. */
void sm_resident(struct sm *s, uint32_t *ret_mine, uint32_t *ret_all);

#endif
