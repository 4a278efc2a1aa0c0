/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes the product of two flow graphs as code (GoPTX, section III-A, algorithm 1). A state of the
 * product is a pair of nodes, one of each kernel:
 * - If both nodes are runs, they are woven, and both kernels proceed.
 * - If both are branches, they are taken one after the other. The states in which only one kernel
 *   has branched are the dummy nodes of figure 7b.
 * - Once one kernel is at its end, the other continues alone.
 *
 * Barriers (figure 9): code of the second kernel that may wait for other warps is delayed until no
 * later code of the first kernel can wait. So all warps reach all barriers in the same order.
 *
 * A branch where lanes may diverge becomes a vote before each of its sides. A warp whose lanes all
 * go to the same side continues in woven code. A diverged warp runs only the branch's kernel, in a
 * separate copy of that kernel's code, up to the reconvergence point. */
#include "cfg/write.h"
#include "pass/fuse/weave.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STMTS  12000 /* limit on the product's statements */
#define MAX_STATES (1u << 22)
#define STATE      0x80000000u /* flag: the number is a state's, not a part's */

/* Data about one part of the draft. */
struct about {
	VEC(struct pass_origin) of; /* origins of the part's statements */
	struct pass_origin last;
	bool cold; /* the part is rarely executed */
};

struct state {
	uint32_t node[2];
	uint32_t part; /* CFG_NONE: the state has no part yet */
};

struct product {
	struct kernels *x;
	struct pass_writer *w;
	struct weave_flow *f;
	const struct pass_weave_options *o;
	struct cfg_draft d;
	VEC(struct about) about; /* for each part of the draft */
	VEC(struct state) states;
	uint32_t *state_of; /* for each pair of nodes: number of its state plus 1; 0: none */
	VEC(uint32_t) todo;
	uint32_t *region[2], *list, *seen, mark; /* indexed by block */
	const struct ptx_mnem *bra;
	size_t n_stmts;
	int error;
};

static void fail(struct product *p, int error)
{
	p->error = p->error ? p->error : error;
}

/* ---- parts ---- */
static uint32_t new_part(struct product *p, bool cold)
{
	uint32_t n = cfg_draft_add(&p->d);

	if (n == CFG_NONE || !VEC_PUSH(&p->about, ((struct about){.last = {PASS_OURS, PASS_OURS},
							  .cold = cold}))) {
		fail(p, -ENOMEM);
		return CFG_NONE;
	}
	return n;
}

static void push_stmt(struct product *p, uint32_t part, struct ptx_stmt s, struct pass_origin of)
{
	if (p->error)
		return;
	if (!VEC_PUSH(&p->d.parts.at[part].stmts, s) || !VEC_PUSH(&p->about.at[part].of, of))
		fail(p, -ENOMEM);
	if (++p->n_stmts > MAX_STMTS)
		fail(p, -E2BIG);
}

static struct pass_origin origin(const struct weave_flow *f, uint32_t at)
{
	uint32_t number = at < f->g->numbers.len ? f->g->numbers.at[at] : PASS_OURS;

	return (struct pass_origin){number == PASS_OURS ? PASS_OURS : f->k, number};
}

static void put_stmt(struct product *p, uint32_t part, const struct weave_flow *f, uint32_t at)
{
	push_stmt(p, part, ptx_graft_stmt(f->g->graft, &f->g->f->body.at[at]), origin(f, at));
	fail(p, ptx_graft_error(f->g->graft));
}

static void put_unit(struct product *p, uint32_t part, const struct weave_flow *f, uint32_t unit)
{
	for (uint32_t i = f->units.at[unit].first; i < f->units.at[unit].end; i++)
		put_stmt(p, part, f, i);
}

/* Appends PTX text to a part (a basic block of the product). Returns its last statement, or NULL
 * after an error. */
static struct ptx_stmt *put_text(
	struct product *p, uint32_t part, const char *text, struct pass_origin of)
{
	struct pass_writer t = {.m = p->x->m, .f = p->x->host, .diags = p->x->diags};

