/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's SMs, shared by all processes of a user: who has which block slot, and the queue
 * of launches that still have blocks to place. No code runs here and no memory of kernels is here:
 * each process steps its own blocks.
 *
 * Placing follows the hardware: launches in order of priority, then of arrival; while the first of
 * them has blocks to place, nobody behind it gets a slot. A cooperative launch is placed whole or
 * not at all. The table survives the death of any process at any instruction (robust mutex, rebuilt
 * from the slots), and the slots of dead processes are freed by whoever waits for them. */
#ifndef HEDDLE_VGPU_SM_H
#define HEDDLE_VGPU_SM_H

#include <stdatomic.h>

#include "base/base.h"

#define SM_MAX_SMS     144
#define SM_MAX_SLOTS   32 /* blocks an SM */
#define SM_MAX_PROCS   128
#define SM_MAX_DEVICES 8

/* What the device has; the same numbers decide occupancy and placing. */
struct sm_config {
	char name[64];    /* of the instance */
	uint32_t device;  /* which of its devices: each has a table of its own */
	uint32_t devices; /* how many it has; 0: as many as there are, or one */
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
	char report[200];     /* where faults are told: "stderr", "none" or a file */
	char wrong[40];       /* the first word that is not understood; empty: none */
};
/* From HEDDLE_VGPU's text (NULL: none): NAME and OPTION[=VALUE] with commas between them. -EINVAL:
 * *ret has the default for what was not understood, and ret->name for the rest. */
int sm_config_parse(const char *text, struct sm_config *ret);

/* What one block takes of an SM. */
struct sm_demand {
	uint32_t threads, regs, shared_bytes; /* rounded up to what is allocated */
};
struct sm_demand sm_demand_of(uint32_t threads, uint32_t regs_per_thread, uint32_t shared_bytes);
/* A number of registers that is only an estimate refuses no block: if a whole SM has too few, the
 * block gets all of them, as an assembler that knows the block's size would have it, but not less
 * than 16 a thread. */
void sm_demand_limit(const struct sm_config *c, struct sm_demand *d);
/* How many such blocks an empty SM holds; 0: none. */
uint32_t sm_blocks_per_sm(const struct sm_config *c, const struct sm_demand *d);

struct sm;
struct sm_block {
	uint64_t user; /* of the launch */
	uint64_t index;
	uint16_t sm, slot;
};

/* The workers of one device, when the process has as many for all of them as *c says. */
uint32_t sm_workers(const struct sm_config *c);

/* Joins device c->device of the instance named in *c, and takes what it has into *c if it was there
 * already: the SMs' limits and the number of devices. Device 0 is joined first and left last, so
 * that all who share an instance agree.
 * -EUSERS: SM_MAX_PROCS use it; -EPERM: its file is not this user's alone; -ETIMEDOUT: somebody
 * keeps its file locked; -EAGAIN: no thread can be made. */
int sm_open(struct sm_config *c, struct sm **ret);
void sm_close(struct sm *s);
/* Another process has taken this one for dead and given away what it had: from then on nothing is
 * launched (-ESTALE) or placed, and what was will not come. */
bool sm_lost(struct sm *s);

/* Puts a launch into the queue; user is given back with each block. Higher priorities first.
 * -EAGAIN: the queue is full, try again when something has finished. */
int sm_launch(struct sm *s, const struct sm_demand *d, uint64_t n_blocks, int priority,
	bool cooperative, uint64_t user, uint32_t *ret_id);
/* Takes its unplaced blocks out of the queue; returns how many, placed ones stay. */
uint64_t sm_cancel(struct sm *s, uint32_t id);
/* The blocks that were placed for this process since the last call, at most max. */
unsigned sm_take(struct sm *s, struct sm_block *ret, unsigned max);
/* The block has ended: its slot goes to the next one. */
void sm_release(struct sm *s, uint16_t sm, uint16_t slot);
/* Device memory of all processes together: -ENOMEM past the limit. */
int sm_memory_take(struct sm *s, uint64_t bytes);
void sm_memory_give(struct sm *s, uint64_t bytes);
uint64_t sm_memory_used(struct sm *s);

/* Sleeping until something is placed for this process or sm_wake is called: read the word, look for
 * work, then sm_sleep with what was read. Also frees dead processes' slots now and then. */
uint32_t sm_word(struct sm *s);
void sm_sleep(struct sm *s, uint32_t word, uint64_t timeout_ns);
void sm_wake(struct sm *s, int threads);
bool sm_has_grants(struct sm *s);

/* For tests and ps: resident blocks of this process and of all. */
void sm_resident(struct sm *s, uint32_t *ret_mine, uint32_t *ret_all);

#endif
