/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides which statements may be duplicated (parting.c). */
#ifndef HEDDLE_PASS_PARTING_H
#define HEDDLE_PASS_PARTING_H

#include "ptx/ptx.h"

/* Returns whether s is a list of branch targets, or uses one. Such statements must not be
 * duplicated. */
bool pass_stands_once(const struct ptx_stmt *s);

#endif
