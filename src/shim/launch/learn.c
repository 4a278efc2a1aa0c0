/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Learns from the duration of a managed launch that has completed. */
#include "shim/core/lock.h"
#include "shim/form/kernel.h"
#include "shim/form/remember.h"
#include "shim/launch/managed.h"
#include "shim/order/launches.h"

#define SPELL_NS 1000000
#define OFTEN    16 /* each of the first 16 launches is worth saving */

static bool is_unbounded(struct session *session, const struct ctl_host *h)
{
	for (unsigned i = 0; i < session->n_sms; i++) {
		if (__atomic_load_n(&h->quota[i], __ATOMIC_RELAXED) != CTL_NO_QUOTA)
			return false;
	}
	return true;
}

/* Learns from the duration of a launch. If the launch was never resumed, its whole duration counts;
 * else the time after the last resume, so that something is learned even of launches that are
 * preempted every time. There are two conditions:
 * - No quota limited the launch in that time, and nothing preempted it.
 * - The time after a resume is long, because resuming takes time as well. */
void managed_learn(struct session *session, struct managed *m)
{
	const struct wire_slot *w = slot_of(session, m);
	const struct ctl_host *h = &w->host;
	bool whole = !m->args.seq;
	uint32_t n;
	uint64_t from = __atomic_load_n(whole ? &h->arrived_ns : &h->seen_ns, __ATOMIC_RELAXED);
	uint64_t to = __atomic_load_n(&h->done_ns, __ATOMIC_RELAXED);

	if (m->guard || !from || (whole && __atomic_load_n(&h->began, __ATOMIC_RELAXED)) ||
		to <= from ||
		__atomic_load_n(&w->preemptions, __ATOMIC_RELAXED) != m->preemptions ||
		!is_unbounded(session, h))
		return;
	if (!whole && (__atomic_load_n(&h->seq, __ATOMIC_RELAXED) != m->args.seq ||
			      to - from < SPELL_NS || m->resumed_at >= m->total))
		return;
	lock_take(&m->form->lock);
	if (whole)
		pace_learn(&m->shape->pace, m->args.chunk, to - from, m->total,
			page_load(&session->client.welcome.min_managed_ns));
	else
		pace_learn_spell(
			&m->shape->pace, m->args.chunk, to - from, m->total - m->resumed_at);
	n = m->shape->pace.launches;
	lock_drop(&m->form->lock);
	/* Later launches teach less, so they are saved less often. */
	if (n <= OFTEN || !(n & (n - 1)))
		remember_taught(m->form->kernel);
}
