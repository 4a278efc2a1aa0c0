/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches a kernel: managed if the rules allow it, otherwise unchanged by the driver, and counted.
 * In these functions, the handle of the default stream already says whether the legacy or the
 * per-thread default stream is meant. */
#include "shim/form/making.h"
#include "shim/launch/admit.h"
#include "shim/launch/managed.h"
#include "shim/launch/record.h"
#include "shim/order/copy.h"
#include "shim/order/fence.h"
#include "shim/plain/gate.h"
#include "shim/plain/opaque.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static CUresult launch_as_is(const struct launch *l)
{
	if (l->config) {
		CUlaunchConfig c = *l->config;

		c.hStream = l->stream;
		return cu.cuLaunchKernelEx(&c, l->fn, l->params, l->extra);
	}
	return cu.cuLaunchKernel(l->fn, l->grid[0], l->grid[1], l->grid[2], l->block[0],
		l->block[1], l->block[2], l->shared, l->stream, l->params, l->extra);
}

/* Returns a number that identifies the launch's kernel and size; launches with the same number take
 * about the same time. It is needed only if heddled limits the time of the work in flight. */
static uint64_t kind_of(
	struct session *session, CUfunction fn, const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t h = (uintptr_t)fn + session->index;

	if (!__atomic_load_n(&session->page->bound_us, __ATOMIC_RELAXED))
		return 1;
	for (unsigned i = 0; i < 3; i++) {
		h = (h ^ grid[i]) * 0x9e3779b97f4a7c15u;
		h = (h ^ h >> 32 ^ block[i]) * 0x9e3779b97f4a7c15u;
	}
	return h | 1;
}

static void count_launch(struct session *session, enum wire_reason why)
{
	__atomic_fetch_add(&session->page->launched[why], 1, __ATOMIC_RELAXED);
}

/* Counts a launch on a device on which the program is not a tenant, while it is a tenant on another
 * device. */
