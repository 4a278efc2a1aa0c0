/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Scenarios with calls between launches: looking up module variables repeatedly, as
 * cudaMemcpyToSymbol does; calls that wait; the program's view of other processes; and kernels that
 * several threads launch for the first time at once. */
#include "code.h"
#include "page_of.h"
#include "prog.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 200 /* more than there are handles, so that some handles are reused */

/* A module that is loaded again has variables of its own, even if their addresses are reused. */
static void again(unsigned value)
{
	CUdeviceptr at, same;
	unsigned seen = 1;
	size_t bytes;
	CUmodule m;

	DO(cuModuleLoadData(&m, PTX_HEAD PTX_COUNT));
	DO(cuModuleGetGlobal(&at, &bytes, m, "counter"));
	DO(cuModuleGetGlobal(&same, NULL, m, "counter"));
	printf("%zu bytes, %s\n", bytes, at == same ? "where they were" : "elsewhere");
	DO(cuMemcpyDtoH(&seen, at, 4));
	DO(cuMemcpyHtoD(at, &value, 4));
	printf("fresh %u, nothing: %d, nowhere: %d\n", seen,
		(int)cuModuleGetGlobal(&at, NULL, m, "nothing"),
		(int)cuModuleGetGlobal(NULL, NULL, m, "counter"));
	DO(cuModuleUnload(m));
	buffer(bytes / 4, value); /* takes the old address */
}

void symbols(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1), at;
	unsigned at_once = 0;
	CUstream s;

	for (unsigned i = 0; i < TIMES; i++)
		again(5 + i);
	DO(cuModuleGetGlobal(&at, NULL, mod, "counter"));
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, s);
		do_mix(mix, b, a, s);
		DO(cuModuleGetGlobal(&at, NULL, mod, "counter"));
		at_once += cuStreamQuery(s) == CUDA_ERROR_NOT_READY;
	}
	DO(cuStreamSynchronize(s));
	fprintf(stderr, "symbols: %u of %u at once\n", at_once, rounds);
	digest("symbols", a, n);
}

/* Waits after each launch. */
void waits(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	unsigned word = 7;
	CUstream s[2];

	DO(cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&s[1], CU_STREAM_DEFAULT));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, s[i % 2]);
		switch (i % 3) {
		case 0:
			DO(cuStreamSynchronize(s[i % 2]));
			break;
		case 1:
			DO(cuCtxSynchronize());
			break;
		default:
			DO(cuCtxSynchronize());
			DO(cuMemcpyHtoD(b, &word, 4));
		}
		do_mix(mix, b, a, NULL);
		DO(cuMemcpyDtoH(&word, a, 4));
	}
	digest("waits", a, n);
	printf("%08x\n", word);
}

static volatile sig_atomic_t ended;

static void on_child(int signal)
{
	ended++;
}

/* While kernels are launched and forms are made, the program must not see child processes that it
 * did not start, neither in wait calls nor by their end. */
void childless(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	unsigned children = 0;

	signal(SIGCHLD, on_child);
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, NULL);
		do_mix(mix, b, a, NULL);
		DO(cuCtxSynchronize());
		children += waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
		nanosleep(&nap, NULL);
	}
	digest("childless", a, n);
	printf("%u children, %d ended\n", children, (int)ended);
}

/* Launches whose blocks last `loops` us on any machine; each launch needs the previous one. */
void lasting(void)
{
	CUfunction lasts = kernel_of(PTX_HEAD PTX_LASTS, "lasts");
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(lasts, a, b, s);
		do_mix(lasts, b, a, s);
	}
	DO(cuStreamSynchronize(s));
	digest("lasting", a, n);
}

#define GUARDS 5 /* more forms than are compiled at the same time */

struct guarded {
	pthread_t thread;
	CUcontext ctx;
	CUfunction fn;
	CUdeviceptr in, out;
};

