/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How often warps ran each line of a program's text: of vprogram.counts, by line. */
#ifndef HEDDLE_VGPU_COUNTS_H
#define HEDDLE_VGPU_COUNTS_H

#include "dev/cpu/code.h"

/* Once it is decoded; ahead of its being freed. */
void vgpu_counts_begin(struct vprogram *p);
void vgpu_counts_end(struct vprogram *p);

#endif
