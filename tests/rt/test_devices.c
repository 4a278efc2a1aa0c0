/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests libheddle on two devices at once: "cpu:0" and "cpu:1" give separate handles, with memory
 * and kernels on their devices. Numbers without a device are refused. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "heddle/heddle.h"

static const char ptx[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry put(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .b64 %a; .reg .b32 %v;\n"
			  "ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
			  "red.global.add.u32 [%a], %v;\nret;\n}\n";

static void refused(const char *device, int error, const char *says)
{
	struct heddle *h;

	assert_int_equal(heddle_open(device, &h), error);
	if (!strstr(heddle_error(h), says))
		fail_msg("'%s' does not say '%s'", heddle_error(h), says);
	heddle_close(h);
}

static void wrong_numbers(void **state)
{
	refused("cpu:2", -ENODEV, "\"cpu:2\": there are 2 such devices");
	refused("cpu:9999", -ENODEV, "there are 2 such devices");
	refused("cpu:99999", -EINVAL, "is no device");
	refused("cpu:", -EINVAL, "is no device");
	refused("cpu:1x", -EINVAL, "is no device");
	refused("cpu:-1", -EINVAL, "is no device");
	refused("auto:1", -EINVAL, "is no device");
	refused(":1", -EINVAL, "is no device");
}

static void begin(const char *device, unsigned value, struct heddle **ret, uint64_t *ret_at)
{
	void *params[] = {ret_at, &value};
	const struct heddle_launch launch = {.size = sizeof(launch),
		.kernel = "put",
		.grid = {100, 1, 1},
		.block = {1, 1, 1},
		.params = params};
	unsigned zero = 0;

	if (heddle_open(device, ret) || heddle_alloc(*ret, 4, ret_at) ||
		heddle_write(*ret, *ret_at, &zero, 4) ||
		heddle_load(*ret, "put", ptx, sizeof(ptx) - 1, "put") ||
		heddle_corun(*ret, &launch, 1, "sequential", NULL, NULL))
		fail_msg("%s: %s", device, heddle_error(*ret));
}

static unsigned read_back(struct heddle *h, uint64_t at)
{
	unsigned value = 0;

	assert_int_equal(heddle_read(h, &value, at, 4), 0);
	return value;
}

static void two_devices(void **state)
{
	struct heddle *h[2];
	uint64_t at[2];

	begin("cpu:0", 3, &h[0], &at[0]);
	begin("cpu:1", 5, &h[1], &at[1]);
	assert_string_equal(heddle_device(h[0]), "heddle virtual GPU 0");
	assert_string_equal(heddle_device(h[1]), "heddle virtual GPU 1");
	assert_int_equal(read_back(h[0], at[0]), 300);
	assert_int_equal(read_back(h[1], at[1]), 500);
	heddle_close(h[0]);
	assert_int_equal(read_back(h[1], at[1]), 500);
	heddle_close(h[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_devices),
		cmocka_unit_test(wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
