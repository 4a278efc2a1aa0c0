/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* If heddled revokes the grants of a program again and again before the device has seen them, the
 * program keeps a grant for a while. bounce.c gives the reason. */
#ifndef HEDDLE_DAEMON_BOUNCE_H
#define HEDDLE_DAEMON_BOUNCE_H

#include <stdbool.h>
#include <stdint.h>

struct hd;
struct hd_slot;
struct hd_tenant;

/* The state of this file in struct hd_tenant. */
struct hd_bounce {
	/* the launch of the last grant, and the value of its host.seen_ns at that time */
	uint64_t id, seen_ns;
	uint32_t slot;
	/* number of successive grants that heddled revoked before the device saw them */
	uint32_t n;
	bool granted, noticed, kept;
	uint64_t until_ns; /* if kept: heddled takes no SMs from the tenant until this time */
};

/* Call these before the control word of a grant is stored, and before a launch is counted as
 * preempted, respectively. */
void hd_bounce_granted(struct hd *d, struct hd_slot *s);
void hd_bounce_taken(struct hd_slot *s);
/* Call this in each pass of the loop. Returns the time in ns until it must be called again, or
 * UINT64_MAX if that is not necessary. */
uint64_t hd_bounce_look(struct hd *d, struct hd_tenant *t);

#endif
