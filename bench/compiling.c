/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: compiling module|link|library|process [SIZE]
 * Measures how long PTX compilation in one thread delays another thread that continually launches a
 * kernel and waits for it, allocates memory, and loads small modules. The PTX has SIZE
 * multiplications (default: 4000) and differs each time, so that no cache contains it. module, link
 * and library compile it with that kind of call. process: a separate process loads it as a library,
 * without a context, and this process then loads it from the driver's cache. Prints the worst time
 * of each call in ms. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"

#define HEAD     ".version 7.0\n.target sm_70\n.address_size 64\n"
#define VALUES   2000
#define TEXT_MAX ((size_t)16 << 20)

static const char small[] = HEAD ".visible .entry small(.param .u64 p)\n{\n.reg .b64 %r<2>;\n"
				 "ld.param.u64 %r1, [p];\nred.global.add.u32 [%r1], 1;\nret;\n}\n";
static char *big;
static CUcontext ctx;
static atomic_bool done;
static const char *way;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* All values are live throughout, which makes register allocation expensive for the assembler. */
static void make_big(unsigned size, unsigned seed)
{
	size_t n;

	big = malloc(TEXT_MAX);
	if (!big)
		exit(1);
	n = (size_t)snprintf(big, TEXT_MAX,
		HEAD ".visible .entry big(.param .u64 p)\n{\n.reg .b64 %%r<2>;\n"
		     ".reg .f32 %%f<%u>;\nld.param.u64 %%r1, [p];\n",
		VALUES);
	for (unsigned i = 0; i < VALUES; i++)
		n += (size_t)snprintf(
			big + n, TEXT_MAX - n, "ld.global.f32 %%f%u, [%%r1+%u];\n", i, 4 * i);
	for (unsigned i = 0; i < size; i++)
		n += (size_t)snprintf(big + n, TEXT_MAX - n,
			"fma.rn.f32 %%f%u, %%f%u, %%f%u, 0f%08X;\n", i * 7 % VALUES,
			i * 13 % VALUES, i * 31 % VALUES,
			0x3f800000 + ((seed + i * 977) & 0x7fffff));
	for (unsigned i = 0; i < VALUES; i++)
		n += (size_t)snprintf(
			big + n, TEXT_MAX - n, "st.global.f32 [%%r1+%u], %%f%u;\n", 4 * i, i);
	snprintf(big + n, TEXT_MAX - n, "ret;\n}\n");
}

static void load_library(void)
{
	CUlibrary lib;

	must(cuLibraryLoadData(&lib, big, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
}

static void load_module(const void *image)
{
	CUmodule mod;

	must(cuModuleLoadData(&mod, image), "cuModuleLoadData");
}

static void load_linked(void)
{
	CUlinkState link;
	size_t bytes;
	void *cubin;

	must(cuLinkCreate(0, NULL, NULL, &link), "cuLinkCreate");
	must(cuLinkAddData(link, CU_JIT_INPUT_PTX, big, strlen(big) + 1, "big", 0, NULL, NULL),
		"cuLinkAddData");
	must(cuLinkComplete(link, &cubin, &bytes), "cuLinkComplete");
	load_module(cubin);
	must(cuLinkDestroy(link), "cuLinkDestroy");
}

static void load_elsewhere(unsigned size, unsigned seed)
{
	char command[256], self[160];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		exit(1);
	self[n] = 0;
	snprintf(command, sizeof(command), "'%s' only %u %u", self, size, seed);
	if (system(command) != 0)
		exit(1);
	load_library();
}

static unsigned size = 4000, seed;

static void *compile(void *unused)
{
	double began = now_ms();

	must(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	if (!strcmp(way, "module"))
		load_module(big);
	else if (!strcmp(way, "link"))
		load_linked();
	else if (!strcmp(way, "library"))
		load_library();
	else
		load_elsewhere(size, seed);
	printf("%s: %.0f ms", way, now_ms() - began);
	atomic_store(&done, true);
	return NULL;
}

static void worse(double *worst, double from)
{
	double took = now_ms() - from;

	if (took > *worst)
		*worst = took;
}

static void watch(CUfunction kernel)
{
	double launch = 0, wait = 0, memory = 0, module = 0, from;
	unsigned long n = 0;
	CUdeviceptr p, q;
	void *params[] = {&p};
	CUmodule mod;

	must(cuMemAlloc(&p, 4 * VALUES), "cuMemAlloc");
	for (; !atomic_load(&done); n++) {
		from = now_ms();
		must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			"cuLaunchKernel");
		worse(&launch, from);
		from = now_ms();
		must(cuCtxSynchronize(), "cuCtxSynchronize");
		worse(&wait, from);
		if (n % 100)
			continue;
		from = now_ms();
		must(cuMemAlloc(&q, 1 << 20), "cuMemAlloc");
		must(cuMemFree(q), "cuMemFree");
		worse(&memory, from);
		from = now_ms();
		must(cuModuleLoadData(&mod, small), "cuModuleLoadData");
		must(cuModuleUnload(mod), "cuModuleUnload");
		worse(&module, from);
	}
	printf("; meanwhile %lu launches; at worst a launch took %.2f ms, the wait %.2f, memory "
	       "%.2f, a small module %.2f\n",
		n, launch, wait, memory, module);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct gpu g;

	way = argc > 1 ? argv[1] : "";
	if (argc > 2)
		size = (unsigned)atoi(argv[2]);
	seed = argc > 3 ? (unsigned)atoi(argv[3])
			: (unsigned)time(NULL) * 2654435761u + (unsigned)getpid();
	make_big(size, seed);
	if (!strcmp(way, "only")) {
		must(cuInit(0), "cuInit");
		load_library();
		return 0;
	}
	if (strcmp(way, "module") && strcmp(way, "link") && strcmp(way, "library") &&
		strcmp(way, "process")) {
		fprintf(stderr, "usage: compiling module|link|library|process [SIZE]\n");
		return 2;
	}
	gpu_open(&g, small, NULL, "small");
	must(cuCtxGetCurrent(&ctx), "cuCtxGetCurrent");
	if (pthread_create(&thread, NULL, compile, NULL) != 0)
		return 1;
	watch(g.kernel);
	pthread_join(thread, NULL);
	return 0;
}
