/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches behind a gate: unchanged kernels that heddled can hold back until they begin.
 *
 * If tenants run in time slices, a launch whose blocks all fit on the device at once can be stopped
 * only before its first block. For that the original kernel is as good as its preemptible form. So
 * the shim makes the stream wait until a value in the page, `allowed`, reaches the launch's number
 * among the tenant's unmanaged launches. `allowed` serves all of these launches, so heddled stops
 * or starts them all with one store. Nothing has to be resumed, and the hardware starts the next
 * launch within 15 us. The form would cost some 7 us for each launch, and would run longer.
 *
 * Only a program that waits for the device between its launches gets a gate. The reason: the stream
 * wait reads host memory. If more launches are queued behind such a wait, the device takes 130 to
 * 160 us longer to switch to another tenant (H200, driver 580). A wait for device memory, as in a
 * managed launch, has no such cost. */
#include "shim/plain/gate.h"
#include "host/silence.h"
#include "shim/core/lock.h"
#include "shim/order/channels.h"
#include "shim/order/fence.h"
#include "shim/order/follow.h"
#include "shim/order/hold.h"
#include "shim/order/sync.h"
#include "shim/plain/opaque.h"

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

/* A launch behind a gate waits until fewer launches than this are in flight. Otherwise it might
 * wait for space in the driver's queue, and hold a lock meanwhile. The queue holds 1,021 commands,
 * or 4 MiB of parameters (H200, driver 580), and one launch has at most 32 KiB of parameters. */
#define AHEAD_MAX 64u
#define LULL_NS   200000000u
#define KEEPER_MS 200

/* ---- opening the gate if the daemon is gone ---- */

/* Returns true if the daemon that received HELLO number `joins` has ended or does not respond. */
static bool is_gone(struct session *session, unsigned joins, struct silence *silence)
{
	struct host_fd sock;
	struct pollfd fd = {.events = POLLRDHUP};
	bool ours = session_socket(session, &sock);

	/* Before the daemon has answered, the descriptor belongs to the previous daemon. */
	fd.fd = ours && !atomic_load(&session->dead) ? sock.fd : -1;
	poll(&fd, 1, KEEPER_MS);
	if (!ours || atomic_load(&session->alone))
		return true;
	if (!host_fd_is(&sock) || atomic_load(&session->joins) != joins)
		return false; /* the daemon has changed meanwhile */
	return (fd.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) ||
	       silence_too_long(silence, page_load(&session->page->alive_ms),
		       (uint32_t)(shim_now_ns() / 1000000), page_load(&session->page->hold));
}

/* The gate keeper: a thread that opens the gate if heddled is gone. The keeper never calls the
 * driver. So it can run when the agent cannot: the agent may wait for a lock that the driver holds
 * while the driver waits for a launch behind the gate. A daemon that was only stuck can continue
 * and close the gate again. So the keeper opens the gate repeatedly, until the next HELLO. */
static void *keep_gate_open(void *user)
{
	struct session *session = user;

	for (;;) {
		unsigned joins = atomic_load(&session->joins);
		struct silence silence = {0};

		while (!is_gone(session, joins, &silence))
			joins = atomic_load(&session->joins);
		while (session_open_gate(session, joins))
			nanosleep(&(struct timespec){.tv_nsec = KEEPER_MS * 1000000}, NULL);
	}
	return NULL;
}

struct keeper {
	struct lock lock;
	_Atomic bool runs;
};

/* Returns true if the gate keeper runs, starting it if necessary. */
static bool has_keeper(struct session *session)
{
	if (atomic_load_explicit(&session->keeper->runs, memory_order_acquire))
		return true;
	lock_take(&session->keeper->lock);
	if (!atomic_load(&session->keeper->runs))
		atomic_store(&session->keeper->runs, shim_thread(session, keep_gate_open) == 0);
	lock_drop(&session->keeper->lock);
	return atomic_load(&session->keeper->runs);
}

bool gate_open(struct session *session)
{
	session->keeper = calloc(1, sizeof(*session->keeper));
	if (session->keeper)
		lock_init(&session->keeper->lock, LOCK_keeper);
	return session->keeper;
}

/* ---- which launches get a gate ---- */

