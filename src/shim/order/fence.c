/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fences. Some driver calls hold a lock of the driver while they wait for the GPU. If such a call
 * waits for a preempted launch, and the shim needs the same lock for the launch that resumes it,
 * both wait forever. So the shim first waits for the GPU without any lock, and manages no new
 * launches until such a call has returned. */
#include "shim/order/fence.h"
#include "hooks_gen.h"
#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/order/launches.h"
#include "shim/order/patience.h"
#include "shim/order/rounds.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define LOAD_WAITS_NS 2000000000u
#define SPIN_NS       200000u /* poll without sleeping for this time, as the driver does at least */

struct fence {
	_Atomic unsigned active;
	struct lock pin_lock;
	_Atomic bool pinned;
};

bool fence_active(struct session *session)
{
	return atomic_load(&session->fence->active) != 0;
}

void fence_stand(struct session *session)
{
	atomic_fetch_add(&session->fence->active, 1);
}

/* Returns true if the context has an error, so no work completes any more. */
static bool context_broken(struct session *session)
{
	struct shim_inside in;
	CUresult r;

	if (shim_enter(session, &in) != CUDA_SUCCESS)
		return true;
	r = cu.cuStreamQuery(session->helper);
	shim_leave(&in);
	return r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY;
}

/* Waits for one stream, or for the whole context, through a driver call that holds no lock. */
static void synchronise_driver(struct session *session, CUstream stream, bool whole)
{
	struct shim_inside in;

	if (atomic_load(&session->captures))
		return; /* synchronising would end the capture, so the caller polls instead */
	if (shim_enter(session, &in) == CUDA_SUCCESS) {
		if (whole)
			cu.cuCtxSynchronize();
		else
			cu.cuStreamSynchronize(stream);
	}
	shim_leave(&in);
}

/* Call under the lock. */
static void set_pin(struct session *session, bool on)
{
	if (atomic_load(&session->fence->pinned) == on)
		return;
	atomic_store(&session->fence->pinned, on);
	__atomic_fetch_add(&session->page->pin, 1, __ATOMIC_SEQ_CST);
	shim_kick(session);
}

static bool none_preempted(struct session *session)
{
	return !managed_any_preempted(session);
}

/* Asks heddled to leave all quotas as they are ("pin") until the last fenced call has returned.
 * `steady` checks that no running launch needs a further launch of the shim to continue. Returns
 * true if `steady` returns true after heddled has confirmed the pin, or after heddled is gone.
 * Otherwise returns false, and the caller tries again. */
static bool all_pinned(struct session *session, bool (*steady)(struct session *session))
{
	struct wire_page *p = session->page;
	bool ok;

	if (!steady(session))
		return false;
	lock_take(&session->fence->pin_lock);
	set_pin(session, true);
	ok = __atomic_load_n(&p->pinned, __ATOMIC_ACQUIRE) ==
	     __atomic_load_n(&p->pin, __ATOMIC_RELAXED);
	if (ok && !steady(session)) { /* a launch has just changed */
		set_pin(session, false);
		ok = false;
	}
	lock_drop(&session->fence->pin_lock);
	return ok || atomic_load(&session->dead);
}

static void unpin_launches(struct session *session)
{
	lock_take(&session->fence->pin_lock);
	if (!atomic_load(&session->fence->active))
		set_pin(session, false);
	lock_drop(&session->fence->pin_lock);
}

void fence_begin(struct session *session, enum fence_kind kind)
{
	uint64_t began = 0;

	fence_stand(session);
	if (kind == FENCE_WAITS && managed_outstanding(session))
		synchronise_driver(session, NULL, true);
	for (unsigned round = 0; managed_outstanding(session); round++) {
		managed_reap(session);
		if (!managed_outstanding(session))
			break;
		if (!began)
			began = shim_now_ns();
		/* Before a call that loads code, the wait for running launches is limited. Such a
		 * launch may itself wait for something that the loaded code does, and would then
		 * never complete. */
		if (kind == FENCE_LOADS && shim_now_ns() - began > LOAD_WAITS_NS &&
			all_pinned(session, none_preempted))
			break;
		if (round % 256 == 255 && context_broken(session)) {
			launches_end_all(session);
			break;
		}
		if (round == 0)
			shim_poke(session);
		/* Yield at first, because a sleep of 20 us takes 70 us in practice, which is long
		 * compared with a short launch. */
		if (shim_now_ns() - began < SPIN_NS)
			sched_yield();
		else
			nanosleep(
				&(struct timespec){.tv_nsec = round < 100 ? 20000 : 500000}, NULL);
	}
	if (began)
		atomic_fetch_add(kind == FENCE_WAITS ? &session->waits : &session->load_waits, 1);
}

/* Returns true if no earlier work is left in the stream, as far as the shim can query that. */
static bool is_through(struct session *session, CUstream stream)
{
	struct shim_inside in;
	bool yes;

	if (atomic_load(&session->captures)) { /* a query of the stream would end the captures */
		managed_reap(session);
		return !managed_outstanding(session) || context_broken(session);
	}
	yes = shim_enter(session, &in) != CUDA_SUCCESS ||
	      cu.cuStreamQuery(stream) != CUDA_ERROR_NOT_READY;
	shim_leave(&in);
	return yes;
}

/* Waits until no managed launch precedes the copy in its stream. If the preceding launches stop
 * making progress, they may wait for something that the program does only after the copy. (Without
 * heddle, this copy would return at once.) Then this function makes heddled preempt nothing until
 * the driver is done with the copy, and returns. The time without preemption is bounded, because
 * the shim manages no new launch meanwhile. */
