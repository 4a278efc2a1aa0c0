/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests copies and memsets: each direction, synchronous and in a stream, in one, two and three
 * dimensions; and device variables by their symbols. */
#include "host.h"

#include <string.h>
#include <time.h>

enum { N = 64, ROWS = 5, WIDTH = 24, PITCH = 32, SLICES = 3 };

static void fill(unsigned char *at, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (unsigned char)random_bits(seed, i);
}

static void test_linear(void **state)
{
	unsigned char in[N], out[N] = {0};
	CUdeviceptr a, b;

	fill(in, N, 1);
	OK(cudaMalloc(&a, N));
	OK(cudaMalloc(&b, N));
	OK(cudaMemcpy((void *)a, in, N, RT_HOST_TO_DEVICE));
	OK(cudaMemcpy((void *)b, (void *)a, N, RT_DEVICE_TO_DEVICE));
	OK(cudaMemcpy(out, (void *)b, N, RT_DEVICE_TO_HOST));
	assert_memory_equal(in, out, N);
	/* The addresses determine the direction. */
	fill(in, N, 2);
	OK(cudaMemcpy((void *)a, in, N, RT_COPY_DEFAULT));
	OK(cudaMemcpy(out, (void *)a, N, RT_COPY_DEFAULT));
	assert_memory_equal(in, out, N);
	fill(in, N, 3);
	OK(cudaMemcpy(out, in, N, RT_HOST_TO_HOST));
	assert_memory_equal(in, out, N);
	OK(cudaMemcpy(NULL, NULL, 0, RT_HOST_TO_DEVICE));
	assert_int_equal(cudaMemcpy(out, in, N, 9), cudaErrorInvalidMemcpyDirection);
	assert_int_equal(
		cudaMemcpy((void *)a, in, N + 1, RT_HOST_TO_DEVICE), cudaErrorInvalidValue);
	OK(cudaMemcpyPeer(b, 0, a, 0, N));
	OK(cudaMemcpy(in, (void *)b, N, RT_DEVICE_TO_HOST));
	OK(cudaMemcpy(out, (void *)a, N, RT_DEVICE_TO_HOST));
	assert_memory_equal(in, out, N);
	OK(cudaFree(a));
	OK(cudaFree(b));
	cudaGetLastError();
}

/* Tests copies in a stream, in the calling thread's default stream, and in the legacy stream. */
static void test_async(void **state)
{
	unsigned char in[N], out[N] = {0};
	CUdeviceptr a;
	CUstream s;

	fill(in, N, 4);
	OK(cudaMalloc(&a, N));
	OK(cudaStreamCreateWithFlags(&s, CU_STREAM_NON_BLOCKING));
	OK(cudaMemcpyAsync((void *)a, in, N, RT_HOST_TO_DEVICE, s));
	OK(cudaMemcpyAsync(out, (void *)a, N, RT_DEVICE_TO_HOST, s));
	OK(cudaStreamSynchronize(s));
	assert_memory_equal(in, out, N);
	OK(cudaMemsetAsync_ptsz(a, 7, N, NULL));
	OK(cudaMemcpyAsync_ptsz(out, (void *)a, N, RT_DEVICE_TO_HOST, NULL));
	OK(cudaStreamSynchronize_ptsz(NULL));
	assert_int_equal(out[N - 1], 7);
	OK(cudaMemset_ptds(a, 8, N));
	OK(cudaMemcpy_ptds(out, (void *)a, N, RT_DEVICE_TO_HOST));
	assert_int_equal(out[0], 8);
	OK(cudaStreamDestroy(s));
	OK(cudaFree(a));
}

