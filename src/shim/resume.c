/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Resumes managed launches (FLEP, section 5). If heddled grants SMs to a preempted launch again, or
 * gives a launch some SMs back, the shim launches another grid of workers for it, a "round". If
 * heddled revokes no more SMs, the round completes the launch. Each round runs in a stream of the
 * shim's own. A round lasts until its last worker exits, so a second round is never queued behind
 * it in the same stream.
 *
 * ROUNDS such streams always exist. If a launch gets its SMs in steps, or if many launches were
 * preempted together, the shim makes further streams. During a round in a further stream, that
 * stream borrows a hardware channel that the program's streams do not need. */
#include "shim/launches.h"

#include <errno.h>
#include <string.h>

/* number of the streams that always exist for new grids of workers; stream.c reserves channels for
 * them */
#define ROUNDS 3
#define FEW    8  /* a round is small with less than this part of all workers */
#define MORE   12 /* at most so many more streams */
/* Intervals at which the agent checks a resumed launch again: SOON_NS during the first SETTLES_NS,
 * then LATER_NS. heddled also wakes the agent when it sees that a launch has stopped. */
#define SETTLES_NS 20000000u
#define SOON_NS    200000u
#define LATER_NS   5000000u

/* The streams of the rounds. */
static struct helpers {
	pthread_mutex_t lock;
	CUstream at[ROUNDS + MORE];
	bool borrowed[ROUNDS + MORE]; /* counts as a stream of the program's */
	unsigned n;
	_Atomic unsigned n_borrowed;
	int priority;
} each[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct helpers *helpers(void)
{
	return &each[shim_at()];
}

static bool add_helper(void)
{
	return cu.cuStreamCreateWithPriority(&helpers()->at[helpers()->n], CU_STREAM_NON_BLOCKING,
		       helpers()->priority) == CUDA_SUCCESS &&
	       ++helpers()->n;
}

int resume_init(int priority)
{
	helpers()->priority = priority;
	while (helpers()->n < ROUNDS) {
		if (!add_helper())
			return -EIO;
	}
	return 0;
}

void resume_after_fork(void)
{
	pthread_mutex_init(&helpers()->lock, NULL);
}

/* Returns true if the launch's grid has padding, that is, additional shared memory that limits its
 * blocks on an SM. Padding is right for one quota only. If another quota, or none, holds when the
 * grid begins, the blocks exit. This can happen even if heddled has sent no quotas for this
 * launch. */
static bool is_padded(const struct managed *m)
{
	return m->guard && m->padded != m->shared;
}

/* Returns true if the last grid of workers had not begun yet when all other workers exited and the
 * launch reported a drain. That grid will still run. So the shim need not launch another grid in
 * answer to the drain. */
static bool is_answered(const struct managed *m)
{
	return __atomic_load_n(&slot_of(m)->host.rounds, __ATOMIC_ACQUIRE) < m->rounds;
}

/* Returns in how many ns the shim must launch one more grid of workers for this launch: 0 means
 * now, UINT64_MAX means never. */
static uint64_t wants_round(struct managed *m, uint32_t *ret_drains, uint32_t *ret_grow)
{
	struct wire_slot *w = slot_of(m);
	uint64_t since = shim_now_ns() - m->resumed_ns, rest;

	*ret_drains = __atomic_load_n(&w->host.drains, __ATOMIC_ACQUIRE);
	*ret_grow = __atomic_load_n(&w->grow, __ATOMIC_ACQUIRE);
	/* Launch no workers before the stream has reached the launch. The workers run in another
	 * stream, and would not wait for the earlier work of the launch's own stream. */
	if (__atomic_load_n(&w->host.arrived, __ATOMIC_ACQUIRE) != m->args.gen + 1)
		return UINT64_MAX;
	if (*ret_drains != m->drains && is_answered(m))
		m->drains = *ret_drains;
	if (*ret_drains != m->drains) {
		/* If workers run one after another, each one exits as the last, so each one reports
		 * a drain. Late workers do the same. A new grid for each such drain could repeat
		 * this endlessly. So after each grid of workers that made no progress, wait longer
		 * before the next one. */
		rest = (uint64_t)SOON_NS << MIN(m->idle_rounds, 8u);
		return m->idle_rounds < 2 || since >= rest ? 0 : rest - since;
	}
	/* A guarded generation must not have two grids at once. */
	if (m->guard)
		return UINT64_MAX;
	return *ret_grow != m->grow ? 0 : UINT64_MAX;
}

static bool is_idle(unsigned helper)
{
	return cu.cuStreamQuery(helpers()->at[helper]) != CUDA_ERROR_NOT_READY;
}

/* Gives back the hardware channels of borrowed streams in which no grid runs, or of all borrowed
 * streams if `all` is set. Call under the lock. Unless `all` is set, the shim's context must be
 * current. */
static void return_idle(bool all)
{
	for (unsigned i = ROUNDS; i < helpers()->n; i++) {
		if (!helpers()->borrowed[i] || !(all || is_idle(i)))
			continue;
		helpers()->borrowed[i] = false;
		atomic_fetch_sub(&helpers()->n_borrowed, 1);
		stream_give_back();
	}
}

void resume_return_channels(void)
{
	struct shim_inside in;

	if (!atomic_load(&helpers()->n_borrowed))
		return;
	pthread_mutex_lock(&helpers()->lock);
	shim_enter(&in);
	return_idle(false);
	shim_leave(&in);
	pthread_mutex_unlock(&helpers()->lock);
}

void resume_leave_channels(void)
{
	pthread_mutex_lock(&helpers()->lock);
	return_idle(true);
	pthread_mutex_unlock(&helpers()->lock);
}

void resume_forget(void)
{
	pthread_mutex_lock(&helpers()->lock);
	helpers()->n = 0;
	pthread_mutex_unlock(&helpers()->lock);
}

/* A helper stream on a channel that the program does not use. */
static CUstream borrowed_helper(void)
{
	unsigned i = ROUNDS;

	return_idle(false);
	while (i < helpers()->n && helpers()->borrowed[i])
		i++;
	if (i == ROUNDS + MORE || !stream_borrow())
		return NULL;
	if (i == helpers()->n && !add_helper()) {
		stream_give_back();
		return NULL;
	}
	helpers()->borrowed[i] = true;
	atomic_fetch_add(&helpers()->n_borrowed, 1);
	return helpers()->at[i];
}

/* Returns a stream of the shim in which no grid of workers runs, or NULL if none is free. A second
 * grid in the same stream would not begin before the first one's workers have exited. The caller
 * holds the lock until it has launched the grid. */
static CUstream idle_helper(bool may_borrow)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (is_idle(i))
			return helpers()->at[i];
	}
	return may_borrow ? borrowed_helper() : NULL;
}

