/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions for devices: properties in the layouts of CUDA 12 and 13, flags, peer access, and the
 * addresses of driver functions. */
#include <string.h>

#include "cudart/cudart.h"

/* A field of cudaDeviceProp whose elements are taken from device attributes. */
struct field {
	unsigned short offset, bytes; /* offset and size of one element */
	int attributes[4];            /* attribute of each element; 0 after the last */
};

#define FROM(name)              CU_DEVICE_ATTRIBUTE_##name,
#define ROW(s, type, name, ...) {offsetof(s, name), sizeof(type), {__VA_ARGS__ 0}},

#define IN_BOTH(x) x
#define IN_12(x)   x
#define IN_13(x)
static const struct field fields12[] = {
#define RT_PROP(abi, type, name, count, from) IN_##abi(ROW(struct rt_props12, type, name, from))
#include "props.def"
#undef RT_PROP
};
#undef IN_12
#undef IN_13
#define IN_12(x)
#define IN_13(x) x
static const struct field fields13[] = {
#define RT_PROP(abi, type, name, count, from) IN_##abi(ROW(struct rt_props13, type, name, from))
#include "props.def"
#undef RT_PROP
};

static rt_error fill_fields(void *props, const struct field *fields, size_t n, CUdevice device)
{
	rt_error r = cudaSuccess;

	for (size_t i = 0; i < n && !r; i++) {
		char *at = (char *)props + fields[i].offset;
		for (const int *a = fields[i].attributes; *a && !r; a++, at += fields[i].bytes) {
			int value = 0;
			size_t wide;
			r = RT_CALL(&rt_cu, cuDeviceGetAttribute, &value, (CUdevice_attribute)*a,
				device);
			wide = (size_t)value;
			if (fields[i].bytes == sizeof(wide))
				memcpy(at, &wide, sizeof(wide));
			else
				memcpy(at, &value, sizeof(value));
		}
	}
	return r;
}

static rt_error fill_names(
	char *name, size_t name_bytes, CUuuid *uuid, size_t *memory, CUdevice device)
{
	rt_error r = RT_CALL(&rt_cu, cuDeviceGetName, name, (int)name_bytes, device);

	if (!r)
		r = RT_CALL(&rt_cu, cuDeviceGetUuid, uuid, device);
	return r ? r : RT_CALL(&rt_cu, cuDeviceTotalMem, memory, device);
}

rt_error rt_device_properties12(struct rt_props12 *ret, int device)
{
	struct rt_props12 p = {0};
	CUdevice d;
	rt_error r = ret ? RT_CALL(&rt_cu, cuDeviceGet, &d, device) : cudaErrorInvalidValue;

	if (!r)
		r = fill_names(p.name, sizeof(p.name), &p.uuid, &p.totalGlobalMem, d);
	if (!r)
		r = fill_fields(&p, fields12, ARRAY_LEN(fields12), d);
	if (!r)
		*ret = p;
	return r;
}

rt_error rt_device_properties13(struct rt_props13 *ret, int device)
{
	struct rt_props13 p = {0};
	CUdevice d;
	rt_error r = ret ? RT_CALL(&rt_cu, cuDeviceGet, &d, device) : cudaErrorInvalidValue;

	if (!r)
		r = fill_names(p.name, sizeof(p.name), &p.uuid, &p.totalGlobalMem, d);
	if (!r)
		r = fill_fields(&p, fields13, ARRAY_LEN(fields13), d);
	if (!r)
		*ret = p;
	return r;
}

/* ---- choosing a device ---- */

/* Always chooses device 0, because all virtual GPUs are alike. */
rt_error rt_choose_device(int *ret, const void *props)
{
	if (!ret || !props)
		return cudaErrorInvalidValue;
	*ret = 0;
	return cudaSuccess;
}

