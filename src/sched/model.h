/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The seam between the engine and models of kernels (FLEP, section 4.2): how long a launch runs
 * alone on the whole device, what preempting it costs, and how its speed follows from the blocks on
 * an SM. The engine asks at every submission and teaches at every end, so no function may block.
 * Times are in ns. profile.c has the model that the engine uses if it is given none. */
#ifndef HEDDLE_SCHED_MODEL_H
#define HEDDLE_SCHED_MODEL_H

#include "base/base.h"

#define SCHED_UNKNOWN UINT64_MAX /* a time that nobody can tell yet */
#define SCHED_INPUTS  12u        /* figures that tell how large a launch's input is */
#define SCHED_PER_SM  32u        /* most blocks on an SM */

/* A launch, as a model sees it. Its features are the paper's. */
struct sched_shape {
	uint64_t kernel;                /* equal kernels of one user have equal numbers */
	uint64_t total;                 /* blocks; at least 1 */
	uint32_t threads, shared_bytes; /* of a block */
	uint32_t n_sms;                 /* of the device; at least 1 */
	float input[SCHED_INPUTS];      /* finite, at least 0; their meaning is the caller's */
};

/* Two kernels that share each SM. */
struct sched_pair {
	uint64_t kernel[2];
	uint32_t count[2]; /* blocks of each on an SM, at least 1 */
	uint32_t most[2];  /* blocks of each that an SM holds alone, 1 to SCHED_PER_SM */
};

/* All functions belong to one thread. */
struct sched_model {
	const char *name;
	/* The engine's own state, where it is given none. NULL: out of memory. */
	void *(*create)(void);
	void (*destroy)(void *state);
	/* SCHED_UNKNOWN: nothing like this launch has run yet. */
	uint64_t (*predict)(void *state, const struct sched_shape *s);
	/* A launch of this shape ran for ran_ns, in time on the whole device. disturbed: it was
	 * preempted, so ran_ns is longer than alone by an unknown amount. */
	void (*learn)(void *state, const struct sched_shape *s, uint64_t ran_ns, bool disturbed);
	/* otherwise: the answer for a kernel that has never been preempted. */
	uint64_t (*cost)(void *state, uint64_t kernel, uint64_t otherwise);
	void (*learn_cost)(void *state, uint64_t kernel, uint64_t cost_ns);
	/* So many blocks took sm_ns (SMs times the time on them) where an SM held at most per_sm
	 * blocks (1 to SCHED_PER_SM), under whatever quotas. NULL: not wanted. */
	void (*learn_curve)(void *state, const struct sched_shape *s, uint32_t per_sm,
		uint64_t blocks, uint64_t sm_ns);
	/* An SM's time for a block with i + 1 blocks on it, in ns; 0: not known. NULL: never known.
	 */
	void (*curve)(void *state, uint64_t kernel, float ret_ns[SCHED_PER_SM]);
	/* An SM's time for a block of each kernel beside the other, in ns. 0 or -ENOENT: not known.
	 * NULL: never known. */
	int (*pair)(void *state, const struct sched_pair *p, float ret_ns[2]);
	/* So many blocks of kernel 0 took sm_ns (as for learn_curve) beside kernel 1. False: the
	 * model cannot use that, as it does not know the curves yet. NULL where pair is. */
	bool (*learn_pair)(
		void *state, const struct sched_pair *p, uint64_t blocks, uint64_t sm_ns);
};

/* Means: of a grid's launches, for other grids the time per block, and of curves; pairs by pair.h.
 */
extern const struct sched_model sched_model_means;

#endif
