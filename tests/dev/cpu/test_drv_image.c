/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Arrays, textures and surfaces of the virtual GPU: each instruction gives the value that
 * follows from the formulas of the CUDA C++ Programming Guide, computed by hand here.
 * Unsupported cases are errors, or end the grid with a fault. */
#include "base/base.h"
#include "drv.h"

/* In each of 32 threads, `op` turns four words of `in` into four words of `out`. */
#define KERNEL(name, op)                                                                \
	".visible .entry " name "(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" \
	"	.reg .b16 %h<4>;\n	.reg .b32 %c<4>, %v<4>;\n	.reg .b64 %d<5>;\n"              \
	"	mov.u32 %c0, %tid.x;\n	mul.wide.u32 %d3, %c0, 16;\n"                          \
	"	ld.param.u64 %d0, [t];\n	ld.param.u64 %d1, [in];\n"                           \
	"	ld.param.u64 %d2, [out];\n	add.s64 %d1, %d1, %d3;\n"                          \
	"	add.s64 %d2, %d2, %d3;\n"                                                     \
	"	ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%d1];\n"                              \
	"	ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%d2];\n"                              \
	"	" op "\n	st.global.v4.b32 [%d2], {%v0, %v1, %v2, %v3};\n	ret;\n}\n"
#define TEX(name, op, at) KERNEL(name, op " {%v0, %v1, %v2, %v3}, [%d0, {" at "}];")

static const char image_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n" TEX(
	"f1", "tex.1d.v4.f32.f32", "%c0") TEX("f2", "tex.2d.v4.f32.f32", "%c0, %c1") TEX("u2",
	"tex.2d.v4.u32.f32", "%c0, %c1") TEX("s2", "tex.2d.v4.s32.f32", "%c0, %c1") TEX("f3",
	"tex.3d.v4.f32.f32", "%c0, %c1, %c2, %c2") TEX("a1", "tex.a1d.v4.f32.f32",
	"%c0, %c1") TEX("a2", "tex.a2d.v4.f32.f32", "%c0, %c1, %c2, %c2") TEX("cube",
	"tex.cube.v4.f32.f32", "%c0, %c1, %c2, %c2") TEX("acube", "tex.acube.v4.f32.f32",
	"%c0, %c1, %c2, %c3") TEX("fetch", "tex.1d.v4.f32.s32", "%c0") TEX("g",
	"tld4.g.2d.v4.f32.f32", "%c0, %c1") KERNEL("level",
	"tex.level.2d.v4.f32.f32 {%v0, %v1, _, %v3}, [%d0, {%c0, %c1}], %c2;")
	KERNEL("ld_clamp", "suld.b.2d.b32.clamp {%v0}, [%d0, {%c0, %c1}];") KERNEL(
		"ld_zero", "suld.b.2d.v2.b32.zero {%v0, %v1}, [%d0, {%c0, %c1}];")
		KERNEL("ld_trap", "suld.b.2d.b32.trap {%v0}, [%d0, {%c0, %c1}];") KERNEL("ld_bytes",
			"suld.b.2d.v4.b8.trap {%h0, %h1, %h2, %h3}, [%d0, {%c0, %c1}];\n"
			"	cvt.u32.u16 %v0, %h0;\n	cvt.u32.u16 %v3, %h3;") KERNEL("st_zero",
			"sust.b.2d.b32.zero [%d0, {%c0, %c1}], {%c2};") KERNEL("st_layer",
			"sust.b.a2d.b32.trap [%d0, {%c3, %c0, %c1, %c1}], {%c2};") KERNEL("ld_row",
			"suld.b.1d.b64.trap {%d3}, [%d0, {%c0}];\n	mov.b64 {%v0, %v1}, %d3;");

struct image_test {
	struct drv_test drv;
	CUmodule mod;
	CUdeviceptr in, out;
};

