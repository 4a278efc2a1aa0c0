/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Declares the function that a test that links policy_bad.c defines; in the shared object it does
 * nothing. */
#ifndef HEDDLE_TESTS_POLICY_BAD_H
#define HEDDLE_TESTS_POLICY_BAD_H

#include "heddle/policy.h"

/* Called before each decision. */
void bad_view(const struct heddle_policy_view *in);

#endif
