/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program whose context ends again and again, and that goes on in the next one. In each context
 * it launches a kernel of a module, which it loads anew, and one of a library, which stays. Every
 * result is compared with the host's. Contexts take turns: the primary one, which a reset of the
 * device ends (cudaDeviceReset), and one that the program makes and destroys.
 *   reset [--contexts N] [--rounds N] [--loops N] [--until FILE] [--race] [--json]
 * --rounds: launches of each kernel in a context. --until: goes on until there is such a file.
 * --race: another thread launches a kernel of the library all the time, and all contexts are
 * primary ones. Its launches may fail while a context ends; it only must not disturb the program.
 */
#include "dev/cu_link.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 128u
#define WAVES   16u /* blocks of each place on the device, about */

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
	"	bra AGAIN;\nOUT:\n	st.global.u32 [%d1], %r5;\n	ret;\n}\n"
	".visible .entry spin(.param .u32 loops)\n{\n"
	"	.reg .b32 %r<2>;\n	.reg .pred %p<2>;\n	ld.param.u32 %r1, [loops];\n"
	"AGAIN:\n	setp.eq.u32 %p1, %r1, 0;\n	@%p1 bra OUT;\n	sub.u32 %r1, %r1, 1;\n"
	"	bra AGAIN;\nOUT:\n	ret;\n}\n";

static uint32_t loops = 200, rounds = 3, contexts = 4, blocks, words, *host;
static size_t bytes;
static const char *until;
static bool races, is_primary;
static _Atomic bool ends;

static _Atomic(CUcontext) context; /* the other thread's, too */
static CUlibrary library;
static CUkernel stays, spins;
static CUmodule module;
static CUfunction fresh;
static CUstream stream;
static CUdeviceptr memory;
static unsigned launches, wrong;

static void check(CUresult r, const char *what)
{
	const char *name = NULL;

	if (r == CUDA_SUCCESS)
		return;
	if (cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
		name = "unknown error";
	fprintf(stderr, "reset: %s: %s (%d)\n", what, name, r);
	exit(2);
}
#define CHECK(call) check(call, #call)

static void open_context(void)
{
	CUcontext made;

	if (is_primary) {
		CHECK(cuDevicePrimaryCtxRetain(&made, 0));
		CHECK(cuCtxSetCurrent(made));
	} else {
		CHECK(cuCtxCreate(&made, 0, 0));
	}
	context = made;
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&fresh, module, "mix"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, bytes));
}

/* Nothing of it is given back by itself. */
static void end_context(void)
{
	if (!is_primary) {
		CHECK(cuCtxDestroy(context));
		return;
	}
	CHECK(cuDevicePrimaryCtxReset(0));
	CHECK(cuDevicePrimaryCtxRelease(0));
	CHECK(cuCtxSetCurrent(NULL));
}

static void round_of(CUfunction fn, CUstream on)
{
	uint32_t seed = launches++ * 40503u, factor = 1, addend = 0;
	void *params[] = {&memory, &loops};

	for (uint32_t i = 0; i < words; i++)
		host[i] = i * 2654435761u + seed;
	CHECK(cuMemcpyHtoD(memory, host, bytes));
	CHECK(cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, on, params, NULL));
	if (on)
		CHECK(cuStreamSynchronize(on));
	CHECK(cuMemcpyDtoH(host, memory, bytes));
	/* The kernel applies f(x) = x * a + c again and again. The result is a function of the same
	 * kind. */
	for (uint32_t i = 0; i < loops; i++) {
		factor *= 1664525;
		addend = addend * 1664525 + 1013904223;
	}
	for (uint32_t i = 0; i < words; i++)
		wrong += host[i] != (i * 2654435761u + seed) * factor + addend;
}

static bool goes_on(uint32_t n)
{
	return until ? access(until, F_OK) != 0 : n < contexts;
}

/* A kernel that accesses no memory, because the memory could belong to the previous context. */
static void *race(void *arg)
{
	while (!ends) {
		void *params[] = {&loops};

		if (cuCtxSetCurrent(context) != CUDA_SUCCESS)
			continue;
		cuLaunchKernel((CUfunction)spins, 8, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
		cuCtxSynchronize();
	}
	return arg;
}

static bool parse(int argc, char **argv, bool *ret_json)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--json")) {
			*ret_json = true;
			continue;
		}
		if (!strcmp(argv[i], "--race")) {
			races = true;
			continue;
		}
		if (value && !strcmp(argv[i], "--contexts"))
			contexts = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--rounds"))
			rounds = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--loops"))
			loops = (uint32_t)strtoul(value, NULL, 10);
		else if (value && !strcmp(argv[i], "--until"))
			until = value;
		else
			return false;
		i++;
	}
	return true;
}

static void prepare(void)
{
	int sms, threads;

	CHECK(cuInit(0));
	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(cuDeviceGetAttribute(
		&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	blocks = (uint32_t)(sms * threads) / THREADS * WAVES;
	words = blocks * THREADS;
	bytes = words * sizeof(uint32_t);
	host = malloc(bytes);
	if (!host)
		check(CUDA_ERROR_OUT_OF_MEMORY, "malloc");
	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&stays, library, "mix"));
	CHECK(cuLibraryGetKernel(&spins, library, "spin"));
}

int main(int argc, char **argv)
{
	bool json = false;
	pthread_t other;

	if (!parse(argc, argv, &json)) {
		fputs("usage: reset [--contexts N] [--rounds N] [--loops N] [--until FILE] "
		      "[--race] [--json]\n",
			stderr);
		return 3;
	}
	prepare();
	for (uint32_t n = 0; goes_on(n); n++) {
		is_primary = races || n % 2 == 0;
		open_context();
		if (races && !n && pthread_create(&other, NULL, race, NULL))
			check(CUDA_ERROR_OPERATING_SYSTEM, "pthread_create");
		for (uint32_t i = 0; i < rounds; i++) {
			round_of(fresh, stream);
			round_of((CUfunction)stays, NULL);
		}
		end_context();
		printf("context %u has ended\n", n);
		fflush(stdout);
	}
	ends = true;
	if (races)
		pthread_join(other, NULL);
	if (json)
		printf("{\"program\":\"reset\",\"launches\":%u,\"wrong\":%u,\"verdict\":\"%s\"}\n",
			launches, wrong, wrong ? "fail" : "pass");
	else
		printf("launches: %u, wrong words: %u\n", launches, wrong);
	return wrong != 0;
}
