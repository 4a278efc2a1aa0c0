/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts how often warps execute each line of a program's text, in vprogram.counts. */
#ifndef HEDDLE_VGPU_COUNTS_H
#define HEDDLE_VGPU_COUNTS_H

#include "dev/cpu/code.h"

/* Call vgpu_counts_begin after decoding the program, and vgpu_counts_end before freeing it. */
void vgpu_counts_begin(struct vprogram *p);
void vgpu_counts_end(struct vprogram *p);

#endif
