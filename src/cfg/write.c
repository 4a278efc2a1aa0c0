/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lays out the parts of a draft (write.h) one after another, in the order of their numbers. A part
 * gets a label if another part branches to it, unless it has a label already. A branch is added
 * after part i if control continues at a part other than part i + 1. */
#include "cfg/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t cfg_draft_add(struct cfg_draft *d)
{
	if (!VEC_PUSH(&d->parts, (struct cfg_part){.next = CFG_NONE}))
		return CFG_NONE;
	return (uint32_t)d->parts.len - 1;
}

void cfg_draft_finish(struct cfg_draft *d)
{
	for (size_t i = 0; i < d->parts.len; i++) {
		VEC_FREE(&d->parts.at[i].stmts);
		VEC_FREE(&d->parts.at[i].to);
	}
	VEC_FREE(&d->parts);
	VEC_FREE(&d->head);
}

struct writing {
	struct ptx_module *m;
	struct ptx_func *f;
	const struct cfg_draft *d;
	ptx_body body;
	struct ptx_sym **label; /* for each part; NULL if no branch leads to the part */
	/* for each part: index of its first statement; one more entry for the end of the last
	 * part */
	uint32_t *first;
	uint32_t *jump_at; /* for each part: index of the branch to `next`, or of the part's end */
	const struct ptx_mnem *jump, *end;
};

static bool has_last(const struct cfg_part *p)
{
	return p->last.mn != NULL;
}

/* Returns true if control can reach `next`. */
static bool goes_on(const struct cfg_part *p)
{
	return !has_last(p) || p->last.guard != PTX_NO_REG;
}

static bool is_branch(const struct cfg_part *p)
{
	return has_last(p) && (p->last.mn->flags & PTX_F_BRANCH) && p->last.mn->op != PTX_OP_brx;
}

/* Returns true if part i ends in a guarded branch to part i + 1, which is written right after part
 * i, and if control continues at another part, `next`, where the guard is false. The writer inverts
 * such a branch: the inverted branch leads to `next`, and otherwise control falls through to part i
 * + 1. */
static bool turns_round(const struct cfg_part *p, uint32_t i)
{
	return is_branch(p) && p->last.guard != PTX_NO_REG && p->to.at[0] == i + 1 &&
	       p->next != i + 1 && p->next != CFG_NONE;
}

static int want_label(struct writing *w, uint32_t i)
{
	const struct cfg_part *p;

	if (i >= w->d->parts.len)
		return -EINVAL;
	if (w->label[i])
		return 0;
	p = &w->d->parts.at[i];
	if (p->stmts.len && p->stmts.at[0].kind == PTX_LABEL)
		w->label[i] = p->stmts.at[0].sym;
	else
		w->label[i] = ptx_new_label(w->m, w->f, "part");
	return w->label[i] ? 0 : -ENOMEM;
}

static int choose_labels(struct writing *w)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->d->parts.len; i++) {
		const struct cfg_part *p = &w->d->parts.at[i];

		if (is_branch(p) && p->to.len != 1)
			return -EINVAL;
		for (size_t k = 0; r == 0 && k < p->to.len; k++)
			if (!turns_round(p, i))
				r = want_label(w, p->to.at[k]);
		if (r == 0 && goes_on(p) && p->next != CFG_NONE && p->next != i + 1)
			r = want_label(w, p->next);
		if (r == 0 && p->next != CFG_NONE && p->next >= w->d->parts.len)
			r = -EINVAL;
	}
	return r;
}

static int put(struct writing *w, struct ptx_stmt s)
{
	return VEC_PUSH(&w->body, s) ? 0 : -ENOMEM;
}

static struct ptx_opd *label_opds(struct writing *w, const uint32_t *to, size_t n)
{
	struct ptx_opd *o = ARENA_ARRAY(&w->m->arena, struct ptx_opd, n);

	for (size_t i = 0; o && i < n; i++) {
		o[i].kind = PTX_OPD_SYM;
		o[i].sym = w->label[to[i]];
		o[i].name = o[i].sym->name;
	}
	return o;
}

