/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Types of the CUDA runtime API, in the layout of its 64-bit binary interface. Handles, flags and
 * enumerators of the runtime have the same values as the driver's. So this folder uses the driver's
 * types: CUstream for cudaStream_t, CUdevice_attribute for cudaDeviceAttr. Only the structures
 * below have no counterpart in the driver. If a structure differs between CUDA 12 and 13, there are
 * two, with names that end in 12 and 13. */
#ifndef HEDDLE_CUDART_TYPES_H
#define HEDDLE_CUDART_TYPES_H

#include "dev/cu_types.h"

/* The type cudaError_t. A CUresult needs no conversion: since CUDA 10.1 both have the same
 * numbers. */
typedef int rt_error;

enum {
#define RT_ERROR(name, value, text) name = value,
#include "errors.def"
#undef RT_ERROR
};

enum rt_copy_kind { /* cudaMemcpyKind */
	RT_HOST_TO_HOST,
	RT_HOST_TO_DEVICE,
	RT_DEVICE_TO_HOST,
	RT_DEVICE_TO_DEVICE,
	RT_COPY_DEFAULT, /* the addresses determine the direction */
};

struct rt_dim3 {
	unsigned x, y, z;
};

struct rt_extent { /* cudaExtent; width is in bytes, or in elements if a copy involves an array */
	size_t width, height, depth;
};

struct rt_pos { /* cudaPos */
	size_t x, y, z;
};

struct rt_pitched { /* cudaPitchedPtr */
	void *ptr;
	size_t pitch, width, height; /* pitch in bytes, width in elements, height in rows */
};

struct rt_copy3d { /* cudaMemcpy3DParms */
	CUarray src_array;
	struct rt_pos src_pos;
	struct rt_pitched src;
	CUarray dst_array;
	struct rt_pos dst_pos;
	struct rt_pitched dst;
	struct rt_extent extent;
	int kind; /* enum rt_copy_kind */
};

struct rt_channels { /* cudaChannelFormatDesc */
	int x, y, z, w, kind;
};

struct rt_resource { /* cudaResourceDesc */
	int type;    /* CUresourcetype */
	union {
		CUarray array;
		struct {
			CUdeviceptr ptr;
			struct rt_channels channels;
			size_t bytes;
		} linear;
		struct {
			CUdeviceptr ptr;
			struct rt_channels channels;
			size_t width, height, pitch;
		} pitch2d;
		int reserved[32];
	};
	unsigned flags;
};

struct rt_texture { /* cudaTextureDesc */
	int address[3], filter;
	int to_float; /* cudaTextureReadMode */
	int srgb;
	float border[4];
	int normalized;
	unsigned max_anisotropy;
	int mipmap_filter;
	float mipmap_bias, min_level, max_level;
	int no_trilinear, seamless_cubemap;
};

struct rt_launch_config { /* cudaLaunchConfig_t */
	struct rt_dim3 grid, block;
	size_t shared_bytes;
	CUstream stream;
	CUlaunchAttribute *attributes;
	unsigned n_attributes;
};

struct rt_kernel_node { /* cudaKernelNodeParams */
	void *func;
	struct rt_dim3 grid, block;
	unsigned shared_bytes;
	void **params, **extra;
};

struct rt_func_attributes { /* cudaFuncAttributes */
	size_t shared_bytes, const_bytes, local_bytes;
	int max_threads, registers, ptx_version, binary_version, cache_mode_ca;
	int max_dynamic_shared_bytes, carveout;
	int cluster_must_be_set, cluster[3], cluster_scheduling, cluster_may_be_large;
	int reserved[16];
};

/* cudaPointerAttributes. CUDA 12's struct has no `reserved`. */
struct rt_pointer_attributes {
	int type; /* 0: unregistered host memory, 1: host, 2: device, 3: managed */
	int device;
	void *device_ptr, *host_ptr;
	long reserved[8];
};

/* cudaDeviceProp of CUDA 12 and 13, generated from props.def. */
#define RT_FIELD_BOTH(x) x
#define RT_FIELD_12(x)   x
#define RT_FIELD_13(x)
struct rt_props12 {
#define RT_PROP(abi, type, name, count, from) RT_FIELD_##abi(type name count;)
#include "props.def"
#undef RT_PROP
};
#undef RT_FIELD_12
#undef RT_FIELD_13
#define RT_FIELD_12(x)
#define RT_FIELD_13(x) x
struct rt_props13 {
#define RT_PROP(abi, type, name, count, from) RT_FIELD_##abi(type name count;)
#include "props.def"
#undef RT_PROP
};
#undef RT_FIELD_12
#undef RT_FIELD_13
#undef RT_FIELD_BOTH

#endif