static void test_2d(void **state)
{
	unsigned char in[ROWS * PITCH], out[ROWS * WIDTH];
	size_t pitch;
	CUdeviceptr a;
	CUstream s;

	OK(cudaStreamCreate(&s));
	OK(cudaMallocPitch(&a, &pitch, WIDTH, ROWS));
	for (int async = 0; async < 2; async++) {
		fill(in, sizeof(in), 5 + (unsigned)async);
		memset(out, 0, sizeof(out));
		if (async) {
			OK(cudaMemcpy2DAsync(
				(void *)a, pitch, in, PITCH, WIDTH, ROWS, RT_HOST_TO_DEVICE, s));
			OK(cudaMemcpy2DAsync(
				out, WIDTH, (void *)a, pitch, WIDTH, ROWS, RT_DEVICE_TO_HOST, s));
			OK(cudaStreamSynchronize(s));
		} else {
			OK(cudaMemcpy2D(
				(void *)a, pitch, in, PITCH, WIDTH, ROWS, RT_HOST_TO_DEVICE));
			OK(cudaMemcpy2D(
				out, WIDTH, (void *)a, pitch, WIDTH, ROWS, RT_COPY_DEFAULT));
		}
		for (size_t y = 0; y < ROWS; y++)
			assert_memory_equal(in + y * PITCH, out + y * WIDTH, WIDTH);
	}
	assert_int_equal(
		cudaMemcpy2D((void *)a, WIDTH - 1, in, PITCH, WIDTH, ROWS, RT_HOST_TO_DEVICE),
		cudaErrorInvalidPitchValue);
	OK(cudaMemset2D(a, pitch, 1, WIDTH, ROWS));
	OK(cudaMemset2DAsync(a + 4, pitch, 2, 8, 2, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy2D(out, WIDTH, (void *)a, pitch, WIDTH, ROWS, RT_DEVICE_TO_HOST));
	for (size_t i = 0; i < sizeof(out); i++) {
		size_t x = i % WIDTH, y = i / WIDTH;
		assert_int_equal(out[i], x >= 4 && x < 12 && y < 2 ? 2 : 1);
	}
	OK(cudaStreamDestroy(s));
	OK(cudaFree(a));
	cudaGetLastError();
}

/* Copies a box out of a larger one. A memset of a box leaves the memory around it unchanged. */
static void test_3d(void **state)
{
	unsigned char in[SLICES * ROWS * WIDTH], out[sizeof(in)] = {0};
	struct rt_extent all = {WIDTH, ROWS, SLICES}, some = {8, 2, 2};
	struct rt_pitched box, host = {in, WIDTH, WIDTH, ROWS}, back = {out, WIDTH, WIDTH, ROWS};
	struct rt_copy3d c = {.src = host, .extent = all, .kind = RT_HOST_TO_DEVICE};
	CUstream s;

	OK(cudaStreamCreate(&s));
	fill(in, sizeof(in), 7);
	OK(cudaMalloc3D(&box, all));
	c.dst = box;
	OK(cudaMemcpy3D(&c));
	c = (struct rt_copy3d){.src = box,
		.src_pos = {8, 1, 1},
		.dst = back,
		.dst_pos = {4, 2, 0},
		.extent = some,
		.kind = RT_DEVICE_TO_HOST};
	OK(cudaMemcpy3DAsync(&c, s));
	OK(cudaStreamSynchronize(s));
	for (size_t i = 0; i < sizeof(out); i++) {
		size_t x = i % WIDTH, y = i / WIDTH % ROWS, z = i / WIDTH / ROWS;
		bool inside = x >= 4 && x < 12 && y >= 2 && y < 4 && z < 2;
		assert_int_equal(out[i], inside ? in[((z + 1) * ROWS + y - 1) * WIDTH + x + 4] : 0);
	}
	OK(cudaMemset3D(box, 1, all));
	OK(cudaMemset3DAsync(box, 2, some, s));
	c = (struct rt_copy3d){.src = box, .dst = back, .extent = all, .kind = RT_COPY_DEFAULT};
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy3D(&c));
	for (size_t i = 0; i < sizeof(out); i++) {
		size_t x = i % WIDTH, y = i / WIDTH % ROWS, z = i / WIDTH / ROWS;
		assert_int_equal(out[i], x < 8 && y < 2 && z < 2 ? 2 : 1);
	}
	c.src_array = (CUarray)&c;
	assert_int_equal(cudaMemcpy3D(&c), cudaErrorInvalidResourceHandle);
	OK(cudaFree((CUdeviceptr)box.ptr));
	OK(cudaStreamDestroy(s));
	cudaGetLastError();
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A box in which one extent is 0 is empty, whatever the others are: each call returns at once. */
static void test_zero_extents(void **state)
{
	static const size_t sizes[] = {0, 1, (size_t)1 << 31, (size_t)1 << 40, SIZE_MAX};
	const unsigned n = sizeof(sizes) / sizeof(sizes[0]);
	double from = seconds();
	CUdeviceptr a;

	OK(cudaMalloc(&a, N));
	for (unsigned i = 0; i < n * n * n; i++) {
		struct rt_extent e = {sizes[i % n], sizes[i / n % n], sizes[i / n / n]};
		struct rt_pitched at = {(void *)a, 0, 0, 0};
		struct rt_copy3d box = {.dst = at, .src = at, .extent = e, .kind = RT_COPY_DEFAULT};

		if (e.width && e.height && e.depth)
			continue;
		OK(cudaMemset3D(at, 1, e));
		OK(cudaMemset3DAsync(at, 1, e, NULL));
		OK(cudaMemcpy3D(&box));
		OK(cudaMemcpy3DAsync(&box, NULL));
		if (e.width && e.height)
			continue;
		OK(cudaMemset2D(a, 0, 1, e.width, e.height));
		OK(cudaMemset2DAsync(a, 0, 1, e.width, e.height, NULL));
		if (e.width == SIZE_MAX)
			continue; /* no pitch may be that large */
		OK(cudaMemcpy2D((void *)a, e.width, (void *)a, e.width, e.width, e.height,
			RT_COPY_DEFAULT));
		OK(cudaMemcpy2DAsync((void *)a, e.width, (void *)a, e.width, e.width, e.height,
			RT_COPY_DEFAULT, NULL));
	}
	OK(cudaMemset(a, 1, 0));
	OK(cudaMemsetAsync(a, 1, 0, NULL));
	OK(cudaDeviceSynchronize());
	assert_true(seconds() - from < 1);
	OK(cudaFree(a));
}

/* A box that exceeds its memory, or whose slices overlap, is refused, and nothing changes. */
static void test_boxes_that_do_not_fit(void **state)
{
	static const struct {
		size_t pitch, rows;
		struct rt_extent extent;
	} boxes[] = {
		{8, 2, {8, 2, 5}},
		{8, 2, {8, 2, (size_t)1 << 60}},
		{8, 2, {8, 2, SIZE_MAX}},
		{0, 1, {1, 1, (size_t)1 << 31}},
		{0, 0, {1, 1, 2}},
		{1, 0, {1, 1, (size_t)1 << 40}},
		{8, 1, {8, 2, 2}},
		{4, 2, {8, 1, 2}},
	};
	unsigned char out[N], same[N] = {0};
	double from = seconds();
	CUdeviceptr a;

	OK(cudaMalloc(&a, N));
	OK(cudaMemset(a, 0, N));
	for (unsigned i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
		struct rt_pitched at = {(void *)a, boxes[i].pitch, boxes[i].pitch, boxes[i].rows};

		assert_int_equal(cudaMemset3D(at, 1, boxes[i].extent), cudaErrorInvalidValue);
		assert_int_equal(
			cudaMemset3DAsync(at, 1, boxes[i].extent, NULL), cudaErrorInvalidValue);
	}
	OK(cudaMemcpy(out, (void *)a, N, RT_DEVICE_TO_HOST));
	assert_memory_equal(out, same, N);
	assert_true(seconds() - from < 1);
	OK(cudaFree(a));
	cudaGetLastError();
}

/* Tests an array of 5 x 3 short4. Widths of 2D copies are in bytes, widths of 3D copies in
 * elements. */
static void test_arrays(void **state)
{
	enum { W = 5, H = 3, BYTES = W * H * 8 };
	struct rt_channels channels = {16, 16, 16, 16, 0}, got;
	struct rt_extent extent;
	struct rt_copy3d box = {.kind = RT_DEVICE_TO_DEVICE, .extent = {2, H, 1}};
	struct rt_resource resource = {.type = CU_RESOURCE_TYPE_ARRAY}, same;
	struct rt_texture desc = {
		.filter = 1, .to_float = 1, .normalized = 1, .border = {1, 2, 3, 4}};
	struct rt_texture back;
	uint8_t in[BYTES], out[BYTES] = {0};
	CUarray a, b;
	CUtexObject t;
	unsigned flags;

	for (size_t i = 0; i < BYTES; i++)
		in[i] = (uint8_t)(i * 7 + 1);
	OK(cudaMallocArray(&a, &channels, W, H, 0));
	OK(cudaMallocArray(&b, &channels, W, H, 2));
	OK(cudaArrayGetInfo(&got, &extent, &flags, b));
	assert_memory_equal(&got, &channels, sizeof(got));
	assert_true(extent.width == W && extent.height == H && !extent.depth && flags == 2);
	OK(cudaMemcpy2DToArray(a, 0, 0, in, W * 8, W * 8, H, RT_HOST_TO_DEVICE));
	OK(cudaMemcpyToArray(b, 0, 0, in, BYTES, RT_COPY_DEFAULT));
	/* Copies elements 1 and 2 of each row to elements 3 and 4. */
	box.src_array = a;
	box.src_pos.x = 1;
	box.dst_array = b;
	box.dst_pos.x = 3;
	OK(cudaMemcpy3D(&box));
	OK(cudaMemcpyFromArray(out, b, 0, 0, BYTES, RT_DEVICE_TO_HOST));
	for (size_t i = 0; i < BYTES; i++)
		assert_int_equal(out[i], in[i % 40 < 24 ? i : i - 16]);
	OK(cudaMemcpy2DArrayToArray(b, 0, 1, a, 16, 0, 24, 2, RT_DEVICE_TO_DEVICE));
	OK(cudaMemcpy2DFromArray(out, 24, b, 0, 1, 24, 2, RT_DEVICE_TO_HOST));
	assert_memory_equal(out, in + 16, 24);
	assert_memory_equal(out + 24, in + 56, 24);
	assert_int_equal(cudaMemcpy2DToArray(a, 8, 0, in, W * 8, W * 8, H, RT_HOST_TO_DEVICE),
		cudaErrorInvalidValue);
	assert_int_equal(
		cudaMemcpyToArray(a, 8, 0, in, BYTES, RT_HOST_TO_DEVICE), cudaErrorInvalidValue);
	assert_int_equal(cudaMemcpy2DToArray(a, 0, 0, in, W * 8, W * 8, H, RT_DEVICE_TO_HOST),
		cudaErrorInvalidMemcpyDirection);

	resource.array = a;
	OK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
	OK(cudaGetTextureObjectTextureDesc(&back, t));
	assert_memory_equal(&back, &desc, sizeof(desc));
	OK(cudaGetTextureObjectResourceDesc(&same, t));
	assert_ptr_equal(same.array, a);
	OK(cudaDestroyTextureObject(t));
	assert_int_equal(cudaDestroyTextureObject(t), cudaErrorInvalidValue);
	channels.z = 8;
	assert_int_equal(cudaMallocArray(&a, &channels, W, H, 0), cudaErrorInvalidValue);
	OK(cudaFreeArray(b));
	OK(cudaFreeArray(NULL));
	cudaGetLastError();
}

int run_copies(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_2d),
		cmocka_unit_test(test_3d),
		cmocka_unit_test(test_zero_extents),
		cmocka_unit_test(test_boxes_that_do_not_fit),
		cmocka_unit_test(test_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ---- symbols of variables ---- */

static void test_symbols(void **state)
{
	unsigned in[16], out[16] = {0}, value = 0, n = 4, plus = 1000;
	CUdeviceptr a, b, at = 0, whole = 0;
	size_t bytes = 0;

	OK(cudaGetSymbolSize(&bytes, table));
	assert_int_equal(bytes, sizeof(table));
	OK(cudaMemcpyFromSymbol(&value, &factor, sizeof(value), 0, RT_DEVICE_TO_HOST));
	assert_int_equal(value, 3);
	for (unsigned i = 0; i < 16; i++)
		in[i] = i * 5;
	OK(cudaMemcpyToSymbol(table, in, 8 * sizeof(*in), 8 * sizeof(*in), RT_HOST_TO_DEVICE));
	OK(cudaMemcpyFromSymbol(out, table, sizeof(out), 0, RT_COPY_DEFAULT));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i], i < 8 ? 0 : (i - 8) * 5);
	OK(cudaGetSymbolAddress(&at, table));
	OK(cudaMemcpy(out, (void *)(at + 32), 4, RT_DEVICE_TO_HOST));
	assert_int_equal(out[0], 0);
	/* A kernel sees the copied values, also in constant memory. */
	OK(cudaMalloc(&a, sizeof(in)));
	OK(cudaMalloc(&b, sizeof(in)));
	OK(cudaMemcpy((void *)a, in, sizeof(in), RT_HOST_TO_DEVICE));
	OK(cudaMemcpyToSymbolAsync(&offset, &plus, sizeof(plus), 0, RT_HOST_TO_DEVICE, NULL));
	OK(cudaMemcpyToSymbol(&factor, &n, sizeof(n), 0, RT_HOST_TO_DEVICE));
	LAUNCH(scale, 1, 16, 0, NULL, (unsigned *)b, (unsigned *)a, 16);
	OK(cudaMemcpy(out, (void *)b, sizeof(out), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i], in[i] * 4 + 1000);
	OK(cudaMemcpyFromSymbolAsync(&value, &offset, sizeof(value), 0, RT_DEVICE_TO_HOST, NULL));
	OK(cudaStreamSynchronize(NULL));
	assert_int_equal(value, 1000);

	assert_int_equal(
		cudaMemcpyToSymbol(table, in, 8, 60, RT_HOST_TO_DEVICE), cudaErrorInvalidValue);
	assert_int_equal(cudaMemcpyToSymbol(table, in, 8, SIZE_MAX, RT_HOST_TO_DEVICE),
		cudaErrorInvalidValue);
	assert_int_equal(cudaMemcpyToSymbol(table, in, 8, 0, RT_DEVICE_TO_HOST),
		cudaErrorInvalidMemcpyDirection);
	assert_int_equal(cudaGetSymbolAddress(&whole, in), cudaErrorInvalidSymbol);
	assert_int_equal(cudaGetSymbolSize(&bytes, "table"), cudaErrorInvalidSymbol);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidSymbol);
	OK(cudaFree(a));
	OK(cudaFree(b));
}

