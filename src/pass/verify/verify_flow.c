/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the paths between instructions. Each path from a statement that implements a kernel's
 * instruction must lead through silent code only. It must lead to the statement that implements the
 * next instruction of the original kernel on that path. Where the original kernel ends, the path
 * must lead to the kernel's beginning (for another block) or to the end of the entry. So all paths
 * meet barriers in the same order, and no new path leads to any instruction.
 *
 * Two kinds of the original kernel's statements count as silent: those that passes leave out, and
 * those that only direct control flow (a bra or a ret without a guard). */
#include "pass/verify/verify_private.h"

#include <stdlib.h>
#include <string.h>

/* Used in place of a statement's index if no statement follows. The end of a function has the index
 * body.len instead. */
#define NOWHERE (UINT32_MAX - 1) /* control flow ends in an endless loop or a trap */

enum edge_kind { EDGE_ON, EDGE_TAKEN, EDGE_FALL, EDGE_TABLE };
struct edge {
	enum edge_kind kind;
	uint32_t index; /* index in a branch table */
};

static bool is_return(const struct verify_pair *p, const struct ptx_stmt *s)
{
	return s->mn->op == PTX_OP_ret || (p->entry && s->mn->op == PTX_OP_exit);
}

/* Returns whether s moves ids only to sinks, so that it has no effect. */
static bool writes_nothing(const struct ptx_stmt *s)
{
	if (s->mn->op != PTX_OP_mov || s->n != 2 || s->opd[0].kind != PTX_OPD_VECTOR ||
		s->opd[1].kind != PTX_OPD_SPECIAL)
		return false;
	for (uint32_t i = 0; i < s->opd[0].n; i++)
		if (s->opd[0].list[i].kind != PTX_OPD_SINK)
			return false;
	return true;
}

static bool verify_is_event(const struct verify_pair *p, uint32_t plain)
{
	const struct ptx_stmt *s = &p->p->body.at[plain];

	if (s->kind != PTX_INSN || s->mn->op == PTX_OP_griddepcontrol || writes_nothing(s))
		return false;
	return s->guard != PTX_NO_REG || (s->mn->op != PTX_OP_bra && !is_return(p, s));
}

static uint32_t block_begin(const struct cfg *g, uint32_t b)
{
	return b == g->exit ? (uint32_t)g->f->body.len : g->at[b].first;
}

/* Returns the target of a taken bra, or the statement that follows the last statement of a basic
 * block. */
static uint32_t target(const struct cfg *g, uint32_t at)
{
	const struct cfg_block *b = &g->at[g->block_of[at]];

	return b->n_succ ? block_begin(g, b->succ[0]) : NOWHERE;
}

/* Returns the first instruction that control reaches from a statement. */
static uint32_t plain_from(const struct verify_pair *p, uint32_t at)
{
	uint32_t len = (uint32_t)p->p->body.len;

	for (uint32_t steps = 0; at < len; steps++) {
		const struct ptx_stmt *s = &p->p->body.at[at];

		if (verify_is_event(p, at))
			return at;
		if (steps > len)
			return NOWHERE;
		if (s->kind == PTX_INSN && is_return(p, s))
			return len;
		at = s->kind == PTX_INSN && s->mn->op == PTX_OP_bra ? target(p->pg, at) : at + 1;
	}
	return at;
}

static const struct ptx_sym *table_of(const struct ptx_stmt *s)
{
	return s->mn->op == PTX_OP_brx && s->n > 1 && s->opd[1].kind == PTX_OPD_SYM ? s->opd[1].sym
										    : NULL;
}

static uint32_t table_entry(const struct ptx_func *f, const struct ptx_sym *table, uint32_t i)
{
	for (uint32_t k = 0; table && i < table->n_targets && k < f->body.len; k++)
		if (f->body.at[k].kind == PTX_LABEL && f->body.at[k].sym == table->targets[i].sym)
			return k;
	return NOWHERE;
}