/* Returns true if all blocks of the launch fit on the device at once. */
static bool is_one_wave(struct session *session, const struct launch *l, struct kernel *k)
{
	uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t key = (uint64_t)l->shared << 32 | threads, fit;
	bool loads = !atomic_load_explicit(&k->loaded, memory_order_relaxed);
	CUresult r;
	int n = 0;

	if (!total || !threads || threads > 1024)
		return false;
	/* wave_of is the launch shape of the last launch, and `wave` is the result for that shape
	 * (whether all its blocks fit on the device at once). Another thread may change one of them
	 * between the two loads. This does no harm, because a launch runs correctly with either
	 * result. */
	if (atomic_load_explicit(&k->wave_of, memory_order_acquire) != key) {
		if (loads)
			fence_begin(session, FENCE_LOADS);
		r = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&n, l->fn, (int)threads, l->shared);
		if (loads)
			fence_end(session);
		if (r != CUDA_SUCCESS)
			return false;
		atomic_store_explicit(
			&k->wave, (uint32_t)MAX(n, 0) * session->n_sms, memory_order_relaxed);
		atomic_store_explicit(&k->wave_of, key, memory_order_release);
	}
	fit = atomic_load_explicit(&k->wave, memory_order_relaxed);
	return total <= fit;
}

/* Returns true if the program has waited for the device since its last launch on this stream. */
static bool is_alone(struct session *session, const struct launch *l)
{
	struct stream *s = stream_of(session, l->stream);
	unsigned waits = sync_count(session);

	return s && atomic_exchange(&s->waits, waits) != waits;
}

bool gate_suits(struct session *session, const struct launch *l, struct kernel *k)
{
	CUcontext now = NULL;

	return k && session->page_dev && page_load(&session->page->gates) &&
	       page_load(&session->page->watch) && is_alone(session, l) &&
	       shim_priority(session) < SHIM_HIGH && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS &&
	       now == session->ctx && !atomic_load(&session->captures) &&
	       is_one_wave(session, l, k) && has_keeper(session);
}

/* ---- launching behind a gate ---- */

static uint32_t n_in_flight(struct session *session)
{
	uint32_t n = page_load(&session->page->opaque_submitted) -
		     page_load(&session->page->opaque_completed);

	return n < 1u << 31 ? n : 0;
}

/* Waits until fewer than AHEAD_MAX launches are in flight. The launches in flight may need
 * something that this thread does after the wait, so the wait is bounded. Time during which the
 * gate is closed does not count. */
static void await_room(struct session *session)
{
	uint32_t seen = page_load(&session->page->opaque_completed);
	uint64_t since = shim_now_ns();

	while (n_in_flight(session) >= AHEAD_MAX && !atomic_load(&session->dead)) {
		follow_look(session);
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		if (page_load(&session->page->opaque_completed) != seen ||
			page_load(&session->page->hold)) {
			seen = page_load(&session->page->opaque_completed);
			since = shim_now_ns();
		} else if (shim_now_ns() - since > LULL_NS) {
			break;
		}
	}
}

bool gate_begin(struct session *session, struct stream *s)
{
	uint32_t number;
	CUresult r;

	if (!s)
		return false;
	stream_use(session, s);
	await_room(session);
	hold_pass(session);
	number = __atomic_add_fetch(&session->page->opaque_submitted, 1, __ATOMIC_SEQ_CST);
	r = cu.cuStreamWaitValue32(s->handle,
		session->page_dev + offsetof(struct wire_page, allowed), number,
		CU_STREAM_WAIT_VALUE_GEQ);
	if (r != CUDA_SUCCESS) {
		__atomic_fetch_add(&session->page->opaque_completed, 1, __ATOMIC_RELEASE);
		hold_passed(session);
	} else if (page_load(&session->page->opaque_completed) == number - 1) {
		/* This is the first launch in flight, so heddled does not know yet that the tenant
		 * has work. */
		shim_kick(session);
	}
	return r == CUDA_SUCCESS;
}

void gate_end(struct session *session, struct stream *s, CUresult r)
{
	struct opaque o = {.counted = true, .passes = true};

	opaque_end(session, s, &o, r);
}
