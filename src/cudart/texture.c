/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Texture and surface objects. Converts the runtime's descriptors to the driver's, and back. */
#include <string.h>

#include "cudart/cudart.h"

static rt_error resource_to_driver(const struct rt_resource *from, CUDA_RESOURCE_DESC *ret)
{
	CUarray_format format;
	unsigned channels;

	*ret = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->type};
	switch (from->type) {
	case CU_RESOURCE_TYPE_ARRAY:
		ret->res.array.hArray = from->array;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		if (!rt_format_of(&from->linear.channels, &format, &channels))
			return cudaErrorInvalidChannelDescriptor;
		ret->res.linear.devPtr = from->linear.ptr;
		ret->res.linear.format = format;
		ret->res.linear.numChannels = channels;
		ret->res.linear.sizeInBytes = from->linear.bytes;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_PITCH2D:
		if (!rt_format_of(&from->pitch2d.channels, &format, &channels))
			return cudaErrorInvalidChannelDescriptor;
		ret->res.pitch2D.devPtr = from->pitch2d.ptr;
		ret->res.pitch2D.format = format;
		ret->res.pitch2D.numChannels = channels;
		ret->res.pitch2D.width = from->pitch2d.width;
		ret->res.pitch2D.height = from->pitch2d.height;
		ret->res.pitch2D.pitchInBytes = from->pitch2d.pitch;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return RT_LACKING(cudaResourceTypeMipmappedArray);
	default:
		return cudaErrorInvalidValue;
	}
}

static void resource_from_driver(const CUDA_RESOURCE_DESC *from, struct rt_resource *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->type = (int)from->resType;
	switch ((int)from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		ret->array = from->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		ret->linear.ptr = from->res.linear.devPtr;
		ret->linear.channels =
			rt_channels_of(from->res.linear.format, from->res.linear.numChannels);
		ret->linear.bytes = from->res.linear.sizeInBytes;
		break;
	default:
		ret->pitch2d.ptr = from->res.pitch2D.devPtr;
		ret->pitch2d.channels =
			rt_channels_of(from->res.pitch2D.format, from->res.pitch2D.numChannels);
		ret->pitch2d.width = from->res.pitch2D.width;
		ret->pitch2d.height = from->res.pitch2D.height;
		ret->pitch2d.pitch = from->res.pitch2D.pitchInBytes;
	}
}

rt_error rt_texture_create(CUtexObject *texture, const struct rt_resource *resource,
	const struct rt_texture *desc, const void *view)
{
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC d = {0};
	rt_error e = texture && resource && desc ? resource_to_driver(resource, &r)
						 : cudaErrorInvalidValue;

	if (e)
		return e;
	if (view)
		return RT_LACKING(cudaResourceViewDesc);
	if (desc->srgb)
		return RT_LACKING(cudaTextureDesc.sRGB);
	for (unsigned i = 0; i < 3; i++)
		d.addressMode[i] = (CUaddress_mode)desc->address[i];
	d.filterMode = (CUfilter_mode)desc->filter;
	d.flags = (desc->to_float ? 0u : (unsigned)CU_TRSF_READ_AS_INTEGER) |
		  (desc->normalized ? (unsigned)CU_TRSF_NORMALIZED_COORDINATES : 0u);
	d.maxAnisotropy = desc->max_anisotropy;
	d.mipmapFilterMode = (CUfilter_mode)desc->mipmap_filter;
	d.mipmapLevelBias = desc->mipmap_bias;
	d.minMipmapLevelClamp = desc->min_level;
	d.maxMipmapLevelClamp = desc->max_level;
	memcpy(d.borderColor, desc->border, sizeof(d.borderColor));
	return RT_CALL(&rt_cu, cuTexObjectCreate, texture, &r, &d, NULL);
}

rt_error rt_texture_destroy(CUtexObject texture)
{
	return texture ? RT_CALL(&rt_cu, cuTexObjectDestroy, texture) : cudaSuccess;
}

rt_error rt_texture_resource(struct rt_resource *resource, CUtexObject texture)
{
	CUDA_RESOURCE_DESC d;
	rt_error r = resource ? RT_CALL(&rt_cu, cuTexObjectGetResourceDesc, &d, texture)
			      : cudaErrorInvalidValue;

	if (!r)
		resource_from_driver(&d, resource);
	return r;
}

rt_error rt_texture_desc(struct rt_texture *desc, CUtexObject texture)
{
	CUDA_TEXTURE_DESC d;
	rt_error r = desc ? RT_CALL(&rt_cu, cuTexObjectGetTextureDesc, &d, texture)
			  : cudaErrorInvalidValue;

	if (r)
		return r;
	*desc = (struct rt_texture){
		.address = {(int)d.addressMode[0], (int)d.addressMode[1], (int)d.addressMode[2]},
		.filter = (int)d.filterMode,
		.to_float = !(d.flags & CU_TRSF_READ_AS_INTEGER),
		.normalized = d.flags & CU_TRSF_NORMALIZED_COORDINATES ? 1 : 0,
		.max_anisotropy = d.maxAnisotropy,
		.mipmap_filter = (int)d.mipmapFilterMode,
		.mipmap_bias = d.mipmapLevelBias,
		.min_level = d.minMipmapLevelClamp,
		.max_level = d.maxMipmapLevelClamp,
	};
	memcpy(desc->border, d.borderColor, sizeof(desc->border));
	return cudaSuccess;
}

rt_error rt_surface_create(CUsurfObject *surface, const struct rt_resource *resource)
{
	CUDA_RESOURCE_DESC d;
	rt_error r = surface && resource ? resource_to_driver(resource, &d) : cudaErrorInvalidValue;

	return r ? r : RT_CALL(&rt_cu, cuSurfObjectCreate, surface, &d);
}

rt_error rt_surface_destroy(CUsurfObject surface)
{
	return surface ? RT_CALL(&rt_cu, cuSurfObjectDestroy, surface) : cudaSuccess;
}

rt_error rt_surface_resource(struct rt_resource *resource, CUsurfObject surface)
{
	CUDA_RESOURCE_DESC d;
	rt_error r = resource ? RT_CALL(&rt_cu, cuSurfObjectGetResourceDesc, &d, surface)
			      : cudaErrorInvalidValue;

	if (!r)
		resource_from_driver(&d, resource);
	return r;
}
