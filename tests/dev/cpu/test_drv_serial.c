/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests serial mode: a program has the same virtual times on every run, whatever the machine does.
 * Kernels of two streams overlap in virtual time; work in one stream does not. */
#include "drv.h"

#include <sys/wait.h>

struct times {
	float all, one, two;
	uint64_t stamps[2][16][3];
};

static void run(struct times *ret)
{
	struct drv_test t;
	CUstream s[2];
	CUevent begin, mid, end;
	uint32_t n = 3000;
	CUdeviceptr out[2];

	drv_begin(&t, NULL);
	OK(cuEventCreate(&begin, 0));
	OK(cuEventCreate(&mid, 0));
	OK(cuEventCreate(&end, 0));
	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		out[i] = drv_words(16 * 6);
	}
	OK(cuEventRecord(begin, s[0]));
	for (int i = 0; i < 2; i++) {
		void *params[] = {&out[i], &n};
		OK(cuLaunchKernel(drv_fn(&t, "stamp"), 16, 1, 1, 64, 1, 1, 0, s[i], params, NULL));
	}
	OK(cuEventRecord(mid, s[0]));
	OK(cuStreamSynchronize(s[1]));
	void *params[] = {&out[0], &n};
	OK(cuLaunchKernel(drv_fn(&t, "stamp"), 16, 1, 1, 64, 1, 1, 0, s[0], params, NULL));
	OK(cuEventRecord(end, s[0]));
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime(&ret->one, begin, mid));
	OK(cuEventElapsedTime(&ret->two, mid, end));
	OK(cuEventElapsedTime(&ret->all, begin, end));
	for (int i = 0; i < 2; i++)
		OK(cuMemcpyDtoH(ret->stamps[i], out[i], sizeof(ret->stamps[i])));
	drv_end(&t);
}

static void in_child(struct times *ret)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct times t;
		memset(&t, 0, sizeof(t));
		run(&t);
		(void)!write(fd[1], &t, sizeof(t));
		exit(0);
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], ret, sizeof(*ret)), sizeof(*ret));
	close(fd[0]);
	waitpid(pid, NULL, 0);
}

static void same_times(void **state)
{
	struct times a, b;

	(void)state;
	setenv("HEDDLE_VGPU", "serial", 1);
	in_child(&a);
	for (int i = 0; i < 3; i++) {
		in_child(&b);
		assert_memory_equal(&a, &b, sizeof(a));
	}
	assert_true(a.one > 0);
	assert_true(a.all >= a.one + a.two * 0.99);
	/* Both streams' kernels ran at the same virtual time. The first stream's second launch
	 * overwrote its stamps, so the test compares the other stream's stamps with the events. */
	assert_true(a.stamps[1][0][1] > a.stamps[1][0][0]);
	assert_true(a.stamps[0][0][0] >= a.stamps[1][0][1]);
	/* The blocks ran on different SMs. */
	assert_int_not_equal(a.stamps[1][0][2], a.stamps[1][1][2]);
}

/* A host program that spins on memory that a kernel writes also finishes, although it makes no
 * calls. */
static void spinning_host(void **state)
{
	struct drv_test t;

	(void)state;
	setenv("HEDDLE_VGPU", "serial", 1);
	drv_begin(&t, NULL);
	volatile uint32_t *log = drv_mapped(8);
	OK(drv_note(&t, NULL, (CUdeviceptr)(uintptr_t)log, 5));
	double give_up = drv_seconds() + 60;
	while (!__atomic_load_n(&log[0], __ATOMIC_ACQUIRE) && drv_seconds() < give_up)
		usleep(1000);
	assert_int_equal(log[0], 1);
	drv_end(&t);
}

static void clocks_go_on(void **state)
{
	struct drv_test t;
	CUdeviceptr out;
	void *params[] = {&out};

	(void)state;
	setenv("HEDDLE_VGPU", "serial", 1);
	drv_begin(&t, NULL);
	out = drv_words(1);
	OK(cuLaunchKernel(drv_fn(&t, "elapse"), 40, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 40 * 64);
	drv_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_times),
		cmocka_unit_test(spinning_host),
		cmocka_unit_test(clocks_go_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
