/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Each child process runs one test as a cmocka group of its own, with its output in a file, so that
 * lines of several tests do not mix. The file is printed as soon as the child ends, so that after a
 * timeout the output shows which tests had ended. */
#include "at_once.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_AT_ONCE 32

struct one {
	pid_t pid;
	FILE *said;
};

static void one_start(struct one *o, const struct CMUnitTest *test)
{
	pid_t parent = getpid();

	o->said = tmpfile();
	assert_non_null(o->said);
	fflush(NULL);
	o->pid = fork();
	assert_true(o->pid >= 0);
	if (o->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dup2(fileno(o->said), 1);
	dup2(fileno(o->said), 2);
	exit(_cmocka_run_group_tests(test->name, test, 1, NULL, NULL));
}

static void one_print(const struct one *o)
{
	char text[4096];
	size_t n;

	rewind(o->said);
	while ((n = fread(text, 1, sizeof(text), o->said)))
		fwrite(text, 1, n, stdout);
	fclose(o->said);
}

int run_at_once(const struct CMUnitTest *tests, size_t count)
{
	struct one ones[MAX_AT_ONCE];
	int failed = 0, status;

	assert_true(count <= MAX_AT_ONCE);
	for (size_t i = 0; i < count; i++)
		one_start(&ones[i], &tests[i]);
	for (size_t left = count; left; left--) {
		pid_t pid = wait(&status);

		for (size_t i = 0; i < count; i++) {
			if (ones[i].pid != pid)
				continue;
			one_print(&ones[i]);
			if (!WIFEXITED(status) || WEXITSTATUS(status)) {
				printf("%s: status 0x%x\n", tests[i].name, (unsigned)status);
				failed++;
			}
		}
	}
	return failed;
}
