/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program on all devices that it sees: a thread for each, then one thread that goes from device
 * to device, then copies from each to the next. Every result is compared with the host's.
 *   devices [--rounds N] [--loops N] [--pause-ms N] [--only N] [--reset N] [--until FILE] [--json]
 * Kernels are of a module of each device and of a library of all, in turns. --until: the threads go
 * on until there is such a file. --pause-ms: of a thread after each launch. --only: kernels run on
 * this device alone; the others are prepared, and have the copies. --reset: this device is reset
 * after each launch of its thread. */
#include "dev/cu_link.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 16
#define THREADS 128u
#define WAVES   16u /* blocks of each place on the first device, about */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry mix(.param .u64 p, .param .u32 loops)\n{\n"
	"	.reg .b32 %r<8>;\n	.reg .b64 %d<4>;\n	.reg .pred %p<2>;\n"
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"
	"	ld.param.u64 %d1, [p];\n	cvta.to.global.u64 %d1, %d1;\n"
	"	mul.wide.u32 %d2, %r4, 4;\n	add.s64 %d1, %d1, %d2;\n"
	"	ld.global.u32 %r5, [%d1];\n	ld.param.u32 %r6, [loops];\n"
	"AGAIN:\n	setp.eq.u32 %p1, %r6, 0;\n	@%p1 bra OUT;\n"
	"	mad.lo.u32 %r5, %r5, 1664525, 1013904223;\n	sub.u32 %r6, %r6, 1;\n"
	"	bra AGAIN;\nOUT:\n	st.global.u32 [%d1], %r5;\n	ret;\n}\n";

static struct on {
	int number;
	CUcontext context;
	CUmodule module;
	CUfunction mix;
	CUstream stream;
	CUdeviceptr memory;
	uint32_t seed, *host;
	unsigned launches, wrong;
	pthread_t thread;
} on[DEVICES];

static int n_devices;
static int only = -1, reset = -1;
static CUlibrary library;
static CUkernel shared;
static uint32_t loops = 200, rounds = 3, pause_ms, blocks, words;
static size_t bytes;
static const char *until;

static void check(CUresult r, const char *what)
{
	const char *name = NULL;

	if (r == CUDA_SUCCESS)
		return;
	if (cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
		name = "unknown error";
	fprintf(stderr, "devices: %s: %s (%d)\n", what, name, r);
	exit(2);
}
#define CHECK(call) check(call, #call)

/* The kernel applies f(x) = x * a + c to each element again and again. The result is a function of
 * the same kind; this computes its a and c. */
static uint32_t factor = 1, addend;

static uint32_t mixed(uint32_t x)
{
	return x * factor + addend;
}

static uint32_t word(const struct on *d, uint32_t i)
{
	return i * 2654435761u + d->seed;
}

/* The device's context is current. */
static void open_one(struct on *d, int number)
{
	d->number = number;
	CHECK(cuDevicePrimaryCtxRetain(&d->context, number));
	CHECK(cuCtxSetCurrent(d->context));
	CHECK(cuModuleLoadData(&d->module, ptx));
	CHECK(cuModuleGetFunction(&d->mix, d->module, "mix"));
	CHECK(cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&d->memory, bytes));
	CHECK(cuMemsetD8Async(d->memory, 0, bytes, d->stream));
	CHECK(cuStreamSynchronize(d->stream));
	if (!d->host)
		d->host = malloc(bytes);
	if (!d->host)
		check(CUDA_ERROR_OUT_OF_MEMORY, "malloc");
}

static void begin(struct on *d)
{
	void *params[] = {&d->memory, &loops};

	d->seed = (uint32_t)d->number * 40503u + d->launches++;
	for (uint32_t i = 0; i < words; i++)
		d->host[i] = word(d, i);
	CHECK(cuMemcpyHtoD(d->memory, d->host, bytes));
	CHECK(cuLaunchKernel(d->launches % 2 ? d->mix : (CUfunction)shared, blocks, 1, 1, THREADS,
		1, 1, 0, d->stream, params, NULL));
}

static void compare(struct on *d, CUdeviceptr at, const struct on *of)
{
	CHECK(cuMemcpyDtoH(d->host, at, bytes));
	for (uint32_t i = 0; i < words; i++)
		d->wrong += d->host[i] != mixed(word(of, i));
}

static void end(struct on *d)
{
	CHECK(cuStreamSynchronize(d->stream));
	compare(d, d->memory, d);
}

static bool goes_on(uint32_t round)
{
	return until ? access(until, F_OK) != 0 : round < rounds;
}

