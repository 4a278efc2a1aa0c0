/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Conditions that a program or its neighbours on the same virtual GPU can create: it runs out of
 * descriptors or threads, lives in another pid namespace, closes all descriptors, blocks
 * signals, forks, cancels threads, or is taken for dead. Each case runs in its own process with
 * a time limit, so that a hang is a failure. */
#include "drv.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "resident.h"

#define LIMIT_S  60
#define ROUNDS_S 0.25 /* enough for a few hundred launches */
#define SKIP     77

static void instance(const char *options)
{
	static int n;
	char text[120];

	snprintf(text, sizeof(text), "process-%d-%d,report=none,%s", (int)getpid(), n++, options);
	setenv("HEDDLE_VGPU", text, 1);
}

/* Runs fn in a child process; end() returns its exit status, or 128 plus the signal. */
static pid_t begin(int (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* a failure in the child aborts it, so that it does not run the other cases */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	alarm(LIMIT_S);
	exit(fn());
}

static int end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void must(int (*fn)(void))
{
	assert_int_equal(end(begin(fn)), 0);
}

/* Launches grids of many blocks for `seconds`, and checks each result. Runs in a child process. */
static void rounds(struct drv_test *t, double seconds)
{
	CUdeviceptr out = drv_words(1);
	double start = drv_seconds();

	for (uint32_t n = 1; drv_seconds() - start < seconds; n++) {
		OK(drv_busy(t, NULL, 100, 1024, 30, out));
		OK(cuCtxSynchronize());
		assert_int_equal(drv_read(out), 100 * n);
	}
}

static int plain_rounds(void)
{
	struct drv_test t;

	drv_begin(&t, NULL);
	rounds(&t, ROUNDS_S);
	drv_end(&t);
	return 0;
}

/* ---- no free descriptors ---- */

static int rounds_without_descriptors(void)
{
	struct rlimit l;
	struct drv_test t;

	drv_begin(&t, NULL);
	rounds(&t, 0);
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &l);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	rounds(&t, ROUNDS_S);
	drv_end(&t);
	l.rlim_cur = l.rlim_max; /* a sanitizer needs descriptors at exit */
	setrlimit(RLIMIT_NOFILE, &l);
	return 0;
}

static void no_descriptors(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	pid_t others[] = {begin(plain_rounds), begin(rounds_without_descriptors)};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(end(others[i]), 0);
}

/* The program closes all descriptors, also those of the driver library. The descriptors that it
 * opens next get the same numbers. */
static int rounds_with_all_closed(void)
{
	struct drv_test t;
	int fds[2];
	char byte = 0;

	drv_begin(&t, NULL);
	rounds(&t, 0);
	closefrom(3);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	rounds(&t, ROUNDS_S);
	drv_end(&t);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	return 0;
}

static void all_closed(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	pid_t others[] = {begin(plain_rounds), begin(rounds_with_all_closed)};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(end(others[i]), 0);
}

/* ---- in another pid namespace ---- */

static void write_file(const char *path, const char *fmt, ...)
{
	char text[80];
	va_list ap;
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		exit(SKIP);
	close(fd);
}

/* The next child becomes the first process of a new pid namespace, with its own /proc if
 * possible. */
static bool leave_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0)
		return false;
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", "%u %u 1", uid, uid);
	write_file("/proc/self/gid_map", "%u %u 1", gid, gid);
	return true;
}

static void own_proc(void)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		(void)mount("proc", "/proc", "proc", 0, NULL);
}

static int rounds_elsewhere(void)
{
	if (!leave_namespace())
		return SKIP;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* children inherit no alarm */
		own_proc();
	}
	/* Skips a sanitizer's checks at exit, which fail in a namespace. */
	_exit(pid ? end(pid) : plain_rounds());
}