static int setup(void **state)
{
	static struct image_test t;

	drv_begin(&t.drv, "workers=2");
	OK(cuModuleLoadData(&t.mod, image_ptx));
	t.in = drv_words(128);
	t.out = drv_words(128);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct image_test *t = *state;

	drv_end(&t->drv);
	return 0;
}

/* Runs a kernel and returns one thread's four result words. */
static CUresult run(
	struct image_test *t, const char *kernel, CUtexObject image, const void *in, void *ret_out)
{
	void *params[] = {&image, &t->in, &t->out};
	CUfunction fn;
	CUresult r;

	OK(cuModuleGetFunction(&fn, t->mod, kernel));
	OK(cuMemcpyHtoD(t->in, in, 16));
	OK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	r = cuCtxSynchronize();
	if (r == CUDA_SUCCESS)
		OK(cuMemcpyDtoH(ret_out, t->out, 16));
	return r;
}

static float at(
	struct image_test *t, const char *kernel, CUtexObject image, float x, float y, float z)
{
	float in[4] = {x, y, z, 0}, out[4];

	OK(run(t, kernel, image, in, out));
	return out[0];
}

#define EXPECT(want, ...) assert_float_equal(at(t, __VA_ARGS__), want, 0)

/* ---- texture reads ---- */

/* An array of floats; each is 100 z + 10 y + x. */
static CUarray array_of(size_t w, size_t h, size_t d, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {w, h, d, CU_AD_FORMAT_FLOAT, 1, flags};
	size_t rows = h ? h : 1, slices = d ? d : 1;
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcPitch = w * 4,
		.srcHeight = rows,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = w * 4,
		.Height = rows,
		.Depth = slices};
	float *v = malloc(w * rows * slices * 4);
	CUarray a;

	for (size_t i = 0; i < w * rows * slices; i++)
		v[i] = (float)(100 * (i / w / rows) + 10 * (i / w % rows) + i % w);
	OK(cuArray3DCreate(&a, &desc));
	copy.srcHost = v;
	copy.dstArray = a;
	OK(cuMemcpy3D(&copy));
	free(v);
	return a;
}

static CUDA_RESOURCE_DESC resource_of(CUarray a)
{
	return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
}

static CUtexObject texture_of(
	CUDA_RESOURCE_DESC r, CUaddress_mode mode, CUfilter_mode filter, unsigned flags)
{
	CUDA_TEXTURE_DESC d = {.addressMode = {mode, mode, mode},
		.filterMode = filter,
		.flags = flags,
		.borderColor = {-7, 0, 0, 0}};
	CUtexObject t;

	OK(cuTexObjectCreate(&t, &r, &d, NULL));
	return t;
}

