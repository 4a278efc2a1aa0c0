/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* From each write forwards, through blocks where the register is alive, until it is written anew
 * without a guard. So the work is the length of live ranges. */
#include "cfg/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct link {
	uint32_t def, use;
};

struct search {
	const struct cfg *g;
	struct cfg_chains *c;
	VEC(struct cfg_site) defs;
	VEC(struct cfg_site) uses;
	VEC(struct link) links;
	VEC(uint32_t) todo;
	uint32_t *seen; /* by block: the def, plus 1, whose walk was there last */
	uint32_t *live; /* by block: the register, plus 1, last found alive at its beginning */
	uint32_t of;    /* the register, plus 1, that this was last asked for */
	uint32_t stmt;
	bool failed;
};

static void note_site(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct search *s = user;
	struct cfg_site site = {reg, s->stmt};

	if (role & PTX_DEF && !VEC_PUSH(&s->defs, site))
		s->failed = true;
	if (role & PTX_USE && !VEC_PUSH(&s->uses, site))
		s->failed = true;
}

/* Sorted by register without comparing; statements are in order already. Duplicates go. */
static int sort_sites(struct arena *a, const struct cfg_site *from, size_t n, size_t regs,
	struct cfg_site **ret, uint32_t *ret_n, uint32_t **ret_first)
{
	struct cfg_site *to = arena_alloc(a, (n + 1) * sizeof(*to));
	uint32_t *first = ARENA_ARRAY(a, uint32_t, regs + 2);
	uint32_t *last = calloc(regs + 1, sizeof(*last)), kept = 0;

	if (!to || !first || !last) {
		free(last);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		bool again = last[from[i].reg] == from[i].stmt + 1;

		first[from[i].reg + 1] += !again;
		last[from[i].reg] = from[i].stmt + 1;
	}
	for (size_t r = 0; r < regs; r++)
		first[r + 1] += first[r];
	memset(last, 0, (regs + 1) * sizeof(*last));
	/* last: how many of a register are in their place. */
	for (size_t i = 0; i < n; i++) {
		uint32_t at = first[from[i].reg] + last[from[i].reg];

		if (last[from[i].reg] && to[at - 1].stmt == from[i].stmt)
			continue;
		to[at] = from[i];
		last[from[i].reg]++;
		kept++;
	}
	free(last);
	*ret = to;
	*ret_n = kept;
	*ret_first = first;
	return 0;
}

static int find_sites(struct arena *a, struct search *s)
{
	const struct ptx_func *f = s->g->f;
	struct cfg_chains *c = s->c;
	int r;

	for (size_t i = 0; i < f->body.len && !s->failed; i++) {
		s->stmt = (uint32_t)i;
		ptx_visit_regs(f, &f->body.at[i], note_site, s);
	}
	if (s->failed)
		return -ENOMEM;
	r = sort_sites(
		a, s->defs.at, s->defs.len, f->regs.len, &c->def, &c->n_defs, &c->defs_of_reg);
	if (r == 0)
		r = sort_sites(a, s->uses.at, s->uses.len, f->regs.len, &c->use, &c->n_uses,
			&c->uses_of_reg);
	return r;
}

/* The first of a register's sites from a statement on. */
static uint32_t from_stmt(const struct cfg_site *at, uint32_t lo, uint32_t hi, uint32_t stmt)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (at[mid].stmt < stmt)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first statement of [from, end) that leaves nothing of a register's old value, or end. */
static uint32_t first_kill(const struct search *s, uint32_t reg, uint32_t from, uint32_t end)
{
	const struct cfg_chains *c = s->c;
	uint32_t hi = c->defs_of_reg[reg + 1], d = from_stmt(c->def, c->defs_of_reg[reg], hi, from);

	while (d < hi && c->def[d].stmt < end &&
		s->g->f->body.at[c->def[d].stmt].guard != PTX_NO_REG)
		d++;
	return d < hi && c->def[d].stmt < end ? c->def[d].stmt : end;
}

/* Through statements [from, end) of a block; whether the value is still there behind them. */
static bool walk_block(struct search *s, uint32_t def, uint32_t from, uint32_t end)
{
	const struct cfg_chains *c = s->c;
	uint32_t reg = c->def[def].reg, hi = c->uses_of_reg[reg + 1];
	uint32_t kill = first_kill(s, reg, from, end);

	/* What writes it anew may read it first. */
	for (uint32_t u = from_stmt(c->use, c->uses_of_reg[reg], hi, from);
		u < hi && c->use[u].stmt < end && c->use[u].stmt <= kill; u++)
		if (!VEC_PUSH(&s->links, (struct link){def, u}))
			s->failed = true;
	return kill == end;
}

static void make_live(struct search *s, uint32_t reg, uint32_t block)
{
	if (s->live[block] == reg + 1)
		return;
	s->live[block] = reg + 1;
	if (!VEC_PUSH(&s->todo, block))
		s->failed = true;
}