/* Returns the number of workers that heddled requests; 0 means as many as the device holds. heddled
 * sends another number only if the launch's quotas were equal on all SMs before the change and are
 * again: the number of missing workers. */
static uint32_t newcomers_of(const struct managed *m)
{
	return __atomic_load_n(&slot_of(m)->newcomers, __ATOMIC_ACQUIRE);
}

/* Returns true if the new grid has only a few workers. Such a grid occupies a stream as long as a
 * large one, so it does not take the last free stream. */
static bool is_few(uint32_t newcomers, const struct managed *m)
{
	return newcomers && newcomers < m->workers / FEW;
}

static bool leaves_helper(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
		n += is_idle(i);
	return n > 1;
}

/* Returns the number of hardware blocks in the next grid, without its relay. For workers, this is
 * the launch's number of workers, but at most the number of blocks that are left to run. In the
 * guard form, a block exits without work on an SM whose quota is 0. If the grid had only as many
 * blocks as are left to run, all of them could land on such SMs each time. So a grid of the guard
 * form fills the device if some quota is 0. */
static uint64_t blocks_for(const struct managed *m, uint64_t left)
{
	const uint8_t *quota = slot_of(m)->host.quota;

	if (!m->guard)
		return MIN((uint64_t)m->workers, MAX(left, (uint64_t)1));
	for (unsigned i = 0; i < shim->n_sms; i++) {
		if (!__atomic_load_n(&quota[i], __ATOMIC_RELAXED))
			return MAX(left, m->workers);
	}
	return left;
}

/* Counts how many grids of workers in a row made no progress, according to the launch's own
 * reports: their workers claimed no block, and left because of the same control word as the workers
 * before. */
