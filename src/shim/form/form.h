/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Preemptible forms of kernels. */
#ifndef HEDDLE_SHIM_FORM_H
#define HEDDLE_SHIM_FORM_H

#include "pass/pass.h"
#include "shim/core/lock.h"
#include "shim/form/compiled.h"
#include "shim/form/known.h"
#include "shim/order/pads.h"

#define KERNEL_SHAPES (KNOWN_MAX / 2)
/* A preemptible form, loaded in the shim's context. */
struct form {
	/* A second form of the same kernel that uses fewer registers; NULL if there is none. More
	 * of its blocks fit on an SM, but it may spill registers. The shim measures which of the
	 * two is faster. */
	struct form *other;
	struct kernel *kernel;
	struct compiled on;
	struct pass_kernel_info info;
	uint32_t *offsets, *sizes; /* of the kernel's own parameters */
	uint32_t regs, static_shared, local, max_threads;
	uint32_t native_threads;   /* max_threads of the program's own kernel; 0: not asked yet */
	uint32_t raised;           /* limit of dynamic shared memory, for padding; 0: not raised */
	uint32_t which;            /* 1: this is another form's `other`; as `form` in known.h */
	const struct known *known; /* from earlier starts, for both forms */
	uint32_t n_known;
	_Atomic uint32_t retried_at;
	_Atomic uint32_t carveout; /* percent that the daemon named, as applied; 0: its own */
	uint8_t known_key[32];     /* the cache's key for `known`; unused in an `other` */
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
		uint32_t threads, shared, scale; /* scale: as in known.h */
		uint32_t per_sm;                 /* workers on an SM; 0: does not fit */
		/* occupancy of the program's own kernel, in blocks per SM; known only for kernels
		 * whose blocks wait for each other (rising_order) */
		uint32_t as_it_is;
		struct pads pads; /* of guard forms */
		struct pace pace;
	} shape[KERNEL_SHAPES];
	unsigned n_shapes;
};

/* Unloads the form's code and that of its `other`. Their records stay: launches may still read
 * them. */
void form_unload(struct session *session, struct form *f);
/* Frees the form and its `other` after the context has ended. No thread uses them any more. */
void form_free_ended(struct form *f);
void form_free(struct form *f); /* without its code and its other */

#endif
