/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any text as a trace is read, or refused with a diagnostic. A short trace also runs for a
 * while: no SM is granted twice, and every block of a finished launch has run once. */
#include "sim/trace.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_BLOCKS 2000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool is_short(const struct sim *s)
{
	uint64_t n = 0;

	for (const struct sim_launch *l = s->launches; l && n <= MOST_BLOCKS; l = l->next)
		n += l->total * MIN(l->count, MOST_BLOCKS);
	return n <= MOST_BLOCKS && s->planned.len <= MOST_BLOCKS;
}

static void check(const struct sim *s)
{
	uint64_t occupied = 0;

	for (uint32_t i = 0; i < s->o.n_sms; i++) {
		if (s->free[i] > SIM_CAPACITY)
			abort();
		occupied += SIM_CAPACITY - s->free[i];
	}
	if (occupied != s->occupied)
		abort();
	for (const struct sim_launch *l = s->launches; l; l = l->next) {
		if (l->done && (l->finished != l->total || l->done_ns < l->submit_ns))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena;
	struct diag_list diags;
	struct sim s;
	struct sim_reader r = {.sim = &s, .diags = &diags};
	int status;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "trace", NULL, 0);
	sim_init(&s);
	status = sim_read(&r, (const char *)data, len);
	if (status == -EINVAL && !diags.errors)
		abort();
	if (status == 0 && is_short(&s)) {
		s.end = MIN(s.end, 20000000);
		sim_run(&s);
		check(&s);
	}
	sim_finish(&s);
	arena_finish(&arena);
	return 0;
}
