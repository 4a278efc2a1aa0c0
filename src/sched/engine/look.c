/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Read-only queries of the engine's state. */
#include "engine.h"

#include <string.h>

void *sched_tenant_user(const struct sched_tenant *t)
{
	return t->user;
}

uint64_t sched_service(const struct sched_tenant *t)
{
	return t->account.service_ns;
}

void *sched_launch_user(const struct sched_launch *l)
{
	return l->user;
}

/* Copies the quotas. Of a renumbered tenant only the number of SMs with each quota matters, so the
 * quotas that are not 0 come first. */
static void copy_quotas(const struct sched *s, const struct quota *q, bool renumbered,
	uint8_t ret_quota[CTL_MAX_SMS])
{
	uint32_t n = s->o.n_sms, at = 0;
	bool same = memcmp(q->at, q->at + 1, n - 1) == 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!renumbered || q->at[i])
			ret_quota[at++] = q->at[i];
	}
	memset(ret_quota + at, 0, CTL_MAX_SMS - at);
	if (same)
		memset(ret_quota + n, q->at[0], CTL_MAX_SMS - n);
}

/* Returns the quotas of the launch. For a queued launch, these are the quotas that it would begin
 * with. */
static const struct quota *sched_allowed(const struct sched_launch *l)
{
	return l->state == LAUNCH_QUEUED ? &l->tenant->begin.now : &l->allowed;
}

void sched_quotas(
	const struct sched *s, const struct sched_launch *l, uint8_t ret_quota[CTL_MAX_SMS])
{
	copy_quotas(s, sched_allowed(l), l->tenant->renumbered, ret_quota);
}

void sched_begin_quotas(
	const struct sched *s, const struct sched_tenant *t, uint8_t ret_quota[CTL_MAX_SMS])
{
	/* Under MPS, the SM numbers of a program are only valid while the program has work on the
	 * device: the next launch after that gets new numbers (renumbered). A tenant's new launch
	 * usually begins when the tenant's earlier work has ended, so its quotas cannot refer to
	 * the old numbers. Concurrent streams are an exception. */
	copy_quotas(s, &t->begin.now, s->o.renumbers, ret_quota);
}

enum launch_state sched_state(const struct sched_launch *l)
{
	return l->state;
}

void sched_refused(
	const struct sched_launch *l, enum launch_state *ret_from, enum launch_state *ret_to)
{
	*ret_from = l->refused_from;
	*ret_to = l->refused_to;
}

uint32_t sched_count(const struct sched *s, enum launch_state state)
{
	return s->n_in[state];
}

void sched_launch_state(const struct sched *s, uint64_t now_ns, const struct sched_launch *l,
	struct sched_info *ret)
{
	struct sched_launch now = *l; /* a copy, because sched_account changes the launch */
	const struct quota *allowed = sched_allowed(l);

	(void)s;
	sched_account(&now, now_ns);
	*ret = (struct sched_info){
		.state = l->state,
		.preemptions = l->preemptions,
		.n_sms = quota_count(allowed),
		.workers = quota_workers(allowed, l->k.workers_per_sm),
		.predicted_ns = now.k.predicted_ns,
		.waited_ns = now.k.waited_ns,
		.remaining_ns = now.k.remaining_ns,
		.ran_ns = now.ran_ns,
		.cost_ns = now.k.cost_ns,
		.finished = now.k.finished,
	};
}

void sched_stats(const struct sched *s, struct sched_stats *ret)
{
	*ret = s->stats;
}

static uint64_t launch_soonest(uint64_t least, uint64_t now_ns, const struct sched_launch *l)
{
	struct sched_launch now = *l;

	if (!quota_any(&l->allowed))
		return least;
	sched_account(&now, now_ns);
	return MIN(least, now.k.remaining_ns);
}

uint64_t sched_soonest(const struct sched *s, uint64_t now_ns)
{
	uint64_t least = SCHED_UNKNOWN;

	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		for (const struct sched_launch *l = t->launches.arrived.first; l; l = l->next)
			least = launch_soonest(least, now_ns, l);
		if (t->launches.head)
			least = launch_soonest(least, now_ns, t->launches.head);
	}
	return least;
}

bool sched_contended(const struct sched *s)
{
	return s->contended;
}
