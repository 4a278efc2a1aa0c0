/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds whether one register is live into one block, by walking back from its reads until a write.
 * For few queries in a large function this is cheaper than computing the live sets of all
 * blocks. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>

struct access {
	uint32_t reg, block;
};

struct cfg_spans {
	const struct cfg *g;
	/* reads of a register's value at the block's beginning; sorted */
	VEC(struct access) reads;
	/* writes that overwrite the whole register unconditionally; sorted */
	VEC(struct access) writes;
	/* for each register: the last block that reads or writes it, plus 1 */
	uint32_t *read_in, *written_in;
	uint32_t *seen, *stack, mark; /* for walks over blocks: last mark, worklist, current mark */
	bool guarded, defs, failed;
	uint32_t block;
};

static void note(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct cfg_spans *s = user;
	struct access a = {reg, s->block};

	if (s->defs) {
		if (role != PTX_DEF || s->guarded || s->written_in[reg] == s->block + 1)
			return;
		s->written_in[reg] = s->block + 1;
		s->failed |= !VEC_PUSH(&s->writes, a);
	} else if (role & PTX_USE) {
		if (s->written_in[reg] == s->block + 1 || s->read_in[reg] == s->block + 1)
			return;
		s->read_in[reg] = s->block + 1;
		s->failed |= !VEC_PUSH(&s->reads, a);
	}
}

static int by_reg(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	return x->block < y->block ? -1 : x->block != y->block;
}

int cfg_spans_find(const struct cfg *g, struct cfg_spans **ret)
{
	struct cfg_spans *s = calloc(1, sizeof(*s));
	const struct ptx_func *f = g->f;

	if (!s)
		return -ENOMEM;
	s->g = g;
	s->read_in = calloc(f->regs.len + 1, sizeof(*s->read_in));
	s->written_in = calloc(f->regs.len + 1, sizeof(*s->written_in));
	s->seen = calloc(g->n, sizeof(*s->seen));
	s->stack = calloc(g->n, sizeof(*s->stack));
	s->failed = !s->read_in || !s->written_in || !s->seen || !s->stack;
	for (uint32_t i = 0; i < f->body.len && !s->failed; i++) {
		s->block = g->block_of[i];
		s->guarded = f->body.at[i].guard != PTX_NO_REG;
		s->defs = false;
		ptx_visit_regs(f, &f->body.at[i], note, s);
		s->defs = true;
		ptx_visit_regs(f, &f->body.at[i], note, s);
	}
	if (s->failed) {
		cfg_spans_free(s);
		return -ENOMEM;
	}
	if (s->reads.len)
		qsort(s->reads.at, s->reads.len, sizeof(s->reads.at[0]), by_reg);
	if (s->writes.len)
		qsort(s->writes.at, s->writes.len, sizeof(s->writes.at[0]), by_reg);
	*ret = s;
	return 0;
}

void cfg_spans_free(struct cfg_spans *s)
{
	if (!s)
		return;
	VEC_FREE(&s->reads);
	VEC_FREE(&s->writes);
	free(s->read_in);
	free(s->written_in);
	free(s->seen);
	free(s->stack);
	free(s);
}

static size_t first_of(const struct access *at, size_t n, uint32_t reg)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (at[mid].reg < reg)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool cfg_live_in(struct cfg_spans *s, uint32_t reg, uint32_t block)
{
	uint32_t written = ++s->mark, live = ++s->mark, depth = 0;
	size_t i;

	for (i = first_of(s->writes.at, s->writes.len, reg);
		i < s->writes.len && s->writes.at[i].reg == reg; i++)
		s->seen[s->writes.at[i].block] = written;
	for (i = first_of(s->reads.at, s->reads.len, reg);
		i < s->reads.len && s->reads.at[i].reg == reg; i++) {
		s->seen[s->reads.at[i].block] = live;
		s->stack[depth++] = s->reads.at[i].block;
	}
	while (depth && s->seen[block] != live) {
		const struct cfg_block *b = &s->g->at[s->stack[--depth]];

		for (uint32_t k = 0; k < b->n_pred; k++) {
			uint32_t from = b->pred[k];

			if (s->seen[from] != written && s->seen[from] != live) {
				s->seen[from] = live;
				s->stack[depth++] = from;
			}
		}
	}
	return s->seen[block] == live;
}
