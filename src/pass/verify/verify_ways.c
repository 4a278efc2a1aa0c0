/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks two things that do not follow from the order of instructions on each path (verify_flow.c
 * checks that): the carry flag, and the convergence of lanes.
 *
 * Lanes that diverge at a branch reconverge where the paths of the branch join. So no barrier or
 * warp operation of a kernel may stand between a branch and the place where the branch's paths
 * join. This rule applies if lanes may diverge at the branch, and if heddle added the branch or the
 * branch belongs to another kernel. A kernel's own branches still have the paths of the original
 * kernel. The exception is a branch that only separates filler lanes, the lanes that fill up the
 * last warp of a block (is_filling): the kernel does not have these lanes. */
#include "cfg/chains.h"
#include "cfg/effects.h"
#include "pass/verify/verify_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the carry flag ---- */
struct carry {
	struct verify_pair *p;
	const struct cfg *g;
	uint8_t *seen;
	VEC(uint32_t) todo;
	VEC(uint32_t) writers;
};

/* Collects the last statement before `end` in its basic block that sets the carry flag. Returns
 * false if the block has none there. */
static bool find_writer(struct carry *c, uint32_t block, uint32_t end)
{
	for (uint32_t i = end; i-- > c->g->at[block].first;) {
		struct cfg_effects e = cfg_effects_of(&c->g->f->body.at[i]);

		if (!e.writes_cc)
			continue;
		c->p->v->failed |= !VEC_PUSH(&c->writers, i);
		/* If this one has a guard, an earlier one may set the flag, too. */
		if (c->g->f->body.at[i].guard == PTX_NO_REG)
			return true;
	}
	return false;
}

/* Collects in c->writers the statements that may have set the carry flag that statement `at` of
 * g->f reads. */
static void find_writers(struct carry *c, const struct cfg *g, uint32_t at)
{
	uint32_t b = g->block_of[at];

	c->g = g;
	c->writers.len = 0;
	c->todo.len = 0;
	memset(c->seen, 0, g->n);
	if (find_writer(c, b, at))
		return;
	for (;;) {
		for (uint32_t i = 0; i < g->at[b].n_pred; i++) {
			uint32_t from = g->at[b].pred[i];

			if (c->seen[from] || g->at[from].order == CFG_NONE)
				continue;
			c->seen[from] = 1;
			if (!find_writer(c, from, g->at[from].end))
				c->p->v->failed |= !VEC_PUSH(&c->todo, from);
		}
		if (!c->todo.len || c->p->v->failed)
			return;
		b = c->todo.at[--c->todo.len];
	}
}

static bool reads_carry(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->flags & PTX_F_READS_CC &&
	       !(s->mn->flags & (PTX_F_CALL | PTX_F_UNKNOWN));
}

/* Checks that each statement that may set the carry flag for `at` implements one that may set it in
 * the original kernel. */
static void look_at_carry(struct carry *c, uint32_t at)
{
	struct verify_pair *p = c->p;
	size_t n;
	uint32_t now[16];

	find_writers(c, p->qg, at);
	n = MIN(c->writers.len, ARRAY_LEN(now));
	if (n)
		memcpy(now, c->writers.at, n * sizeof(*now));
	find_writers(c, p->pg, p->of[at]);
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t m = 0; m < c->writers.len; m++)
			found |= c->writers.at[m] == p->of[now[i]];
		if (!found)
			verify_tell(p, PASS_RULE_CARRY, now[i], p->of[at],
				"another statement, `%s`, sets the carry flag that `%s` reads",
				verify_text(p, p->q, now[i]), verify_text(p, p->q, at));
	}
	if (!n && c->writers.len)
		verify_tell(p, PASS_RULE_CARRY, at, p->of[at],
			"no statement sets the carry flag that `%s` reads",
			verify_text(p, p->q, at));
}

void verify_carry(struct verify_pair *p)
{
	struct carry c = {.p = p};
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->q->body.len; i++)
		n += p->of[i] != NONE && reads_carry(&p->q->body.at[i]);
	if (!n)
		return;
	c.seen = calloc(MAX(p->pg->n, p->qg->n), 1);
	p->v->failed |= !c.seen;
	for (uint32_t i = 0; i < p->q->body.len && !p->v->failed; i++)
		if (p->of[i] != NONE && reads_carry(&p->q->body.at[i]) &&
			reads_carry(&p->p->body.at[p->of[i]]))
			look_at_carry(&c, i);
	free(c.seen);
	VEC_FREE(&c.todo);
	VEC_FREE(&c.writers);
}

