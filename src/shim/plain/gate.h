/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Unmanaged launches whose stream waits until heddled admits them (gate.c). */
#ifndef HEDDLE_SHIM_GATE_H
#define HEDDLE_SHIM_GATE_H

#include "shim/core/launch.h"
#include "shim/form/kernel.h"
#include "shim/order/stream.h"

bool gate_suits(struct session *session, const struct launch *l, struct kernel *k);
/* Call this before the launch. If it returns false, launch without a gate. */
bool gate_begin(struct session *session, struct stream *s);
void gate_end(struct session *session, struct stream *s, CUresult r);
bool gate_open(struct session *session);

#endif
