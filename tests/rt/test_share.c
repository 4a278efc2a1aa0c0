/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests sessions of heddle/share.h with a real heddled and without one. No kernel runs: the test
 * reports progress in the program's place. */
#include "unit.h"

#include "daemon/harness.h"
#include "heddle/share.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIT  16u    /* blocks of 128 threads on an SM with 2,048 threads */
#define LONG 100000 /* blocks */

static struct heddle *h;
static struct heddle_share_kernel kernel = {
	.size = sizeof(kernel), .name = "played", .blocks = LONG, .block = {64, 2, 1}};
static struct heddle_share_blocks may = {.size = sizeof(may)};

static int open_device(void **state)
{
	return heddle_open("cpu", &h);
}

static int close_device(void **state)
{
	heddle_close(h);
	return 0;
}

static struct heddle_share *init(const char *socket, const char *priority)
{
	struct heddle_share *s = NULL;

	setenv("HEDDLE_SOCKET", socket, 1);
	setenv("HEDDLE_PRIORITY", priority, 1);
	assert_int_equal(heddle_share_init(h, &s), 0);
	assert_non_null(s);
	return s;
}

static void says(struct heddle_share *s, const char *what)
{
	if (!strstr(heddle_share_error(s), what))
		fail_msg("'%s' does not say '%s'", heddle_share_error(s), what);
}

static void obtain(struct heddle_share *s, unsigned expected)
{
	assert_int_equal(heddle_share_obtain(s, &kernel, LIMIT_NS, &may), 0);
	assert_int_equal(may.blocks_per_sm, expected);
	assert_int_equal(may.blocks, expected * may.n_sms);
}

static void changes_to(struct heddle_share *s, unsigned expected)
{
	assert_int_equal(heddle_share_wait(s, LIMIT_NS, &may), 0);
	assert_int_equal(may.blocks_per_sm, expected);
}

/* Waits until the session has no daemon, and checks the reason. */
static void is_alone(struct heddle_share *s, const char *why)
{
	uint64_t end = now_ns() + LIMIT_NS;

	while (!heddle_share_alone(s) && now_ns() < end)
		usleep(1000);
	assert_non_null(heddle_share_alone(s));
	if (!strstr(heddle_share_alone(s), why))
		fail_msg("'%s' does not say '%s'", heddle_share_alone(s), why);
}

static struct daemon start(const char *policy)
{
	return daemon_start((char *[]){"--policy", (char *)policy, NULL});
}

static void end(struct daemon *d)
{
	assert_int_equal(daemon_stop(d), 0);
	daemon_remove(d);
}

static void without_heddled(void **state)
{
	struct heddle_share *s = init("/nonexistent/socket", "normal");

	is_alone(s, "heddled does not run");
	assert_string_equal(heddle_share_error(s), "");
	obtain(s, FIT);
	assert_int_equal(heddle_share_progress(s, 5, 1), 0);
	assert_int_equal(heddle_share_quota(s, &may), 0);
	assert_int_equal(may.of_sm[may.n_sms - 1], FIT);
	assert_int_equal(heddle_share_wait(s, 1000000, &may), -ETIMEDOUT);
	assert_int_equal(heddle_share_release(s), 0);
	assert_int_equal(heddle_share_release(s), -EINVAL);
	says(s, "no kernel is obtained");
	heddle_share_close(s);
	heddle_share_close(NULL);
}

static void refuses(struct heddle_share *s, const struct heddle_share_kernel *k, const char *what)
{
	assert_int_equal(heddle_share_obtain(s, k, 0, &may), -EINVAL);
	says(s, what);
}

