/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs tests in parallel that mostly wait and share nothing. Each has its own process, so the
 * program takes as long as its longest test, not as long as all of them one after the other. */
#ifndef HEDDLE_TESTS_AT_ONCE_H
#define HEDDLE_TESTS_AT_ONCE_H

#include "unit.h"

/* Returns the number of failed tests. Prints each test's output when the test ends. */
int run_at_once(const struct CMUnitTest *tests, size_t count);

#endif
