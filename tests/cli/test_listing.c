/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the columns of heddle ps for each terminal width, and the line that names the omitted
 * columns. */
#include "unit.h"

#include "cli/listing.h"
#include "front/ask.h"
#include "front/cli.h"

#include <string.h>

/* Stubs for the functions of other files that the listing calls. */
void cli_plain(char *text, size_t len)
{
}

const char *ask_priority_name(int priority, char *buf, size_t size)
{
	return "normal";
}

/* Checks the table of a tenant with one launch. share is in tenths of a percent; UINT32_MAX:
 * none. */
static void check(uint32_t share, unsigned columns, const char *head, const char *below)
{
	struct wire_row rows[] = {
		{.kind = 0,
			.tenant = 3,
			.pid = 4,
			.preemptions = 77,
			.name = "prog",
			.device = "d",
			.share_wanted = share,
			.share_had = share},
		{.kind = 1,
			.tenant = 3,
			.name = "_ZN2ns5scaleIfEEvPT_i",
			.total = 4,
			.finished = 1,
			.device = "d"},
	};
	struct listing l = {0};
	struct strbuf out = {0};
	const char *line, *last = NULL, *kernel = NULL;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		listing_add(&l, &rows[i]);
	assert_false(l.failed);
	listing_text(&l, columns, &out);
	line = out.at;
	assert_int_equal(strcspn(line, "\n"), strlen(head));
	assert_memory_equal(line, head, strlen(head));
	for (unsigned n = 0; *line; n++) {
		size_t len = strcspn(line, "\n");

		assert_true(!columns || len <= columns);
		line += len + 1;
		if (n == 2)
			kernel = line;
		if (n == 3) /* line 3, after the header, the device and the tenant: the launch */
			last = line;
	}
	assert_string_equal(last, below);
	/* Under NAME is as much of the kernel's C++ name as the width allows. */
	assert_memory_equal(kernel + strlen(head) - strlen("NAME"), "  ns::sc", 8);
	strbuf_finish(&out);
	listing_finish(&l);
}

/* When columns are omitted, PREEMPTED stays longer than others because README.md refers to it, and
 * TENANT stays because heddle set needs the number. */
static void without_shares(void **state)
{
	check(UINT32_MAX, 80,
		"TENANT     PID USER     PRIORITY STATE     PREEMPTED   DONE  LEFT(ms) NAME",
		"(not shown: WEIGHT, LAUNCHES, UNMANAGED, RAN, WAITED; a wider terminal or --json\n"
		"has them)\n");
	check(UINT32_MAX, 70, "TENANT     PID PRIORITY STATE     PREEMPTED  LEFT(ms) NAME",
		"(not shown: USER, WEIGHT, LAUNCHES, UNMANAGED, DONE, RAN, WAITED; a\n"
		"wider terminal or --json has them)\n");
	check(UINT32_MAX, 60, "TENANT PRIORITY STATE     PREEMPTED  LEFT(ms) NAME",
		"(not shown: PID, USER, WEIGHT, LAUNCHES, UNMANAGED, DONE,\n"
		"RAN, WAITED; a wider terminal or --json has them)\n");
	check(UINT32_MAX, 40, "TENANT PRIORITY STATE     NAME",
		"(not shown: PID, USER, WEIGHT, LAUNCHES,\n"
		"UNMANAGED, PREEMPTED, DONE, RAN, WAITED,\n"
		"LEFT; a wider terminal or --json has\n"
		"them)\n");
	check(UINT32_MAX, 137,
		"TENANT     PID USER     PRIORITY WEIGHT STATE     LAUNCHES PREEMPTED   DONE   "
		"RAN(ms) WAITED(ms)  LEFT(ms) NAME",
		"(not shown: UNMANAGED; a wider terminal or --json has it)\n");
	check(UINT32_MAX, 138,
		"TENANT     PID USER     PRIORITY WEIGHT STATE     LAUNCHES UNMANAGED            "
		"PREEMPTED   DONE   RAN(ms) WAITED(ms)  LEFT(ms) NAME",
		"");
}

static void with_shares(void **state)
{
	check(500, 80, "TENANT     PID PRIORITY    SHARE(%) STATE     PREEMPTED  LEFT(ms) NAME",
		"(not shown: USER, WEIGHT, LAUNCHES, UNMANAGED, DONE, RAN, WAITED; a wider\n"
		"terminal or --json has them)\n");
	check(500, 100,
		"TENANT     PID USER     PRIORITY    SHARE(%) STATE     PREEMPTED   DONE  LEFT(ms) "
		"NAME",
		"(not shown: WEIGHT, LAUNCHES, UNMANAGED, RAN, WAITED; a wider terminal or "
		"--json has them)\n");
	check(500, 40, "TENANT PRIORITY STATE     NAME",
		"(not shown: PID, USER, WEIGHT, SHARE,\n"
		"LAUNCHES, UNMANAGED, PREEMPTED, DONE,\n"
		"RAN, WAITED, LEFT; a wider terminal or\n"
		"--json has them)\n");
}

/* If the output is not a terminal, all columns appear, whatever the policy. */
static void without_limit(void **state)
{
	check(UINT32_MAX, 0,
		"TENANT     PID USER     PRIORITY WEIGHT    SHARE(%) STATE     LAUNCHES UNMANAGED"
		"            PREEMPTED   DONE   RAN(ms) WAITED(ms)  LEFT(ms) NAME",
		"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_shares),
		cmocka_unit_test(with_shares),
		cmocka_unit_test(without_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
