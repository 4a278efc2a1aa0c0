/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The daemon's core in virtual time, with tenants that a test simulates: they write to their pages
 * like shims and relays. */
#ifndef HEDDLE_TESTS_FAKE_H
#define HEDDLE_TESTS_FAKE_H

#include "unit.h"

#include "daemon/daemon.h"

#define MS 1000000ull

extern uint64_t now;
extern unsigned wakes, hold_wakes;

struct fake {
	struct hd_tenant *t;
	struct wire_page *page;
	uint64_t next_id;
};

struct hd *make(void (*change)(struct hd_config *c)); /* NULL: no change */
struct fake join(struct hd *d, int priority, bool cpu);
/* Joins as another user, on a device of any name. Returns the result of hd_tenant_add. */
int join_as(struct hd *d, unsigned uid, const char *device, struct fake *ret);
void leave(struct hd *d, struct fake *f);
/* Submits a launch as the shim does. */
struct wire_slot *submit(struct hd *d, struct fake *f, unsigned slot, uint64_t total);
/* Reports an arrival as the relay does. */
void arrive(const struct wire_page *page, struct wire_slot *w);
void drain(struct wire_slot *w);
void finish(struct wire_slot *w);
/* Makes the launch arrive, then end; the daemon runs after each step. */
void run_through(struct hd *d, struct fake *f, struct wire_slot *w);
/* Closes the slot as the shim does after it has seen the end. */
void close_slot(struct hd *d, struct fake *f, struct wire_slot *w);
unsigned allowed(const struct wire_slot *w); /* number of SMs */

#endif
