/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records of kernels, by user, kernel, device and driver. A record has:
 * - durations of launches of each shape (grid, block, shared memory and inputs)
 * - the cost of preemptions
 * - the speed by the number of blocks on an SM
 * - a ridge regression for shapes that have never run
 *
 * The number of records is limited, and a new record replaces the least recently used one. This is
 * the model of the engine (model.h). All times are in ns. Nothing here is thread safe or does
 * I/O; model/kept.h reads and writes the file. */
#ifndef HEDDLE_MODEL_DURATIONS_H
#define HEDDLE_MODEL_DURATIONS_H

#include "model.h"
#include "ridge.h"

/* Largest number of records. Once all are in use, a user with a quarter of them replaces only
 * records of its own. */
#define DURATION_KERNELS 2048u
#define DURATION_SHAPES  64u /* maximum for one kernel */
#define DURATION_COSTS   50u /* number of preemptions in the mean of a cost, as in FLEP */
/* number of prediction errors kept, for shapes that had never run before */
#define DURATION_ERRORS 64u

/* The user who launches the kernel, and the device. */
struct duration_owner {
	uint32_t uid, n_sms;
	char device[64], driver[32]; /* as the driver reports them, NUL-terminated */
};

struct duration_shape {
	uint64_t total;
	uint32_t threads, shared_bytes;
	float input[SCHED_INPUTS];
	uint64_t n;                  /* number of launches */
	uint64_t mean_ns, moving_ns; /* mean of all launches; moving mean of about the last eight */
	/* For the first launch of this shape: the predicted duration (SCHED_UNKNOWN: none), and the
	 * measured duration. */
	uint64_t predicted_ns, first_ns;
	uint64_t used; /* when it was last used: the value of `clock` (learned launches) */
};

/* A ring buffer of the last measured costs. */
struct duration_costs {
	uint32_t n, next;
	uint32_t ns[DURATION_COSTS];
};
struct duration_errors {
	uint32_t n, next;
	float relative[DURATION_ERRORS];
};

/* The data of a record that is independent of the table. */
struct duration_kernel {
	struct duration_owner owner;
	uint64_t code; /* hash of its code */
	char name[64];
	uint64_t launches;
	uint32_t claim; /* how many blocks a worker last claimed at a time; 0: unknown */
	struct duration_costs costs;
	struct duration_errors errors;
	/* Element i of curve_ns: an SM's time for one block, while i + 1 blocks share the SM.
	 * Element i of curve_n: the number of its measurements. */
	float curve_ns[SCHED_PER_SM];
	uint32_t curve_n[SCHED_PER_SM];
	struct ridge ridge;
	uint32_t n_shapes;
	struct duration_shape shape[DURATION_SHAPES];
};

struct durations;
int durations_create(struct durations **ret); /* returns 0 or -ENOMEM */
void durations_destroy(struct durations *d);

/* Returns the kernel's number for struct sched_shape. Creates a record if there is none; if memory
 * is exhausted, nothing is learned for the kernel. `name` is truncated to 63 bytes. */
uint64_t durations_number(
	struct durations *d, const struct duration_owner *owner, uint64_t code, const char *name);
/* Records how many blocks the kernel's workers claim at a time. */
void durations_claim(struct durations *d, uint64_t number, uint32_t blocks);
/* Returns the kernel's record, or NULL if there is none. It is valid until the next call of any
 * function here. */
const struct duration_kernel *durations_find(const struct durations *d, uint64_t number);
/* Adds a record from a file. Does nothing if the table already has a record of this kernel with at
 * least as many launches, or if it is full and has no record of this kernel. Returns -EINVAL if the
 * record is not valid, or -ENOMEM. */
int durations_restore(struct durations *d, const struct duration_kernel *k);
/* Sets functions that are called when a record is first numbered, or is replaced after that
 * (`record`), and when such a record is dropped to make room for another (`forgot`). Nothing else but
 * learning changes the records on which predictions depend. */
void durations_watch(struct durations *d,
	void (*record)(void *user, uint64_t number, const struct duration_kernel *k),
	void (*forgot)(void *user, uint64_t number), void *user);
/* Repeats what those functions were called with: makes or replaces a record, or drops it.
 * durations_put returns -EINVAL if the record is not valid, or -ENOMEM. */
int durations_put(struct durations *d, const struct duration_kernel *k);
void durations_forget(struct durations *d, uint64_t number);
/* Copies up to max records that have changed since they were last copied, the least recently used
 * first. Returns their number. */
unsigned durations_changed(struct durations *d, struct duration_kernel *ret, unsigned max);
/* Marks a copied record as changed again. Call it if the copy could not be written. */
void durations_change(struct durations *d, const struct duration_kernel *copied);
/* Returns true if durations_changed would return at least one record. */
bool durations_has_changed(const struct durations *d);
/* Calls fn for all records of the user (DURATION_ANY: of all users), the last used record first. */
#define DURATION_ANY UINT32_MAX
typedef void durations_fn(void *user, const struct duration_kernel *k);
void durations_each(const struct durations *d, uint32_t uid, durations_fn *fn, void *user);

/* Returns the mean and the greatest of the recorded prediction errors. They are relative: 0.1 is 10
 * %. Returns false if there are none. */
bool duration_error(const struct duration_kernel *k, double *ret_mean, double *ret_worst);
/* Returns the mean of the recorded costs; 0 if there are none. */
uint64_t duration_cost(const struct duration_kernel *k);
/* Checks that all values of a record, which comes from a file or a socket, are plausible. */
bool duration_is_sane(const struct duration_kernel *k);

/* The model of the engine. Its state is a struct durations. heddled and the simulator create one, and
 * number the kernels. If the engine's caller supplies no state, the engine creates one, which makes
 * the record of a kernel when it first learns of the kernel. */
extern const struct sched_model model_durations;

#endif
