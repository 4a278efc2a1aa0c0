/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: test_driver_closed DRIVER. A driver that was opened and closed stays mapped, since its
 * threads keep running. */
#include "unit.h"

#include "base/base.h"
#include "dev/dev.h"

#include <unistd.h>

static const char *driver;

static void test_thread_goes_on(void **state)
{
	CUresult (*version)(int *);
	struct cu_api cu;
	int before, after;

	(void)state;
	assert_int_equal(dev_open(DEV_CUDA, driver, &cu), 0);
	assert_int_equal(cu.cuInit(0), CUDA_SUCCESS);
	version = cu.cuDriverGetVersion;
	dev_close(&cu);
	version(&before);
	do {
		usleep(1000);
		version(&after);
	} while (after < before + 10);
	assert_true(after > before);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_thread_goes_on)};

	if (argc != 2)
		return 2;
	driver = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
