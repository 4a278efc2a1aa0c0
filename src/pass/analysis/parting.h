/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tells which statements can be written twice (parting.c). */
#ifndef HEDDLE_PASS_PARTING_H
#define HEDDLE_PASS_PARTING_H

#include "ptx/ptx.h"

/* It cannot be: a list of labels that other statements name. */
bool pass_stands_once(const struct ptx_stmt *s);

#endif
