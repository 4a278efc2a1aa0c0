/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Resumes managed launches (FLEP, section 5). If heddled grants SMs to a preempted launch again, or
 * gives a launch some SMs back, the shim launches another grid of workers for it, a "round". If
 * heddled revokes no more SMs, the round completes the launch. Each round runs in a stream of the
 * shim's own. A round lasts until its last worker exits, so a second round is never queued behind
 * it in the same stream (helpers.h). */
#include "shim/launch/resume.h"

#include "shim/core/lock.h"
#include "shim/launch/managed.h"
#include "shim/order/helpers.h"
#include "shim/order/launches.h"
#include "shim/order/rounds.h"

#include <string.h>

#define FEW 8 /* a grid with less than 1/8 of all workers counts as small */
/* Intervals at which the agent checks a resumed launch again: ROUND_ROUND_SOON_NS during the first SETTLES_NS,
 * then LATER_NS. heddled also wakes the agent when it sees that a launch has stopped. */
#define SETTLES_NS 20000000u
#define LATER_NS   5000000u

/* Returns true if the launch's grid has padding, that is, additional shared memory that limits its
 * blocks on an SM. Padding is right for one quota only. If another quota, or none, holds when the
 * grid begins, the blocks exit. This can happen even if heddled has sent no quotas for this
 * launch. */
static bool is_padded(const struct managed *m)
{
	return m->guard && m->padded != m->shared;
}

/* Returns the number of workers that heddled requests; 0 means as many as the device holds. heddled
 * sends another number only if the launch's quotas were equal on all SMs before the change and are
 * again: the number of missing workers. */
static uint32_t newcomers_of(struct session *session, const struct managed *m)
{
	return __atomic_load_n(&slot_of(session, m)->newcomers, __ATOMIC_ACQUIRE);
}

/* Returns true if the new grid has only a few workers. Such a grid occupies a stream as long as a
 * large one, so it does not take the last free stream. */
static bool is_few(uint32_t newcomers, const struct managed *m)
{
	return newcomers && newcomers < m->workers / FEW;
}

/* Returns the number of hardware blocks in the next grid, without its relay. For workers, this is
 * the launch's number of workers, but at most the number of blocks that are left to run. In the
 * guard form, a block exits without work on an SM whose quota is 0. If the grid had only as many
 * blocks as are left to run, all of them could land on such SMs each time. So a grid of the guard
 * form fills the device if some quota is 0. */
static uint64_t blocks_for(struct session *session, const struct managed *m, uint64_t left)
{
	const uint8_t *quota = slot_of(session, m)->host.quota;

	if (!m->guard)
		return MIN((uint64_t)m->workers, MAX(left, (uint64_t)1));
	for (unsigned i = 0; i < session->n_sms; i++) {
		if (!__atomic_load_n(&quota[i], __ATOMIC_RELAXED))
			return MAX(left, m->workers);
	}
	return left;
}

/* Counts how many grids of workers in a row made no progress, according to the launch's own
 * reports: their workers claimed no block, and left because of the same control word as the workers
 * before. */
static void judge_rounds(struct session *session, struct managed *m)
{
	const struct ctl_host *h = &slot_of(session, m)->host;
	uint64_t ticket = __atomic_load_n(&h->ticket, __ATOMIC_ACQUIRE);
	uint32_t seq = __atomic_load_n(&h->drained_seq, __ATOMIC_ACQUIRE);

	if (ticket == m->ticket && seq == m->seq)
		m->idle_rounds++;
	else
		m->idle_rounds = 0;
	m->ticket = ticket;
	m->seq = seq;
}

/* Launches one more grid of workers. If `drained` is set, no worker of the launch runs. Otherwise
 * some workers still run, and the new grid has at most as many workers as heddled requested:
 * surplus workers would wait for room and delay the next owner of the SMs. Returns false if no
 * stream is free for the grid, or if the driver refused it. */
