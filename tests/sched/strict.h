/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program that links strict.c aborts at an illegal transition of a launch's state or a tenant's,
 * with a message, and counts the legal ones of launches. */
#ifndef HEDDLE_TESTS_STRICT_H
#define HEDDLE_TESTS_STRICT_H

#include "sched/engine/launch_state.h"
#include "sched/engine/tenant_state.h"

extern unsigned strict_taken[LAUNCH_STATES][LAUNCH_STATES];
/* Illegal transitions are planted from here on, and counted, too. */
void strict_allow(bool illegal);

#endif
