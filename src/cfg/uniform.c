/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds which values, and the execution of which blocks, are the same for all threads of a warp or
 * block. Each register and each block has a level: how far it is uniform. The analysis starts with
 * "everything is uniform" and lowers levels to a fixed point, so the levels that remain are proved.
 *
 * - The level of a register is the minimum over its definitions: the levels of their operands, of
 *   their guard, and of the block that contains them.
 * - The level of a block is the minimum over the branches that can lead to the block or past it.
 *   Such a branch affects all blocks between itself and its post-dominator.
 * - If threads leave a loop in different iterations, the loop's own blocks lose their level through
 *   the loop's back edge.
 * - If threads exit early, all later blocks lose their level. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct work {
	const struct cfg *g;
	struct cfg_uniformity *u;
	unsigned assume;
	const bool *but;
	const uint8_t *given; /* or NULL */
	struct cfg_linear linear;
	/* for each register: uniformity level of its bits 5 and higher, which is at least the
	 * register's level */
	uint8_t *above;
	uint32_t *stack, *seen; /* block numbers; for each block: its last mark */
	uint32_t mark;
	bool changed;
};

static uint8_t special_level(const struct ptx_opd *o)
{
	switch (o->value) {
	case PTX_SR_NTID_X:
	case PTX_SR_NTID_Y:
	case PTX_SR_NTID_Z:
	case PTX_SR_NTID:
	case PTX_SR_CTAID_X:
	case PTX_SR_CTAID_Y:
	case PTX_SR_CTAID_Z:
	case PTX_SR_CTAID:
	case PTX_SR_NCTAID_X:
	case PTX_SR_NCTAID_Y:
	case PTX_SR_NCTAID_Z:
	case PTX_SR_NCTAID:
	case PTX_SR_NWARPID:
	case PTX_SR_NSMID:
	case PTX_SR_GRIDID:
	case PTX_SR_DYNAMIC_SMEM:
	case PTX_SR_TOTAL_SMEM:
	case PTX_SR_AGGR_SMEM:
	case PTX_SR_ENVREG:
	case PTX_SR_RESERVED_SMEM:
		return CFG_BLOCK_UNIFORM;
	default:
		return CFG_DIVERGENT;
	}
}

static uint8_t operand_level(const struct work *w, const struct ptx_opd *o)
{
	uint8_t level = CFG_BLOCK_UNIFORM;

	switch (o->kind) {
	case PTX_OPD_REG:
		return w->u->reg[o->reg];
	case PTX_OPD_SPECIAL:
		return special_level(o);
	case PTX_OPD_SYM:
		/* Each thread has its own copy of local memory, so data is divergent even at a
		 * uniform address. */
		return o->sym && o->sym->space == PTX_LOCAL ? CFG_DIVERGENT : level;
	case PTX_OPD_TEXT:
		return CFG_DIVERGENT;
	case PTX_OPD_ADDR:
	case PTX_OPD_VECTOR:
	case PTX_OPD_TUPLE:
	case PTX_OPD_PAIR:
		for (uint32_t i = 0; i < o->n; i++)
			level = MIN(level, operand_level(w, &o->list[i]));
		return level;
	default:
		return level;
	}
}

/* Returns the lowest uniformity level of the sources. These are all operands except the first, the
 * destination; the destination counts too if the instruction reads it. */
static uint8_t sources_level(const struct work *w, const struct ptx_stmt *s)
{
	uint8_t level = CFG_BLOCK_UNIFORM;

	for (unsigned i = 1; i < s->n; i++)
		level = MIN(level, operand_level(w, &s->opd[i]));
	if (s->n && (s->mn->shape[0] == 'b' || s->opd[0].selector))
		level = MIN(level, operand_level(w, &s->opd[0]));
	return level;
}

static bool is_imm(const struct ptx_stmt *s, unsigned i, uint64_t value)
{
	return i < s->n && s->opd[i].kind == PTX_OPD_IMM && s->opd[i].has_value &&
	       (uint32_t)s->opd[i].value == (uint32_t)value;
}

/* Returns the uniformity level of a warp operation's result: if all lanes participate, they all get
 * the same result. */
static uint8_t warp_op_level(const struct work *w, const struct ptx_stmt *s)
{
	bool all = is_imm(s, s->n - 1u, UINT32_MAX);

	if (!all)
		return CFG_DIVERGENT;
	switch (s->mn->op) {
	case PTX_OP_vote:
	case PTX_OP_redux:
		return CFG_WARP_UNIFORM;
	case PTX_OP_shfl: /* all lanes read the same lane */
		return s->opd[0].kind == PTX_OPD_REG && ptx_has_mod(s->mn, "idx") &&
				       is_imm(s, 3, 31) && s->opd[2].kind == PTX_OPD_IMM
			       ? CFG_WARP_UNIFORM
			       : CFG_DIVERGENT;
	default:
		return CFG_DIVERGENT;
	}
}

