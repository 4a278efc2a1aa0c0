/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Programs whose grants are withdrawn before the device has noticed them, again and again, keep one
 * (bounce.c says why). */
#ifndef HEDDLE_DAEMON_BOUNCE_H
#define HEDDLE_DAEMON_BOUNCE_H

#include <stdbool.h>
#include <stdint.h>

struct hd;
struct hd_slot;
struct hd_tenant;

/* Of a tenant. */
struct hd_bounce {
	uint64_t id, seen_ns; /* of the launch that was granted last, and what it had noticed */
	uint32_t slot;
	uint32_t n; /* grants in a row that were withdrawn before they were noticed */
	bool granted, noticed, kept;
	uint64_t until_ns; /* kept: nothing is taken from it */
};

/* Ahead of the word that grants a launch, and of what counts it as preempted. */
void hd_bounce_granted(struct hd *d, struct hd_slot *s);
void hd_bounce_taken(struct hd_slot *s);
/* Ahead of each decision. In how many ns it wants to look again; UINT64_MAX: it need not. */
uint64_t hd_bounce_look(struct hd *d, struct hd_tenant *t);

#endif