	pass_put(&t, text);
	fail(p, t.error);
	for (size_t i = 0; i < t.out.len; i++)
		push_stmt(p, part, t.out.at[i], of);
	VEC_FREE(&t.out);
	pass_writer_finish(&t);
	if (p->error)
		return NULL;
	return &p->d.parts.at[part].stmts.at[p->d.parts.at[part].stmts.len - 1];
}

static void set_next(struct product *p, uint32_t part, uint32_t to)
{
	if (!p->error)
		p->d.parts.at[part].next = to;
}

static void add_target(struct product *p, uint32_t part, uint32_t to)
{
	if (!p->error && !VEC_PUSH(&p->d.parts.at[part].to, to))
		fail(p, -ENOMEM);
}

static void end_with_branch(struct product *p, uint32_t part, uint32_t guard, bool negated,
	uint32_t to, struct pass_origin of)
{
	if (p->error)
		return;
	p->d.parts.at[part].last = (struct ptx_stmt){
		.kind = PTX_INSN, .mn = p->bra, .guard = guard, .guard_negated = negated};
	p->about.at[part].last = of;
	add_target(p, part, to);
}

/* ---- states ---- */
static uint32_t state_ref(struct product *p, uint32_t first, uint32_t second)
{
	uint32_t node[2] = {weave_settle(&p->f[0], first), weave_settle(&p->f[1], second)};
	size_t key = (size_t)node[0] * p->f[1].nodes.len + node[1];
	struct state s = {{node[0], node[1]}, CFG_NONE};

	if (p->state_of[key])
		return STATE | (p->state_of[key] - 1);
	if (!VEC_PUSH(&p->states, s) || !VEC_PUSH(&p->todo, (uint32_t)p->states.len - 1)) {
		fail(p, -ENOMEM);
		return CFG_NONE;
	}
	p->state_of[key] = (uint32_t)p->states.len;
	return STATE | (p->state_of[key] - 1);
}

/* Returns the state that follows when kernel k moves to node `to`. */
static uint32_t state_after(struct product *p, struct state s, unsigned k, uint32_t to)
{
	s.node[k] = to;
	return state_ref(p, s.node[0], s.node[1]);
}

/* ---- weaving two runs (GoPTX, section III-B) ---- */
/* Returns whether the run has instructions of the kernel, and not only instructions that passes
 * added. */
static bool has_own(const struct weave_flow *f, const struct weave_node *n)
{
	for (uint32_t u = n->from; u < n->end; u++)
		for (uint32_t i = f->units.at[u].first; i < f->units.at[u].end; i++)
			if (origin(f, i).kernel != PASS_OURS)
				return true;
	return false;
}

static void mark_woven(struct weave_flow *f, const struct weave_node *n)
{
	for (uint32_t u = n->from; u < n->end; u++)
		for (uint32_t i = f->units.at[u].first; i < f->units.at[u].end; i++)
			f->woven[i] = 1;
}

/* Chooses the kernel that gives the next unit (statements that stay together). If one kernel has no
 * units left, it is the other one. Otherwise it is the kernel with fewer cycles so far, or, if both
 * have the same number, the kernel whose next unit is longer. With options->in_order, the first
 * kernel gives all its units first. */
static unsigned choose_list(const struct product *p, const uint32_t at[2], const uint32_t end[2],
	const uint64_t cycles[2])
{
	if (at[0] == end[0] || at[1] == end[1])
		return at[0] == end[0];
	if (p->o->in_order)
		return 0;
	if (cycles[0] != cycles[1])
		return cycles[1] < cycles[0];
	return p->f[1].units.at[at[1]].latency > p->f[0].units.at[at[0]].latency;
}

/* Puts a block's directives first, because they must precede its code. */
static void put_directives(struct product *p, uint32_t part, unsigned k, uint32_t *at, uint32_t end)
{
	const struct weave_flow *f = &p->f[k];

	for (; *at < end; ++*at) {
		if (f->g->f->body.at[f->units.at[*at].first].kind != PTX_DIRECTIVE)
			return;
		put_unit(p, part, f, *at);
	}
}

static void put_run(struct product *p, uint32_t part, unsigned k, const struct weave_node *n)
{
	for (uint32_t u = n->from; u < n->end && !p->error; u++)
		put_unit(p, part, &p->f[k], u);
}