static void wrong_arguments(void **state)
{
	struct heddle_share *s = init("/nonexistent/socket", "normal"), *none = s;
	struct heddle_share_blocks small = {.size = sizeof(small) - 1};
	struct heddle_share_kernel k = kernel;

	assert_int_equal(heddle_share_init(NULL, &none), -EINVAL);
	assert_null(none);
	assert_int_equal(heddle_share_obtain(NULL, &kernel, 0, &may), -EINVAL);
	refuses(s, NULL, "sizeof(struct heddle_share_kernel)");
	k.name = "";
	refuses(s, &k, "no name");
	k = kernel;
	k.blocks = 0;
	refuses(s, &k, "0 thread blocks");
	k = kernel;
	k.block[2] = 1u << 31;
	refuses(s, &k, "1 to 1024");
	k = kernel;
	k.registers = 256;
	refuses(s, &k, "256 registers");
	k = kernel;
	k.shared_bytes = UINT32_MAX;
	refuses(s, &k, "fits an SM");
	k = kernel;
	k.blocks_per_sm = 33;
	refuses(s, &k, "33 blocks");
	assert_int_equal(heddle_share_obtain(s, &kernel, 0, &small), -EINVAL);
	assert_int_equal(heddle_share_quota(s, &may), -EINVAL);
	assert_int_equal(heddle_share_wait(s, 0, &may), -EINVAL);
	assert_int_equal(heddle_share_progress(s, 0, 0), -EINVAL);
	obtain(s, FIT);
	assert_int_equal(heddle_share_obtain(s, &kernel, 0, &may), -EBUSY);
	assert_int_equal(heddle_share_progress(s, 4, 5), -EINVAL);
	says(s, "4 blocks started, 5 finished");
	assert_int_equal(heddle_share_progress(s, LONG + 2, LONG + 1), -EINVAL);
	assert_int_equal(heddle_share_progress(s, LONG + 2, LONG - 1), 0);
	assert_int_equal(heddle_share_progress(s, LONG, LONG - 2), -EINVAL);
	heddle_share_close(s);
}

/* If the program does not state how many blocks fit on an SM, heddle computes it from the resources
 * of a block. */
static void as_many_as_fit(void **state)
{
	struct heddle_share *s = init("/nonexistent/socket", "normal");
	struct heddle_share_kernel k = kernel;

	/* 64 registers per thread, 128 threads per block, 65,536 registers per SM */
	k.registers = 64;
	assert_int_equal(heddle_share_obtain(s, &k, 0, &may), 0);
	assert_int_equal(may.blocks_per_sm, 65536 / (64 * 128));
	assert_int_equal(heddle_share_release(s), 0);
	k.blocks_per_sm = 3;
	assert_int_equal(heddle_share_obtain(s, &k, 0, &may), 0);
	assert_int_equal(may.blocks_per_sm, 3);
	heddle_share_close(s);
}

static void two_share(void **state)
{
	struct daemon d = start("greedy");
	struct heddle_share *a = init(d.socket, "normal"), *b = init(d.socket, "normal");

	assert_null(heddle_share_alone(a));
	obtain(a, FIT);
	obtain(b, FIT / 2);
	changes_to(a, FIT / 2);
	assert_int_equal(heddle_share_progress(a, 100, 40), 0);
	/* b's last block has started, so b needs no more room (section 3.2). */
	assert_int_equal(heddle_share_progress(b, LONG, LONG - 8), 0);
	changes_to(a, FIT);
	assert_int_equal(heddle_share_release(b), 0);
	obtain(b, FIT / 2);
	changes_to(a, FIT / 2);
	heddle_share_close(b);
	changes_to(a, FIT);
	assert_int_equal(heddle_share_progress(a, LONG, LONG), 0);
	assert_int_equal(heddle_share_release(a), 0);
	heddle_share_close(a);
	assert_true(status_await_tenants(&d, 0));
	end(&d);
}

static void higher_priority_takes_all(void **state)
{
	struct daemon d = start("hpf");
	struct heddle_share *low = init(d.socket, "low"), *high = init(d.socket, "high"),
			    *third = init(d.socket, "low");

	obtain(low, FIT);
	for (uint64_t started = 200; started < 600; started += 100) {
		assert_int_equal(heddle_share_progress(low, started, started - 100), 0);
		assert_int_equal(heddle_share_obtain(high, &kernel, LIMIT_NS, &may), 0);
		changes_to(low, 0);
		assert_int_equal(heddle_share_obtain(third, &kernel, 20000000, &may), -ETIMEDOUT);
		says(third, "no SM in time");
		assert_int_equal(heddle_share_release(high), 0);
		/* The low-priority session gets no SMs back before its last block has left. */
		assert_int_equal(heddle_share_wait(low, 20000000, &may), -ETIMEDOUT);
		assert_int_equal(heddle_share_progress(low, started, started), 0);
		changes_to(low, FIT);
	}
	heddle_share_close(third);
	heddle_share_close(high);
	heddle_share_close(low);
	end(&d);
}

