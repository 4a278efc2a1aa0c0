/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests libheddle when the driver's compiler crashes on some forms and never ends on others. The
 * error must name the kernels and the way, and say what to do. Everything else must continue to
 * work in the same process, on the same handle. The virtual GPU simulates that compiler. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/task.h"
#include "opened.h"

#define LIMIT 2 /* s */
/* Under these settings the simulated compiler crashes or hangs on PTX that contains a string.
 * hd_pick occurs only in merged forms, "maxntid 96" only in horizontal forms of blocks of 32 and 64
 * threads, and red.global.add only in the kernel itself. This process loads the kernel under VGPU,
 * which lets it compile. */
#define VGPU  "rt-apart,crash=hd_pick,hang=maxntid 96"
#define TASKS "rt-apart,crash=red.global.add"

static const char ptx[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry put(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .b64 %a; .reg .b32 %v;\n"
			  "ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
			  "red.global.add.u32 [%a], %v;\nret;\n}\n";

static unsigned one = 1, many = 1000;

static int open_it(void **state)
{
	static const unsigned zero;
	int r = heddle_open("cpu", &h);

	if (r == 0)
		r = heddle_alloc(h, 4, &at);
	if (r == 0)
		r = heddle_write(h, at, &zero, 4);
	if (r == 0)
		r = heddle_load(h, "ones", ptx, sizeof(ptx) - 1, "put");
	if (r == 0)
		r = heddle_load(h, "thousands", ptx, sizeof(ptx) - 1, "put");
	return opened(r);
}

static void says(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strstr(text, *words))
			fail_msg("'%s' does not say '%s'", text, *words);
}

static int run(const char *way)
{
	void *params[2][2] = {{&at, &one}, {&at, &many}};
	struct heddle_launch l[2] = {{sizeof(l[0]), "ones", {3, 1, 1}, {32, 1, 1}, 0, params[0]},
		{sizeof(l[0]), "thousands", {2, 1, 1}, {64, 1, 1}, 0, params[1]}};

	return heddle_corun(h, l, 2, way, NULL, NULL);
}

static unsigned read_it(void)
{
	unsigned v;

	assert_int_equal(heddle_read(h, &v, at, sizeof(v)), 0);
	return v;
}

#define EACH (3 * 32 + 2 * 64 * 1000u)

static void others_go_on(unsigned before)
{
	if (run("vertical") || run("sequential"))
		fail_msg("%s", heddle_error(h));
	assert_int_equal(read_it(), before + 2 * EACH);
}

/* Runs each way twice. The second time the error is known, and the compiler does not run. */
static void crashes(void **state)
{
	static const char *const words[] = {"kernels 'ones' and 'thousands'", "\"merge\"",
		"compiler crashed", "\"sequential\" and \"streams\" run any", NULL};
	unsigned before = read_it();

	for (int i = 0; i < 2; i++) {
		assert_int_equal(run("merge steal"), -ENOTSUP);
		says(heddle_error(h), words);
		assert_int_equal(setenv("HEDDLE_VGPU", "rt-apart,assemble=1", 1), 0);
	}
	assert_int_equal(setenv("HEDDLE_VGPU", VGPU, 1), 0);
	assert_int_equal(read_it(), before);
	others_go_on(before);
}

static void hangs(void **state)
{
	static const char *const words[] = {"kernels 'ones' and 'thousands'", "\"horizontal\"",
		"not compiled it in 2 s", "\"sequential\" and \"streams\" run any",
		"heddle_limit_compiling", NULL};
	unsigned before = read_it();

	assert_int_equal(heddle_limit_compiling(h, LIMIT), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run("horizontal"), -ETIMEDOUT);
		says(heddle_error(h), words);
	}
	/* lets the other compilations finish */
	assert_int_equal(heddle_limit_compiling(h, 300), 0);
	others_go_on(before);
}

/* A pool that cannot add a kernel stays unchanged. */
static void tasks(void **state)
{
	static const char *const words[] = {
		"'ones' as a task", "compiler crashed", "ordinary launches run any kernel", NULL};
	struct heddle_tasks *t;
	struct heddle *other;
	unsigned kernel;

	assert_int_equal(setenv("HEDDLE_VGPU", TASKS, 1), 0);
	assert_int_equal(heddle_open("cpu", &other), 0);
	assert_int_equal(heddle_load(other, "ones", ptx, sizeof(ptx) - 1, "put"), 0);
	assert_int_equal(heddle_tasks_create(other, NULL, &t), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(heddle_tasks_add(t, "ones", &kernel), -ENOTSUP);
		says(heddle_tasks_error(t), words);
	}
	heddle_close(other);
	assert_int_equal(setenv("HEDDLE_VGPU", VGPU, 1), 0);
	others_go_on(read_it());
}

static void limits(void **state)
{
	static const char *const words[] = {"0 s are no limit", "1 to 86,400", NULL};

	assert_int_equal(heddle_limit_compiling(h, 0), -EINVAL);
	says(heddle_error(h), words);
	assert_int_equal(heddle_limit_compiling(h, 86401), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crashes),
		cmocka_unit_test(hangs),
		cmocka_unit_test(tasks),
		cmocka_unit_test(limits),
	};

	setenv("HEDDLE_VGPU", VGPU, 1);
	return cmocka_run_group_tests(tests, open_it, close_it);
}
