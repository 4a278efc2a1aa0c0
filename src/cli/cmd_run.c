/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle run: starts an unmodified program with the shim in front of the driver. It becomes the
 * program, so status, signals and terminal are the program's own. Only what fails before that is
 * ours to report: 125 our own failure, 126 not executable, 127 not found, as env(1) does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "cli/run_watch.h"
#include "dev/dev.h"

enum { OWN_FAILURE = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static int fail(const struct cli *c, const char *hint, const char *what)
{
	cli_error(c, hint, "%s", what);
	return OWN_FAILURE;
}

static bool has_gpu(void)
{
	return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* The loader would read something else there: it splits the list at ':' and ';', and puts folders
 * of its own in place of names behind a '$'. The program would start without heddle. */
static bool loader_reads_as_it_is(const char *path)
{
	static const char *const names[] = {"ORIGIN", "LIB", "PLATFORM"};

	if (strpbrk(path, ":;"))
		return false;
	for (const char *at = path; (at = strchr(at, '$'));) {
		at += at[1] == '{' ? 2 : 1;
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			if (!strncmp(at, names[i], strlen(names[i])))
				return false;
		}
	}
	return true;
}

/* A part of heddle that the loader is to find. 0; else the status to end with. */
static int find_part(
	const struct cli *c, const char *part, const char *built, const char *what, char **ret)
{
	int r = cli_find_part(part, built, ret);

	if (r < 0) {
		cli_error(c, "build or install heddle as a whole", "%s was not found", what);
		return OWN_FAILURE;
	}
	if (loader_reads_as_it_is(*ret))
		return 0;
	cli_error(c, "install heddle in a folder without ':', ';' and '$ORIGIN' in its path",
		"the system's loader cannot be told of %s", *ret);
	free(*ret);
	return OWN_FAILURE;
}

/* Would the program find one, by itself or where the shim looks? Asked only where no device shows:
 * loading a driver takes a while, and its device may only come to be when it starts. */
static bool has_driver(void)
{
	const char *named = getenv("HEDDLE_DRIVER_LIB");
	struct cu_api cu;

	if ((named && *named) || has_gpu())
		return true;
	if (dev_open(DEV_CUDA, NULL, &cu) < 0)
		return false;
	dev_close(&cu);
	return true;
}

/* Puts dir in front of what LD_LIBRARY_PATH holds. */
static int library_path(const char *dir)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *path = NULL;
	int r;

	if (asprintf(&path, "%s%s%s", dir, old && *old ? ":" : "", old && *old ? old : "") < 0)
		return -ENOMEM;
	r = setenv("LD_LIBRARY_PATH", path, 1);
	free(path);
	return r;
}

/* Puts the folder of a library in front of what LD_LIBRARY_PATH holds. 0; else as find_part. */
static int library_part(const struct cli *c, const char *part, const char *built, const char *what)
{
	char *lib = NULL, *slash;
	int r = find_part(c, part, built, what, &lib);

	if (r)
		return r;
	slash = strrchr(lib, '/');
	*slash = 0;
	r = library_path(lib);
	free(lib);
	return r;
}

/* NVIDIA's CUDA runtime asks the driver for more than the virtual GPU has, so programs that load
 * the runtime get ours. */
static int set_virtual(const struct cli *c)
{
	char *lib = NULL;
	int r = find_part(c, "cpu/libcuda.so.1", "src/dev/cpu/libcuda.so.1",
		"the virtual GPU's libcuda.so.1", &lib);

	if (r)
		return r;
	r = setenv("HEDDLE_DRIVER_LIB", lib, 1) || setenv("HEDDLE_DEVICE", "cpu", 1);
	free(lib);
	return r ? r
		 : library_part(c, "cudart/libcudart.so.13", "src/cudart/libcudart.so.13",
			   "the virtual GPU's libcudart.so.13");
}

/* The virtual GPU only where it is asked for: a machine that lost its driver must not look alive.
 * *ret_steer false: there is no driver, and the program is to find that out by itself. */
static int set_device(const struct cli *c, bool *ret_steer)
{
	const char *want = cli_value(c, "device");

	if (!want)
		want = getenv("HEDDLE_DEVICE");
	if (!want || !*want)
		want = "auto";
	*ret_steer = true;
	if (strcmp(want, "cpu") == 0)
		return set_virtual(c);
	if (strcmp(want, "cuda") == 0)
		return setenv("HEDDLE_DEVICE", "cuda", 1);
	if (strcmp(want, "auto") != 0)
		return cli_usage(c, "HEDDLE_DEVICE: '%s' is not one of cpu|cuda|auto", want);
	if (has_driver())
		return setenv("HEDDLE_DEVICE", "cuda", 1);
	cli_warn(c,
		"no NVIDIA driver was found: %s runs as it would without heddle "
		"(--device cpu is the virtual GPU)",
		c->operands[0]);
	*ret_steer = false;
	return 0;
}

static int set_shim(const struct cli *c)
{
	return library_part(
		c, "shim/libcuda.so.1", "src/shim/libcuda.so.1", "the shim's libcuda.so.1");
}

