/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Replaces a branch around short code by predicated instructions. The sides of the branch must be
 * short, and only that branch may lead to them. There are three kinds of regions:
 *
 *     @p bra L; A; L:                           A under !p
 *     @p bra E; A; bra L; E: B; L:              A under !p, B under p
 *     @p bra E; bra F; E: A; bra L; F: B; L:    A under p, B under !p
 *
 * An instruction that already has a guard gets the conjunction of both predicates. Inner regions
 * are replaced first, so that a region around them has no branches inside when its turn comes. Two
 * kinds of branches stay:
 * - branches that are uniform within warps, because they cost nothing
 * - branches around products that ptxas may contract, because ptxas does not contract a product
 *   under a guard */
#include "pass/fuse/predicate.h"

#include "cfg/cfg.h"
#include "cfg/contract.h"
#include "ptx/graft.h"

#include <errno.h>
#include <string.h>

/* maximum number of instructions on one side; limited because under guards all lanes execute the
 * instructions of both sides */
#define MAX_WAY    96
#define MAX_ROUNDS 8 /* maximum nesting depth of regions */

struct predicating {
	struct ptx_module *m;
	struct ptx_func *f;
	struct diag_list *diags;
	const struct cfg *cfg;
	const struct cfg_uniformity *u;
	struct contract contract;
	struct predicate_labels labels;
	uint32_t *named; /* for each statement that is a label: number of references to it */
	bool is_1d;      /* blocks have only one dimension */
	ptx_body out;
	predicate_regions regions;
	int error;
};

struct way {
	uint32_t first, end;
	bool taken; /* true: this side runs if the branch is taken */
};
struct region {
	uint32_t end; /* label where the two sides meet, which stays in the code */
	struct way way[2];
	unsigned n;
};

/* ---- finding regions ---- */
static const struct ptx_stmt *stmt_at(const struct predicating *x, uint32_t i)
{
	static const struct ptx_stmt none = {.kind = PTX_CLOSE, .guard = PTX_NO_REG};

	return i < x->f->body.len ? &x->f->body.at[i] : &none;
}

static bool is_bra(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->op == PTX_OP_bra && s->n == 1 &&
	       s->opd[0].kind == PTX_OPD_SYM && s->opd[0].sym;
}

static bool is_jump(const struct ptx_stmt *s)
{
	return is_bra(s) && s->guard == PTX_NO_REG;
}

static bool can_have_guard(const struct ptx_stmt *s)
{
	const uint32_t no = PTX_F_BRANCH | PTX_F_EXIT | PTX_F_BARRIER | PTX_F_CONVERGENT |
			    PTX_F_WARP_SYNC | PTX_F_CALL | PTX_F_UNKNOWN | PTX_F_READS_CC |
			    PTX_F_WRITES_CC | PTX_F_ASYNC;

	return s->kind == PTX_INSN && s->mn->op != PTX_OP_RAW && !(s->mn->flags & no);
}

/* Returns the end of the sequence of instructions from i on that can all run under the branch's
 * guard. */
static uint32_t find_straight_end(const struct predicating *x, uint32_t i, uint32_t guard)
{
	uint32_t n = 0;

	for (;; i++) {
		const struct ptx_stmt *s = stmt_at(x, i);

		/* A label without references is left over from an inner region. */
		if (s->kind == PTX_DECL || (s->kind == PTX_DIRECTIVE && !s->sym) ||
			(s->kind == PTX_LABEL && !x->named[i]))
			continue;
		if (!can_have_guard(s) || ++n > MAX_WAY || predicate_writes(x->f, s, guard) ||
			x->contract.from[i] != CFG_NONE)
			return i;
	}
}

/* Returns whether statement i is the label `sym`. */
static bool is_label(const struct predicating *x, uint32_t i, const struct ptx_sym *sym)
{
	return stmt_at(x, i)->kind == PTX_LABEL && stmt_at(x, i)->sym == sym;
}

static bool is_only(const struct predicating *x, uint32_t i, const struct ptx_sym *sym)
{
	return is_label(x, i, sym) && x->named[i] == 1;
}

/* Matches a region with two sides. i is the first statement of the first side. `taken` is true if
 * the first side runs when the branch is taken, and false if it runs when the branch is not taken.
 * `other` is the label of the second side. */
