/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches (FLEP, sections 4.1 and 5: what the runtime does for a launch and a resume).
 * Each stream has a control block, and numbers its launches by generation. A launch takes a slot of
 * the shared page, appends struct ctl_args to the kernel's parameters, and launches at most as many
 * workers as the device holds. Then the shim makes the stream wait until the launch's last block
 * sets the control block's `gate`. All other state is in the page and the control block, so the
 * shim never holds a lock while it waits. */
#include "shim/launch/managed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/lock.h"
#include "shim/form/carveout.h"
#include "shim/form/rewrite.h"
#include "shim/launch/admit.h"
#include "shim/launch/inputs.h"
#include "shim/order/ctlpool.h"
#include "shim/order/fence.h"
#include "shim/order/helpers.h"
#include "shim/order/patience.h"

int managed_init(struct session *session)
{
	int least = 0, greatest = 0;

	if (!cu.cuStreamCreateWithPriority || !cu.cuMemcpyHtoDAsync || !cu.cuStreamSynchronize ||
		!cu.cuOccupancyMaxActiveBlocksPerMultiprocessor)
		return -ENOTSUP;
	if (cu.cuCtxGetStreamPriorityRange)
		cu.cuCtxGetStreamPriorityRange(&least, &greatest);
	greatest = shim_stream_priority(session, greatest);
	if (cu.cuStreamCreateWithPriority(&session->helper, CU_STREAM_NON_BLOCKING, greatest) !=
		CUDA_SUCCESS)
		return -EIO;
	if (helpers_init(session, greatest) < 0)
		return -EIO;
	session->launches->on_end = managed_learn;
	return ctlpool_init(session);
}

/* ---- parameters ---- */

/* Copies all parameters from the buffer that `extra` describes. Returns false if the driver would
 * refuse them. */
static bool copy_buffer(void **extra, size_t needed, uint8_t *ret)
{
	size_t given = 0;
	const void *from = NULL;

	for (void **e = extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE && e[1])
			given = *(size_t *)e[1];
		else
			return false;
	}
	if (needed && (!from || given < needed))
		return false;
	memcpy(ret, from ? from : "", needed);
	return true;
}

bool launch_params(const struct launch *l, uint32_t n, const uint32_t *offsets,
	const uint32_t *sizes, uint8_t *ret)
{
	if (l->params && l->extra)
		return false;
	if (!l->params)
		return l->extra ? copy_buffer(l->extra, n ? offsets[n - 1] + sizes[n - 1] : 0, ret)
				: n == 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!l->params[i])
			return false;
		memcpy(ret + offsets[i], l->params[i], sizes[i]);
	}
	return true;
}

/* Copies the launch's parameters into m. Returns false if the driver would refuse the parameters,
 * or if memory is exhausted. */
static bool copy_params(struct managed *m, const struct launch *l)
{
	const struct form *f = m->form;
	size_t n = f->info.param_bytes;

	if (m->params_cap < n) {
		uint8_t *p = realloc(m->params, n);

		if (!p)
			return false;
		m->params = p;
		m->params_cap = n;
	}
	return launch_params(l, f->info.n_params, f->offsets, f->sizes, m->params);
}

void managed_pad(struct session *session, struct managed *m, uint32_t quota)
{
	uint32_t count = pads_choose(&m->pads, quota, &m->args);

	m->padded = count ? m->pads.shared[count] : m->shared;
	__atomic_store_n(
		&slot_of(session, m)->padded, count ? count : CTL_NO_QUOTA, __ATOMIC_RELEASE);
}

uint32_t managed_first_quota(struct session *session)
{
	const struct ctl_tenant *b = &session->page->begin;

	return __atomic_load_n(&b->seq, __ATOMIC_ACQUIRE) ? pads_least(b->quota, session->n_sms)
							  : CTL_NO_QUOTA;
}

CUresult managed_fire(
	struct managed *m, uint64_t blocks, CUstream stream, const CUlaunchConfig *config)
{
	size_t bytes = m->form->info.param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, m->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	memcpy(m->params + m->form->info.arg_offset, &m->args, sizeof(m->args));
	if (config) {
		CUlaunchConfig c = *config;

		c.gridDimX = (unsigned)blocks;
		c.gridDimY = c.gridDimZ = 1;
		c.hStream = stream;
		c.sharedMemBytes = m->padded;
		return cu.cuLaunchKernelEx(&c, m->form->on.fn, NULL, extra);
	}
	return cu.cuLaunchKernel(m->form->on.fn, (unsigned)blocks, 1, 1, m->block[0], m->block[1],
		m->block[2], m->padded, stream, NULL, extra);
}