static void *of_guarded(void *arg)
{
	struct guarded *g = arg;
	void *p[] = {&g->in, &g->out, &n};

	DO(cuCtxSetCurrent(g->ctx));
	DO(cuLaunchKernel(g->fn, blocks, 1, 1, THREADS, 1, 1, 0, CU_STREAM_PER_THREAD, p, NULL));
	DO(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

/* Kernels that need the guard form, each in its own thread. */
void guards(void)
{
	struct guarded g[GUARDS];

	for (int i = 0; i < GUARDS; i++) {
		char ptx[4096];
		CUmodule m;

		g[i] = (struct guarded){.in = buffer(n, 1 + (unsigned)i), .out = buffer(n, 9)};
		snprintf(ptx, sizeof(ptx), "%s// %d\n", PTX_HEAD PTX_EARLY, i);
		DO(cuModuleLoadData(&m, ptx));
		DO(cuModuleGetFunction(&g[i].fn, m, "early"));
		DO(cuCtxGetCurrent(&g[i].ctx));
	}
	for (int i = 0; i < GUARDS; i++) {
		if (pthread_create(&g[i].thread, NULL, of_guarded, &g[i]))
			exit(1);
	}
	for (int i = 0; i < GUARDS; i++) {
		pthread_join(g[i].thread, NULL);
		digest("guards", g[i].out, n);
	}
}

static CUfunction unmanaged(void)
{
	CUfunction old;
	CUmodule m;

	DO(cuModuleLoadData(&m, PTX_OLD));
	DO(cuModuleGetFunction(&old, m, "old"));
	return old;
}

/* Unmanaged launches that are not waited for, on several streams, some of which are destroyed while
 * launches are in flight. */
void flood(void)
{
	CUdeviceptr at[4], out[4];
	CUfunction old = unmanaged();
	CUstream s[4] = {NULL, CU_STREAM_PER_THREAD}, brief;

	DO(cuStreamCreate(&s[2], CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&s[3], CU_STREAM_DEFAULT));
	for (unsigned k = 0; k < 4; k++) {
		at[k] = buffer(n, k + 1);
		out[k] = buffer(n, 9);
	}
	for (unsigned i = 0; i < rounds; i++) {
		unsigned k = i % 8 < 5 ? 2 : i % 4;

		do_mix(old, at[k], out[k], s[k]);
		do_mix(old, out[k], at[k], s[k]);
		if (i % 64 != 63)
			continue;
		DO(cuStreamCreate(&brief, CU_STREAM_NON_BLOCKING));
		DO(cuStreamSynchronize(s[0]));
		do_mix(old, at[0], out[0], brief);
		DO(cuStreamDestroy(brief));
		DO(cuCtxSynchronize());
	}
	DO(cuCtxSynchronize());
	for (unsigned k = 0; k < 4; k++)
		digest("flood", at[k], n);
	printf("over\n");
	DO(cuStreamDestroy(s[2]));
}

/* Launches wait for a word that the launching thread sets only after it has made all of them. */
void blocked(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), dev;
	CUfunction old = unmanaged();
	unsigned *word;
	CUstream s;

	DO(cuMemHostAlloc((void **)&word, 4096, 0));
	DO(cuMemHostGetDevicePointer(&dev, word, 0));
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 3; i++) {
		DO(cuStreamWaitValue32(s, dev, i + 1, CU_STREAM_WAIT_VALUE_GEQ));
		for (unsigned k = 0; k < rounds; k++)
			do_mix(old, k % 2 ? b : a, k % 2 ? a : b, s);
		__atomic_store_n(word, i + 1, __ATOMIC_RELEASE);
		DO(cuStreamSynchronize(s));
	}
	digest("blocked", b, n);
}

