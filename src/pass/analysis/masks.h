/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whom the operations of a warp wait for (masks.c). */
#ifndef HEDDLE_PASS_MASKS_H
#define HEDDLE_PASS_MASKS_H

#include "cfg/cfg.h"

/* The operand that names whom a warp operation waits for; NULL: none does. */
const struct ptx_opd *pass_mask_of(const struct ptx_stmt *s);
/* Of a warp operation whose mask holds no lane that parted at the end of a block, and
 * left, the block where the mask is from, else CFG_NONE. */
struct pass_masks;
int pass_masks_find(struct arena *a, const struct cfg *g, struct pass_masks **ret);
uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s);
/* A block such that its mask holds only lanes that went one way at the end of that, else CFG_NONE.
 */
uint32_t pass_mask_of_stayers(struct pass_masks *m, const struct ptx_stmt *s);
/* A way from the beginning of a block to that of another, through neither of two. */
bool pass_way_leads(struct pass_masks *m, uint32_t from, uint32_t to, const uint32_t past[2]);

#endif
