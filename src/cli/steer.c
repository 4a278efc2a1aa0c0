/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a program load the shim. LD_LIBRARY_PATH makes the program's loader find the shim, and
 * HEDDLE_DRIVER_LIB makes the shim find the virtual GPU's driver. Both values are checked before
 * the program starts: if the loader interpreted a value differently, the program would silently run
 * without heddle. */
#include "cli/steer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "dev/dev.h"

static bool has_gpu(void)
{
	return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Returns true if the loader would use the path unchanged. The loader splits LD_LIBRARY_PATH at ':'
 * and ';', and replaces names after a '$'. If the path contained such a character, the program
 * would run without heddle. */
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

/* Finds one of heddle's libraries, and checks that its path is safe for the loader. Returns 0, or
 * the exit status after it reports an error. */
static int find_part(
	const struct cli *c, const char *part, const char *built, const char *what, char **ret)
{
	int r = cli_find_part(part, built, ret);

	if (r < 0) {
		cli_error(c, "build or install heddle as a whole", "%s was not found", what);
		return STEER_FAILED;
	}
	if (loader_reads_as_it_is(*ret))
		return 0;
	cli_error(c, "install heddle in a folder without ':', ';' and '$ORIGIN' in its path",
		"the system's loader cannot be told of %s", *ret);
	free(*ret);
	return STEER_FAILED;
}

/* Returns true if there is an NVIDIA driver for the program or the shim to find. That is so if
 * HEDDLE_DRIVER_LIB names a driver or a device file exists. Otherwise the function tries to load
 * the driver, which takes a while: on some machines the device file appears only when the driver
 * starts. */
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

/* Puts dir at the front of LD_LIBRARY_PATH. */
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

/* Puts the folder of one of heddle's libraries at the front of LD_LIBRARY_PATH. Returns 0, or an
 * error as find_part does. */
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

/* Makes the program use the virtual GPU. NVIDIA's CUDA runtime needs functions that the virtual
 * GPU's driver lacks, so programs that load a CUDA runtime get heddle's. */
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

int steer_device(const struct cli *c, bool *ret_steer)
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
	*ret_steer = false;
	return 0;
}

int steer_shim(const struct cli *c)
{
	return library_part(
		c, "shim/libcuda.so.1", "src/shim/libcuda.so.1", "the shim's libcuda.so.1");
}

bool steer_obstacle(const struct cli *c, char ret_why[STEER_WHY])
{
	struct program p;
	bool any;

	if (program_open(c->operands[0], &p) < 0)
		return false; /* exec will report the error */
	any = program_obstacle(&p, ret_why, STEER_WHY);
	program_close(&p);
	return any;
}

const char *steer_to_virtual(const struct cli *c, char buf[STEER_WHY])
{
	for (int i = 1; c->n_operands && c->operands[i]; i++) {
		size_t n = strlen("--device");

		if (strncmp(c->operands[i], "--device", n) == 0 &&
			(!c->operands[i][n] || c->operands[i][n] == '=')) {
			snprintf(buf, STEER_WHY,
				"%s behind %s is an option of that program; heddle's come before "
				"it: heddle %s --device cpu -- %s",
				c->operands[i], c->operands[0], c->verb->name, c->operands[0]);
			return buf;
		}
	}
	return "--device cpu is the virtual GPU";
}

/* Files that users name by mistake instead of a program, by the end of their names. In todo, %1$s
 * is the name, and %2$.*3$s is the name without its end. */
static const struct {
	const char *end, *what, *todo;
} no_programs[] = {
	{".cu", "CUDA source, not a program",
		"build it, then run that: nvcc -cudart shared %1$s -o %2$.*3$s"},
	{".c", "C source, not a program", "build it, then run that: cc %1$s -o %2$.*3$s -lcuda"},
	{".cc", "C++ source, not a program",
		"build it, then run that: c++ %1$s -o %2$.*3$s -lcuda"},
	{".cpp", "C++ source, not a program",
		"build it, then run that: c++ %1$s -o %2$.*3$s -lcuda"},
	{".ptx", "PTX, not a program", "heddle exec %1$s KERNEL ARG... runs a kernel of it"},
	{".cubin", "device code, not a program", "run the program that loads it"},
	{".fatbin", "device code, not a program", "run the program that loads it"},
	{".o", "an object file, not a program", "link it, then run that: nvcc -cudart shared %1$s"},
	{".so", "a library, not a program", "run a program that loads it"},
	{".py", "a script that is not executable", "name its interpreter: python3 %1$s"},
	{".sh", "a script that is not executable", "name its interpreter: sh %1$s"},
};

bool steer_no_program(const char *name, char ret_what[STEER_WHY], char ret_todo[STEER_WHY])
{
	size_t len = strlen(name);
	struct stat st;

	*ret_todo = 0;
	if (stat(name, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode) && (strchr(name, '/') || name[strspn(name, ".")] == 0)) {
		snprintf(ret_what, STEER_WHY, "a folder, not a program");
		return true;
	}
	if (!S_ISREG(st.st_mode))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(no_programs); i++) {
		size_t n = strlen(no_programs[i].end);

		if (len <= n || strcmp(name + len - n, no_programs[i].end) != 0)
			continue;
		snprintf(ret_what, STEER_WHY, "%s", no_programs[i].what);
		snprintf(ret_todo, STEER_WHY, no_programs[i].todo, name, name, (int)(len - n));
		return true;
	}
	if (access(name, X_OK) == 0 || !strchr(name, '/'))
		return false;
	snprintf(ret_what, STEER_WHY, "not executable");
	snprintf(ret_todo, STEER_WHY, "if it is a program: chmod +x %s", name);
	return true;
}
