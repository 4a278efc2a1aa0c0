/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Properties, limits and synchronization of contexts. */
#include "drv_ctx.h"
#include "drv_func.h"
#include "drv_graph.h"

/* Returns context ctx, or the current context if ctx is NULL. */
static CUresult named_or_current(CUcontext ctx, struct drv_ctx **ret)
{
	struct drv_ctx *c;

	if (!ctx)
		return drv_ctx_current(ret);
	c = drv_ctx_of(ctx);
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = c;
	return CUDA_SUCCESS;
}

/* Also works for a context that has failed. */
CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx)
{
	struct drv_ctx *c;
	DRV_ENTER_INIT();
	CUresult r = dev ? named_or_current(ctx, &c) : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*dev = c->dev;
	return drv_leave(r);
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	return cuCtxGetDevice_v2(dev, NULL);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	DRV_ENTER(c);
	if (flags)
		*flags = c->flags;
	return drv_leave(flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	DRV_ENTER(c);
	c->flags = flags;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct drv_ctx *c;
	DRV_ENTER_INIT();
	CUresult r = id ? named_or_current(ctx, &c) : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*id = c->id;
	return drv_leave(r);
}

static CUresult synchronize_ctx(struct drv_ctx *c)
{
	CUresult r = capture_unsafe(c);

	if (r == CUDA_SUCCESS)
		r = drv_wait_ctx(c);
	drv_leave(r);
	drv_ctx_flush_print(c);
	return r;
}

CUresult cuCtxSynchronize(void)
{
	DRV_ENTER(c);
	return synchronize_ctx(c);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct drv_ctx *c;
	DRV_ENTER_INIT();
	CUresult r = named_or_current(ctx, &c);
	if (r == CUDA_SUCCESS)
		r = c->error;
	return r == CUDA_SUCCESS ? synchronize_ctx(c) : drv_leave(r);
}

static bool limit_known(CUlimit limit)
{
	return (unsigned)limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	DRV_ENTER(c);
	if (!limit_known(limit))
		return drv_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	c->limit[limit] = value;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	DRV_ENTER(c);
	if (!value)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!limit_known(limit))
		return drv_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	*value = c->limit[limit];
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	DRV_ENTER(c);
	if (config)
		*config = c->cache;
	return drv_leave(config ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	DRV_ENTER(c);
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	c->cache = config;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	DRV_ENTER(c);
	if (config)
		*config = c->shared_config;
	return drv_leave(config ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	DRV_ENTER(c);
	if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	c->shared_config = config;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct drv_ctx *c;
	DRV_ENTER_INIT();
	CUresult r = version ? named_or_current(ctx, &c) : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*version = c->api_version;
	return drv_leave(r);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	DRV_ENTER(c);
	if (least)
		*least = 0;
	if (greatest)
		*greatest = DRV_GREATEST_PRIORITY;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	DRV_ENTER(c);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *param, CUexecAffinityType type)
{
	DRV_ENTER(c);
	if (!param)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return drv_leave(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	param->type = type;
	param->param.smCount.val = drv.config.n_sms;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxAttach(CUcontext *ctx, unsigned int flags)
{
	DRV_ENTER(c);
	if (!ctx || flags)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	c->refs++;
	*ctx = (CUcontext)c;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxDetach(CUcontext ctx)
{
	DRV_ENTER_INIT();
	struct drv_ctx *c = drv_ctx_of(ctx);

	if (!c || c->primary)
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (c->refs > 1)
		c->refs--;
	else
		drv_ctx_destroy(c);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	DRV_ENTER(c);
	const struct drv_ctx *p = drv_ctx_of(peer);

	if (!p || flags)
		return drv_leave(p ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
	if (p->dev == c->dev)
		return drv_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	if (c->peers & 1u << p->dev)
		return drv_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	c->peers |= 1u << p->dev;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	DRV_ENTER(c);
	const struct drv_ctx *p = drv_ctx_of(peer);

	if (!p)
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!(c->peers & 1u << p->dev))
		return drv_leave(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	c->peers &= ~(1u << p->dev);
	return drv_leave(CUDA_SUCCESS);
}

/* These functions are for green contexts, which this device does not have. */
CUresult cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}
