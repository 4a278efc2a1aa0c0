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
		return false; /* exec says what is wrong */
	any = program_obstacle(&p, ret_why, STEER_WHY);
	program_close(&p);
	return any;
}
