/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Unmanaged work. The shim counts it in the page. It delays an unmanaged launch while heddled holds
 * the tenant's launches back, or while too much unmanaged work is in flight. */
#include "shim/plain/opaque.h"

#include "shim/order/channels.h"
#include "shim/order/hold.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM_NS 20000u
#define LULL_NS 200000000u /* stop waiting if nothing in flight has ended for this time */
/* upper limit of that time for launches that are estimated to take long */
#define LONG_NS  1000000000u
#define AGAIN_NS 10000000u /* the time if the last wait was in vain and nothing has ended since */

static void futex_wait(uint32_t *word, uint32_t value)
{
	struct timespec t = {.tv_nsec = 50000000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

void opaque_wake(struct session *session)
{
	syscall(SYS_futex, &session->page->seq, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool is_held(struct session *session)
{
	return page_load(&session->page->hold) && !atomic_load(&session->dead);
}

static void wait_turn(struct session *session)
{
	struct wire_page *p = session->page;

	__atomic_fetch_add(&p->opaque_waiting, 1, __ATOMIC_SEQ_CST);
	shim_kick(session);
	for (;;) {
		uint32_t seq = page_load(&p->seq);

		if (!is_held(session))
			break;
		futex_wait(&p->seq, seq);
	}
	__atomic_fetch_sub(&p->opaque_waiting, 1, __ATOMIC_SEQ_CST);
}

static uint64_t patience_ns(struct session *session, uint32_t gave_up, uint32_t ended)
{
	if (gave_up == ended + 1)
		return AGAIN_NS;
	return MIN(MAX(LULL_NS, 3000 * follow_flying_us(session)), LONG_NS);
}

/* When a waiting launch last saw unmanaged work end. */
struct last_end {
	uint32_t seen; /* opaque_completed at that time */
	uint64_t at_ns;
};

/* Waits until little enough work is in flight for this launch. The wait is bounded, because the
 * work in flight may itself wait for this launch. It counts the time in which heddled held the
 * launch: that may be most of it. */
static void wait_room(struct session *session, struct opaque *o, struct last_end *last)
{
	uint32_t ended, bound;

	while (!is_held(session) && !atomic_load(&session->dead)) {
		bound = page_load(&session->page->bound_us);
		if (!bound || follow_admits(session, o->what, bound, o))
			return;
		nanosleep(&(struct timespec){.tv_nsec = ROOM_NS}, NULL);
		follow_look(session);
		ended = page_load(&session->page->opaque_completed);
		if (ended != last->seen) {
			*last = (struct last_end){ended, shim_now_ns()};
		} else if (shim_now_ns() - last->at_ns >
			   patience_ns(session, atomic_load(&session->gave_up), last->seen)) {
			atomic_store(&session->gave_up, last->seen + 1);
			return;
		}
	}
}

static void wait_until_allowed(struct session *session, struct opaque *o)
{
	struct last_end last = {page_load(&session->page->opaque_completed), shim_now_ns()};

	do {
		if (is_held(session))
			wait_turn(session);
		wait_room(session, o, &last);
	} while (is_held(session) && !o->us);
}

/* Counts the launch in the page before the driver gets it. If the launch is the first one in flight
 * and heddled follows unmanaged work, it also wakes heddled. heddled can then free SMs while the
 * driver prepares the launch. */
static void count_launch(struct session *session, struct opaque *o)
{
	struct wire_page *p = session->page;
	uint32_t number = __atomic_add_fetch(&p->opaque_submitted, 1, __ATOMIC_SEQ_CST);

	o->counted = true;
	if (__atomic_load_n(&p->follow, __ATOMIC_SEQ_CST) &&
		__atomic_load_n(&p->opaque_completed, __ATOMIC_SEQ_CST) == number - 1)
		shim_kick(session);
}

void opaque_pass(struct session *session, struct stream *s, struct opaque *ret)
{
	if (!s || !session->client.welcome.mps || stream_capturing(session, s->handle))
		return;
	stream_use(session, s);
	count_launch(session, ret);
}

void opaque_begin(struct session *session, struct stream *s, uint64_t what, struct opaque *ret)
{
	struct wire_page *p = session->page;

	*ret = (struct opaque){.what = what};
	/* A captured launch does not run now, but when its graph is launched. */
	if (!s || stream_capturing(session, s->handle))
		return;
	stream_use(session, s);
	if (__builtin_expect(page_load(&p->hold) || page_load(&p->bound_us), 0)) {
		uint64_t since = shim_now_ns();

		wait_until_allowed(session, ret);
		__atomic_fetch_add(&p->held_ns, shim_now_ns() - since, __ATOMIC_RELAXED);
	}
	hold_pass(session);
	ret->passes = true;
	count_launch(session, ret);
}

void opaque_end(struct session *session, struct stream *s, const struct opaque *o, CUresult r)
{
	if (!o->counted)
		return;
	if (r != CUDA_SUCCESS) {
		follow_cancel(session, o);
		__atomic_fetch_add(&session->page->opaque_completed, 1, __ATOMIC_RELEASE);
	} else if (page_load(&session->page->follow) &&
		   (o->us || s->handle == CU_STREAM_PER_THREAD)) {
		follow_now(session, s, o);
	} else {
		follow_later(session, s);
	}
	if (o->passes)
		hold_passed(session);
}
