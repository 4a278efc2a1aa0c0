/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any text read as an event log is refused with a diagnostic, or becomes a trace for each device
 * that the trace reader accepts. */
#include "cli/recorded.h"

#include "sim/trace.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_section(const char *text, size_t len)
{
	struct diag_list diags;
	struct arena arena;
	struct sim s;
	struct sim_reader r = {.sim = &s, .diags = &diags};

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "trace", NULL, 0);
	sim_init(&s);
	if (sim_read(&r, text, len) == -EINVAL)
		abort();
	sim_finish(&s);
	arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct recorded_gaps gaps;
	struct strbuf trace = {0};
	struct diag_list diags;
	struct arena arena;
	int status;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "events", NULL, 0);
	recorded_is((const char *)data, len);
	status = recorded_read((const char *)data, len, &diags, &trace, &gaps);
	if ((status == -EINVAL) != (diags.errors > 0))
		abort();
	for (size_t at = 0, n; status == 0 && at < trace.len; at += n) {
		uint32_t lines;

		n = sim_section(trace.at + at, trace.len - at, &lines);
		check_section(trace.at + at, n);
	}
	strbuf_finish(&trace);
	arena_finish(&arena);
	return 0;
}