static unsigned list_edges(const struct verify_pair *p, uint32_t at, struct edge *to, unsigned max)
{
	const struct ptx_stmt *s = &p->p->body.at[at];
	const struct ptx_sym *table = table_of(s);
	unsigned n = 0;

	if (table)
		for (uint32_t i = 0; i < table->n_targets && n < max; i++)
			to[n++] = (struct edge){EDGE_TABLE, i};
	else if (s->guard != PTX_NO_REG && (s->mn->op == PTX_OP_bra || is_return(p, s)))
		to[n++] = (struct edge){EDGE_TAKEN, 0};
	if (n < max && (s->guard != PTX_NO_REG || !(s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT)))) {
		to[n] = (struct edge){n ? EDGE_FALL : EDGE_ON, 0};
		n++;
	}
	return n;
}

static uint32_t plain_next(const struct verify_pair *p, uint32_t at, struct edge e)
{
	const struct ptx_stmt *s = &p->p->body.at[at];

	if (e.kind == EDGE_TABLE)
		return plain_from(p, table_entry(p->p, table_of(s), e.index));
	if (e.kind == EDGE_TAKEN)
		return s->mn->op == PTX_OP_bra ? plain_from(p, target(p->pg, at))
					       : (uint32_t)p->p->body.len;
	return plain_from(p, at + 1);
}

/* ---- the rewritten code ---- */
struct walk {
	struct verify_pair *p;
	/* Marks of the statements that the search has visited. Each statement has two marks: one
	 * for a visit outside of the code that implements an instruction, one for a visit within
	 * such code. */
	uint32_t *seen, mark;
	VEC(uint64_t) stack;
	VEC(uint32_t) todo; /* statements that begin an instruction, still to be visited */
	uint8_t *known;     /* statements that have been added to todo */
	/* The path being followed: */
	uint32_t from, want;
	uint32_t from_now; /* statement of the rewritten code where the path begins */
	struct edge e;
	bool beginning, any, within;
	bool again;
};

const struct ptx_stmt *verify_written(const struct cfg *g, uint32_t at, uint32_t reg)
{
	uint32_t first = g->at[g->block_of[at]].first;

	while (at-- > first) {
		const struct ptx_stmt *s = &g->f->body.at[at];

		if (s->kind == PTX_INSN && s->n && s->opd[0].kind == PTX_OPD_REG &&
			s->opd[0].reg == reg && !(s->mn->flags & PTX_F_NO_DEST))
			return s;
	}
	return NULL;
}

static bool reads_never(const struct verify_pair *p, const struct ptx_stmt *s)
{
	const struct ptx_opd *o = s && s->n > 1 ? &s->opd[1] : NULL;

	return o && s->mn->op == PTX_OP_ld && s->mn->space == PTX_PARAM &&
	       o->kind == PTX_OPD_ADDR && o->value == offsetof(struct ctl_args, never) &&
	       o->list[0].kind == PTX_OPD_SYM && o->list[0].sym->kind == PTX_SYM_PARAM &&
	       o->list[0].sym->bytes >= sizeof(struct ctl_args) && p->entry;
}

bool verify_is_never(const struct verify_pair *p, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *w;

	if (s->guard == PTX_NO_REG || s->guard_negated)
		return false;
	w = verify_written(p->qg, at, s->guard);
	if (!w || w->mn->op != PTX_OP_setp || w->mn->cmp != PTX_NE || w->guard != PTX_NO_REG ||
		(w->n == 4 && !ptx_has_mod(w->mn, "and")) || w->opd[1].kind != PTX_OPD_REG ||
		w->opd[2].kind != PTX_OPD_IMM || w->opd[2].value)
		return false;
	return reads_never(p, verify_written(p->qg, (uint32_t)(w - p->q->body.at), w->opd[1].reg));
}

/* Returns the value of a guard of the rewritten code on the current path: 1 or 0, or -1 if both are
 * possible. */
static int guard_value(const struct walk *w, uint32_t at, bool within)
{
	const struct verify_pair *p = w->p;
	const struct ptx_stmt *s = &p->q->body.at[at], *by, *plain = &p->p->body.at[w->from];
	int holds;

	if (verify_is_never(p, at))
		return 0;
	if (within && !w->beginning && plain->mn->op == PTX_OP_brx)
		return w->e.kind == EDGE_TABLE;
	if (!within || w->beginning || plain->guard == PTX_NO_REG ||
		(w->e.kind != EDGE_TAKEN && w->e.kind != EDGE_FALL))
		return -1;
	holds = (w->e.kind == EDGE_TAKEN) != (plain->guard_negated != 0);
	if (s->guard == p->reg[plain->guard])
		return holds != (s->guard_negated != 0);
	/* The guard may be a vote on the kernel's guard. If the kernel's guard is true in a lane
	 * that comes here, it is true in at least one lane, so vote.any is true. If the kernel's
	 * guard is false in a lane that comes here, it is not true in all lanes, so vote.all is
	 * false. */
	by = verify_written(p->qg, at, s->guard);
	if (!by || by->mn->op != PTX_OP_vote || s->guard_negated ||
		by->opd[1].kind != PTX_OPD_REG || by->opd[1].reg != p->reg[plain->guard])
		return -1;
	holds = holds != (by->opd[1].negated != 0);
	if (ptx_has_mod(by->mn, "any"))
		return holds ? 1 : -1;
	return ptx_has_mod(by->mn, "all") && !holds ? 0 : -1;
}

