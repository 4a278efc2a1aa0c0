/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the jumps to the driver with a fake driver: every argument arrives, at the first call and
 * later; functions that the driver lacks return an error; cuGetProcAddress returns the driver's
 * functions or the shim's. Also tests cuInit if MPS fails. */
#include "unit.h"

#include "dev/dev.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *lib;

static void *sym(const char *name)
{
	void *p = dlsym(lib, name);

	assert_non_null(p);
	return p;
}

static void arguments_arrive(void **state)
{
	CUresult (*add)(long, long, long, long, long, long, long, long) = sym("cuLinkAddData_v2");
	CUresult (*bias)(void *, float) = sym("cuTexRefSetMipmapLevelBias");
	CUresult (*init)(unsigned) = sym("cuInit");

	for (int i = 0; i < 3; i++) {
		assert_int_equal(add(1, 2, 3, 4, 5, 6, 7, 8), 87654321);
		assert_int_equal(bias(NULL, 2.5f), 10);
		assert_int_equal(init(77), CUDA_ERROR_STUB_LIBRARY);
		assert_int_equal(init(0), CUDA_SUCCESS);
	}
}

static void lacking(void **state)
{
	CUresult (*fn)(void *, void *) = sym("cuGraphNodeGetToolsId");
	CUresult (*ours)(void *, unsigned) = sym("cuGetProcAddress");

	assert_int_equal(fn(NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(ours(NULL, 0), CUDA_ERROR_NOT_SUPPORTED);
}

typedef CUresult get_fn(const char *, void **, int, uint64_t, CUdriverProcAddressQueryResult *);

static void proc_address(void **state)
{
	get_fn *get = sym("cuGetProcAddress_v2");
	void *fake = dlopen(getenv("HEDDLE_DRIVER_LIB"), RTLD_NOW | RTLD_NOLOAD);
	void *fn;

	assert_non_null(fake);
	assert_int_equal(get("cuTexRefSetMipmapLevelBias", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, dlsym(fake, "cuTexRefSetMipmapLevelBias"));
	assert_int_equal(get("cuInit", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuInit"));
	assert_int_equal(get("cuLaunchKernel", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuLaunchKernel"));
	assert_int_equal(get("cuLaunchKernel", &fn, 12000, 2, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuLaunchKernel_ptsz"));
	/* cuMemFree's address differs from the fake's export: the shim recognizes it by name and
	 * version. */
	assert_int_equal(get("cuMemFree", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuMemFree_v2"));
	assert_int_equal(get("cuNothing", &fn, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
	assert_null(fn);
}

static void *many(void *arg)
{
	CUresult (*add)(long, long, long, long, long, long, long, long) = sym("cuLinkAddData_v2");
	intptr_t bad = 0;

	for (int i = 0; i < 100000; i++)
		bad += add(1, 2, 3, 4, 5, 6, 7, 8) != 87654321;
	return (void *)bad;
}

static void threads_and_fork(void **state)
{
	pthread_t t[4];
	int status;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, many, NULL), 0);
	for (int i = 0; i < 4; i++) {
		void *bad;

		pthread_join(t[i], &bad);
		assert_null(bad);
	}
	/* Fork only now: a child forked while other threads load a library may not survive. */
	pid = fork();
	if (pid == 0)
		_exit(many(NULL) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- cuInit under heddled's MPS ---- */

/* Calls cuInit through the shim. The driver returns these errors, one for each call. ret_said: the
 * output to standard error. */
static CUresult init_with(const int errors[4], int *ret_inits, char *ret_said, size_t max)
{
	void *fake = dlopen(getenv("HEDDLE_DRIVER_LIB"), RTLD_NOW | RTLD_NOLOAD);
	int *inits = dlsym(fake, "fake_inits"), *planned = dlsym(fake, "fake_errors"), ends[2];
	CUresult (*init)(unsigned) = sym("cuInit"), r;
	int saved = dup(2);
	ssize_t n;

	memcpy(planned, errors, 4 * sizeof(int));
	*inits = 0;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], 2);
	close(ends[1]);
	r = init(0);
	dup2(saved, 2);
	close(saved);
	n = read(ends[0], ret_said, max - 1);
	ret_said[n > 0 ? n : 0] = 0;
	close(ends[0]);
	*ret_inits = *inits;
	memset(planned, 0, 4 * sizeof(int));
	return r;
}

/* Sets heddle's folder, and dir/FOLDER as the program's MPS folder. */
static void set_folders(const char *dir, const char *folder)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/sock", dir);
	setenv("HEDDLE_SOCKET", path, 1);
	snprintf(path, sizeof(path), "%s/%s", dir, folder);
	mkdir(path, 0700);
	setenv("CUDA_MPS_PIPE_DIRECTORY", path, 1);
}

static const struct init_case {
	const char *folder;
	int errors[4], inits, result;
	bool without; /* MPS is off in the end */
} init_cases[] = {
	{"mps-pipe", {0}, 1, 0, false}, {"mps-pipe", {805}, 2, 0, false},
	{"mps-pipe", {807, 805}, 3, 0, true}, {"mps-pipe", {809, 809, 809}, 3, 0, true},
	{"mps-pipe", {806, 806, 100}, 3, 100, true}, {"mps-pipe", {805, 999}, 2, 999, false},
	{"mps-pipe", {100}, 1, 100, false},
	/* by the driver's documentation, error 810 ends the program */
	{"mps-pipe", {810}, 1, 810, false},
	{"other", {805}, 1, 805, false}, /* the user's own MPS is none of heddle's business */
};
#define INIT_CASES (sizeof(init_cases) / sizeof(init_cases[0]))

static bool init_is_right(const struct init_case *c)
{
	char said[512];
	int inits;
	CUresult r = init_with(c->errors, &inits, said, sizeof(said));
	bool without = getenv("CUDA_MPS_PIPE_DIRECTORY") == NULL;
	bool right = (int)r == c->result && inits == c->inits && without == c->without;

	if (c->without)
		right = right && strstr(said, "heddle: heddled's MPS refuses") == said &&
			strchr(said, '\n') == said + strlen(said) - 1;
	else
		right = right && !*said;
	if (!right)
		print_error("case %d: result %d, %d inits, %s MPS: %s\n", (int)(c - init_cases),
			(int)r, inits, without ? "without" : "with", said);
	return right;
}

/* Runs each case in a separate process, because cuInit waits before it retries. */
static void init_without_mps(void **state)
{
	char dir[] = "/tmp/heddle-stubs-XXXXXX", command[128];
	pid_t pid[INIT_CASES];

	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < INIT_CASES; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		set_folders(dir, "mps-pipe");
		set_folders(dir, init_cases[i].folder);
		_exit(init_is_right(&init_cases[i]) ? 0 : 1);
	}
	for (size_t i = 0; i < INIT_CASES; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		/* first, so that the threads look up the functions for the first time */
		cmocka_unit_test(threads_and_fork),
		cmocka_unit_test(arguments_arrive),
		cmocka_unit_test(lacking),
		cmocka_unit_test(proc_address),
		cmocka_unit_test(init_without_mps),
	};

	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