/* Returns the uniformity level of bits 5 and higher of an operand. The threads of a warp have the
 * thread indices 32k + lane, with the same k. So these bits of the thread index are warp-uniform.
 * They stay so if a multiple of 32 is added to the index (also modulo 2^32 and 2^64). */
static uint8_t operand_above(const struct work *w, const struct ptx_opd *o)
{
	if (cfg_is_thread_number(&w->linear, o))
		return CFG_WARP_UNIFORM;
	if (o->kind == PTX_OPD_REG && !o->selector && !o->negated)
		return w->above[o->reg];
	return operand_level(w, o);
}

/* Returns the uniformity level of an operand that is a multiple of 32, and CFG_DIVERGENT for any
 * other operand. Adding such an operand leaves bits 0 to 4 unchanged and causes no carry out of
 * them. */
static uint8_t whole_warps_level(const struct work *w, const struct ptx_opd *o)
{
	return cfg_zeros(&w->linear, o) >= 5 ? operand_level(w, o) : CFG_DIVERGENT;
}

static uint8_t sum_above(const struct work *w, const struct ptx_stmt *s)
{
	const struct ptx_opd *o = s->opd;

	switch (s->mn->op) {
	case PTX_OP_mov:
	case PTX_OP_cvt:
		return operand_above(w, &o[1]);
	case PTX_OP_and:
	case PTX_OP_or:
	case PTX_OP_xor:
		return MIN(operand_above(w, &o[1]), operand_above(w, &o[2]));
	case PTX_OP_add:
		return MAX(MIN(operand_above(w, &o[1]), whole_warps_level(w, &o[2])),
			MIN(whole_warps_level(w, &o[1]), operand_above(w, &o[2])));
	case PTX_OP_sub:
		return MIN(operand_above(w, &o[1]), whole_warps_level(w, &o[2]));
	case PTX_OP_mad:
		if (cfg_zeros(&w->linear, &o[1]) + cfg_zeros(&w->linear, &o[2]) < 5)
			return CFG_DIVERGENT;
		return MIN(MIN(operand_level(w, &o[1]), operand_level(w, &o[2])),
			operand_above(w, &o[3]));
	default:
		return CFG_DIVERGENT;
	}
}

static uint8_t result_above(const struct work *w, const struct ptx_stmt *s)
{
	uint8_t level;

	if (s->n < 2 || s->n != s->mn->n_needed)
		return CFG_DIVERGENT;
	level = sum_above(w, s);
	return level > CFG_DIVERGENT && cfg_is_plain_integer(s->mn) ? level : CFG_DIVERGENT;
}

static bool is_imm_multiple(const struct ptx_opd *o, uint64_t of)
{
	return o->kind == PTX_OPD_IMM && o->has_value && o->value && o->value % of == 0;
}

/* Returns the uniformity level of a comparison. The comparison v < 32k gives the same result as
 * floor(v / 32) < k, signed or unsigned, so it depends only on bits 5 and higher of v. v <= 32k - 1
 * is the same comparison as v < 32k. */
static uint8_t compare_level(const struct work *w, const struct ptx_stmt *s)
{
	struct ptx_opd limit = s->opd[2];
	uint8_t level = MIN(operand_above(w, &s->opd[1]),
		s->n == 4 ? operand_level(w, &s->opd[3]) : CFG_BLOCK_UNIFORM);

	switch (s->mn->cmp) {
	case PTX_GT:
	case PTX_LE:
	case PTX_HI:
	case PTX_LS:
		if (limit.kind != PTX_OPD_IMM)
			return CFG_DIVERGENT;
		limit.value++;
		break;
	case PTX_LT:
	case PTX_GE:
	case PTX_LO:
	case PTX_HS:
		break;
	default:
		return CFG_DIVERGENT;
	}
	return MIN(level, whole_warps_level(w, &limit));
}

/* Returns the uniformity level of a result that depends only on bits 5 and higher of an operand,
 * and CFG_DIVERGENT for any other result. */
static uint8_t cut_level(const struct work *w, const struct ptx_stmt *s)
{
	const struct ptx_opd *o = s->opd;

	if (s->n < 3 || !cfg_is_plain_integer(s->mn))
		return CFG_DIVERGENT;
	switch (s->mn->op) {
	case PTX_OP_shr:
		return o[2].kind == PTX_OPD_IMM && o[2].has_value && o[2].value >= 5
			       ? operand_above(w, &o[1])
			       : CFG_DIVERGENT;
	/* div rounds towards zero, so a dividend that can be negative does not qualify */
	case PTX_OP_div:
		if (!is_imm_multiple(&o[2], 32) ||
			(s->mn->type[0] != PTX_U32 && s->mn->type[0] != PTX_U64 &&
				!cfg_is_thread_number(&w->linear, &o[1])))
			return CFG_DIVERGENT;
		return operand_above(w, &o[1]);
	case PTX_OP_and:
		return MAX(MIN(operand_above(w, &o[1]), whole_warps_level(w, &o[2])),
			MIN(whole_warps_level(w, &o[1]), operand_above(w, &o[2])));
	case PTX_OP_setp:
		return o[0].kind == PTX_OPD_REG ? compare_level(w, s) : CFG_DIVERGENT;
	default:
		return CFG_DIVERGENT;
	}
}