static void push(struct walk *w, uint32_t at, bool within)
{
	if (!VEC_PUSH(&w->stack, (uint64_t)at << 1 | within))
		w->p->v->failed = true;
}

static void look_at(struct walk *w, uint32_t at)
{
	w->any = true;
	if (w->known[at])
		return;
	w->known[at] = 1;
	if (!VEC_PUSH(&w->todo, at))
		w->p->v->failed = true;
}

static bool has_convergent(const struct cfg *g, uint32_t at)
{
	if (at >= g->f->body.len)
		return false;
	for (uint32_t i = at; i < g->at[g->block_of[at]].end; i++) {
		const struct ptx_stmt *s = &g->f->body.at[i];

		if (s->kind == PTX_INSN && s->mn->flags & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC))
			return true;
	}
	return false;
}

/* Chooses the rule that is violated if a path reaches the statement `met` instead of the expected
 * one, w->want. Either `met` gains a new path, or w->want is left out. */
static enum pass_rule rule_of(const struct walk *w, uint32_t met)
{
	const struct verify_pair *p = w->p;
	const struct ptx_stmt *s = w->want < p->p->body.len ? &p->p->body.at[w->want] : NULL;

	bool left_out = s && plain_from(p, w->want + 1) == met;

	if (!left_out && has_convergent(p->pg, met))
		return PASS_RULE_CONVERGENCE;
	if (s && s->mn->flags & PTX_F_BARRIER)
		return PASS_RULE_BARRIERS;
	return s && s->mn->flags & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC) ? PASS_RULE_CONVERGENCE
									: PASS_RULE_FLOW;
}

/* Reports that a path reaches `met`, an original statement or the end, instead of w->want. */
static void tell(struct walk *w, uint32_t at, uint32_t met)
{
	struct verify_pair *p = w->p;
	uint32_t from = w->beginning ? NONE : w->from, len = (uint32_t)p->p->body.len;

	verify_tell(p, rule_of(w, met), MIN(at, (uint32_t)p->q->body.len - 1), from,
		"from %s%s%s control can reach `%s`, line %u, next, but in the original kernel "
		"`%s`, line %u",
		w->beginning ? "the beginning" : "`",
		w->beginning ? "" : verify_text(p, p->p, from), w->beginning ? "" : "`",
		verify_text(p, p->p, met), met < len ? p->p->body.at[met].line : 0,
		w->want == NOWHERE ? "no statement" : verify_text(p, p->p, w->want),
		w->want < len ? p->p->body.at[w->want].line : 0);
}

/* Handles the first statement of a kernel's instruction on the path. Returns true if the path
 * continues through the instruction. */
static bool arrive(struct walk *w, uint32_t at, uint32_t met)
{
	bool is_end = w->want == w->p->p->body.len;

	if (met == w->want || (is_end && w->p->entry && met == w->p->entry_at && !w->beginning)) {
		w->p->again |= is_end;
		look_at(w, at);
		return false;
	}
	/* If the branch is written twice, the second copy takes the same edge. */
	if (!w->beginning && met == w->from && (w->e.kind == EDGE_TAKEN || w->e.kind == EDGE_FALL))
		return true;
	w->any = true;
	tell(w, at, met);
	return false;
}

static void reach_end(struct walk *w, uint32_t at)
{
	if (w->want != w->p->p->body.len && !w->beginning)
		tell(w, at, (uint32_t)w->p->p->body.len);
	w->any = true;
}