/* Contexts end while their launches are in flight, beside another context that stays. */
void contexts(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	CUfunction old = unmanaged();
	CUcontext own;
	CUdevice dev;
	CUstream stays;

	DO(cuCtxGetDevice(&dev));
	DO(cuStreamCreate(&stays, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		CUdeviceptr c, d;
		CUstream s[3];

		do_mix(old, a, b, stays);
		DO(cuCtxCreate(&own, 0, dev));
		c = buffer(n, 3);
		d = buffer(n, 4);
		for (unsigned k = 0; k < 3; k++)
			DO(cuStreamCreate(&s[k], k ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		for (unsigned k = 0; k < 6; k++)
			do_mix(unmanaged(), k % 2 ? c : d, k % 2 ? d : c, s[k % 3]);
		if (i % 2)
			DO(cuStreamSynchronize(s[1]));
		DO(cuCtxDestroy(own));
		do_mix(old, b, a, stays);
	}
	DO(cuStreamSynchronize(stays));
	digest("contexts", a, n);
}

/* ---- files that belong to the program, whatever their number ---- */

#define PRECIOUS "precious bytes, thirty-two of them"
#define LATER_NS 700000000 /* in this time the shim checks its descriptors several times */

struct precious {
	int fd, other; /* other: the peer of a socket pair, or the write end of a pipe */
	unsigned kind;
};

/* Opens another file at the number fd. */
static void put_at(struct precious *p, int fd)
{
	int ends[2] = {-1, -1};

	p->fd = fd;
	if (p->kind == 2)
		ends[0] = eventfd(5, EFD_NONBLOCK);
	else if (p->kind == 1)
		check(pipe(ends) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS, "pipe");
	else
		check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS,
			"socketpair");
	if (ends[0] != fd) {
		check(dup2(ends[0], fd) == fd ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "dup2");
		close(ends[0]);
	}
	p->other = ends[1];
	if (p->kind < 2 && write(p->other, PRECIOUS, sizeof(PRECIOUS)) < 0)
		check(CUDA_ERROR_UNKNOWN, "write");
}

static int is_whole(const struct precious *p)
{
	char have[100] = "";
	uint64_t count = 0;

	if (p->kind == 2)
		return read(p->fd, &count, sizeof(count)) == sizeof(count) && count == 5;
	return read(p->fd, have, sizeof(have)) == sizeof(PRECIOUS) && !strcmp(have, PRECIOUS) &&
	       (p->kind == 1 || recv(p->other, have, sizeof(have), MSG_DONTWAIT) < 0);
}

static unsigned open_numbers(int *ret, unsigned max)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	unsigned count = 0;

	while (dir && (e = readdir(dir)) && count < max) {
		int fd = atoi(e->d_name);

		if (fd > 2 && fd != dirfd(dir))
			ret[count++] = fd;
	}
	closedir(dir);
	return count;
}

/* Closes all descriptors except 0 to 2, like a program that becomes a service. Then opens other
 * files under the closed numbers. */
void closes(void)
{
	const struct timespec later = {.tv_nsec = LATER_NS};
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	struct precious p[64];
	unsigned count, changed = 0;
	int fds[64];

	for (unsigned i = 0; i < rounds; i++)
		do_mix(mix, i % 2 ? b : a, i % 2 ? a : b, NULL);
	count = open_numbers(fds, 64);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	for (unsigned i = 0; i < count; i++) {
		p[i].kind = (i + loops) % 3;
		put_at(&p[i], fds[i]);
	}
	for (unsigned i = 0; i < rounds; i++)
		do_mix(mix, i % 2 ? b : a, i % 2 ? a : b, NULL);
	DO(cuCtxSynchronize());
	nanosleep(&later, NULL);
	for (unsigned i = 0; i < rounds; i++)
		do_mix(mix, i % 2 ? b : a, i % 2 ? a : b, NULL);
	digest("closes", a, n);
	for (unsigned i = 0; i < count; i++)
		changed += !is_whole(&p[i]);
	fprintf(stderr, "closes: %u numbers\n", count);
	printf("%u changed\n", changed);
}

static bool is_managed(void)
{
	static const struct wire_page *page;

	if (!page)
		page = find_page();
	return page && __atomic_load_n(&page->launched[WIRE_WHY_WORKERS], __ATOMIC_RELAXED) >= 3;
}

/* The context ends after its first launch, and the program continues in another context. With
 * PROG_MANAGED in the environment, it launches there until at least three launches are managed, but
 * for at most a minute. */
void remade(void)
{
	bool awaits = getenv("PROG_MANAGED");
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	CUcontext again;
	CUdevice dev;

	DO(cuCtxGetDevice(&dev));
	do_mix(mix, a, b, NULL);
	DO(cuCtxSynchronize());
	nanosleep(&(struct timespec){.tv_nsec = LATER_NS}, NULL);
	DO(cuDevicePrimaryCtxRelease(dev));
	DO(cuDevicePrimaryCtxRetain(&again, dev));
	DO(cuCtxSetCurrent(again));
	printf("remade\n");
	DO(cuModuleLoadData(&mod, PTX_HEAD PTX_MIX("mix")));
	DO(cuModuleGetFunction(&mix, mod, "mix"));
	a = buffer(n, 1);
	b = buffer(n, 2);
	for (unsigned i = 0; i < (awaits ? 6000 : 3) && !(awaits && is_managed()); i++) {
		do_mix(mix, a, b, NULL);
		DO(cuCtxSynchronize());
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	digest("remade", b, n);
}

/* At the end, waits until the file that PROG_STAY names exists, if that is set. */
void stay(void)
{
	const char *until = getenv("PROG_STAY");

	while (until && access(until, F_OK))
		nanosleep(&(struct timespec){.tv_nsec = LATER_NS / 10}, NULL);
}

/* Makes launches that the driver refuses, of a kernel that is managed already. Prints the code of
 * each. */
static void refused_dimensions(void **p)
{
	static const unsigned bad[][6] = {{1, 65536, 1, 32, 1, 1}, {1, 1, 65536, 32, 1, 1},
		{0x80000000u, 1, 1, 32, 1, 1}, {1, 0, 1, 32, 1, 1},
		{1u << 16, 1u << 16, 1, 32, 1, 1}, {1, 1, 1, 0, 1, 1}, {1, 1, 1, 2048, 1, 1},
		{1, 1, 1, 1, 2048, 1}, {1, 1, 1, 1, 1, 65}, {1, 1, 1, 64, 64, 1},
		{1, 1, 1, 1u << 16, 1u << 16, 1}};
	CUgraph graph;

	DO(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const unsigned *b = bad[i];
		CUlaunchConfig c = {b[0], b[1], b[2], b[3], b[4], b[5], 0, NULL, NULL, 0};
		CUDA_KERNEL_NODE_PARAMS node = {.func = mix,
			.gridDimX = b[0],
			.gridDimY = b[1],
			.gridDimZ = b[2],
			.blockDimX = b[3],
			.blockDimY = b[4],
			.blockDimZ = b[5],
			.kernelParams = p};
		CUgraphNode at;

		printf("%u: %d %d", i,
			cuLaunchKernel(mix, b[0], b[1], b[2], b[3], b[4], b[5], 0, NULL, p, NULL),
			cuLaunchKernelEx(&c, mix, p, NULL));
		printf(" %d %d\n",
			cuLaunchCooperativeKernel(
				mix, b[0], b[1], b[2], b[3], b[4], b[5], 0, NULL, p),
			cuGraphAddKernelNode(&at, graph, NULL, 0, &node));
	}
	DO(cuGraphDestroy(graph));
}

static void refused_parameters(void **p, void *buffer, size_t bytes)
{
	size_t less = bytes - 1, more = bytes + 8;
	void *size = CU_LAUNCH_PARAM_BUFFER_SIZE, *at = CU_LAUNCH_PARAM_BUFFER_POINTER;
	void *good[] = {at, buffer, size, &bytes, NULL},
	     *larger[] = {at, buffer, size, &more, NULL};
	void *short_of[] = {at, buffer, size, &less, NULL}, *without_size[] = {at, buffer, NULL};
	void *without_buffer[] = {size, &bytes, NULL},
	     *null_size[] = {at, buffer, size, NULL, NULL};
	void *unknown[] = {(void *)99, buffer, size, &bytes, NULL}, *none[] = {NULL};
	void *lacks_one[] = {p[0], NULL, p[2], p[3]};
	struct {
		void **params, **extra;
	} given[] = {{NULL, good}, {NULL, larger}, {p, good}, {p, none}, {NULL, short_of},
		{NULL, without_size}, {NULL, without_buffer}, {NULL, null_size}, {NULL, unknown},
		{NULL, none}, {NULL, NULL}, {lacks_one, NULL}};
	CUlaunchConfig c = {1, 1, 1, THREADS, 1, 1, 0, NULL, NULL, 0};

	for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		printf("parameters %u: %d %d\n", i,
			cuLaunchKernel(mix, 1, 1, 1, THREADS, 1, 1, 0, NULL, given[i].params,
				given[i].extra),
			cuLaunchKernelEx(&c, mix, given[i].params, given[i].extra));
	c.numAttrs = 1; /* a count but no attributes */
	printf("attributes: %d\n", cuLaunchKernelEx(&c, mix, p, NULL));
}

/* A kernel with a limit of 64 threads. A launch with 64 threads must succeed. */
static void refused_threads(void **p)
{
	static const char ptx[] = PTX_HEAD PTX_MIX("narrow"), bound[] = ".maxntid 64, 1, 1\n";
	const char *body = strchr(ptx, '{');
	char text[sizeof(ptx) + sizeof(bound)];
	CUfunction fn;
	CUmodule m;

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(body - ptx), ptx, bound, body);
	DO(cuModuleLoadData(&m, text));
	DO(cuModuleGetFunction(&fn, m, "narrow"));
	for (unsigned threads = 64; threads <= 128; threads += 32)
		printf("%u threads: %d\n", threads,
			cuLaunchKernel(fn, 64, 1, 1, threads, 1, 1, 0, NULL, p, NULL));
}

void refused(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 1);
	void *p[] = {&a, &b, &n, &loops};
	struct {
		CUdeviceptr a, b;
		unsigned n, loops, behind[2];
	} buffer = {a, b, n, loops, {0, 0}};

	do_mix(mix, a, b, NULL);
	refused_dimensions(p);
	refused_parameters(p, &buffer, 24);
	refused_threads(p);
	do_mix(mix, b, a, NULL);
	DO(cuCtxSynchronize());
	digest("refused", a, n);
}