/* ---- convergence of lanes ---- */
struct lanes {
	struct verify *v;
	const struct cfg *g;
	struct cfg_uniformity *u;
	struct cfg_chains *chains;
	/* by node of chains: true if lanes of a warp may have different values there */
	uint8_t *differs;
	VEC(uint32_t) todo;
	uint32_t *list, *seen, mark; /* for walks over blocks */
};

/* Returns whether s loads heddle's own data in shared memory. The verifier takes for granted that
 * all lanes get the same value (verify.h). */
static bool is_own_word(const struct lanes *l, const struct ptx_stmt *s)
{
	return s->mn->op == PTX_OP_ld && s->mn->space == PTX_SHARED &&
	       !verify_owner(l->v, (uint32_t)(s - l->g->f->body.at));
}

static bool reads_lane(const struct ptx_stmt *s)
{
	for (unsigned i = 1; i < s->n; i++)
		if (s->opd[i].kind == PTX_OPD_SPECIAL)
			switch (s->opd[i].value) {
			case PTX_SR_NTID_X:
			case PTX_SR_NTID_Y:
			case PTX_SR_NTID_Z:
			case PTX_SR_CTAID_X:
			case PTX_SR_CTAID_Y:
			case PTX_SR_CTAID_Z:
			case PTX_SR_NCTAID_X:
			case PTX_SR_NCTAID_Y:
			case PTX_SR_NCTAID_Z:
				break;
			default:
				return true;
			}
	return false;
}

enum result { RESULT_SAME, RESULT_AS_READ, RESULT_DIFFERS };

/* Says whether a statement writes the same value in all lanes of a warp: always (RESULT_SAME),
 * if it reads the same values in all lanes (RESULT_AS_READ), or not for certain
 * (RESULT_DIFFERS). */
static enum result result_of(const struct lanes *l, const struct ptx_stmt *s)
{
	if (s->mn->op == PTX_OP_vote && ptx_has_mod(s->mn, "sync"))
		return s->n && s->opd[s->n - 1].kind == PTX_OPD_IMM &&
				       (uint32_t)s->opd[s->n - 1].value == UINT32_MAX
			       ? RESULT_SAME
			       : RESULT_DIFFERS;
	if (is_own_word(l, s))
		return RESULT_SAME;
	if (s->mn->flags & (PTX_F_ATOMIC | PTX_F_CALL | PTX_F_UNKNOWN | PTX_F_WARP_SYNC) ||
		reads_lane(s) ||
		(s->mn->flags & PTX_F_READS_MEM && s->mn->space != PTX_PARAM &&
			s->mn->space != PTX_CONST))
		return RESULT_DIFFERS;
	return RESULT_AS_READ;
}

static void note_differs(struct lanes *l, uint32_t node)
{
	const struct cfg_chains *c = l->chains;
	bool is_use = node >= c->n_defs && node < c->n_defs + c->n_uses;

	if (l->differs[node] ||
		(is_use && l->u->reg[c->use[node - c->n_defs].reg] >= CFG_WARP_UNIFORM))
		return;
	l->differs[node] = 1;
	l->v->failed |= !VEC_PUSH(&l->todo, node);
}

struct writing {
	struct lanes *l;
	uint32_t at;
};

static void note_written(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct writing *w = user;

	(void)opd;
	if (role & PTX_DEF)
		note_differs(w->l, cfg_find_def(w->l->chains, reg, w->at));
}

/* Finds the nodes whose values may differ between the lanes of a warp. At first every node counts
 * as the same in all lanes. The function marks the nodes that differ by themselves, such as results
 * that depend on the lane and registers that nothing writes, and then all nodes that depend on a
 * marked one. So a value that depends on itself in a loop is not marked for that reason alone (the
 * result is a greatest fixed point). */
