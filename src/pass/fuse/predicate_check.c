/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares a predicated body with the original body, which still has its branches (predicate.h).
 * The check trusts the rewriter only for the positions of the regions. Outside of regions both
 * bodies must be equal, statement by statement. Each region is walked twice: with its branch taken,
 * and with its branch not taken. In each walk, both bodies must run the same instructions in the
 * same order, under the guards that the kernel gave them. Only the region's branch may lead into
 * the region, and no instruction in the region may write the branch's predicate. */
#include "pass/fuse/predicate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The known value of a predicate that the rewriter added: true, false, or equal to a kernel's
 * predicate or its negation. */
struct value {
	enum { UNKNOWN, KNOWN, SAME } kind;
	bool holds;   /* KNOWN */
	uint32_t reg; /* SAME */
	bool negated;
};

struct checking {
	const struct ptx_func *f;
	const ptx_body *before;
	struct predicate_labels labels; /* labels of `before` */
	uint32_t n_regs;                /* number of registers of the original kernel */
	struct value *ours;
	uint32_t guard; /* register that guards the region's branch */
	bool holds;     /* whether that predicate is true on the side being checked */
	struct diag_list *diags;
	const struct ptx_stmt *where;
};

static int report_difference(const struct checking *c, const char *what)
{
	diag_add(c->diags, DIAG_ERROR, c->where ? c->where->line : 0, 0, 0,
		"a predicated region differs from the original branch: %s", what);
	return -EINVAL;
}

static int by_address(const void *a, const void *b)
{
	const struct predicate_label *x = a, *y = b;

	return (uintptr_t)x->sym < (uintptr_t)y->sym ? -1 : x->sym != y->sym;
}

int predicate_labels_find(const ptx_body *body, struct predicate_labels *ret)
{
	size_t n = 0;

	*ret = (struct predicate_labels){0};
	for (size_t i = 0; i < body->len; i++)
		n += body->at[i].kind == PTX_LABEL;
	ret->of = calloc(n + 1, sizeof(*ret->of));
	if (!ret->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_LABEL)
			ret->of[ret->n++] = (struct predicate_label){body->at[i].sym, i};
	qsort(ret->of, ret->n, sizeof(*ret->of), by_address);
	return 0;
}

uint32_t predicate_label_at(const struct predicate_labels *l, const struct ptx_sym *sym)
{
	struct predicate_label key = {sym, 0};
	const struct predicate_label *hit = bsearch(&key, l->of, l->n, sizeof(key), by_address);

	return hit ? hit->at : UINT32_MAX;
}

void predicate_labels_free(struct predicate_labels *l)
{
	free(l->of);
	*l = (struct predicate_labels){0};
}

static bool same_statement(const struct ptx_stmt *a, const struct ptx_stmt *b)
{
	return a->kind == b->kind && a->n == b->n && a->mn == b->mn && a->opd == b->opd &&
	       a->sym == b->sym;
}

static bool same_guard(const struct ptx_stmt *a, const struct ptx_stmt *b)
{
	return a->guard == b->guard &&
	       (a->guard == PTX_NO_REG || (a->guard_negated != 0) == (b->guard_negated != 0));
}

struct writes {
	uint32_t reg;
	bool found;
};

static void look_at_reg(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct writes *w = user;

	(void)opd;
	w->found |= role & PTX_DEF && reg == w->reg;
}

bool predicate_writes(const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg)
{
	struct writes w = {reg, false};

	ptx_visit_regs(f, s, look_at_reg, &w);
	return w.found;
}

/* ---- the rewritten region ---- */
static struct value value_of(const struct checking *c, uint32_t reg, bool negated)
{
	struct value v = {.kind = SAME, .reg = reg, .negated = negated};

	if (reg >= c->n_regs) {
		v = c->ours[reg - c->n_regs];
		v.holds ^= negated;
		v.negated ^= negated;
	} else if (reg == c->guard) {
		v = (struct value){.kind = KNOWN, .holds = c->holds != negated};
	}
	return v;
}

static struct value and_values(struct value a, struct value b)
{
	if (a.kind == KNOWN)
		return a.holds ? b : a;
	if (b.kind == KNOWN)
		return b.holds ? a : b;
	return (struct value){.kind = UNKNOWN};
}

