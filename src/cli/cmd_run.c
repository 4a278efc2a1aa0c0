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

#define CPU_INSTALLED "lib/heddle/cpu/libcuda.so.1"
#define CPU_BUILT     "src/dev/cpu/libcuda.so.1"

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
	const struct cli *c, const char *installed, const char *built, const char *what, char **ret)
{
	int r = cli_find_part(installed, built, ret);

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

static int set_device(const struct cli *c)
{
	const char *want = cli_value(c, "device");
	bool is_auto;
	char *lib = NULL;
	int r;

	if (!want)
		want = getenv("HEDDLE_DEVICE");
	if (!want || !*want)
		want = "auto";
	is_auto = strcmp(want, "auto") == 0;
	if (is_auto)
		want = has_gpu() ? "cuda" : "cpu";
	if (strcmp(want, "cuda") == 0)
		return setenv("HEDDLE_DEVICE", "cuda", 1);
	if (strcmp(want, "cpu") != 0)
		return fail(c, "HEDDLE_DEVICE is cpu, cuda or auto", "no such device");
	if (is_auto && cli_find_part(CPU_INSTALLED, CPU_BUILT, &lib) < 0)
		return 0; /* neither: whatever the program finds by itself */
	free(lib);
	r = find_part(c, CPU_INSTALLED, CPU_BUILT, "the virtual GPU's libcuda.so.1", &lib);
	if (r)
		return r;
	r = setenv("HEDDLE_DRIVER_LIB", lib, 1) || setenv("HEDDLE_DEVICE", "cpu", 1);
	free(lib);
	return r;
}

static int set_shim(const struct cli *c)
{
	char *lib = NULL, *slash;
	int r = find_part(c, "lib/heddle/shim/libcuda.so.1", "src/shim/libcuda.so.1",
		"the shim's libcuda.so.1", &lib);

	if (r)
		return r;
	slash = strrchr(lib, '/');
	*slash = 0;
	r = library_path(lib);
	free(lib);
	return r;
}

/* Where the daemon owns an MPS server, the program becomes its client. That must be known before
 * the driver starts; everything else the shim asks by itself. */
static int set_mps(const struct cli *c, bool low)
{
	struct wire_status s;
	char *slash, pipe[sizeof(s.socket) + 16];

	if (ask_status(cli_value(c, "socket"), &s) < 0 || strcmp(s.mps, "on") != 0)
		return 0;
	slash = strrchr(s.socket, '/');
	if (!slash)
		return 0;
	snprintf(pipe, sizeof(pipe), "%.*s/mps-pipe", (int)(slash - s.socket), s.socket);
	if (setenv("CUDA_MPS_PIPE_DIRECTORY", pipe, 1))
		return -ENOMEM;
	return low ? setenv("CUDA_MPS_CLIENT_PRIORITY", "1", 1) : 0;
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
	r = setenv(WIRE_SOCKET_ENV, path, 1) ? OWN_FAILURE : 0;
	free(path);
	return r;
}

static int set_environment(const struct cli *c)
{
	const char *priority = cli_value(c, "priority");
	const char *group = cli_value(c, "class");
	uint64_t weight = 1;
	char number[24];

	if (cli_number(c, "weight", 1, 1000, &weight))
		return OWN_FAILURE;
	if (group && strlen(group) > 31)
		return fail(c, NULL, "a class has at most 31 characters");
	snprintf(number, sizeof(number), "%u", (unsigned)weight);
	if ((priority && setenv("HEDDLE_PRIORITY", priority, 1)) ||
		(cli_has(c, "weight") && setenv("HEDDLE_WEIGHT", number, 1)) ||
		(group && setenv("HEDDLE_CLASS", group, 1)) || set_socket(c))
		return OWN_FAILURE;
	priority = getenv("HEDDLE_PRIORITY");
	return set_mps(c, priority && strcmp(priority, "low") == 0);
}

static int run(struct cli *c)
{
	int r = set_environment(c);

	if (r == 0)
		r = set_device(c);
	if (r == 0)
		r = set_shim(c);
	if (r != 0)
		return r < 0 ? fail(c, NULL, "out of memory") : OWN_FAILURE;
	execvp(c->operands[0], c->operands);
	r = errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	cli_error(c, NULL, "%s: %s", c->operands[0], strerror(errno));
	return r;
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "what it is worth against others (default normal)"},
	{'w', "weight", "N", "its share among equals, 1 to 1000 (default 1)"},
	{0, "class", "NAME", "a group it belongs to, as shown by ps"},
	{0, "device", "cpu|cuda|auto", "run on the GPU, or on the virtual one"},
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_run = {
	.name = "run",
	.operands = "-- PROG [ARG...]",
	.summary = "run an unmodified program as a tenant",
	.details =
		"The program finds a libcuda.so.1 of heddle's before the driver's. Without a "
		"daemon, "
		"and "
		"wherever heddle cannot help, it runs as it would without heddle, with one line of "
		"warning.\n"
		"High priority and weights above 1 are for the daemon's owner, root and a group "
		"that "
		"heddled's configuration names; others are granted normal.\n"
		"Exit status: the program's own; 125 heddle failed, 126 the program cannot be "
		"executed, "
		"127 it was not found.",
	.json = "nothing: the output is the program's.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = run,
};
