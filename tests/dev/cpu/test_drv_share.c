/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two processes on one virtual GPU compete for its SM slots, first come, first served. A process
 * that is killed while it holds every slot blocks no other process. The test forks before it
 * calls the driver, and talks to its children through pipes. */
#include "drv.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char name[60];

static void share(void)
{
	static int n;

	snprintf(name, sizeof(name), "share-%d-%d,sms=2,workers=1", (int)getpid(), n++);
	setenv("HEDDLE_VGPU", name, 1);
}

/* Fills every slot with blocks that spin on *flag, reports this, and ends when the flag is set. */
static void hog(volatile uint32_t *shared_flag, int ready)
{
	struct drv_test t;
	uint32_t *flag;

	drv_begin(&t, NULL);
	flag = drv_mapped(1);
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)flag;
	void *params[] = {&p};
	OK(cuLaunchKernel(drv_fn(&t, "spin"), 5, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	(void)!write(ready, "", 1);
	while (!*shared_flag)
		usleep(500);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	_exit(0);
}

static pid_t start_hog(volatile uint32_t **ret_flag)
{
	int ready[2];
	char byte;

	*ret_flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0)
		hog(*ret_flag, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	return pid;
}

/* Runs the second process, also as a child of the test: the test itself must not initialise the
 * driver, since it forks again. */
static int second(pid_t victim, volatile uint32_t *release, bool kill_it)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct drv_test t;
		drv_begin(&t, NULL);
		CUdeviceptr out = drv_words(1);
		OK(drv_busy(&t, NULL, 3, 64, 20, out));
		/* The other process came first and has blocks left to place, so none of ours
		 * runs. */
		for (int i = 0; i < 20; i++) {
			assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
			usleep(1000);
		}
		if (kill_it)
			kill(victim, SIGKILL);
		else
			*release = 1;
		OK(cuCtxSynchronize());
		assert_int_equal(drv_read(out), 3);
		drv_end(&t);
		exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void contend(void **state)
{
	volatile uint32_t *flag;
	int status;

	(void)state;
	share();
	pid_t pid = start_hog(&flag);
	assert_int_equal(second(pid, flag, false), 0);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void killed(void **state)
{
	volatile uint32_t *flag;

	(void)state;
	share();
	pid_t pid = start_hog(&flag);
	assert_int_equal(second(pid, flag, true), 0);
	waitpid(pid, NULL, 0);
}

/* The survivor's threads go to sleep before the other process starts and takes every slot. */
static void sleeper(int ready, int victim)
{
	struct drv_test t;
	pid_t pid;

	drv_begin(&t, NULL);
	CUdeviceptr out = drv_words(1);
	OK(drv_busy(&t, NULL, 3, 64, 20, out));
	OK(cuCtxSynchronize());
	usleep(100000);
	(void)!write(ready, "", 1);
	assert_int_equal(read(victim, &pid, sizeof(pid)), sizeof(pid));
	OK(drv_busy(&t, NULL, 3, 64, 20, out));
	usleep(100000);
	kill(pid, SIGKILL);
	alarm(60);
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 6);
	drv_end(&t);
	exit(0);
}

static void killed_meanwhile(void **state)
{
	volatile uint32_t *flag;
	int ready[2], victim[2], status;
	char byte;

	(void)state;
	share();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(victim), 0);
	pid_t pid = fork();
	if (pid == 0)
		sleeper(ready[1], victim[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	pid_t hog = start_hog(&flag);
	assert_int_equal(write(victim[1], &hog, sizeof(hog)), sizeof(hog));
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	waitpid(hog, NULL, 0);
}

/* Many short-lived processes: each one that is not killed has the right result. */
static void kills(void **state)
{
	(void)state;
	share();
	for (int i = 0; i < 12; i++) {
		pid_t pid[3];
		for (int k = 0; k < 3; k++) {
			pid[k] = fork();
			if (pid[k])
				continue;
			struct drv_test t;
			drv_begin(&t, NULL);
			CUdeviceptr out = drv_words(1);
			for (int n = 0; n < 5; n++)
				OK(drv_busy(&t, NULL, 20, 256, 200, out));
			OK(cuCtxSynchronize());
			assert_int_equal(drv_read(out), 100);
			drv_end(&t);
			exit(0);
		}
		usleep((unsigned)(i * 1777 % 20000));
		kill(pid[i % 3], SIGKILL);
		for (int k = 0; k < 3; k++) {
			int status;
			waitpid(pid[k], &status, 0);
			if (k != i % 3)
				assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contend),
		cmocka_unit_test(killed),
		cmocka_unit_test(killed_meanwhile),
		cmocka_unit_test(kills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