static void nearest_and_between(void **state)
{
	struct image_test *t = *state;
	CUDA_RESOURCE_DESC plane = resource_of(array_of(4, 3, 0, 0));
	CUtexObject near = texture_of(plane, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject between =
		texture_of(plane, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
	CUtexObject volume = texture_of(resource_of(array_of(4, 3, 2, 0)), CU_TR_ADDRESS_MODE_CLAMP,
		CU_TR_FILTER_MODE_LINEAR, 0);

	EXPECT(0, "f2", near, 0, 0, 0);
	EXPECT(12, "f2", near, 2.99f, 1.5f, 0);
	EXPECT(23, "f2", near, 99, 99, 0);
	EXPECT(0, "f2", near, -5, -5, 0);
	EXPECT(12, "level", near, 2.99f, 1.5f, 3);
	EXPECT(11, "f2", between, 1.5f, 1.5f, 0);
	EXPECT(11.25f, "f2", between, 1.75f, 1.5f, 0);
	EXPECT(14.2578125f, "f2", between, 1.75f, 1.8f, 0); /* 0.3 is rounded to 77/256 */
	EXPECT(0, "f2", between, 0.25f, 0, 0);
	EXPECT(23, "f2", between, 3.75f, 9, 0);
	EXPECT(61.5f, "f3", volume, 2, 1.5f, 1);
	EXPECT(121, "f3", volume, 1.5f, 2.5f, 4);
}

/* Makes a texture of 2 x 2 texels, of which only the last is not 0. */
static CUtexObject last_of_four(CUarray_format format, const void *texels, unsigned bytes)
{
	CUDA_ARRAY_DESCRIPTOR desc = {2, 2, format, 1};
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = texels,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 2 * bytes,
		.Height = 2};

	OK(cuArrayCreate(&copy.dstArray, &desc));
	OK(cuMemcpy2D(&copy));
	return texture_of(
		resource_of(copy.dstArray), CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_LINEAR, 0);
}

/* Tests the rounding that was measured on an H100: linear filtering rounds the weights of the four
 * texels to 1/256, and its results for integer formats to 16 bits. */
static void rounding(void **state)
{
	struct image_test *t = *state;
	CUtexObject floats = last_of_four(CU_AD_FORMAT_FLOAT, (float[]){0, 0, 0, 256}, 4);
	CUtexObject bytes = last_of_four(CU_AD_FORMAT_UNSIGNED_INT8, (uint8_t[]){0, 0, 0, 255}, 1);
	CUtexObject shorts =
		last_of_four(CU_AD_FORMAT_SIGNED_INT16, (int16_t[]){0, 0, 0, -32767}, 2);
	CUtexObject line = texture_of(resource_of(array_of(4, 0, 0, 0)), CU_TR_ADDRESS_MODE_BORDER,
		CU_TR_FILTER_MODE_LINEAR, 0);

	EXPECT(31, "f2", floats, 0.8f, 0.9f, 0);              /* 77 * 102 / 256 = 30.7 */
	EXPECT(7936.f / 65535, "f2", bytes, 0.8f, 0.9f, 0);   /* 31 * 65535 / 256 = 7935.9 */
	EXPECT(-3968.f / 32767, "f2", shorts, 0.8f, 0.9f, 0); /* 31 * 32767 / 256 = 3967.9 */
	EXPECT(-7, "f2", floats, 9, 9, 0);
	EXPECT(0, "f2", bytes, 9, 9, 0); /* the border value is a byte, too */
	/* half of the value comes from the row above, which is border */
	EXPECT(-2, "f1", line, 3.5f, 0, 0);
}

static void outside(void **state)
{
	static const struct {
		CUaddress_mode mode;
		/* texels at coordinates -1/8, 9/8 and 17/8 of a width of 4 */
		float below, above, far;
	} all[] = {{CU_TR_ADDRESS_MODE_WRAP, 3, 0, 0}, {CU_TR_ADDRESS_MODE_CLAMP, 0, 3, 3},
		{CU_TR_ADDRESS_MODE_MIRROR, 0, 3, 0}, {CU_TR_ADDRESS_MODE_BORDER, -7, -7, -7}};
	struct image_test *t = *state;
	CUDA_RESOURCE_DESC line = resource_of(array_of(4, 0, 0, 0));

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CUtexObject unit = texture_of(
			line, all[i].mode, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES);
		CUtexObject texels = texture_of(line, all[i].mode, CU_TR_FILTER_MODE_POINT, 0);
		float border = all[i].mode == CU_TR_ADDRESS_MODE_BORDER ? -7 : 3;

		EXPECT(1, "f1", unit, 0.375f, 0, 0);
		EXPECT(all[i].below, "f1", unit, -0.125f, 0, 0);
		EXPECT(all[i].above, "f1", unit, 1.125f, 0, 0);
		EXPECT(all[i].far, "f1", unit, 2.125f, 0, 0);
		/* Unnormalized coordinates neither wrap nor mirror. */
		EXPECT(border, "f1", texels, 4.5f, 0, 0);
	}
	/* A coordinate between the last texel and the first. */
	EXPECT(1.5f, "f1",
		texture_of(line, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR,
			CU_TRSF_NORMALIZED_COORDINATES),
		1, 0, 0);
}

