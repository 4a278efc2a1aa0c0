/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The daemon's core in virtual time, with tenants that a test plays: they write in their pages what
 * shims and relays would. */
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

struct hd *make(void (*change)(struct hd_config *c)); /* NULL: as it is */
struct fake join(struct hd *d, int priority, bool cpu);
/* As another user, on a device of any name; what hd_tenant_add says. */
int join_as(struct hd *d, unsigned uid, const char *device, struct fake *ret);
void leave(struct hd *d, struct fake *f);
/* As the shim does. */
struct wire_slot *submit(struct hd *d, struct fake *f, unsigned slot, uint64_t total);
/* As its relay does. */
void arrive(const struct wire_page *page, struct wire_slot *w);
void drain(struct wire_slot *w);
void finish(struct wire_slot *w);
/* It arrives and ends, the daemon looking on. */
void run_through(struct hd *d, struct fake *f, struct wire_slot *w);
/* As the shim does, once it has seen the end. */
void close_slot(struct hd *d, struct fake *f, struct wire_slot *w);
unsigned allowed(const struct wire_slot *w); /* SMs */

#endif
