/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Analyzes member masks of warp operations (masks.c). */
#ifndef HEDDLE_PASS_MASKS_H
#define HEDDLE_PASS_MASKS_H

#include "cfg/cfg.h"

/* Returns the operand of s that holds the member mask; NULL: s has none. */
const struct ptx_opd *pass_mask_of(const struct ptx_stmt *s);
/* pass_young_mask returns the basic block that computes the mask of warp operation s. It returns
 * CFG_NONE if s has no mask, or if the mask may contain a lane that diverged at the end of block
 * `parting` and exited. */
struct pass_masks;
int pass_masks_find(struct arena *a, const struct cfg *g, struct pass_masks **ret);
uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s);
/* Returns a basic block such that all lanes in the mask of s leave this block by the same edge;
 * CFG_NONE: there is none. */
uint32_t pass_mask_of_stayers(struct pass_masks *m, const struct ptx_stmt *s);
/* Returns whether a path leads from basic block `from` to `to` without passing one of the two
 * blocks in `past`. */
bool pass_way_leads(struct pass_masks *m, uint32_t from, uint32_t to, const uint32_t past[2]);

#endif