/* If s computes a predicate that the rewriter added, records its value and returns true. Otherwise
 * returns false. */
static bool take_added(struct checking *c, const struct ptx_stmt *s)
{
	struct value *to;

	if (s->kind == PTX_DECL)
		return true;
	if (s->kind != PTX_INSN || !s->n || s->opd[0].kind != PTX_OPD_REG ||
		s->opd[0].reg < c->n_regs || s->guard != PTX_NO_REG ||
		s->opd[1].kind != PTX_OPD_REG)
		return false;
	to = &c->ours[s->opd[0].reg - c->n_regs];
	if (s->mn->op == PTX_OP_mov || s->mn->op == PTX_OP_not)
		*to = value_of(c, s->opd[1].reg, s->mn->op == PTX_OP_not);
	else if (s->mn->op == PTX_OP_and && s->n == 3 && s->opd[2].kind == PTX_OPD_REG)
		*to = and_values(
			value_of(c, s->opd[1].reg, false), value_of(c, s->opd[2].reg, false));
	else
		return false;
	return true;
}

/* Returns the next statement of the new body, from *io_at on, that runs. The returned statement has
 * the guard that it had in the original kernel. NULL: there is none. */
static const struct ptx_stmt *next_now(
	struct checking *c, uint32_t *io_at, uint32_t end, struct ptx_stmt *ret)
{
	while (*io_at < end) {
		const struct ptx_stmt *s = &c->f->body.at[(*io_at)++];
		struct value v = {.kind = KNOWN, .holds = true};

		c->where = s;
		if (take_added(c, s))
			continue;
		if (s->kind == PTX_INSN && s->guard != PTX_NO_REG)
			v = value_of(c, s->guard, s->guard_negated != 0);
		*ret = *s;
		/* s may write a predicate from which added predicates are computed. So an added
		 * predicate is valid for one statement only. */
		memset(c->ours, 0, (c->f->regs.len - c->n_regs) * sizeof(*c->ours));
		if (v.kind == KNOWN && !v.holds)
			continue;
		ret->guard = v.kind == SAME ? v.reg : PTX_NO_REG;
		ret->guard_negated = v.kind == SAME && v.negated;
		if (v.kind == UNKNOWN)
			/* a register that does not exist, so that the comparison fails */
			ret->guard = (uint32_t)c->f->regs.len;
		return ret;
	}
	return NULL;
}

/* ---- the original region ---- */
/* Finds the next statement of the old body that runs. Returns -EINVAL if the code leaves the
 * region, jumps back, or has an instruction that cannot be predicated. */
static int next_before(
	struct checking *c, uint32_t *io_at, uint32_t end, const struct ptx_stmt **ret)
{
	*ret = NULL;
	while (*io_at < end) {
		const struct ptx_stmt *s = &c->before->at[*io_at];
		uint32_t to;

		c->where = s;
		if (s->kind == PTX_LABEL) {
			++*io_at;
			continue;
		}
		if (s->kind == PTX_INSN && s->mn->op == PTX_OP_bra && s->n == 1 &&
			(s->guard == PTX_NO_REG || s->guard == c->guard)) {
			bool taken = s->guard == PTX_NO_REG || c->holds != (s->guard_negated != 0);

			to = taken ? predicate_label_at(&c->labels, s->opd[0].sym) : *io_at + 1;
			if (to <= *io_at || to > end)
				return report_difference(c, "a branch leaves the region");
			*io_at = to;
			continue;
		}
		if (s->kind == PTX_INSN &&
			s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT | PTX_F_BARRIER | PTX_F_CALL |
					       PTX_F_CONVERGENT | PTX_F_WARP_SYNC | PTX_F_UNKNOWN))
			return report_difference(
				c, "it contains an instruction that cannot be predicated");
		if (s->kind == PTX_INSN && predicate_writes(c->f, s, c->guard))
			return report_difference(c, "it writes the register that the branch reads");
		++*io_at;
		*ret = s;
		return 0;
	}
	return 0;
}

