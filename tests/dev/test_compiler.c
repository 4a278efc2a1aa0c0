/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests which driver versions have a PTX compiler that is known to be right, known to be faulty,
 * or unknown. */
#include "unit.h"

#include "base/base.h"
#include "dev/dev.h"

static void test_known(void **state)
{
	static const struct {
		int version;
		enum dev_compiler is;
	} of[] = {
		{0, DEV_COMPILER_NOT_SEEN},
		{11080, DEV_COMPILER_NOT_SEEN},
		{12000, DEV_COMPILER_RIGHT},
		{12060, DEV_COMPILER_RIGHT},
		{12070, DEV_COMPILER_NOT_SEEN},
		{12080, DEV_COMPILER_FAULTY},
		{12090, DEV_COMPILER_FAULTY},
		{13000, DEV_COMPILER_FAULTY},
		{13030, DEV_COMPILER_FAULTY},
		{13040, DEV_COMPILER_RIGHT},
		{13050, DEV_COMPILER_RIGHT},
		{13060, DEV_COMPILER_NOT_SEEN},
		{14000, DEV_COMPILER_NOT_SEEN},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(of); i++)
		assert_int_equal(dev_compiler(of[i].version), of[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_known)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