/* Returns whether both kernels have ended in this state. */
static bool is_end(const struct product *p, uint32_t ref)
{
	const struct state *s;

	if (p->error || !(ref & STATE))
		return false;
	s = &p->states.at[ref & ~STATE];
	return s->node[0] == p->f[0].end && s->node[1] == p->f[1].end;
}

/* Makes the lanes of a warp reconverge at the end of a part, before a place to which other parts
 * lead, too. ptxas reconverges the lanes of a branch (BSYNC) only at a place to which no other
 * branch leads. A state of the product has several predecessors, so lanes would stay diverged
 * there, while ptxas assumes a whole warp. Each group of diverged lanes would then act like a warp
 * of its own: a barrier counts it as one warp, a vote sees only its lanes, and a loop counts once
 * for each group. A bar.warp.sync at the beginning of a state is too late: ptxas removes it. */
static void put_gather(struct product *p, uint32_t part)
{
	const struct pass_origin ours = {PASS_OURS, PASS_OURS};

	put_text(p, part, WHOLE_WARP, ours);
}

/* Returns whether any instruction in these units has a guard. */
static bool has_guard(const struct weave_flow *f, uint32_t from, uint32_t end)
{
	const ptx_body *body = &f->g->f->body;

	for (uint32_t u = from; u < end; u++)
		for (uint32_t i = f->units.at[u].first; i < f->units.at[u].end; i++)
			if (body->at[i].kind == PTX_INSN && body->at[i].guard != PTX_NO_REG)
				return true;
	return false;
}

/* Weaves two runs, for whole warps. Returns whether some instruction has a guard. */
static bool weave_runs(struct product *p, uint32_t part, const struct weave_node *const n[2])
{
	uint32_t at[2] = {0, 0}, end[2] = {0, 0};
	uint64_t cycles[2] = {0, 0};
	bool guarded = false;

	for (unsigned k = 0; k < 2; k++) {
		if (!n[k])
			continue;
		at[k] = n[k]->from;
		end[k] = n[k]->end;
		guarded |= has_guard(&p->f[k], at[k], end[k]);
		if (n[!k] && has_own(&p->f[!k], n[!k]))
			mark_woven(&p->f[k], n[k]);
		put_directives(p, part, k, &at[k], end[k]);
	}
	while ((at[0] < end[0] || at[1] < end[1]) && !p->error) {
		unsigned k = choose_list(p, at, end, cycles);

		cycles[k] += p->f[k].units.at[at[k]].latency;
		put_unit(p, part, &p->f[k], at[k]++);
	}
	return guarded;
}

/* ---- branches ---- */
static const struct ptx_stmt *find_terminator(
	const struct weave_flow *f, uint32_t block, uint32_t *ret_at)
{
	const struct cfg_block *blk = &f->cfg->at[block];
	const struct ptx_stmt *s = blk->end > blk->first ? &f->g->f->body.at[blk->end - 1] : NULL;

	*ret_at = blk->end - 1;
	return s && s->kind == PTX_INSN && s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT) ? s : NULL;
}

/* Code in which kernel k runs alone, between a branch and its reconvergence point. */
struct region {
	struct state s;
	unsigned k;
	uint32_t meet; /* block */
	uint32_t out;  /* part that follows the region; it begins at the reconvergence point */
};

static uint32_t find_part(struct product *p, const struct region *r, uint32_t block)
{
	const struct weave_flow *f = &p->f[r->k];

	if (block == r->meet)
		return r->out;
	if (block != f->cfg->exit && p->seen[block] == p->mark)
		return p->region[r->k][block];
	return state_after(p, r->s, r->k, f->node[block]);
}

static uint32_t block_of_label(const struct weave_flow *f, const struct ptx_sym *label)
{
	const ptx_body *body = &f->g->f->body;

	for (size_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_LABEL && body->at[i].sym == label)
			return f->cfg->block_of[i];
	return f->cfg->exit;
}

