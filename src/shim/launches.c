/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The list of outstanding managed launches. A launch takes a slot of the shared page. The shim
 * releases the slot when it notices that the launch has ended: at the next launch, in the agent
 * thread, or when a thread waits. At that time it also learns from the launch's duration. */
#include "shim/launches.h"

#include "shim/ctlpool.h"
#include "shim/placing.h"
#include "shim/remember.h"

#include <time.h>

#define SPELL_NS   1000000
#define OFTEN      16 /* launches that each teach something new */
#define KICK_AFTER 64 /* closed slots that wait for the daemon to free them */

#define PARAMETER_BYTES ((size_t)1 << 20)

struct launches launches_of[SHIM_SESSIONS] = {
	[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

unsigned managed_outstanding(void)
{
	return atomic_load(&launches()->outstanding);
}

static bool is_unbounded(const struct ctl_host *h)
{
	for (unsigned i = 0; i < shim->n_sms; i++) {
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
static void learn_duration(struct managed *m)
{
	const struct wire_slot *w = slot_of(m);
	const struct ctl_host *h = &w->host;
	bool whole = !m->args.seq;
	uint32_t n;
	uint64_t from = __atomic_load_n(whole ? &h->arrived_ns : &h->seen_ns, __ATOMIC_RELAXED);
	uint64_t to = __atomic_load_n(&h->done_ns, __ATOMIC_RELAXED);

	if (m->guard || !from || (whole && __atomic_load_n(&h->began, __ATOMIC_RELAXED)) ||
		to <= from ||
		__atomic_load_n(&w->preemptions, __ATOMIC_RELAXED) != m->preemptions ||
		!is_unbounded(h))
		return;
	if (!whole && (__atomic_load_n(&h->seq, __ATOMIC_RELAXED) != m->args.seq ||
			      to - from < SPELL_NS || m->resumed_at >= m->total))
		return;
	pthread_mutex_lock(&m->form->lock);
	if (whole)
		pace_learn(&m->shape->pace, m->args.chunk, to - from, m->total,
			page_load(&shim->welcome.min_managed_ns));
	else
		pace_learn_spell(
			&m->shape->pace, m->args.chunk, to - from, m->total - m->resumed_at);
	n = m->shape->pace.launches;
	pthread_mutex_unlock(&m->form->lock);
	if (n <= OFTEN || !(n & (n - 1))) /* the more is known, the seldomer */
		remember_taught(m->form->kernel);
}

/* Under the lock. */
static void release_slot(unsigned at)
{
	struct managed *m = &launches()->at[launches()->active[at]];

	__atomic_store_n(&slot_of(m)->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
	m->used = false;
	launches()->parameter_bytes -= m->bytes;
	launches()->active[at] = launches()->active[--launches()->n_active];
	if (atomic_fetch_sub(&m->stream->outstanding, 1) == 1 && m->stream->destroyed)
		ctlpool_take_back(m->stream);
	atomic_fetch_sub(&launches()->outstanding, 1);
	atomic_fetch_add(&m->stream->ended, 1);
	atomic_fetch_add(&launches()->ended, 1);
	launches()->closed++;
}

/* Adds the launch to the time span that the page reports. */
static void tell_span(const struct managed *m)
{
	const struct ctl_host *h = &shim->page->slots[m - launches()->at].host;
	uint64_t from = __atomic_load_n(&h->arrived_ns, __ATOMIC_RELAXED);
	uint64_t to = __atomic_load_n(&h->done_ns, __ATOMIC_RELAXED);

	if (from && to > from)
		__atomic_fetch_add(&shim->page->spanned_ns, to - from, __ATOMIC_RELAXED);
}

void launches_reap(unsigned at_most)
{
	unsigned at;

	for (at = 0; at < launches()->n_active && at_most; at_most--) {
		struct managed *m = &launches()->at[launches()->active[at]];

		/* Before `launched` is set, the slot may still describe its previous launch.
		 * is_done would then return true because that launch has ended. */
		if (m->launched && !m->resuming && is_done(m)) {
			learn_duration(m);
			tell_span(m);
			release_slot(at);
		} else {
			at++;
		}
	}
}

void launches_learn(void)
{
	pthread_mutex_lock(&launches()->lock);
	launches_reap(4);
	pthread_mutex_unlock(&launches()->lock);
}

void managed_reap(void)
{
	pthread_mutex_lock(&launches()->lock);
	launches_reap(UINT32_MAX);
	pthread_mutex_unlock(&launches()->lock);
}

static bool has_bytes(size_t bytes)
{
	return !launches()->parameter_bytes ||
	       launches()->parameter_bytes + bytes <= PARAMETER_BYTES;
}

struct managed *launches_take(struct stream *s, size_t bytes)
{
	struct managed *m = NULL;
	bool kick;

	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < WIRE_SLOTS && !m && has_bytes(bytes); i++) {
		unsigned at = (launches()->cursor + i) % WIRE_SLOTS;

		if (!launches()->at[at].used && __atomic_load_n(&shim->page->slots[at].state,
							__ATOMIC_ACQUIRE) == WIRE_SLOT_FREE) {
			m = &launches()->at[at];
			launches()->cursor = at + 1;
		}
	}
	if (m) {
		m->used = true;
		m->bytes = bytes;
		launches()->parameter_bytes += bytes;
		m->resuming = m->launched = false;
		m->stream = s;
		m->id = ++launches()->last_id;
		launches()->active[launches()->n_active++] = (uint16_t)(m - launches()->at);
		atomic_fetch_add(&s->outstanding, 1);
		atomic_fetch_add(&launches()->outstanding, 1);
	} else {
		launches_reap(UINT32_MAX);
	}
	kick = !m || launches()->closed >= KICK_AFTER;
	if (kick)
		launches()->closed = 0;
	pthread_mutex_unlock(&launches()->lock);
	if (kick)
		shim_kick();
	return m;
}

static bool has_room(size_t bytes)
{
	for (unsigned i = 0; i < WIRE_SLOTS && has_bytes(bytes); i++) {
		if (!launches()->at[i].used && __atomic_load_n(&shim->page->slots[i].state,
						       __ATOMIC_ACQUIRE) == WIRE_SLOT_FREE)
			return true;
	}
	return false;
}

/* Waits for a free slot. Without heddle, a program with so many queued launches would wait as well,
 * when the driver's queue is full. Launching unmanaged instead is no solution, because heddled
 * could not stop hundreds of such launches or tell them apart. The wait ends early if the
 * outstanding launches make no progress: they may need something that this thread does after the
 * wait. Then this returns false, and the launch becomes unmanaged. */
bool launches_await_room(size_t bytes)
{
	unsigned seen = atomic_load(&launches()->ended);
	struct patience p;
	bool room;

	patience_begin(&p, &launches()->ended, &launches()->gave_up);
	do {
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		pthread_mutex_lock(&launches()->lock);
		launches_reap(UINT32_MAX);
		room = has_room(bytes);
		pthread_mutex_unlock(&launches()->lock);
		if (atomic_load(&launches()->ended) != seen)
			shim_kick(); /* the daemon is to free it */
		seen = atomic_load(&launches()->ended);
	} while (!room && !patience_ends(&p) && !atomic_load(&shim->dead));
	return room;
}

void launches_drop(struct managed *m)
{
	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active; i++) {
		if (&launches()->at[launches()->active[i]] == m) {
			release_slot(i);
			break;
		}
	}
	pthread_mutex_unlock(&launches()->lock);
}

void managed_stream_destroyed(struct stream *s)
{
	pthread_mutex_lock(&launches()->lock);
	s->destroyed = true;
	if (!atomic_load(&s->outstanding))
		ctlpool_take_back(s);
	pthread_mutex_unlock(&launches()->lock);
}

/* Returns true if heddled steers some incomplete launch: it has sent quotas for the launch, or it
 * sets quotas for all launches that begin. If `ungranted` is set, counts only launches that have no
 * SMs now. */
static bool any_steered(bool ungranted)
{
	bool any = false, begin = __atomic_load_n(&shim->page->begin.seq, __ATOMIC_ACQUIRE);

	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active && !any; i++) {
		struct managed *m = &launches()->at[launches()->active[i]];
		const struct wire_slot *w = slot_of(m);

		any = m->launched &&
		      (begin || __atomic_load_n(&w->host.began, __ATOMIC_ACQUIRE) ||
			      __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE)) &&
		      !(ungranted && is_granted(w)) && !is_done(m);
	}
	pthread_mutex_unlock(&launches()->lock);
	return any;
}

bool managed_any_preempted(void)
{
	return any_steered(false);
}

bool managed_any_waiting(void)
{
	return any_steered(true);
}

void managed_forget(void)
{
	pthread_mutex_lock(&launches()->lock);
	shim->page_dev = 0;
	while (launches()->n_active)
		release_slot(0);
	pthread_mutex_unlock(&launches()->lock);
	ctlpool_forget();
}

void managed_after_fork(void)
{
	pthread_mutex_init(&launches()->lock, NULL);
	launches()->n_active = 0;
	atomic_store(&launches()->outstanding, 0);
	resume_after_fork();
	ctlpool_after_fork();
	symbols_after_fork();
	gate_after_fork();
	placing_after_fork();
}