static void namespaces(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	pid_t there = begin(rounds_elsewhere), here = begin(plain_rounds);
	int status = end(there);
	assert_int_equal(end(here), 0);
	if (status == SKIP) {
		print_message("left out: no namespaces may be made here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* Takes all SM slots, then is killed without warning. */
static int killed_elsewhere(void)
{
	if (!leave_namespace())
		return SKIP;
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct drv_test t;
		own_proc();
		drv_begin(&t, NULL);
		CUdeviceptr p = (CUdeviceptr)(uintptr_t)drv_mapped(1);
		void *params[] = {&p};
		OK(cuLaunchKernel(drv_fn(&t, "spin"), 9, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
		(void)!write(ready[1], "", 1);
		alarm(LIMIT_S);
		pause();
		exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	assert_int_equal(end(pid), 128 + SIGKILL);
	_exit(0);
}

static void death_elsewhere(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	/* Another process keeps the instance alive. */
	pid_t here = begin(plain_rounds);
	int status = end(begin(killed_elsewhere));
	assert_int_equal(end(here), 0);
	if (status == SKIP)
		skip();
	must(plain_rounds);
}

/* ---- taken for dead ---- */

static int spins_for_ever(void)
{
	struct drv_test t;

	drv_begin(&t, NULL);
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)drv_mapped(1);
	void *params[] = {&p};
	CUfunction spin = drv_fn(&t, "spin");
	/* More blocks than the SM slots can hold: some run, and some wait. */
	for (int i = 0; i < 2; i++)
		OK(cuLaunchKernel(spin, 9, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_DEVICE_UNAVAILABLE);
	assert_int_equal(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_DEVICE_UNAVAILABLE);
	cuDevicePrimaryCtxReset(0);
	return 0;
}

static int forget_all(void)
{
	struct sm_config c;
	struct sm *s;
	uint32_t mine, all = 0;

	sm_config_parse(getenv("HEDDLE_VGPU"), &c);
	assert_int_equal(sm_open(&c, &s), 0);
	while (all == 0) {
		usleep(1000);
		sm_resident(s, &mine, &all);
	}
	sm_lock(s);
	for (uint16_t i = 0; i < SM_MAX_PROCS; i++)
		if (i != s->me && s->t->proc[i].pid)
			sm_forget_proc(s->t, i);
	sm_unlock(s);
	sm_close(s);
	return 0;
}

static void forgotten(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	pid_t victim = begin(spins_for_ever);
	must(forget_all);
	assert_int_equal(end(victim), 0);
}

/* ---- signals ---- */

static void nothing(void *user)
{
	*(volatile int *)user = 1;
}

static int blocks_signals(void)
{
	static volatile int called;
	struct timespec wait = {LIMIT_S, 0};
	struct drv_test t;
	size_t large = 1 << 20;
	sigset_t set;

	drv_begin(&t, NULL);
	/* Starts every thread that the library has. */
	CUdeviceptr p = drv_words(large / 4), q = drv_words(large / 4), word = drv_words(1);
	CUstream s;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyDtoDAsync(p, q, large, NULL));
	OK(cuLaunchHostFunc(NULL, nothing, (void *)(uintptr_t)&called));
	OK(cuStreamWaitValue32(s, word, 0, CU_STREAM_WAIT_VALUE_EQ));
	rounds(&t, 0.1);
	assert_int_equal(called, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGTERM);
	rounds(&t, 0.3);
	assert_true(sigtimedwait(&set, NULL, &wait) > 0);
	assert_true(sigtimedwait(&set, NULL, &wait) > 0);
	drv_end(&t);
	return 0;
}

static void signals(void **state)
{
	(void)state;
	instance("workers=2");
	must(blocks_signals);
}

/* ---- fork ---- */

static _Atomic bool stop;

static void *calls(void *arg)
{
	cuCtxSetCurrent(arg);
	while (!stop) {
		CUdeviceptr p;
		if (cuMemAlloc(&p, 1 << 20) == CUDA_SUCCESS)
			cuMemFree(p);
	}
	return NULL;
}

static int child_asks(void)
{
	CUdeviceptr p;

	alarm(LIMIT_S / 2);
	if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED)
		_exit(1);
	_exit(cuMemAlloc(&p, 4) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 2);
}

static int forks(void)
{
	struct drv_test t;
	pthread_t threads[3];

	drv_begin(&t, NULL);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, calls, t.ctx), 0);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();
		if (pid == 0)
			child_asks();
		assert_int_equal(end(pid), 0);
	}
	stop = true;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	rounds(&t, 0);
	drv_end(&t);
	return 0;
}

static void *initialises(void *arg)
{
	cuInit(0);
	return arg;
}

/* Sanitizers hold locks of their own during a fork, and the child would wait for them. */
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static int forks_in_init(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, initialises, NULL), 0);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			alarm(LIMIT_S / 2);
			CUresult r = cuInit(0);
			_exit(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
		}
		assert_int_equal(end(pid), 0);
	}
	pthread_join(thread, NULL);
	return 0;
}

static void forked(void **state)
{
	(void)state;
	instance("workers=2");
	must(forks);
	for (int i = 0; i < 10 && !SANITIZED; i++)
		must(forks_in_init);
}

/* A forked child keeps no resources of its parent, so others notice the parent's death and end
 * at once. */
static int test_runs[2];

static void stay(void)
{
	char byte;

	close(test_runs[1]);
	(void)!read(test_runs[0], &byte, 1);
	_exit(0);
}

