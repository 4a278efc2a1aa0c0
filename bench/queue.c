/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The two programs of one measurement (bench/queue.sh); they do not know heddle.
 *
 *  queue low [--launches N] [--block-us D] [--waves W] [--rounds R]
 *    Launches N short kernels on one stream and waits only for the last. Each has 1 to W waves of
 *    blocks of at most D us. Each reads the output of the previous one; the final result is
 *    compared with the expected one.
 *  queue high [--every-us P] [--kernel-us D] [--rounds R]
 *    Launches a kernel of one block per SM every P us and waits for it, until standard input ends.
 *
 * --rounds sets the rounds of the kernel's loop; without it, the program measures how many make the
 * requested time. Each program prints "ready ROUNDS" once its kernel is loaded and has run, and at
 * its end one line of results: "low LAUNCHES SECONDS right|WRONG" or "high LAUNCHES P50_US P99_US
 * MAX_US". */
#include "gpu.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 128
#define A       1664525u
#define C       1013904223u

/* link(data, rounds, add): data[i] = f^rounds(data[i]) + add, f(x) = A x + C. */
static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry link(.param .u64 data, .param .u32 rounds, .param .u32 add)\n{\n"
	"	.reg .b32 %r<9>;\n	.reg .b64 %rd<4>;\n	.reg .pred %p<2>;\n"
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	ld.param.u64 %rd1, [data];\n"
	"	cvta.to.global.u64 %rd1, %rd1;\n	mul.wide.u32 %rd2, %r4, 4;\n"
	"	add.s64 %rd1, %rd1, %rd2;\n	ld.global.u32 %r5, [%rd1];\n"
	"	ld.param.u32 %r6, [rounds];\n	ld.param.u32 %r7, [add];\n"
	"LOOP:\n	setp.eq.u32 %p1, %r6, 0;\n	@%p1 bra OUT;\n"
	"	mad.lo.u32 %r5, %r5, 1664525, 1013904223;\n	sub.u32 %r6, %r6, 1;\n"
	"	bra LOOP;\n"
	"OUT:\n	add.u32 %r5, %r5, %r7;\n	st.global.u32 [%rd1], %r5;\n	ret;\n}\n";

static struct {
	double launches, block_us, waves, rounds, every_us, kernel_us;
} opt = {20000, 20, 10, 0, 2000, 30};
static struct gpu gpu;
static CUdeviceptr data;
static CUstream stream;
static unsigned wave; /* number of blocks that run at once */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void launch(unsigned blocks, unsigned rounds, unsigned add)
{
	void *args[] = {&data, &rounds, &add};

	must(cuLaunchKernel(gpu.kernel, blocks, 1, 1, THREADS, 1, 1, 0, stream, args, NULL),
		"launch");
}

static void parse(int argc, char **argv)
{
	const struct {
		const char *name;
		double *to;
	} options[] = {{"--launches", &opt.launches}, {"--block-us", &opt.block_us},
		{"--waves", &opt.waves}, {"--rounds", &opt.rounds}, {"--every-us", &opt.every_us},
		{"--kernel-us", &opt.kernel_us}};

	for (int i = 2; i < argc; i++) {
		size_t k = 0, n = sizeof(options) / sizeof(options[0]);

		while (k < n && strcmp(options[k].name, argv[i]))
			k++;
		if (k == n || i + 1 == argc) {
			fprintf(stderr, "queue: what is %s\n", argv[i]);
			exit(2);
		}
		*options[k].to = strtod(argv[++i], NULL);
	}
}

/* Returns the loop rounds that make a grid of at most one wave last this long on an idle device. */
static unsigned rounds_for(double us, unsigned blocks)
{
	double took[2];

	for (unsigned i = 0; i < 6; i++) {
		double from = now_us();

		launch(blocks, i % 2 && opt.rounds <= 0 ? 100000 : 0, 0);
		must(cuStreamSynchronize(stream), "kernel");
		took[i % 2] = now_us() - from;
	}
	if (opt.rounds > 0)
		return (unsigned)opt.rounds;
	return (unsigned)(us * 100000 / (took[1] > took[0] ? took[1] - took[0] : 1)) + 1;
}

static void memory(unsigned blocks)
{
	must(cuMemAlloc(&data, (size_t)blocks * THREADS * 4), "memory");
	must(cuMemsetD32(data, 1, (size_t)blocks * THREADS), "memory");
	must(cuCtxSynchronize(), "memory");
}

/* Chooses the size of the k-th launch: long, or half as long; part of a wave, or several full
 * waves. */
static void kth(unsigned k, unsigned rounds, unsigned *ret_blocks, unsigned *ret_rounds)
{
	unsigned waves = 1 + k * 7 % (unsigned)opt.waves;

	*ret_blocks = waves == 1 ? wave / 2 + 1 : waves * wave;
	*ret_rounds = k % 3 ? rounds : rounds / 2;
}

/* Returns a block's expected result, which depends on the launches whose grids include this
 * block. */
static unsigned expected(unsigned b, const unsigned a[2], const unsigned c[2], unsigned rounds)
{
	unsigned x = 1;

	for (unsigned k = 0; k < (unsigned)opt.launches; k++) {
		unsigned blocks, r, half = k % 3 == 0;

		kth(k, rounds, &blocks, &r);
		if (b < blocks)
			x = x * a[half] + c[half] + k;
	}
	return x;
}

static bool is_right(unsigned rounds, unsigned blocks)
{
	unsigned *got = malloc((size_t)blocks * THREADS * 4), bad = 0, a[2] = {1, 1}, c[2] = {0, 0};
	unsigned want = 0;

	must(cuMemcpyDtoH(got, data, (size_t)blocks * THREADS * 4), "result");
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned r = 0; r < (i ? rounds / 2 : rounds); r++) {
			a[i] *= A;
			c[i] = c[i] * A + C;
		}
	}
	for (unsigned b = 0; b < blocks; b++) {
		if (b % wave == 0 || b == wave / 2 + 1)
			want = expected(b, a, c, rounds);
		for (unsigned t = 0; t < THREADS; t++)
			bad += got[b * THREADS + t] != want;
	}
	free(got);
	return !bad;
}