static void formats(void **state)
{
	static const struct {
		CUarray_format format;
		uint32_t texel;
		unsigned flags;
		const char *kernel;
		uint32_t want; /* bits of the second channel */
	} all[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 0xff00, 0, "f2", 0x3f800000},
		{CU_AD_FORMAT_SIGNED_INT8, 0x8000, 0, "f2", 0xbf800000},
		{CU_AD_FORMAT_UNSIGNED_INT16, 0xffff0000, 0, "f2", 0x3f800000},
		{CU_AD_FORMAT_SIGNED_INT16, 0x7fff0000, 0, "f2", 0x3f800000},
		{CU_AD_FORMAT_HALF, 0xc0000000, 0, "f2", 0xc0000000},
		{CU_AD_FORMAT_UNSIGNED_INT8, 0xff00, CU_TRSF_READ_AS_INTEGER, "u2", 255},
		{CU_AD_FORMAT_SIGNED_INT8, 0xff00, CU_TRSF_READ_AS_INTEGER, "s2", 0xffffffff},
		{CU_AD_FORMAT_SIGNED_INT16, 0x80000000, CU_TRSF_READ_AS_INTEGER, "s2", 0xffff8000}};
	struct image_test *t = *state;
	float in[4] = {0.5f, 0.5f};
	uint32_t out[4];

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CUDA_ARRAY_DESCRIPTOR desc = {1, 1, all[i].format, 2}, back;
		size_t bytes = all[i].format & 3 || all[i].format == CU_AD_FORMAT_HALF ? 4 : 2;
		CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			.srcHost = &all[i].texel,
			.dstMemoryType = CU_MEMORYTYPE_ARRAY,
			.Height = 1};

		if (all[i].format == CU_AD_FORMAT_UNSIGNED_INT8)
			bytes = 2;
		copy.WidthInBytes = bytes;
		OK(cuArrayCreate(&copy.dstArray, &desc));
		OK(cuArrayGetDescriptor(&back, copy.dstArray));
		assert_memory_equal(&back, &desc, sizeof(desc));
		OK(cuMemcpy2D(&copy));
		OK(run(t, all[i].kernel,
			texture_of(resource_of(copy.dstArray), CU_TR_ADDRESS_MODE_CLAMP,
				CU_TR_FILTER_MODE_POINT, all[i].flags),
			in, out));
		assert_int_equal(out[1], all[i].want);
		OK(cuArrayDestroy(copy.dstArray));
	}
}

static float in_layer(struct image_test *t, const char *kernel, CUtexObject image, int layer,
	float x, float y, float z)
{
	float in[4] = {0, x, y, z}, out[4];

	memcpy(in, &layer, 4);
	OK(run(t, kernel, image, in, out));
	return out[0];
}