static int leaves_a_child(void)
{
	struct drv_test t;

	drv_begin(&t, NULL);
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)drv_mapped(1);
	void *params[] = {&p};
	OK(cuLaunchKernel(drv_fn(&t, "spin"), 9, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	if (fork() == 0)
		stay();
	kill(getpid(), SIGKILL);
	return 1;
}

static int leaves_in_order(void)
{
	struct drv_test t;

	drv_begin(&t, NULL);
	if (fork() == 0)
		stay();
	drv_end(&t);
	return 0;
}

static void children_left(void **state)
{
	(void)state;
	instance("sms=2,workers=2");
	assert_int_equal(pipe(test_runs), 0);
	pid_t here = begin(plain_rounds);
	assert_int_equal(end(begin(leaves_a_child)), 128 + SIGKILL);
	assert_int_equal(end(here), 0);
	must(plain_rounds);
	must(leaves_in_order);
	must(plain_rounds);
	close(test_runs[1]); /* makes the children exit */
}

/* ---- no new threads ---- */

static void limit_threads(bool limited)
{
	struct rlimit l;

	getrlimit(RLIMIT_NPROC, &l);
	l.rlim_cur = limited ? 1 : l.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NPROC, &l), 0);
}

static int makes_no_threads(void)
{
	static volatile int called;
	struct drv_test t;
	size_t large = 1 << 20;

	/* Limits do not bind root, so the test changes to a user id that no process has. */
	if (geteuid() == 0 && setresuid(2000000011, 2000000011, 2000000011) != 0)
		return SKIP;
	limit_threads(true);
	assert_int_equal(cuInit(0), CUDA_ERROR_OPERATING_SYSTEM);
	limit_threads(false);
	drv_begin(&t, NULL);
	CUdeviceptr p, q;
	OK(cuMemAlloc(&p, large));
	OK(cuMemAlloc(&q, large));
	CUfunction busy = drv_fn(&t, "busy");
	uint32_t n = 5, one = 1;
	void *params[] = {&n, &p};
	limit_threads(true);
	assert_int_equal(cuLaunchKernel(busy, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_OPERATING_SYSTEM);
	assert_int_equal(cuLaunchHostFunc(NULL, nothing, (void *)(uintptr_t)&called),
		CUDA_ERROR_OPERATING_SYSTEM);
	assert_int_equal(cuStreamWaitValue32(NULL, p, 0, CU_STREAM_WAIT_VALUE_EQ),
		CUDA_ERROR_OPERATING_SYSTEM);
	/* Calls that need no thread still work. */
	OK(cuMemcpyHtoD(q, &one, sizeof(one)));
	OK(cuMemcpyDtoDAsync(p, q, large, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(p), 1);
	limit_threads(false);
	OK(cuLaunchKernel(busy, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchHostFunc(NULL, nothing, (void *)(uintptr_t)&called));
	OK(cuCtxSynchronize());
	assert_int_equal(called, 1);
	assert_int_equal(drv_read(p), 2);
	drv_end(&t);
	return 0;
}

static void no_threads(void **state)
{
	(void)state;
	instance("workers=2");
	int status = end(begin(makes_no_threads));
	if (status == SKIP)
		skip();
	assert_int_equal(status, 0);
}

/* ---- cancellation ---- */

static _Atomic bool waiting;

static void *waits(void *arg)
{
	cuCtxSetCurrent(arg);
	waiting = true;
	cuCtxSynchronize();
	pthread_testcancel();
	return NULL;
}

static int cancels(void)
{
	struct drv_test t;
	pthread_t thread;
	void *ret;

	drv_begin(&t, NULL);
	uint32_t *flag = drv_mapped(1);
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)flag;
	void *params[] = {&p};
	OK(cuLaunchKernel(drv_fn(&t, "spin"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(pthread_create(&thread, NULL, waits, t.ctx), 0);
	while (!waiting)
		usleep(1000);
	usleep(50000);
	pthread_cancel(thread);
	usleep(50000);
	assert_int_equal(cuCtxGetCurrent(&t.ctx), CUDA_SUCCESS);
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	pthread_join(thread, &ret);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	rounds(&t, 0);
	drv_end(&t);
	return 0;
}

static void cancelled(void **state)
{
	(void)state;
	instance("workers=2");
	must(cancels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_descriptors),
		cmocka_unit_test(all_closed),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(death_elsewhere),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(signals),
		cmocka_unit_test(forked),
		cmocka_unit_test(children_left),
		cmocka_unit_test(no_threads),
		cmocka_unit_test(cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
