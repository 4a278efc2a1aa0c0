/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle run starts an unmodified program with the shim interposed before the driver. Without -v
 * (run_watch.c) the command replaces itself with the program (exec), so exit status, signals and
 * terminal are the program's own. Only failures before the exec have exit statuses of heddle run,
 * mostly those of env(1):
 * - 125: an error of its own
 * - 126: the program is not executable
 * - 127: the program is not found
 * - 2: a wrong command line */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/run_watch.h"
#include "cli/steer.h"
#include "front/ask.h"
#include "front/cli.h"
#include "sched/policy/policy.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static int fail_with(const struct cli *c, const char *hint, const char *what)
{
	cli_error(c, hint, "%s", what);
	return STEER_FAILED;
}

/* Sets the socket's environment variable to an absolute path, because the program may change its
 * working directory before it uses the path. Returns 0 or the exit status. */
static int set_socket(const struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	char *here, *path = NULL;
	int r;

	if (!socket)
		socket = getenv(WIRE_SOCKET_ENV);
	if (!socket || !*socket)
		return 0;
	here = *socket == '/' ? strdup("") : getcwd(NULL, 0);
	if (!here || asprintf(&path, "%s%s%s", here, *socket == '/' ? "" : "/", socket) < 0) {
		free(here);
		return fail_with(c, "give --socket from the root",
			"where the relative path of the socket begins cannot be told");
	}
	free(here);
	if (strlen(path) >= sizeof(((struct wire_status *)0)->socket)) {
		cli_error(c, "sockets' paths have at most 107 bytes", "%s: too long", path);
		free(path);
		return STEER_FAILED;
	}
	r = setenv(WIRE_SOCKET_ENV, path, 1) ? -ENOMEM : 0;
	free(path);
	return r;
}

static int set_environment(const struct cli *c, uint64_t *ret_weight)
{
	const char *priority = cli_value(c, "priority");
	const char *group = cli_value(c, "class");
	char number[24];
	int r = cli_number(c, "weight", 1, 1000, ret_weight);

	if (r)
		return r;
	if (group && strlen(group) > 31)
		return cli_usage(c, "--class: '%s' has more than 31 characters", group);
	snprintf(number, sizeof(number), "%u", (unsigned)*ret_weight);
	if ((priority && setenv("HEDDLE_PRIORITY", priority, 1)) ||
		(cli_has(c, "weight") && setenv("HEDDLE_WEIGHT", number, 1)) ||
		(group && setenv("HEDDLE_CLASS", group, 1)))
		return -ENOMEM;
	r = set_socket(c);
	if (r)
		return r;
	priority = getenv("HEDDLE_PRIORITY");
	if (priority && *priority && !ask_is_priority(priority))
		return cli_usage(
			c, "HEDDLE_PRIORITY: '%s' is not one of high|normal|low", priority);
	return 0;
}

/* Makes the program a client of heddled's MPS server, if heddled runs one. This must happen before
 * the driver starts. The shim requests everything else from heddled itself. */
static int set_mps(const struct wire_status *s, const char *priority)
{
	char *slash = strrchr(s->socket, '/'), pipe[sizeof(s->socket) + 16];

	if (strcmp(s->mps, "on") != 0 || !slash)
		return 0;
	snprintf(pipe, sizeof(pipe), "%.*s/mps-pipe", (int)(slash - s->socket), s->socket);
	if (setenv("CUDA_MPS_PIPE_DIRECTORY", pipe, 1))
		return -ENOMEM;
	return strcmp(priority, "low") == 0 ? setenv("CUDA_MPS_CLIENT_PRIORITY", "1", 1) : 0;
}

static void warn_of_rights(
	const struct cli *c, const struct wire_status *s, const char *priority, uint64_t weight)
{
	bool high = strcmp(priority, "high") == 0 ||
		    (int64_t)number_digits(priority, 4, 10).value > s->may_priority;
	char granted[16];

	if (high && s->may_priority < WIRE_HIGHEST)
		cli_warn(c, "heddled does not grant this user priority %s, but %s", priority,
			ask_priority_name(s->may_priority, granted, sizeof(granted)));
	else if (weight > s->may_weight)
		cli_warn(c, "heddled does not grant this user weight %u, but %u", (unsigned)weight,
			s->may_weight);
}

/* A policy from a file may use weights, so only heddled's own policies are known to ignore them. */
static void warn_of_weight(const struct cli *c, const struct wire_status *s)
{
	const struct sched_policy *p = sched_policy_find(s->policy);

	if (cli_has(c, "weight") && p && !sched_policy_is(p, HEDDLE_POLICY_BY_SHARES))
		cli_warn(c, "heddled's policy %s ignores weights: heddled --policy ffs uses them",
			p->name);
}

