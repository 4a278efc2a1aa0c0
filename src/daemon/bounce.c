/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps the grants of a program whose grants are revoked before the device sees them. If
 * programs that are no tenants share the device, a new grant waits for the program's time slice
 * among them. The next launch of higher priority also waits for a slice, and may always come
 * just before the program's. Then each round ends with the one claim that the program is sure of
 * (ctl/control.h), and the program hardly makes progress (an H200 with eight busy processes:
 * more than 28 times the native time). So after a few such rounds in a row, nothing is taken
 * from the program until it has had the device for a while. The higher tenant shares the device
 * for that time, as it would without heddle. If tenants are alone on the device, it sees a grant
 * within microseconds, and this does not happen. */
#include "daemon.h"

#define BOUNCES   4u        /* revoked grants in a row after which a grant is kept */
#define HOLDS_NS  1000000u  /* from when the device has seen the grant: half a time slice */
#define GIVEUP_NS 50000000u /* limit for a grant that the device does not see */
#define LOOK_NS   100000u

static uint64_t seen_ns(const struct hd_tenant *t, uint32_t slot)
{
	return __atomic_load_n(&t->page->slots[slot].host.seen_ns, __ATOMIC_ACQUIRE);
}

/* The device has seen the last grant, or that launch has ended. */
static bool is_grant_seen(const struct hd_tenant *t)
{
	const struct hd_bounce *b = &t->bounce;

	return t->slots[b->slot].id != b->id || seen_ns(t, b->slot) != b->seen_ns;
}

void hd_bounce_granted(struct hd *d, struct hd_slot *s)
{
	struct hd_tenant *t = s->tenant;
	struct hd_bounce *b = &t->bounce;

	if (b->kept)
		return;
	if (b->granted && is_grant_seen(t))
		b->n = 0;
	b->slot = (uint32_t)(s - t->slots);
	b->id = s->id;
	b->seen_ns = seen_ns(t, b->slot);
	b->granted = true;
	b->noticed = false;
	if (b->n < BOUNCES)
		return;
	b->kept = true;
	b->until_ns = d->now_ns + GIVEUP_NS;
	sched_keep(t->device->sched, t->sched, true);
	hd_event_tenant(d, "keep", t);
}

void hd_bounce_taken(struct hd_slot *s)
{
	struct hd_tenant *t = s->tenant;
	struct hd_bounce *b = &t->bounce;

	if (!b->granted || b->slot != s - t->slots || b->id != s->id)
		return;
	b->granted = false;
	b->n = is_grant_seen(t) ? 0 : b->n + 1;
}

uint64_t hd_bounce_look(struct hd *d, struct hd_tenant *t)
{
	struct hd_bounce *b = &t->bounce;

	if (!b->kept)
		return UINT64_MAX;
	if (!b->noticed && is_grant_seen(t)) {
		b->noticed = true;
		b->until_ns = d->now_ns + HOLDS_NS;
	}
	if (d->now_ns < b->until_ns)
		return MIN(b->until_ns - d->now_ns, LOOK_NS);
	b->kept = b->granted = false;
	b->n = BOUNCES - 1; /* keeps a grant sooner next time, if nothing has changed */
	sched_keep(t->device->sched, t->sched, false);
	hd_event_tenant(d, "unkeep", t);
	return UINT64_MAX;
}
