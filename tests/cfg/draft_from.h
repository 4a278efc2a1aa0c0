/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Converts a function to a draft, so that cfg_write can be tested with the graphs of any code. */
#ifndef HEDDLE_TESTS_CFG_DRAFT_FROM_H
#define HEDDLE_TESTS_CFG_DRAFT_FROM_H

#include "cfg/write.h"

/* Makes a draft from the graph of a function without inner scopes (ptx_flatten). Part i is block i;
 * the virtual exit block has no part. Statements are copied without their operands (a shallow
 * copy). Returns:
 * - -ENOTSUP: a brx with unknown targets, or an instruction that names a label and is not a known
 *   branch
 * - -EINVAL: inner scopes
 * - -ENOMEM */
int draft_from(const struct cfg *g, struct cfg_draft *d);

#endif
