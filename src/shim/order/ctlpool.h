/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control blocks: device memory that the managed launches of a stream use one after another. Each
 * stream has one control block. */
#ifndef HEDDLE_SHIM_CTLPOOL_H
#define HEDDLE_SHIM_CTLPOOL_H

#include "shim/order/stream.h"

/* Allocates the first control blocks. Returns -ENOTSUP if streams cannot wait for a value in a
 * control block. The shim's context must be current. */
int ctlpool_init(struct session *session);
/* Gives the stream a control block. Returns false if there is no memory for one. */
bool ctlpool_give(struct session *session, struct stream *s);
void ctlpool_take_back(struct session *session, struct stream *s);
/* Forgets all blocks, after the end of their context. */
void ctlpool_drop_all(struct session *session);
bool ctlpool_open(struct session *session);

#endif
