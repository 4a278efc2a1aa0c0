/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Work that is not managed: counted in the page, held at launch while the tenant is held, and
 * followed by events while the daemon watches. Launches that were made before it watched are
 * followed by one more event on each stream that had some. */
#include "shim/managed.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOLLOWED 1024 /* more in flight than that: the oldest's event is waited for by all */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUevent event;
	uint32_t launches; /* that are complete when it is */
} followed[FOLLOWED];
static _Atomic unsigned n_followed; /* changes under the lock */
static CUevent spare[FOLLOWED];
static unsigned n_spare;
static _Atomic uint32_t unfollowed;   /* launches that no event stands for yet */
static struct map touched = MAP_INIT; /* streams that had any of them */

static void futex_wait(uint32_t *word, uint32_t value)
{
	struct timespec t = {.tv_nsec = 50000000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

void opaque_wake(void)
{
	syscall(SYS_futex, &shim.page->seq, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool must_wait(void)
{
	struct wire_page *p = shim.page;
	uint32_t limit, flying;

	if (atomic_load(&shim.dead))
		return false;
	if (__atomic_load_n(&p->hold, __ATOMIC_ACQUIRE))
		return true;
	limit = __atomic_load_n(&p->opaque_limit, __ATOMIC_RELAXED);
	flying = __atomic_load_n(&p->opaque_submitted, __ATOMIC_RELAXED) -
		 __atomic_load_n(&p->opaque_completed, __ATOMIC_RELAXED);
	return limit && flying >= limit && flying < 1u << 31;
}

static void wait_turn(void)
{
	struct wire_page *p = shim.page;

	__atomic_fetch_add(&p->opaque_waiting, 1, __ATOMIC_SEQ_CST);
	shim_kick();
	for (;;) {
		uint32_t seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);

		if (!must_wait())
			break;
		/* Short of the limit it is our own launches that are waited for. */
		if (!__atomic_load_n(&p->hold, __ATOMIC_ACQUIRE)) {
			opaque_follow();
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		} else {
			futex_wait(&p->seq, seq);
		}
	}
	__atomic_fetch_sub(&p->opaque_waiting, 1, __ATOMIC_SEQ_CST);
}

static CUevent take_event(void)
{
	CUevent e = NULL;

	if (n_spare)
		return spare[--n_spare];
	if (cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return NULL;
	return e;
}

/* Under the lock. */
static bool follow(CUstream stream, uint32_t n)
{
	CUevent e;

	if (n_followed == FOLLOWED)
		return false;
	e = take_event();
	if (!e)
		return false;
	if (cu.cuEventRecord(e, stream) != CUDA_SUCCESS) {
		spare[n_spare++] = e;
		return false;
	}
	followed[n_followed].event = e;
	followed[n_followed++].launches = n;
	return true;
}

void opaque_begin(struct stream *s, bool *ret_counted)
{
	struct wire_page *p = shim.page;

	*ret_counted = false;
	/* Captured work runs when its graph does. */
	if (!s || stream_capturing(s->handle))
		return;
	stream_use(s);
	if (__builtin_expect(must_wait(), 0))
		wait_turn();
	__atomic_fetch_add(&p->opaque_submitted, 1, __ATOMIC_SEQ_CST);
	*ret_counted = true;
	/* Told ahead of the launch: the hand-over goes on while the driver is at work. */
	if (__atomic_load_n(&p->watch, __ATOMIC_SEQ_CST))
		shim_kick();
}

bool opaque_follow_later(struct stream *s)
{
	bool first = !atomic_fetch_add(&unfollowed, 1);

	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&touched, s, s);
	return first;
}

void opaque_end(struct stream *s, bool counted, CUresult r)
{
	struct wire_page *p = shim.page;
	bool watched = __atomic_load_n(&p->watch, __ATOMIC_ACQUIRE) ||
		       __atomic_load_n(&p->opaque_limit, __ATOMIC_RELAXED);

	if (!counted)
		return;
	if (r != CUDA_SUCCESS) {
		__atomic_fetch_add(&p->opaque_completed, 1, __ATOMIC_RELEASE);
		return;
	}
	if (watched) {
		bool ok;

		pthread_mutex_lock(&lock);
		ok = follow(s->handle, 1);
		pthread_mutex_unlock(&lock);
		if (!ok)
			watched = false;
		agent_poke();
	}
	if (!watched)
		opaque_follow_later(s);
}

static void follow_stream(void *user, const void *key, void *value)
{
	struct stream *s = value;
	uint32_t *lost = user, n = atomic_exchange(&s->opaque, 0);
	/* Another thread's default stream has no handle that means it here, even while the thread
	 * lives: it is waited for by the legacy stream. */
	bool own = s->handle == CU_STREAM_PER_THREAD;

	if (!n)
		return;
	atomic_fetch_sub(&unfollowed, n);
	if ((s->destroyed && !own) || !follow(own ? CU_STREAM_LEGACY : s->handle, n))
		*lost += n;
}

/* One event on each stream for its launches so far. Those of which none could be had are taken to
 * end with the others. */
static void catch_up(void)
{
	uint32_t lost = 0;

	/* Later while there are captures, which an event would join. */
	if (!atomic_load(&unfollowed) || atomic_load(&shim.captures))
		return;
	map_each(&touched, follow_stream, &lost);
	if (lost && n_followed)
		followed[n_followed - 1].launches += lost;
	else if (lost)
		__atomic_fetch_add(&shim.page->opaque_completed, lost, __ATOMIC_RELEASE);
}

void opaque_look(void)
{
	struct wire_page *p = shim.page;

	if (__atomic_load_n(&p->opaque_submitted, __ATOMIC_ACQUIRE) !=
		__atomic_load_n(&p->opaque_completed, __ATOMIC_ACQUIRE))
		opaque_follow();
}

bool opaque_follow(void)
{
	struct shim_inside in;
	uint32_t done = 0;
	unsigned kept = 0;
	bool pending;

	if (!__atomic_load_n(&shim.page->watch, __ATOMIC_ACQUIRE) && !n_followed)
		return false;
	pthread_mutex_lock(&lock);
	shim_enter(&in);
	if (__atomic_load_n(&shim.page->watch, __ATOMIC_ACQUIRE))
		catch_up();
	for (unsigned i = 0; i < n_followed; i++) {
		/* Any error of the context is an end too. */
		if (cu.cuEventQuery(followed[i].event) == CUDA_ERROR_NOT_READY) {
			followed[kept++] = followed[i];
			continue;
		}
		done += followed[i].launches;
		if (n_spare < FOLLOWED)
			spare[n_spare++] = followed[i].event;
	}
	n_followed = kept;
	pending = n_followed || atomic_load(&unfollowed);
	shim_leave(&in);
	/* Under the lock: whoever finds nothing to follow behind it is not ahead of the count. */
	if (done)
		__atomic_fetch_add(&shim.page->opaque_completed, done, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	/* While there is more of it nothing has changed for the daemon. */
	if (done && !pending && __atomic_load_n(&shim.page->watch, __ATOMIC_ACQUIRE))
		shim_kick();
	return pending;
}
