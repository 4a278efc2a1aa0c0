/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Programs that make way before they are back. Where others use the device who are no tenants, a
 * program that is granted again waits for its turn among them, and its turn may always come just
 * after the next launch of higher priority, which waits for a turn, too: then each round ends with
 * the one claim that it has for sure (ctl/control.h), and it hardly gets on (seen on an H200 with
 * eight busy processes: more than 28 times as long as natively). So nothing is taken from who was
 * sent away so a few times in a row until it has had the device for a while: what is above shares
 * it for that long, as it would without us. Where tenants are alone the device notices a grant in
 * microseconds, and none of this happens. */
#include "daemon.h"

#define BOUNCES   4u        /* in a row, until a grant holds */
#define HOLDS_NS  1000000u  /* from when the device has noticed: half of a time slice */
#define GIVEUP_NS 50000000u /* if it does not */
#define LOOK_NS   100000u

static uint64_t seen_ns(const struct hd_tenant *t, uint32_t slot)
{
	return __atomic_load_n(&t->page->slots[slot].host.seen_ns, __ATOMIC_ACQUIRE);
}

/* The device has, of what was granted last; or that is over. */
static bool is_noticed(const struct hd_tenant *t)
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
	if (b->granted && is_noticed(t))
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
	b->n = is_noticed(t) ? 0 : b->n + 1;
}

uint64_t hd_bounce_look(struct hd *d, struct hd_tenant *t)
{
	struct hd_bounce *b = &t->bounce;

	if (!b->kept)
		return UINT64_MAX;
	if (!b->noticed && is_noticed(t)) {
		b->noticed = true;
		b->until_ns = d->now_ns + HOLDS_NS;
	}
	if (d->now_ns < b->until_ns)
		return MIN(b->until_ns - d->now_ns, LOOK_NS);
	b->kept = b->granted = false;
	b->n = BOUNCES - 1; /* the next time sooner, if nothing has changed */
	sched_keep(t->device->sched, t->sched, false);
	hd_event_tenant(d, "unkeep", t);
	return UINT64_MAX;
}
