/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Properties of devices. All devices of one virtual GPU have the same properties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define DEVICE_NAME "heddle virtual GPU"
#define PCI_BUS     0x7du /* PCI bus of device 0; other devices have the following numbers */

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CU_CUDA_VERSION;
	return CUDA_SUCCESS;
}

/* Checks what nearly all calls about a device need: an initialized driver, a pointer for the
 * result, and a visible device. */
static CUresult check_device(const void *ret, CUdevice dev)
{
	CUresult r = drv_enter_init();

	if (r != CUDA_SUCCESS)
		return r;
	drv_leave(r);
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	return drv_device_of(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult r = check_device(dev, ordinal);

	if (r == CUDA_SUCCESS)
		*dev = ordinal;
	return r;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult r = check_device(count, 0);

	if (r == CUDA_SUCCESS)
		*count = (int)drv.n_devices;
	return r;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult r = len > 0 ? check_device(name, dev) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS && drv.config.devices > 1)
		snprintf(name, (size_t)len, "%s %u", DEVICE_NAME, drv.device[dev].number);
	else if (r == CUDA_SUCCESS)
		snprintf(name, (size_t)len, "%s", DEVICE_NAME);
	return r;
}

/* The UUID depends only on the name of the virtual GPU (the instance) and the device number, so all
 * processes that share a device see the same UUID. */
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	CUresult r = check_device(uuid, dev);

	if (r == CUDA_SUCCESS)
		drv_device_uuid(drv.device[dev].number, uuid);
	return r;
}

CUresult cuDeviceGetUuid_v1(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid(uuid, dev);
}

CUresult cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice dev)
{
	CUresult r = check_device(luid, dev);
	return r == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : r;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
	CUresult r = check_device(bytes, dev);

	if (r == CUDA_SUCCESS)
		*bytes = drv.config.memory_bytes;
	return r;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attr, CUdevice dev)
{
	CUresult r = check_device(value, dev);

	if (r != CUDA_SUCCESS)
		return r;
	if (attr <= 0 || attr > 512)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
#define ATTR(name, v)                    \
	case CU_DEVICE_ATTRIBUTE_##name: \
		*value = v;              \
		break;
#include "drv_attr.def"
#undef ATTR
	default:
		*value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	CUresult r = check_device(prop, dev);

	if (r != CUDA_SUCCESS)
		return r;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = 1024,
		.maxThreadsDim = {1024, 1024, 64},
		.maxGridSize = {2147483647, 65535, 65535},
		.sharedMemPerBlock = 49152,
		.totalConstantMemory = 65536,
		.SIMDWidth = 32,
		.memPitch = 2147483647,
		.regsPerBlock = (int)drv.config.regs,
		.clockRate = 1000000,
		.textureAlign = 512,
	};
	return r;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult r = minor ? check_device(major, dev) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS) {
		*major = 9;
		*minor = 0;
	}
	return r;
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	char text[16];
	CUresult r = len > 0 ? check_device(id, dev) : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return r;
	int n = snprintf(text, sizeof(text), "0000:%02X:00.0", PCI_BUS + drv.device[dev].number);
	if (len <= n)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(id, text, (size_t)n + 1);
	return r;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus = 0, device = 0, fn = 0;
	CUresult r = id ? check_device(dev, 0) : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return r;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &fn) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &device, &fn) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < drv.n_devices && !domain && !device && !fn; i++) {
		if (bus != PCI_BUS + drv.device[i].number)
			continue;
		*dev = (CUdevice)i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* Every device can access the memory of every other device. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult r = check_device(can, dev);

	if (r == CUDA_SUCCESS && !drv_device_of(peer))
		r = CUDA_ERROR_INVALID_DEVICE;
	if (r == CUDA_SUCCESS)
		*can = peer != dev;
	return r;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attr, CUdevice src, CUdevice dst)
{
	CUresult r = check_device(value, src);

	if (r != CUDA_SUCCESS)
		return r;
	if (src == dst || !drv_device_of(dst)) /* a device is not its own peer */
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attr) {
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		*value = 0;
		return CUDA_SUCCESS;
	}
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev)
{
	CUresult r = check_device(supported, dev);

	if (r == CUDA_SUCCESS)
		*supported = 0;
	return r;
}

/* Always 0, because graphs allocate no memory. */
CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	CUresult r = check_device(value, dev);

	if (r == CUDA_SUCCESS)
		*(uint64_t *)value = 0;
	return r;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	return check_device(value, dev);
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	return check_device(&dev, dev);
}

CUresult cuFlushGPUDirectRDMAWrites(
	CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuProfilerStart(void)
{
	DRV_ENTER(c);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuProfilerStop(void)
{
	DRV_ENTER(c);
	return drv_leave(CUDA_SUCCESS);
}