static void layers(void **state)
{
	struct image_test *t = *state;
	CUaddress_mode clamp = CU_TR_ADDRESS_MODE_CLAMP;
	CUtexObject planes = texture_of(resource_of(array_of(4, 2, 3, CUDA_ARRAY3D_LAYERED)), clamp,
		CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject rows = texture_of(resource_of(array_of(4, 0, 3, CUDA_ARRAY3D_LAYERED)), clamp,
		CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject cube = texture_of(resource_of(array_of(2, 2, 6, CUDA_ARRAY3D_CUBEMAP)), clamp,
		CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject cubes = texture_of(
		resource_of(array_of(2, 2, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED)), clamp,
		CU_TR_FILTER_MODE_POINT, 0);

	assert_float_equal(in_layer(t, "a2", planes, 1, 2.5f, 1.5f, 0), 112, 0);
	assert_float_equal(in_layer(t, "a2", planes, 7, 2.5f, 1.5f, 0), 212, 0);
	/* -1 counts as 2^32 - 1 */
	assert_float_equal(in_layer(t, "a1", rows, -1, 3.5f, 0, 0), 203, 0);
	assert_float_equal(in_layer(t, "a1", rows, 2, 3.5f, 0, 0), 203, 0);
	/* The faces are +x, -x, +y, -y, +z, -z. */
	for (int face = 0; face < 6; face++) {
		float d[3] = {0.1f, 0.1f, 0.1f};

		d[face / 2] = face % 2 ? -1 : 1;
		assert_int_equal((int)at(t, "cube", cube, d[0], d[1], d[2]) / 100, face);
		assert_int_equal(
			(int)in_layer(t, "acube", cubes, 1, d[0], d[1], d[2]) / 100, 6 + face);
	}
	EXPECT(1, "cube", cube, 1, 0.5f, -0.5f); /* s = (0.5 + 1) / 2, t = (-0.5 + 1) / 2 */
	EXPECT(410, "cube", cube, -0.5f, -0.5f, 1);
}

static void memory(void **state)
{
	struct image_test *t = *state;
	CUdeviceptr p = drv_words(64);
	CUDA_RESOURCE_DESC line = {
		.resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = {p, CU_AD_FORMAT_FLOAT, 1, 24}};
	CUDA_RESOURCE_DESC plane = {.resType = CU_RESOURCE_TYPE_PITCH2D,
		.res.pitch2D = {p, CU_AD_FORMAT_FLOAT, 2, 3, 2, 32}};
	CUtexObject in_line =
		texture_of(line, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUtexObject in_plane =
		texture_of(plane, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	static const int index[] = {0, 5, 6, -1};
	static const float want[] = {0, 5, 0, 0};
	CUDA_RESOURCE_DESC back;
	float v[64], in[4] = {0}, out[4];

	for (int i = 0; i < 64; i++)
		v[i] = (float)i;
	OK(cuMemcpyHtoD(p, v, sizeof(v)));
	for (int i = 0; i < 4; i++) {
		memcpy(in, &index[i], 4);
		OK(run(t, "fetch", in_line, in, out));
		assert_float_equal(out[0], want[i], 0);
	}
	EXPECT(12, "f2", in_plane, 2.5f, 1.5f, 0);
	/* The green channel of texels (0, 1), (1, 1), (1, 0), (0, 0). */
	in[0] = in[1] = 1;
	OK(run(t, "g", in_plane, in, out));
	for (int i = 0; i < 4; i++)
		assert_float_equal(out[i], ((float[]){9, 11, 3, 1})[i], 0);
	OK(cuTexObjectGetResourceDesc(&back, in_plane));
	assert_memory_equal(&back, &plane, sizeof(plane));
}

/* ---- surfaces ---- */

static CUsurfObject surface_of(CUarray a)
{
	CUDA_RESOURCE_DESC r = resource_of(a);
	CUsurfObject s;

	OK(cuSurfObjectCreate(&s, &r));
	return s;
}

static void surfaces(void **state)
{
	struct image_test *t = *state;
	CUarray plane = array_of(4, 2, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUsurfObject s = surface_of(plane);
	CUsurfObject layered = surface_of(array_of(4, 2, 2, CUDA_ARRAY3D_LAYERED));
	CUsurfObject row = surface_of(array_of(4, 0, 0, 0));
	float out[4], *v = out;
	uint32_t *bits = (uint32_t *)out;

	OK(run(t, "ld_clamp", s, (int[]){8, 1, 0, 0}, out));
	assert_float_equal(v[0], 12, 0);
	OK(run(t, "ld_clamp", s, (int[]){400, -3, 0, 0}, out));
	assert_float_equal(v[0], 3, 0);
	OK(run(t, "ld_zero", s, (int[]){8, 1, 0, 0}, out));
	assert_float_equal(v[0] + v[1], 25, 0);
	OK(run(t, "ld_zero", s, (int[]){16, 1, 0, 0}, out));
	assert_int_equal(bits[0] | bits[1], 0);
	OK(run(t, "ld_bytes", s, (int[]){4, 0, 0, 0}, out)); /* the bits of 1.0f: 0x3f800000 */
	assert_int_equal(bits[0], 0);
	assert_int_equal(bits[3], 0x3f);
	OK(run(t, "st_zero", s, (int[]){4, 1, 77, 0}, out));
	OK(run(t, "st_zero", s, (int[]){4, 2, 78, 0}, out)); /* out of bounds: ignored */
	OK(run(t, "ld_clamp", s, (int[]){4, 5, 0, 0}, out));
	assert_int_equal(bits[0], 77);
	OK(run(t, "st_layer", layered, (int[]){4, 1, 79, 1}, out));
	OK(run(t, "ld_row", row, (int[]){8, 0, 0, 0}, out));
	assert_float_equal(v[0] + v[1], 5, 0);
}

/* ---- unsupported uses ---- */

static void refused(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
	CUDA_TEXTURE_DESC d = {
		.filterMode = CU_TR_FILTER_MODE_LINEAR, .flags = CU_TRSF_READ_AS_INTEGER};
	CUDA_RESOURCE_DESC r;
	CUDA_MEMCPY3D copy = {.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstXInBytes = 1,
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = "none of it is read",
		.WidthInBytes = 4,
		.Height = 1,
		.Depth = 1};
	CUarray a;
	CUtexObject t;

	(void)state;
	OK(cuArray3DCreate(&a, &desc));
	r = resource_of(a);
	assert_int_equal(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	d.filterMode = CU_TR_FILTER_MODE_POINT;
	assert_int_equal(cuTexObjectCreate(&t, &r, &d, (void *)&r), CUDA_ERROR_NOT_SUPPORTED);
	d.flags |= 0x10; /* CU_TRSF_SRGB */
	assert_int_equal(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_NOT_SUPPORTED);
	r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	d.flags = 0;
	assert_int_equal(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_NOT_SUPPORTED);
	copy.dstArray = a;
	assert_int_equal(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.dstXInBytes = 0;
	copy.dstZ = 1;
	assert_int_equal(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.dstZ = 0;
	OK(cuMemcpy3D(&copy));
	OK(cuArrayDestroy(a));
	assert_int_equal(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuTexObjectDestroy(12), CUDA_ERROR_INVALID_VALUE);
	desc.NumChannels = 3;
	assert_int_equal(cuArray3DCreate(&a, &desc), CUDA_ERROR_INVALID_VALUE);
}

enum wrong { STALE, NO_HANDLE, A_SURFACE, OTHER_SHAPE, FREED, TRAPPED, ODD };

static void fault(void **state, enum wrong wrong)
{
	struct image_test *t = *state;
	CUarray a = array_of(4, 2, 0, 0);
	CUtexObject image =
		texture_of(resource_of(a), CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CUresult want = CUDA_ERROR_ILLEGAL_ADDRESS;
	const char *kernel = "f2";
	int in[4] = {0}, out[4];

	if (wrong == STALE)
		OK(cuTexObjectDestroy(image));
	if (wrong == NO_HANDLE)
		image = t->in;
	if (wrong >= TRAPPED || wrong == A_SURFACE)
		image = surface_of(a);
	if (wrong == OTHER_SHAPE)
		kernel = "f3";
	if (wrong == FREED)
		OK(cuArrayDestroy(a));
	if (wrong >= TRAPPED) {
		kernel = "ld_trap";
		in[0] = wrong == ODD ? 2 : 16;
	}
	if (wrong == ODD)
		want = CUDA_ERROR_MISALIGNED_ADDRESS;
	assert_int_equal(run(t, kernel, image, in, out), want);
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuModuleLoadData(&t->mod, image_ptx));
	t->in = drv_words(128);
	t->out = drv_words(128);
}

static void faults(void **state)
{
	for (unsigned wrong = STALE; wrong <= ODD; wrong++)
		fault(state, (enum wrong)wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_and_between),
		cmocka_unit_test(rounding),
		cmocka_unit_test(outside),
		cmocka_unit_test(formats),
		cmocka_unit_test(layers),
		cmocka_unit_test(memory),
		cmocka_unit_test(surfaces),
		cmocka_unit_test(refused),
		cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
