/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program that links strict.c aborts with a message at an illegal transition of a launch's or
 * tenant's state. It also counts the legal transitions of launches. */
#ifndef HEDDLE_TESTS_STRICT_H
#define HEDDLE_TESTS_STRICT_H

#include "sched/engine/launch_state.h"
#include "sched/engine/tenant_state.h"

extern unsigned strict_taken[LAUNCH_STATES][LAUNCH_STATES];
/* illegal: from now on a test makes illegal transitions on purpose, so do not abort at them. */
void strict_allow(bool illegal);

#endif
