/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes liveness by a backward fixed-point iteration, and the peak number of live registers,
 * which estimates the register demand before ptxas. A guarded definition keeps the old value
 * alive. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct step {
	uint64_t *set;
	bool guarded, defs;
};

static void apply(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct step *st = user;
	uint64_t bit = (uint64_t)1 << (reg & 63);

	if (st->defs) {
		if (role == PTX_DEF && !st->guarded)
			st->set[reg >> 6] &= ~bit;
	} else if (role & PTX_USE) {
		st->set[reg >> 6] |= bit;
	}
}

/* Turns the set of registers live after a statement into the set live before it. */
static void step_back(const struct ptx_func *f, const struct ptx_stmt *s, uint64_t *set)
{
	struct step st = {set, s->guard != PTX_NO_REG, true};

	ptx_visit_regs(f, s, apply, &st);
	st.defs = false;
	ptx_visit_regs(f, s, apply, &st);
}

static bool update_block(const struct cfg *g, struct cfg_liveness *l, uint32_t b, uint64_t *tmp)
{
	const struct cfg_block *blk = &g->at[b];
	uint64_t *out = l->live_out + (size_t)b * l->words;
	uint64_t *in = l->live_in + (size_t)b * l->words;

	for (uint32_t i = 0; i < blk->n_succ; i++) {
		const uint64_t *from = l->live_in + (size_t)blk->succ[i] * l->words;

		for (uint32_t w = 0; w < l->words; w++)
			out[w] |= from[w];
	}
	memcpy(tmp, out, l->words * sizeof(*tmp));
	for (uint32_t i = blk->end; i-- > blk->first;)
		step_back(g->f, &g->f->body.at[i], tmp);
	if (memcmp(tmp, in, l->words * sizeof(*tmp)) == 0)
		return false;
	memcpy(in, tmp, l->words * sizeof(*tmp));
	return true;
}

/* Returns how many 32-bit registers a PTX register takes; predicates are counted separately. */
static uint32_t weight(const struct ptx_func *f, uint32_t reg, bool *ret_pred)
{
	uint8_t base = f->regs.at[reg].sym->type.base;
	uint32_t bytes = ptx_type_bytes(base);

	*ret_pred = base == PTX_PRED;
	return bytes > 4 ? bytes / 4 : 1;
}

static void count_live(const struct ptx_func *f, const uint64_t *set, struct cfg_liveness *l)
{
	uint32_t b32 = 0, preds = 0;

	for (uint32_t w = 0; w < l->words; w++)
		for (uint64_t left = set[w]; left; left &= left - 1) {
			bool pred;
			uint32_t n = weight(f, w * 64 + (uint32_t)__builtin_ctzll(left), &pred);

			*(pred ? &preds : &b32) += n;
		}
	l->max_live_b32 = MAX(l->max_live_b32, b32);
	l->max_live_pred = MAX(l->max_live_pred, preds);
}

static void find_peak(const struct cfg *g, struct cfg_liveness *l, uint64_t *tmp)
{
	for (uint32_t b = 0; b < g->n; b++) {
		memcpy(tmp, l->live_out + (size_t)b * l->words, l->words * sizeof(*tmp));
		count_live(g->f, tmp, l);
		for (uint32_t i = g->at[b].end; i-- > g->at[b].first;) {
			if (g->f->body.at[i].kind != PTX_INSN)
				continue;
			step_back(g->f, &g->f->body.at[i], tmp);
			count_live(g->f, tmp, l);
		}
	}
}

static uint32_t sum_weights(const uint64_t *set, uint32_t words, const uint8_t *weight)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = set[w]; left; left &= left - 1)
			n += weight[w * 64 + (uint32_t)__builtin_ctzll(left)];
	return n;
}

int cfg_peak(
	const struct cfg *g, const struct cfg_liveness *l, const uint8_t *weight, uint32_t *ret)
{
	uint64_t *tmp = calloc(l->words + 1, sizeof(*tmp));

	if (!tmp)
		return -ENOMEM;
	*ret = 0;
	for (uint32_t b = 0; b < g->n; b++) {
		memcpy(tmp, l->live_out + (size_t)b * l->words, l->words * sizeof(*tmp));
		*ret = MAX(*ret, sum_weights(tmp, l->words, weight));
		for (uint32_t i = g->at[b].end; i-- > g->at[b].first;) {
			if (g->f->body.at[i].kind != PTX_INSN)
				continue;
			step_back(g->f, &g->f->body.at[i], tmp);
			*ret = MAX(*ret, sum_weights(tmp, l->words, weight));
		}
	}
	free(tmp);
	return 0;
}

int cfg_liveness(struct arena *a, const struct cfg *g, struct cfg_liveness **ret)
{
	struct cfg_liveness *l = ARENA_NEW(a, struct cfg_liveness);
	struct cfg_order post = {0};
	uint64_t *tmp = NULL;
	bool changed = true;
	int r = -ENOMEM;

	if (!l)
		return -ENOMEM;
	l->words = (uint32_t)((g->f->regs.len + 63) / 64);
	l->live_in = ARENA_ARRAY(a, uint64_t, (size_t)g->n * l->words + 1);
	l->live_out = ARENA_ARRAY(a, uint64_t, (size_t)g->n * l->words + 1);
	tmp = calloc(l->words + 1, sizeof(*tmp));
	if (!l->live_in || !l->live_out || !tmp)
		goto out;
	r = cfg_walk(g, 0, false, &post);
	if (r < 0)
		goto out;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < post.n; i++)
			changed |= update_block(g, l, post.at[i], tmp);
	}
	find_peak(g, l, tmp);
	*ret = l;
out:
	free(post.at);
	free(tmp);
	return r;
}