static bool find_both(const struct predicating *x, uint32_t i, uint32_t guard, bool taken,
	const struct ptx_sym *other, struct region *ret)
{
	uint32_t end = find_straight_end(x, i, guard), second;

	if (!is_jump(stmt_at(x, end)) || !is_only(x, end + 1, other))
		return false;
	second = find_straight_end(x, end + 2, guard);
	*ret = (struct region){second, {{i, end, taken}, {end + 2, second, !taken}}, 2};
	return is_label(x, second, stmt_at(x, end)->opd[0].sym);
}

static bool find_region(const struct predicating *x, uint32_t i, struct region *ret)
{
	const struct ptx_stmt *s = stmt_at(x, i), *next = stmt_at(x, i + 1);
	const struct ptx_sym *to;
	uint32_t end;

	if (!is_bra(s) || s->guard == PTX_NO_REG ||
		(x->u->reg[s->guard] >= CFG_WARP_UNIFORM &&
			x->u->block[x->cfg->block_of[i]] >= CFG_WARP_UNIFORM))
		return false;
	to = s->opd[0].sym;
	end = find_straight_end(x, i + 1, s->guard);
	*ret = (struct region){end, {{i + 1, end, false}}, 1};
	if (end > i + 1 && is_label(x, end, to))
		return true;
	if (is_jump(next) && is_only(x, i + 2, to))
		return find_both(x, i + 3, s->guard, true, next->opd[0].sym, ret);
	return find_both(x, i + 1, s->guard, false, to, ret);
}

static void count_label(struct predicating *x, const struct ptx_sym *sym, uint32_t times)
{
	uint32_t i = predicate_label_at(&x->labels, sym);

	if (i != UINT32_MAX)
		x->named[i] += times;
}

static void count_name(void *user, struct ptx_opd *opd)
{
	if (opd->kind == PTX_OPD_SYM && opd->sym)
		count_label(user, opd->sym, 1);
}

/* Counts how often the code names each label. Only a region whose labels are named once is
 * rewritten. A label in a branch table counts twice, so that its region keeps its branches. */
static void count_names(struct predicating *x)
{
	for (uint32_t i = 0; i < x->f->body.len; i++) {
		struct ptx_stmt *s = &x->f->body.at[i];

		if (s->kind == PTX_INSN && s->mn->op != PTX_OP_RAW)
			ptx_visit_opds(s, count_name, x);
		for (uint32_t t = 0; s->kind == PTX_DIRECTIVE && s->sym && t < s->sym->n_targets;
			t++)
			count_label(x, s->sym->targets[t].sym, 2);
	}
}

/* ---- rewriting regions ---- */
static void put_stmt(struct predicating *x, struct ptx_stmt s)
{
	if (!x->error && !VEC_PUSH(&x->out, s))
		x->error = -ENOMEM;
}

static uint32_t new_predicate(struct predicating *x)
{
	return x->error ? 0 : ptx_new_reg(x->m, x->f, &x->out, "pred", "pg");
}

/* Emits to = from, or to = !from if `negated`. */
static void put_copy(struct predicating *x, uint32_t to, uint32_t from, bool negated)
{
	char a[128], b[128];

	if (!x->error)
		x->error = ptx_append(x->m, x->f, &x->out, x->diags, "%s.pred %s, %s;",
			negated ? "not" : "mov", ptx_reg_name(x->f, to, a, sizeof(a)),
			ptx_reg_name(x->f, from, b, sizeof(b)));
}

static void put_and(struct predicating *x, uint32_t to, uint32_t with)
{
	char a[128], b[128];

	ptx_reg_name(x->f, to, a, sizeof(a));
	if (!x->error)
		x->error = ptx_append(x->m, x->f, &x->out, x->diags, "and.pred %s, %s, %s;", a, a,
			ptx_reg_name(x->f, with, b, sizeof(b)));
}

/* Emits s, a statement of one side of `branch`, under a guard that is true if the branch leads to
 * that side. `taken`: the side runs if the branch is taken. */
static void put_guarded(
	struct predicating *x, struct ptx_stmt s, const struct ptx_stmt *branch, bool taken)
{
	bool negated = (branch->guard_negated != 0) == taken;
	size_t from = x->out.len;
	uint32_t both, own;

