/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Preemptible forms of the program's kernels. */
#ifndef HEDDLE_SHIM_FORM_H
#define HEDDLE_SHIM_FORM_H

#include "pass/pass.h"
#include "shim/core/lock.h"
#include "shim/form/compiled.h"
#include "shim/form/known.h"
#include "shim/order/pads.h"

#define KERNEL_SHAPES (KNOWN_MAX / 2)
/* A preemptible form, loaded in the context that the shim uses. */
struct form {
	/* A second form of the same kernel that uses fewer registers; NULL if there is none. More
	 * of its blocks fit on an SM, but it may spill registers. The shim measures which of the
	 * two is faster. */
	struct form *other;
	struct kernel *kernel;
	struct compiled on;
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* offsets and sizes of the kernel's own parameters */
	uint32_t regs, static_shared, local, max_threads;
	uint32_t native_threads; /* max_threads of the original kernel; 0: not queried yet */
	/* limit of dynamic shared memory after raising it for padding; 0: not raised */
	uint32_t raised;
	uint32_t which;            /* 1: this is another form's `other`; known.h calls it `form` */
	const struct known *known; /* measured speeds from earlier starts, for both forms */
	uint32_t n_known;
	_Atomic uint32_t retried_at;
	/* the daemon's carveout percentage that is applied now; 0: the driver's default */
	_Atomic uint32_t carveout;
	uint8_t known_key[32]; /* cache key of `known`; not used in a second form */
	/* Sizes of allocations as the driver last reported them (inputs.c); guarded by `lock`. */
	struct form_input {
		uint64_t value, bytes;
		uint32_t epoch, uses;
	} input[WIRE_INPUTS];
	struct lock lock;
	/* Properties of launches with the same block size, shared memory and class of grid
	 * size. The grid size matters, because in a much smaller grid each block usually does much
	 * more work. */
	struct form_shape {
		uint32_t threads, shared, scale; /* scale: see known.h */
		/* number of workers that fit on an SM; 0: none fits */
		uint32_t per_sm;
		/* occupancy of the program's own kernel, in blocks per SM; known only for kernels
		 * whose blocks wait for each other (rising_order) */
		uint32_t as_it_is;
		struct pads pads; /* used by guard forms */
		struct pace pace;
	} shape[KERNEL_SHAPES];
	unsigned n_shapes;
};

/* Unloads the form's code and that of its `other`. Their records stay: launches may still read
 * them. */
void form_unload(struct session *session, struct form *f);
/* Frees the form and its `other` after the context has ended. No thread uses them any more. */
void form_free_ended(struct form *f);
void form_free(struct form *f); /* frees the record, but neither its code nor its second form */

#endif
