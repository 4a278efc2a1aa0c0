/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: prog SCENARIO [ROUNDS] [BLOCKS] [LOOPS]
 * A driver API program that does not know heddle. Prints result codes and digests of its results,
 * which must be the same natively and under heddle. */
#include "prog.h"
#include "code.h"
#include "dev/cu_link.h"
#include "page_of.h"
#include "pointers.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

unsigned rounds = 4, blocks = 64, loops = 200;
unsigned n;
CUcontext ctx;
CUmodule mod;
CUfunction mix;
static CUfunction sum, early, count, steady;

void check(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		printf("%s: %d\n", what, (int)r);
		exit(1);
	}
}

CUdeviceptr buffer(unsigned words, unsigned seed)
{
	unsigned *h = malloc(words * 4);
	CUdeviceptr d;

	for (unsigned i = 0; i < words; i++)
		h[i] = (seed + i) * 2654435761u;
	DO(cuMemAlloc(&d, words * 4));
	DO(cuMemcpyHtoD(d, h, words * 4));
	free(h);
	return d;
}

void digest(const char *what, CUdeviceptr d, unsigned words)
{
	unsigned *h = malloc(words * 4);
	unsigned long long x = 14695981039346656037ull;

	DO(cuMemcpyDtoH(h, d, words * 4));
	for (unsigned i = 0; i < words; i++)
		x = (x ^ h[i]) * 1099511628211ull;
	printf("%s %016llx\n", what, x);
	free(h);
}

/* Returns a kernel from a new module, which stays loaded. */
CUfunction kernel_of(const char *ptx, const char *name)
{
	CUfunction fn;
	CUmodule m;

	DO(cuModuleLoadData(&m, ptx));
	DO(cuModuleGetFunction(&fn, m, name));
	return fn;
}

void do_mix(CUfunction fn, CUdeviceptr in, CUdeviceptr out, CUstream s)
{
	unsigned n_less = n - 5;
	void *p[] = {&in, &out, &n_less, &loops};

	DO(cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
}

/* Copies back and forth between two buffers: each launch needs the previous one. */
static void chain(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, s);
		do_mix(mix, b, a, s);
	}
	DO(cuStreamSynchronize(s));
	digest("chain", a, n);
	void *p[] = {&a, &b};
	DO(cuLaunchKernel(sum, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
	DO(cuStreamSynchronize(s));
	digest("sum", b, blocks);
	DO(cuStreamDestroy(s));
	DO(cuMemFree(a));
	DO(cuMemFree(b));
}

static CUresult synchronize_newer(void)
{
	CUresult (*newer)(CUcontext);

	*(void **)&newer = dlsym(RTLD_DEFAULT, "cuCtxSynchronize_v2");
	return newer ? newer(NULL) : cuCtxSynchronize();
}

/* One launch with as much shared memory as needs no opt-in, so that few blocks fit at once. Then
 * launches on more streams than there are connections. */
static void lengthy(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	void *p[] = {&a, &b, &n, &loops};
	CUstream s[25];

	DO(cuLaunchKernel(mix, blocks, 1, 1, THREADS, 1, 1, 48 << 10, NULL, p, NULL));
	DO(cuCtxSynchronize());
	digest("lengthy", b, n);
	for (int i = 0; i < 25; i++) {
		DO(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		DO(cuLaunchKernel(mix, 8, 1, 1, THREADS, 1, 1, 0, s[i], p, NULL));
	}
	DO(synchronize_newer());
	digest("streams", b, n);
}

/* Frees and loads while launches are in flight, and launches newly loaded kernels. */
static void locks(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3);
	char ptx[8192];
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		CUdeviceptr tmp;
		CUfunction fresh;
		CUmodule m;

		do_mix(mix, a, b, s);
		DO(cuMemAlloc(&tmp, 4096));
		snprintf(ptx, sizeof(ptx), "%s// %u\n%s", PTX_HEAD, i, PTX_MIX("fresh"));
		DO(cuModuleLoadData(&m, ptx));
		DO(cuModuleGetFunction(&fresh, m, "fresh"));
		do_mix(mix, b, a, s);
		do_mix(fresh, a, b, s);
		do_mix(fresh, c, c, NULL);
		DO(cuMemFree(tmp));
		DO(cuStreamSynchronize(s));
		DO(cuModuleUnload(m));
	}
	DO(cuCtxSynchronize());
	digest("locks", a, n);
	digest("locks", c, n);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Loads code and launches it for the first time, beside a launch whose blocks last `loops` us. */
static void loads(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3);
	CUfunction lasts = kernel_of(PTX_HEAD PTX_LASTS, "lasts"), fresh;
	CUmodule m;
	CUstream s, other;
	double began = now_ms(), loaded;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	do_mix(lasts, a, b, s);
	loops = 30;
	DO(cuModuleLoadData(&m, PTX_HEAD PTX_MIX("fresh")));
	loaded = now_ms();
	DO(cuModuleGetFunction(&fresh, m, "fresh"));
	do_mix(fresh, a, c, other);
	DO(cuCtxSynchronize());
	fprintf(stderr, "loads: %.0f ms of %.0f ms\n", loaded - began, now_ms() - began);
	digest("loads", b, n);
	digest("loads", c, n);
}

