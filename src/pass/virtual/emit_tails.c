/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Emits the exit paths of a body whose barriers are rounds (rounds.c).
 *
 * ptxas makes diverged lanes reconverge where their paths join (BSSY and BSYNC in machine code).
 * All exits of a body lead to one label. So exited lanes would wait at that label for the other
 * lanes of their warp, while the other lanes wait for the exited ones at a barrier. On hardware the
 * exited lanes would be gone.
 *
 * So where a branch leads from code that may still reach a barrier to code that cannot, the code
 * after the branch is duplicated. The copy is called a tail. Each tail ends with its own loop that
 * executes rounds, and the paths join only after that loop.
 *
 * Tails alone do not suffice: for a loop with one exit, ptxas still makes the lanes that exit wait
 * at the tail, and gives the other lanes an early way past it (BREAK). Two more edges prevent this.
 * They are never taken, but ptxas cannot know it, because they depend on a parameter:
 * - One edge leads from the branch to code after its tail, so the tail does not post-dominate the
 *   branch. This edge is part of the branch itself, because lanes would wait at a separate basic
 *   block, too.
 * - The other edge leads from the body's beginning into the tail, so no part of the body dominates
 *   the tail.
 *
 * Tests show that each edge is needed: tests/pass/parting.sh and tests/hw/hw.sh forms. */
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"
#include "pass/virtual/twins.h"
#include "pass/virtual/virtual.h"

#include <errno.h>

/* An instruction that ptxas does not remove, for paths that are never taken. */
#define NEVER "nanosleep.u32 77;\n"

/* Emits, before the body, the edges into the tails. These edges are never taken. */
void pass_tails_begin(struct pass_writer *w, const struct pass_tails_put *t)
{
	if (t->at->facts->tails.len)
		pass_put(w, "ld.param.u32 %hd_n, " A_NEVER ";\n"
			    "setp.ne.u32 %hd_pa, %hd_n, 0;\n"
			    "@%hd_pa bra $hd_never;\n");
}

/* The caller replaces the last operand by the predicate of the branch. */
static const char never_too[] = "ld.param.u32 %hd_n, " A_NEVER ";\n"
				"setp.ne.and.u32 %hd_pa, %hd_n, 0, %hd_pa;\n";

static void put_branch(struct pass_writer *w, const struct pass_tail *t,
	const struct ptx_sym *label, const struct ptx_stmt *s)
{
	bool negated = s->guard_negated != t->falls;
	struct ptx_stmt rest;

	pass_put(w, never_too);
	pass_last(w)->opd[3].reg = s->guard;
	pass_last(w)->opd[3].negated = negated ? '!' : 0;
	pass_emit(w, "@%%hd_pa bra %s_never;\n", label->name);
	pass_emit(w, "bra %s;\n", label->name);
	pass_last(w)->guard = s->guard;
	pass_last(w)->guard_negated = negated;
	if (!t->falls)
		return;
	rest = ptx_copy_stmt(w->m, s); /* all threads that did not branch away take this exit */
	rest.guard = PTX_NO_REG;
	rest.guard_negated = false;
	pass_copy(w, &rest);
}

bool pass_tail_branch(
	struct pass_writer *w, struct pass_tails_put *t, size_t i, const struct ptx_stmt *s)
{
	const struct pass_facts *facts = t->at->facts;
	size_t k = 0;

	while (k < facts->tails.len && facts->tails.at[k].at != i)
		k++;
	if (k == facts->tails.len)
		return false;
	t->label[k] = ptx_new_label(w->m, w->f, "tail");
	if (t->label[k])
		put_branch(w, &facts->tails.at[k], t->label[k], s);
	else
		w->error = -ENOMEM;
	return true;
}

struct copying {
	struct pass_writer *w;
	const struct cfg *g;
	const struct pass_tail *t;
	pass_twins twins;
	/* label of the tail's first block, if that block has no label of its own */
	struct ptx_sym *end, *start;
	pass_put_fn *put;
	void *user;
};

static int name_labels(struct copying *c)
{
	const struct ptx_func *f = c->g->f;

	for (size_t i = 0; i < f->body.len; i++) {
		struct pass_twin twin = {f->body.at[i].sym, NULL};

		if (f->body.at[i].kind != PTX_LABEL || !c->t->in[c->g->block_of[i]])
			continue;
		twin.to = ptx_new_label(c->w->m, c->w->f, "tail");
		if (!twin.to || !VEC_PUSH(&c->twins, twin))
			return -ENOMEM;
	}
	return 0;
}