static void find_differing(struct lanes *l)
{
	const struct cfg_chains *c = l->chains;
	const struct ptx_stmt *body = l->g->f->body.at;

	for (uint32_t d = 0; d < c->n_defs; d++)
		if (result_of(l, &body[c->def[d].stmt]) == RESULT_DIFFERS)
			note_differs(l, d);
	/* The value of a register that nothing writes may differ. */
	for (uint32_t u = c->n_defs; u < c->n_defs + c->n_uses; u++)
		if (c->only[u] == CFG_NONE)
			note_differs(l, u);
	while (l->todo.len && !l->v->failed) {
		uint32_t node = l->todo.at[--l->todo.len];

		for (uint32_t i = c->to_of[node]; i < c->to_of[node + 1]; i++)
			note_differs(l, c->to[i]);
		if (node >= c->n_defs && node < c->n_defs + c->n_uses) {
			struct writing w = {l, c->use[node - c->n_defs].stmt};

			if (result_of(l, &body[w.at]) == RESULT_AS_READ)
				ptx_visit_regs(l->g->f, &body[w.at], note_written, &w);
		}
	}
	VEC_FREE(&l->todo);
}

/* Returns whether a register holds the same value in all lanes where statement `at` reads it. */
static bool is_same(const struct lanes *l, uint32_t reg, uint32_t at)
{
	return !l->differs[l->chains->n_defs + cfg_find_use(l->chains, reg, at)];
}

/* Finds the first statement of basic block `block` that lanes of a kernel must execute together,
 * such as a vote. Skips the statements of kernel `but`. Returns the pair of the statement's kernel
 * and sets *ret_at, or returns NULL. */
static struct verify_pair *together(
	struct lanes *l, uint32_t block, const struct verify_pair *but, uint32_t *ret_at)
{
	const struct cfg_block *b = &l->g->at[block];

	for (uint32_t i = b->first; i < b->end; i++) {
		const struct ptx_stmt *s = &l->g->f->body.at[i];

		if (s->kind != PTX_INSN || !(s->mn->flags & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC)) ||
			!verify_owner(l->v, i) || verify_owner(l->v, i) == but)
			continue;
		*ret_at = i;
		return verify_owner(l->v, i);
	}
	return NULL;
}

/* Returns whether no path from basic block `from` meets the kernel's code before a barrier or
 * before the beginning of the kernel (its next block). */
static bool leads_out(struct lanes *l, const struct verify_pair *p, uint32_t from)
{
	uint32_t n = 0, mark = ++l->mark;

	l->seen[from] = mark;
	l->list[n++] = from;
	while (n) {
		const struct cfg_block *b = &l->g->at[l->list[--n]];
		bool met = false;

		for (uint32_t i = b->first; i < b->end && !met; i++) {
			const struct ptx_stmt *s = &l->g->f->body.at[i];

			if (p->of[i] != NONE && p->of[i] != p->entry_at)
				return false;
			met = p->of[i] != NONE ||
			      (s->kind == PTX_INSN && s->mn->flags & PTX_F_BARRIER);
		}
		for (uint32_t i = 0; i < b->n_succ && !met; i++)
			if (l->seen[b->succ[i]] != mark) {
				l->seen[b->succ[i]] = mark;
				l->list[n++] = b->succ[i];
			}
	}
	return true;
}

/* Returns whether the branch at the end of the block only separates extra lanes, which fill up the
 * last warp of a kernel's block. The kernel does not have these lanes. */
static bool is_filling(struct lanes *l, const struct verify_pair *p, uint32_t block)
{
	const uint32_t *b = p->g->from->block;
	const struct cfg_block *blk = &l->g->at[block];

	return (b[0] * b[1] * b[2]) % 32 && blk->n_succ == 2 &&
	       (leads_out(l, p, blk->succ[0]) || leads_out(l, p, blk->succ[1]));
}

/* Returns whether all lanes of a warp take this branch together in the original kernel. If so, they
 * also take it together in the rewritten code, wherever and however often the branch runs there:
 * the warps consist of the same threads, and the registers hold the same values. */
static bool is_whole_in_plain(struct lanes *l, const struct verify_pair *owner, uint32_t at)
{
	const uint32_t *b = owner->g->from->block;
	const struct ptx_stmt *s = &owner->p->body.at[owner->of[at]];
	struct verify_kernel *g = owner->g;

	if (!g->u && cfg_uniformity(&l->v->arena, owner->pg,
			     b[1] == 1 && b[2] == 1 ? CFG_BLOCKS_1D : 0, NULL, &g->u) < 0) {
		l->v->failed = true;
		return true;
	}
	return s->mn->op == PTX_OP_bra && s->guard != PTX_NO_REG &&
	       g->u->reg[s->guard] >= CFG_WARP_UNIFORM &&
	       g->u->block[owner->pg->block_of[owner->of[at]]] >= CFG_WARP_UNIFORM;
}

