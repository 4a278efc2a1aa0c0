/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests loads that assume read-only memory, in the kernel of a pool of tasks. While this kernel
 * runs, the host and other kernels write memory. */
#include "unit.h"

#include "host/outside.h"

#include <string.h>

static void test_loads(void **state)
{
	static const char text[] = ".version 7.4\n.target sm_80\n.address_size 64\n"
				   ".visible .entry k(.param .u64 p)\n{\n"
				   ".reg .b64 %a; .reg .f32 %f<4>; .reg .b32 %r;\n"
				   "ld.param.u64 %a, [p];\n"
				   "ld.global.nc.f32 %f0, [%a];\n"
				   "ld.global.nc.L1::no_allocate.v2.f32 {%f1, %f2}, [%a+8];\n"
				   "ld.global.ca.nc.f32 %f3, [%a+4];\n"
				   "ld.const.u32 %r, [%a];\n"
				   "st.global.u32 [%a], %r;\nret;\n}\n";
	static const char *const want[] = {"ld.global.f32 ", "ld.global.L1::no_allocate.v2.f32 ",
		"ld.global.ca.f32 ", "ld.global.u32 "};
	struct ptx_module *m = NULL;
	struct diag_list diags;
	struct strbuf out = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	diag_init(&diags, &arena, "k.ptx", text, sizeof(text) - 1);
	assert_int_equal(ptx_parse(text, sizeof(text) - 1, 0, &diags, &m), 0);
	assert_int_equal(diags.errors, 0);
	assert_int_equal(host_leave_const(m), 0);
	ptx_print(m, &out);
	assert_non_null(strstr(out.at, "ld.global.nc.u32")); /* the former ld.const */
	strbuf_finish(&out);
	assert_int_equal(host_leave_nc(m), 0);
	out = (struct strbuf){0};
	ptx_print(m, &out);
	for (unsigned i = 0; i < ARRAY_LEN(want); i++)
		if (!strstr(out.at, want[i]))
			fail_msg("no '%s' in:\n%s", want[i], out.at);
	assert_null(strstr(out.at, ".nc."));
	strbuf_finish(&out);
	ptx_module_free(m);
	arena_finish(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_loads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
