/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel of persistent threads (share.ptx) that keeps as many thread blocks on each SM as heddled
 * requests, and shrinks and grows while it runs. Start it without heddle run, beside heddled
 * --policy greedy:
 *
 *     share auto share.ptx [BLOCKS [ROUNDS]]
 *
 * It prints each number of blocks that heddled requested. Exit status 1: a result is wrong. */
#include "heddle/share.h"
#include "dev/cu_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 128
#define STREAMS 8
#define MS      1000000

struct control {
	uint64_t finished, claimed, pad[6];
	uint32_t present[HEDDLE_SHARE_MAX_SMS], bound[HEDDLE_SHARE_MAX_SMS];
};

static struct heddle *h;
static struct heddle_share *share;
static CUstream copies, stream[STREAMS];
static CUfunction fn;
static CUdeviceptr data, control;
static uint32_t blocks = 20000, rounds = 2000;
static unsigned launches;

static void check(int failed, const char *what, const char *why)
{
	if (!failed)
		return;
	fprintf(stderr, "share: %s: %s\n", what, why);
	exit(1);
}

static void cu(CUresult r, const char *what)
{
	const char *name = "unknown error";

	if (r != CUDA_SUCCESS)
		cuGetErrorName(r, &name);
	check(r != CUDA_SUCCESS, what, name);
}

static void prepare(const char *file)
{
	CUcontext context;
	CUmodule module;
	CUdevice device;

	cu(cuInit(0), "the driver");
	cu(cuDeviceGet(&device, 0), "the device");
	cu(cuDevicePrimaryCtxRetain(&context, device), "the context");
	cu(cuCtxSetCurrent(context), "the context");
	cu(cuModuleLoad(&module, file), file);
	cu(cuModuleGetFunction(&fn, module, "scramble"), "scramble");
	cu(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING), "a stream");
	for (int i = 0; i < STREAMS; i++)
		cu(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "a stream");
	cu(cuMemAlloc(&data, (size_t)blocks * THREADS * 4), "memory");
	cu(cuMemAlloc(&control, sizeof(struct control)), "memory");
	cu(cuMemsetD8(control, 0, sizeof(struct control)), "memory");
}

/* Blocks above the requested number exit, and so do surplus blocks of a launch. */
static void set_bounds(const struct heddle_share_blocks *may)
{
	static uint32_t bound[HEDDLE_SHARE_MAX_SMS];

	for (unsigned i = 0; i < may->n_sms; i++)
		bound[i] = may->of_sm[i];
	cu(cuMemcpyHtoDAsync(
		   control + offsetof(struct control, bound), bound, sizeof(bound), copies),
		"the bounds");
	cu(cuStreamSynchronize(copies), "the bounds");
	printf("%u blocks on an SM, %u in all\n", may->blocks_per_sm, may->blocks);
	fflush(stdout);
}

static void launch(unsigned n)
{
	void *params[] = {&data, &control, &blocks, &rounds};

	cu(cuLaunchKernel(
		   fn, n, 1, 1, THREADS, 1, 1, 0, stream[launches++ % STREAMS], params, NULL),
		"the launch");
}

static int is_running(void)
{
	for (int i = 0; i < STREAMS; i++) {
		CUresult r = cuStreamQuery(stream[i]);

		if (r == CUDA_ERROR_NOT_READY)
			return 1;
		cu(r, "the kernel");
	}
	return 0;
}

/* Reads the counters on another stream while the kernel runs; `finished` first. */
static uint64_t report_progress(void)
{
	uint64_t count[2];

	for (int i = 0; i < 2; i++) {
		cu(cuMemcpyDtoHAsync(&count[i], control + 8 * (size_t)i, 8, copies), "progress");
		cu(cuStreamSynchronize(copies), "progress");
	}
	check(heddle_share_progress(share, count[1], count[0]), "progress",
		heddle_share_error(share));
	return count[0];
}

/* Until all logical blocks have finished. */
static void steer(struct heddle_share_blocks *may)
{
	unsigned had = may->blocks;

	set_bounds(may);
	launch(had);
	while (report_progress() < blocks) {
		int r = heddle_share_wait(share, MS, may), idle = !is_running();

		check(r && r != -ETIMEDOUT, "heddle_share_wait", heddle_share_error(share));
		if (r == 0)
			set_bounds(may);
		/* All blocks may have left before the bound rose. */
		if (may->blocks > had || (may->blocks && idle))
			launch(may->blocks);
		had = may->blocks;
	}
	cu(cuCtxSynchronize(), "the kernel");
}

static unsigned count_wrong(void)
{
	uint32_t *got = malloc((size_t)blocks * THREADS * 4), factor = 1, summand = 0;
	unsigned wrong = 0;

	check(!got, "memory", "none");
	cu(cuMemcpyDtoH(got, data, (size_t)blocks * THREADS * 4), "the results");
	/* All rounds together are one multiplication and one addition. */
	for (uint32_t k = 0; k < rounds; k++) {
		factor *= 1664525;
		summand = summand * 1664525 + 1013904223;
	}
	for (uint32_t i = 0; i < blocks * THREADS; i++)
		wrong += got[i] != i * factor + summand;
	free(got);
	return wrong;
}

int main(int argc, char **argv)
{
	struct heddle_share_kernel kernel = {
		.size = sizeof(kernel), .name = "scramble", .block = {THREADS, 1, 1}};
	struct heddle_share_blocks may = {.size = sizeof(may)};
	const char *alone;
	int registers = 0, fit = 0;
	unsigned wrong;

	if (argc > 3)
		blocks = (uint32_t)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		rounds = (uint32_t)strtoul(argv[4], NULL, 10);
	check(!blocks || !rounds || blocks > UINT32_MAX / THREADS / 4, "arguments", "out of range");
	check(heddle_open(argc > 1 ? argv[1] : "auto", &h), "device", heddle_error(h));
	check(heddle_share_init(h, &share), "heddled", heddle_error(h));
	alone = heddle_share_alone(share);
	if (alone)
		fprintf(stderr, "share: %s\n", alone);
	prepare(argc > 2 ? argv[2] : "share.ptx");
	cu(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, fn), "scramble");
	cu(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, fn, THREADS, 0), "scramble");
	kernel.blocks = blocks;
	kernel.registers = (unsigned)registers;
	kernel.blocks_per_sm = (unsigned)fit;
	check(heddle_share_obtain(share, &kernel, UINT64_MAX, &may), "heddle_share_obtain",
		heddle_share_error(share));
	steer(&may);
	check(heddle_share_release(share), "heddle_share_release", heddle_share_error(share));
	heddle_share_close(share);
	wrong = count_wrong();
	printf("%u launches, %u of %u results wrong\n", launches, wrong, blocks * THREADS);
	heddle_close(h);
	return wrong != 0;
}
