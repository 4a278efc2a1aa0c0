/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Revoked grants: if a program's grants are revoked again and again before the device has seen
 * them, the program keeps a grant for a while (bounce.c has the reason). */
#ifndef HEDDLE_DAEMON_BOUNCE_H
#define HEDDLE_DAEMON_BOUNCE_H

#include <stdbool.h>
#include <stdint.h>

struct hd;
struct hd_slot;
struct hd_tenant;

/* The part of struct hd_tenant. */
struct hd_bounce {
	/* the launch that was granted last, and its host.seen_ns at that time */
	uint64_t id, seen_ns;
	uint32_t slot;
	uint32_t n; /* grants in a row that were revoked before the device saw them */
	bool granted, noticed, kept;
	uint64_t until_ns; /* if kept: until when nothing is taken from the tenant */
};

/* Call these before the word that grants a launch, and before the launch is counted as
 * preempted. */
void hd_bounce_granted(struct hd *d, struct hd_slot *s);
void hd_bounce_taken(struct hd_slot *s);
/* Call it before each decision. Returns the ns until its next call; UINT64_MAX: none is needed. */
uint64_t hd_bounce_look(struct hd *d, struct hd_tenant *t);

#endif
