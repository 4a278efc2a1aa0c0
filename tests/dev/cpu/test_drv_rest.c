/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests a kernel that stays resident and polls words that the host writes, like a pool of tasks.
 * While no word arrives it costs next to no CPU time. It answers when a word arrives, and blocks no
 * other thread's driver calls, in every mode of the virtual GPU. */
#include "base/base.h"
#include "drv.h"

#include <pthread.h>
#include <sys/resource.h>

/* stay(ask, answer): warp 0 polls ask[0] and ask[1] in turn. It copies ask[0] into a word of
 * shared memory, which the other warps poll; when all have seen the value, it copies it into
 * `answer`. ask[1] ends the kernel. With `mixed`, the other warps keep counting, each in its own
 * word after answer[32]. work(out, end): keeps counting in *out until *end is not 0. */
static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry stay(.param .u64 ask, .param .u64 answer)\n{\n"
	"	.shared .align 4 .u32 go, seen;\n"
	"	.reg .pred %p<3>;\n	.reg .b32 %r<8>;\n	.reg .b64 %d<4>;\n"
	"	ld.param.u64 %d0, [ask];\n	ld.param.u64 %d1, [answer];\n"
	"	mov.u32 %r0, %tid.x;\n	shr.u32 %r1, %r0, 5;\n	mov.u32 %r2, 0;\n"
	"	setp.eq.u32 %p0, %r0, 0;\n	@%p0 st.shared.u32 [go], 0;\n"
	"	@%p0 st.shared.u32 [seen], 0;\n	bar.sync 0;\n"
	"	mov.u32 %r7, %ctaid.x;\n	mul.wide.u32 %d2, %r7, 4;\n	add.u64 %d1, %d1, "
	"%d2;\n"
	"	setp.ne.u32 %p0, %r1, 0;\n	@%p0 bra $executor;\n	and.b32 %r1, %r0, 31;\n"
	"	setp.ne.u32 %p0, %r1, 0;\n	@%p0 ret;\n"
	"$look:\n	ld.acquire.sys.global.u32 %r3, [%d0];\n	setp.ne.u32 %p1, %r3, %r2;\n"
	"	@%p1 bra $asked;\n"
	"	ld.relaxed.sys.global.u32 %r4, [%d0+4];\n	setp.eq.u32 %p1, %r4, 0;\n"
	"	@%p1 bra $look;\n	st.release.cta.shared.u32 [go], 0xffffffff;\n	ret;\n"
	"$asked:\n	mov.u32 %r2, %r3;\n	st.release.cta.shared.u32 [go], %r3;\n"
	"$all:\n	ld.acquire.cta.shared.u32 %r5, [seen];\n	mov.u32 %r6, %ntid.x;\n"
	"	shr.u32 %r6, %r6, 5;\n	sub.u32 %r6, %r6, 1;\n	mul.lo.u32 %r6, %r6, %r2;\n"
	"	setp.ne.u32 %p1, %r5, %r6;\n	@%p1 bra $all;\n"
	"	st.release.sys.global.u32 [%d1], %r2;\n	bra $look;\n"
	"$executor:\n	and.b32 %r1, %r0, 31;\n	setp.ne.u32 %p0, %r1, 0;\n	@%p0 ret;\n"
	"$wait:\n	ld.acquire.cta.shared.u32 %r3, [go];\n	setp.eq.u32 %p1, %r3, %r2;\n"
	"	@%p1 bra $wait;\n	setp.eq.u32 %p1, %r3, 0xffffffff;\n	@%p1 ret;\n"
	"	mov.u32 %r2, %r3;\n	red.shared.add.u32 [seen], 1;\n	bra $wait;\n}\n"
	".visible .entry mixed(.param .u64 ask, .param .u64 answer)\n{\n"
	"	.reg .pred %p<3>;\n	.reg .b32 %r<8>;\n	.reg .b64 %d<4>;\n"
	"	ld.param.u64 %d0, [ask];\n	ld.param.u64 %d1, [answer];\n"
	"	mov.u32 %r0, %tid.x;\n	and.b32 %r1, %r0, 31;\n"
	"	setp.ne.u32 %p0, %r1, 0;\n	@%p0 ret;\n"
	"	mov.u32 %r7, %ctaid.x;\n	mov.u32 %r2, 0;\n"
	"	setp.ne.u32 %p0, %r0, 0;\n	@%p0 bra $count;\n"
	"	mul.wide.u32 %d2, %r7, 4;\n	add.u64 %d1, %d1, %d2;\n"
	"$look:\n	ld.acquire.sys.global.u32 %r3, [%d0];\n	setp.ne.u32 %p1, %r3, %r2;\n"
	"	@%p1 st.release.sys.global.u32 [%d1], %r3;\n	mov.u32 %r2, %r3;\n"
	"	ld.relaxed.sys.global.u32 %r4, [%d0+4];\n	setp.eq.u32 %p1, %r4, 0;\n"
	"	@%p1 bra $look;\n	ret;\n"
	"$count:\n	mov.u32 %r5, %ntid.x;\n	mad.lo.u32 %r5, %r5, %r7, %r0;\n"
	"	shr.u32 %r5, %r5, 5;\n	mul.wide.u32 %d2, %r5, 4;\n	add.u64 %d1, %d1, %d2;\n"
	"$on:\n	add.u32 %r2, %r2, 1;\n	st.volatile.global.u32 [%d1+128], %r2;\n"
	"	and.b32 %r6, %r2, 255;\n	setp.ne.u32 %p1, %r6, 0;\n	@%p1 bra $on;\n"
	"	ld.relaxed.sys.global.u32 %r4, [%d0+4];\n	setp.eq.u32 %p1, %r4, 0;\n"
	"	@%p1 bra $on;\n	ret;\n}\n"
	".visible .entry work(.param .u64 out, .param .u64 end)\n{\n"
	"	.reg .pred %p;\n	.reg .b32 %r<3>;\n	.reg .b64 %d<2>;\n"
	"	ld.param.u64 %d0, [out];\n	ld.param.u64 %d1, [end];\n	mov.u32 %r0, 0;\n"
	"$on:\n	add.u32 %r0, %r0, 1;\n	st.global.u32 [%d0], %r0;\n"
	"	ld.volatile.global.u32 %r1, [%d1];\n	setp.eq.u32 %p, %r1, 0;\n	@%p bra "
	"$on;\n"
	"	ret;\n}\n";

#define BLOCKS 4

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static CUfunction load(struct drv_test *t, const char *options, const char *name)
{
	CUfunction fn;
	CUmodule mod;

	drv_begin(t, options);
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&fn, mod, name));
	return fn;
}

