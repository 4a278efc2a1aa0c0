/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds early returns such as `if (i >= n) return;`. On hardware the returning lanes are gone. In a
 * worker the returning lanes jump to the block's end and wait there, so ptxas treats all following
 * code as divergent. ptxas then keeps no value of that code in uniform registers, and a kernel can
 * need a third more registers.
 *
 * So the code after such a branch is written twice: without the branch for warps in which all lanes
 * stay, and unchanged for the other warps. A vote chooses between the copies, and ptxas knows that
 * the result of a vote is uniform. The pass makes the copy only if no barrier follows, and at most
 * once per kernel.
 *
 * An example is kmeans, where the only barrier precedes the branch. With the copy the loops of
 * kmeans compile as in the original kernel. Without the copy they are divergent code, with two
 * registers more, and with four loads in flight instead of ten. */
#include "pass/analysis/parting.h"
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"

#define TWICE_MAX 512 /* statements to duplicate at most: measured faster at 400, slower at 640 */

/* Returns whether the code from statement i on consists only of an unguarded ret or exit. */
static bool returns_at_once(const struct ptx_func *f, size_t i)
{
	for (; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN)
			return s->guard == PTX_NO_REG &&
			       (s->mn->op == PTX_OP_ret || s->mn->op == PTX_OP_exit);
	}
	return true;
}

/* Returns whether s, the last statement of basic block b, ends the thread: it is a ret or an exit,
 * or a branch to code that returns at once. */
static bool ends_thread(const struct cfg *g, uint32_t b, const struct ptx_stmt *s)
{
	const struct ptx_func *f = g->f;

	if (s->mn->op == PTX_OP_ret || s->mn->op == PTX_OP_exit)
		return true;
	if (s->mn->op != PTX_OP_bra || s->n != 1 || s->opd[0].kind != PTX_OPD_SYM)
		return false;
	for (uint32_t k = 0; k < g->at[b].n_succ; k++) {
		const struct cfg_block *to = &g->at[g->at[b].succ[k]];

		for (uint32_t i = to->first; i < to->end && f->body.at[i].kind != PTX_INSN; i++)
			if (f->body.at[i].kind == PTX_LABEL && f->body.at[i].sym == s->opd[0].sym)
				return returns_at_once(f, i);
	}
	return false;
}

bool pass_stands_once(const struct ptx_stmt *s)
{
	if (s->kind == PTX_DIRECTIVE)
		return s->sym != NULL;
	return s->kind == PTX_INSN && (s->mn->op == PTX_OP_brx || s->mn->op == PTX_OP_RAW);
}

static bool has_barrier(const struct pass_facts *facts, const struct ptx_stmt *s)
{
	const struct pass_callee *c;

	if (s->kind != PTX_INSN)
		return false;
	if (s->mn->op != PTX_OP_call)
		return s->mn->flags & PTX_F_BARRIER;
	c = pass_called(facts, s);
	return !c || c->barriers;
}

/* Returns whether the code after the early return can be duplicated. The early return is in no
 * loop, so all code that can run after it also stands after it in the text. That is why a scan of
 * the text from there on is enough. */
static bool can_duplicate(const struct pass_facts *facts, size_t from)
{
	const struct ptx_func *f = facts->g->f;

	if (f->body.len - from > TWICE_MAX)
		return false;
	for (size_t i = from; i < f->body.len; i++)
		if (pass_stands_once(&f->body.at[i]) ||
			(facts->has_barriers && has_barrier(facts, &f->body.at[i])))
			return false;
	return true;
}

size_t pass_find_parting(const struct pass_facts *facts)
{
	const struct cfg *g = facts->g;
	const struct ptx_func *f = g->f;
	unsigned depth = 0;

	/* In a kernel with barriers, the code is not copied if one of these is true:
	 * - Exited threads execute or skip barriers (rounds.c, emit_tails.c).
	 * - The kernel spins.
	 * - Lanes of a warp wait for each other at a block's end.
	 * - Lanes are removed from member masks. */
	if (facts->has_barriers &&
		(facts->barriers != PASS_BAR_NONE || facts->tails.len || facts->spins ||
			facts->calls_spin || facts->gathers || facts->leaves.len))
		return PASS_NO_PARTING;
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		uint32_t b = g->block_of[i];

		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
		if (s->kind != PTX_INSN || s->guard == PTX_NO_REG || depth ||
			facts->u->reg[s->guard] >= CFG_WARP_UNIFORM || !ends_thread(g, b, s))
			continue;
		/* Only whole warps may reach the exit, and each of them only once. */
		if (facts->u->block[b] < CFG_WARP_UNIFORM || g->at[b].loop_header != CFG_NONE)
			return PASS_NO_PARTING;
		return can_duplicate(facts, i) ? i : PASS_NO_PARTING;
	}
	return PASS_NO_PARTING;
}
