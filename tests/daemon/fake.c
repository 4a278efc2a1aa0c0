/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Simulated tenants without processes, for a daemon core without a clock. */
#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t now;
unsigned wakes, hold_wakes;

static uint64_t fake_now(void *user)
{
	return now;
}

static void fake_wake(void *user, struct hd_tenant *t, bool hold)
{
	wakes++;
	hold_wakes += hold;
}

struct hd *make(void (*change)(struct hd_config *c))
{
	struct hd_config c = {.policy = &sched_policy_hpf,
		.gates = true,
		.opaque_ns = 1000000,
		.max_tenants = 8,
		.user_tenants = 8};
	struct hd_io io = {fake_now, fake_wake, NULL};
	struct hd *d;

	now = 1000 * MS;
	wakes = hold_wakes = 0;
	if (change)
		change(&c);
	assert_int_equal(hd_create(&c, &io, &d), 0);
	return d;
}

struct fake join(struct hd *d, int priority, bool cpu)
{
	struct wire_hello h = {.priority = priority, .weight = 1, .n_sms = 4, .is_cpu_device = cpu};
	struct ucred cred = {.pid = 1, .uid = 2, .gid = 3};
	struct fake f = {.next_id = 1};
	int fd;

	strcpy(h.device, "GPU-0");
	strcpy(h.name, "fake");
	assert_int_equal(wire_page_create(0, &f.page, &fd), 0);
	close(fd);
	assert_int_equal(hd_tenant_add(d, &cred, &h, priority, 1, f.page, NULL, &f.t), 0);
	return f;
}

int join_as(struct hd *d, unsigned uid, const char *device, struct fake *ret)
{
	struct wire_hello h = {.priority = 1, .weight = 1, .n_sms = 4};
	struct ucred cred = {.pid = 1, .uid = uid, .gid = 3};
	int fd, r;

	*ret = (struct fake){.next_id = 1};
	snprintf(h.device, sizeof(h.device), "%s", device);
	strcpy(h.name, "fake");
	assert_int_equal(wire_page_create(0, &ret->page, &fd), 0);
	close(fd);
	r = hd_tenant_add(d, &cred, &h, 1, 1, ret->page, NULL, &ret->t);
	if (r < 0)
		wire_page_unmap(ret->page);
	return r;
}

void leave(struct hd *d, struct fake *f)
{
	hd_tenant_remove(d, f->t);
	wire_page_unmap(f->page);
	f->t = NULL;
}

struct wire_slot *submit(struct hd *d, struct fake *f, unsigned slot, uint64_t total)
{
	struct wire_slot *w = &f->page->slots[slot];

	memset(w, 0, sizeof(*w));
	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	w->gen = 40 + slot;
	w->id = f->next_id++;
	w->kernel = 99;
	w->total = total;
	w->block[0] = w->block[1] = w->block[2] = 1;
	w->workers_per_sm = 2;
	strcpy(w->name, "kernel");
	w->state = WIRE_SLOT_SUBMITTED;
	if (f->page->watch)
		hd_kicked(d, f->t);
	return w;
}

void arrive(const struct wire_page *page, struct wire_slot *w)
{
	w->host.began = w->host.seq ? 0 : page->begin.seq;
	w->host.arrived_ns = now;
	w->host.arrived = w->gen + 1;
}

void drain(struct wire_slot *w)
{
	w->host.drained_seq = w->host.seq;
	w->host.rounds = w->launches ? w->launches - 1 : 0;
	w->host.drains++;
}

void finish(struct wire_slot *w)
{
	w->host.finished = w->total;
	w->host.done_ns = now;
	w->host.done = w->gen + 1;
}

void run_through(struct hd *d, struct fake *f, struct wire_slot *w)
{
	arrive(f->page, w);
	hd_run(d);
	finish(w);
	hd_run(d);
}

void close_slot(struct hd *d, struct fake *f, struct wire_slot *w)
{
	w->state = WIRE_SLOT_CLOSED;
	hd_kicked(d, f->t);
}

unsigned allowed(const struct wire_slot *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 4; i++)
		n += w->host.quota[i] != 0;
	return n;
}