/* From the root, for a program that goes elsewhere before it asks for it. 0; else the status. */
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
		return fail(c, "give --socket from the root",
			"where the relative path of the socket begins cannot be told");
	}
	free(here);
	if (strlen(path) >= sizeof(((struct wire_status *)0)->socket)) {
		cli_error(c, "sockets' paths have at most 107 bytes", "%s: too long", path);
		free(path);
		return OWN_FAILURE;
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

/* Where the daemon owns an MPS server, the program becomes its client. That must be known before
 * the driver starts; everything else the shim asks by itself. */
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
	bool high = strcmp(priority, "high") == 0 || atoi(priority) > s->may_priority;
	char granted[16];

	if (high && s->may_priority < WIRE_HIGHEST)
		cli_warn(c, "heddled does not grant this user priority %s, but %s", priority,
			ask_priority_name(s->may_priority, granted, sizeof(granted)));
	else if (weight > s->may_weight)
		cli_warn(c, "heddled does not grant this user weight %u, but %u", (unsigned)weight,
			s->may_weight);
}

/* What the daemon says ahead of the start. None: the shim says so, if it comes to that. */
static int ask_daemon(const struct cli *c, uint64_t weight)
{
	const char *priority = getenv("HEDDLE_PRIORITY");
	struct wire_status s;

	if (ask_status(cli_value(c, "socket"), &s) < 0)
		return 0;
	warn_of_rights(c, &s, priority ? priority : "", weight);
	return set_mps(&s, priority ? priority : "");
}

/* False, said: the program goes past the shim. */
static bool can_be_reached(const struct cli *c)
{
	struct program p;
	char why[6400];
	bool can;

	if (program_open(c->operands[0], &p) < 0)
		return true; /* exec says what is wrong */
	can = !program_obstacle(&p, why, sizeof(why));
	if (!can)
		cli_warn(c, "%s runs without heddle: %s", p.path, why);
	program_close(&p);
	return can;
}

/* What the virtual GPU cannot run fails later with a number alone. */
static void warn_of_virtual(const struct cli *c)
{
	const char *device = getenv("HEDDLE_DEVICE"), *why;
	struct program p;

	if (!device || strcmp(device, "cpu") != 0 || program_open(c->operands[0], &p) < 0)
		return;
	why = program_needs_gpu(&p);
	if (why)
		cli_warn(c, "the virtual GPU cannot run %s: %s", p.path, why);
	program_close(&p);
}

int run_exec(const struct cli *c)
{
	execvp(c->operands[0], c->operands);
	return errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

static int run(struct cli *c)
{
	uint64_t weight = 1;
	bool steer = false;
	int r = set_environment(c, &weight);

	if (r == 0)
		r = set_device(c, &steer);
	if (r == 0 && steer && can_be_reached(c))
		r = set_shim(c);
	if (r == 0 && steer) {
		warn_of_virtual(c);
		r = ask_daemon(c, weight);
	}
	if (r != 0)
		return r < 0 ? fail(c, NULL, "out of memory") : r;
	if (cli_has(c, "verbose"))
		return run_watched(c);
	r = run_exec(c);
	cli_error(c, NULL, "%s: %s", c->operands[0], strerror(errno));
	return r;
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "what it is worth against others (default normal)"},
	{'w', "weight", "N", "its share among equals, 1 to 1000 (default 1)"},
	{0, "class", "NAME", "a group it belongs to, as shown by ps"},
	{0, "device", "cpu|cuda|auto", "the virtual GPU, or the GPU (default: the GPU)"},
	{0, "socket", "PATH", "the daemon's socket"},
	{'v', "verbose", NULL, "tell at the end what became of its launches"},
	{0},
};

const struct cli_verb cli_verb_run = {
	.name = "run",
	.operands = "-- PROG [ARG...]",
	.summary = "run an unmodified program as a tenant",
	.details =
		"The program finds a libcuda.so.1 of heddle's before the driver's. Without a "
		"driver, without a daemon, and wherever heddle cannot help, it runs as it would "
		"without heddle, with one line of warning. The virtual GPU is used where "
		"--device cpu or HEDDLE_DEVICE=cpu asks for it; it runs programs that bring "
		"PTX: of the driver API, and of the CUDA runtime if they load it as a library "
		"(nvcc -cudart shared); heddle puts a runtime of its own in place of "
		"NVIDIA's.\n"
		"High priority and weights above 1 are for the daemon's owner, root and a group "
		"that heddled's configuration names; others are granted normal, with a line that "
		"says so.\n"
		"With -v, heddle stays until the program ends, and tells on standard error for "
		"each process that became a tenant: its launches by what became of them, and why, "
		"how often it was "
		"preempted, and the time lost to others; if none did, why, as far as that shows.\n"
		"Exit status: the program's own; 125 heddle failed, 126 the program cannot be "
		"executed, 127 it was not found.",
	.json = "with -v and behind the program's end, on standard error: tenants, an array of "
		"pid, name, device, priority (granted), weight, asked_priority, ended (false: "
		"heddled had not noticed its end), managed, guard, gated, plain, opaque, unseen "
		"(launches of each outcome), reasons (an array of reason, outcome, launches), "
		"preemptions, spanned_ns (managed launches, from first "
		"block to end), waited_ns (launches waited for others), held_ns (launch calls "
		"did); why (no process became a tenant; null: one did). Else nothing: the output "
		"is "
		"the program's.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST | CLI_TEXT_ERRORS | CLI_NO_ENVIRONMENT,
	.run = run,
};