static bool answered(volatile uint32_t *answer, uint32_t n)
{
	for (double until = drv_seconds() + 60; drv_seconds() < until; usleep(50)) {
		bool all = true;

		cuStreamQuery(NULL); /* in serial mode the GPU advances only in driver calls */
		for (int i = 0; i < BLOCKS; i++)
			all &= __atomic_load_n(&answer[i], __ATOMIC_ACQUIRE) == n;
		if (all)
			return true;
	}
	return false;
}

/* The test bounds CPU time, which a busy machine makes smaller, not larger. */
static void stays_at_rest(const char *options, bool measured)
{
	struct drv_test t;
	CUfunction fn = load(&t, options, "stay");
	uint32_t *ask = drv_mapped(64), *answer = ask + 32;
	CUdeviceptr at[2] = {(CUdeviceptr)(uintptr_t)ask, (CUdeviceptr)(uintptr_t)answer};
	void *params[] = {&at[0], &at[1]};
	uint32_t n = 0;

	OK(cuLaunchKernel(fn, BLOCKS, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++) {
			__atomic_store_n(&ask[0], ++n, __ATOMIC_RELEASE);
			assert_true(answered(answer, n));
		}
		if (!measured)
			continue;
		usleep(50000);
		double cpu = cpu_seconds(), wall = drv_seconds();
		usleep(200000);
		cpu = cpu_seconds() - cpu;
		wall = drv_seconds() - wall;
		print_message("at rest: %.1f %% of a processor\n", 100 * cpu / wall);
		assert_true(cpu < 0.3 * wall);
	}
	__atomic_store_n(&ask[1], 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	drv_end(&t);
}

static void rests(void **state)
{
	(void)state;
	stays_at_rest("workers=2", true);
}

static void rests_serial(void **state)
{
	(void)state;
	stays_at_rest("serial", false);
}

/* Warps that poll and warps that compute yield to each other: within a block, and between blocks
 * of an SM. A waiting host thread sees the results of both. */
static void fair(const char *options)
{
	struct drv_test t;
	CUfunction fn = load(&t, options, "mixed");
	uint32_t *ask = drv_mapped(64 + BLOCKS * 32), *answer = ask + 32, *counts = answer + 32;
	CUdeviceptr at[2] = {(CUdeviceptr)(uintptr_t)ask, (CUdeviceptr)(uintptr_t)answer};
	void *params[] = {&at[0], &at[1]};

	OK(cuLaunchKernel(fn, BLOCKS, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	for (uint32_t n = 1; n <= 20; n++) {
		__atomic_store_n(&ask[0], n, __ATOMIC_RELEASE);
		assert_true(answered(answer, n));
	}
	for (int i = 0; i < BLOCKS * 32; i++) {
		double until = drv_seconds() + 60;

		while (i % 32 && !__atomic_load_n(&counts[i], __ATOMIC_RELAXED)) {
			cuStreamQuery(NULL);
			assert_true(drv_seconds() < until);
		}
	}
	__atomic_store_n(&ask[1], 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	drv_end(&t);
}

static void is_fair(void **state)
{
	(void)state;
	fair("workers=1,sms=2");
}

static void is_fair_serial(void **state)
{
	(void)state;
	fair("serial,sms=2");
}

static void *waits(void *ctx)
{
	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamSynchronize(NULL));
	return NULL;
}

/* While one thread waits for a kernel that never pauses, other threads' calls return. */
static void lets_others_in(void **state)
{
	struct drv_test t;
	CUfunction fn;
	pthread_t id;

	(void)state;
	fn = load(&t, "serial", "work");
	uint32_t *end = drv_mapped(1);
	CUdeviceptr at[2] = {drv_words(1), (CUdeviceptr)(uintptr_t)end}, p[50];
	void *params[] = {&at[0], &at[1]};
	CUcontext ctx;

	OK(cuCtxGetCurrent(&ctx));
	OK(cuLaunchKernel(fn, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(pthread_create(&id, NULL, waits, ctx), 0);
	alarm(100);
	for (int i = 0; i < 50; i++) {
		/* not freed, since cuMemFree would wait for the kernel */
		OK(cuMemAlloc(&p[i], 100));
		usleep(1000);
	}
	__atomic_store_n(end, 1, __ATOMIC_RELEASE);
	pthread_join(id, NULL);
	alarm(0);
	for (int i = 0; i < 50; i++)
		OK(cuMemFree(p[i]));
	assert_true(drv_read(at[0]) > 0);
	drv_end(&t);
}

/* usage: test_drv_rest NAME. A process has one driver mode, so each test runs in a process of
 * its own. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rests), cmocka_unit_test(rests_serial),
		cmocka_unit_test(is_fair), cmocka_unit_test(is_fair_serial),
		cmocka_unit_test(lets_others_in)};

	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(tests); i++) {
		const struct CMUnitTest one[] = {tests[i]};

		if (!strcmp(tests[i].name, argv[1]))
			return cmocka_run_group_tests(one, NULL, NULL);
	}
	return 2;
}
