/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds and loads the real driver. This happens at the first call that needs the driver, never in a
 * constructor. HEDDLE_DRIVER_LIB names the library to load: the virtual GPU's library, or a driver
 * in an unusual place. The default is the first libcuda.so.1 of the system that does not contain
 * the shim's marker. */
#include "shim/core/driver.h"
#include "base/environment.h"
#include "dev/symbol.h"
#include "shim/core/connections.h"
#include "shim/core/say.h"
#include "wire/wire.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cu_api cu;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded, gave_up;

/* dev_open_below recognizes a shim by this symbol. */
SHIM_API const int heddle_shim_marker = 1;

static void say_environment(void *user, enum env_variable which, const char *line)
{
	(void)user;
	(void)which;
	shim_say(line, "");
}

static void load_driver(void)
{
	const char *path = secure_getenv("HEDDLE_DRIVER_LIB"), *why;
	struct cu_api api;

	env_check(say_environment, NULL);
	connections_init(); /* must come first: the driver reads the variable when it starts */
	if (dev_open_below(path && *path ? path : NULL, &api) < 0) {
		why = path && *path ? dlerror() : NULL;
		if (path && *path)
			shim_say("HEDDLE_DRIVER_LIB is no driver's library: ", why ? why : path);
		return;
	}
	if (dev_symbol(api.handle, DEV_SHIM_MARKER)) { /* the path leads to the shim itself */
		dev_close(&api);
		return;
	}
	cu = api;
	loaded = true;
	shim_tell_watcher("it called the driver, and launched no kernel");
}

void shim_give_up(void)
{
	gave_up = true;
}

const struct cu_api *shim_driver(void)
{
	if (gave_up)
		return NULL;
	pthread_once(&once, load_driver);
	return loaded ? &cu : NULL;
}

void *shim_real(const char *symbol)
{
	return shim_driver() ? dev_symbol(cu.handle, symbol) : NULL;
}

CUresult shim_lacking(void)
{
	return gave_up  ? CUDA_ERROR_OUT_OF_MEMORY
	       : loaded ? CUDA_ERROR_NOT_SUPPORTED
			: CUDA_ERROR_NO_DEVICE;
}