static bool scope_is_used(const struct copying *c, size_t open)
{
	const struct ptx_func *f = c->g->f;
	unsigned depth = 0;

	for (size_t i = open; i < f->body.len; i++) {
		depth += f->body.at[i].kind == PTX_OPEN;
		depth -= f->body.at[i].kind == PTX_CLOSE;
		if (depth == 0)
			return false;
		if (f->body.at[i].kind == PTX_INSN && c->t->in[c->g->block_of[i]])
			return true;
	}
	return false;
}

static const struct ptx_sym *label_of_block(const struct copying *c, uint32_t b)
{
	for (uint32_t i = c->g->at[b].first; i < c->g->at[b].end; i++)
		if (c->g->f->body.at[i].kind == PTX_LABEL)
			return pass_twin_of(&c->twins, c->g->f->body.at[i].sym);
	return NULL;
}

/* Emits a jump to the tail's first block if another block of the tail precedes the first block in
 * the PTX text. If the first block has no label, because control only falls through to it, it gets
 * one here. */
static void emit_jump_to_start(struct copying *c)
{
	const struct ptx_sym *to;
	uint32_t first = 0;

	while (first < c->g->n && !c->t->in[first])
		first++;
	if (first == c->t->to || c->t->to == c->g->exit)
		return;
	to = label_of_block(c, c->t->to);
	if (!to)
		to = c->start = ptx_new_label(c->w->m, c->w->f, "tail");
	if (to)
		pass_emit(c->w, "bra %s;\n", to->name);
	else
		c->w->error = -ENOMEM;
}

/* Copies the tail's basic blocks in the order of the PTX text, so that fall-through still works. */
static void copy_blocks(struct copying *c)
{
	const struct ptx_func *f = c->g->f;
	/* skipped: brace depth at which an unused scope began; 0: none */
	unsigned depth = 0, skipped = 0;

	for (size_t i = 0; i < f->body.len && c->w->error == 0; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		struct ptx_stmt copy = *s;

		if (c->start && i == c->g->at[c->t->to].first)
			pass_emit(c->w, "%s:\n", c->start->name);
		if (s->kind == PTX_OPEN && !skipped && !scope_is_used(c, i))
			skipped = depth + 1;
		depth += s->kind == PTX_OPEN;
		if (s->kind == PTX_OPEN || s->kind == PTX_CLOSE || s->kind == PTX_DECL) {
			if (!skipped && depth)
				pass_copy(c->w, s);
		} else if (s->kind == PTX_LABEL && c->t->in[c->g->block_of[i]]) {
			pass_emit(c->w, "%s:\n", pass_twin_of(&c->twins, s->sym)->name);
		} else if (c->t->in[c->g->block_of[i]]) {
			if (s->kind == PTX_INSN)
				copy = pass_twin_stmt(c->w->m, &c->twins, s);
			c->put(c->user, i, &copy, c->end);
		}
		if (s->kind == PTX_CLOSE) {
			skipped = skipped == depth ? 0 : skipped;
			depth--;
		}
	}
}

void pass_tails_write(
	struct pass_writer *w, const struct pass_tails_put *t, pass_put_fn *put, void *user)
{
	const struct pass_facts *facts = t->at->facts;

	for (size_t k = 0; k < facts->tails.len && w->error == 0; k++) {
		struct copying c = {w, facts->g, &facts->tails.at[k], {0}, NULL, NULL, put, user};

		pass_emit(w, "%s:\n", t->label[k]->name);
		w->error = w->error ? w->error : name_labels(&c);
		c.end = ptx_new_label(w->m, w->f, "gone");
		w->error = w->error || c.end ? w->error : -ENOMEM;
		if (w->error == 0)
			emit_jump_to_start(&c);
		copy_blocks(&c);
		VEC_FREE(&c.twins);
		if (w->error == 0)
			pass_emit(w, "%s:\n", c.end->name);
		pass_round_answer(w, t->at);
		pass_emit(w, "bra $hd_joined;\n%s_never:\n" NEVER "bra $hd_joined;\n",
			t->label[k]->name);
	}
	if (facts->tails.len)
		pass_put(w, "$hd_never:\n" NEVER);
	for (size_t k = 0; k < facts->tails.len && w->error == 0; k++)
		pass_emit(w, "setp.eq.u32 %%hd_pa, %%hd_n, %zu;\n@%%hd_pa bra %s;\n", k + 1,
			t->label[k]->name);
	if (facts->tails.len)
		pass_put(w, "bra $hd_joined;\n");
}