/* Ends a part in the same way as the original block. */
static void end_alone(struct product *p, const struct region *r, uint32_t part, uint32_t block)
{
	const struct weave_flow *f = &p->f[r->k];
	const struct cfg_block *blk = &f->cfg->at[block];
	const struct ptx_stmt *s;
	struct ptx_stmt copy;
	uint32_t at;

	s = find_terminator(f, block, &at);
	if (!s || (s->mn->op == PTX_OP_bra && s->guard == PTX_NO_REG)) {
		set_next(p, part, find_part(p, r, blk->n_succ ? blk->succ[0] : f->cfg->exit));
		return;
	}
	if (s->guard != PTX_NO_REG)
		set_next(p, part, find_part(p, r, block + 1));
	if (s->mn->op == PTX_OP_bra) {
		end_with_branch(p, part, ptx_graft_reg(f->g->graft, s->guard), s->guard_negated,
			find_part(p, r, blk->succ[0]), origin(f, at));
		p->d.parts.at[part].last.mn = s->mn;
		return;
	}
	copy = ptx_graft_stmt(f->g->graft, s);
	fail(p, ptx_graft_error(f->g->graft));
	if (p->error)
		return;
	p->d.parts.at[part].last = copy;
	p->about.at[part].last = origin(f, at);
	for (uint32_t i = 0; s->mn->op == PTX_OP_brx && i < s->opd[1].sym->n_targets; i++)
		add_target(
			p, part, find_part(p, r, block_of_label(f, s->opd[1].sym->targets[i].sym)));
}

/* Emits code in which kernel k runs alone, from the branch at the end of `block` to the
 * reconvergence point. The code begins in `part`. */
static void put_alone(struct product *p, struct state s, unsigned k, uint32_t part, uint32_t block)
{
	const struct weave_flow *f = &p->f[k];
	uint32_t ipdom = f->cfg->at[block].ipdom;
	struct region r = {s, k, ipdom == CFG_NONE ? f->cfg->exit : ipdom, CFG_NONE};
	uint32_t n = cfg_influence(f->cfg, block, p->list, p->seen, ++p->mark), meet;

	meet = state_after(p, s, k, f->node[r.meet]);
	r.out = is_end(p, meet) ? meet : new_part(p, true);
	if (r.out != meet) {
		put_gather(p, r.out);
		set_next(p, r.out, meet);
	}
	for (uint32_t i = 0; i < n; i++)
		p->region[k][p->list[i]] = new_part(p, true);
	end_alone(p, &r, part, block);
	for (uint32_t i = 0; i < n && !p->error; i++) {
		uint32_t b = p->list[i], to = p->region[k][b];

		for (uint32_t u = f->run[b]; u < f->run[b + 1] && !p->error; u++)
			put_unit(p, to, f, u);
		end_alone(p, &r, to, b);
	}
}

/* Ends a part with a vote and a branch that depends on it. The vote is true if all lanes (or any
 * lane, if `all` is false) take the edge `way`: 0 means taken, 1 not taken. */
static void put_vote(struct product *p, uint32_t part, const struct weave_flow *f, uint32_t at,
	bool all, unsigned way, uint32_t to)
{
	const struct ptx_stmt *s = &f->g->f->body.at[at];
	struct ptx_stmt *v = put_text(p, part,
		all ? "vote.sync.all.pred %hd_wv, %hd_wv, -1;"
		    : "vote.sync.any.pred %hd_wv, %hd_wv, -1;",
		origin(f, at));

	if (!v)
		return;
	v->opd[1].reg = ptx_graft_reg(f->g->graft, s->guard);
	v->opd[1].negated = (s->guard_negated != 0) != (way == 1) ? '!' : 0;
	end_with_branch(p, part, v->opd[0].reg, false, to, origin(f, at));
}

/* Emits votes: warps that stay whole continue woven, diverged warps run alone. */
static void put_votes(struct product *p, struct state s, unsigned k, uint32_t part)
{
	const struct weave_flow *f = &p->f[k];
	const struct weave_node *n = &f->nodes.at[s.node[k]];
	unsigned likely = n->likely ? 0 : 1;
	uint32_t at = f->cfg->at[n->block].end - 1, alone = new_part(p, true), second = alone;

	/* If the unlikely edge leads to the reconvergence point, a second vote is not needed: the
	 * copy in which the kernel runs alone handles it. */
	if (n->next[!likely] != n->meet) {
		second = new_part(p, true);
		put_vote(p, second, f, at, true, !likely, state_after(p, s, k, n->next[!likely]));
		set_next(p, second, alone);
	}
	put_vote(p, part, f, at, false, !likely, second);
	put_alone(p, s, k, alone, n->block);
	set_next(p, part, state_after(p, s, k, n->next[likely]));
}