static void look_at_branch(struct lanes *l, uint32_t block)
{
	uint32_t at = l->g->at[block].end - 1, n, where;
	const struct ptx_stmt *s = &l->g->f->body.at[at];
	const struct verify_pair *owner = verify_owner(l->v, at);

	if (s->kind != PTX_INSN || !(s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT)) ||
		l->g->at[block].n_succ < 2 || verify_is_never(l->v->pairs.at[0], at) ||
		(s->guard != PTX_NO_REG && is_same(l, s->guard, at)) ||
		(owner && l->v->r->form && is_whole_in_plain(l, owner, at)))
		return;
	n = cfg_influence(l->g, block, l->list, l->seen, ++l->mark);
	for (uint32_t i = 0; i < n; i++) {
		struct verify_pair *p = together(l, l->list[i], owner, &where);

		if (!p)
			continue;
		if (is_filling(l, p, block))
			return;
		verify_tell(p, PASS_RULE_CONVERGENCE, at, p->of[where],
			"the lanes of a warp may diverge at `%s`, which is not of this kernel, and "
			"do not reconverge before `%s`",
			verify_text(p, p->q, at), verify_text(p, p->q, where));
		return;
	}
}

/* Builds the control-flow graph without the edges from traps to the exit. A trap ends the grid, so
 * no lane waits for a trapped lane where paths join. */
static int without_traps(struct verify *v, struct cfg **ret)
{
	struct cfg *g;
	int r = cfg_build(&v->arena, v->r->f, &g);

	for (uint32_t b = 0; r == 0 && b < g->exit; b++) {
		struct cfg_block *blk = &g->at[b], *end = &g->at[g->exit];
		const struct ptx_stmt *s =
			blk->end > blk->first ? &g->f->body.at[blk->end - 1] : NULL;
		uint32_t n = 0;

		if (!s || s->kind != PTX_INSN || s->mn->op != PTX_OP_trap)
			continue;
		for (uint32_t i = 0; i < blk->n_succ; i++)
			if (blk->succ[i] != g->exit)
				blk->succ[n++] = blk->succ[i];
		blk->n_succ = n;
		for (uint32_t i = n = 0; i < end->n_pred; i++)
			if (end->pred[i] != b)
				end->pred[n++] = end->pred[i];
		end->n_pred = n;
	}
	if (r == 0)
		r = cfg_relink(g);
	*ret = g;
	return r;
}

static bool any_together(const struct verify *v)
{
	for (uint32_t i = 0; i < v->r->f->body.len; i++) {
		const struct ptx_stmt *s = &v->r->f->body.at[i];

		if (s->kind == PTX_INSN && s->mn->flags & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC) &&
			verify_owner((struct verify *)v, i))
			return true;
	}
	return false;
}

static bool is_1d(const struct pass_merged *form)
{
	return form && form->block[1] == 1 && form->block[2] == 1;
}

void verify_convergence(struct verify *v)
{
	struct lanes l = {.v = v};
	struct cfg *g = NULL;
	int r;

	if (!any_together(v))
		return;
	r = without_traps(v, &g);
	l.g = g;
	if (r == 0)
		r = cfg_uniformity(&v->arena, g,
			CFG_NO_RACES | (is_1d(v->r->form) ? CFG_BLOCKS_1D : 0), NULL, &l.u);
	if (r == 0)
		r = cfg_chains(&v->arena, g, &l.chains);
	if (r == 0) {
		l.differs = arena_zalloc(&v->arena, l.chains->n_nodes);
		l.list = ARENA_ARRAY(&v->arena, uint32_t, g->n);
		l.seen = ARENA_ARRAY(&v->arena, uint32_t, g->n);
	}
	if (!l.differs || !l.list || !l.seen) {
		v->failed = true;
		return;
	}
	find_differing(&l);
	for (uint32_t b = 0; b < g->exit; b++)
		if (g->at[b].order != CFG_NONE && g->at[b].end > g->at[b].first)
			look_at_branch(&l, b);
}
