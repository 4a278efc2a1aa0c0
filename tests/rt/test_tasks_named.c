/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the virtual GPU's report of a fault in a task. It must name the block, thread and line of
 * the program's kernel, and not those of the pool's kernel. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG 60000000000u /* ns */

static const char ptx[] =
	".version 6.0\n.target sm_70\n.address_size 64\n"
	".visible .entry fine(.param .u64 p, .param .u32 a, .param .u32 b) { ret; }\n"
	/* thread (5, b, 0) of block (a, 2, 1) writes out of bounds */
	".visible .entry bad(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n"
	".reg .b64 %a; .reg .b32 %r<9>; .reg .pred %q;\n"
	"ld.param.u32 %r0, [a];\nld.param.u32 %r1, [b];\n"
	"mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %q, %r2, %r0;\n"
	"mov.u32 %r2, %ctaid.y;\nsetp.eq.and.u32 %q, %r2, 2, %q;\n"
	"mov.u32 %r2, %ctaid.z;\nsetp.eq.and.u32 %q, %r2, 1, %q;\n"
	"mov.u32 %r2, %tid.x;\nsetp.eq.and.u32 %q, %r2, 5, %q;\n"
	"mov.u32 %r2, %tid.y;\nsetp.eq.and.u32 %q, %r2, %r1, %q;\n"
	"mov.u64 %a, 64;\n@%q st.global.u32 [%a], %r2;\nret;\n}\n";
static const char *const names[] = {"fine", "bad"};
static unsigned data[16];
#include "opened_pool.h"

static char report[] = "/tmp/heddle-tasks-named-XXXXXX";

static void fault_of_a_task(void **state)
{
	struct heddle_tasks_options o = {.threads = 256, .blocks_per_sm = 1};
	struct heddle_task task = {.size = sizeof(task), .grid = {3, 4, 2}, .block = {8, 4, 1}};
	unsigned number[2], who[2] = {2, 3};
	void *params[] = {&at, &who[0], &who[1]};
	char text[600];
	uint64_t id;

	make_pool(o, number, 2);
	spawn_of(number[0], 7, 32, 0, 0, 0);
	task.kernel = number[1];
	task.params = params;
	ok(heddle_tasks_spawn(t, &task, &id));
	assert_int_equal(heddle_tasks_wait(t, id, LONG), -EIO);
	heddle_tasks_destroy(t);
	FILE *f = fopen(report, "r");
	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	print_message("%s", text);
	assert_non_null(strstr(text, "block (2,2,1), thread (5,3,0), PTX line 21 of kernel 2: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fault_of_a_task)};
	char options[100];
	int fd = mkstemp(report), failed;

	if (fd < 0)
		return 1;
	close(fd);
	snprintf(options, sizeof(options), "tasks-named-%d,report=%s", (int)getpid(), report);
	setenv("HEDDLE_VGPU", options, 1);
	failed = cmocka_run_group_tests(tests, open_it, close_it);
	unlink(report);
	return failed;
}