static void judge_rounds(struct managed *m)
{
	const struct ctl_host *h = &slot_of(m)->host;
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
static bool resume_launch(struct managed *m, bool drained, bool may_borrow)
{
	struct wire_slot *w = slot_of(m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	uint64_t begun = MIN(__atomic_load_n(&w->host.ticket, __ATOMIC_ACQUIRE), m->total);
	uint64_t left = m->total - begun;
	uint32_t last = m->args.seq;
	uint32_t newcomers = drained ? 0 : newcomers_of(m);
	uint64_t blocks = 1 + blocks_for(m, left);
	CUresult r = CUDA_ERROR_NOT_READY;
	struct shim_inside in;
	CUstream on;

	/* With a relay there, the first block is a worker, too. */
	if (newcomers)
		blocks = MIN(blocks, newcomers);
	pthread_mutex_lock(&helpers()->lock);
	if (shim_enter(&in) == CUDA_SUCCESS && (!is_few(newcomers, m) || leaves_helper()) &&
		(on = idle_helper(may_borrow))) {
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
			managed_pad(m, seq ? pads_least(w->host.quota, shim->n_sms)
					   : managed_first_quota());
		r = managed_fire(m, blocks, on, NULL);
		if (r == CUDA_SUCCESS)
			managed_fire_closer(m, on);
		else
			m->args.seq = last;
	}
	shim_leave(&in);
	pthread_mutex_unlock(&helpers()->lock);
	if (r != CUDA_SUCCESS)
		return false;
	judge_rounds(m);
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
static bool look_after(struct managed *m, uint64_t *ret_next)
{
	struct wire_slot *w = slot_of(m);
	uint32_t drains, grow;
	uint64_t wait;
	bool fired, may_borrow;

	*ret_next = UINT64_MAX;
	/* Only two kinds of launches can have stopped: those for which heddled has sent quotas, and
	 * those with padding. There may be hundreds of other launches, and a thread waits for the
	 * loop over all launches. So return quickly for those others. */
	if (!m->launched || !is_granted(w) ||
		!(__atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE) || is_padded(m)))
		return false;
	*ret_next = shim_now_ns() - m->resumed_ns < SETTLES_NS ? SOON_NS : LATER_NS;
	wait = wants_round(m, &drains, &grow);
	if (wait) {
		*ret_next = MIN(*ret_next, wait);
		return false;
	}
	*ret_next = SOON_NS;
	/* Borrow a channel only for a request of heddled, which is rare, or if the last grid of
	 * workers made progress. Drains without progress can be frequent. */
	may_borrow = grow != m->grow || !m->idle_rounds;
	m->resuming = true;
	pthread_mutex_unlock(&launches()->lock);
	fired = resume_launch(m, drains != m->drains, may_borrow);
	pthread_mutex_lock(&launches()->lock);
	m->resuming = false;
	if (fired) {
		m->drains = drains;
		m->grow = grow;
	} else if (is_few(newcomers_of(m), m)) {
		*ret_next = LATER_NS;
	}
	return fired;
}

bool launches_served(void)
{
	bool served = !managed_any_waiting();
	uint32_t drains, grow;

	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active && served; i++) {
		struct managed *m = &launches()->at[launches()->active[i]];

		served = !m->launched ||
			 !__atomic_load_n(&slot_of(m)->host.seq, __ATOMIC_ACQUIRE) || is_done(m) ||
			 (!m->resuming && wants_round(m, &drains, &grow) == UINT64_MAX);
	}
	pthread_mutex_unlock(&launches()->lock);
	return served;
}

uint64_t managed_resume(void)
{
	uint64_t next = UINT64_MAX, at;

	pthread_mutex_lock(&launches()->lock);
	launches_reap(UINT32_MAX);
	for (unsigned i = 0; i < launches()->n_active; i++) {
		/* Afterwards the list may have changed. */
		if (look_after(&launches()->at[launches()->active[i]], &at))
			i = UINT32_MAX;
		next = MIN(next, at);
	}
	pthread_mutex_unlock(&launches()->lock);
	resume_return_channels();
	return atomic_load(&helpers()->n_borrowed) ? MIN(next, LATER_NS) : next;
}

/* Returns true if the launch has stopped or may stop before its end. The reason can be its own
 * quotas, or, if it has none, the quotas of its tenant at the time when it began. */
static bool is_stopped(const struct managed *m)
{
	const struct ctl_host *h = &slot_of(m)->host;
	struct ctl_tenant now = {.word = __atomic_load_n(&h->word, __ATOMIC_ACQUIRE)};

	if (!m->launched || is_done(m))
		return false;
	/* A launch without quotas of its own can have stopped for two reasons: the tenant's quotas
	 * when it began, or padding for earlier quotas of the tenant. */
	return now.seq ? now.same != 1 + CTL_NO_QUOTA
		       : __atomic_load_n(&h->began, __ATOMIC_ACQUIRE) ||
				 __atomic_load_n(&h->drains, __ATOMIC_ACQUIRE);
}

static void raise_all(struct managed *m)
{
	struct wire_slot *w = slot_of(m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	uint8_t all[CTL_MAX_SMS];

	memset(all, CTL_NO_QUOTA, sizeof(all));
	ctl_tell(w->host.quota, &w->host.word, seq + 1 ? seq + 1 : 1, all);
	__atomic_store_n(&w->granted, 1, __ATOMIC_RELEASE);
}

bool managed_any_stopped(void)
{
	bool any = false;

	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active && !any; i++)
		any = is_stopped(&launches()->at[launches()->active[i]]);
	pthread_mutex_unlock(&launches()->lock);
	return any;
}

void managed_take_over(void)
{
	__atomic_store_n(&shim->page->begin.seq, 0, __ATOMIC_RELEASE);
	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active; i++) {
		if (is_stopped(&launches()->at[launches()->active[i]]))
			raise_all(&launches()->at[launches()->active[i]]);
	}
	pthread_mutex_unlock(&launches()->lock);
}
