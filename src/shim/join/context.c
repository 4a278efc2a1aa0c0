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
#include "shim/join/lifecycle.h"

/* Returns the session of the device of this context. */
static struct session *session_with(struct session *session, CUcontext ctx)
{
	CUcontext popped;

	for (unsigned i = 0; ctx && i < shim_sessions(); i++) {
		if (sessions[i].ctx == ctx)
			return &sessions[i];
	}
	if (!ctx || shim_sessions() == 1 || cu.cuCtxPushCurrent(ctx) != CUDA_SUCCESS)
		return session;
	session = session_now();
	cu.cuCtxPopCurrent(&popped);
	return session;
}

SHIM_API CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	bool is_ours;
	CUresult r;

	SHIM_NEED(cuCtxDestroy);
	session = session_with(session, ctx);
	is_ours = ctx && ctx == session->ctx;
	lifecycle_pause(session, is_ours);
	r = cu.cuCtxDestroy(ctx);
	lifecycle_resume(session, is_ours, r == CUDA_SUCCESS ? ctx : NULL);
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
	struct session *session;
	CUcontext primary;
	CUresult r;

	SHIM_DRIVER(cuDevicePrimaryCtxReset);
	session = session_of_device(dev);
	lifecycle_pause(session, true);
	primary = primary_of(dev);
	r = cu.cuDevicePrimaryCtxReset(dev);
	lifecycle_resume(session, true, r == CUDA_SUCCESS ? primary : NULL);
	return r;
}

SHIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct session *session;
	CUcontext primary;
	CUresult r;

	SHIM_DRIVER(cuDevicePrimaryCtxRelease);
	session = session_of_device(dev);
	lifecycle_pause(session, true);
	primary = primary_of(dev);
	r = cu.cuDevicePrimaryCtxRelease(dev);
	lifecycle_resume(session, true, r == CUDA_SUCCESS && !is_active(dev) ? primary : NULL);
	return r;
}
