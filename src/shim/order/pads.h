/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Padding of guard launches: if each block gets more dynamic shared memory, fewer blocks of the
 * grid fit on an SM (control.h). The paper "Adaptive simultaneous multi-tenancy", section 3.3,
 * shrinks kernels by ending blocks, which the guard form cannot do. */
#ifndef HEDDLE_SHIM_PADS_H
#define HEDDLE_SHIM_PADS_H

#include "ctl/args.h"
#include "ctl/words.h"

#define PADS_MAX 31u /* the largest quota that bounds the blocks on an SM */

/* The paddings for launches of one kernel with one block size and amount of shared memory. */
struct pads {
	/* bit n: padding can limit an SM to n blocks, which is less than fit */
	uint32_t counts;
	uint32_t fit; /* number of blocks that fit on an SM without padding */
	/* at n: dynamic shared memory per block for n blocks, in bytes */
	uint32_t shared[PADS_MAX + 1];
};

/* Returns the number of blocks per SM to use for this quota; 0 means as many as fit. If no padding
 * allows exactly the quota, it is the next smaller possible number, or else the smallest possible
 * one. Also sets io->least and io->more: the result is the same for all quotas from least to least
 * + more, so within this range a new quota needs no new grid. */
uint32_t pads_choose(const struct pads *p, uint32_t quota, struct ctl_args *io);
/* Returns the smallest quota above 0 of all SMs; 0 if all quotas are 0. A grid has the same padding
 * on all SMs, so the smallest quota decides the padding. */
uint32_t pads_least(const uint8_t quota[CTL_MAX_SMS], uint32_t n_sms);

#endif
