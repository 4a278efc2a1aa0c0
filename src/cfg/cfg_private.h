/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the files of this folder share. */
#ifndef HEDDLE_CFG_PRIVATE_H
#define HEDDLE_CFG_PRIVATE_H

#include "cfg/cfg.h"

struct cfg_order {
	uint32_t *at; /* malloc'ed; postorder */
	uint32_t n;
};
int cfg_walk(const struct cfg *g, uint32_t start, bool backwards, struct cfg_order *ret);
/* Fills idom and ipdom, and where blocks are in the trees of these. */
int cfg_find_dominators(struct cfg *g);

#endif
