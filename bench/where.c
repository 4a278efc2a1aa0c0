/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant whose blocks record when they ran (device clock) and on which SM (%smid). Several of
 * them side by side under heddle run show which tenant had which SMs (tests/e2e/where.awk). Prints
 * a line for each block: launch, block, SM, start and end in ns (by a clock that all tenants share,
 * modulo eleven days), and the hardware block that ran it: %gridid and %warpid of its first warp,
 * which together distinguish the hardware blocks that are on one SM at the same time. Fails unless
 * each block ran exactly once.
 *
 * where --out FILE [--blocks N] [--threads N] [--shared BYTES] [--loops N] [--us N] [--count N]
 * [--every-ms N] [--guard 0|1] [--asks 0|1] [--until FILE]
 *
 * --until FILE: once the file exists, the remaining blocks of the launch return at once without a
 * record, and the program launches no more. Until the file exists, the program prints how many
 * blocks have ended. A test can thus end the program as soon as enough blocks have ended, on a
 * machine of any speed.
 *
 * --us N: each block lasts at least this long. After its loops it sleeps, which costs the virtual
 * GPU hardly any processor time.
 *
 * --guard 1: the barrier's number is in a register, so that heddle makes the guard form. --asks 1:
 * as --guard 1, and the kernel also reads the size of its shared memory. */
#include "gpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_WRAP 1000000000000000ull /* numbers below this are exact in awk */

/* where(out, loops, host, ns) writes 32 bytes per block: {start, end, SM, times run, %gridid,
 * %warpid}. The start is 0 if the program was to end when the block began. */
#define PTX(sleep, barrier)                                                            \
	".version 7.0\n"                                                               \
	".target sm_70\n"                                                              \
	".address_size 64\n"                                                           \
	".visible .entry where(.param .u64 out, .param .u32 loops, .param .u64 host, " \
	".param .u64 ns)\n"                                                            \
	"{\n"                                                                          \
	"	.reg .pred %p;\n"                                                            \
	"	.reg .b32 %n, %t, %sm;\n"                                                    \
	"	.reg .b64 %start, %end, %at, %o;\n"                                          \
	"	.reg .f32 %f;\n"                                                             \
	"	mov.u64 %start, %globaltimer;\n"                                             \
	"	ld.param.u32 %n, [loops];\n"                                                 \
	"	ld.param.u64 %at, [host];\n"                                                 \
	"	ld.volatile.global.u32 %t, [%at];\n"                                         \
	"	setp.ne.u32 %p, %t, 0;\n"                                                    \
	"	@%p mov.u32 %n, 1;\n"                                                        \
	"	@%p mov.u64 %start, 0;\n"                                                    \
	"	mov.f32 %f, 0f3F800000;\n"                                                   \
	"again:\n"                                                                     \
	"	fma.rn.f32 %f, %f, 0f3F7FFFFF, %f;\n"                                        \
	"	sub.u32 %n, %n, 1;\n"                                                        \
	"	setp.ne.u32 %p, %n, 0;\n"                                                    \
	"	@%p bra again;\n" sleep "	setp.eq.f32 %p, %f, 0f00000000;\n"           \
	"	@%p trap;\n" barrier "	mov.u64 %end, %globaltimer;\n"                  \
	"	mov.u32 %t, %tid.x;\n"                                                       \
	"	setp.ne.u32 %p, %t, 0;\n"                                                    \
	"	@%p bra done;\n"                                                             \
	"	mov.u32 %sm, %smid;\n"                                                       \
	"	mov.u32 %t, %ctaid.x;\n"                                                     \
	"	ld.param.u64 %at, [out];\n"                                                  \
	"	mul.wide.u32 %o, %t, 32;\n"                                                  \
	"	add.u64 %at, %at, %o;\n"                                                     \
	"	st.global.u64 [%at], %start;\n"                                              \
	"	st.global.u64 [%at+8], %end;\n"                                              \
	"	st.global.u32 [%at+16], %sm;\n"                                              \
	"	red.global.add.u32 [%at+20], 1;\n"                                           \
	"	mov.u64 %o, %gridid;\n"                                                      \
	"	cvt.u32.u64 %n, %o;\n"                                                       \
	"	mov.u32 %t, %warpid;\n"                                                      \
	"	st.global.u32 [%at+24], %n;\n"                                               \
	"	st.global.u32 [%at+28], %t;\n"                                               \
	"	ld.param.u64 %at, [host];\n"                                                 \
	"	red.global.add.u32 [%at+4], 1;\n"                                            \
	"done:\n"                                                                      \
	"	ret;\n"                                                                      \
	"}\n"

