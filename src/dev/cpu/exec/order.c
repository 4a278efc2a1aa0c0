/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The order of basic blocks in decoded code: Bourdoncle's weak topological order. A block comes
 * before all its successors, except for the back edge to a loop's header. The blocks of a loop are
 * contiguous, with nested loops inside. Of diverged lanes, those that are first in this order run
 * first. So they catch up with the other lanes and merge with them as early as possible. */
#include "dev/cpu/code.h"

#include <errno.h>

#define MAX_BLOCKS 20000 /* larger functions keep their order; this bounds the recursion */
#define DONE       UINT32_MAX

struct order {
	const uint32_t *first, *succ;
	uint32_t *number, *stack, *out;
	uint32_t n_stack, count, at; /* at: index in `out`, which is filled from the end */
};

static uint32_t visit_block(struct order *o, uint32_t v);

static void loop_body(struct order *o, uint32_t head)
{
	for (uint32_t i = o->first[head]; i < o->first[head + 1]; i++)
		if (!o->number[o->succ[i]])
			visit_block(o, o->succ[i]);
}

static uint32_t visit_block(struct order *o, uint32_t v)
{
	uint32_t head, element;
	bool loop = false;

	o->stack[o->n_stack++] = v;
	head = o->number[v] = ++o->count;
	for (uint32_t i = o->first[v]; i < o->first[v + 1]; i++) {
		uint32_t s = o->succ[i];
		uint32_t least = o->number[s] ? o->number[s] : visit_block(o, s);

		if (least <= head) {
			head = least;
			loop = true;
		}
	}
	if (head != o->number[v])
		return head;
	o->number[v] = DONE;
	element = o->stack[--o->n_stack];
	if (loop) {
		while (element != v) {
			o->number[element] = 0;
			element = o->stack[--o->n_stack];
		}
		loop_body(o, v);
	}
	o->out[--o->at] = v;
	return head;
}

int vgpu_order_blocks(uint32_t n, const uint32_t *first_succ, const uint32_t *succ, struct arena *a,
	uint32_t *ret_order)
{
	struct order o = {.first = first_succ, .succ = succ, .at = n};
	uint32_t reached;

	if (n > MAX_BLOCKS) {
		for (uint32_t i = 0; i < n; i++)
			ret_order[i] = i;
		return 0;
	}
	o.number = ARENA_ARRAY(a, uint32_t, n);
	o.stack = ARENA_ARRAY(a, uint32_t, n);
	o.out = ARENA_ARRAY(a, uint32_t, n);
	if (!o.number || !o.stack || !o.out)
		return -ENOMEM;
	visit_block(&o, 0);
	reached = n - o.at;
	for (uint32_t i = 0; i < reached; i++)
		ret_order[i] = o.out[o.at + i];
	for (uint32_t i = 0; i < n; i++)
		if (!o.number[i])
			ret_order[reached++] = i;
	return 0;
}
