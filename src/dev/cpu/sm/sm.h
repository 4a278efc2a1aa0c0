/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's SMs, shared by all processes of a user: a table with the owner of each block
 * slot and the queue of launches that still have blocks to place. The table contains no code and no
 * memory of kernels: each process executes its own blocks.
 *
 * Blocks are placed as in hardware. The launches in the queue are ordered by priority, then by
 * arrival. While the first launch in the queue has blocks to place, no later launch gets a slot. A
 * cooperative launch is placed as a whole or not at all.
 *
 * A process may die at any instruction. The table's mutex is robust, and the table is rebuilt from
 * its slots. Processes that wait for slots free those of dead processes. */
#ifndef HEDDLE_VGPU_SM_H
#define HEDDLE_VGPU_SM_H

#include <stdatomic.h>

#include "base/base.h"

#define SM_MAX_SMS     144
#define SM_MAX_SLOTS   32 /* blocks per SM */
#define SM_MAX_PROCS   128
#define SM_MAX_DEVICES 8

/* The device's resources. Occupancy queries and block placement use the same numbers. */
struct sm_config {
	char name[64];    /* name of the instance */
	uint32_t device;  /* number of the instance's device; each device has its own table */
	uint32_t devices; /* number of devices; 0: as in an existing instance, else 1 */
	uint32_t n_sms;
	uint32_t threads, blocks, regs, shared_bytes; /* limits per SM */
	uint64_t memory_bytes;
	uint32_t workers; /* number of threads that execute this process's blocks */
	uint8_t converge; /* enum vgpu_converge */
	uint8_t fma;      /* enum vgpu_fma */
	bool serial;      /* one thread, virtual time, and a separate instance */
	uint64_t turns;   /* vgpu_set_turns */
	uint64_t garbage; /* vgpu_set_garbage */
	uint64_t weak;    /* vgpu_set_weak */
	/* simulated compile time of a PTX text that is not in the driver's cache, in ms */
	uint32_t assemble_ms;
	char crash[64]; /* a PTX text that contains this crashes the compiler; empty: none does */
	/* true if such a text crashes the compiler only the first time; this needs
	 * CUDA_CACHE_PATH */
	bool once;
	char hang[64];    /* a PTX text that contains this is never compiled; empty: none */
	char count[200];  /* vgpu_set_counts */
	char report[200]; /* where fault reports go: "stderr", "none" or a file */
	char wrong[40];   /* first word that the parser rejected; empty: none */
	char valid[300];  /* text that lists the valid words or values */
};
/* Parses the text of HEDDLE_VGPU (NULL if not set): NAME and OPTION[=VALUE], separated by commas.
 * Returns -EINVAL if it does not understand a part. *ret then has the default for that part, and
 * ret->wrong is the first word that it did not understand, and ret->valid says what is valid. */
int sm_config_parse(const char *text, struct sm_config *ret);

/* Resources of an SM that one block occupies. */
struct sm_demand {
	uint32_t threads, regs, shared_bytes; /* rounded up to the allocation unit */
};
struct sm_demand sm_demand_of(uint32_t threads, uint32_t regs_per_thread, uint32_t shared_bytes);
/* Reduces the demand of a block for registers to what an SM has, because the number of registers is
 * only an estimate and should refuse no block. A block that needs more than a whole SM has gets all
 * of the SM's registers, but at least 16 per thread. So a block is refused only if the SM has fewer
 * than 16 registers for each thread of the block. An assembler that knows the block's size would
 * limit the kernel in the same way. */
void sm_demand_limit(const struct sm_config *c, struct sm_demand *d);
/* Returns the number of such blocks that fit on an empty SM, possibly 0. */
uint32_t sm_blocks_per_sm(const struct sm_config *c, const struct sm_demand *d);

struct sm;
struct sm_block {
	uint64_t user; /* value given by the launch */
	uint64_t index;
	uint16_t sm, slot;
};

/* Returns the number of worker threads for one device, if the process has c->workers for all its
 * devices together. */
uint32_t sm_workers(const struct sm_config *c);

/* Joins device c->device of the instance named in *c. If the device exists, its SMs, its memory
 * limit and its number of devices replace those in *c. Device 0 is joined first and left last, so
 * that all processes of an instance agree. Returns 0 or a negative errno, among them:
 * - -EUSERS: SM_MAX_PROCS processes use the device already
 * - -EPERM: other users can write to its file
 * - -ETIMEDOUT: another process keeps its file locked
 * - -EAGAIN: no thread can be created */
int sm_open(struct sm_config *c, struct sm **ret);
void sm_close(struct sm *s);
/* Returns true if another process considered this process dead and freed its slots. From then on
 * launches fail (-ESTALE), no blocks are placed, and earlier launches do not complete. */
bool sm_lost(struct sm *s);

/* Queues a launch; launches of higher priority come first. Each block that sm_take returns has this
 * `user` value. Returns 0 or:
 * - -EAGAIN: the queue is full; try again when a launch has finished
 * - -EINVAL: there are no blocks, or a block does not fit on an SM
 * - -ESTALE: the process lost its table entry (sm_lost) */
int sm_launch(struct sm *s, const struct sm_demand *d, uint64_t n_blocks, int priority,
	bool cooperative, uint64_t user, uint32_t *ret_id);
/* Removes the launch's unplaced blocks from the queue and returns their number. Placed blocks
 * continue. */
uint64_t sm_cancel(struct sm *s, uint32_t id);
/* Returns the blocks that were placed for this process since the last call, at most max. */
unsigned sm_take(struct sm *s, struct sm_block *ret, unsigned max);
/* Frees the slot of a block that has ended; the next block can take it. */
void sm_release(struct sm *s, uint16_t sm, uint16_t slot);
/* Reserve, free and count the device memory of all processes together. sm_memory_take returns
 * -ENOMEM above the limit. */
int sm_memory_take(struct sm *s, uint64_t bytes);
void sm_memory_give(struct sm *s, uint64_t bytes);
uint64_t sm_memory_used(struct sm *s);

/* sm_sleep sleeps until a block is placed for this process, sm_wake is called, or the timeout ends.
 * To miss no wakeup, read sm_word, check for work, then pass the value to sm_sleep. sm_sleep also
 * frees the slots of dead processes. */
uint32_t sm_word(struct sm *s);
void sm_sleep(struct sm *s, uint32_t word, uint64_t timeout_ns);
void sm_wake(struct sm *s, int threads);
bool sm_has_grants(struct sm *s);

#endif
