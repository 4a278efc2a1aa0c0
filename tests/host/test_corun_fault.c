/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that every error of running kernels together is a complete sentence in the terms of each
 * front end. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "host/corun.h"

static const struct host_words api = {.help = "H",
	.steal = "S",
	.mixed = "M",
	.streams = "T",
	.vertical = "V",
	.plain = "P",
	.time = "L",
	.ptx = "X"};

static const struct host_kernel kernels[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
static const struct host_set three = {.n = 3, .of = {&kernels[0], &kernels[1], &kernels[2]}};

static void says(const struct host_fault *f, bool numbered, const char *text, const char *hint)
{
	struct host_words words = api;
	struct strbuf t = {0}, h = {0};

	words.numbered = numbered;
	host_explain(f, &three, &words, &t, &h);
	assert_string_equal(t.at, text);
	assert_string_equal(h.at ? h.at : "", hint);
	strbuf_finish(&t);
	strbuf_finish(&h);
}

/* Every error message is complete: no placeholder of its template is left, with or without a front
 * end's own terms. */
static void all(void **state)
{
	for (unsigned code = HOST_OK + 1; code < HOST_CODES; code++)
		for (unsigned i = 0; i < 4; i++) {
			struct host_words words = api;
			struct strbuf t = {0};
			struct host_fault f;

			assert_true(host_fail(&f, (enum host_code)code, i & 1 ? 2 : -1, "why") < 0);
			words.numbered = i & 1;
			host_explain(&f, i & 2 ? &three : NULL, &words, &t, &t);
			assert_true(t.len > 0 && !t.failed);
			if (strpbrk(t.at, "{}"))
				fail_msg("%s", t.at);
			strbuf_finish(&t);
		}
}

static void sentences(void **state)
{
	struct host_fault f;

	assert_int_equal(host_fail_with(&f, HOST_TOO_FEW, 1, 50, 40, 0), -ENOTSUP);
	says(&f, true,
		"the blocks of kernel 2, 'b', may wait for each other, and alone all of them are "
		"there at once: merged, with all such kernels' blocks, that takes 50 workers, and "
		"there are 40",
		"more workers, or fewer blocks");
	assert_int_equal(host_fail_with(&f, HOST_ROOM, -1, 1024, 80, 4096), -ENOTSUP);
	says(&f, false,
		"together no block of them fits an SM: 1024 threads of 80 registers, 4096 bytes of "
		"shared memory",
		"T");
	assert_int_equal(host_fail(&f, HOST_LATE, -1, NULL), -ETIMEDOUT);
	f.way = HOST_WAY_HORIZONTAL;
	f.number[0] = 7;
	says(&f, false,
		"kernels 'a', 'b' and 'c' as one launch, \"horizontal\": the driver's compiler has "
		"not compiled it in 7 s",
		"another way (P), or more time: L");
	f.kernel = 2;
	says(&f, true,
		"kernel 3, 'c', in a launch of its own: the driver's compiler has not compiled it "
		"in 7 s",
		"another way (P), or more time: L");
	assert_int_equal(host_fail(&f, HOST_CRASHED, -1, "kernel 'a' as a task"), -ENOTSUP);
	says(&f, false,
		"kernel 'a' as a task: the driver's compiler crashed on it (in a separate process)",
		"another way: P");
	assert_int_equal(host_cu_failed(&f, CUDA_ERROR_NO_DEVICE, "a stream"), -EIO);
	assert_int_equal(f.kernel, -1);
	f.code = HOST_TEXT;
	strcpy(f.log, "ptxas: line 3");
	says(&f, false,
		"a stream: the device refused it: no device "
		"(CUDA_ERROR_NO_DEVICE)",
		"ptxas: line 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all), cmocka_unit_test(sentences)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
