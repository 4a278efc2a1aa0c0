/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whether a launch needs a round, that is, one more grid of workers (launch/resume.c). */
#ifndef HEDDLE_SHIM_ROUNDS_H
#define HEDDLE_SHIM_ROUNDS_H

#include "shim/order/launches.h"

#define ROUND_SOON_NS 200000u /* after a round without progress: the least wait before the next */
/* Returns in how many ns the shim must launch one more grid of workers for this launch: 0 means
 * now, UINT64_MAX means never. */
uint64_t round_wanted_ns(
	struct session *session, struct managed *m, uint32_t *ret_drains, uint32_t *ret_grow);
/* Returns true if no launch waits for SMs, and each launch that heddled steers has all the workers
 * that it needs. */
bool launches_served(struct session *session);

#endif
