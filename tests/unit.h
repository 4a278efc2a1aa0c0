/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What every cmocka program includes: cmocka wants these headers ahead of its own. */
#ifndef HEDDLE_TESTS_UNIT_H
#define HEDDLE_TESTS_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
