/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests libheddle's errors: an error code, and a text that says what failed, where, and what to do.
 * Existing objects stay unchanged. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opened.h"

static const char ptx[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry put(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .b64 %a; .reg .b32 %v;\n"
			  "ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
			  "red.global.add.u32 [%a], %v;\nret;\n}\n"
			  ".visible .entry half(.param .u64 p)\n{\nbar.arrive 1, 64;\nret;\n}\n"
			  ".visible .entry ninth(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .b64 %a; .reg .b32 %v;\n"
			  "ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\nbar.sync 9;\n"
			  "red.global.add.u32 [%a], %v;\nret;\n}\n";

static int open_it(void **state)
{
	int r = heddle_open("cpu", &h);

	if (r == 0)
		r = heddle_alloc(h, 4, &at);
	if (r == 0)
		r = heddle_load(h, "put", ptx, sizeof(ptx), "put"); /* includes the final NUL */
	if (r == 0)
		r = heddle_load(h, "half", ptx, sizeof(ptx) - 1, "half");
	if (r == 0)
		r = heddle_load(h, "ninth", ptx, sizeof(ptx) - 1, "ninth");
	return opened(r);
}

/* The last error contains both strings. */
static void says(const char *a, const char *b)
{
	if (!strstr(heddle_error(h), a) || !strstr(heddle_error(h), b))
		fail_msg("'%s' does not say '%s' and '%s'", heddle_error(h), a, b);
}

static unsigned value;
static void *params[] = {&at, &value};

static struct heddle_launch launch(unsigned blocks)
{
	return (struct heddle_launch){.size = sizeof(struct heddle_launch),
		.kernel = "put",
		.grid = {blocks, 1, 1},
		.block = {1, 1, 1},
		.params = params};
}

static int run(struct heddle_launch *l, unsigned n, const char *way)
{
	return heddle_corun(h, l, n, way, "/nonexistent/store", NULL);
}

static void opening(void **state)
{
	struct heddle *bad;
	uint64_t address;

	assert_int_equal(heddle_open("tpu", &bad), -EINVAL);
	assert_non_null(strstr(heddle_error(bad), "\"tpu\" is no device; \"auto\""));
	assert_int_equal(heddle_alloc(bad, 4, &address), -EINVAL);
	assert_non_null(strstr(heddle_error(bad), "not open"));
	heddle_close(bad);
	heddle_close(NULL);
	assert_non_null(strstr(heddle_error(NULL), "out of memory"));
	assert_string_equal(heddle_device(h), "heddle virtual GPU");
}

/* A child process must get an error if its parent has used the driver. */
static void in_a_child(void **state)
{
	static const char *const devices[] = {"cpu", "auto"};

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			struct heddle *child;
			int r = heddle_open(devices[i], &child);

			if (r != -ENODEV || !strstr(heddle_error(child), "child of fork") ||
				!strstr(heddle_error(child), "exec")) {
				fprintf(stderr, "%s: %d: %s\n", devices[i], r, heddle_error(child));
				_exit(1);
			}
			heddle_close(child);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void loading(void **state)
{
	static const char wrong[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
				    ".visible .entry e()\n{\nadd.u32 %nope, 1, 2;\nret;\n}\n";

	assert_int_equal(heddle_load(h, "e", wrong, sizeof(wrong) - 1, "e"), -EINVAL);
	says("e:6:", "%nope");
	assert_int_equal(heddle_load(h, "e", ptx, sizeof(ptx) - 1, "e"), -ENOENT);
	says("no entry 'e'", "extern \"C\"");
	assert_int_equal(heddle_load(h, "put", ptx, sizeof(ptx) - 1, "put"), -EEXIST);
	says("called 'put' already", "heddle_corun");
	assert_int_equal(heddle_load_file(h, "e", "/nonexistent/e.ptx", "e"), -ENOENT);
	says("/nonexistent/e.ptx", "No such file");
}

static void launches(void **state)
{
	struct heddle_launch l[2] = {launch(1), launch(1)};
	struct heddle_result small = {.size = 8};

	assert_int_equal(run(l, 0, "streams"), -EINVAL);
	says("0 kernels", "8");
	assert_int_equal(run(l, 9, "streams"), -EINVAL);
	l[1].kernel = "putt";
	assert_int_equal(run(l, 2, "streams"), -ENOENT);
	says("launch 2", "'putt'");
	l[1] = launch(0);
	assert_int_equal(run(l, 2, "streams"), -EINVAL);
	says("grid 0,1,1", "at least 1");
	l[1] = launch(1);
	l[1].block[0] = l[1].block[1] = 64;
	assert_int_equal(run(l, 2, "streams"), -EINVAL);
	says("4096 threads", "1024");
	l[1] = launch(1);
	l[1].params = NULL;
	assert_int_equal(run(l, 2, "streams"), -EINVAL);
	says("parameter 1 of 2", "pointer");
	l[1] = launch(1);
	l[1].size = 8;
	assert_int_equal(run(l, 2, "streams"), -EINVAL);
	says("size 8", "sizeof");
	l[1] = launch(1);
	assert_int_equal(heddle_corun(h, l, 2, "streams", NULL, &small), -EINVAL);
	says("size 8", "sizeof");
}

static void ways(void **state)
{
	struct heddle_launch l[2] = {launch(3), launch(2)};
	struct heddle_result res = {.size = sizeof(res)};
	char longer[200];

	assert_int_equal(run(l, 2, "merge partition=1:2:3"), -EINVAL);
	says("no way of running 2 kernels", "share");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(run(l, 2, longer), -EINVAL);
	assert_int_equal(run(l, 2, "green=1:1"), -ENOTSUP);
	says("green contexts", "streams");
	assert_int_equal(run(l, 2, "tuned"), -ENOENT);
	says("not been measured", "heddle tune");
	assert_int_equal(run(l, 2, "merge steal own=3"), -EINVAL);
	assert_int_equal(run(l, 2, "merge steal own=1:2"), -EINVAL);
	assert_int_equal(run(l, 2, "merge apart=1:1 help own=2"), -EINVAL);
	says("workers of its own alone", "mixed");
	assert_int_equal(run(l, 2, "merge partition=1:1 total-workers=1"), -EINVAL);
	says("would have no worker", "help");
	l[1].kernel = "half";
	l[1].block[0] = 64;
	assert_int_equal(run(l, 2, "merge steal"), -ENOTSUP);
	says("'half' cannot be merged: bar.arrive", "streams");
	l[1] = launch(2);
	assert_int_equal(run(l, 2, "weave sliced"), -EINVAL);
	assert_int_equal(run(l, 2, "weave registers=15"), -EINVAL);
	assert_int_equal(run(l, 2, "weave registers=257"), -EINVAL);
	assert_int_equal(run(l, 1, "weave"), -ENOTSUP);
	says("woven", "vertical");
	/* A way of NULL runs what heddle tune chose; without measurements, that is "sequential". */
	l[1] = launch(2);
	value = 1;
	assert_int_equal(heddle_corun(h, l, 2, NULL, "/nonexistent/store", &res), 0);
	assert_string_equal(res.way, "sequential");
}

/* Forms are cached and reused for other shapes. Every block must run exactly once. */
static void running(void **state)
{
	static const char *const names[] = {"merge steal", "merge steal chunk=3", "vertical",
		"merge partition=1:3 help", "streams", "merge steal chunk=9:1:2", "horizontal",
		"merge steal:shared", "merge mixed=1:2:1 own=1:3", "merge steal chunk=2 own=3",
		"weave", "weave registers=40", "weave unsliced registers=32", "weave branches",
		"weave"};
	struct heddle_launch l[3] = {launch(70), launch(1), launch(9)};
	unsigned zero = 0, sum;

	value = 5;
	l[2].block[0] = 33;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int two = strstr(names[i], "partition") || strstr(names[i], "weave");
		unsigned n = two ? 2 : 3;
		struct heddle_result res = {.size = sizeof(res)};

		assert_int_equal(heddle_write(h, at, &zero, 4), 0);
		if (heddle_corun(h, l, n, names[i], NULL, &res) < 0)
			fail_msg("%s: %s", names[i], heddle_error(h));
		assert_int_equal(heddle_read(h, &sum, at, 4), 0);
		assert_int_equal(sum, 5 * (71 + (n == 3 ? 9 * 33 : 0)));
		assert_string_equal(res.way, names[i]);
		assert_true(res.ms > 0 && res.launches == (i == 4 ? 3 : 1));
		assert_true((res.workers > 0) == !strncmp(names[i], "merge", 5));
	}
}

/* Kernels that cannot be woven are fused vertically instead, and heddle_error gives the reason. */
static void not_woven(void **state)
{
	struct heddle_launch l[2] = {launch(3), launch(2)};
	struct heddle_result res = {.size = sizeof(res)};
	unsigned zero = 0, sum;

	value = 5;
	l[0].kernel = l[1].kernel = "ninth";
	l[0].block[0] = l[1].block[0] = 32;
	assert_int_equal(heddle_write(h, at, &zero, 4), 0);
	if (heddle_corun(h, l, 2, "weave", NULL, &res) < 0)
		fail_msg("%s", heddle_error(h));
	assert_string_equal(res.way, "vertical");
	says("not woven but fused vertically: kernel 'ninth'", "more than 16");
	assert_int_equal(heddle_read(h, &sum, at, 4), 0);
	assert_int_equal(sum, 5 * 5 * 32);
}

/* Kernels of one text share its variables, whichever way they run. Another text with the same names
 * has its own. */
static void variables(void **state)
{
#define VARS_PTX(first)                                                                            \
	".version 6.0\n.target sm_70\n.address_size 64\n"                                          \
	".visible .global .u32 count = " first ";\n.global .align 8 .u32 hidden[4] = {7, 8, 9};\n" \
	".visible .const .u32 step = 3;\n"                                                         \
	".visible .entry add(.param .u64 p)\n{\n"                                                  \
	".reg .b64 %a<3>; .reg .b32 %v<5>;\n"                                                      \
	"ld.param.u64 %a1, [p];\nld.const.u32 %v1, [step];\n"                                      \
	"atom.global.add.u32 %v2, [count], %v1;\n"                                                 \
	"ld.global.u32 %v3, [hidden+4];\nadd.u32 %v3, %v3, 1;\n"                                   \
	"st.global.u32 [hidden+4], %v3;\nst.global.u32 [%a1], %v2;\nret;\n}\n"                     \
	".visible .entry look(.param .u64 p)\n{\n"                                                 \
	".reg .b64 %a<3>; .reg .b32 %v<3>;\n"                                                      \
	"ld.param.u64 %a1, [p];\nmov.u64 %a2, hidden;\n"                                           \
	"ld.global.u32 %v1, [%a2+4];\nst.global.u32 [%a1], %v1;\nret;\n}\n"
	static const char one[] = VARS_PTX("5"), another[] = VARS_PTX("500");
	static const char *const names[] = {"streams", "merge steal", "vertical", "sequential",
		"horizontal", "merge partition=1:2", "merge steal"};
	uint64_t out;
	struct heddle_launch l[3];

	assert_int_equal(heddle_load(h, "add", one, sizeof(one), "add"), 0);
	assert_int_equal(heddle_load(h, "look", one, sizeof(one) - 1, "look"), 0);
	assert_int_equal(heddle_load(h, "add2", another, sizeof(another), "add"), 0);
	assert_int_equal(heddle_alloc(h, 12, &out), 0);
	uint64_t to[3] = {out, out + 4, out + 8};
	void *at_of[3] = {&to[0], &to[1], &to[2]};
	for (unsigned k = 0; k < 3; k++) {
		l[k] = launch(1);
		l[k].kernel = k == 0 ? "add" : k == 1 ? "add2" : "look";
		l[k].params = &at_of[k];
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t got[3];

		if (heddle_corun(h, l, 2, names[i], NULL, NULL) < 0 ||
			heddle_corun(h, &l[2], 1, i % 2 ? "merge steal" : "sequential", NULL, NULL))
			fail_msg("%s: %s", names[i], heddle_error(h));
		assert_int_equal(heddle_read(h, got, out, sizeof(got)), 0);
		assert_int_equal(got[0], 5 + 3 * i);
		assert_int_equal(got[1], 500 + 3 * i);
		assert_int_equal(got[2], 8 + i + 1);
	}
	assert_int_equal(heddle_free(h, out), 0);
}

/* Two handles have separate kernels. */
static void two(void **state)
{
	struct heddle_launch l = launch(2);
	struct heddle *other;

	assert_int_equal(heddle_open("cpu", &other), 0);
	assert_int_equal(heddle_corun(other, &l, 1, "merge steal", NULL, NULL), -ENOENT);
	assert_int_equal(heddle_load(other, "put", ptx, sizeof(ptx) - 1, "put"), 0);
	assert_int_equal(heddle_corun(other, &l, 1, "merge steal", NULL, NULL), 0);
	heddle_close(other);
	assert_int_equal(heddle_corun(h, &l, 1, "merge steal", NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening),
		cmocka_unit_test(in_a_child),
		cmocka_unit_test(loading),
		cmocka_unit_test(launches),
		cmocka_unit_test(ways),
		cmocka_unit_test(running),
		cmocka_unit_test(not_woven),
		cmocka_unit_test(variables),
		cmocka_unit_test(two),
	};

	return cmocka_run_group_tests(tests, open_it, close_it);
}
