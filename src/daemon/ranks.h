/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How tenants of one priority bound the work of those of a lower one (apply.c). */
#ifndef HEDDLE_DAEMON_RANKS_H
#define HEDDLE_DAEMON_RANKS_H

#include <stdint.h>

struct hd;
struct hd_device;

/* The tenants of one priority. Only hd_set_bounds uses it. */
struct hd_rank {
	int priority;
	uint64_t last_ns; /* when one of these tenants last had work that bounds others; 0: never */
};

/* Tells the tenants what they must report, after one has joined, left, or changed its priority. */
void hd_watch(struct hd *d, struct hd_device *dev);
/* Bounds the amount of unmanaged (opaque) work in flight. Returns the time in ns until the next
 * bound expires. */
uint64_t hd_set_bounds(struct hd *d, struct hd_device *dev);

#endif
