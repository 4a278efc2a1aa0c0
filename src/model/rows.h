/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Converts records of kernels to messages. heddled sends these messages in reply to a request for
 * records. While no heddled runs, the command `heddle` makes the same messages from a store. */
#ifndef HEDDLE_MODEL_ROWS_H
#define HEDDLE_MODEL_ROWS_H

#include "sched/model/durations.h"
#include "wire/wire.h"

void rows_of_kernel(const struct duration_kernel *k, struct wire_kernel *ret);
/* at: one shape of a kernel's record. */
void rows_of_shape(const struct duration_shape *at, struct wire_shape *ret);

#endif