static void take_branch(struct product *p, struct state s, unsigned k, uint32_t part)
{
	const struct weave_flow *f = &p->f[k];
	const struct weave_node *n = &f->nodes.at[s.node[k]];
	const struct ptx_stmt *last;
	uint32_t at, taken;

	for (uint32_t u = n->from; u < n->end; u++)
		put_unit(p, part, f, u);
	last = find_terminator(f, n->block, &at);
	if (p->error)
		return;
	if (n->kind == WEAVE_TRAP) {
		p->d.parts.at[part].last = ptx_graft_stmt(f->g->graft, last);
		fail(p, ptx_graft_error(f->g->graft));
		p->about.at[part].last = origin(f, at);
		if (n->next[0] != CFG_NONE)
			set_next(p, part, state_after(p, s, k, n->next[0]));
	} else if (n->alone) {
		put_alone(p, s, k, part, n->block);
	} else if (n->uniform) {
		taken = state_after(p, s, k, n->next[0]);
		end_with_branch(p, part, ptx_graft_reg(f->g->graft, last->guard),
			last->guard_negated, taken, origin(f, at));
		set_next(p, part, state_after(p, s, k, n->next[1]));
	} else {
		put_votes(p, s, k, part);
	}
}

/* ---- one step of both kernels, if both are at a run or a WEAVE_IF ---- */
/* Emits a branch to the part `to` for lanes that skip the block of a WEAVE_IF. Returns the next
 * part. */
static uint32_t unless_into(struct product *p, uint32_t part, unsigned k,
	const struct weave_node *n, bool whole, uint32_t to)
{
	const struct weave_flow *f = &p->f[k];
	uint32_t at = f->cfg->at[n->block].end - 1, next = new_part(p, !whole);
	const struct ptx_stmt *s = &f->g->f->body.at[at];

	if (p->error)
		return part;
	if (whole && !n->uniform)
		put_vote(p, part, f, at, false, !n->into, to);
	else
		end_with_branch(p, part, ptx_graft_reg(f->g->graft, s->guard),
			(s->guard_negated != 0) != (n->into == 0), to, origin(f, at));
	set_next(p, part, next);
	return next;
}

/* Emits one step of kernel k alone, a run or an if, from `part` on. Returns the part in which the
 * step ends. */
static uint32_t step_alone(struct product *p, uint32_t part, unsigned k, const struct weave_node *n)
{
	uint32_t behind, into;

	if (n->kind == WEAVE_RUN) {
		put_run(p, part, k, n);
		return part;
	}
	behind = new_part(p, true);
	into = unless_into(p, part, k, n, false, behind);
	put_run(p, into, k, n);
	set_next(p, into, behind);
	return behind;
}

/* Emits one step of both kernels, from the nodes n[0] and n[1]. If all lanes of a warp enter the
 * basic blocks of the nodes of kind WEAVE_IF, the code of both kernels is woven. Otherwise the two
 * kernels' code runs one after the other. */
static void put_step(
	struct product *p, uint32_t part, const struct weave_node *const n[2], uint32_t to)
{
	uint32_t otherwise = CFG_NONE, last;

	for (unsigned k = 0; k < 2 && !p->error; k++) {
		if (!n[k] || n[k]->kind != WEAVE_IF)
			continue;
		if (otherwise == CFG_NONE)
			otherwise = new_part(p, true);
		part = unless_into(p, part, k, n[k], true, otherwise);
	}
	if (weave_runs(p, part, n) && !is_end(p, to))
		put_gather(p, part);
	set_next(p, part, to);
	if (otherwise == CFG_NONE)
		return;
	last = otherwise;
	for (unsigned k = 0; k < 2 && !p->error; k++)
		if (n[k])
			last = step_alone(p, last, k, n[k]);
	if (!is_end(p, to))
		put_gather(p, last);
	set_next(p, last, to);
}

/* ---- writing one state ---- */
static bool is_step(const struct weave_node *n)
{
	return n->kind == WEAVE_RUN || n->kind == WEAVE_IF;
}

