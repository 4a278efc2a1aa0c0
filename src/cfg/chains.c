/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For each register, finds the blocks where it is live at the beginning, finds the node of its
 * value there, and links the nodes. If all predecessors of a block agree on the node, the block
 * uses the same node. Otherwise the block gets a merge node (a phi).
 *
 * In a loop a block is reached before the nodes of all its predecessors are known. So the first
 * decision is provisional, and is checked again later (M. Braun et al., "Simple and Efficient
 * Construction of Static Single Assignment Form", 2013). With this construction the time is linear
 * in the length of the live ranges. */
#include "cfg/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* If all inputs of a merge node (phi) turn out to be one node, that node replaces the merge. Two
 * sweeps over the merges find nearly all such cases. An unnecessary merge costs memory but does not
 * change any result. */
#define SWEEPS_MAX 8

struct link {
	uint32_t from, to;
};

struct merge {
	uint32_t block;
	uint32_t is;   /* the node that replaces this one; this node itself if none does */
	uint32_t node; /* node number in the finished graph, unless the merge was replaced */
};

struct search {
	const struct cfg *g;
	struct cfg_chains *c;
	VEC(struct cfg_site) defs;
	VEC(struct cfg_site) uses;
	VEC(struct link) links;
	uint32_t stmt;
	bool failed;
	uint32_t entry; /* node of the register's value at function entry */
	/* place: index of each block in reverse postorder, with unreachable blocks last; at: the
	 * block at each index */
	uint32_t *place, *at;
	uint32_t *after; /* for each definition: the node of the register's value after it */
	/* State for the current register: */
	uint32_t reg, first; /* first: index of its first definition */
	/* For each block: the index of the register's first unguarded definition in it (kill), and
	 * of its last definition (last), both plus 1. The arrays are not cleared between registers.
	 * The definitions of one register have successive indices, which begin at `first`. So an
	 * entry of at most `first` is left from an earlier register, and means that the block has
	 * no such definition. */
	uint32_t *kill, *last;
	uint32_t *live; /* for each block: the last register found live at its beginning, plus 1 */
	/* for each block where the register is live: the node of its value at the block's
	 * beginning; CFG_NONE: not known yet */
	uint32_t *begin;
	VEC(uint32_t) places;     /* indices of the blocks where the register is live */
	VEC(struct merge) merges; /* node numbers begin at `base` until all merges are known */
	uint32_t base;
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

/* Sorts sites by register with a counting sort. The sites of one register are already in statement
 * order and stay so. Duplicates are dropped. */
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
	/* From here on, last[r] is the number of sites of register r that were copied. */
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

/* Returns the first of a register's sites that is at statement `stmt` or later. */
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

/* Computes the block order, and assigns numbers to the merge nodes (phis) of guarded
 * definitions. */
static int prepare(struct arena *a, struct search *s)
{
	const struct cfg *g = s->g;
	struct cfg_chains *c = s->c;
	uint32_t n = 0;

	s->at = ARENA_ARRAY(a, uint32_t, 6 * (size_t)g->n);
	s->after = ARENA_ARRAY(a, uint32_t, c->n_defs + 1);
	if (!s->at || !s->after)
		return -ENOMEM;
	s->place = s->at + g->n;
	s->kill = s->place + g->n;
	s->last = s->kill + g->n;
	s->live = s->last + g->n;
	s->begin = s->live + g->n;
	for (uint32_t b = 0; b < g->n; b++)
		n += g->at[b].order != CFG_NONE;
	for (uint32_t b = 0; b < g->n; b++) {
		s->place[b] = g->at[b].order != CFG_NONE ? g->at[b].order : n++;
		s->at[s->place[b]] = b;
	}
	s->entry = c->n_defs + c->n_uses;
	c->n_nodes = s->entry + 1;
	for (uint32_t d = 0; d < c->n_defs; d++)
		s->after[d] = g->f->body.at[c->def[d].stmt].guard == PTX_NO_REG ? d : c->n_nodes++;
	return 0;
}

static void link_nodes(struct search *s, uint32_t from, uint32_t to)
{
	if (!VEC_PUSH(&s->links, (struct link){from, to}))
		s->failed = true;
}

static void note_defs(struct search *s)
{
	for (uint32_t d = s->first; d < s->c->defs_of_reg[s->reg + 1]; d++) {
		uint32_t b = s->g->block_of[s->c->def[d].stmt];

		s->last[b] = d + 1;
		if (s->after[d] == d && s->kill[b] <= s->first)
			s->kill[b] = d + 1;
	}
}

static void make_live(struct search *s, uint32_t block)
{
	if (s->live[block] == s->reg + 1)
		return;
	s->live[block] = s->reg + 1;
	s->begin[block] = CFG_NONE;
	if (!VEC_PUSH(&s->places, s->place[block]))
		s->failed = true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Finds the blocks at whose beginning the register is live, by walking back from its reads. Sorts
 * them. */
static void find_live(struct search *s)
{
	const struct cfg_chains *c = s->c;

	s->places.len = 0;
	for (uint32_t u = c->uses_of_reg[s->reg]; u < c->uses_of_reg[s->reg + 1]; u++) {
		uint32_t b = s->g->block_of[c->use[u].stmt];

		/* The definition that ends the old value can be in the same statement as the
		 * read. */
		if (s->kill[b] <= s->first || c->def[s->kill[b] - 1].stmt >= c->use[u].stmt)
			make_live(s, b);
	}
	for (size_t i = 0; i < s->places.len && !s->failed; i++) {
		const struct cfg_block *b = &s->g->at[s->at[s->places.at[i]]];

		for (uint32_t k = 0; k < b->n_pred; k++)
			if (s->kill[b->pred[k]] <= s->first)
				make_live(s, b->pred[k]);
	}
	if (s->places.len > 1)
		qsort(s->places.at, s->places.len, sizeof(s->places.at[0]), by_number);
}

/* Returns the node that replaces this node, or the node itself. */
static uint32_t resolve(struct search *s, uint32_t node)
{
	while (node != CFG_NONE && node >= s->base && s->merges.at[node - s->base].is != node) {
		uint32_t *is = &s->merges.at[node - s->base].is;

		if (*is >= s->base)
			*is = s->merges.at[*is - s->base].is;
		node = *is;
	}
	return node;
}

/* Returns the register's node at the end of edge i into a block, or CFG_NONE if it is not known
 * yet. The function's entry counts as one more edge into the first block. */
static uint32_t incoming(struct search *s, uint32_t block, uint32_t i)
{
	const struct cfg_block *b = &s->g->at[block];

	if (i == b->n_pred)
		return s->entry;
	if (s->last[b->pred[i]] > s->first)
		return s->after[s->last[b->pred[i]] - 1];
	return resolve(s, s->begin[b->pred[i]]);
}

static uint32_t n_incoming(const struct search *s, uint32_t block)
{
	return s->g->at[block].n_pred + (block == 0);
}

/* Returns the node that all edges into a block bring, ignoring edges that bring `self`. Returns
 * CFG_NONE if the nodes differ or one is not known yet. For an unreachable block without edges,
 * returns the node of the entry value. */
static uint32_t common(struct search *s, uint32_t block, uint32_t self)
{
	uint32_t ret = CFG_NONE;

	for (uint32_t i = 0; i < n_incoming(s, block); i++) {
		uint32_t node = incoming(s, block, i);

		if (node == self || (node == ret && node != CFG_NONE))
			continue;
		if (ret != CFG_NONE || node == CFG_NONE)
			return CFG_NONE;
		ret = node;
	}
	return ret != CFG_NONE ? ret : s->entry;
}

static void find_merges(struct search *s)
{
	s->merges.len = 0;
	s->base = s->c->n_nodes;
	for (size_t i = 0; i < s->places.len && !s->failed; i++) {
		uint32_t b = s->at[s->places.at[i]], node = s->base + (uint32_t)s->merges.len;

		s->begin[b] = common(s, b, node);
		if (s->begin[b] != CFG_NONE)
			continue;
		s->begin[b] = node;
		if (!VEC_PUSH(&s->merges, (struct merge){b, node, CFG_NONE}))
			s->failed = true;
	}
}

/* Replaces merge nodes (phis) whose inputs are all one node. Sweeps alternate in direction: a
 * backward sweep sees inner loops before outer ones, a forward sweep sees a loop before the code
 * after it. */
static void drop_merges(struct search *s)
{
	bool changed = true;

	for (unsigned sweep = 0; changed && sweep < SWEEPS_MAX; sweep++) {
		changed = false;
		for (size_t i = 0; i < s->merges.len; i++) {
			size_t k = sweep % 2 ? i : s->merges.len - 1 - i;
			struct merge *m = &s->merges.at[k];
			uint32_t self = s->base + (uint32_t)k, is;

			if (m->is != self)
				continue;
			is = common(s, m->block, self);
			if (is == CFG_NONE)
				continue;
			m->is = is;
			changed = true;
		}
	}
}

/* Returns the number that a node has in the finished graph. */
static uint32_t final(struct search *s, uint32_t node)
{
	node = resolve(s, node);
	return node < s->base ? node : s->merges.at[node - s->base].node;
}

static void link_merges(struct search *s)
{
	for (size_t i = 0; i < s->merges.len; i++)
		if (s->merges.at[i].is == s->base + i)
			s->merges.at[i].node = s->c->n_nodes++;
	for (size_t i = 0; i < s->merges.len; i++) {
		const struct merge *m = &s->merges.at[i];

		for (uint32_t k = 0; m->is == s->base + i && k < n_incoming(s, m->block); k++)
			link_nodes(s, final(s, incoming(s, m->block, k)), m->node);
	}
}

/* Returns the register's node before a statement, or CFG_NONE if the register is not live there.
 * `def` is the first definition that is not before the statement. */
static uint32_t node_at(struct search *s, uint32_t def, uint32_t stmt)
{
	uint32_t b = s->g->block_of[stmt];

	if (def > s->first && s->g->block_of[s->c->def[def - 1].stmt] == b)
		return s->after[def - 1];
	return s->live[b] == s->reg + 1 ? final(s, s->begin[b]) : CFG_NONE;
}

static void link_sites(struct search *s)
{
	const struct cfg_chains *c = s->c;
	uint32_t end = c->defs_of_reg[s->reg + 1], d = s->first;

	for (uint32_t u = c->uses_of_reg[s->reg]; u < c->uses_of_reg[s->reg + 1]; u++) {
		while (d < end && c->def[d].stmt < c->use[u].stmt)
			d++;
		link_nodes(s, node_at(s, d, c->use[u].stmt), c->n_defs + u);
	}
	for (d = s->first; d < end; d++) {
		uint32_t before = node_at(s, d, c->def[d].stmt);

		if (s->after[d] == d)
			continue;
		link_nodes(s, d, s->after[d]);
		if (before != CFG_NONE)
			link_nodes(s, before, s->after[d]);
	}
}

static int make_lists(struct arena *a, const struct search *s)
{
	struct cfg_chains *c = s->c;
	uint32_t *fill;

	if (s->links.len > UINT32_MAX - 1)
		return -E2BIG;
	c->to_of = ARENA_ARRAY(a, uint32_t, (size_t)c->n_nodes + 2);
	c->to = arena_alloc(a, (s->links.len + 1) * sizeof(*c->to));
	if (!c->to_of || !c->to)
		return -ENOMEM;
	fill = c->to_of + 1; /* start of each node's list; once the list is filled, its end */
	for (size_t i = 0; i < s->links.len; i++)
		fill[s->links.at[i].from + 1]++;
	for (uint32_t i = 0; i < c->n_nodes; i++)
		fill[i + 1] += fill[i];
	for (size_t i = 0; i < s->links.len; i++)
		c->to[fill[s->links.at[i].from]++] = s->links.at[i].to;
	return 0;
}

/* Computes `only` for all nodes with a worklist. Each node changes at most twice: from no
 * definition to one, and from one to several. */
static int find_only(struct arena *a, struct search *s)
{
	struct cfg_chains *c = s->c;

	c->only = arena_alloc(a, (size_t)c->n_nodes * sizeof(*c->only));
	if (!c->only)
		return -ENOMEM;
	s->places.len = 0;
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		c->only[i] = i < c->n_defs ? i : CFG_NONE;
		if (i < c->n_defs && !VEC_PUSH(&s->places, i))
			return -ENOMEM;
	}
	while (s->places.len) {
		uint32_t node = s->places.at[--s->places.len];

		for (uint32_t i = c->to_of[node]; i < c->to_of[node + 1]; i++) {
			uint32_t to = c->to[i], was = c->only[to];

			if (was == CFG_SEVERAL || was == c->only[node])
				continue;
			c->only[to] = was == CFG_NONE ? c->only[node] : CFG_SEVERAL;
			if (!VEC_PUSH(&s->places, to))
				return -ENOMEM;
		}
	}
	return 0;
}

int cfg_chains(struct arena *a, const struct cfg *g, struct cfg_chains **ret)
{
	struct search s = {.g = g, .c = ARENA_NEW(a, struct cfg_chains)};
	struct arena own;
	int r = -ENOMEM;

	arena_init(&own, 0);
	if (s.c)
		r = find_sites(a, &s);
	if (r == 0)
		r = prepare(&own, &s);
	for (s.reg = 0; r == 0 && s.reg < g->f->regs.len; s.reg++) {
		s.first = s.c->defs_of_reg[s.reg];
		note_defs(&s);
		find_live(&s);
		find_merges(&s);
		if (!s.failed) {
			drop_merges(&s);
			link_merges(&s);
			link_sites(&s);
		}
		r = s.failed ? -ENOMEM : 0;
	}
	if (r == 0)
		r = make_lists(a, &s);
	if (r == 0)
		r = find_only(a, &s);
	if (r == 0)
		*ret = s.c;
	arena_finish(&own);
	VEC_FREE(&s.defs);
	VEC_FREE(&s.uses);
	VEC_FREE(&s.links);
	VEC_FREE(&s.places);
	VEC_FREE(&s.merges);
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
