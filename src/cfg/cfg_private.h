/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Declarations that the files of this folder share. */
#ifndef HEDDLE_CFG_PRIVATE_H
#define HEDDLE_CFG_PRIVATE_H

#include "cfg/cfg.h"

struct cfg_order {
	uint32_t *at; /* block numbers in postorder, from malloc */
	uint32_t n;
};
int cfg_walk(const struct cfg *g, uint32_t start, bool backwards, struct cfg_order *ret);
/* Computes idom, ipdom, and the intervals of both trees. */
int cfg_find_dominators(struct cfg *g);

/* Returns in *ret the greatest total weight of registers that are live at the same time. `weight`
 * has one entry per register. -ENOMEM if out of memory. (in live.c) */
int cfg_peak(
	const struct cfg *g, const struct cfg_liveness *l, const uint8_t *weight, uint32_t *ret);

/* ---- linear.c: known properties of integer registers ---- */
struct cfg_linear {
	bool blocks_1d;
	uint8_t *number; /* for each register: 1 if it holds the thread's index within its block */
	uint8_t *zeros;  /* for each register: how many of its low bits are known to be 0 */
};
int cfg_linear_find(const struct cfg *g, bool blocks_1d, struct cfg_linear *ret);
void cfg_linear_finish(struct cfg_linear *l); /* call it after a failure, too */
bool cfg_is_thread_number(const struct cfg_linear *l, const struct ptx_opd *o);
unsigned cfg_zeros(const struct cfg_linear *l, const struct ptx_opd *o);
/* true for 32-bit and 64-bit integers, including mul.lo */
bool cfg_is_plain_integer(const struct ptx_mnem *mn);

#endif