/* A small high-priority kernel takes the SMs that it needs. */
static void some_sms_are_taken(void **state)
{
	struct daemon d = start("hpf");
	struct heddle_share *low = init(d.socket, "low"), *high = init(d.socket, "high");
	struct heddle_share_kernel small = kernel;
	unsigned without = 0;

	obtain(low, FIT);
	small.blocks = FIT;
	assert_int_equal(heddle_share_obtain(high, &small, LIMIT_NS, &may), 0);
	changes_to(low, FIT);
	for (unsigned i = 0; i < may.n_sms; i++)
		without += may.of_sm[i] == 0;
	assert_in_range(without, 1, may.n_sms - 1);
	assert_int_equal(may.blocks, (may.n_sms - without) * FIT);
	heddle_share_close(high);
	heddle_share_close(low);
	end(&d);
}

static struct {
	struct heddle_share *s;
	_Atomic int result; /* 0: no result yet */
} waiter;

static void *wait_for_ever(void *unused)
{
	struct heddle_share_blocks b = {.size = sizeof(b)};
	int r = -EINVAL;

	while (r == -EINVAL) /* between two kernels */
		r = heddle_share_wait(waiter.s, UINT64_MAX, &b);
	waiter.result = r;
	return NULL;
}

static void released_while_waited_for(void **state)
{
	struct daemon d = start("greedy");
	uint64_t end_ns = now_ns() + LIMIT_NS;
	pthread_t thread;

	waiter.s = init(d.socket, "normal");
	assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
	while (!waiter.result && now_ns() < end_ns) {
		obtain(waiter.s, FIT);
		for (uint64_t i = 0; i < 1000; i++)
			assert_int_equal(heddle_share_progress(waiter.s, i, i / 2), 0);
		assert_int_equal(heddle_share_release(waiter.s), 0);
	}
	assert_int_equal(waiter.result, -ECANCELED);
	pthread_join(thread, NULL);
	heddle_share_close(waiter.s);
	end(&d);
}

static void heddled_dies(void **state)
{
	struct daemon d = start("greedy");
	struct heddle_share *a = init(d.socket, "normal"), *b = init(d.socket, "normal");
	uint64_t end_ns = now_ns() + LIMIT_NS;

	obtain(a, FIT);
	obtain(b, FIT / 2);
	daemon_kill(&d);
	is_alone(b, "heddled is gone");
	changes_to(b, FIT);
	assert_int_equal(heddle_share_progress(b, 9, 8), 0);
	assert_int_equal(heddle_share_release(b), 0);
	/* A session that lost its daemon connects to the next heddled when its next kernel starts,
	 * but not while a kernel runs. */
	d = daemon_in(d.dir, (char *[]){"--policy", "greedy", NULL});
	while (heddle_share_alone(b) && now_ns() < end_ns) {
		obtain(b, FIT);
		assert_int_equal(heddle_share_release(b), 0);
	}
	obtain(b, FIT);
	assert_null(heddle_share_alone(b));
	is_alone(a, "heddled is gone");
	assert_int_equal(heddle_share_release(a), 0);
	obtain(a, FIT / 2);
	changes_to(b, FIT / 2);
	heddle_share_close(b);
	heddle_share_close(a);
	end(&d);
}

static void heddled_hangs(void **state)
{
	struct daemon d = start("greedy");
	struct heddle_share *s = init(d.socket, "normal");

	kill(d.pid, SIGSTOP);
	obtain(s, FIT);
	is_alone(s, "heddled does not answer");
	kill(d.pid, SIGCONT);
	heddle_share_close(s);
	end(&d);
}

static void child_has_none(void **state)
{
	struct heddle_share *s = init("/nonexistent/socket", "normal");
	int status;
	pid_t pid;

	obtain(s, FIT);
	pid = fork();
	if (pid == 0) {
		int r = heddle_share_quota(s, &may);
		bool said = strstr(heddle_share_error(s), "parent") != NULL;

		heddle_share_close(s);
		_exit(r == -EINVAL && said ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	heddle_share_close(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_heddled),
		cmocka_unit_test(wrong_arguments),
		cmocka_unit_test(as_many_as_fit),
		cmocka_unit_test(two_share),
		cmocka_unit_test(higher_priority_takes_all),
		cmocka_unit_test(some_sms_are_taken),
		cmocka_unit_test(released_while_waited_for),
		cmocka_unit_test(heddled_dies),
		cmocka_unit_test(heddled_hangs),
		cmocka_unit_test(child_has_none),
	};

	heddled_path = argc > 1 ? argv[1] : NULL;
	return cmocka_run_group_tests(tests, open_device, close_device);
}
