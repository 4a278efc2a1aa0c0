/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether a body works at a place, that is, inside the code that a pass puts around it.
 * Compares the facts of the body (body.h) with the changes that the place makes (virtual.h). Each
 * pass calls this for each of its bodies, and checks its further needs itself, such as resources
 * and shapes. */
#include "pass/virtual/virtual.h"

#include <stdio.h>
#include <string.h>

#define WARPGROUP_THREADS 128

bool pass_needs_copy(const struct pass_place *at, const struct pass_callee *c)
{
	bool any = c->barriers &&
		   ((at->facts->spins && !at->real_exits) || at->threads || at->barrier_first);

	for (int d = 0; d < PASS_IDS; d++)
		any |= c->reads[d] && at->id[d];
	return any || (c->shared && (at->shared || at->dynamic_bytes));
}

/* ---- conditions under which a place cannot hold a kernel ---- */

/* The condition of facts that forbid every place: the kernel cannot run in a launch of other
 * kernels and cannot be rewritten at all. */
static bool is_always_forbidden(const struct pass_place *at)
{
	(void)at;
	return true;
}

/* Returns whether exited threads stay alive in this place. */
static bool joins_exits(const struct pass_place *at)
{
	return !at->real_exits;
}

static bool is_followed(const struct pass_place *at)
{
	return at->followed;
}

/* Returns whether other code follows the body and no worker surrounds it. This matters for kernels
 * that call a recursive function: after such a call ptxas assumes a whole warp, although the
 * function's lanes return at different times. ptxas makes no such assumption at a worker's barriers
 * and votes, because the leader reaches these through loops of its own. So ptxas makes the lanes
 * reconverge before these barriers and votes. */
static bool is_followed_bare(const struct pass_place *at)
{
	return at->followed && !at->merged && !at->whole_warps;
}

/* Returns whether the body runs on only some threads of the hardware block, or not from its first
 * thread on. */
static bool is_part(const struct pass_place *at)
{
	return at->threads || at->first_thread;
}

static bool is_part_or_followed(const struct pass_place *at)
{
	return is_part(at) || at->followed;
}

static bool moves_warpgroups(const struct pass_place *at)
{
	return at->first_thread % WARPGROUP_THREADS;
}

/* Returns whether the place must know the body's barriers, because it renumbers them, adds thread
 * counts to them, or uses barrier numbers itself. */
static bool knows_barriers(const struct pass_place *at)
{
	return at->threads || at->barrier_first || !at->real_exits;
}

/* Returns whether a barrier with a thread count would wait for exited threads. */
static bool counts_or_ends(const struct pass_place *at)
{
	return at->threads || !at->real_exits;
}

static bool moves_shared(const struct pass_place *at)
{
	return at->shared || at->dynamic_bytes;
}

static bool moves_params(const struct pass_place *at)
{
	return at->params != NULL;
}

static bool (*const forbids[PASS_TRAITS])(const struct pass_place *at) = {
	[PASS_IS_FORM] = is_always_forbidden,
	[PASS_USES_NAME] = is_always_forbidden,
	[PASS_IS_OTHER_MODULE] = is_always_forbidden,
	[PASS_IS_CLUSTER] = is_always_forbidden,
	[PASS_IS_GRID] = is_always_forbidden,
	[PASS_IS_UNKNOWN] = is_always_forbidden,
	[PASS_CALLS_ELSEWHERE] = is_always_forbidden,
	[PASS_LAUNCHES] = is_always_forbidden,
	[PASS_SHARES_CODE] = is_always_forbidden,
	[PASS_LEAVES_ASYNC] = is_followed,
	[PASS_LASTS] = is_part_or_followed,
	[PASS_EXITS_DEEP] = joins_exits,
	[PASS_BARRIER_REGISTER] = knows_barriers,
	[PASS_BARRIER_HALF] = is_followed,
	[PASS_BARRIER_APART] = counts_or_ends,
	[PASS_NO_TAILS] = joins_exits,
	[PASS_LANES_LEFT] = joins_exits,
	[PASS_SPINS_DEEP] = joins_exits,
	[PASS_READS_TOTAL] = moves_shared,
	[PASS_READS_GRID] = is_always_forbidden,
	[PASS_USES_RESERVED] = is_part,
	[PASS_RECURS] = is_followed_bare,
	[PASS_READS_WARP] = is_part,
	[PASS_USES_WARPGROUP] = moves_warpgroups,
	[PASS_ODD_PARAM] = moves_params,
};

static bool refuse(struct pass_verdict *why, const struct pass_finding *f)
{
	*why = (struct pass_verdict){PASS_HELD, f->reason, f->line, f->col};
	return false;
}

/* Returns the first callee that the place would have to replace by a copy (pass_needs_copy), but
 * that is called through a pointer. Such a call always reaches the original function, so no copy
 * can replace it. */
static const struct pass_callee *find_out_of_reach(const struct pass_place *at)
{
	const struct pass_facts *facts = at->facts;

	for (size_t i = 1; facts->calls_pointer && i < facts->callees.len; i++)
		if (facts->callees.at[i].taken && pass_needs_copy(at, &facts->callees.at[i]))
			return &facts->callees.at[i];
	return NULL;
}

/* Returns whether a thread may exit before a barrier that would wait for it: exits are real here,
 * and barriers have thread counts. */
static bool waits_for_leavers(const struct pass_place *at)
{
	const struct pass_facts *facts = at->facts;

	return at->real_exits && at->threads && facts->has_barriers &&
	       (facts->barriers != PASS_BAR_NONE || pass_has(facts, PASS_EXITS_DEEP));
}

/* Returns whether the thread counts of the body's own barriers would be wrong at this place. On
 * hardware a partial warp counts as a whole warp at a barrier. Here the missing threads of the
 * block's last warp are extra threads that execute other code. */
static bool counts_half_warps(const struct pass_place *at)
{
	return at->filled_up && at->facts->counts;
}

bool pass_fits(const struct pass_place *at, struct pass_verdict *ret_why)
{
	static const struct pass_finding pointer = {"calls through a pointer that may point to a "
						    "function whose ids or barriers differ here",
		0, 0};
	static const struct pass_finding left = {
		"its barriers have a thread count, and some threads may have exited", 0, 0};
	static const struct pass_finding half = {
		"its barriers have a thread count, and the last warp of its blocks is not full", 0,
		0};
	const struct pass_facts *facts = at->facts;

	for (unsigned i = 0; i < facts->n_found; i++)
		if (forbids[facts->order[i]] && forbids[facts->order[i]](at))
			return refuse(ret_why, &facts->found[facts->order[i]]);
	if (find_out_of_reach(at)) {
		refuse(ret_why, &pointer);
		ret_why->line = facts->calls_pointer->line;
		ret_why->col = facts->calls_pointer->col;
		return false;
	}
	if (counts_half_warps(at))
		return refuse(ret_why, &half);
	return !waits_for_leavers(at) || refuse(ret_why, &left);
}