static int put_jump(struct writing *w, struct ptx_stmt s, uint32_t to)
{
	s.kind = PTX_INSN;
	s.n = 1;
	s.opd = label_opds(w, &to, 1);
	return s.opd ? put(w, s) : -ENOMEM;
}

static int put_table(struct writing *w, const struct cfg_part *p)
{
	struct ptx_stmt s = p->last, list = {.kind = PTX_DIRECTIVE,
					     .guard = PTX_NO_REG,
					     .text = ".branchtargets"};
	struct ptx_sym *sym = ptx_new_label(w->m, w->f, "table");
	struct ptx_opd *o = ARENA_ARRAY(&w->m->arena, struct ptx_opd, 2);

	if (!sym || !o || !s.n)
		return s.n ? -ENOMEM : -EINVAL;
	sym->kind = PTX_SYM_PROTO;
	sym->placed = true;
	sym->n_targets = (uint32_t)p->to.len;
	sym->targets = label_opds(w, p->to.at, p->to.len);
	if (!sym->targets)
		return -ENOMEM;
	list.sym = sym;
	o[0] = s.opd[0];
	o[1] = (struct ptx_opd){.kind = PTX_OPD_SYM, .sym = sym, .name = sym->name};
	s.opd = o;
	s.n = 2;
	return put(w, list) < 0 ? -ENOMEM : put(w, s);
}

static int put_last(struct writing *w, const struct cfg_part *p, bool turned)
{
	struct ptx_stmt s = p->last;

	if (!has_last(p))
		return 0;
	s.kind = PTX_INSN;
	if (s.mn->op == PTX_OP_brx)
		return put_table(w, p);
	if (!is_branch(p))
		return put(w, s);
	if (turned)
		s.guard_negated = !s.guard_negated;
	return put_jump(w, s, turned ? p->next : p->to.at[0]);
}

static int put_part(struct writing *w, uint32_t i)
{
	const struct cfg_part *p = &w->d->parts.at[i];
	struct ptx_stmt s = {.kind = PTX_LABEL, .guard = PTX_NO_REG, .sym = w->label[i]};
	bool turned = turns_round(p, i), last = i + 1 == w->d->parts.len;
	int r = 0;

	w->first[i] = (uint32_t)w->body.len;
	if (s.sym && !(p->stmts.len && p->stmts.at[0].kind == PTX_LABEL)) {
		s.sym->placed = true;
		r = put(w, s);
	}
	for (size_t k = 0; r == 0 && k < p->stmts.len; k++)
		r = put(w, p->stmts.at[k]);
	if (r == 0)
		r = put_last(w, p, turned);
	w->jump_at[i] = (uint32_t)w->body.len;
	if (r < 0 || !goes_on(p) || turned)
		return r;
	s = (struct ptx_stmt){.kind = PTX_INSN, .guard = PTX_NO_REG};
	if (p->next == CFG_NONE) {
		s.mn = w->end;
		return last ? 0 : put(w, s);
	}
	s.mn = w->jump;
	return p->next == i + 1 ? 0 : put_jump(w, s, p->next);
}

/* ---- checking that the graph matches the draft ---- */
static uint32_t block_at(const struct cfg *g, uint32_t stmt)
{
	return stmt < g->f->body.len ? g->block_of[stmt] : g->exit;
}

/* Marks in `seen` each block that part i should lead to according to the draft. Returns their
 * number. */
static uint32_t mark_meant(
	const struct writing *w, const struct cfg *g, uint32_t i, uint32_t *seen, uint32_t mark)
{
	const struct cfg_part *p = &w->d->parts.at[i];
	uint32_t n = 0, to;

	for (size_t k = 0; k < p->to.len; k++) {
		to = block_at(g, w->first[p->to.at[k]]);
		n += seen[to] != mark;
		seen[to] = mark;
	}
	if (goes_on(p)) {
		to = p->next == CFG_NONE ? g->exit : block_at(g, w->first[p->next]);
		n += seen[to] != mark;
		seen[to] = mark;
	}
	if (has_last(p) && (p->last.mn->flags & PTX_F_EXIT)) {
		n += seen[g->exit] != mark;
		seen[g->exit] = mark;
	}
	return n;
}