rt_error rt_set_valid_devices(int *devices, int n)
{
	rt_error r = n >= 0 && (devices || !n) ? cudaSuccess : cudaErrorInvalidValue;
	CUdevice d;

	for (int i = 0; i < n && !r; i++)
		r = RT_CALL(&rt_cu, cuDeviceGet, &d, devices[i]);
	return r;
}

#define MAP_HOST 8u /* cudaDeviceMapHost, which is always on */

rt_error rt_get_device_flags(unsigned *ret)
{
	int device, active;
	rt_error r = ret ? rt_get_device(&device) : cudaErrorInvalidValue;

	if (!r)
		r = RT_CALL(&rt_cu, cuDevicePrimaryCtxGetState, device, ret, &active);
	if (!r)
		*ret |= MAP_HOST;
	return r;
}

rt_error rt_set_device_flags(unsigned flags)
{
	int device;
	rt_error r = rt_get_device(&device);

	return r ? r : RT_CALL(&rt_cu, cuDevicePrimaryCtxSetFlags, device, flags & ~MAP_HOST);
}

rt_error rt_init_device(int device, unsigned device_flags, unsigned flags)
{
	enum { FLAGS_ARE_VALID = 1 };
	CUcontext ctx;
	rt_error r = flags & ~(unsigned)FLAGS_ARE_VALID ? cudaErrorInvalidValue : cudaSuccess;

	if (!r && flags)
		r = RT_CALL(&rt_cu, cuDevicePrimaryCtxSetFlags, device, device_flags & ~MAP_HOST);
	return r ? r : rt_primary(device, &ctx);
}

/* Ends all work of the process on the thread's device, and frees its objects there. Fatbins stay
 * loaded, and the driver resets their variables to the initial values. */
rt_error rt_device_reset(void)
{
	int device;
	rt_error r = rt_get_device(&device);

	if (!r)
		r = RT_CALL(&rt_cu, cuDevicePrimaryCtxReset, device);
	if (!r)
		rt_forget_error();
	return r;
}

/* ---- peers ---- */

rt_error rt_enable_peer(int peer, unsigned flags)
{
	CUcontext ctx;
	rt_error r = rt_primary(peer, &ctx);

	return r ? r : RT_CALL(&rt_cu, cuCtxEnablePeerAccess, ctx, flags);
}

rt_error rt_disable_peer(int peer)
{
	CUcontext ctx;
	rt_error r = rt_primary(peer, &ctx);

	return r ? r : RT_CALL(&rt_cu, cuCtxDisablePeerAccess, ctx);
}

/* ---- finding driver functions ---- */

/* Finds a driver function by name and version. If the caller passes ret_status, a missing function
 * is reported there, and is not an error. */
rt_error rt_entry_point_by_version(const struct cu_api *cu, const char *symbol, void **ret,
	unsigned version, unsigned long long flags, CUdriverProcAddressQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status;
	rt_error r;

	if (!symbol || !ret)
		return cudaErrorInvalidValue;
	if (flags == CU_GET_PROC_ADDRESS_DEFAULT && cu == &rt_cu_per_thread)
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	*ret = NULL;
	r = RT_CALL(&rt_cu, cuGetProcAddress, symbol, ret, (int)version, flags, &status);
	if (r)
		return r;
	if (ret_status)
		*ret_status = status;
	return *ret || ret_status ? cudaSuccess : cudaErrorSymbolNotFound;
}

rt_error rt_entry_point12(const struct cu_api *cu, const char *symbol, void **ret,
	unsigned long long flags, CUdriverProcAddressQueryResult *ret_status)
{
	return rt_entry_point_by_version(cu, symbol, ret, 12090, flags, ret_status);
}

rt_error rt_entry_point13(const struct cu_api *cu, const char *symbol, void **ret,
	unsigned long long flags, CUdriverProcAddressQueryResult *ret_status)
{
	return rt_entry_point_by_version(cu, symbol, ret, 13000, flags, ret_status);
}

RT_API struct rt_channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
struct rt_channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct rt_channels){x, y, z, w, kind};
}
