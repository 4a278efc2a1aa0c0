/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Unmanaged work of a tenant (opaque.c). follow.h reports when it is complete. */
#ifndef HEDDLE_SHIM_OPAQUE_H
#define HEDDLE_SHIM_OPAQUE_H

#include "shim/order/follow.h"

/* Call these around an unmanaged launch. opaque_begin waits while heddled holds the tenant's
 * launches back, or while the tenant has too much work in flight. */
void opaque_begin(struct session *session, struct stream *s, uint64_t what, struct opaque *ret);
/* Replaces opaque_begin for short work, such as a memset. Never waits, and counts the work only
 * under MPS. */
void opaque_pass(struct session *session, struct stream *s, struct opaque *ret);
void opaque_end(struct session *session, struct stream *s, const struct opaque *o, CUresult r);
/* Makes waiting threads check again whether they may launch. */
void opaque_wake(struct session *session);

#endif
