/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records of kernels, by user, kernel, device and driver: how long launches of each shape
 * ran, what preempting costs, how speed follows from blocks on an SM, and a ridge regression for
 * shapes that have never run. A shape is grid, block, shared memory and inputs. Bounded: what has
 * been unused for longest leaves. It is a model of the engine's (sched/model.h); all times are in
 * ns. Nothing here is thread safe, and nothing does I/O: model/kept.h has the file. */
#ifndef HEDDLE_MODEL_DURATIONS_H
#define HEDDLE_MODEL_DURATIONS_H

#include "model/ridge.h"
#include "sched/model.h"

#define DURATION_KERNELS \
	2048u /* at most, of which one user has a quarter at most once all are in use */
#define DURATION_SHAPES 64u /* of a kernel */
#define DURATION_COSTS  50u /* the paper's number of preemptions that a cost is the mean of */
#define DURATION_ERRORS 64u /* of predictions of shapes that had never run */

/* Whose launches, and where. */
struct duration_owner {
	uint32_t uid, n_sms;
	char device[64], driver[32]; /* as they call themselves; NUL-terminated */
};

struct duration_shape {
	uint64_t total;
	uint32_t threads, shared_bytes;
	float input[SCHED_INPUTS];
	uint64_t n;                  /* launches */
	uint64_t mean_ns, moving_ns; /* of all; of the last eight or so */
	/* Of its first launch: what was predicted (SCHED_UNKNOWN: nothing), and what it took. */
	uint64_t predicted_ns, first_ns;
	uint64_t used; /* when, in launches learnt */
};

/* The last values of something, oldest overwritten. */
struct duration_costs {
	uint32_t n, next;
	uint32_t ns[DURATION_COSTS];
};
struct duration_errors {
	uint32_t n, next;
	float relative[DURATION_ERRORS];
};

/* Plain data but for the links and the key. */
struct duration_kernel {
	struct duration_owner owner;
	uint64_t code; /* hash of its code */
	char name[64];
	uint64_t launches;
	uint32_t claim; /* blocks that its workers last claimed at a time; 0: not known */
	struct duration_costs costs;
	struct duration_errors errors;
	/* With i + 1 blocks on an SM: an SM's time for a block, and how often that was seen. */
	float curve_ns[SCHED_PER_SM];
	uint32_t curve_n[SCHED_PER_SM];
	struct ridge ridge;
	uint32_t n_shapes;
	struct duration_shape shape[DURATION_SHAPES];
};

struct durations;
int durations_create(struct durations **ret); /* -ENOMEM */
void durations_destroy(struct durations *d);

/* The kernel's number in struct sched_shape. Makes room for it; without memory nothing is learnt of
 * it. name: cut after 63 bytes. */
uint64_t durations_number(
	struct durations *d, const struct duration_owner *owner, uint64_t code, const char *name);
/* Its workers now claim so many blocks at a time. */
void durations_claim(struct durations *d, uint64_t number, uint32_t blocks);
/* What is known of it until the next call of any function here; NULL: nothing. */
const struct duration_kernel *durations_find(const struct durations *d, uint64_t number);
/* Takes over what a file held of a kernel, unless more is known already. -EINVAL: no duration_learn
 * made that; -ENOMEM. */
int durations_restore(struct durations *d, const struct duration_kernel *k);
/* Copies up to max kernels that have changed since they were last copied, longest unchanged first.
 * How many. */
unsigned durations_changed(struct durations *d, struct duration_kernel *ret, unsigned max);
/* What was copied so could not be written: it counts as changed again. */
void durations_change(struct durations *d, const struct duration_kernel *copied);
/* Whether there would be any. */
bool durations_has_changed(const struct durations *d);
/* All kernels of the user (DURATION_ANY: of all users), the last used first. */
#define DURATION_ANY UINT32_MAX
typedef void durations_fn(void *user, const struct duration_kernel *k);
void durations_each(const struct durations *d, uint32_t uid, durations_fn *fn, void *user);

/* The mean of the errors that are kept, and the greatest; false: none is. Relative: 0.1 is 10 %. */
bool duration_error(const struct duration_kernel *k, double *ret_mean, double *ret_worst);
/* The mean of the costs that are kept; 0: none. */
uint64_t duration_cost(const struct duration_kernel *k);
/* Whether all of it is such as is made here: of bytes from a file or a socket. */
bool duration_is_sane(const struct duration_kernel *k);

/* The model, whose state is a struct durations; the engine never makes one itself. */
extern const struct sched_model model_durations;

#endif
