/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the common start: parties in separate processes go through rounds together, learn when the
 * first party's kernel started, and are released when one party gives up. */
#include "common.h"
#include "meet.h"
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTIES 3
#define ROUNDS  200

const struct example ex_program = {"test", "test", NULL, NULL};

static char path[] = "/tmp/heddle-meet-XXXXXX";

static int fresh(void **state)
{
	snprintf(path, sizeof(path), "/tmp/heddle-meet-XXXXXX");
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int gone(void **state)
{
	return unlink(path);
}

/* No party may enter round k + 1 before all others have left round k. */
static int party(_Atomic unsigned *in_round, unsigned self)
{
	struct meet *m;
	if (meet_open(path, PARTIES, &m))
		return 1;
	for (unsigned k = 0; k < ROUNDS; k++) {
		uint64_t started = 0;
		in_round[self] = k;
		if (meet_all(m))
			return 2;
		for (unsigned p = 0; p < PARTIES; p++)
			if (in_round[p] != k)
				return 3;
		if (self == 0)
			meet_tell_started(m, 1000 + k);
		else if (meet_await_started(m, self == 1, &started) || started != 1000 + k)
			return 4;
		if (meet_all(m))
			return 5;
	}
	meet_close(m);
	return 0;
}

static void rounds(void **state)
{
	_Atomic unsigned *in_round =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(in_round, MAP_FAILED);
	for (int again = 0; again < 2; again++) { /* the file can be reused */
		pid_t pid[PARTIES];
		for (unsigned p = 0; p < PARTIES; p++) {
			pid[p] = fork();
			if (pid[p] == 0)
				_exit(party(in_round, p));
		}
		for (unsigned p = 0; p < PARTIES; p++) {
			int status;
			assert_int_equal(waitpid(pid[p], &status, 0), pid[p]);
			assert_int_equal(status, 0);
		}
	}
	munmap((void *)in_round, 4096);
}

static void cancelled(void **state)
{
	struct meet *m;
	assert_int_equal(meet_open(path, 2, &m), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(meet_all(m) == -ECANCELED ? 0 : 1);
	usleep(20000); /* so that the party is usually asleep by now; it must return either way */
	meet_cancel(m);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	meet_close(m);
}

static void disagreement(void **state)
{
	struct meet *m, *other;
	assert_int_equal(meet_open(path, 2, &m), 0);
	assert_int_equal(meet_open(path, 3, &other), -EINVAL);
	meet_close(m);
	assert_int_equal(meet_open("/nonexistent/file", 2, &m), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rounds, fresh, gone),
		cmocka_unit_test_setup_teardown(cancelled, fresh, gone),
		cmocka_unit_test_setup_teardown(disagreement, fresh, gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
