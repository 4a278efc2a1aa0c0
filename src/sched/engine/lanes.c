/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Asks a policy that answers in lanes, and picks the SMs. A lane is a set of kernels that share SMs
 * (policy.h). Lanes get their SMs in order of urgency. Among equally suitable SMs, a lane gets
 * those with the highest numbers. So less urgent lanes have mostly SMs with low numbers (why this
 * is useful: engine.h, renumbered). */
#include "engine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int by_lane(const void *pa, const void *pb)
{
	const struct sched_kernel *a = *(struct sched_kernel *const *)pa;
	const struct sched_kernel *b = *(struct sched_kernel *const *)pb;

	return a->lane < b->lane ? -1 : a->lane > b->lane;
}

struct claims {
	uint32_t lane[CTL_MAX_SMS]; /* the lowest lane that has reserved this SM so far */
	struct sms used;
};

struct choice {
	uint64_t key;
	uint32_t sm;
};

static int by_disturbance(const void *pa, const void *pb)
{
	const struct choice *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->sm > b->sm ? -1 : 1;
}

/* Picks up to `want` SMs of avail so that running launches are disturbed least: first SMs that the
 * lane already has, then unused SMs, then SMs of the least urgent lanes. Among these, SMs with
 * higher numbers come first. */
static struct sms pick_sms(
	const struct sms *avail, const struct sms *own, const struct claims *c, uint32_t want)
{
	struct choice at[CTL_MAX_SMS];
	struct sms got = {0};
	uint32_t n = 0;

	if (want >= sms_count(avail))
		return *avail;
	for (uint32_t sm = 0; sm < CTL_MAX_SMS; sm++) {
		if (!sms_has(avail, sm))
			continue;
		at[n++] = (struct choice){sms_has(own, sm) ? 0
					  : !sms_has(&c->used, sm)
						  ? 1
						  : 2ull + SCHED_NO_LANE - c->lane[sm],
			sm};
	}
	qsort(at, n, sizeof(at[0]), by_disturbance);
	for (uint32_t i = 0; i < want; i++)
		sms_add(&got, at[i].sm);
	return got;
}

static void collect_claims(const struct sched *s, struct claims *ret)
{
	memset(ret->lane, 0xff, sizeof(ret->lane));
	ret->used = (struct sms){0};
	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_launch *l = sched_launch_of(s->view.at[i]);
		struct sms has;

		if (!l || !l->k.running)
			continue;
		has = quota_same(&l->allowed, &s->everywhere) ? s->all : quota_sms(&l->allowed);
		ret->used = sms_plus(ret->used, &has);
		for (uint32_t sm = 0; sm < s->o.n_sms; sm++) {
			if (sms_has(&l->reserved, sm))
				ret->lane[sm] = MIN(ret->lane[sm], l->k.lane);
		}
	}
}

/* Assigns SMs to one lane, which has the members [from, to) of the view. Returns the SMs that the
 * lane reserves. */
static struct sms place_lane(
	struct sched *s, size_t from, size_t to, struct sms avail, const struct claims *claims)
{
	struct quota quota = quota_of(&avail);
	struct sms before = {0}, reserved;
	uint64_t want = 0;

	for (size_t i = from; i < to; i++) {
		struct sched_kernel *k = s->view.at[i];
		struct sched_launch *l = sched_launch_of(k);
		struct sched_tenant *t = CONTAINER_OF(k, struct sched_tenant, linger);

		want += k->want_sms;
		if (l)
			before = sms_plus(before, &l->reserved);
		else if (k->kind == SCHED_LINGER)
			before = sms_plus(before, &t->linger_sms);
	}
	/* A lane keeps the SMs that it has reserved. Otherwise finished blocks would reduce its
	 * number of SMs with each decision. */
	want = MAX(want, sms_count(&before));
	reserved = pick_sms(&avail, &before, claims, (uint32_t)MIN(want, s->o.n_sms));
	for (size_t i = from; i < to; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		if (!l->k.withheld)
			l->next_allowed = quota;
		l->reserved = reserved;
		sched_leave_arrival_sm(s, l, &l->next_allowed);
		if (!l->tenant->best) {
			l->tenant->best = l;
			l->tenant->best_avail = quota;
		}
	}
	return reserved;
}

static void place_lanes(struct sched *s, int hold_below)
{
	struct sms avail = s->all;
	struct claims claims;
	struct quota left;
	size_t to;

	sched_find_late_tenants(s);
	collect_claims(s, &claims);
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		l->next_allowed = (struct quota){0};
		if (l->k.lane == SCHED_NO_LANE)
			l->reserved = (struct sms){0};
	}
	if (s->view.len > 1)
		qsort(s->view.at, s->view.len, sizeof(s->view.at[0]), by_lane);
	for (size_t i = 0; i < s->view.len && s->view.at[i]->lane != SCHED_NO_LANE; i = to) {
		struct sms reserved;

		for (to = i; to < s->view.len && s->view.at[to]->lane == s->view.at[i]->lane;)
			to++;
		reserved = place_lane(s, i, to, avail, &claims);
		avail = sms_minus(avail, &reserved);
	}
	left = quota_of(&avail);
	for (struct sched_tenant *t = s->tenants; t; t = t->next)
		sched_begin_place(s, t, t->priority < hold_below || t->next_held, &left);
}

int sched_lanes(struct sched *s, uint64_t now_ns, int *ret_hold_below)
{
	struct sched_view v = {.n_sms = s->o.n_sms,
		.simultaneous = s->o.simultaneous,
		.spatial = s->o.spatial,
		.within_srt = s->o.within_srt,
		.now_ns = now_ns,
		.hold_below = INT_MIN};

	if (!sched_linger(s, now_ns))
		return -ENOMEM;
	sched_turns(s, now_ns);
	sched_waits(s, now_ns);
	v.at = s->view.at;
	v.len = s->view.len;
	s->policy->decide(&v);
	sched_turns_note(s, now_ns);
	sched_waits_note(s, now_ns);
	place_lanes(s, v.hold_below);
	*ret_hold_below = v.hold_below;
	return 0;
}