/* Compares one side of a region before and after rewriting. */
static int check_side(struct checking *c, const struct predicate_region *r)
{
	uint32_t old = r->from, now = r->now_from;
	const struct ptx_stmt *a, *b;
	struct ptx_stmt buf;
	int err;

	memset(c->ours, 0, (c->f->regs.len - c->n_regs) * sizeof(*c->ours));
	for (;;) {
		/* Both versions keep directives, so these are skipped. */
		do
			err = next_before(c, &old, r->to, &a);
		while (err == 0 && a && a->kind != PTX_INSN);
		do
			b = next_now(c, &now, r->now_to, &buf);
		while (b && b->kind == PTX_DIRECTIVE);
		if (err < 0)
			return err;
		if (!a && !b)
			return 0;
		if (!a || !b || !same_statement(a, b) || !same_guard(a, b))
			return report_difference(
				c, c->holds ? "the statements for a true guard differ"
					    : "the statements for a false guard differ");
	}
}

static const struct predicate_region *find_region_of_label(
	const predicate_regions *regions, const struct checking *c, const struct ptx_sym *label)
{
	uint32_t at = predicate_label_at(&c->labels, label);

	for (size_t i = 0; i < regions->len; i++)
		if (at > regions->at[i].from && at < regions->at[i].to)
			return &regions->at[i];
	return NULL;
}

struct naming {
	const struct checking *c;
	const predicate_regions *regions;
	uint32_t at;
	bool bad;
};

static void look_at_name(void *user, struct ptx_opd *opd)
{
	struct naming *n = user;
	const struct predicate_region *r =
		opd->kind == PTX_OPD_SYM && opd->sym
			? find_region_of_label(n->regions, n->c, opd->sym)
			: NULL;

	n->bad |= r && (n->at < r->from || n->at >= r->to);
}

/* Checks that labels in a region are referenced only from within it. */
static int check_names(struct checking *c, const predicate_regions *regions)
{
	struct naming n = {.c = c, .regions = regions};

	for (uint32_t i = 0; i < c->before->len; i++) {
		struct ptx_stmt *s = &c->before->at[i];

		n.at = i;
		c->where = s;
		if (s->kind == PTX_INSN && s->mn->op != PTX_OP_RAW)
			ptx_visit_opds(s, look_at_name, &n);
		for (uint32_t t = 0; s->kind == PTX_DIRECTIVE && s->sym && t < s->sym->n_targets;
			t++)
			n.bad |= find_region_of_label(regions, c, s->sym->targets[t].sym) != NULL;
		if (n.bad)
			return report_difference(c, "another branch leads into the region");
	}
	return 0;
}

/* Compares the statements outside the regions. */
static int check_rest(struct checking *c, const predicate_regions *regions)
{
	uint32_t old = 0, now = 0;

	for (size_t i = 0; i <= regions->len; i++) {
		uint32_t end = i < regions->len ? regions->at[i].from : (uint32_t)c->before->len;
		uint32_t now_end =
			i < regions->len ? regions->at[i].now_from : (uint32_t)c->f->body.len;

		if (end < old || now_end < now || end - old != now_end - now)
			return report_difference(c, "statements outside the region differ, too");
		for (; old < end; old++, now++) {
			c->where = &c->before->at[old];
			if (!same_statement(c->where, &c->f->body.at[now]) ||
				!same_guard(c->where, &c->f->body.at[now]))
				return report_difference(
					c, "statements outside the region differ, too");
		}
		if (i < regions->len) {
			old = regions->at[i].to;
			now = regions->at[i].now_to;
		}
	}
	return 0;
}

int predicate_check(const struct ptx_func *f, const ptx_body *before, uint32_t n_regs,
	const predicate_regions *regions, struct diag_list *diags)
{
	struct checking c = {.f = f, .before = before, .n_regs = n_regs, .diags = diags};
	int r;

	c.ours = calloc(f->regs.len - n_regs + 1, sizeof(*c.ours));
	r = c.ours ? predicate_labels_find(before, &c.labels) : -ENOMEM;
	if (r == 0)
		r = check_rest(&c, regions);
	if (r == 0)
		r = check_names(&c, regions);
	for (size_t i = 0; i < regions->len && r == 0; i++) {
		c.guard = before->at[regions->at[i].from].guard;
		for (unsigned way = 0; way < 2 && r == 0; way++) {
			c.holds = way;
			r = check_side(&c, &regions->at[i]);
		}
	}
	predicate_labels_free(&c.labels);
	free(c.ours);
	return r;
}