	if (s.kind == PTX_LABEL)
		return;
	if (s.kind != PTX_INSN) {
		put_stmt(x, s);
		return;
	}
	if (s.guard == PTX_NO_REG) {
		s.guard = branch->guard;
		s.guard_negated = negated;
		put_stmt(x, s);
		return;
	}
	both = new_predicate(x);
	put_copy(x, both, branch->guard, negated);
	own = s.guard;
	if (s.guard_negated) {
		own = new_predicate(x);
		put_copy(x, own, s.guard, true);
	}
	put_and(x, both, own);
	for (size_t i = from; i < x->out.len; i++)
		x->out.at[i].line = s.line;
	s.guard = both;
	s.guard_negated = 0;
	put_stmt(x, s);
}

static void put_region(struct predicating *x, uint32_t i, const struct region *r)
{
	struct predicate_region at = {i, r->end, (uint32_t)x->out.len, 0};
	const struct ptx_stmt branch = x->f->body.at[i];

	for (unsigned k = 0; k < r->n; k++)
		for (uint32_t s = r->way[k].first; s < r->way[k].end; s++)
			put_guarded(x, x->f->body.at[s], &branch, r->way[k].taken);
	at.now_to = (uint32_t)x->out.len;
	if (!VEC_PUSH(&x->regions, at))
		x->error = -ENOMEM;
}

static int analyze_body(struct predicating *x, struct arena *a)
{
	struct cfg *g;
	struct cfg_uniformity *u;
	int r = cfg_build(a, x->f, &g);

	if (r == 0)
		r = cfg_uniformity(a, g, x->is_1d ? CFG_BLOCKS_1D : 0, NULL, &u);
	if (r == 0)
		r = contract_find(a, g, &x->contract);
	if (r < 0)
		return r;
	x->cfg = g;
	x->u = u;
	x->named = arena_zalloc(a, (x->f->body.len + 1) * sizeof(*x->named));
	r = x->named ? predicate_labels_find(&x->f->body, &x->labels) : -ENOMEM;
	if (r == 0)
		count_names(x);
	predicate_labels_free(&x->labels);
	return r;
}

/* Rewrites all innermost regions and returns their number. */
static size_t rewrite_innermost(struct predicating *x, struct arena *a)
{
	ptx_body before = x->f->body;
	uint32_t n_regs = (uint32_t)x->f->regs.len;
	size_t n;

	x->out = (ptx_body){0};
	x->regions.len = 0;
	x->error = analyze_body(x, a);
	for (uint32_t i = 0; i < x->f->body.len && !x->error;) {
		struct region r;

		if (find_region(x, i, &r)) {
			put_region(x, i, &r);
			i = r.end;
		} else {
			put_stmt(x, x->f->body.at[i++]);
		}
	}
	n = x->regions.len;
	if (x->error || !n) {
		VEC_FREE(&x->out);
		return 0;
	}
	x->f->body = x->out;
	x->error = predicate_check(x->f, &before, n_regs, &x->regions, x->diags);
	VEC_FREE(&before);
	return n;
}

static int extract_kernel(const struct pass_kernel *g, struct ptx_module **ret)
{
	ptx_lines lines = {0};
	int r = ptx_extract_lines(g->m, g->name, true, &lines, ret);

	for (size_t k = 0; r == 0 && k < (*ret)->items.len; k++) {
		struct ptx_item *item = &(*ret)->items.at[k];
		struct ptx_func *f = item->kind == PTX_ITEM_FUNC ? item->func : NULL;

		for (size_t i = 0; f && i < f->body.len; i++) {
			uint32_t line = f->body.at[i].line;

			f->body.at[i].line = line && line <= lines.len ? lines.at[line - 1] : 0;
		}
	}
	VEC_FREE(&lines);
	return r;
}

int pass_predicate(const struct pass_kernel *g, bool branches, struct diag_list *diags,
	struct ptx_module **ret)
{
	struct predicating x = {.diags = diags, .is_1d = g->block[1] == 1 && g->block[2] == 1};
	struct arena a;
	size_t found = 0, n = 1;
	int r = extract_kernel(g, &x.m);

	if (r < 0)
		return r;
	x.f = ptx_find_func(x.m, g->name);
	r = x.f ? ptx_flatten(x.m, x.f, diags) : -EINVAL;
	if (r == 0)
		r = contract_settle(x.m, x.f, diags, &found);
	for (unsigned i = 0; i < MAX_ROUNDS && r == 0 && n && !branches; i++) {
		arena_init(&a, 0);
		n = rewrite_innermost(&x, &a);
		r = x.error;
		found += n;
		arena_finish(&a);
	}
	VEC_FREE(&x.regions);
	*ret = r == 0 && found ? x.m : NULL;
	if (!*ret)
		ptx_module_free(x.m);
	return r;
}
