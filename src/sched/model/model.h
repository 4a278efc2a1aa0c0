/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface between the engine and its model of kernels (FLEP, section 4.2). The model predicts how
 * long a launch runs alone on the whole device, and what it costs to preempt the launch. It also
 * predicts the launch's speed for each number of blocks on an SM. The engine asks the model at
 * every submission and teaches it at every end, so no function may block. Times are in ns.
 * durations.h has the model. */
#ifndef HEDDLE_SCHED_MODEL_H
#define HEDDLE_SCHED_MODEL_H

#include "base/base.h"

#define SCHED_UNKNOWN UINT64_MAX /* an unknown time */
#define SCHED_INPUTS  12u        /* number of values that describe the size of a launch's input */
#define SCHED_PER_SM  32u        /* maximum number of blocks on an SM */

/* A launch as a model sees it, with the features of the paper (FLEP). */
struct sched_shape {
	uint64_t kernel;                /* the same number for equal kernels of one user */
	uint64_t total;                 /* number of blocks, at least 1 */
	uint32_t threads, shared_bytes; /* per block */
	uint32_t n_sms;                 /* SMs of the device; at least 1 */
	/* each finite and at least 0; the caller defines their meaning */
	float input[SCHED_INPUTS];
};

/* Two kernels with blocks on the same SMs. */
struct sched_pair {
	uint64_t kernel[2];
	uint32_t count[2]; /* blocks of each kernel on an SM, at least 1 */
	uint32_t most[2];  /* blocks of each kernel that fit on an empty SM, 1 to SCHED_PER_SM */
};

/* Not thread-safe: all calls must come from one thread. */
struct sched_model {
	const char *name;
	/* Creates the state, if the engine's caller does not supply one. Returns NULL if out of
	 * memory. */
	void *(*create)(void);
	void (*destroy)(void *state);
	/* Predicts a duration in ns. SCHED_UNKNOWN: no similar launch has run yet. */
	uint64_t (*predict)(void *state, const struct sched_shape *s);
	/* Learns that a launch of this shape ran for ran_ns, converted to time on the whole device.
	 * disturbed: the launch was preempted, so ran_ns is longer than alone by an unknown
	 * amount. */
	void (*learn)(void *state, const struct sched_shape *s, uint64_t ran_ns, bool disturbed);
	/* Returns the cost of preempting the kernel, or `otherwise` if it was never preempted. */
	uint64_t (*cost)(void *state, uint64_t kernel, uint64_t otherwise);
	void (*learn_cost)(void *state, uint64_t kernel, uint64_t cost_ns);
	/* Learns that this number of blocks took sm_ns, the sum over the SMs of the time on them.
	 * During that time an SM held at most per_sm blocks (1 to SCHED_PER_SM), whatever the
	 * quotas were. NULL: the model does not use this. */
	void (*learn_curve)(void *state, const struct sched_shape *s, uint32_t per_sm,
		uint64_t blocks, uint64_t sm_ns);
	/* Sets ret_ns[i] to an SM's time for one block of the kernel, while i + 1 blocks share the
	 * SM; 0: unknown. NULL: the model knows no curves. */
	void (*curve)(void *state, uint64_t kernel, float ret_ns[SCHED_PER_SM]);
	/* Sets ret_ns[i] to an SM's time for one block of kernel i, while blocks of both kernels
	 * share the SM. Returns 0, or -ENOENT if unknown. NULL: the model knows no pairs. */
	int (*pair)(void *state, const struct sched_pair *p, float ret_ns[2]);
	/* Learns that this number of blocks of kernel 0 took sm_ns (as for learn_curve) beside
	 * kernel 1. Returns false if the model does not know the curves yet and cannot use this.
	 * NULL if pair is NULL. */
	bool (*learn_pair)(
		void *state, const struct sched_pair *p, uint64_t blocks, uint64_t sm_ns);
};

#endif
