/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Classifies barriers and warp operations (warps.c). */
#ifndef HEDDLE_PASS_WARPS_H
#define HEDDLE_PASS_WARPS_H

#include "ptx/ptx.h"

/* True for barrier 0 without a thread count that is not an arrive. */
bool pass_is_plain_barrier(const struct ptx_stmt *s);
/* True for matrix operations, which no lane of the warp may miss. */
bool pass_needs_whole_warp(const struct ptx_stmt *s);

#endif
