/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kinds of barriers and warp operations (warps.c). */
#ifndef HEDDLE_PASS_WARPS_H
#define HEDDLE_PASS_WARPS_H

#include "ptx/ptx.h"

bool pass_is_plain_barrier(const struct ptx_stmt *s); /* number 0, no count, not arrive */
bool pass_needs_whole_warp(const struct ptx_stmt *s); /* matrices: no lane can have left */

#endif
