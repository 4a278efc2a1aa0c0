/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Accounting: the service of tenants, and for each launch how long it waited, how long it ran, and
 * how long it will still run (FLEP, section 5.1). */
#include "engine.h"

/* Returns the tenant's service (its use of the device) since served_ns, for times when no preempted
 * launch is leaving.
 * - Unmanaged work that was submitted while its tenant was held is still waiting, so it does not
 *   count as service.
 * - If all of a tenant's work on the device consists of launches that have just got SMs, the time
 *   until their first block is not charged, up to SCHED_CHANGE_MAX_NS. Otherwise tenants with short
 *   time slices would pay most for the changes between tenants. */
static uint64_t compute_service(
	const struct sched *s, const struct sched_tenant *t, uint64_t now_ns)
{
	bool opaque = t->opaque_state == OPAQUE_RUNS;
	uint64_t from = s->served_ns;

	if (!t->launches.n_there && !opaque)
		return 0;
	if (t->launches.n_there && t->launches.n_coming == t->launches.n_there && !opaque)
		from = MAX(from, t->launches.coming_until_ns);
	return now_ns > from ? now_ns - from : 0;
}

void sched_serve(struct sched *s, uint64_t now_ns)
{
	uint64_t passed = now_ns > s->served_ns ? now_ns - s->served_ns : 0;
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];

	for (struct sched_tenant *t = s->tenants; t && passed; t = t->next) {
		uint64_t ns = !leaving              ? compute_service(s, t, now_ns)
			      : t->launches.n_leave ? passed
						    : 0;

		t->account.service_ns += ns;
		t->account.work_ns +=
			t->launches.n_unpredicted || !(t->launches.n_there + t->launches.n_leave)
				? ns
				: 0;
	}
	s->served_ns = MAX(s->served_ns, now_ns);
}

void sched_work(struct sched_launch *l)
{
	uint64_t ns;

	if (l->k.predicted_ns == SCHED_UNKNOWN)
		return;
	ns = (uint64_t)((double)l->k.predicted_ns * (double)l->k.finished / (double)l->k.total);
	if (ns > l->work_ns) {
		l->tenant->account.work_ns += ns - l->work_ns;
		l->work_ns = ns;
	}
}

static uint64_t compute_remaining(const struct sched_launch *l)
{
	uint64_t left = l->k.total - l->k.finished;
	double ns;

	/* The estimate uses the number of finished blocks, not the elapsed time. */
	if (l->k.predicted_ns != SCHED_UNKNOWN)
		ns = (double)l->k.predicted_ns * (double)left / (double)l->k.total;
	else if (l->k.finished)
		ns = (double)l->ran_ns * (double)left / (double)l->k.finished;
	else
		return SCHED_UNKNOWN;
	return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}

/* Number of SMs that the launch's whole grid can use. */
static uint64_t sms_used(const struct sched_launch *l)
{
	return (l->k.total + l->k.workers_per_sm - 1) / l->k.workers_per_sm;
}

/* Converts a launch's time on its SMs to time on the whole device. Time on half of the SMs that the
 * launch could use counts half. workers: how many may stay on its SMs. */
static uint64_t scale_to_device(const struct sched_launch *l, uint64_t passed, uint32_t workers)
{
	uint64_t can_use = MIN(sms_used(l), l->device_sms);
	/* A quota below workers_per_sm gives the launch only a part of an SM: the quota divided by
	 * workers_per_sm. So `has` can be a fraction of the number of SMs with a quota. */
	double has = (double)workers / l->k.workers_per_sm;

	if (launch_is(l->state, LAUNCH_LEAVES) || has >= (double)can_use)
		return passed;
	return (uint64_t)((double)passed * has / (double)can_use);
}

static void add_time(struct sched_launch *l, uint64_t passed)
{
	uint32_t workers = quota_workers(&l->allowed, l->k.workers_per_sm);
	uint64_t ns = scale_to_device(l, passed, workers);

	l->partial |= ns < passed;
	l->ran_ns += ns;
	l->sm_ns += ns * MIN(sms_used(l), l->device_sms);
	/* A launch that is leaving keeps its SMs until its last worker has left. */
	if (!launch_is(l->state, LAUNCH_LEAVES)) {
		l->spell.n_sms = quota_count(&l->allowed);
		l->spell.workers = workers;
	}
	l->spell.sm_ns += passed * MIN(l->spell.n_sms, l->k.total);
}

void sched_account(struct sched_launch *l, uint64_t now_ns)
{
	uint64_t passed = now_ns > l->since_ns ? now_ns - l->since_ns : 0;

	if (launch_is(l->state, LAUNCH_HAS_SMS | LAUNCH_LEAVES) || l->state == LAUNCH_NATIVE) {
		add_time(l, passed);
	} else if (l->state != LAUNCH_QUEUED) {
		l->k.waited_ns += passed;
	}
	l->since_ns = MAX(l->since_ns, now_ns);
	l->k.remaining_ns = compute_remaining(l);
}