static bool resume_launch(struct session *session, struct managed *m, bool drained, bool may_borrow)
{
	struct wire_slot *w = slot_of(session, m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	uint64_t begun = MIN(__atomic_load_n(&w->host.ticket, __ATOMIC_ACQUIRE), m->total);
	uint64_t left = m->total - begun;
	uint32_t last = m->args.seq;
	uint32_t newcomers = drained ? 0 : newcomers_of(session, m);
	uint64_t blocks = 1 + blocks_for(session, m, left);
	CUresult r = CUDA_ERROR_NOT_READY;
	struct shim_inside in;
	CUstream on;

	/* If a relay already runs, the first block is a worker as well. */
	if (newcomers)
		blocks = MIN(blocks, newcomers);
	lock_take(&session->helpers->lock);
	if (shim_enter(session, &in) == CUDA_SUCCESS &&
		(!is_few(newcomers, m) || helpers_leave_one(session)) &&
		(on = helpers_idle(session, may_borrow))) {
		m->resumed_at = MIN(__atomic_load_n(&w->host.finished, __ATOMIC_ACQUIRE), m->total);
		m->preemptions = __atomic_load_n(&w->preemptions, __ATOMIC_ACQUIRE);
		m->args.seq = seq;
		m->args.round = m->rounds + 1;
		m->args.flags &= ~(uint32_t)CTL_ONCE;
		m->args.flags |= seq ? CTL_WAIT_WORD | (drained ? CTL_ONCE : 0) : 0;
		/* Choose the padding for the present quotas. If heddled later changes them so that
		 * another padding is needed, the launch drains again, and the next grid gets that
		 * padding. */
		if (m->guard)
			managed_pad(session, m,
				seq ? pads_least(w->host.quota, session->n_sms)
				    : managed_first_quota(session));
		r = managed_fire(m, blocks, on, NULL);
		if (r == CUDA_SUCCESS)
			managed_fire_closer(session, m, on);
		else
			m->args.seq = last;
	}
	shim_leave(&in);
	lock_drop(&session->helpers->lock);
	if (r != CUDA_SUCCESS)
		return false;
	judge_rounds(session, m);
	m->rounds++;
	m->resumed_ns = shim_now_ns();
	__atomic_store_n(
		&w->hardware_blocks, w->hardware_blocks + (uint32_t)blocks, __ATOMIC_RELAXED);
	__atomic_store_n(&w->launches, 1 + m->rounds, __ATOMIC_RELEASE);
	return true;
}

/* Resumes the launch if it needs another grid of workers, and returns true if it launched one.
 * Stores in *ret_next in how many ns to check this launch again. The caller holds the lock; this
 * function releases the lock while it launches. */
static bool look_after(struct session *session, struct managed *m, uint64_t *ret_next)
{
	struct wire_slot *w = slot_of(session, m);
	uint32_t drains, grow;
	uint64_t wait;
	bool fired, may_borrow;

	*ret_next = UINT64_MAX;
	/* Only two kinds of launches can have stopped: those for which heddled has sent quotas, and
	 * those with padding. There may be hundreds of other launches, and a thread waits for the
	 * loop over all launches. So return quickly for those others. */
	if (!m->launched || !is_granted(session, w) ||
		!(__atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE) || is_padded(m)))
		return false;
	*ret_next = shim_now_ns() - m->resumed_ns < SETTLES_NS ? ROUND_SOON_NS : LATER_NS;
	wait = round_wanted_ns(session, m, &drains, &grow);
	if (wait) {
		*ret_next = MIN(*ret_next, wait);
		return false;
	}
	*ret_next = ROUND_SOON_NS;
	/* Borrow a channel only for a request of heddled, which is rare, or if the last grid of
	 * workers made progress. Drains without progress can be frequent. */
	may_borrow = grow != m->grow || !m->idle_rounds;
	m->resuming = true;
	lock_drop(&session->launches->lock);
	fired = resume_launch(session, m, drains != m->drains, may_borrow);
	lock_take(&session->launches->lock);
	m->resuming = false;
	if (fired) {
		m->drains = drains;
		m->grow = grow;
	} else if (is_few(newcomers_of(session, m), m)) {
		*ret_next = LATER_NS;
	}
	return fired;
}

uint64_t managed_resume(struct session *session)
{
	uint64_t next = UINT64_MAX, at;

	lock_take(&session->launches->lock);
	launches_reap(session, UINT32_MAX);
	for (unsigned i = 0; i < session->launches->n_active; i++) {
		/* The list may have changed, so start again. */
		if (look_after(session, &session->launches->at[session->launches->active[i]], &at))
			i = UINT32_MAX;
		next = MIN(next, at);
	}
	lock_drop(&session->launches->lock);
	helpers_return_channels(session);
	return atomic_load(&session->helpers->n_borrowed) ? MIN(next, LATER_NS) : next;
}

/* Returns true if the launch has stopped or may stop before its end. The reason can be its own
 * quotas, or, if it has none, the quotas of its tenant at the time when it began. */
static bool is_stopped(struct session *session, const struct managed *m)
{
	const struct ctl_host *h = &slot_of(session, m)->host;
	struct ctl_tenant now = {.word = __atomic_load_n(&h->word, __ATOMIC_ACQUIRE)};

	if (!m->launched || is_done(session, m))
		return false;
	/* A launch without quotas of its own can have stopped for two reasons: the tenant's quotas
	 * when it began, or padding for earlier quotas of the tenant. */
	return now.seq ? now.same != 1 + CTL_NO_QUOTA
		       : __atomic_load_n(&h->began, __ATOMIC_ACQUIRE) ||
				 __atomic_load_n(&h->drains, __ATOMIC_ACQUIRE);
}

static void raise_all(struct session *session, struct managed *m)
{
	struct wire_slot *w = slot_of(session, m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	uint8_t all[CTL_MAX_SMS];

	memset(all, CTL_NO_QUOTA, sizeof(all));
	ctl_tell(w->host.quota, &w->host.word, seq + 1 ? seq + 1 : 1, all);
	__atomic_store_n(&w->granted, 1, __ATOMIC_RELEASE);
}

bool managed_any_stopped(struct session *session)
{
	bool any = false;

	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active && !any; i++)
		any = is_stopped(session, &session->launches->at[session->launches->active[i]]);
	lock_drop(&session->launches->lock);
	return any;
}

void managed_take_over(struct session *session)
{
	__atomic_store_n(&session->page->begin.seq, 0, __ATOMIC_RELEASE);
	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active; i++) {
		if (is_stopped(session, &session->launches->at[session->launches->active[i]]))
			raise_all(session, &session->launches->at[session->launches->active[i]]);
	}
	lock_drop(&session->launches->lock);
}