/* Returns true if all threads of the block wait at this barrier: it has no thread count and no
 * guard. */
static bool is_block_barrier(const struct ptx_stmt *s)
{
	unsigned id = ptx_has_mod(s->mn, "red") ? 1 : 0;

	return (s->mn->flags & PTX_F_BARRIER) && s->guard == PTX_NO_REG &&
	       !ptx_has_mod(s->mn, "arrive") && s->n == 1 + 2 * id &&
	       s->opd[id].kind == PTX_OPD_IMM && s->opd[id].has_value;
}

/* Returns true if s is a load right after a block barrier, in a program without races. All stores
 * before the barrier are ordered before the load in all threads (PTX ISA, bar: memory ordering), so
 * all threads read the value of the same last store. A store after the barrier is not ordered
 * before the load, so a thread that read its value would race. This holds only within one basic
 * block, and if no thread stores or waits between the barrier and the load. */
static bool follows_barrier(const struct work *w, const struct ptx_stmt *s)
{
	const struct ptx_stmt *body = w->g->f->body.at;
	const struct ptx_stmt *first = &body[w->g->at[w->g->block_of[s - body]].first];

	while (s > first) {
		s--;
		if (s->kind != PTX_INSN)
			continue;
		if (is_block_barrier(s))
			return true;
		if (s->mn->flags & (PTX_F_WRITES_MEM | PTX_F_SIDE_EFFECT))
			return false;
	}
	return false;
}

static uint8_t load_level(const struct work *w, const struct ptx_stmt *s)
{
	if (s->mn->flags & PTX_F_VOLATILE)
		return CFG_DIVERGENT;
	if (s->mn->space == PTX_CONST || (s->mn->space == PTX_PARAM && w->g->f->is_entry))
		return sources_level(w, s);
	if (s->mn->space == PTX_SHARED && (w->assume & CFG_NO_RACES) &&
		!ptx_has_mod(s->mn, "shared::cluster") && follows_barrier(w, s))
		return sources_level(w, s);
	return CFG_DIVERGENT;
}

static uint8_t result_level(const struct work *w, const struct ptx_stmt *s)
{
	const struct ptx_mnem *mn = s->mn;

	if (mn->flags & (PTX_F_UNKNOWN | PTX_F_CALL | PTX_F_ATOMIC | PTX_F_READS_CC))
		return CFG_DIVERGENT;
	/* a barrier with a reduction over the block */
	if (mn->op == PTX_OP_bar || mn->op == PTX_OP_barrier)
		return s->n == 3 ? CFG_BLOCK_UNIFORM : CFG_DIVERGENT;
	if (mn->op == PTX_OP_ld)
		return load_level(w, s);
	if (mn->flags & (PTX_F_READS_MEM | PTX_F_ASYNC | PTX_F_GRID))
		return CFG_DIVERGENT;
	if (mn->op == PTX_OP_activemask || mn->op == PTX_OP_fns)
		return CFG_DIVERGENT;
	if (mn->flags & PTX_F_WARP_SYNC)
		return warp_op_level(w, s);
	return MAX(cut_level(w, s), sources_level(w, s));
}

struct lowering {
	struct work *w;
	uint8_t level, above;
};

static void lower_reg(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct lowering *l = user;
	struct work *w = l->w;
	uint8_t least = w->given ? w->given[reg] : CFG_DIVERGENT;
	uint8_t level = MAX(l->level, least), above = MAX(l->above, least);

	if (!(role & PTX_DEF))
		return;
	if (w->u->reg[reg] > level || w->above[reg] > above) {
		w->u->reg[reg] = MIN(w->u->reg[reg], level);
		w->above[reg] = MIN(w->above[reg], above);
		w->changed = true;
	}
}

static void visit_block(struct work *w, uint32_t b)
{
	const struct cfg_block *blk = &w->g->at[b];

	for (uint32_t i = blk->first; i < blk->end; i++) {
		const struct ptx_stmt *s = &w->g->f->body.at[i];
		struct lowering l = {.w = w};
		uint8_t control = w->u->block[b];

		if (s->kind != PTX_INSN)
			continue;
		if (s->guard != PTX_NO_REG)
			control = MIN(control, w->u->reg[s->guard]);
		l.level = MIN(control, result_level(w, s));
		l.above = l.level;
		if (l.level < control)
			l.above = MAX(l.level, MIN(control, result_above(w, s)));
		ptx_visit_regs(w->g->f, s, lower_reg, &l);
	}
}