/* The host reads and writes the variable directly. */
static void test_managed(void **state)
{
	unsigned value = 0;

	assert_int_equal(*total(), 100);
	*total() = 40;
	LAUNCH(count_one, 1, 1, 0, NULL);
	OK(cudaDeviceSynchronize());
	assert_int_equal(*total(), 41);
	OK(cudaMemcpyFromSymbol(&value, &total_pointer, sizeof(value), 0, RT_DEVICE_TO_HOST));
	assert_int_equal(value, 41);
}

/* After a reset, variables and kernels' attributes have their initial values, and the program
 * can launch again.
 */
static void test_reset(void **state)
{
	unsigned in[16], out[16], value = 5;
	const void *kernel = (const void *)(uintptr_t)scale;
	struct rt_func_attributes attributes;
	CUdeviceptr a, b;

	OK(cudaMemcpyToSymbol(&factor, &value, sizeof(value), 0, RT_HOST_TO_DEVICE));
	OK(cudaMemcpyToSymbol(&offset, &value, sizeof(value), 0, RT_HOST_TO_DEVICE));
	memset(in, 0xff, sizeof(in));
	OK(cudaMemcpyToSymbol(table, in, sizeof(in), 0, RT_HOST_TO_DEVICE));
	*total() = 7;
	OK(cudaFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 512));
	OK(cudaDeviceReset());

	OK(cudaMemcpyFromSymbol(&value, &factor, sizeof(value), 0, RT_DEVICE_TO_HOST));
	assert_int_equal(value, 3);
	OK(cudaMemcpyFromSymbol(&value, &offset, sizeof(value), 0, RT_DEVICE_TO_HOST));
	assert_int_equal(value, 0);
	OK(cudaMemcpyFromSymbol(out, table, sizeof(out), 0, RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i], 0);
	assert_int_equal(*total(), 100);
	OK(cudaFuncGetAttributes(&attributes, kernel));
	assert_int_equal(attributes.max_dynamic_shared_bytes, 48 * 1024);
	for (unsigned i = 0; i < 16; i++)
		in[i] = i;
	OK(cudaMalloc(&a, sizeof(in)));
	OK(cudaMalloc(&b, sizeof(in)));
	OK(cudaMemcpy((void *)a, in, sizeof(in), RT_HOST_TO_DEVICE));
	LAUNCH(scale, 1, 16, 0, NULL, (unsigned *)b, (unsigned *)a, 16);
	LAUNCH(count_one, 1, 1, 0, NULL);
	OK(cudaMemcpy(out, (void *)b, sizeof(out), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i], i * 3);
	assert_int_equal(*total(), 101);
	/* CUDA 13's host code keeps a kernel's handle, which is still valid. */
	LAUNCH(number, 1, 16, 0, NULL, (unsigned *)b, 16);
	OK(cudaMemcpy(out, (void *)b, sizeof(out), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i], i);
}

int run_symbols(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_managed),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
