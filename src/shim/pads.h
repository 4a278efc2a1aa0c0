/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Padding of guard launches: with more dynamic shared memory, fewer blocks of a grid fit on an SM
 * (control.h). "Adaptive simultaneous multi-tenancy", section 3.3, shrinks kernels by ending
 * blocks, which the guard form cannot do. */
#ifndef HEDDLE_SHIM_PADS_H
#define HEDDLE_SHIM_PADS_H

#include "ctl/args.h"
#include "ctl/words.h"

#define PADS_MAX 31u /* the largest bounded quota */

/* For launches of one kernel with one block size and shared memory. */
struct pads {
	/* bit n: padding can limit an SM to n blocks, fewer than fit */
	uint32_t counts;
	uint32_t fit;                  /* blocks that an SM holds without padding */
	uint32_t shared[PADS_MAX + 1]; /* by n: dynamic shared memory of a block, bytes */
};

/* Asks the driver how many blocks an SM holds, by amount of dynamic shared memory. shared: bytes of
 * the program's launch. ret->counts is 0 if the driver refuses. */
struct form;
void pads_find(struct form *f, uint32_t threads, uint32_t shared, struct pads *ret);
/* The number of blocks for this quota; 0: as many as fit. Sets `least` and `more` of the arguments
 * to the quotas that this number serves. If padding cannot reach a number, the next smaller one is
 * used, or else the smallest. */
uint32_t pads_choose(const struct pads *p, uint32_t quota, struct ctl_args *io);
/* The smallest quota above 0, since a grid has one padding on all SMs. 0: all quotas are 0. */
uint32_t pads_least(const uint8_t quota[CTL_MAX_SMS], uint32_t n_sms);

#endif