/* Continues the path after a branch or exit. */
static void leave(struct walk *w, uint32_t at, bool within)
{
	const struct cfg *g = w->p->qg;
	const struct ptx_stmt *s = &w->p->q->body.at[at];
	const struct cfg_block *b = &g->at[g->block_of[at]];
	int value = s->guard == PTX_NO_REG ? 1 : guard_value(w, at, within);

	if (value != 1)
		push(w, at + 1, within);
	if (value == 0)
		return;
	if (s->mn->flags & PTX_F_EXIT) {
		if (is_return(w->p, s))
			reach_end(w, at);
	} else if (within && w->e.kind == EDGE_TABLE) {
		push(w, table_entry(w->p->q, table_of(s), w->e.index), false);
	} else if (s->mn->op == PTX_OP_brx) {
		for (uint32_t i = 0; i < b->n_succ; i++)
			push(w, block_begin(g, b->succ[i]), within);
	} else {
		push(w, target(g, at), within);
	}
}

/* Follows the path to the next branch, or to the next instruction of the kernel. */
static void step(struct walk *w, uint32_t at, bool within)
{
	struct verify_pair *p = w->p;
	uint32_t len = (uint32_t)p->q->body.len;

	for (; at < len; at++) {
		const struct ptx_stmt *s = &p->q->body.at[at];
		uint32_t of = p->of[at];

		if (s->kind == PTX_INSN) {
			within = within && of == w->from;
			if (!within && of != NONE && verify_is_event(p, of)) {
				if (!arrive(w, at, of))
					return;
				within = true;
			}
		}
		if (w->seen[2 * at + within] == w->mark)
			return;
		w->seen[2 * at + within] = w->mark;
		if (s->kind != PTX_INSN)
			continue;
		if (s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT)) {
			leave(w, at, within);
			return;
		}
		if (!within && of == NONE && s->mn->flags & PTX_F_BARRIER &&
			w->want < p->p->body.len && !w->beginning && !verify_owner(p->v, at))
			verify_tell(p, PASS_RULE_BARRIERS, at, w->from,
				"barrier `%s` is between `%s` and `%s`, where the original kernel "
				"has none",
				verify_text(p, p->q, at), verify_text(p, p->p, w->from),
				verify_text(p, p->p, w->want));
	}
	if (at == len)
		reach_end(w, len - 1);
}

static void walk_from(struct walk *w, uint32_t at, bool within)
{
	w->mark++;
	w->any = false;
	push(w, at, within);
	while (w->stack.len && !w->p->v->failed) {
		uint64_t next = w->stack.at[--w->stack.len];

		step(w, (uint32_t)(next >> 1), next & 1);
	}
	if (w->any || w->want == NOWHERE)
		return;
	verify_tell(w->p, rule_of(w, NOWHERE), at, w->beginning ? NONE : w->from,
		"control cannot reach `%s` next, as it can in the original kernel",
		verify_text(w->p, w->p->p, w->want));
}

/* Checks the statements that implement one instruction, and follows each path from there to the
 * next instruction. */
static void visit(struct walk *w, uint32_t at)
{
	struct verify_pair *p = w->p;
	struct edge edges[300];
	uint32_t end = at;
	unsigned n;

	while (end < p->q->body.len &&
		(p->of[end] == p->of[at] ||
			(p->q->body.at[end].kind == PTX_DECL && p->of[end] == NONE)))
		end++;
	verify_code(p, at, end);
	w->from = p->of[at];
	w->beginning = false;
	n = list_edges(p, w->from, edges, ARRAY_LEN(edges));
	for (unsigned i = 0; i < n && !p->v->failed; i++) {
		w->e = edges[i];
		w->want = plain_next(p, w->from, edges[i]);
		walk_from(w, at, true);
	}
}

void verify_flow(struct verify_pair *p)
{
	struct walk w = {.p = p, .beginning = true};
	size_t len = p->q->body.len;

	w.seen = calloc(2 * len + 2, sizeof(*w.seen));
	w.known = calloc(len + 1, 1);
	p->v->failed |= !w.seen || !w.known;
	p->entry_at = w.want = plain_from(p, 0);
	if (!p->v->failed && len)
		walk_from(&w, 0, false);
	while (w.todo.len && !p->v->failed)
		visit(&w, w.todo.at[--w.todo.len]);
	free(w.seen);
	free(w.known);
	VEC_FREE(&w.stack);
	VEC_FREE(&w.todo);
}