static void count_unserved(void)
{
	for (unsigned i = 0; shim_sessions() > 1 && i < shim_sessions(); i++) {
		if (atomic_load_explicit(&sessions[i].mode, memory_order_acquire) == SHIM_ON) {
			__atomic_fetch_add(
				&sessions[i].page->launched[WIRE_WHY_DEVICE], 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

static CUresult launch_opaque(
	struct session *session, const struct launch *l, const struct admission *a)
{
	bool gated = a->why == WIRE_WHY_WAVE;
	struct stream *s = stream_of(session, l->stream);
	struct kernel *k = a->kernel;
	bool first = k && !atomic_load_explicit(&k->loaded, memory_order_relaxed);
	struct opaque o = {0};
	CUresult r;

	if (gated && !gate_begin(session, s)) {
		gated = false;
		count_launch(session, WIRE_WHY_REFUSED);
	} else {
		count_launch(session, a->why);
	}
	if (!gated)
		opaque_begin(session, s, kind_of(session, l->fn, l->grid, l->block), &o);
	/* At a kernel's first launch the driver may load the kernel's code, and takes a lock for
	 * that. */
	if (first)
		fence_begin(session, FENCE_LOADS);
	r = launch_as_is(l);
	if (first)
		fence_end(session);
	if (first && r == CUDA_SUCCESS)
		atomic_store_explicit(&k->loaded, true, memory_order_relaxed);
	if (gated)
		gate_end(session, s, r);
	else if (s)
		opaque_end(session, s, &o, r);
	return r;
}

/* Loads the code of a kernel whose first launch is managed. Natively that launch would load it, and
 * a later launch would not wait for running kernels. Without this, the kernel's first plain launch
 * would wait for them, and one of them may wait for the program. A driver before 12.4 lacks the
 * call. */
static void load_original(struct session *session, struct kernel *k, CUfunction fn)
{
	CUresult r = CUDA_SUCCESS;

	fence_begin(session, FENCE_LOADS);
	if (k->in_library && cu.cuKernelGetFunction)
		r = cu.cuKernelGetFunction(&fn, (CUkernel)k->handle);
	if (r == CUDA_SUCCESS && cu.cuFuncLoad)
		r = cu.cuFuncLoad(fn);
	fence_end(session);
	atomic_store_explicit(&k->loaded, r == CUDA_SUCCESS, memory_order_relaxed);
}

static CUresult launch_any(struct session *session, const struct launch *l)
{
	struct admission a;
	bool managed;
	CUresult r;

	session = stream_session(session, l->stream);
	shim_launches(session);
	if (!shim_on(session)) {
		count_unserved();
		return record_on() ? record_launch(session, l, launch_as_is) : launch_as_is(l);
	}
	copies_anew(session);
	admit(session, l, &a);
	if (admission_is_managed(&a) &&
		!atomic_load_explicit(&a.kernel->loaded, memory_order_relaxed)) {
		admission_end(&a);
		load_original(session, a.kernel, l->fn);
		admit(session, l, &a);
	}
	managed = admission_is_managed(&a) && managed_launch(session, l, &a, &r);
	admission_end(&a);
	if (managed) {
		count_launch(session, a.why);
		return r;
	}
	if (a.kernel && a.why != WIRE_WHY_WAVE)
		kernel_missed(
			a.kernel, a.total * ((uint64_t)l->block[0] * l->block[1] * l->block[2]));
	return launch_opaque(session, l, &a);
}

static CUresult launch_kernel(CUfunction fn, const unsigned grid[3], const unsigned block[3],
	unsigned shared, CUstream stream, void **params, void **extra)
{
	struct launch l = {fn, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared,
		stream, params, extra, NULL};

	SHIM_NEED(cuLaunchKernel);
	return launch_any(session, &l);
}

static CUresult launch_kernel_ex(
	const CUlaunchConfig *c, CUfunction fn, void **params, void **extra, bool per_thread)
{
	struct launch l = {fn, .params = params, .extra = extra, .config = c};

	SHIM_NEED(cuLaunchKernelEx);
	if (!c)
		return cu.cuLaunchKernelEx(c, fn, params, extra);
	memcpy(l.grid, &c->gridDimX, sizeof(l.grid));
	memcpy(l.block, &c->blockDimX, sizeof(l.block));
	l.shared = c->sharedMemBytes;
	l.stream = shim_stream(c->hStream, per_thread);
	return launch_any(session, &l);
}

static CUresult launch_cooperative(CUfunction fn, const unsigned grid[3], const unsigned block[3],
	unsigned shared, CUstream stream, void **params)
{
	struct stream *s = NULL;
	struct opaque o = {0};
	CUresult r;

	SHIM_NEED(cuLaunchCooperativeKernel);
	session = stream_session(session, stream);
	shim_launches(session);
	if (shim_on(session)) {
		s = stream_of(session, stream);
		opaque_begin(session, s, kind_of(session, fn, grid, block), &o);
		count_launch(session, WIRE_WHY_COOPERATIVE);
	} else if (record_on()) {
		record_skip(session, fn, "a cooperative launch");
	}
	fence_begin(session, FENCE_LOADS);
	r = cu.cuLaunchCooperativeKernel(fn, grid[0], grid[1], grid[2], block[0], block[1],
		block[2], shared, stream, params);
	fence_end(session);
	if (s)
		opaque_end(session, s, &o, r);
	return r;
}

static CUresult launch_graph(CUgraphExec exec, CUstream stream)
{
	struct stream *s = NULL;
	struct opaque o = {0};
	CUresult r;

	SHIM_NEED(cuGraphLaunch);
	session = stream_session(session, stream);
	shim_launches(session);
	if (shim_on(session)) {
		s = stream_of(session, stream);
		opaque_begin(session, s, (uintptr_t)exec | 1, &o);
		count_launch(session, WIRE_WHY_GRAPH);
	} else if (record_on()) {
		record_skip(session, NULL, "launches of graphs are not recorded");
	}
	r = cu.cuGraphLaunch(exec, stream);
	if (s)
		opaque_end(session, s, &o, r);
	return r;
}

#define DIM(a, b, c) ((const unsigned[3]){a, b, c})

SHIM_TWICE(cuLaunchKernel,
	(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
		void **params, void **extra),
	launch_kernel(fn, DIM(gx, gy, gz), DIM(bx, by, bz), shared, shim_stream(stream, false),
		params, extra),
	launch_kernel(fn, DIM(gx, gy, gz), DIM(bx, by, bz), shared, shim_stream(stream, true),
		params, extra))
SHIM_TWICE(cuLaunchKernelEx,
	(const CUlaunchConfig *config, CUfunction fn, void **params, void **extra),
	launch_kernel_ex(config, fn, params, extra, false),
	launch_kernel_ex(config, fn, params, extra, true))
SHIM_TWICE(cuLaunchCooperativeKernel,
	(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
		void **params),
	launch_cooperative(
		fn, DIM(gx, gy, gz), DIM(bx, by, bz), shared, shim_stream(stream, false), params),
	launch_cooperative(
		fn, DIM(gx, gy, gz), DIM(bx, by, bz), shared, shim_stream(stream, true), params))
SHIM_TWICE(cuGraphLaunch, (CUgraphExec exec, CUstream stream),
	launch_graph(exec, shim_stream(stream, false)),
	launch_graph(exec, shim_stream(stream, true)))