/* Returns whether the second kernel must wait in this state. */
static bool has_to_wait(const struct product *p, struct state s)
{
	return p->f[1].nodes.at[s.node[1]].sync && p->f[0].nodes.at[s.node[0]].sync_ahead;
}

/* Pairs code of a kernel only with code of the other kernel, not with code that a pass added.
 * Passes add code around each kernel (ids, skipped blocks), and the length of this code differs
 * between kernels. So a run that consists only of added code is executed alone. */
static void begin_together(const struct product *p, const struct weave_node *runs[2])
{
	bool own[2];

	if (!runs[0] || !runs[1])
		return;
	for (unsigned k = 0; k < 2; k++)
		own[k] = has_own(&p->f[k], runs[k]);
	if (own[0] != own[1])
		runs[own[0] ? 0 : 1] = NULL;
}

static void write_state(struct product *p, uint32_t number)
{
	struct state s = p->states.at[number];
	const struct weave_node *n[2] = {
		&p->f[0].nodes.at[s.node[0]], &p->f[1].nodes.at[s.node[1]]};
	const struct weave_node *runs[2] = {NULL, NULL};
	uint32_t part = new_part(p, false);
	bool waits = has_to_wait(p, s);

	if (p->error)
		return;
	p->states.at[number].part = part;
	for (unsigned k = 0; k < 2; k++)
		if (!is_step(n[k]) && n[k]->kind != WEAVE_END && !(k == 1 && waits)) {
			take_branch(p, s, k, part);
			return;
		}
	for (unsigned k = 0; k < 2; k++)
		if (is_step(n[k]) && !(k == 1 && waits))
			runs[k] = n[k];
	begin_together(p, runs);
	for (unsigned k = 0; k < 2; k++)
		if (runs[k])
			s.node[k] = n[k]->next[0];
	if (runs[0] || runs[1])
		put_step(p, part, runs, state_ref(p, s.node[0], s.node[1]));
}

/* ---- building the whole product ---- */
static void put_head(struct product *p, const struct weave_flow *f)
{
	const ptx_body *body = &f->g->f->body;
	unsigned depth = 0;

	for (size_t i = 0; i < body->len && !p->error; i++) {
		const struct ptx_stmt *s = &body->at[i];
		bool proto = s->kind == PTX_DIRECTIVE && s->sym &&
			     strcmp(s->text, ".branchtargets") != 0;

		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
		if (!depth && (s->kind == PTX_DECL || proto) &&
			!VEC_PUSH(&p->d.head, ptx_graft_stmt(f->g->graft, s)))
			fail(p, -ENOMEM);
	}
	fail(p, ptx_graft_error(f->g->graft));
}

/* Emits the entry point. Warps that only one kernel's block has run only this kernel. */
static void put_entry(struct product *p)
{
	uint32_t part = new_part(p, false), both = state_ref(p, p->f[0].start, p->f[1].start);
	struct pass_origin ours = {PASS_OURS, PASS_OURS};
	char text[200];

	for (unsigned k = 0; k < 2; k++) {
		struct ptx_stmt *s;

		if (p->f[k].g->threads >= p->x->threads)
			continue;
		snprintf(text, sizeof(text),
			"mov.u32 %%hd_mr0, %%tid.x;\n"
			"setp.ge.u32 %%hd_mp1, %%hd_mr0, %u;\n"
			"vote.sync.any.pred %%hd_mp1, %%hd_mp1, -1;\n",
			p->f[k].g->threads);
		s = put_text(p, part, text, ours);
		if (s)
			end_with_branch(p, part, s->opd[0].reg, false,
				state_ref(p, k ? p->f[0].start : p->f[0].end,
					k ? p->f[1].end : p->f[1].start),
				ours);
	}
	set_next(p, part, both);
	if (p->todo.len == 2) { /* write the state in which both kernels run first */
		uint32_t one = p->todo.at[0];

		p->todo.at[0] = p->todo.at[1];
		p->todo.at[1] = one;
	}
}

/* Chooses the order of the parts in the PTX text: the entry, likely parts, the others, and the
 * end. */