static void await_room(struct session *session, CUstream stream)
{
	struct stream *s = stream_of(session, stream);
	uint64_t began = shim_now_ns();
	struct patience p;
	bool in_vain = false;

	if (!s)
		return;
	patience_begin(session, &p, &s->ended, &s->gave_up);
	while (!is_through(session, stream)) {
		in_vain = in_vain || patience_ends(session, &p);
		if (in_vain) {
			managed_reap(session);
			if (!managed_outstanding(session) || all_pinned(session, launches_served))
				break;
		}
		if (shim_now_ns() - began < SPIN_NS)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
}

void fence_copy_begin(struct session *session, CUstream stream, enum fence_copy kind)
{
	fence_stand(session);
	if (kind == FENCE_COPY_MAY)
		await_room(session, stream);
	else if (managed_outstanding(session))
		synchronise_driver(session, stream, false);
}

static _Atomic unsigned n_ended;

unsigned fence_count(void)
{
	return atomic_load_explicit(&n_ended, memory_order_relaxed);
}

void fence_end(struct session *session)
{
	atomic_fetch_add_explicit(&n_ended, 1, memory_order_relaxed);
	if (atomic_fetch_sub(&session->fence->active, 1) == 1 &&
		atomic_load(&session->fence->pinned))
		unpin_launches(session);
}

void fence_all_begin(enum fence_kind kind)
{
	for (unsigned i = 0; i < shim_sessions(); i++)
		fence_begin(&sessions[i], kind);
}

void fence_all_end(void)
{
	for (unsigned i = 0; i < shim_sessions(); i++)
		fence_end(&sessions[i]);
}

void fence_pause(struct session *session, const struct session_ends *ends)
{
	fence_begin(session, FENCE_WAITS);
}

void fence_resume(struct session *session, const struct session_ends *ends)
{
	fence_end(session);
}

bool fence_open(struct session *session)
{
	session->fence = calloc(1, sizeof(*session->fence));
	if (session->fence)
		lock_init(&session->fence->pin_lock, LOCK_pin);
	return session->fence;
}

/* ---- driver calls within a fence ---- */

/* Calls the driver within a fence. A call that waits for the GPU (FENCE_WAITS), such as one that
 * frees host memory, can wait for the work of any device. So the fence is raised on all devices.
 * For a call that loads code, it is raised only on the device of that call. */
#define WAIT_AROUND(kind, fn, args)         \
	CUresult r;                         \
	if (kind == FENCE_WAITS)            \
		fence_all_begin(kind);      \
	else                                \
		fence_begin(session, kind); \
	r = fn args;                        \
	if (kind == FENCE_WAITS)            \
		fence_all_end();            \
	else                                \
		fence_end(session);         \
	return r;

/* Defines a function for each row of hooks.def with FENCE or FENCE_LOAD. */
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define EMIT_PASS(...)
#define EMIT_OURS(...)
#define EMIT_FENCE(...)      WRAP(FENCE_WAITS, __VA_ARGS__)
#define EMIT_FENCE_LOAD(...) WRAP(FENCE_LOADS, __VA_ARGS__)
#define WRAP(kind, name, symbol, flags, params, args) \
	SHIM_API CUresult symbol params;              \
	CUresult symbol params                        \
	{                                             \
		SHIM_NEED(name);                      \
		WAIT_AROUND(kind, cu.name, args)      \
	}                                             \
	OWN_##flags(kind, name, symbol, params, args)
#define OWN_0(...)
#define OWN_CU_PTSZ(kind, name, symbol, params, args) OWN(kind, name, symbol##_ptsz, params, args)
#define OWN_CU_PTDS(kind, name, symbol, params, args) OWN(kind, name, symbol##_ptds, params, args)
#define OWN(kind, name, own, params, args)               \
	SHIM_API CUresult own params;                    \
	CUresult own params                              \
	{                                                \
		SHIM_REAL(fn, __typeof__(cu.name), own); \
		WAIT_AROUND(kind, fn, args)              \
	}
#define CU_FN(name, symbol, since, flags, params, args) \
	JOIN(EMIT_, HOOK_HOW_##symbol)(name, symbol, flags, params, args)
#include "dev/cu_api.def"
#undef CU_FN

/* Defines a fenced function that is not listed in cu_api.def. These functions take a handle, or an
 * address and a size. */
#define UNLISTED(name, params, types, args)        \
	SHIM_API CUresult name params;             \
	CUresult name params                       \
	{                                          \
		typedef CUresult(*real_fn) types;  \
		SHIM_REAL(fn, real_fn, name);      \
		WAIT_AROUND(FENCE_WAITS, fn, args) \
	}
UNLISTED(cuMipmappedArrayDestroy, (void *array), (void *), (array))
UNLISTED(cuMemUnmap, (CUdeviceptr at, size_t bytes), (CUdeviceptr, size_t), (at, bytes))
UNLISTED(cuMemRelease, (unsigned long long handle), (unsigned long long), (handle))
UNLISTED(cuDestroyExternalMemory, (void *memory), (void *), (memory))

/* Returns the session of the device that has the memory at `at`, so that only launches on that
 * device are waited for. Returns `session` if the driver does not know the address. */
static struct session *session_of_address(struct session *session, CUdeviceptr at)
{
	int dev;

	if (shim_sessions() > 1 && cu.cuPointerGetAttribute &&
		cu.cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) ==
			CUDA_SUCCESS)
		return session_of_device(dev);
	return session;
}

SHIM_API CUresult cuMemFree_v2(CUdeviceptr at);
CUresult cuMemFree_v2(CUdeviceptr at)
{
	CUresult r;

	SHIM_NEED(cuMemFree);
	session = session_of_address(session, at);
	fence_begin(session, FENCE_WAITS);
	r = cu.cuMemFree(at);
	fence_end(session);
	return r;
}