/* As globals(), for a library. The kernel is launched by either kind of handle. */
static void library_globals(CUdeviceptr a, CUstream s)
{
	CUdeviceptr at;
	unsigned value;
	size_t bytes;
	CUlibrary lib;
	CUkernel kernel;
	CUfunction fn;
	void *p[] = {&a};

	DO(cuLibraryLoadData(&lib, PTX_HEAD PTX_COUNT, NULL, NULL, 0, NULL, NULL, 0));
	DO(cuLibraryGetKernel(&kernel, lib, "count"));
	DO(cuKernelGetFunction(&fn, kernel));
	DO(cuLaunchKernel((CUfunction)kernel, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
	DO(cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
	DO(cuStreamSynchronize(s));
	DO(cuLibraryGetGlobal(&at, &bytes, lib, "counter"));
	DO(cuMemcpyDtoH(&value, at, 4));
	printf("counter %u of %u\n", value, 2 * n * 3);
	digest("library", a, n);
	DO(cuLibraryUnload(lib));
}

/* Short launches on a high-priority stream, beside long work on a low-priority one, which must not
 * be lost. */
static void ranks(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3);
	unsigned all = blocks, few = blocks / 8 + 1;
	int least, greatest;
	CUstream back, front;

	DO(cuCtxGetStreamPriorityRange(&least, &greatest));
	DO(cuStreamCreateWithPriority(&back, CU_STREAM_NON_BLOCKING, least));
	DO(cuStreamCreateWithPriority(&front, CU_STREAM_NON_BLOCKING, greatest - 3));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, back);
		do_mix(mix, b, a, back);
		blocks = few;
		for (int k = 0; k < 8; k++) {
			do_mix(mix, c, c, front);
			DO(cuStreamSynchronize(front));
		}
		blocks = all;
	}
	DO(cuCtxSynchronize());
	digest("back", a, n);
	digest("front", c, n);
}

static void guard(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	unsigned less = n - 37;
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		void *p[] = {&a, &b, &less}, *q[] = {&b, &a, &less};

		DO(cuLaunchKernel(early, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
		do_mix(mix, b, b, s);
		DO(cuLaunchKernel(early, blocks, 1, 1, THREADS, 1, 1, 0, s, q, NULL));
	}
	DO(cuStreamSynchronize(s));
	digest("guard", a, n);
	digest("guard", b, n);
}

/* Launches as many blocks as the device holds at once, all of which wait for each other. Then does
 * the same with as much shared memory per block as still lets so many fit. */
static void meet(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), at = buffer(1, 0), out;
	unsigned shared[2] = {0, 20 << 10}, turns = 3, fit[2];
	int n_sms, per_sm[2], same;
	CUfunction fn = kernel_of(PTX_HEAD PTX_MEET, "meet");
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	for (int i = 0; i < 2; i++) {
		DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm[i], fn, 32, shared[i]));
		for (same = per_sm[i]; i && same == per_sm[i]; shared[i] += 16)
			DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&same, fn, 32, shared[i] + 16));
		shared[i] -= i ? 16 : 0;
		fit[i] = (unsigned)(n_sms * per_sm[i]);
	}
	out = buffer(fit[0], 3);
	for (unsigned i = 0; i < 2 * rounds; i++) {
		void *p[] = {&at, &out, &turns};

		do_mix(mix, a, b, s);
		DO(cuMemsetD32Async(at, 0, 1, s));
		DO(cuLaunchKernel(fn, fit[i % 2], 1, 1, 32, 1, 1, shared[i % 2], s, p, NULL));
		do_mix(mix, b, a, s);
	}
	DO(cuStreamSynchronize(s));
	digest("meet", out, fit[0]);
	digest("meet", a, n);
}

