/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds and loads the real driver. This happens at the first call that needs the driver, never in a
 * constructor. HEDDLE_DRIVER_LIB names the library to load: the virtual GPU's library, or a driver
 * in an unusual place. The default is the first libcuda.so.1 of the system that does not contain
 * the shim's marker. */
#include "base/environment.h"
#include "dev/symbol.h"
#include "host/tenant.h"
#include "shim/connections.h"
#include "shim/shim.h"
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
static bool loaded;

/* The generated stubs (gen_stubs.sh) use two tables: shim_table has one function pointer for each
 * driver function, and shim_names has the functions' names, one after another in the same order. */
extern _Atomic(void *) shim_table[];
extern const char shim_names[];
void *shim_resolve(unsigned index);

/* This symbol tells the shim's library from the driver's. */
SHIM_API const int heddle_shim_marker = 1;

void shim_say(const char *text, const char *more)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "heddle: %s%s\n", text, more);

	if (write(STDERR_FILENO, line, (size_t)MIN(n, (int)sizeof(line) - 1)) < 0)
		return; /* nowhere to say it */
}

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
	connections_init(); /* before the driver, which reads it when it starts */
	if (dev_open_below(path && *path ? path : NULL, &api) < 0) {
		why = path && *path ? dlerror() : NULL;
		if (path && *path)
			shim_say("HEDDLE_DRIVER_LIB is no driver's library: ", why ? why : path);
		return;
	}
	if (dev_symbol(api.handle, DEV_SHIM_MARKER)) { /* told to load ourselves */
		dev_close(&api);
		return;
	}
	cu = api;
	loaded = true;
	shim_tell_watcher("it called the driver, and launched no kernel");
}

const struct cu_api *shim_driver(void)
{
	pthread_once(&once, load_driver);
	return loaded ? &cu : NULL;
}

void *shim_real(const char *symbol)
{
	return shim_driver() ? dev_symbol(cu.handle, symbol) : NULL;
}

CUresult shim_lacking(void)
{
	return loaded ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NO_DEVICE;
}

void *shim_resolve(unsigned index)
{
	const char *name = shim_names;
	void *fn;

	for (unsigned i = 0; i < index; i++)
		name += strlen(name) + 1;
	fn = shim_real(name);
	if (!fn)
		fn = (void *)shim_lacking;
	atomic_store_explicit(&shim_table[index], fn, memory_order_relaxed);
	return fn;
}

void shim_tell_watcher(const char *why)
{
	const char *path = secure_getenv(WIRE_REPORT_ENV);
	struct wire_refused m = {0};
	int sock = path && *path ? wire_connect(path, REPORT_MS) : -1;

	if (sock < 0)
		return;
	wire_head_init(&m.head, WIRE_REFUSED, sizeof(m));
	snprintf(m.why, sizeof(m.why), "%s", why);
	wire_send(sock, &m, NULL, 0);
	close(sock);
}

void shim_warn(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char line[HOST_FAILED + 80];
	int n;

	if (atomic_flag_test_and_set(&said))
		return;
	n = snprintf(line, sizeof(line), "heddle: %s; running natively\n", why);
	if (write(STDERR_FILENO, line, (size_t)MIN(n, (int)sizeof(line) - 1)) < 0)
		return; /* nowhere to say it */
}