/* Sleeps until the block has lasted long enough. */
#define SLEEP                                  \
	"	ld.param.u64 %o, [ns];\n"            \
	"	setp.eq.u64 %p, %o, 0;\n"            \
	"	@%p bra slept;\n"                    \
	"	setp.eq.u64 %p, %start, 0;\n"        \
	"	@%p bra slept;\n"                    \
	"	add.u64 %o, %o, %start;\n"           \
	"	mov.u32 %t, %tid.x;\n"               \
	"	setp.ne.u32 %p, %t, 0;\n"            \
	"	@%p bra slept;\n"                    \
	"	ld.param.u64 %at, [host];\n"         \
	"sleeps:\n"                            \
	"	nanosleep.u32 1000;\n"               \
	"	ld.volatile.global.u32 %t, [%at];\n" \
	"	setp.ne.u32 %p, %t, 0;\n"            \
	"	@%p bra slept;\n"                    \
	"	mov.u64 %end, %globaltimer;\n"       \
	"	setp.lt.u64 %p, %end, %o;\n"         \
	"	@%p bra sleeps;\n"                   \
	"slept:\n"

/* A barrier number in a register leads to the guard form. ASKS also reads the size of shared
 * memory. The loop's result is never 0, but the compiler cannot know that and keeps the loop. */
#define PLAIN "	bar.sync 0;\n"
#define GUARD "	mov.u32 %t, 0;\n	bar.sync %t;\n"
#define ASKS                                                      \
	"	mov.u32 %t, %dynamic_smem_size;\n	min.u32 %t, %t, 0;\n" \
	"	bar.sync %t;\n"
static const char *const texts[2][3] = {
	{PTX("", PLAIN), PTX("", GUARD), PTX("", ASKS)},
	{PTX(SLEEP, PLAIN), PTX(SLEEP, GUARD), PTX(SLEEP, ASKS)},
};

struct stay {
	uint64_t start, end;
	uint32_t sm, times, grid, warp;
};

/* Host memory that the kernel reads and writes. */
struct words {
	unsigned stop, ended;
};

struct settings {
	unsigned blocks, threads, shared, loops, us, count, every_ms, guard, asks;
	const char *out, *until;
};

static void usage(void)
{
	fprintf(stderr, "usage: where --out FILE [--blocks N] [--threads N] [--shared "
			"BYTES] [--loops N] [--us N] [--count N] [--every-ms N] [--guard 0|1] "
			"[--asks 0|1] [--until FILE]\n");
	exit(2);
}

