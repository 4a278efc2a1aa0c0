/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles the calls that end one of the program's contexts: cuCtxDestroy, cuDevicePrimaryCtxReset
 * (which cudaDeviceReset calls), and cuDevicePrimaryCtxRelease. If the shim manages launches in
 * that context, everything that the shim has in the context ends as well: forms, control blocks,
 * streams, events, and the device's mapping of the page. The connection to heddled and the page
 * itself stay, so heddled sees the same tenant with all launches ended. At the tenant's next launch
 * (shim_launches) the shim makes forms, control blocks and the rest again, in the context that is
 * current then.
 *
 * From the call until the driver has returned, no thread of the shim calls the driver in that
 * context, and no launch of the program is managed. */
#include "shim/admit.h"
#include "shim/follow.h"
#include "shim/hello.h"
#include "shim/placing.h"
#include "shim/remember.h"

#include <stdatomic.h>

/* The shim's context may end. */
static void end_begins(void)
{
	hello_pause();
	follow_pause(1);
	placing_pause();
	kernel_await_none();
	compile_pause();
	fence_begin(FENCE_WAITS);
	admissions_await_end();
	remember_write_all();
	resume_leave_channels();
	kernels_freeze();
}

/* Forgets all that the shim knows of the context `ended`. */
static void forget_context(CUcontext ended, bool is_ours)
{
	kernels_thaw(ended, is_ours);
	if (!ended)
		return;
	follow_forget();
	if (is_ours)
		managed_forget();
	streams_forget(ended);
	if (!is_ours)
		return;
	resume_forget();
	symbols_forget(NULL);
	rewrite_forget();
	locals_forget();
	atomic_store(&shim->captures, 0);
	shim->ctx = NULL;
	if (shim->page)
		shim_kick(); /* heddled looks at what has ended */
}

/* Lets the shim continue after the driver's call has returned. `ended` is the context that has
 * ended, or NULL if none has. */
static void end_is_over(CUcontext ended)
{
	forget_context(ended, ended == shim->ctx);
	fence_end();
	compile_resume();
	placing_resume();
	follow_pause(-1);
	hello_resume();
}

/* Makes the session of the context's device the thread's. */
static void route_to(CUcontext ctx)
{
	CUcontext popped;

	if (shim_sessions() == 1 || cu.cuCtxPushCurrent(ctx) != CUDA_SUCCESS)
		return;
	shim_route();
	cu.cuCtxPopCurrent(&popped);
}

/* Another context of the program's ends. */
static CUresult end_other(CUcontext ctx)
{
	CUresult r;

	if (ctx)
		route_to(ctx);
	follow_pause(1);
	kernels_freeze();
	r = cu.cuCtxDestroy(ctx);
	forget_context(r == CUDA_SUCCESS ? ctx : NULL, false);
	follow_pause(-1);
	return r;
}

SHIM_API CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult r;

	SHIM_NEED(cuCtxDestroy);
	for (unsigned i = 0; ctx && i < shim_sessions(); i++) {
		if (shims[i].ctx == ctx)
			shim = &shims[i];
	}
	if (!ctx || ctx != shim->ctx)
		return end_other(ctx);
	end_begins();
	r = cu.cuCtxDestroy(ctx);
	end_is_over(r == CUDA_SUCCESS ? ctx : NULL);
	return r;
}

static bool is_active(CUdevice dev)
{
	unsigned flags;
	int active = 0;

	return cu.cuDevicePrimaryCtxGetState &&
	       cu.cuDevicePrimaryCtxGetState(dev, &flags, &active) == CUDA_SUCCESS && active;
}

/* Returns the device's primary context, or NULL if it does not exist now. Does not create it. */
static CUcontext primary_of(CUdevice dev)
{
	CUcontext ctx = NULL;

	if (!is_active(dev) || cu.cuDevicePrimaryCtxRetain(&ctx, dev) != CUDA_SUCCESS)
		return NULL;
	cu.cuDevicePrimaryCtxRelease(dev);
	return ctx;
}

SHIM_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUcontext primary;
	CUresult r;

	SHIM_NEED(cuDevicePrimaryCtxReset);
	shim_route_to(dev);
	end_begins();
	primary = primary_of(dev);
	r = cu.cuDevicePrimaryCtxReset(dev);
	end_is_over(r == CUDA_SUCCESS ? primary : NULL);
	return r;
}

SHIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUcontext primary;
	CUresult r;

	SHIM_NEED(cuDevicePrimaryCtxRelease);
	shim_route_to(dev);
	end_begins();
	primary = primary_of(dev);
	r = cu.cuDevicePrimaryCtxRelease(dev);
	end_is_over(r == CUDA_SUCCESS && !is_active(dev) ? primary : NULL);
	return r;
}
