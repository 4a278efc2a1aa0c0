/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* VA: c = a + b. The host adds in the same precision, so results are exact. With several passes,
 * all passes write the same sums, so a lost block shows only in sizes with one pass. */
#include "common.h"

#define BLOCK 256

struct vectors {
	float *a, *b, *c;
	uint64_t seed;
};

static void fill(void *context, uint64_t from, uint64_t to)
{
	struct vectors *v = context;
	for (uint64_t i = from; i < to; i++) {
		v->a[i] = ex_unit(v->seed, 2 * i);
		v->b[i] = ex_unit(v->seed, 2 * i + 1);
		v->c[i] = v->a[i] + v->b[i];
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], per_thread = w->size->p[1], passes = w->size->p[2];
	uint32_t blocks = ex_div_up(n, (uint64_t)BLOCK * per_thread);
	if (per_thread > 1) { /* a single row of long blocks: make them longer, not more */
		ex_apply_scale(w, &n, &(uint32_t){per_thread}, &per_thread);
		n = blocks * BLOCK * per_thread;
	} else {
		ex_apply_scale(w, &n, &passes, &per_thread);
	}
	size_t bytes = (size_t)n * sizeof(float);
	unsigned a = ex_add_buffer(w, bytes, false), b = ex_add_buffer(w, bytes, false);
	ex_add_buffer(w, bytes, true);
	ex_add_u32(w, n);
	ex_add_u32(w, per_thread);
	w->grid[0] = ex_div_up(n, (uint64_t)BLOCK * per_thread);
	w->grid[1] = passes;
	w->grid[2] = 1;
	w->block = BLOCK;
	w->expected[0] = ex_alloc(bytes);
	struct vectors v = {w->buffer[a].host, w->buffer[b].host, w->expected[0], w->seed};
	ex_parallel(n, fill, &v);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[2].host, w->expected[0], w->buffer[2].bytes / sizeof(float));
}

const struct example ex_program = {"va", "va", build, check};
