/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs tests that mostly wait and share nothing in parallel, each in its own process, so that the
 * program takes as long as its longest test and not as their sum. */
#ifndef HEDDLE_TESTS_AT_ONCE_H
#define HEDDLE_TESTS_AT_ONCE_H

#include "unit.h"

/* Returns the number of failed tests. Prints each test's output when the test ends. */
int run_at_once(const struct CMUnitTest *tests, size_t count);

#endif
