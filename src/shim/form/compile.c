/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles the shim's own PTX and loads it on the device. Code is loaded as a library if the driver
 * supports libraries, else as a module. Loading code that is in the driver's cache takes about a
 * millisecond. */
#include "shim/form/compile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "shim/core/cache.h"
#include "shim/core/inside.h"
#include "shim/form/placing.h"
#include "shim/form/turns.h"

/* a longer load involved the compiler; a load from the driver's cache takes 1 or 2 ms */
#define COMPILES_NS 50000000u

/* ---- exit of the program ---- */

static void before_first(void)
{
	inside_at_exit();
}

/* Registers the shim's exit handler so that it runs before the exit handler of the driver's
 * compiler. Exit handlers run in reverse order of registration, and the compiler registers its own
 * when it is loaded. So this loads the compiler first. */
static void before_first_here(void)
{
	dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_LAZY | RTLD_NODELETE);
	inside_at_exit();
}

/* ---- the assembler, a program in the shim's folder ---- */

static struct assembler assembler;

static void find_assembler(void)
{
	const char *uncached = secure_getenv("CUDA_CACHE_DISABLE"), *slash;
	char path[sizeof(assembler.path)] = "";
	Dl_info own;

	/* The assembler (the separate compiler process) passes its results through the driver's
	 * cache, so it is useless if that cache is disabled. */
	if (!(uncached && number_digits(uncached, SIZE_MAX, 10).value) &&
		dladdr((void *)find_assembler, &own)) {
		slash = strrchr(own.dli_fname, '/');
		snprintf(path, sizeof(path), "%.*s" ASSEMBLER_FILE,
			slash ? (int)(slash - own.dli_fname) + 1 : 0, own.dli_fname);
	}
	assembler_init(&assembler, &cu, path, 0);
}

static enum assembled compile_in_assembler(
	struct session *session, const char *text, size_t len, const struct staged *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_assembler);
	return assemble(&assembler, session->dev, text, len, s, NULL);
}

/* ---- compiling ---- */

/* Returns true if the driver loads a library into contexts at once (CUDA_MODULE_LOADING=EAGER), and
 * not at the first use of a kernel. Also returns true if the driver does not say which. */
static bool places_at_once(void)
{
	CUmoduleLoadingMode mode;

	return !cu.cuModuleGetLoadingMode || cu.cuModuleGetLoadingMode(&mode) != CUDA_SUCCESS ||
	       mode != CU_MODULE_LAZY_LOADING;
}

static bool load_data(const char *text, CUlibrary *ret)
{
	return cu.cuLibraryLoadData(ret, text, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS;
}

static bool load_library(struct session *session, const char *text, CUlibrary *ret)
{
	static pthread_once_t once_compiled = PTHREAD_ONCE_INIT;
	bool ok = false;
	uint64_t began = shim_now_ns();
	struct shim_inside in;

	if (places_at_once()) {
		if (placing_begin(session, &in)) {
			ok = load_data(text, ret);
			placing_end(session, &in);
		}
	} else if (inside_begin(session)) {
		ok = shim_enter(session, &in) == CUDA_SUCCESS && load_data(text, ret);
		shim_leave(&in);
		inside_end(session);
	}
	/* The load was so slow that the code cannot have come from the driver's cache. So the
	 * driver has loaded its compiler in this process, and the compiler has registered its exit
	 * handler. The shim's exit handler must run before the compiler's, so register it now,
	 * later than the compiler's. */
	if (shim_now_ns() - began > COMPILES_NS)
		pthread_once(&once_compiled, before_first);
	return ok;
}

static pthread_once_t once_here = PTHREAD_ONCE_INIT;

bool compile(struct session *session, const char *text, size_t len, const struct staged *s,
	struct compiled *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	enum assembled r = ASSEMBLED_NOT;
	bool ok;

	*ret = (struct compiled){0};
	pthread_once(&once, before_first);
	if (s && has_libraries()) {
		turn_end();
		r = compile_in_assembler(session, text, len, s);
		turn_begin();
		if (r == ASSEMBLED_NOT)
			pthread_once(&once_here, before_first_here);
	}
	ok = !has_libraries() ||
	     ((r == ASSEMBLED || r == ASSEMBLED_NOT) && load_library(session, text, &ret->lib));
	if (s && r == ASSEMBLED_NOT && ok)
		cache_commit(s);
	else if (s && r != ASSEMBLED)
		cache_unstage(s);
	return ok;
}

bool compile_here(struct compiled *c, const char *text, const char *name)
{
	*c = (struct compiled){0};
	pthread_once(&once_here, before_first_here);
	return (!has_libraries() || load_data(text, &c->lib)) && compiled_place(c, text, name);
}
