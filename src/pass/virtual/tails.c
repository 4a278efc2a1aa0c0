/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ways out of a body whose barriers are rounds (rounds.c).
 *
 * The assembler makes lanes that parted wait for each other where their ways meet again (BSSY and
 * BSYNC in the machine code). All ways out of a body lead to one end, so lanes that are done would
 * wait there for others of their warp, which wait for them at a barrier. On hardware they would
 * have left.
 *
 * So wherever a branch leads from code that may still meet a barrier to code that cannot, what
 * follows is written once more for that branch alone, a tail, and the tail ends in answering rounds
 * of its own. The ways meet behind all that. That alone does not keep the assembler from having
 * lanes wait at a tail: it does so where a loop has one exit, with an early way past for the rest
 * (BREAK). Hence two ways more that are never taken, which the assembler cannot know, since they
 * hang on a parameter: from the branch to a place behind its tail, so that the tail is not where
 * all must pass; and from the body's beginning into each tail, so that no part of the body is what
 * all come from. The first stands in the branch itself: a block of its own would be one more place
 * to wait at. Each was seen to be needed in the machine code; tests/pass/parting.sh looks at it,
 * and tests/hw/hw.sh forms runs the kernels. */
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"
#include "pass/virtual/twins.h"
#include "pass/virtual/virtual.h"

#include <errno.h>

/* What the assembler must not remove, on ways that are never taken. */
#define NEVER "nanosleep.u32 77;\n"

/* Ahead of the body: the ways into the tails. */
void pass_tails_begin(struct pass_writer *w, const struct pass_tails_put *t)
{
	if (t->at->facts->tails.len)
		pass_put(w, "ld.param.u32 %hd_n, " A_NEVER ";\n"
			    "setp.ne.u32 %hd_pa, %hd_n, 0;\n"
			    "@%hd_pa bra $hd_never;\n");
}

/* The last operand becomes the branch's own predicate. */
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
	rest = ptx_copy_stmt(w->m, s); /* all who are still here take it */
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
	struct ptx_sym *end, *start; /* start: of the tail's first block, where it has no label */
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

/* A jump to the tail's first block, if another block of the tail is written first. That block has
 * no label where a branch falls into code that jumps back to the tail's rest. */
static void enter(struct copying *c)
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

/* Block by block as they stand, so that what falls through goes on falling through. */
static void copy_body(struct copying *c)
{
	const struct ptx_func *f = c->g->f;
	unsigned depth = 0, skipped = 0; /* skipped: the depth at which an unused scope opened */

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
			enter(&c);
		copy_body(&c);
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