CUresult managed_fire_closer(struct session *session, struct managed *m, CUstream stream)
{
	void *params[] = {&m->args};

	if (!m->guard)
		return CUDA_SUCCESS;
	return cu.cuLaunchKernel(
		rewrite_closer(session), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* ---- launching ---- */

/* Returns the launch's priority among the launches of its program, from the launch's attributes or
 * else its stream's priority. If the kernel's blocks wait for other blocks, returns 0 (no
 * priority). Such a launch may wait for other work of the program, so it must not get the SMs that
 * this work needs. */
static uint32_t rank_of(struct session *session, const struct launch *l, const struct stream *s,
	const struct form *f)
{
	const CUlaunchConfig *c = l->config;
	int priority = s->priority;

	for (unsigned i = 0; c && i < c->numAttrs; i++) {
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
			priority = c->attrs[i].value.priority;
	}
	if (f->info.rising_order)
		return 0;
	return (uint32_t)-MIN(MAX(priority, session->top_priority), 0);
}

/* Returns how many workers the tenant's quotas allow on all SMs together, or UINT32_MAX if there is
 * no limit. */
static uint32_t told_workers(struct session *session, uint32_t per_sm)
{
	const struct ctl_tenant *b = &session->page->begin;
	uint32_t sum = 0;

	if (!__atomic_load_n(&b->seq, __ATOMIC_ACQUIRE))
		return UINT32_MAX;
	for (unsigned i = 0; i < session->n_sms; i++)
		sum += MIN(__atomic_load_n(&b->quota[i], __ATOMIC_RELAXED), per_sm);
	return sum;
}

/* Returns the number of hardware blocks in the launch's first grid: the workers (or the blocks of
 * the guard form) and the relay block.
 *
 * The stream continues only after all of these blocks have run. A block that does not fit waits
 * until a worker exits. By then, blocks of other programs may be first in line and stay on the SM
 * for their whole launch. So if the quotas are known and not 0, and no other launch precedes this
 * one in its stream, the first grid has only as many workers as the quotas allow. If the quotas
 * grow before the launch begins, heddled requests more workers. */
static uint64_t first_grid(struct session *session, const struct managed *m, uint32_t per_sm)
{
	uint32_t told = told_workers(session, per_sm);
	/* If other launches precede this one in its stream, it begins later, perhaps with other
	 * quotas. */
	bool is_next = atomic_load(&m->stream->outstanding) <= 1;

	if (m->guard)
		return m->total + 1;
	return 1 + (uint64_t)(told && is_next ? MIN(told, m->workers) : m->workers);
}

static void fill_slot(struct session *session, struct managed *m, const struct launch *l,
	const struct kernel *k, const struct plan *p)
{
	struct wire_slot *w = slot_of(session, m);

	memset(&w->host, 0, sizeof(w->host));
	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	w->gen = m->args.gen;
	w->id = m->id;
	w->kernel = k->hash;
	w->total = m->total;
	w->submit_ns = m->submit_ns;
	memcpy(w->grid, l->grid, sizeof(w->grid));
	memcpy(w->block, l->block, sizeof(w->block));
	w->shared_bytes = l->shared + m->form->static_shared;
	w->regs = m->form->regs;
	w->workers_per_sm = p->per_sm;
	w->launches = 1;
	w->hardware_blocks = (uint32_t)m->first_grid;
	w->priority = p->rank;
	w->guard = m->form->info.tier == PASS_GUARD;
	w->counts = m->pads.counts;
	w->claim = p->chunk;
	inputs_of(m->form, m->params, w->input);
	strncpy(w->name, k->name, sizeof(w->name) - 1);
	w->name[sizeof(w->name) - 1] = 0;
	/* Store `state` before the shim reads `watch`. heddled uses the opposite order: it sets
	 * `watch` before it reads the slots. So the shim sees `watch`, or heddled sees the
	 * launch. */
	__atomic_store_n(&w->state, WIRE_SLOT_SUBMITTED, __ATOMIC_SEQ_CST);
}

static void fill_launch(struct session *session, struct managed *m, const struct launch *l,
	const struct plan *p, bool told)
{
	unsigned index = (unsigned)(m - session->launches->at);

	m->shape = p->shape;
	m->guard = p->flags & CTL_GUARD;
	m->workers = p->workers;
	m->first_grid = first_grid(session, m, p->per_sm);
	m->drains = m->rounds = m->seq = m->idle_rounds = 0;
	m->ticket = m->resumed_at = 0;
	m->preemptions = 0;
	/* The daemon counts up from the present value of the slot. */
	m->grow = __atomic_load_n(&session->page->slots[index].grow, __ATOMIC_ACQUIRE);
	m->submit_ns = m->resumed_ns = shim_now_ns();
	memcpy(m->block, l->block, sizeof(m->block));
	m->shared = m->padded = l->shared;
	m->pads = p->pads;
	m->args = (struct ctl_args){
		.block = m->stream->ctl,
		.host = session->page_dev + offsetof(struct wire_page, slots) +
			index * sizeof(struct wire_slot) + offsetof(struct wire_slot, host),
		.total = m->total,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.gen = m->stream->gen,
		.chunk = p->chunk,
		.flags = p->flags | (told ? CTL_WAIT_WORD : 0),
		.shrink = p->shrink,
		.tenant = session->page_dev + offsetof(struct wire_page, begin),
	};
	if (m->guard)
		managed_pad(session, m, managed_first_quota(session));
}

/* Returns true if the program has launched anything of a lower rank. */
static bool goes_first(struct session *session, uint32_t rank)
{
	_Atomic uint32_t *lowest = &session->lowest_rank;
	uint32_t seen = atomic_load_explicit(lowest, memory_order_relaxed);

	while (rank < seen && !atomic_compare_exchange_weak(lowest, &seen, rank))
		;
	return rank > seen;
}

/* Tells heddled about a launch in its slot. The shim does this before it calls the driver, because
 * heddled needs longer to free SMs than the driver needs to launch. It wakes heddled in three
 * cases:
 * - heddled watches this tenant.
 * - The launch has to wait for its quotas. heddled may have stopped watching the tenant just now,
 *   and would then not read the page.
 * - The launch has a higher priority than another launch of the program had. */
static void tell_daemon(struct session *session, const struct managed *m, uint32_t rank)
{
	bool first = goes_first(session, rank);

	if ((m->args.flags & CTL_WAIT_WORD) || first ||
		__atomic_load_n(&session->page->watch, __ATOMIC_SEQ_CST))
		shim_kick(session);
}

/* Launches under the stream's lock. If the launch fails before it starts, sets a->why to the
 * reason; otherwise leaves a->why unchanged. */
static void launch_locked(struct session *session, const struct launch *l, struct managed *m,
	struct admission *a, CUresult *ret)
{
	const struct plan *p = &a->plan;
	struct stream *s = m->stream;
	/* If true, no worker claims a block before the quotas are known. */
	bool told = __atomic_load_n(&session->page->begin.seq, __ATOMIC_ACQUIRE);
	CUresult r;

	fill_launch(session, m, l, p, told);
	if (!copy_params(m, l)) {
		a->why = WIRE_WHY_PARAMETERS;
		return;
	}
	fill_slot(session, m, l, a->kernel, p);
	tell_daemon(session, m, p->rank);
	carveout_set(session, m->form);
	r = managed_fire(m, m->first_grid, l->stream, l->config);
	/* The program gets no error here. The caller launches unmanaged instead, and the driver's
	 * result for the program's own kernel is returned. */
	if (r != CUDA_SUCCESS) {
		a->why = WIRE_WHY_REFUSED;
		return;
	}
	r = managed_fire_closer(session, m, l->stream);
	if (r == CUDA_SUCCESS)
		r = cu.cuStreamWaitValue32(l->stream, s->ctl + offsetof(struct ctl_block, gate),
			m->args.gen + 1, CU_STREAM_WAIT_VALUE_GEQ);
	/* An error at this point may be that of a kernel that has failed already. The program's
	 * next call then returns the error, as it would without heddle. So the launch itself counts
	 * as successful. */
	if (r != CUDA_SUCCESS && cu.cuStreamQuery && cu.cuStreamQuery(l->stream) == r)
		r = CUDA_SUCCESS;
	s->gen++;
	*ret = r;
}

/* Returns a slot for a launch on s, and waits for a free one if necessary. The caller holds the
 * stream's lock; this function releases the lock while it waits. */
static struct managed *take_slot(struct session *session, struct stream *s, size_t bytes)
{
	struct managed *m = NULL;
	bool ok = true;

	while (ok && ctlpool_give(session, s) && !(m = launches_take(session, s, bytes))) {
		lock_drop(&s->lock);
		ok = launches_await_room(session, bytes);
		lock_take(&s->lock);
	}
	return m;
}

bool managed_launch(
	struct session *session, const struct launch *l, struct admission *a, CUresult *ret)
{
	struct stream *s = a->stream;
	struct managed *m;

	a->plan.rank = rank_of(session, l, s, a->form);
	lock_take(&s->lock);
	m = take_slot(session, s, a->form->info.param_bytes);
	if (!m) {
		a->why = WIRE_WHY_SLOT;
	} else if (fence_active(session)) {
		/* This second check is needed: only now the launch counts as outstanding. */
		a->why = WIRE_WHY_LOCKED;
	} else {
		m->form = a->form;
		m->total = a->total;
		launch_locked(session, l, m, a, ret);
	}
	lock_drop(&s->lock);
	if (!admission_is_managed(a)) {
		if (m)
			launches_drop(session, m);
		return false;
	}
	lock_take(&session->launches->lock);
	m->launched = true;
	lock_drop(&session->launches->lock);
	if (m->guard && m->padded != m->shared)
		shim_poke(session); /* the agent must watch launches with padding */
	return true;
}

bool managed_open(struct session *session)
{
	atomic_store(&session->lowest_rank, UINT32_MAX);
	return true;
}
