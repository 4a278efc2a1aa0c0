/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Gathers the work that competes for the device:
 * - the launches of each tenant that have arrived. If a tenant has none, its oldest submitted
 *   launch competes for a while, because its workers cannot report its arrival as long as other
 *   launches fill the device;
 * - unmanaged (opaque) work, as one pseudo launch for each tenant. */
#include "engine.h"

#include <errno.h>
#include <string.h>

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static bool fills_device(const struct sched *s, const struct sched_launch *l)
{
	return l->k.total - l->k.finished >= (uint64_t)s->o.n_sms * l->k.workers_per_sm;
}

/* Counts the tenants whose relays take room. A relay is the block of a launch that reads quotas. It
 * stays on the device after a preemption. It is the first block of its grid, and the hardware puts it
 * on the last SMs of an empty device.
 *
 * Counts one relay for each tenant, the one that takes most room. A tenant's launches usually run one
 * after another, and heddled often sees the end of one after the arrival of the next. */
static void find_relay(const struct sched *s, struct sched_tenant *t)
{
	t->relay = t->relay_full = 0;
	for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
		uint8_t workers = (uint8_t)l->k.workers_per_sm;

		if (!quota_any(&l->allowed))
			continue;
		t->relay = t->relay ? MIN(t->relay, workers) : workers;
		if (fills_device(s, l))
			t->relay_full = t->relay_full ? MIN(t->relay_full, workers) : workers;
	}
}

static void count_relays(struct sched *s)
{
	struct sched_level *above = NULL;

	for (struct sched_level *v = s->levels; v; v = v->next) {
		memset(v->relays, 0, sizeof(v->relays));
		memset(v->relays_full, 0, sizeof(v->relays_full));
		memset(v->relays_below, 0, sizeof(v->relays_below));
		v->above = above;
		above = v;
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		find_relay(s, t);
		t->level->relays[t->relay]++;
		t->level->relays_full[t->relay_full]++;
	}
	for (struct sched_level *v = above; v && v->above; v = v->above) {
		for (unsigned i = 0; i <= SCHED_PER_SM; i++)
			v->above->relays_below[i] = v->relays[i] + v->relays_below[i];
	}
}

/* Returns how much room the relays of other tenants with the same or a lower priority take, counted
 * in workers of l. Of tenants of the same priority, only the relays of launches that fill the device
 * count, because smaller launches may leave room. */
static uint64_t relays_below(const struct sched_launch *l)
{
	const struct sched_level *v = l->tenant->level;
	uint64_t n = 0;

	if (sms_any(&l->reserved))
		return 0; /* a past decision made room for it */
	for (uint32_t i = 1; i <= SCHED_PER_SM; i++) {
		uint32_t others =
			v->relays_below[i] + v->relays_full[i] - (l->tenant->relay_full == i);

		n += others ? others * divide_up(l->k.workers_per_sm, i) : 0;
	}
	return n;
}

static uint32_t need_sms(const struct sched *s, const struct sched_launch *l)
{
	/* one place for the launch's own relay */
	uint64_t places = l->k.total - l->k.finished + 1 + relays_below(l), n;

	n = divide_up(places, l->k.workers_per_sm) + s->o.extra_sms;
	return (uint32_t)MIN(n, s->o.n_sms);
}

bool sched_add_kernel(struct sched *s, struct sched_kernel *k)
{
	k->lane = SCHED_NO_LANE;
	k->want_sms = 0;
	return VEC_PUSH(&s->view, k);
}

struct sched_launch *sched_arriving(const struct sched_tenant *t)
{
	return t->arrived.first || t->late ? NULL : t->submitted.first;
}

bool sched_is_new(const struct sched *s, const struct sched_launch *l)
{
	return l->k.order >= s->decided;
}

/* Makes another submitted launch of the tenant the one that competes for the device (t->head). The
 * new head's waiting time counts from now on; the old head no longer waits. */
static void change_head(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	struct sched_launch *head = sched_arriving(t);

	if (t->head == head)
		return;
	if (t->head) {
		sched_account(t->head, now_ns);
		sched_to(s, t->head, LAUNCH_QUEUED);
	}
	if (head) {
		head->since_ns = MAX(head->since_ns, now_ns);
		head->allowed = sched_is_new(s, head) ? (struct quota){0} : t->begin;
		head->grace_ns = 0;
		sched_to(s, head, LAUNCH_NEXT);
	}
}

/* Returns whether the launch has SMs, but either no block of it has begun on them, or other
 * launches are still leaving them. */
static bool is_to_begin(const struct sched *s, const struct sched_launch *l)
{
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];

	return l->coming_ns || (l->state == LAUNCH_NEXT && leaving);
}

static bool gather_launch(struct sched *s, struct sched_launch *l, uint32_t depth, uint64_t now_ns)
{
	sched_account(l, now_ns);
	if (sched_stays_away(s, l, now_ns)) {
		l->had_lane = false;
		l->next_allowed = (struct quota){0};
		return true;
	}
	l->k.depth = depth;
	l->k.running = quota_any(&l->allowed);
	l->k.begun = l->k.running && !is_to_begin(s, l);
	l->k.need_sms = need_sms(s, l);
	return sched_add_kernel(s, &l->k);
}

static int64_t submitted_priority(const struct sched_tenant *t)
{
	int64_t p = SCHED_STREAM_RANKS - 1;

	while (p >= 0 && !t->n_submitted_of[p])
		p--;
	return p;
}

static bool gather_tenant(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint32_t top = 0;
	bool busy;

	change_head(s, t, now_ns);
	busy = t->opaque_active || t->head || t->arrived.first || t->native.first;
	t->best = NULL;
	t->submitted_priority = submitted_priority(t);
	for (struct sched_launch *l = t->arrived.first; l; l = l->next)
		top = MAX(top, l->stream_priority);
	for (struct sched_launch *l = t->arrived.first; l; l = l->next) {
		if (!gather_launch(s, l, top - l->stream_priority, now_ns))
			return false;
	}
	if (t->head && !gather_launch(s, t->head, 0, now_ns))
		return false;
	if (t->opaque_active && !sched_add_kernel(s, &t->opaque))
		return false;
	if (busy && !t->busy)
		sched_came_back(s, t, now_ns);
	else if (!busy && t->busy)
		t->idle_since_ns = now_ns;
	if (busy && !t->busy)
		t->busy_since_ns = now_ns;
	s->n_busy += busy;
	s->n_busy -= t->busy;
	t->busy = busy;
	t->worked |= busy;
	return true;
}

int sched_gather(struct sched *s, uint64_t now_ns)
{
	s->view.len = 0;
	count_relays(s);
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->next_held = false;
		if (!gather_tenant(s, t, now_ns))
			return -ENOMEM;
	}
	return 0;
}
