/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whether a body is right where it is to be put: what is true of it (body.h) against what the place
 * does to it (virtual.h). A pass asks this of each of its bodies; what it wants besides (room,
 * numbers, shapes) it looks at itself. */
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

/* ---- what speaks against a place ---- */

/* Neither in a launch of others, nor rewritten at all. */
static bool never(const struct pass_place *at)
{
	(void)at;
	return true;
}

/* Threads that are done live on. */
static bool ends_are_one(const struct pass_place *at)
{
	return !at->real_exits;
}

static bool is_followed(const struct pass_place *at)
{
	return at->followed;
}

/* The same, and no worker stands around it. ptxas takes a warp for whole behind a call of a
 * function that calls itself, though its lanes come back apart. At a worker's barriers and votes
 * ptxas knows better: leaders come there by loops of their own, so lanes that are apart are
 * gathered. */
static bool is_followed_bare(const struct pass_place *at)
{
	return at->followed && !at->merged && !at->whole_warps;
}

/* Its threads are not all of the hardware block's, or not the first. */
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

/* Barriers that have another number, or count, or whose numbers others use. */
static bool knows_barriers(const struct pass_place *at)
{
	return at->threads || at->barrier_first || !at->real_exits;
}

/* A barrier that counts waits for threads that have left. */
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
	[PASS_IS_OTHER_MODULE] = never,
	[PASS_IS_CLUSTER] = never,
	[PASS_IS_GRID] = never,
	[PASS_IS_UNKNOWN] = never,
	[PASS_CALLS_ELSEWHERE] = never,
	[PASS_LAUNCHES] = never,
	[PASS_SHARES_CODE] = never,
	[PASS_LEAVES_ASYNC] = is_followed,
	[PASS_LASTS] = is_part_or_followed,
	[PASS_EXITS_DEEP] = ends_are_one,
	[PASS_BARRIER_REGISTER] = knows_barriers,
	[PASS_BARRIER_HALF] = is_followed,
	[PASS_BARRIER_APART] = counts_or_ends,
	[PASS_NO_TAILS] = ends_are_one,
	[PASS_LANES_LEFT] = ends_are_one,
	[PASS_SPINS_DEEP] = ends_are_one,
	[PASS_READS_TOTAL] = moves_shared,
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

/* Of a function that only a pointer leads to there is no copy that could be called. */
static const struct pass_callee *find_out_of_reach(const struct pass_place *at)
{
	const struct pass_facts *facts = at->facts;

	for (size_t i = 1; facts->calls_pointer && i < facts->callees.len; i++)
		if (facts->callees.at[i].taken && pass_needs_copy(at, &facts->callees.at[i]))
			return &facts->callees.at[i];
	return NULL;
}

/* Where exits are real and barriers count, nobody may have left ahead of one. */
static bool waits_for_leavers(const struct pass_place *at)
{
	const struct pass_facts *facts = at->facts;

	return at->real_exits && at->threads && facts->has_barriers &&
	       (facts->barriers != PASS_BAR_NONE || pass_has(facts, PASS_EXITS_DEEP));
}

/* On hardware half a warp counts as a whole one; here its other half is somewhere else. */
static bool counts_half_warps(const struct pass_place *at)
{
	return at->filled_up && at->facts->counts;
}

bool pass_fits(const struct pass_place *at, struct pass_verdict *ret_why)
{
	static const struct pass_finding pointer = {
		"calls through a pointer, which may lead to what is another here", 0, 0};
	static const struct pass_finding left = {
		"barriers count its threads, and some may have left", 0, 0};
	static const struct pass_finding half = {
		"its barriers count threads, and its blocks end in half a warp", 0, 0};
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