/* fed(p, i): one thread that ends when p[0] is i, and adds i to p[1]. feed(p, i): p[0] = i. */
#define PTX_FED                                                                    \
	PTX_HEAD ".visible .entry fed(.param .u64 p, .param .u32 i)\n{\n"          \
		 "	.reg .b64 %rd1;\n	.reg .b32 %r<4>;\n	.reg .pred %p1;\n"         \
		 "	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [i];\n"             \
		 "$again:\n	ld.volatile.global.u32 %r2, [%rd1];\n"                 \
		 "	setp.ne.u32 %p1, %r1, %r2;\n	@%p1 bra $again;\n"                \
		 "	red.global.add.u32 [%rd1+4], %r1;\n	ret;\n}\n"                  \
		 ".visible .entry feed(.param .u64 p, .param .u32 i)\n{\n"         \
		 "	.reg .b64 %rd1;\n	.reg .b32 %r1;\n	ld.param.u64 %rd1, [p];\n"   \
		 "	ld.param.u32 %r1, [i];\n	st.volatile.global.u32 [%rd1], %r1;\n" \
		 "	ret;\n}\n"

/* Launches a kernel that ends only after the program has launched another one. Natively this makes
 * progress. It must do so, too, while the first kernel's form is compiled and loaded. */
void fed(void)
{
	CUdeviceptr p = buffer(2, 0), more;
	CUfunction fed_fn, feed_fn;
	CUstream a, b;
	CUmodule m;
	unsigned i = 1;
	void *params[] = {&p, &i};

	DO(cuModuleLoadData(&m, PTX_FED));
	DO(cuModuleGetFunction(&fed_fn, m, "fed"));
	DO(cuModuleGetFunction(&feed_fn, m, "feed"));
	DO(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	DO(cuMemsetD32(p, 0, 2));
	for (; i <= rounds; i++) {
		DO(cuLaunchKernel(fed_fn, 1, 1, 1, 1, 1, 1, 0, a, params, NULL));
		usleep(i == 1 ? 500000 : 1000);
		DO(cuMemAlloc(&more, 4096));
		DO(cuMemsetD32Async(more, i, 1024, b));
		DO(cuLaunchKernel(feed_fn, 1, 1, 1, 1, 1, 1, 0, b, params, NULL));
		DO(cuStreamSynchronize(a));
		usleep(i == 1 ? 500000 : 0); /* leaves time to load the form while nothing runs */
	}
	digest("fed", p, 2);
}

/* The first launch of a library's kernel can be managed, and its second one cannot. A kernel that
 * ends only when the program tells it to runs beside the second. Natively the first launch has
 * loaded the kernel, so the second does not wait for running kernels. Under heddle it must not
 * either. */
void twice(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	unsigned *gate, i = 1, n_less = n - 5;
	CUlaunchAttribute cooperative = {
		.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig c = {4, 1, 1, THREADS, 1, 1, 0, NULL, &cooperative, 1};
	void *to_fed[] = {&gate, &i}, *to_late[] = {&a, &b, &n_less, &loops};
	CUfunction fed_fn;
	CUstream beside;
	CUlibrary lib;
	CUkernel late;
	CUmodule m;

	DO(cuModuleLoadData(&m, PTX_FED));
	DO(cuModuleGetFunction(&fed_fn, m, "fed"));
	DO(cuMemHostAlloc((void **)&gate, 8, CU_MEMHOSTALLOC_DEVICEMAP));
	DO(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&c.hStream, CU_STREAM_NON_BLOCKING));
	memset(gate, 0, 8);
	DO(cuLibraryLoadData(&lib, PTX_HEAD PTX_MIX("late"), NULL, NULL, 0, NULL, NULL, 0));
	DO(cuLibraryGetKernel(&late, lib, "late"));
	do_mix((CUfunction)late, a, b, c.hStream);
	DO(cuCtxSynchronize());
	DO(cuLaunchKernel(fed_fn, 1, 1, 1, 1, 1, 1, 0, beside, to_fed, NULL));
	for (unsigned round = 0; round < rounds; round++) {
		DO(cuLaunchKernelEx(&c, (CUfunction)late, to_late, NULL));
		DO(cuStreamSynchronize(c.hStream));
	}
	__atomic_store_n(gate, i, __ATOMIC_RELEASE);
	DO(cuCtxSynchronize());
	printf("fed %u\n", gate[1]);
	digest("twice", b, n);
}

/* deepN(out): out[i] += i, through N bytes of local memory. */
#define PTX_DEEP                                                                          \
	PTX_HEAD ".visible .entry deep%u(.param .u64 out)\n{\n"                           \
		 ".local .align 4 .b8 room[%u];\n.reg .b64 %%rd<6>;\n.reg .b32 %%r<8>;\n" \
		 "mov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%ntid.x;\n"                    \
		 "mov.u32 %%r3, %%tid.x;\nmad.lo.s32 %%r4, %%r1, %%r2, %%r3;\n"           \
		 "ld.param.u64 %%rd1, [out];\nmad.wide.u32 %%rd1, %%r4, 4, %%rd1;\n"      \
		 "mov.u64 %%rd2, room;\nand.b32 %%r5, %%r4, 255;\n"                       \
		 "mad.wide.u32 %%rd2, %%r5, 4, %%rd2;\nst.local.u32 [%%rd2], %%r4;\n"     \
		 "ld.global.u32 %%r6, [%%rd1];\nld.local.u32 %%r7, [%%rd2];\n"            \
		 "add.u32 %%r6, %%r6, %%r7;\nst.global.u32 [%%rd1], %%r6;\nret;\n}\n"

static atomic_bool deep_ends;

static void *mix_on(void *xy)
{
	const CUdeviceptr *at = xy;
	CUstream a;

	DO(cuCtxSetCurrent(ctx));
	DO(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	while (!atomic_load(&deep_ends)) {
		for (unsigned k = 0; k < rounds; k++) {
			do_mix(mix, at[0], at[1], a);
			do_mix(mix, at[1], at[0], a);
		}
		DO(cuStreamSynchronize(a));
	}
	return NULL;
}

/* Kernels need more and more local memory. Each is launched for the first time beside another
 * thread's launches. The driver allocates local memory only when nothing runs. */
void deep(void)
{
	CUdeviceptr xy[2] = {buffer(n, 1), buffer(n, 2)}, out = buffer(n, 3);
	void *params[] = {&out};
	CUfunction fn[5];
	pthread_t other;
	CUmodule m;
	CUstream b;

	DO(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0, bytes = 2048; i < 5; i++, bytes *= 2) {
		char text[sizeof(PTX_DEEP) + 32], name[16];

		snprintf(text, sizeof(text), PTX_DEEP, bytes, bytes);
		snprintf(name, sizeof(name), "deep%u", bytes);
		DO(cuModuleLoadData(&m, text));
		DO(cuModuleGetFunction(&fn[i], m, name));
	}
	if (pthread_create(&other, NULL, mix_on, xy))
		exit(1);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < rounds; k++) {
			DO(cuLaunchKernel(fn[i], blocks, 1, 1, THREADS, 1, 1, 0, b, params, NULL));
			DO(cuStreamSynchronize(b));
		}
	atomic_store(&deep_ends, true);
	pthread_join(other, NULL);
	digest("deep", out, n);
}