/* Queries heddled before the program starts. If no heddled replies, this function reports nothing:
 * the shim reports the missing heddled when the program needs it. */
static int ask_daemon(const struct cli *c, uint64_t weight)
{
	const char *priority = getenv("HEDDLE_PRIORITY");
	struct wire_status s;

	if (ask_status(cli_value(c, "socket"), &s) < 0)
		return 0;
	warn_of_rights(c, &s, priority ? priority : "", weight);
	warn_of_weight(c, &s);
	return set_mps(&s, priority ? priority : "");
}

/* Returns whether the program will load the shim. If not, prints a warning with the reason. */
static bool can_be_reached(const struct cli *c)
{
	char why[STEER_WHY];

	if (!steer_obstacle(c, why))
		return true;
	cli_warn(c, "%s runs without heddle: %s", c->operands[0], why);
	return false;
}

int run_exec(const struct cli *c)
{
	const char *name = c->operands[0];
	char hint[300], what[STEER_WHY], todo[STEER_WHY];
	int error;

	execvp(name, c->operands);
	error = errno;
	snprintf(hint, sizeof(hint), "./%.200s is in this folder", name);
	if (steer_no_program(name, what, todo))
		cli_error(c, *todo ? todo : NULL, "%s: %s", name, what);
	else if (error == ENOENT && !strchr(name, '/'))
		cli_error(c, access(name, F_OK) == 0 ? hint : NULL, "%s: not found in PATH", name);
	else
		cli_error(c, NULL, "%s: %s", name, strerror(error));
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

static int run_run(struct cli *c)
{
	uint64_t weight = 1;
	char advice[STEER_WHY];
	bool steer = false;
	int r = set_environment(c, &weight);

	if (r == 0)
		r = steer_device(c, &steer);
	if (r == 0 && !steer)
		cli_warn(c, "no NVIDIA driver was found: %s runs as it would without heddle (%s)",
			c->operands[0], steer_to_virtual(c, advice));
	if (r == 0 && steer && can_be_reached(c))
		r = steer_shim(c);
	if (r == 0 && steer)
		r = ask_daemon(c, weight);
	if (r != 0)
		return r < 0 ? fail_with(c, NULL, "out of memory") : r;
	if (cli_has(c, "verbose"))
		return run_watched(c);
	return run_exec(c);
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "scheduling priority (default: normal)"},
	{'w', "weight", "N", "weight: its share of time under policy ffs, 1 to 1000 (default: 1)"},
	{0, "class", "NAME", "name of a group, which heddle ps shows"},
	{0, "device", "cpu|cuda|auto",
		"the virtual GPU, or the GPU (default: the GPU); cuda:1: the second one"},
	{0, "socket", "PATH", "the daemon's socket"},
	{'v', "verbose", NULL, "report at the end how its launches ran"},
	{0},
};

const struct cli_verb cli_verb_run = {
	.name = "run",
	.operands = "-- PROG [ARG...]",
	.summary = "run an unmodified program as a tenant",
	.details =
		"The program finds heddle's libcuda.so.1 before the driver's. Without a driver, "
		"without a daemon, and wherever heddle cannot help, it runs as it would without "
		"heddle, with one line of warning. --device cpu or HEDDLE_DEVICE=cpu runs it on "
		"the virtual GPU. The virtual GPU runs programs that contain PTX and use the "
		"driver API or the shared CUDA runtime (nvcc -cudart shared), which heddle "
		"replaces by its own.\nHigh priority and weights above 1 are for the daemon's "
		"user, root and a group that heddled's configuration names; others get normal "
		"priority, and a line says so.\nWith -v, heddle waits for the program's end, and "
		"reports on standard error for each process that became a tenant: how its launches "
		"ran and why, how often it was preempted, and the time lost to others; if no "
		"process did, why, as far as heddle can tell.\nExit status: the program's own; 125 "
		"heddle failed, 126 the program cannot be executed, 127 it was not found.",
	.json = "with -v and after the program's end, on standard error: tenants, an array of pid, "
		"name, device, priority (granted), weight, asked_priority, ended (false: heddled "
		"had not noticed its end), managed, guard, gated, plain, opaque, unseen (launches "
		"of each outcome), reasons (an array of reason, outcome, launches), preemptions, "
		"spanned_ns (managed launches, from first block to end), waited_ns (launches "
		"waited for others), held_ns (launch calls did); why (no process became a tenant; "
		"null: one did). Else nothing: the output is the program's.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST | CLI_TEXT_ERRORS | CLI_NO_ENVIRONMENT,
	.run = run_run,
};
