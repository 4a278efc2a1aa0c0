/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Detects warps that wait by polling memory, so that they end their turns early. If a block has
 * such warps and none that can run, the block rests. */
#ifndef HEDDLE_VGPU_POLL_H
#define HEDDLE_VGPU_POLL_H

#include "base/base.h"

#define VX_SPIN_POLL 500
#define VX_POLLS     64 /* reads without a new value, after which a warp ends its turn */
#define VX_WATCHED   8  /* number of addresses that a polling warp can read in rotation */
/* A loop counts as one that only polls if it executes at most this many instructions per read, on
 * average. */
#define VX_POLL_INSNS  64
#define VX_POLL_CYCLES 200

struct vpolls {
	uint32_t vain, misses; /* number of reads that found a known value, and a new value */
	uint32_t first;        /* index in `hash` of the first read that found a known value */
	/* true if the warp pauses, because no read found a new value and nothing was stored */
	bool resting;
	uint64_t issued; /* instructions that the warp executed in finished turns */
	uint64_t since;  /* value of `issued` at the first read without a new value */
	uint64_t hash[VX_WATCHED];
};

struct vx;
/* Call this after a strong load, or after an atomic operation that changed nothing, with a hash of
 * the addresses and the values that it read. */
void vx_poll(struct vx *x, uint64_t hash);

#endif
