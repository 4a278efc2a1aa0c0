/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The jumps in front of a fake driver: every argument arrives, the first time and later; names that
 * the driver lacks say so; cuGetProcAddress gives the driver's functions or ours. */
#include "unit.h"

#include "dev/dev.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	assert_int_equal(get("cuInit", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, dlsym(fake, "cuInit"));
	assert_int_equal(get("cuLaunchKernel", &fn, 12000, 0, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuLaunchKernel"));
	assert_int_equal(get("cuLaunchKernel", &fn, 12000, 2, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fn, sym("cuLaunchKernel_ptsz"));
	/* Its address is not what the fake exports: told by name and version. */
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
	/* Later: a fork while others load a library is nobody's to survive. */
	pid = fork();
	if (pid == 0)
		_exit(many(NULL) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_fork), /* first, so that they meet at the lookup */
		cmocka_unit_test(arguments_arrive),
		cmocka_unit_test(lacking),
		cmocka_unit_test(proc_address),
	};

	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