static uint32_t *lay_out(const struct product *p, uint32_t end)
{
	uint32_t n = (uint32_t)p->d.parts.len, at = 0;
	uint32_t *to = malloc((n + 1) * sizeof(*to));

	for (unsigned cold = 0; to && cold < 2; cold++)
		for (uint32_t i = 0; i < n; i++)
			if (i != end && p->about.at[i].cold == cold)
				to[i] = at++;
	if (to && end != CFG_NONE)
		to[end] = at;
	return to;
}

static uint32_t resolve_ref(const struct product *p, const uint32_t *to, uint32_t ref)
{
	if (ref == CFG_NONE)
		return ref;
	return to[ref & STATE ? p->states.at[ref & ~STATE].part : ref];
}

/* Sorts the draft and its data into the order that lay_out has chosen, and replaces states by their
 * parts. */
static void sort_parts(struct product *p)
{
	uint32_t n = (uint32_t)p->d.parts.len, end = CFG_NONE, *to;
	struct cfg_part *parts = calloc(n + 1, sizeof(*parts));
	struct about *about = calloc(n + 1, sizeof(*about));

	for (size_t i = 0; i < p->states.len; i++)
		if (p->states.at[i].node[0] == p->f[0].end &&
			p->states.at[i].node[1] == p->f[1].end)
			end = p->states.at[i].part;
	to = lay_out(p, end);
	if (!to || !parts || !about)
		fail(p, -ENOMEM);
	for (uint32_t i = 0; i < n && !p->error; i++) {
		struct cfg_part *part = &p->d.parts.at[i];

		part->next = resolve_ref(p, to, part->next);
		for (size_t k = 0; k < part->to.len; k++)
			part->to.at[k] = resolve_ref(p, to, part->to.at[k]);
		parts[to[i]] = *part;
		about[to[i]] = p->about.at[i];
	}
	if (!p->error) {
		memcpy(p->d.parts.at, parts, n * sizeof(*parts));
		memcpy(p->about.at, about, n * sizeof(*about));
	}
	free(parts);
	free(about);
	free(to);
}

static void note_origin(struct product *p, struct pass_origin of)
{
	if (of.kernel != PASS_OURS)
		kernels_note(p->x, p->w, of.kernel, of.insn);
}

/* Copies the product into the writer, with the origin of each statement. */
static void write_out(struct product *p)
{
	uint32_t *first = calloc(p->d.parts.len + 1, sizeof(*first));
	ptx_body body = {0};
	uint32_t at = 0;

	fail(p, first ? 0 : -ENOMEM);
	if (!p->error)
		fail(p, cfg_write(p->x->m, p->x->host, &p->d, &body, first));
	for (uint32_t i = 0; i < p->d.parts.len && !p->error; i++) {
		const struct about *a = &p->about.at[i];
		uint32_t from = first[i];

		for (; at < from; at++)
			pass_copy(p->w, &body.at[at]);
		/* The label that the writer added to the part comes first. */
		if (from < first[i + 1] && body.at[from].kind == PTX_LABEL)
			from++;
		for (; at < first[i + 1]; at++) {
			if (at >= from && at - from < a->of.len)
				note_origin(p, a->of.at[at - from]);
			else if (at - from == a->of.len && body.at[at].kind == PTX_INSN)
				note_origin(p, a->last);
			else if (at - from == a->of.len)
				from++; /* a branch table precedes its branch */
			pass_copy(p->w, &body.at[at]);
		}
	}
	fail(p, p->w->error);
	VEC_FREE(&body);
	free(first);
}

static void count_woven(const struct weave_flow *f, struct pass_woven *ret)
{
	const ptx_body *body = &f->g->f->body;

	for (uint32_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind != PTX_INSN || origin(f, i).kernel == PASS_OURS ||
			s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT))
			continue;
		ret->of[f->k].instructions++;
		ret->of[f->k].woven += f->woven[i];
	}
}

static void note_unwoven(
	struct pass_woven *ret, const struct weave_flow *f, uint32_t at, const char *why)
{
	const struct ptx_stmt *s = weave_plain(f, at);

	if (s && ret->n_unwoven < ARRAY_LEN(ret->unwoven))
		ret->unwoven[ret->n_unwoven++] =
			(struct pass_unwoven){(uint8_t)f->k, s->line, s->col, why};
}

