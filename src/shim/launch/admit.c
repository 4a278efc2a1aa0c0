/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether a launch is managed, that is, whether the kernel's preemptible form runs under
 * heddled's quotas instead of the kernel itself. The rules concern the launch, its kernel, the
 * state of the program at this moment, and how the launch would be managed. Each rule that forbids
 * management returns its reason, and the first reason counts. WIRE_WHY_WORKERS means that no rule
 * forbids it. Later, managed_launch finds the remaining obstacles: no slot of the page is free, or
 * the driver refuses the form. */
#include "shim/launch/admit.h"

#include "shim/form/making.h"
#include "shim/order/channels.h"
#include "shim/order/fence.h"
#include "shim/order/hold.h"
#include "shim/order/launches.h"
#include "shim/plain/gate.h"

#include <stdatomic.h>
#include <time.h>

#define ADMITTED WIRE_WHY_WORKERS

/* Returns true if the attribute means the same for a grid of workers. */
static bool attribute_allows(const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return true;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		return !a->value.cooperative;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return a->value.clusterDim.x <= 1 && a->value.clusterDim.y <= 1 &&
		       a->value.clusterDim.z <= 1;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return !a->value.programmaticStreamSerializationAllowed;
	default:
		return false;
	}
}

bool launch_is_ordinary(const struct launch *l)
{
	const CUlaunchConfig *c = l->config;

	if (c && c->numAttrs && !c->attrs)
		return false;
	for (unsigned i = 0; c && i < c->numAttrs; i++)
		if (!attribute_allows(&c->attrs[i]))
			return false;
	return true;
}

static enum wire_reason look_at_launch(
	struct session *session, const struct launch *l, struct kernel *k)
{
	if (!launch_is_ordinary(l))
		return WIRE_WHY_ATTRIBUTES;
	if (!atomic_load_explicit(&session->dead, memory_order_relaxed) &&
		gate_suits(session, l, k))
		return WIRE_WHY_WAVE;
	return ADMITTED;
}

static int state_of(const struct kernel *k)
{
	return atomic_load_explicit(&k->state, memory_order_relaxed);
}

static enum wire_reason why_plain(const struct kernel *k)
{
	return (enum wire_reason)atomic_load_explicit(&k->why, memory_order_relaxed);
}

/* Checks the kernel, and requests its form if it has none yet. */
static enum wire_reason look_at_kernel(struct session *session, struct kernel *k, struct form **ret)
{
	if (!k)
		return WIRE_WHY_UNKNOWN;
	if (!k->seen)
		return WIRE_WHY_UNSEEN;
	if (state_of(k) == KERNEL_PLAIN)
		return why_plain(k);
	if (atomic_load_explicit(&session->dead, memory_order_relaxed))
		return WIRE_WHY_NO_DAEMON;
	if (!session->page_dev) /* the context in which the page was mapped has ended */
		return WIRE_WHY_CONTEXT;
	*ret = kernel_form(session, k);
	if (*ret)
		return ADMITTED;
	return state_of(k) == KERNEL_PLAIN ? why_plain(k) : WIRE_WHY_IN_MAKING;
}

/* Checks the program's own grid and block against the device's limits that only concern the grid.
 * The shim launches the form with a different grid, so the driver would not detect that the
 * program's grid is too large. The other limits (threads per block, shared memory) are checked by
 * the driver when the form is launched. */
static bool shape_is_allowed(struct session *session, const struct launch *l)
{
	for (unsigned i = 0; i < 3; i++)
		if (l->grid[i] - 1 >= session->max_grid[i] || !l->block[i])
			return false;
	return true;
}

static _Atomic unsigned n_open; /* number of launches between admission_begin and admission_end */

/* Counts this launch as one that may use a preemptible form; forms stay loaded until admission_end.
 * Call this before the test for a fence. A thread that ends a context works in the opposite order:
 * it raises a fence, and then waits until no admission is open. So either the launch sees the
 * fence, or that thread waits for the launch. */
static void admission_begin(struct admission *a)
{
	atomic_fetch_add(&n_open, 1);
	a->open = true;
}

void admission_end(struct admission *a)
{
	if (a->open)
		atomic_fetch_sub(&n_open, 1);
	a->open = false;
}

void admissions_pause(struct session *session, const struct session_ends *ends)
{
	while (atomic_load(&n_open))
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Returns true if `f` still is the kernel's preemptible form. Its context may have ended since the
 * caller read it. The caller must be between admission_begin and admission_end. */
static bool is_current(const struct form *f, const struct kernel *k)
{
	return atomic_load_explicit(&k->state, memory_order_acquire) == KERNEL_READY &&
	       k->form == f;
}

static enum wire_reason look_at_moment(struct session *session, const struct launch *l)
{
	CUcontext now = NULL;

	if (!shape_is_allowed(session, l))
		return WIRE_WHY_SHAPE;
	if (fence_active(session))
		return WIRE_WHY_LOCKED;
	if (cu.cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != session->ctx)
		return WIRE_WHY_CONTEXT;
	if (stream_capturing(session, l->stream))
		return WIRE_WHY_CAPTURED;
	return ADMITTED;
}

void admit(struct session *session, const struct launch *l, struct admission *ret)
{
	*ret = (struct admission){.kernel = kernel_of(session, l->fn),
		.total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]};

	ret->why = look_at_launch(session, l, ret->kernel);
	if (ret->why == WIRE_WHY_WAVE)
		return;
	if (ret->why == ADMITTED)
		ret->why = look_at_kernel(session, ret->kernel, &ret->form);
	hold_await(session);
	if (ret->why != ADMITTED)
		return;
	admission_begin(ret);
	ret->why = look_at_moment(session, l);
	if (ret->why == ADMITTED && !is_current(ret->form, ret->kernel))
		ret->why = WIRE_WHY_IN_MAKING;
	if (ret->why != ADMITTED)
		return;
	/* Measurements of completed launches influence how this one is launched. */
	launches_learn(session);
	ret->form = plan_form(session, ret->form, l, ret->total);
	ret->why = plan_launch(session, ret->form, l, ret->total, &ret->plan);
	if (ret->why != ADMITTED)
		return;
	ret->stream = stream_of(session, l->stream);
	if (!ret->stream || !stream_admits(session, ret->stream))
		ret->why = WIRE_WHY_CHANNEL;
	else if (ret->form->info.tier == PASS_GUARD)
		ret->why = WIRE_WHY_GUARD_FORM;
}

void admissions_after_fork(void)
{
	atomic_store(&n_open, 0);
}