/* Counts the successors of block `from` that are marked, each once. Returns UINT32_MAX if any
 * successor is not marked. The block `jump` contains only a branch; if it is a successor, the
 * successors of `jump` count in its place. */
static uint32_t count_marked(
	const struct cfg *g, uint32_t from, uint32_t jump, uint32_t *seen, uint32_t mark)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->at[from].n_succ; i++) {
		uint32_t to = g->at[from].succ[i], more;

		if (to == jump && from != jump) {
			more = count_marked(g, jump, CFG_NONE, seen, mark);
			if (more == UINT32_MAX)
				return more;
			n += more;
			continue;
		}
		if (seen[to] != mark && seen[to] != mark + 1)
			return UINT32_MAX;
		n += seen[to] == mark;
		seen[to] = mark + 1;
	}
	return n;
}

/* Returns true if part i was written as drafted: its statements are in one block of the graph, and
 * that block leads exactly where the part does. */
static bool is_as_drafted(const struct writing *w, const struct cfg *g, uint32_t i, uint32_t *seen)
{
	const struct cfg_part *p = &w->d->parts.at[i];
	uint32_t first = w->first[i], end = w->first[i + 1], jump = CFG_NONE, from,
		 mark = 2 * i + 1;

	if (first == end)
		return !has_last(p);
	if (has_last(p) && w->jump_at[i] < end) {
		end = w->jump_at[i];
		jump = block_at(g, end);
	}
	from = block_at(g, first);
	if (block_at(g, end - 1) != from || from == jump)
		return false;
	/* The part continues in the same block as the next part, with no branch in between. */
	if (!has_last(p) && w->jump_at[i] == end && block_at(g, end) == from)
		return true;
	return mark_meant(w, g, i, seen, mark) == count_marked(g, from, jump, seen, mark);
}

static int check(struct writing *w)
{
	struct ptx_func written = *w->f;
	struct cfg *g;
	struct arena a;
	int r;

	written.body = w->body;
	arena_init(&a, 0);
	r = cfg_build(&a, &written, &g);
	if (r == 0) {
		uint32_t *seen = ARENA_ARRAY(&a, uint32_t, g->n + 1);

		r = seen ? 0 : -ENOMEM;
		for (uint32_t i = 0; r == 0 && i < w->d->parts.len; i++)
			if (!is_as_drafted(w, g, i, seen))
				r = -EINVAL;
	}
	arena_finish(&a);
	return r;
}

int cfg_write(struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d,
	ptx_body *ret_body, uint32_t *ret_first)
{
	size_t n = d->parts.len;
	struct writing w = {.m = m,
		.f = f,
		.d = d,
		.label = calloc(n + 1, sizeof(*w.label)),
		.first = calloc(n + 1, sizeof(*w.first)),
		.jump_at = calloc(n + 1, sizeof(*w.jump_at)),
		.jump = ptx_get_mnem(m, "bra.uni"),
		.end = ptx_get_mnem(m, "ret")};
	int r = -ENOMEM;

	if (w.label && w.first && w.jump_at && w.jump && w.end)
		r = choose_labels(&w);
	for (size_t i = 0; r == 0 && i < d->head.len; i++)
		r = put(&w, d->head.at[i]);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = put_part(&w, i);
	if (r == 0) {
		w.first[n] = (uint32_t)w.body.len;
		r = check(&w);
	}
	if (r == 0)
		*ret_body = w.body;
	else
		VEC_FREE(&w.body);
	if (r == 0 && ret_first)
		memcpy(ret_first, w.first, (n + 1) * sizeof(*ret_first));
	free(w.label);
	free(w.first);
	free(w.jump_at);
	return r;
}
