/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds and initialises the driver. The first call that needs the driver loads it by the name
 * libcuda.so.1, as in any program, so that heddle's shim sees every call. The driver is not loaded
 * earlier, because programs register kernels in constructors, before main. If a thread has no
 * current context, its device's primary context becomes current. A context that the program has
 * made current stays. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "cudart/cudart.h"

#define MAX_DEVICES   64
#define OLDEST_DRIVER 12000 /* the first driver with cuLibrary* functions */

struct cu_api rt_cu, rt_cu_per_thread;

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static rt_error open_error;

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[MAX_DEVICES];
static _Thread_local int own_device;

static void *look_up(void *handle, const char *symbol, const char *form)
{
	char name[128] = "";

	strncat(strncat(name, symbol, 100), form, 8);
	return dlsym(handle, name);
}

static void fill_table(void *handle)
{
	for (unsigned i = 0; i < cu_n_fns; i++) {
		const struct cu_fn *f = &cu_fns[i];
		const char *form = f->flags & CU_PTSZ ? "_ptsz" : "_ptds";
		void *plain = dlsym(handle, f->symbol), *other = NULL;

		if (f->flags)
			other = look_up(handle, f->symbol, form);
		if (!other)
			other = plain;
		memcpy((char *)&rt_cu + f->offset, &plain, sizeof(plain));
		memcpy((char *)&rt_cu_per_thread + f->offset, &other, sizeof(other));
	}
	rt_cu.handle = rt_cu_per_thread.handle = handle;
}

static void driver_open(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int version = 0;

	open_error = cudaErrorInsufficientDriver;
	if (!handle)
		return;
	fill_table(handle);
	if (!rt_cu.cuInit || !rt_cu.cuDriverGetVersion ||
		rt_cu.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < OLDEST_DRIVER)
		return;
	open_error = (rt_error)rt_cu.cuInit(0);
}

rt_error rt_primary(int device, CUcontext *ret)
{
	CUdevice handle;
	rt_error r;

	if (device < 0 || device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&primary_lock);
	r = cudaSuccess;
	if (!primary[device]) {
		r = RT_CALL(&rt_cu, cuDeviceGet, &handle, device);
		if (!r)
			r = RT_CALL(&rt_cu, cuDevicePrimaryCtxRetain, &primary[device], handle);
	}
	*ret = primary[device];
	pthread_mutex_unlock(&primary_lock);
	return r;
}

static rt_error context_begin(void)
{
	CUcontext ctx = NULL;
	rt_error r = RT_CALL(&rt_cu, cuCtxGetCurrent, &ctx);

	if (r || ctx)
		return r;
	r = rt_primary(own_device, &ctx);
	return r ? r : RT_CALL(&rt_cu, cuCtxSetCurrent, ctx);
}

rt_error rt_begin(enum rt_needs needs)
{
	if (needs == RT_NOTHING)
		return cudaSuccess;
	pthread_once(&open_once, driver_open);
	if (open_error)
		return open_error;
	return needs == RT_CONTEXT ? context_begin() : cudaSuccess;
}

/* ---- the calling thread's device ---- */

rt_error rt_set_device(int device)
{
	CUcontext ctx;
	rt_error r = rt_primary(device, &ctx);

	if (!r)
		r = RT_CALL(&rt_cu, cuCtxSetCurrent, ctx);
	if (!r)
		own_device = device;
	return r;
}

rt_error rt_get_device(int *ret)
{
	CUcontext ctx = NULL;
	rt_error r = RT_CALL(&rt_cu, cuCtxGetCurrent, &ctx);

	if (!ret)
		return cudaErrorInvalidValue;
	if (!r && ctx)
		return RT_CALL(&rt_cu, cuCtxGetDevice, ret);
	if (!r)
		*ret = own_device;
	return r;
}

RT_API rt_error cudaDriverGetVersion(int *version);
/* Without a driver the version is 0, which is not an error. */
rt_error cudaDriverGetVersion(int *version)
{
	if (!version)
		return rt_end(cudaErrorInvalidValue);
	*version = 0;
	rt_begin(RT_DRIVER);
	return rt_end(rt_cu.cuDriverGetVersion ? (rt_error)rt_cu.cuDriverGetVersion(version)
					       : cudaSuccess);
}

rt_error rt_device_count(int *ret)
{
	rt_error r = rt_begin(RT_DRIVER);

	if (!ret)
		return cudaErrorInvalidValue;
	*ret = 0;
	if (!r)
		r = RT_CALL(&rt_cu, cuDeviceGetCount, ret);
	return !r && *ret == 0 ? cudaErrorNoDevice : r;
}
