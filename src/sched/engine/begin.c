/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sets the quotas with which new launches begin, for all policies. Also keeps one SM free for late
 * tenants. A late tenant is one whose submitted launch did not arrive in time. */
#include "engine.h"

/* The SM that is reserved for arrivals. A tenant is late if its submitted launch has SMs but does
 * not arrive in time. Meanwhile tenants of its priority or a lower one must not use this SM. The
 * first worker of the late tenant's launch can then run there and report the arrival. Among SMs
 * that are equally suitable, policies should grant this SM last, as heddle/policy_lanes.h does. */
#define ARRIVAL_SM 0u

void sched_find_late_tenants(struct sched *s)
{
	s->late[0] = s->late[1] = NULL;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!t->begin.late || (!t->launches.arrived.first && !t->launches.submitted.first))
			continue;
		if (!s->late[0] || t->priority > s->late[0]->priority) {
			s->late[1] = s->late[0];
			s->late[0] = t;
		} else if (!s->late[1] || t->priority > s->late[1]->priority) {
			s->late[1] = t;
		}
	}
}

void sched_leave_arrival_sm(
	const struct sched *s, const struct sched_launch *l, struct quota *io_allowed)
{
	const struct sched_tenant *t = s->late[s->late[0] == l->tenant];
	bool for_other = t && t->priority >= l->tenant->priority && s->o.simultaneous;
	/* True if the launch must leave an SM for the first worker of another launch that its own
	 * tenant has submitted: a launch in a stream of higher priority, or, with within_srt, any
	 * submitted launch if this one has arrived. */
	bool for_own = l->tenant->begin.submitted_priority > (int64_t)l->stream_priority ||
		       (s->o.within_srt && launch_is(l->state, LAUNCH_ARRIVED) &&
			       l->tenant->begin.submitted_priority >= 0);

	if ((for_other || for_own) && s->o.n_sms > 1)
		io_allowed->at[ARRIVAL_SM] = 0;
}

void sched_begin_place(struct sched *s, struct sched_tenant *t, const struct quota *row)
{
	const struct sched_tenant *late = s->late[s->late[0] == t];
	bool competes = t->launches.arrived.first || t->launches.head;

	t->begin.next = row ? *row : t->begin.best ? t->begin.best_quota : (struct quota){0};
	if (t->pinned || (!row && !competes && !t->next_held))
		t->begin.next = s->everywhere;
	if (late && late->priority >= t->priority && s->o.simultaneous && s->o.n_sms > 1)
		t->begin.next.at[ARRIVAL_SM] = 0;
}
