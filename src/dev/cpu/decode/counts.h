/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How often warps executed each line of a program's text: vprogram.counts, by line. */
#ifndef HEDDLE_VGPU_COUNTS_H
#define HEDDLE_VGPU_COUNTS_H

#include "dev/cpu/code.h"

/* Call begin after decoding, and end before freeing the program. */
void vgpu_counts_begin(struct vprogram *p);
void vgpu_counts_end(struct vprogram *p);

#endif
