/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Early returns, `if (i >= n) return;`. On hardware the lanes that take one are gone; in a worker
 * they go on to the block's end and wait there, so to the assembler all that follows is divergent:
 * nothing of it may live in uniform registers, and a kernel can need a third more registers.
 *
 * So what follows such a branch is written twice: for warps whose lanes all stay, without the
 * branch, and as it was for the others. The vote between the two is what the assembler takes for
 * uniform. Only where no barrier comes behind it (kmeans: behind the only one of it the loops are
 * then what they are alone; as divergent code they had two registers more, and four loads at a time
 * where there had been ten), and at most once a kernel. */
#include "pass/analysis/parting.h"
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"

#define TWICE_MAX 512 /* statements: measured to gain with 400, to lose with 640 */

/* Whether nothing is done from statement i on. */
static bool leads_out(const struct ptx_func *f, size_t i)
{
	for (; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN)
			return s->guard == PTX_NO_REG &&
			       (s->mn->op == PTX_OP_ret || s->mn->op == PTX_OP_exit);
	}
	return true;
}

/* Whether the last statement of a block ends its thread. */
static bool returns(const struct cfg *g, uint32_t b, const struct ptx_stmt *s)
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
				return leads_out(f, i);
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

/* No way leads back ahead of it (there is no loop around it), so what stands behind it in the text
 * is all that comes behind it, or more. */
static bool can_be_twice(const struct pass_facts *facts, size_t from)
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

	/* With barriers, not where threads that are done answer them or go past them (rounds.c,
	 * tails.c), nor where lanes of a warp wait for each other on their own. */
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
			facts->u->reg[s->guard] >= CFG_WARP_UNIFORM || !returns(g, b, s))
			continue;
		/* Whole warps come here, and once. */
		if (facts->u->block[b] < CFG_WARP_UNIFORM || g->at[b].loop_header != CFG_NONE)
			return PASS_NO_PARTING;
		return can_be_twice(facts, i) ? i : PASS_NO_PARTING;
	}
	return PASS_NO_PARTING;
}
