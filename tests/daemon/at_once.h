/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For tests that mostly wait, and share nothing: all run at the same time, each in a process of its
 * own. So the program takes as long as the longest of them, and not as all together. */
#ifndef HEDDLE_TESTS_AT_ONCE_H
#define HEDDLE_TESTS_AT_ONCE_H

#include "unit.h"

/* Returns how many tests have failed. Prints the output of each test when it has ended. */
int run_at_once(const struct CMUnitTest *tests, size_t count);

#endif