static bool launches_on(int k)
{
	return only < 0 || k == only;
}

static void *on_one(void *arg)
{
	const struct timespec pause = {pause_ms / 1000, (long)(pause_ms % 1000) * 1000000};
	struct on *d = arg;

	CHECK(cuCtxSetCurrent(d->context));
	for (uint32_t i = 0; goes_on(i); i++) {
		begin(d);
		end(d);
		nanosleep(&pause, NULL);
		if (d->number != reset)
			continue;
		CHECK(cuDevicePrimaryCtxReset(reset));
		CHECK(cuDevicePrimaryCtxRelease(reset));
		open_one(d, reset);
	}
	return NULL;
}

static void from_device_to_device(void)
{
	for (uint32_t i = 0; i < rounds; i++) {
		for (int k = 0; k < n_devices; k++) {
			CHECK(cuCtxSetCurrent(on[k].context));
			if (launches_on(k))
				begin(&on[k]);
		}
		for (int k = 0; k < n_devices; k++) {
			CHECK(cuCtxSetCurrent(on[k].context));
			if (launches_on(k))
				end(&on[k]);
		}
	}
}

/* Copies the data of each device to the next device: once by a copy between contexts, and once by
 * addresses alone. */
static void copies(void)
{
	CUdeviceptr at;

	for (int k = 0; k < n_devices; k++) {
		struct on *from = &on[k], *to = &on[(k + 1) % n_devices];

		if (!launches_on(k))
			continue;
		CHECK(cuCtxSetCurrent(to->context));
		CHECK(cuMemAlloc(&at, bytes));
		CHECK(cuMemcpyPeer(at, to->context, from->memory, from->context, bytes));
		compare(to, at, from);
		CHECK(cuMemsetD8(at, 0, bytes));
		CHECK(cuMemcpy(at, from->memory, bytes));
		CHECK(cuCtxSynchronize());
		compare(to, at, from);
		CHECK(cuMemFree(at));
	}
}

static void prepare(void)
{
	int sms, threads;

	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(cuDeviceGetAttribute(
		&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	blocks = (uint32_t)(sms * threads) / THREADS * WAVES;
	words = blocks * THREADS;
	for (uint32_t i = 0; i < loops; i++) {
		factor *= 1664525;
		addend = addend * 1664525 + 1013904223;
	}
	bytes = words * sizeof(uint32_t);
}

static bool parse(int argc, char **argv, bool *ret_json)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--json")) {
			*ret_json = true;
			continue;
		}
		if (value && !strcmp(argv[i], "--rounds"))
			rounds = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--loops"))
			loops = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--pause-ms"))
			pause_ms = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--only"))
			only = atoi(value);
		else if (value && !strcmp(argv[i], "--reset"))
			reset = atoi(value);
		else if (value && !strcmp(argv[i], "--until"))
			until = value;
		else
			return false;
		i++;
	}
	return true;
}

int main(int argc, char **argv)
{
	unsigned launches = 0, wrong = 0;
	bool json = false;

	if (!parse(argc, argv, &json)) {
		fputs("usage: devices [--rounds N] [--loops N] [--pause-ms N] [--only N] "
		      "[--reset N] [--until FILE] [--json]\n",
			stderr);
		return 3;
	}
	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&n_devices));
	n_devices = n_devices < DEVICES ? n_devices : DEVICES;
	prepare();
	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&shared, library, "mix"));
	for (int k = 0; k < n_devices; k++)
		open_one(&on[k], k);
	printf("ready, devices: %d\n", n_devices);
	fflush(stdout);
	for (int k = 0; k < n_devices; k++)
		if (launches_on(k) && pthread_create(&on[k].thread, NULL, on_one, &on[k]))
			check(CUDA_ERROR_OPERATING_SYSTEM, "pthread_create");
	for (int k = 0; k < n_devices; k++)
		if (launches_on(k))
			pthread_join(on[k].thread, NULL);
	from_device_to_device();
	copies();
	for (int k = 0; k < n_devices; k++) {
		launches += on[k].launches;
		wrong += on[k].wrong;
	}
	if (json)
		printf("{\"program\":\"devices\",\"devices\":%d,\"launches\":%u,\"wrong\":%u,"
		       "\"verdict\":\"%s\"}\n",
			n_devices, launches, wrong, wrong ? "fail" : "pass");
	else
		printf("launches: %u, devices: %d, wrong words: %u\n", launches, n_devices, wrong);
	return wrong != 0;
}
