/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides from the reports of a launch whether it needs one more grid of workers. */
#include "shim/order/rounds.h"
#include "shim/core/lock.h"

/* Returns true if the last grid of workers had not begun yet when all other workers exited and the
 * launch reported a drain. That grid will still run. So the shim need not launch another grid in
 * answer to the drain. */
static bool is_answered(struct session *session, const struct managed *m)
{
	return __atomic_load_n(&slot_of(session, m)->host.rounds, __ATOMIC_ACQUIRE) < m->rounds;
}

uint64_t round_wanted_ns(
	struct session *session, struct managed *m, uint32_t *ret_drains, uint32_t *ret_grow)
{
	struct wire_slot *w = slot_of(session, m);
	uint64_t since = shim_now_ns() - m->resumed_ns, rest;

	*ret_drains = __atomic_load_n(&w->host.drains, __ATOMIC_ACQUIRE);
	*ret_grow = __atomic_load_n(&w->grow, __ATOMIC_ACQUIRE);
	/* Launch no workers before the stream has reached the launch. The workers run in another
	 * stream, and would not wait for the earlier work of the launch's own stream. */
	if (__atomic_load_n(&w->host.arrived, __ATOMIC_ACQUIRE) != m->args.gen + 1)
		return UINT64_MAX;
	if (*ret_drains != m->drains && is_answered(session, m))
		m->drains = *ret_drains;
	if (*ret_drains != m->drains) {
		/* If workers run one after another, each one exits as the last, so each one reports
		 * a drain. Late workers do the same. A new grid for each such drain could repeat
		 * this endlessly. So after each grid of workers that made no progress, wait longer
		 * before the next one. */
		rest = (uint64_t)ROUND_SOON_NS << MIN(m->idle_rounds, 8u);
		return m->idle_rounds < 2 || since >= rest ? 0 : rest - since;
	}
	/* A launch of the guard form must not have two grids at the same time. */
	if (m->guard)
		return UINT64_MAX;
	return *ret_grow != m->grow ? 0 : UINT64_MAX;
}

bool launches_served(struct session *session)
{
	bool served = !managed_any_waiting(session);
	uint32_t drains, grow;

	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active && served; i++) {
		struct managed *m = &session->launches->at[session->launches->active[i]];

		served =
			!m->launched ||
			!__atomic_load_n(&slot_of(session, m)->host.seq, __ATOMIC_ACQUIRE) ||
			is_done(session, m) ||
			(!m->resuming && round_wanted_ns(session, m, &drains, &grow) == UINT64_MAX);
	}
	lock_drop(&session->launches->lock);
	return served;
}
