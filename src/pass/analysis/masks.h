/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Member masks of warp operations (masks.c). */
#ifndef HEDDLE_PASS_MASKS_H
#define HEDDLE_PASS_MASKS_H

#include "cfg/cfg.h"

/* The operand of s that holds the member mask; NULL: s has none. */
const struct ptx_opd *pass_mask_of(const struct ptx_stmt *s);
/* If the mask of warp operation s holds no lane that diverged at the end of block `parting` and
 * exited, returns the block that computes the mask; else CFG_NONE. */
struct pass_masks;
int pass_masks_find(struct arena *a, const struct cfg *g, struct pass_masks **ret);
uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s);
/* Returns a block such that the mask of s holds only lanes that left this block by the same edge;
 * CFG_NONE: none. */
uint32_t pass_mask_of_stayers(struct pass_masks *m, const struct ptx_stmt *s);
/* Whether a path leads from block `from` to block `to` without passing either block of `past`. */
bool pass_way_leads(struct pass_masks *m, uint32_t from, uint32_t to, const uint32_t past[2]);

#endif