static void globals(void)
{
	CUdeviceptr a = buffer(n, 1), at, counter;
	unsigned value = 11;
	size_t bytes;
	CUstream s;

	DO(cuModuleGetGlobal(&counter, &bytes, mod, "counter"));
	DO(cuModuleGetGlobal(&at, &bytes, mod, "table"));
	if (getenv("PROG_ADDRESSES"))
		fprintf(stderr, "counter at %llx\ntable at %llx\n", counter, at);
	printf("table %zu\n", bytes);
	DO(cuMemcpyHtoD(at, &value, 4));
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		void *p[] = {&a};

		DO(cuLaunchKernel(count, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
		DO(cuLaunchKernel(steady, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
	}
	DO(cuStreamSynchronize(s));
	DO(cuMemcpyDtoH(&value, counter, 4));
	printf("counter %u of %u\n", value, rounds * n * 3);
	digest("globals", a, n);
	library_globals(a, s);
}

/* Passes parameters in a buffer, and launches with a configuration structure. */
static void params(void)
{
	struct {
		CUdeviceptr in, out;
		unsigned n, loops;
	} p = {buffer(n, 1), buffer(n, 2), n, loops};
	size_t bytes = sizeof(p);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
		CU_LAUNCH_PARAM_END};
	void *list[] = {&p.out, &p.in, &p.n, &p.loops};
	CUlaunchConfig c = {blocks, 1, 1, THREADS, 1, 1, 0, NULL, NULL, 0};

	for (unsigned i = 0; i < rounds; i++) {
		DO(cuLaunchKernel(mix, blocks, 1, 1, THREADS, 1, 1, 0, NULL, NULL, extra));
		DO(cuLaunchKernelEx(&c, mix, list, NULL));
	}
	digest("params", p.in, n);
}

/* Launches with many bytes of parameters are queued long before the device runs them. Each must
 * have its own parameters. */
static void bulky(void)
{
	static unsigned bulk[8000];
	const unsigned launches = 16 * rounds, words = sizeof(bulk) / sizeof(bulk[0]);
	CUdeviceptr out = buffer(n, 1);
	void *p[] = {bulk, &out};
	CUfunction fn = kernel_of(PTX_BULKY, "bulky");
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned k = 0; k < launches; k++) {
		for (unsigned i = 0; i < words; i++)
			bulk[i] = (k * words + i) * 2654435761u;
		DO(cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, s, p, NULL));
	}
	DO(cuStreamSynchronize(s));
	digest("bulky", out, n);
}

/* Copies from the host to the device, between launches that read the copied data. gate: if not
 * NULL, the stream first waits for this word, which is set after all copies. Prints how many copies
 * returned before the launch before them had ended. */
