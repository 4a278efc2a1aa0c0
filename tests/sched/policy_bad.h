/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a test that links policy_bad.c defines; the shared object has a bad_view that does nothing.
 */
#ifndef HEDDLE_TESTS_POLICY_BAD_H
#define HEDDLE_TESTS_POLICY_BAD_H

#include "heddle/policy.h"

/* Before each decision. */
void bad_view(const struct heddle_policy_view *in);

#endif