static uint32_t first_sync(const struct weave_flow *f, const struct weave_node *n)
{
	uint32_t u = n->from;

	while (u + 1 < n->end && !f->units.at[u].sync)
		u++;
	return f->units.at[u].first;
}

/* Reports where kernel k runs alone, and why. */
static void find_unwoven(const struct weave_flow f[2], unsigned k, struct pass_woven *ret)
{
	bool waits = k == 1 && weave_has_sync(&f[0]);

	for (size_t i = 0; i < f[k].nodes.len; i++) {
		const struct weave_node *n = &f[k].nodes.at[i];
		uint32_t at;

		if (n->kind == WEAVE_RUN && n->sync && waits) {
			note_unwoven(ret, &f[k], first_sync(&f[k], n),
				"the second kernel's barriers wait until the first kernel has no "
				"more");
			waits = false; /* this one report covers all later barriers, too */
		}
		if (n->kind == WEAVE_RUN || n->kind == WEAVE_END || n->kind == WEAVE_TRAP)
			continue;
		find_terminator(&f[k], n->block, &at);
		if (n->kind == WEAVE_TABLE)
			note_unwoven(ret, &f[k], at,
				"an indexed branch: the code of its targets is not woven");
		else if (n->alone && n->uniform)
			note_unwoven(ret, &f[k], at,
				"the code after this branch is not woven: it would be too large");
		else if (n->alone)
			note_unwoven(ret, &f[k], at,
				ret->reach >= WEAVE_STRAIGHT
					? "this branch may diverge, and the woven code would be "
					  "too large: the code of its two sides is not woven"
					: "this branch may diverge: its two sides are short and "
					  "not woven");
		else if (!n->uniform)
			note_unwoven(ret, &f[k], at,
				"this branch may diverge: warps that diverge here run its two "
				"sides without weaving");
	}
}

static void finish_product(struct product *p)
{
	for (size_t i = 0; i < p->about.len; i++)
		VEC_FREE(&p->about.at[i].of);
	VEC_FREE(&p->about);
	VEC_FREE(&p->states);
	VEC_FREE(&p->todo);
	cfg_draft_finish(&p->d);
	free(p->state_of);
}

static bool begin_product(struct product *p, struct arena *a)
{
	uint32_t blocks = MAX(p->f[0].cfg->n, p->f[1].cfg->n);

	p->state_of = calloc(p->f[0].nodes.len * p->f[1].nodes.len, sizeof(*p->state_of));
	p->bra = ptx_get_mnem(p->x->m, "bra");
	p->list = ARENA_ARRAY(a, uint32_t, blocks);
	p->seen = arena_zalloc(a, blocks * sizeof(*p->seen));
	for (unsigned k = 0; k < 2; k++)
		p->region[k] = ARENA_ARRAY(a, uint32_t, blocks);
	return p->state_of && p->bra && p->list && p->seen && p->region[0] && p->region[1];
}

int weave_product(struct kernels *x, struct pass_writer *w, struct weave_flow f[2],
	const struct pass_weave_options *o, struct pass_woven *ret)
{
	struct product p = {.x = x, .w = w, .f = f, .o = o};
	struct arena a;

	if (f[0].nodes.len * f[1].nodes.len > MAX_STATES)
		return -E2BIG;
	for (unsigned k = 0; k < 2; k++)
		memset(f[k].woven, 0, f[k].g->f->body.len);
	arena_init(&a, 0);
	fail(&p, begin_product(&p, &a) ? 0 : -ENOMEM);
	if (!p.error)
		put_entry(&p);
	while (p.todo.len && !p.error)
		write_state(&p, p.todo.at[--p.todo.len]);
	if (!p.error)
		sort_parts(&p);
	/* So far only woven code has been written to the common entry. */
	for (unsigned k = 0; k < 2 && !p.error; k++)
		put_head(&p, &f[k]);
	if (!p.error)
		write_out(&p);
	for (unsigned k = 0; k < 2 && !p.error; k++)
		count_woven(&f[k], ret);
	for (unsigned k = 0; k < 2 && !p.error; k++)
		find_unwoven(f, k, ret);
	finish_product(&p);
	arena_finish(&a);
	return p.error;
}
