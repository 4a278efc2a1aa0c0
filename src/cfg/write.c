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

/* ---- from a graph ---- */
static bool is_leaving(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && (s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT));
}

static bool is_table(const struct ptx_stmt *s)
{
	return s->kind == PTX_DIRECTIVE && s->sym && !strcmp(s->text, ".branchtargets");
}

/* Blocks by their labels. */
struct label {
	const struct ptx_sym *sym;
	uint32_t block;
};

struct drafting {
	const struct cfg *g;
	struct cfg_draft *d;
	VEC(struct label) labels; /* sorted by address */
};

static int by_address(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return (uintptr_t)x->sym < (uintptr_t)y->sym ? -1 : x->sym != y->sym;
}

static uint32_t block_of(const struct drafting *dr, const struct ptx_opd *o)
{
	struct label key = {o->kind == PTX_OPD_SYM ? o->sym : NULL, 0}, *hit;

	hit = dr->labels.len ? bsearch(&key, dr->labels.at, dr->labels.len, sizeof(key), by_address)
			     : NULL;
	return hit ? hit->block : CFG_NONE;
}

static int gather_labels(struct drafting *dr)
{
	const ptx_body *body = &dr->g->f->body;

	for (size_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_LABEL &&
			!VEC_PUSH(&dr->labels, (struct label){body->at[i].sym, dr->g->block_of[i]}))
			return -ENOMEM;
	if (dr->labels.len)
		qsort(dr->labels.at, dr->labels.len, sizeof(dr->labels.at[0]), by_address);
	return 0;
}

static int add_target(struct drafting *dr, struct cfg_part *p, const struct ptx_opd *o)
{
	uint32_t b = block_of(dr, o);

	if (b == CFG_NONE)
		return -ENOTSUP;
	return VEC_PUSH(&p->to, b) ? 0 : -ENOMEM;
}

static int draft_end(
	struct drafting *dr, struct cfg_part *p, const struct ptx_stmt *s, uint32_t next)
{
	const struct ptx_sym *table;
	int r = 0;

	p->next = next;
	if (!is_leaving(s))
		return VEC_PUSH(&p->stmts, *s) ? 0 : -ENOMEM;
	if (s->mn->flags & PTX_F_EXIT) {
		p->last = *s;
		return 0;
	}
	if (s->mn->op == PTX_OP_brx) {
		table = s->n > 1 && s->opd[1].kind == PTX_OPD_SYM ? s->opd[1].sym : NULL;
		if (!table || !table->targets)
			return -ENOTSUP;
		p->last = *s;
		for (uint32_t i = 0; r == 0 && i < table->n_targets; i++)
			r = add_target(dr, p, &table->targets[i]);
		return r;
	}
	if (s->guard != PTX_NO_REG) {
		p->last = *s;
		return s->n ? add_target(dr, p, &s->opd[0]) : -ENOTSUP;
	}
	p->next = s->n ? block_of(dr, &s->opd[0]) : CFG_NONE;
	return p->next == CFG_NONE ? -ENOTSUP : 0;
}

static void look_for_label(void *user, struct ptx_opd *o)
{
	bool *found = user;
	const struct ptx_sym *sym = o->kind == PTX_OPD_SYM ? o->sym : NULL;

	if (sym && sym->kind == PTX_SYM_PROTO && sym->n_targets)
		sym = sym->targets[0].kind == PTX_OPD_SYM ? sym->targets[0].sym : NULL;
	*found |= sym && sym->kind == PTX_SYM_LABEL;
}

/* Returns true if an instruction that is not a known branch names a label, for whatever purpose. */
static bool names_label(const struct ptx_stmt *s)
{
	struct ptx_stmt copy = *s;
	bool found = false;

	ptx_visit_opds(&copy, look_for_label, &found);
	return found;
}

/* Copies a block of the graph into a part of the draft. Braces, which surround call sequences, have
 * to open and close within the block. */
static int draft_block(struct drafting *dr, uint32_t b)
{
	const struct cfg_block *blk = &dr->g->at[b];
	struct cfg_part *p = &dr->d->parts.at[b];
	size_t depth = 0;
	int r = 0;

	p->next = b + 1 == dr->g->exit ? CFG_NONE : b + 1;
	for (uint32_t i = blk->first; r == 0 && i < blk->end; i++) {
		const struct ptx_stmt *s = &dr->g->f->body.at[i];

		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
		if (depth > 1)
			return -EINVAL;
		if (s->kind == PTX_INSN && !is_leaving(s) && names_label(s))
			return -ENOTSUP;
		if (i + 1 == blk->end)
			r = draft_end(dr, p, s, p->next);
		else if (s->kind == PTX_DECL && depth == 0)
			r = VEC_PUSH(&dr->d->head, *s) ? 0 : -ENOMEM;
		else if (!is_table(s))
			r = VEC_PUSH(&p->stmts, *s) ? 0 : -ENOMEM;
	}
	return r == 0 && depth ? -EINVAL : r;
}

int cfg_draft_from(const struct cfg *g, struct cfg_draft *d)
{
	struct drafting dr = {.g = g, .d = d};
	int r = g->has_indirect ? -ENOTSUP : gather_labels(&dr);

	*d = (struct cfg_draft){0};
	for (uint32_t b = 0; r == 0 && b < g->exit; b++)
		if (cfg_draft_add(d) == CFG_NONE)
			r = -ENOMEM;
	for (uint32_t b = 0; r == 0 && b < g->exit; b++)
		r = draft_block(&dr, b);
	VEC_FREE(&dr.labels);
	if (r < 0)
		cfg_draft_finish(d);
	return r;
}

/* ---- to a body ---- */
struct writing {
	struct ptx_module *m;
	struct ptx_func *f;
	const struct cfg_draft *d;
	ptx_body body;
	struct ptx_sym **label; /* by part; NULL: no branch leads to it */
	/* for each part: index of its first statement; one more entry for the end of the last
	 * part */
	uint32_t *first;
	uint32_t *jump_at; /* by part: index of the branch to `next`, or the part's end */
	const struct ptx_mnem *jump, *end;
};

static bool has_last(const struct cfg_part *p)
{
	return p->last.mn != NULL;
}

/* Whether control may come to `next`. */
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

/* ---- is it what was meant? ---- */
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
	/* Nothing parts it from the next one. */
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

int cfg_write(
	struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d, ptx_body *ret_body)
{
	return cfg_write_parts(m, f, d, ret_body, NULL);
}

int cfg_write_parts(struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d,
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
