/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Signal handlers and exit handlers that are active while a policy from a file is loaded. A handler
 * reports the end, restores the signal's default action and returns, so that the core dump shows the
 * code that crashed. A call of exit becomes a failure, whatever its status is. Signal handlers run on
 * their own stack, because a policy may have used up the normal one. */
#include "policy_calls.h"
#include "watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES 65536

static const char *const texts[POLICY_CALLS] = {NULL, "loading it", "heddle_policy", "create",
	"decide", "destroy", "unloading it", "check"};

static const struct {
	int number;
	const char *how;
} crashes[] = {
	{SIGSEGV, "has crashed: segmentation fault"},
	{SIGBUS, "has crashed: bus error"},
	{SIGILL, "has crashed: illegal instruction"},
	{SIGFPE, "has crashed: arithmetic error"},
	{SIGABRT, "has aborted"},
	{SIGTRAP, "has crashed: trap"},
	{SIGSYS, "has crashed: forbidden system call"},
};

static struct {
	policy_ended *ended; /* NULL: no call is watched */
	const char *name;    /* of the policy that is called, or was called last */
	const char *call;    /* NULL: no call */
	pthread_t thread;
	void *stack;
	bool at_exit; /* the exit handler is registered, and cannot be removed */
} calls;

const char *policy_call_text(enum policy_call call)
{
	return texts[call];
}

enum policy_call policy_call_of(const char *text)
{
	for (enum policy_call call = POLICY_CALL_LOAD; text && call < POLICY_CALLS; call++) {
		if (strcmp(texts[call], text) == 0)
			return call;
	}
	return POLICY_CALL_NONE;
}

static void report_end(const char *call, const char *how)
{
	policy_ended *ended = __atomic_exchange_n(&calls.ended, NULL, __ATOMIC_ACQ_REL);

	if (ended && calls.name)
		ended(calls.name, call, how);
}

static void on_crash(int number)
{
	bool ours = pthread_equal(pthread_self(), calls.thread);

	for (size_t i = 0; i < ARRAY_LEN(crashes); i++) {
		if (crashes[i].number == number)
			report_end(ours ? calls.call : NULL, crashes[i].how);
	}
	/* The default action has been restored (SA_RESETHAND). A fault occurs again after the
	 * return; a signal that was sent must be sent again. */
	raise(number);
}

static void on_exit_call(void)
{
	if (!calls.call)
		return;
	report_end(calls.call, "has called exit");
	_exit(1);
}

/* A policy's call of _exit or _Exit comes here, because the program's definition precedes libc's. */
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
	bool ours = calls.call && pthread_equal(pthread_self(), calls.thread);

	if (ours)
		report_end(calls.call, "has called _exit");
	for (;;)
		syscall(SYS_exit_group, ours ? 1 : status);
}

__attribute__((visibility("default"), noreturn)) void _Exit(int status)
{
	_exit(status);
}

static void on_hang(const char *name, const char *call)
{
	(void)name;
	report_end(call, "has not returned for a second");
}

static int set_handlers(void)
{
	struct sigaction act = {
		.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
	stack_t stack = {.ss_size = STACK_BYTES};

	if (!calls.stack)
		calls.stack = malloc(STACK_BYTES);
	stack.ss_sp = calls.stack;
	if (!calls.stack || sigaltstack(&stack, NULL) < 0)
		return -ENOMEM;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigaction(crashes[i].number, &act, NULL);
	if (!calls.at_exit && (atexit(on_exit_call) || at_quick_exit(on_exit_call)))
		return -ENOMEM;
	calls.at_exit = true;
	return 0;
}

int policy_calls_watch(policy_ended *ended)
{
	int r = set_handlers();

	if (r < 0)
		return r;
	calls.thread = pthread_self();
	calls.ended = ended;
	watchdog_report(on_hang);
	r = watchdog_start();
	if (r < 0)
		policy_calls_stop();
	return r;
}

void policy_calls_stop(void)
{
	stack_t none = {.ss_flags = SS_DISABLE};

	watchdog_stop();
	calls.ended = NULL;
	calls.name = calls.call = NULL;
	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		signal(crashes[i].number, SIG_DFL);
	sigaltstack(&none, NULL);
	free(calls.stack);
	calls.stack = NULL;
}

void policy_calls_enter(const char *name, const char *call)
{
	calls.name = name;
	calls.call = call;
	watchdog_enter(name, call);
}

void policy_calls_leave(void)
{
	watchdog_leave();
	calls.call = NULL;
}
