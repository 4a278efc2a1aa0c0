/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lets a program keep its grant for a while if heddled has revoked its grants several times before
 * the device saw them.
 *
 * If programs that are not tenants use the same GPU, the GPU runs all programs in time slices. The
 * device then sees a new grant of a tenant only when that tenant's slice begins. A second tenant,
 * of higher priority, waits for its slices, too. Each time, its next launch can arrive just before
 * the first tenant's slice begins, and heddled then revokes the first tenant's grant. In each
 * slice, the first tenant executes little: one worker on each SM makes one claim before it reads
 * its quota (doc/protocol.md, CTL_ONCE). On an H200 with eight busy processes, this was more than
 * 28 times slower than without heddle.
 *
 * So after a few revoked grants in a row, heddled revokes nothing of the first tenant until it has
 * had the device for a while. The tenant of higher priority shares the device for that time, as it
 * would without heddle. If only tenants use the GPU, the device usually sees a grant within
 * microseconds, and heddled need not do this. */
#include "daemon.h"
#include "events.h"

/* after this many revoked grants in a row, heddled keeps the next one */
#define BOUNCES 4u
/* how long a grant is kept after the device saw it: half a time slice */
#define HOLDS_NS  1000000u
#define GIVEUP_NS 50000000u /* how long a grant is kept if the device does not see it */
#define LOOK_NS   100000u

static uint64_t seen_ns(const struct hd_tenant *t, uint32_t slot)
{
	return __atomic_load_n(&t->page->slots[slot].host.seen_ns, __ATOMIC_ACQUIRE);
}

/* Returns true if the device has seen the last grant, or if the granted launch has ended. */
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
	b->n = BOUNCES - 1; /* next time, one revoked grant is enough to keep the following one */
	sched_keep(t->device->sched, t->sched, false);
	hd_event_tenant(d, "unkeep", t);
	return UINT64_MAX;
}
