/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether and how a launch is managed. A form has a record for each launch shape, that is,
 * for each combination of threads per block, shared memory per block, and size class of the grid.
 * The record contains how many blocks of this shape fit on an SM and how long they take. */
#include "shim/launch/plan.h"

#include "shim/order/stream.h"

#include "shim/core/lock.h"
#include "shim/form/making.h"
#include "shim/form/padding.h"

#include <stdatomic.h>

/* Copies the measured speed from earlier starts of the program into the shape's record. */
static void recall_pace(const struct form *f, struct form_shape *s)
{
	const struct known like = {
		.form = f->which, .threads = s->threads, .shared = s->shared, .scale = s->scale};
	const struct pace *p = known_find(f->known, f->n_known, &like);

	if (p)
		s->pace = *p;
}

/* Returns an attribute of the program's original kernel (0 or more), or -1 if the driver does not
 * report it. */
static int native_attribute(
	struct session *session, const struct form *f, CUfunction_attribute which)
{
	const struct kernel *k = f->kernel;
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;
	int n = 0;

	if (!k->in_library)
		r = cu.cuFuncGetAttribute(&n, which, (CUfunction)k->handle);
	else if (cu.cuKernelGetAttribute)
		r = cu.cuKernelGetAttribute(&n, which, (CUkernel)k->handle, session->dev);
	return r == CUDA_SUCCESS && n >= 0 ? n : -1;
}

/* Returns the largest block size that the driver allows for the original kernel. A form may need
 * fewer registers, so it could run with a block size for which the driver refuses the kernel. Call
 * under the form's lock. */
static uint32_t native_threads(struct session *session, struct form *f)
{
	int n;

	if (f->native_threads)
		return f->native_threads;
	n = native_attribute(session, f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	f->native_threads = n > 0 ? (uint32_t)n : f->max_threads;
	return f->native_threads;
}

/* Returns true if the original kernel's own limit allows this much shared memory. The form's limit
 * may be higher, so the driver would not detect the error. */
static bool is_shared_allowed(struct session *session, const struct form *f, uint32_t shared)
{
	int n = f->raised ? native_attribute(
				    session, f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
			  : -1;

	return n < 0 || shared <= (uint32_t)n;
}

static struct form_shape *shape_of(struct session *session, struct form *f, const struct launch *l)
{
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint32_t scale = (63 - (uint32_t)__builtin_clzll(blocks | 1)) / 2;
	struct form_shape *s = NULL;
	int n = 0;

	for (unsigned i = 0; i < f->n_shapes && !s; i++) {
		if (f->shape[i].threads == threads && f->shape[i].shared == l->shared &&
			f->shape[i].scale == scale)
			s = &f->shape[i];
	}
	if (s)
		return s;
	/* If a kernel has more shapes than entries, each new shape replaces the last entry. */
	if (f->n_shapes < KERNEL_SHAPES)
		f->n_shapes++;
	s = &f->shape[f->n_shapes - 1];
	*s = (struct form_shape){.threads = threads, .shared = l->shared, .scale = scale};
	recall_pace(f, s);
	if (threads <= MIN(f->max_threads, native_threads(session, f)) &&
		is_shared_allowed(session, f, l->shared) &&
		cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&n, f->on.fn, (int)threads, l->shared) == CUDA_SUCCESS &&
		n > 0)
		s->per_sm = (uint32_t)MIN(n, 31);
	if (s->per_sm && f->info.tier == PASS_GUARD && !f->info.reads_shared_size)
		pads_find(session, f, threads, l->shared, &s->pads);
	if (f->info.rising_order && cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
					    &n, l->fn, (int)threads, l->shared) == CUDA_SUCCESS)
		s->as_it_is = (uint32_t)n;
	return s;
}

/* Returns true if the launch must not be managed, because its blocks may wait for each other and
 * without heddle all of them are on the device at once. A managed launch might have fewer workers
 * than blocks: the relay block takes the place of one worker, and a quota may end some workers
 * before the others have begun. An unmanaged launch has no such problem: either its whole grid
 * starts, or the launch call waits. */
static bool must_start_whole(
	struct session *session, const struct form *f, const struct form_shape *s, uint64_t total)
{
	return f->info.rising_order &&
	       total <= (uint64_t)MAX(s->per_sm, s->as_it_is) * session->n_sms;
}

struct form *plan_form(
	struct session *session, struct form *f, const struct launch *l, uint64_t total)
{
	struct pace pace[2];
	uint64_t workers[2];
	uint32_t retry;
	bool second;