/* Returns the uniformity level of the branch at the end of a block: do all threads leave by the
 * same edge? A block with one edge is uniform. */
static uint8_t choice_level(const struct work *w, uint32_t b)
{
	const struct cfg_block *blk = &w->g->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &w->g->f->body.at[blk->end - 1] : NULL;
	uint8_t level = CFG_BLOCK_UNIFORM;

	if (!s || s->kind != PTX_INSN || blk->n_succ < 2)
		return level;
	if (s->guard != PTX_NO_REG)
		level = w->u->reg[s->guard];
	if (s->mn->op == PTX_OP_brx)
		level = MIN(level, s->n ? operand_level(w, &s->opd[0]) : CFG_DIVERGENT);
	return w->but && w->but[b] ? MAX(level, CFG_WARP_UNIFORM) : level;
}

/* Lists all blocks from a branch up to where its paths meet again. */
uint32_t cfg_influence(
	const struct cfg *g, uint32_t branch, uint32_t *list, uint32_t *seen, uint32_t mark)
{
	uint32_t n = 0, stop = g->at[branch].ipdom;
	const struct cfg_block *b = &g->at[branch];

	for (uint32_t at = 0;; b = &g->at[list[at++]]) {
		for (uint32_t i = 0; i < b->n_succ; i++) {
			uint32_t s = b->succ[i];

			if (s != stop && s != g->exit && seen[s] != mark) {
				seen[s] = mark;
				list[n++] = s;
			}
		}
		if (at == n)
			return n;
	}
}

/* Lowers the uniformity level of all blocks that a branch influences (those between the branch and
 * the place where its paths meet again). If a block is among these, the blocks that it influences
 * itself are among these, too. So if the branch's own block already has this level or a lower one,
 * all of these blocks have been lowered before, and nothing changes. */
static void spread(struct work *w, uint32_t branch, uint8_t level)
{
	uint32_t n;

	if (w->u->block[branch] <= level)
		return;
	n = cfg_influence(w->g, branch, w->stack, w->seen, ++w->mark);
	for (uint32_t i = 0; i < n; i++)
		w->u->block[w->stack[i]] = MIN(w->u->block[w->stack[i]], level);
}

static void solve(struct work *w, uint8_t *spread_level)
{
	const struct cfg *g = w->g;

	/* The order of the blocks does not affect the result. In this order a branch lowers the
	 * blocks after it in the same pass. */
	do {
		w->changed = false;
		for (uint32_t b = 0; b < g->n; b++) {
			uint8_t level;

			visit_block(w, b);
			level = choice_level(w, b);
			if (level < spread_level[b]) {
				spread_level[b] = level;
				spread(w, b, level);
				w->changed = true;
			}
		}
	} while (w->changed);
}

int cfg_uniformity(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	struct cfg_uniformity **ret)
{
	return cfg_uniformity_given(a, g, assume, but, NULL, ret);
}

int cfg_uniformity_given(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	const uint8_t *given, struct cfg_uniformity **ret)
{
	size_t regs = g->f->regs.len;
	struct work w = {.g = g,
		.u = ARENA_NEW(a, struct cfg_uniformity),
		.assume = assume,
		.but = but,
		.given = given};
	bool blocks_1d = (assume & CFG_BLOCKS_1D) || cfg_blocks_1d(g->f);
	uint8_t *spread_level = calloc(g->n, 1);
	int r = cfg_linear_find(g, blocks_1d, &w.linear);

	if (r < 0)
		goto out;
	r = -ENOMEM;
	w.above = malloc(regs + 1);
	w.stack = calloc(g->n, sizeof(*w.stack));
	w.seen = calloc(g->n, sizeof(*w.seen));
	if (!w.u || !spread_level || !w.above || !w.stack || !w.seen)
		goto out;
	w.u->reg = arena_alloc(a, regs + 1);
	w.u->block = arena_alloc(a, g->n);
	if (!w.u->reg || !w.u->block)
		goto out;
	memset(w.u->reg, CFG_BLOCK_UNIFORM, regs + 1);
	memset(w.above, CFG_BLOCK_UNIFORM, regs + 1);
	memset(w.u->block, CFG_BLOCK_UNIFORM, g->n);
	memset(spread_level, CFG_BLOCK_UNIFORM, g->n);
	solve(&w, spread_level);
	*ret = w.u;
	r = 0;
out:
	free(spread_level);
	cfg_linear_finish(&w.linear);
	free(w.above);
	free(w.stack);
	free(w.seen);
	return r;
}