static int low(void)
{
	unsigned blocks, rounds, most = (unsigned)opt.waves * wave;
	double from;

	memory(most);
	rounds = rounds_for(opt.block_us, wave);
	must(cuMemsetD32(data, 1, (size_t)most * THREADS), "memory");
	must(cuCtxSynchronize(), "memory");
	printf("ready %u\n", rounds);
	fflush(stdout);
	from = now_us();
	for (unsigned k = 0; k < (unsigned)opt.launches; k++) {
		unsigned r;

		kth(k, rounds, &blocks, &r);
		launch(blocks, r, k);
	}
	must(cuStreamSynchronize(stream), "queue");
	from = now_us() - from;
	printf("low %u %.3f %s\n", (unsigned)opt.launches, from / 1e6,
		is_right(rounds, most) ? "right" : "WRONG");
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int high(void)
{
	size_t n = 0, cap = 1 << 20;
	double *us = malloc(cap * sizeof(*us)), next;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	unsigned rounds;

	memory(gpu.n_sms);
	rounds = rounds_for(opt.kernel_us, gpu.n_sms);
	printf("ready %u\n", rounds);
	fflush(stdout);
	for (next = now_us(); n < cap && poll(&in, 1, 0) == 0;) {
		double from = now_us(), rest = next - from;

		if (rest > 60) {
			usleep((unsigned)(rest - 60));
			continue;
		}
		if (rest > 0)
			continue;
		launch(gpu.n_sms, rounds, 0);
		must(cuStreamSynchronize(stream), "kernel");
		us[n++] = now_us() - from;
		next = (next + opt.every_us > now_us() ? next : now_us()) + opt.every_us;
	}
	qsort(us, n, sizeof(*us), by_size);
	if (read(0, us + cap - 1, sizeof(*us)) < 0) /* the next request starts on a new line */
		return 1;
	if (n)
		printf("high %zu %.0f %.0f %.0f\n", n, us[n / 2], us[n * 99 / 100], us[n - 1]);
	free(us);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2 || (strcmp(argv[1], "low") && strcmp(argv[1], "high"))) {
		fprintf(stderr, "usage: queue low|high [OPTION NUMBER]...\n");
		return 2;
	}
	parse(argc, argv);
	gpu_open(&gpu, ptx, NULL, "link");
	wave = gpu_wave(&gpu, THREADS);
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
	return argv[1][0] == 'l' ? low() : high();
}