	if (!f->other)
		return f;
	for (unsigned i = 0; i < 2; i++) {
		struct form *g = i ? f->other : f;
		struct form_shape *s;

		lock_take(&g->lock);
		s = shape_of(session, g, l);
		pace[i] = s->pace;
		workers[i] = MIN(total, (uint64_t)s->per_sm * session->n_sms);
		lock_drop(&g->lock);
	}
	if (!workers[1])
		return f;
	second = pace_prefers_second(&pace[0], workers[0], &pace[1], workers[1],
		page_load(&session->client.welcome.latency_ns));
	/* A retry runs the launch in the form that is not preferred. pace_form_retry asks for it
	 * until a launch ends and is measured. If several launches are queued meanwhile, only the
	 * first is a retry. */
	retry = pace_form_retry(&pace[0], &pace[1]);
	if (retry && atomic_exchange(&f->retried_at, retry) != retry)
		second = !second;
	if (second && !pace[1].launches) {
		struct form_shape *s;

		lock_take(&f->other->lock);
		s = shape_of(session, f->other, l);
		pace_begin_second(&s->pace, workers[1], &pace[0], workers[0],
			page_load(&session->client.welcome.latency_ns));
		lock_drop(&f->other->lock);
	}
	return second ? f->other : f;
}

/* Returns true if the launch is queued behind others in its stream, and another tenant may have to
 * wait for all of them. (No tenant waits for this one if heddled does not watch it, or if it has
 * high priority.) A waiting tenant of higher priority waits as long for a queue of short launches
 * as for one long launch. So a queued launch is managed even if it is short. */
static bool is_queued(struct session *session, const struct launch *l)
{
	const struct stream *s;

	if (!__atomic_load_n(&session->page->watch, __ATOMIC_ACQUIRE) ||
		shim_priority(session) >= SHIM_HIGH || atomic_load(&session->captures))
		return false;
	s = stream_of(session, l->stream);
	return s &&
	       (atomic_load(&s->outstanding) ||
		       (cu.cuStreamQuery && cu.cuStreamQuery(l->stream) == CUDA_ERROR_NOT_READY));
}

enum wire_reason plan_launch(struct session *session, struct form *f, const struct launch *l,
	uint64_t total, struct plan *p)
{
	bool guard = f->info.tier == PASS_GUARD, queued = is_queued(session, l), brief = false,
	     whole;
	struct form_shape *s;
	bool settled;
	uint64_t fits;

	*p = (struct plan){.chunk = 1, .flags = CTL_RELAY | (guard ? CTL_GUARD : 0)};
	if (f->info.one_dimensional && (l->block[1] != 1 || l->block[2] != 1))
		return WIRE_WHY_DIMENSIONS;
	lock_take(&f->lock);
	s = p->shape = shape_of(session, f, l);
	p->per_sm = s->per_sm;
	p->pads = s->pads;
	/* Do not manage a launch that is too short. The exception: if many launches have passed
	 * since the last measurement, manage this one to measure it again. */
	if (s->per_sm && !queued &&
		pace_is_short(&s->pace, total, page_load(&session->client.welcome.min_managed_ns)))
		brief = !pace_remeasures(&s->pace);
	fits = (uint64_t)p->per_sm * session->n_sms;
	if (s->per_sm && !brief && !guard && !f->info.rising_order)
		p->chunk = pace_chunk(&s->pace, MIN(total, fits),
			page_load(&session->client.welcome.latency_ns), &settled);
	whole = must_start_whole(session, f, s, total);
	lock_drop(&f->lock);
	remember_soon(session);
	if (!p->per_sm)
		return WIRE_WHY_NO_ROOM;
	if (brief)
		return WIRE_WHY_SHORT;
	if (whole)
		return WIRE_WHY_WHOLE;
	if (fits < 2)
		return WIRE_WHY_FEW_PLACES;
	if (guard && total > INT32_MAX - 1)
		return WIRE_WHY_GRID;
	p->workers = (uint32_t)MIN(total, fits - 1);
	/* The launch's workers would claim all blocks at once. So they first wait for the quotas
	 * that heddled may have sent while the launch was queued. */
	if (queued && total <= p->workers)
		p->flags |= CTL_WAIT_WORD;
	while (p->chunk > 1 && (uint64_t)1 << p->shrink < 2 * (uint64_t)p->workers)
		p->shrink++;
	return WIRE_WHY_WORKERS;
}
