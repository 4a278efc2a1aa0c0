/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel's view of a texture or surface object. The handle is the address of this descriptor in
 * the device's constant memory, so a stale or invalid handle is detected before its use. Texels are
 * stored in rows, and rows in slices; an array has the same layout. */
#ifndef HEDDLE_VGPU_TEXTURE_H
#define HEDDLE_VGPU_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#define VGPU_IMAGE_MAGIC 0x686564646c65696dull

enum vgpu_image_shape { VIMG_LINEAR, VIMG_1D, VIMG_2D, VIMG_3D, VIMG_CUBE };
enum vgpu_image_kind { VIMG_UNSIGNED, VIMG_SIGNED, VIMG_FLOAT };
enum vgpu_image_address { VIMG_WRAP, VIMG_CLAMP, VIMG_MIRROR, VIMG_BORDER }; /* CUaddress_mode */

struct vgpu_image {
	uint64_t magic;
	uint64_t base, bytes;  /* address and size of all texels */
	uint64_t pitch, slice; /* bytes from one row to the next, and from one slice to the next */
	int64_t size[3];       /* number of texels in x, y and z, at least 1 each */
	/* number of layers (each cubemap layer counts as six); 0: not layered */
	int64_t layers;
	uint8_t shape, kind;
	uint8_t channels, channel_bytes;
	bool is_surface;
	/* Textures. */
	uint8_t address[3];
	bool linear;     /* linear filtering; otherwise the nearest texel is read */
	bool normalized; /* coordinates are normalized */
	bool to_float;   /* 8- and 16-bit integers are read as floats in [0, 1] or [-1, 1] */
	float border[4];
};

#endif
