/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles the shim's own PTX and loads it on the device. Code is loaded as a library if the driver
 * supports libraries, else as a module. Loading code that is in the driver's cache takes about a
 * millisecond. At the end of the program the driver shuts down, so the exit handler of this file
 * waits until no thread is compiling. */
#include "shim/compile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/placing.h"

/* The longest time, in seconds, that the program's end waits for threads that compile. The wait is
 * bounded because a program can end itself in a callback of the driver. The thread that ends the
 * program then holds a lock of the driver. If a compiling thread waits for that lock, it never
 * finishes. */
#define LONGEST_S   30
#define COMPILES_NS 50000000u /* reading a library from the cache takes a millisecond or two */

/* ---- the program's end ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_inside = PTHREAD_COND_INITIALIZER;
static unsigned n_inside; /* all under the lock */
static struct inside {
	unsigned n, n_pauses;
} each[SHIM_SESSIONS];
static bool ends;

/* Under the lock. */
static void await_none(const unsigned *n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LONGEST_S;
	while (*n && pthread_cond_timedwait(&none_inside, &lock, &until) == 0)
		;
}

static void at_exit(void)
{
	pthread_mutex_lock(&lock);
	ends = true;
	await_none(&n_inside);
	pthread_mutex_unlock(&lock);
}

void compile_pause(void)
{
	pthread_mutex_lock(&lock);
	each[shim_at()].n_pauses++;
	await_none(&each[shim_at()].n);
	pthread_mutex_unlock(&lock);
}

void compile_resume(void)
{
	pthread_mutex_lock(&lock);
	each[shim_at()].n_pauses--;
	pthread_mutex_unlock(&lock);
}

bool compile_goes_inside(void)
{
	bool may;

	pthread_mutex_lock(&lock);
	may = !ends && !each[shim_at()].n_pauses;
	n_inside += may;
	each[shim_at()].n += may;
	pthread_mutex_unlock(&lock);
	return may;
}

void compile_goes_outside(void)
{
	pthread_mutex_lock(&lock);
	n_inside--;
	each[shim_at()].n--;
	pthread_cond_broadcast(&none_inside);
	pthread_mutex_unlock(&lock);
}

static void before_first(void)
{
	atexit(at_exit);
}

/* Registers the shim's exit handler so that it runs before the exit handler of the driver's
 * compiler. Exit handlers run in reverse order of registration, and the compiler registers its own
 * when it is loaded. So this loads the compiler first. */
static void before_first_here(void)
{
	dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_LAZY | RTLD_NODELETE);
	atexit(at_exit);
}

/* ---- the assembler, which lies beside the shim ---- */

static struct assembler assembler;

static void find_assembler(void)
{
	const char *uncached = secure_getenv("CUDA_CACHE_DISABLE"), *slash;
	char path[sizeof(assembler.path)] = "";
	Dl_info own;

	/* The assembler (the separate compiler process) passes its results through the driver's
	 * cache, so it is useless if that cache is disabled. */
	if (!(uncached && atoi(uncached)) && dladdr((void *)find_assembler, &own)) {
		slash = strrchr(own.dli_fname, '/');
		snprintf(path, sizeof(path), "%.*s" ASSEMBLER_FILE,
			slash ? (int)(slash - own.dli_fname) + 1 : 0, own.dli_fname);
	}
	assembler_init(&assembler, &cu, path, 0);
}

static enum assembled compile_apart(const char *text, size_t len, const struct staged *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_assembler);
	return assemble(&assembler, shim->dev, text, len, s, NULL);
}

/* ---- compiling ---- */

static bool has_libraries(void)
{
	return cu.cuLibraryLoadData && cu.cuLibraryUnload && cu.cuLibraryGetKernel &&
	       cu.cuLibraryGetModule && cu.cuKernelGetFunction;
}

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

static bool load_library(const char *text, CUlibrary *ret)
{
	static pthread_once_t once_compiled = PTHREAD_ONCE_INIT;
	bool ok = false;
	uint64_t began = shim_now_ns();
	struct shim_inside in;

	if (places_at_once()) {
		if (placing_begin(&in)) {
			ok = load_data(text, ret);
			placing_end(&in);
		}
	} else if (compile_goes_inside()) {
		ok = shim_enter(&in) == CUDA_SUCCESS && load_data(text, ret);
		shim_leave(&in);
		compile_goes_outside();
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

bool compile(const char *text, size_t len, const struct staged *s, struct compiled *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	enum assembled r = ASSEMBLED_NOT;
	bool ok;

	*ret = (struct compiled){0};
	pthread_once(&once, before_first);
	if (s && has_libraries()) {
		kernel_turn_end();
		r = compile_apart(text, len, s);
		kernel_turn_begin();
		if (r == ASSEMBLED_NOT)
			pthread_once(&once_here, before_first_here);
	}
	ok = !has_libraries() ||
	     ((r == ASSEMBLED || r == ASSEMBLED_NOT) && load_library(text, &ret->lib));
	if (s && r == ASSEMBLED_NOT && ok)
		cache_commit(s);
	else if (s && r != ASSEMBLED)
		cache_unstage(s);
	return ok;
}

static bool function_of_library(struct compiled *c, const char *name)
{
	CUkernel kernel;

	return cu.cuLibraryGetKernel(&kernel, c->lib, name) == CUDA_SUCCESS &&
	       cu.cuLibraryGetModule(&c->mod, c->lib) == CUDA_SUCCESS &&
	       cu.cuKernelGetFunction(&c->fn, kernel) == CUDA_SUCCESS;
}

static bool function_of_module(struct compiled *c, const char *text, const char *name)
{
	return cu.cuModuleLoadDataEx(&c->mod, text, 0, NULL, NULL) == CUDA_SUCCESS &&
	       cu.cuModuleGetFunction(&c->fn, c->mod, name) == CUDA_SUCCESS;
}

bool compile_place(struct compiled *c, const char *text, const char *name)
{
	bool ok = c->lib ? function_of_library(c, name) : function_of_module(c, text, name);

	return ok && (!cu.cuFuncLoad || cu.cuFuncLoad(c->fn) == CUDA_SUCCESS);
}

bool compile_here(struct compiled *c, const char *text, const char *name)
{
	*c = (struct compiled){0};
	pthread_once(&once_here, before_first_here);
	return (!has_libraries() || load_data(text, &c->lib)) && compile_place(c, text, name);
}

void compile_drop_ended(struct compiled *c)
{
	c->mod = NULL;
	compile_drop(c);
}

void compile_drop(struct compiled *c)
{
	if (c->lib)
		cu.cuLibraryUnload(c->lib);
	else if (c->mod)
		cu.cuModuleUnload(c->mod);
	*c = (struct compiled){0};
}
