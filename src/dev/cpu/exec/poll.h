/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Detects warps that wait by polling memory, so that they end their turns early. If all warps of a
 * block poll, the block rests. */
#ifndef HEDDLE_VGPU_POLL_H
#define HEDDLE_VGPU_POLL_H

#include "base/base.h"

#define VX_SPIN_POLL   500
#define VX_POLLS       64 /* in vain, before a warp gives its turn away */
#define VX_WATCHED     8  /* different words that a polling warp may read in turn */
#define VX_POLL_INSNS  64 /* at most between two reads, in a loop that only polls */
#define VX_POLL_CYCLES 200

struct vpolls {
	uint32_t vain, misses; /* looks that saw what was known, and what was new */
	uint32_t first;        /* which of them was seen first */
	bool resting;          /* fell asleep so, and nothing was new or stored since */
	uint64_t issued;       /* the warp's instructions in turns that ended */
	uint64_t since;        /* … and those before the first look in vain */
	uint64_t hash[VX_WATCHED];
};

struct vx;
void vx_poll(struct vx *x, uint64_t hash); /* a strong load or a failed atomic saw this */

#endif