static void parse(int argc, char **argv, struct settings *s)
{
	const struct {
		const char *name;
		unsigned *number;
	} options[] = {
		{"--blocks", &s->blocks},
		{"--threads", &s->threads},
		{"--shared", &s->shared},
		{"--loops", &s->loops},
		{"--us", &s->us},
		{"--count", &s->count},
		{"--every-ms", &s->every_ms},
		{"--guard", &s->guard},
		{"--asks", &s->asks},
	};
	size_t n = sizeof(options) / sizeof(options[0]);

	for (int i = 1; i < argc; i += 2) {
		size_t k = 0;

		while (k < n && strcmp(options[k].name, argv[i]))
			k++;
		if (i + 1 == argc)
			usage();
		if (strcmp(argv[i], "--out") == 0)
			s->out = argv[i + 1];
		else if (strcmp(argv[i], "--until") == 0)
			s->until = argv[i + 1];
		else if (k == n)
			usage();
		else
			*options[k].number = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	if (!s->out || !s->threads || !s->loops)
		usage();
}

/* Waits until the launch has ended; stops it early once the file of --until exists. */
static void await_launch(const struct settings *s, volatile struct words *host)
{
	struct timespec nap = {.tv_nsec = 5000000};

	while (s->until && !host->stop && cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY) {
		printf("%u ended\n", host->ended);
		fflush(stdout);
		if (access(s->until, F_OK) == 0)
			host->stop = 1;
		else
			nanosleep(&nap, NULL);
	}
	must(cuCtxSynchronize(), "kernel");
}

/* Returns false if a block did not run exactly once. */
static bool write_down(FILE *f, unsigned launch, const struct stay *at, unsigned blocks)
{
	bool ok = true;

	for (unsigned i = 0; i < blocks; i++) {
		ok = ok && at[i].times == 1 && at[i].end >= at[i].start;
		if (!at[i].start)
			continue;
		fprintf(f, "%u %u %u %llu %llu %u %u\n", launch, i, at[i].sm,
			(unsigned long long)(at[i].start % CLOCK_WRAP),
			(unsigned long long)(at[i].end % CLOCK_WRAP), at[i].grid, at[i].warp);
	}
	return ok;
}

int main(int argc, char **argv)
{
	struct settings s = {
		.blocks = 64, .threads = 128, .loops = 1000, .count = 1, .every_ms = 0};
	struct gpu gpu;
	CUdeviceptr out, host_there;
	volatile struct words *host;
	struct stay *at;
	size_t bytes;
	bool ok = true;
	FILE *f;

	parse(argc, argv, &s);
	gpu_open(&gpu, texts[s.us > 0][s.asks ? 2 : s.guard ? 1 : 0], NULL, "where");
	if (s.shared > 48 << 10)
		must(cuFuncSetAttribute(gpu.kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			     (int)s.shared),
			"shared memory");
	bytes = (size_t)s.blocks * sizeof(*at);
	at = malloc(bytes + 1);
	f = fopen(s.out, "w");
	if (!s.blocks || !at || !f) {
		fprintf(stderr, "where: no blocks, no memory, or no file %s\n", s.out);
		return 1;
	}
	must(cuMemAlloc(&out, bytes), "memory");
	must(cuMemHostAlloc((void **)&host, sizeof(*host), CU_MEMHOSTALLOC_DEVICEMAP), "memory");
	must(cuMemHostGetDevicePointer(&host_there, (void *)host, 0), "memory");
	host->stop = host->ended = 0;
	printf("ready, %u SMs\n", gpu.n_sms);
	fflush(stdout);
	for (unsigned i = 0; i < s.count && !host->stop; i++) {
		struct timespec pause = {s.every_ms / 1000, (long)(s.every_ms % 1000) * 1000000};
		uint64_t ns = (uint64_t)s.us * 1000;
		void *args[] = {&out, &s.loops, &host_there, &ns};

		must(cuMemsetD8(out, 0, bytes), "memset");
		must(cuLaunchKernel(gpu.kernel, s.blocks, 1, 1, s.threads, 1, 1, s.shared, NULL,
			     args, NULL),
			"launch");
		await_launch(&s, host);
		must(cuMemcpyDtoH(at, out, bytes), "copy");
		ok = write_down(f, i, at, s.blocks) && ok;
		if (s.every_ms)
			nanosleep(&pause, NULL);
	}
	must(cuMemFree(out), "free");
	must(cuMemFreeHost((void *)host), "free");
	free(at);
	if (fclose(f) || !ok) {
		fprintf(stderr, "where: %s\n", ok ? "cannot write" : "blocks ran not once");
		return 1;
	}
	return 0;
}