static void copies_behind(unsigned *gate)
{
	/* The driver does not treat the last size as small, so it may wait for earlier work. */
	static const size_t sizes[] = {4, 1000, 65536, 65540};
	static unsigned host[65540 / 4];
	const unsigned words = sizeof(host) / sizeof(host[0]), kinds = gate ? 3 : 4;
	CUdeviceptr a = buffer(words + n, 1), out;
	unsigned ahead = 0, copies = kinds * rounds;
	CUstream s;
	CUevent e;

	out = buffer((copies + 1) * n, 2);
	do_mix(mix, a, out, NULL); /* loads the kernel */
	DO(cuCtxSynchronize());
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	if (gate)
		DO(cuStreamWaitValue32(
			s, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
	for (unsigned k = 0; k < copies; k++) {
		do_mix(mix, a, out + (CUdeviceptr)k * n * 4, s);
		DO(cuEventRecord(e, s));
		for (unsigned i = 0; i < words; i++)
			host[i] = (k * words + i) * 2654435761u;
		if (k / kinds % 2)
			DO(cuMemcpyAsync(a, (CUdeviceptr)(uintptr_t)host, sizes[k % kinds], s));
		else
			DO(cuMemcpyHtoDAsync(a, host, sizes[k % kinds], s));
		ahead += cuEventQuery(e) == CUDA_ERROR_NOT_READY;
		memset(host, 0x5a, sizeof(host));
	}
	do_mix(mix, a, out + (CUdeviceptr)copies * n * 4, s);
	if (gate)
		__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	DO(cuStreamSynchronize(s));
	fprintf(stderr, "copies: %u of %u taken along\n", ahead, copies);
	digest("copies", a, words);
	digest("read", out, (copies + 1) * n);
}

static void copies(void)
{
	copies_behind(NULL);
}

/* A small copy returns at once natively, although its stream waits. */
static void gated(void)
{
	unsigned *gate;

	DO(cuMemHostAlloc((void **)&gate, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	*gate = 0;
	copies_behind(gate);
}

/* Errors are the driver's own, natively and under heddle. */
static void errors(void)
{
	CUdeviceptr a = buffer(n, 1), bad = 0x10;
	void *p[] = {&bad, &a, &n, &loops};

	printf("%d\n", cuLaunchKernel(mix, 0, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
	printf("%d\n", cuLaunchKernel(mix, 1, 1, 1, 4096, 1, 1, 0, NULL, p, NULL));
	printf("%d\n", cuLaunchKernel(mix, 1, 1, 1, 32, 1, 1, 1 << 30, NULL, p, NULL));
	printf("%d\n", cuModuleLoadData(&(CUmodule){NULL}, "no ptx"));
	printf("%d\n", cuModuleGetFunction(&(CUfunction){NULL}, mod, "nothing"));
	do_mix(mix, a, a, NULL);
	printf("%d\n", cuCtxSynchronize());
	printf("%d\n", cuLaunchKernel(mix, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
	printf("%d\n", cuCtxSynchronize());
	printf("%d\n", cuMemFree(a));
	printf("%d\n", cuCtxSynchronize());
}

/* A trap ends the context, as it does natively. */
static void trap(void)
{
	CUdeviceptr a = buffer(n, 1);
	CUfunction fn = kernel_of(PTX_HEAD PTX_TRAP, "traps");
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++)
		do_mix(mix, a, a, s);
	DO(cuStreamSynchronize(s));
	DO(cuLaunchKernel(fn, blocks, 1, 1, THREADS, 1, 1, 0, s, NULL, NULL));
	printf("%d\n", cuStreamSynchronize(s));
	printf("%d\n", cuCtxSynchronize());
	printf("%d\n", cuMemFree(a));
}

/* Guarded launches use every slot of the page. Then an unguarded launch has almost as many blocks
 * as a grid may have in one dimension. It would fail if it had one hardware block more than blocks,
 * as a slot used for a guarded launch may ask for. Its kernel traps early. */
static void reused(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	void *p[] = {&a, &b, &n};
	CUfunction fn = kernel_of(PTX_HEAD PTX_TRAP, "traps");

	for (unsigned i = 0; i < 300; i++) {
		DO(cuLaunchKernel(early, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
		DO(cuCtxSynchronize());
	}
	digest("reused", b, n);
	printf("%d\n", cuLaunchKernel(fn, 65535, 32769, 1, THREADS, 1, 1, 0, NULL, NULL, NULL));
	printf("%d\n", cuCtxSynchronize());
}

/* For invalid or truncated code, the program must get the driver's own error. A failed load must
 * not change the handle. */
static void images(void)
{
	static const char *const texts[] = {"", "no ptx", PTX_HEAD, PTX_HEAD ".visible .entry k(",
		PTX_HEAD ".visible .entry k()\n{\n	mov.u32 %r1, ;\n	ret;\n}\n",
		PTX_HEAD ".visible .entry k()\n{\n	frob.u32 %r1, %r2;\n	ret;\n}\n",
		PTX_HEAD ".visible .entry k()\n{\n	bra NOWHERE;\n}\n",
		".version 99.0\n.target sm_70\n.address_size 64\n"};
	/* Headers of fat binaries and ELF files, followed by nothing or by invalid data. */
	static const uint32_t fat[][16] = {{0xba55ed50, 0x100001, 0, 0},
		{0xba55ed50, 0x100001, 8, 0, 0x01010002, 0x40, 0xffffffff, 0xffffffff},
		{0xba55ed50, 0x100001, 48, 0, 0x01010001, 0xfffffff0, 8, 0},
		{0x464c457f, 0x33010102, 7, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}};
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	CUmodule m, good;
	CUfunction fn;
	CUlibrary lib;
	unsigned i;

	DO(cuModuleLoadData(&good, PTX_HEAD PTX_MIX("mix")));
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		m = good;
		printf("text %u: %d %d\n", i, cuModuleLoadData(&m, texts[i]),
			cuLibraryLoadData(&lib, texts[i], NULL, NULL, 0, NULL, NULL, 0));
	}
	for (i = 0; i < sizeof(fat) / sizeof(fat[0]); i++) {
		m = good;
		printf("binary %u: %d %d\n", i, cuModuleLoadData(&m, fat[i]),
			cuLibraryLoadData(&lib, fat[i], NULL, NULL, 0, NULL, NULL, 0));
	}
	DO(cuModuleGetFunction(&fn, good, "mix"));
	do_mix(fn, a, b, NULL);
	digest("images", b, n);
	chain();
}

/* Launches kernels that cannot be managed between others that can. */
static void held(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	unsigned n_less = n - 5;
	void *p[] = {&b, &a, &n_less, &loops};
	CUfunction old = kernel_of(PTX_OLD, "old");
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, s);
		do_mix(old, b, a, s);
		do_mix(mix, a, b, s);
		DO(cuLaunchCooperativeKernel(mix, 8, 1, 1, THREADS, 1, 1, 0, s, p));
	}
	DO(cuStreamSynchronize(s));
	digest("held", a, n);
	digest("held", b, n);
}

static const char *const ways[] = {"stream", "event", "context", "newer"};

static void wait_for(size_t way, CUstream s, CUevent e)
{
	DO(way == 0        ? cuStreamSynchronize(s)
		: way == 1 ? cuEventSynchronize(e)
		: way == 2 ? cuCtxSynchronize()
			   : synchronize_newer());
}

/* Unmanaged launches, for each of which the program waits. After the wait the daemon must know that
 * the launch is complete. */
static void told(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	CUfunction old = kernel_of(PTX_OLD, "old");
	const struct wire_page *page = find_page();
	double began = now_ms();
	CUstream s;
	CUevent e;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	while (page && !__atomic_load_n(&page->watch, __ATOMIC_ACQUIRE)) {
		if (now_ms() - began > 30e3)
			exit(1);
	}
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		unsigned over = 0;

		for (unsigned i = 0; i < rounds; i++) {
			do_mix(old, a, b, s);
			DO(cuEventRecord(e, s));
			wait_for(way, s, e);
			over += !page ||
				__atomic_load_n(&page->opaque_completed, __ATOMIC_ACQUIRE) ==
					__atomic_load_n(&page->opaque_submitted, __ATOMIC_RELAXED);
		}
		printf("%s: known to be over after %u of %u waits\n", ways[way], over, rounds);
	}
	digest("told", b, n);
}

/* One kernel stores addresses of code, or the host reads them, and another kernel calls them. */
static void code(void)
{
	static const char *const names[] = {"make", "take", "use", "within", "within"};
	CUdeviceptr objects = buffer(6 * n, 1), out = buffer(n, 2), chosen, f;
	void *p[] = {&objects, &out, &f}, *q[] = {&out};
	CUfunction fn[5];
	size_t bytes;
	CUmodule m;
	CUstream s;

	DO(cuModuleLoadData(&m, PTX_HEAD PTX_CODE));
	for (int i = 0; i < 5; i++)
		DO(cuModuleGetFunction(&fn[i], m, names[i]));
	DO(cuModuleGetGlobal(&chosen, &bytes, m, "chosen"));
	DO(cuMemcpyDtoH(&f, chosen, bytes));
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 5 * rounds; i++)
		DO(cuLaunchKernel(
			fn[i % 5], blocks, 1, 1, THREADS, 1, 1, 0, s, i % 5 < 3 ? p : q, NULL));
	DO(cuStreamSynchronize(s));
	digest("code", out, n);
}

/* Forks. The child runs the scenario; the parent, which has not used the GPU, waits and returns the
 * child's status. */
static int forked(void)
{
	int status;
	pid_t pid = fork();

	if (pid)
		return waitpid(pid, &status, 0) == pid ? status : 1;
	return -1;
}

static void load(void)
{
	static const char ptx[] = PTX_HEAD PTX_MIX("mix") PTX_SUM PTX_EARLY PTX_COUNT;
	/* allocates memory first, so that variables get other addresses */
	const char *shift = getenv("PROG_ADDRESSES");
	CUdeviceptr ahead;
	CUdevice dev;

	DO(cuInit(0));
	DO(cuDeviceGet(&dev, 0));
	DO(cuDevicePrimaryCtxRetain(&ctx, dev));
	DO(cuCtxSetCurrent(ctx));
	for (int i = shift ? atoi(shift) : 0; i; i--)
		DO(cuMemAlloc(&ahead, 256));
	DO(cuModuleLoadData(&mod, ptx));
	DO(cuModuleGetFunction(&mix, mod, "mix"));
	DO(cuModuleGetFunction(&sum, mod, "sum"));
	DO(cuModuleGetFunction(&early, mod, "early"));
	DO(cuModuleGetFunction(&count, mod, "count"));
	DO(cuModuleGetFunction(&steady, mod, "steady"));
}

/* Returns false if there is no such scenario. */
static bool run(const char *what)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {{"chain", chain}, {"closes", closes}, {"lengthy", lengthy},
		{"events", events}, {"defaults", defaults}, {"many", many_streams},
		{"many-blocking", many_blocking}, {"brief", brief}, {"threads", threads},
		{"capture", capture}, {"locks", locks}, {"loads", loads}, {"ranks", ranks},
		{"guard", guard}, {"meet", meet}, {"globals", globals}, {"params", params},
		{"errors", errors}, {"trap", trap}, {"reused", reused}, {"images", images},
		{"held", held}, {"code", code}, {"own", own}, {"bulky", bulky}, {"copies", copies},
		{"gated", gated}, {"told", told}, {"symbols", symbols}, {"waits", waits},
		{"lasting", lasting}, {"childless", childless}, {"guards", guards},
		{"flood", flood}, {"remade", remade}, {"fed", fed}, {"twice", twice},
		{"deep", deep}, {"blocked", blocked}, {"contexts", contexts}, {"refused", refused},
		{"outcomes", outcomes}};

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (!strcmp(what, scenarios[i].name)) {
			scenarios[i].run();
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *more;
	double began;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2)
		rounds = (unsigned)atoi(argv[2]);
	if (argc > 3)
		blocks = (unsigned)atoi(argv[3]);
	if (argc > 4)
		loops = (unsigned)atoi(argv[4]);
	n = blocks * THREADS;
	if (!strcmp(what, "fork")) {
		int status = forked();

		if (status >= 0)
			return status != 0;
		what = "chain";
	}
	load();
	began = now_ms();
	if (!run(what))
		return 2;
	more = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	if (getenv("PROG_CONNECTIONS"))
		fprintf(stderr, "connections %s\n", more ? more : "unsaid");
	stay();
	if (getenv("PROG_TIME"))
		fprintf(stderr, "%s %.1f ms\n", what, now_ms() - began);
	return 0;
}