/* Blocks at whose beginning the register is alive: back from the reads. */
static void find_live(struct search *s, uint32_t reg)
{
	const struct cfg_chains *c = s->c;

	s->of = reg + 1;
	for (uint32_t u = c->uses_of_reg[reg]; u < c->uses_of_reg[reg + 1]; u++) {
		uint32_t b = s->g->block_of[c->use[u].stmt];

		if (first_kill(s, reg, s->g->at[b].first, c->use[u].stmt) == c->use[u].stmt)
			make_live(s, reg, b);
	}
	while (s->todo.len && !s->failed) {
		const struct cfg_block *b = &s->g->at[s->todo.at[--s->todo.len]];

		for (uint32_t i = 0; i < b->n_pred; i++) {
			const struct cfg_block *p = &s->g->at[b->pred[i]];

			if (first_kill(s, reg, p->first, p->end) == p->end)
				make_live(s, reg, b->pred[i]);
		}
	}
}

static void go_on(struct search *s, uint32_t def, uint32_t block)
{
	const struct cfg_block *b = &s->g->at[block];
	uint32_t reg = s->c->def[def].reg;

	for (uint32_t i = 0; i < b->n_succ; i++) {
		uint32_t next = b->succ[i];

		if (s->seen[next] == def + 1 || s->live[next] != reg + 1)
			continue;
		s->seen[next] = def + 1;
		if (!VEC_PUSH(&s->todo, next))
			s->failed = true;
	}
}

static void follow(struct search *s, uint32_t def)
{
	uint32_t stmt = s->c->def[def].stmt, block = s->g->block_of[stmt];

	if (!walk_block(s, def, stmt + 1, s->g->at[block].end))
		return;
	if (s->of != s->c->def[def].reg + 1)
		find_live(s, s->c->def[def].reg);
	go_on(s, def, block);
	while (s->todo.len && !s->failed) {
		uint32_t b = s->todo.at[--s->todo.len];

		if (walk_block(s, def, s->g->at[b].first, s->g->at[b].end))
			go_on(s, def, b);
	}
}

/* Links, which are in order of defs, as lists of both sides. */
static int make_lists(struct arena *a, struct search *s)
{
	struct cfg_chains *c = s->c;
	size_t n = s->links.len;
	uint32_t *fill;

	if (n > UINT32_MAX - 1)
		return -E2BIG;
	c->uses_of = ARENA_ARRAY(a, uint32_t, c->n_defs + 2);
	c->defs_of = ARENA_ARRAY(a, uint32_t, c->n_uses + 2);
	c->uses = arena_alloc(a, (n + 1) * sizeof(*c->uses));
	c->defs = arena_alloc(a, (n + 1) * sizeof(*c->defs));
	fill = calloc(c->n_uses + 1, sizeof(*fill));
	if (!c->uses_of || !c->defs_of || !c->uses || !c->defs || !fill) {
		free(fill);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		c->uses_of[s->links.at[i].def + 1]++;
		c->defs_of[s->links.at[i].use + 1]++;
		c->uses[i] = s->links.at[i].use;
	}
	for (uint32_t i = 0; i < c->n_defs; i++)
		c->uses_of[i + 1] += c->uses_of[i];
	for (uint32_t i = 0; i < c->n_uses; i++)
		c->defs_of[i + 1] += c->defs_of[i];
	for (size_t i = 0; i < n; i++) {
		uint32_t use = s->links.at[i].use;

		c->defs[c->defs_of[use] + fill[use]++] = s->links.at[i].def;
	}
	free(fill);
	return 0;
}

int cfg_chains(struct arena *a, const struct cfg *g, struct cfg_chains **ret)
{
	struct search s = {.g = g, .c = ARENA_NEW(a, struct cfg_chains)};
	int r = -ENOMEM;

	s.seen = calloc(g->n, sizeof(*s.seen));
	s.live = calloc(g->n, sizeof(*s.live));
	if (s.c && s.seen && s.live)
		r = find_sites(a, &s);
	for (uint32_t i = 0; r == 0 && i < s.c->n_defs; i++) {
		follow(&s, i);
		r = s.failed ? -ENOMEM : 0;
	}
	if (r == 0)
		r = make_lists(a, &s);
	if (r == 0)
		*ret = s.c;
	free(s.seen);
	free(s.live);
	VEC_FREE(&s.defs);
	VEC_FREE(&s.uses);
	VEC_FREE(&s.links);
	VEC_FREE(&s.todo);
	return r;
}

static uint32_t find_site(
	const struct cfg_site *at, const uint32_t *of_reg, uint32_t reg, uint32_t stmt)
{
	uint32_t i = from_stmt(at, of_reg[reg], of_reg[reg + 1], stmt);

	return i < of_reg[reg + 1] && at[i].stmt == stmt ? i : CFG_NONE;
}

uint32_t cfg_find_def(const struct cfg_chains *c, uint32_t reg, uint32_t stmt)
{
	return find_site(c->def, c->defs_of_reg, reg, stmt);
}

uint32_t cfg_find_use(const struct cfg_chains *c, uint32_t reg, uint32_t stmt)
{
	return find_site(c->use, c->uses_of_reg, reg, stmt);
}
