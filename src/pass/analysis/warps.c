/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks synchronization that threads may miss because they exited early. In a worker exited
 * threads stay alive, so two kinds of operations need care, because they do not wait for exited
 * threads on hardware:
 * - Barriers that not all threads of a block reach together. At a plain barrier 0, exited threads
 *   keep executing the barrier until all threads have exited (PASS_BAR_ACTIVE). A kernel with other
 *   such barriers, or with barriers whose state might outlive the block, becomes a guard kernel.
 * - Warp operations that some lanes may skip. Such an operation is at risk if these lanes can run
 *   to the end without first reaching an operation that waits for all lanes. On hardware the lanes
 *   would be gone; in a worker the operation would wait for them forever. */
#include "pass/analysis/warps.h"
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"
#include "pass/analysis/masks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* maximum number of analyses per kernel that find what is uniform among the lanes that stay
 * (stay_together); each takes time linear in the kernel's size */
#define STAYING_MAX 64
#define LEAVES_MAX  8 /* maximum number of early exits tracked per kernel */

struct sync_check {
	struct pass_facts *facts;
	const struct cfg *g;
	struct cfg_uniformity *u;
	bool in_callee;
	/* list: worklist of blocks; seen: for each block, mark of the last visit */
	uint32_t *list, *seen;
	/* safe: by basic block, the value of `mark` when a branch that influences the block was
	 * found to be without risk */
	uint32_t mark, *safe;
	struct pass_masks *masks;
	unsigned assume; /* assumptions under which u was computed */
	/* uniformity among the lanes that do not exit, at block `stay` */
	struct cfg_uniformity *staying;
	uint32_t stay, n_staying; /* n_staying: number of such analyses so far */
	/* by basic block: whether exited lanes are removed from member masks after the branch that
	 * ends the block */
	bool *excludes;
	/* true if some operation is safe because its mask was computed after the lanes diverged, or
	 * if the code uses activemask (find_leaves) */
	bool young;
	/* true if some operation is safe because its mask contains exactly the lanes that did not
	 * exit */
	bool named;
	/* by basic block: out: whether a lane can reach the end from the block without waiting for
	 * its warp; holds: whether the block has a warp operation */
	uint8_t *out, *holds;
	uint16_t ids; /* bit mask of barrier numbers that are constants */
	/* counted_0: barrier 0 has a thread count; red: a plain barrier 0 is a reduction */
	bool counted_0, red;
	bool is_parted; /* some plain barrier 0 is not reached by all threads together */
};

static bool is_barrier(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && (s->mn->flags & PTX_F_BARRIER);
}

struct barrier {
	bool red, arrive, counted, in_register;
	uint64_t id;
};

static struct barrier read_barrier(const struct ptx_stmt *s)
{
	struct barrier b = {0};
	unsigned first;

	b.red = ptx_has_mod(s->mn, "red");
	b.arrive = ptx_has_mod(s->mn, "arrive");
	first = b.red ? 1 : 0;
	b.counted = s->n > first + 1u + (b.red ? 1u : 0u);
	if (s->n > first) {
		b.in_register = s->opd[first].kind != PTX_OPD_IMM || !s->opd[first].has_value;
		b.id = s->opd[first].value & 15;
	}
	return b;
}

bool pass_is_plain_barrier(const struct ptx_stmt *s)
{
	struct barrier b;

	if (!is_barrier(s))
		return false;
	b = read_barrier(s);
	return !b.arrive && !b.counted && !b.in_register && b.id == 0;
}

static void check_barrier(struct sync_check *c, const struct ptx_stmt *s, uint8_t level)
{
	struct barrier b = read_barrier(s);
	bool together = level == CFG_BLOCK_UNIFORM;

	if (b.in_register) {
		pass_note(c->facts, PASS_BARRIER_REGISTER, s,
			"a barrier's number is in a register, so no barrier is known to be unused");
		return;
	}
	c->ids |= (uint16_t)(1u << b.id);
	if (b.arrive)
		pass_note(c->facts, PASS_BARRIER_HALF, s,
			"%s may leave a barrier half full at the block's end", s->mn->text);
	if (b.counted) {
		c->facts->counts = true;
		c->counted_0 |= b.id == 0;
		return;
	}
	if (b.id == 0)
		c->red |= b.red;
	if (together && !c->in_callee)
		return;
	if (c->in_callee && !together)
		pass_note(c->facts, PASS_BARRIER_APART, s,
			"a barrier in a called function that some threads may not reach");
	else if (!together && b.id != 0)
		pass_note(c->facts, PASS_BARRIER_APART, s,
			"some threads may have exited before barrier %u", (unsigned)b.id);
	else if (!together)
		c->is_parted = true;
}

/* Returns whether the PTX ISA requires all threads of the warp to execute s. The behaviour of such
 * an s is undefined if any thread of the warp has exited. So no lane has exited where s runs, and s
 * waits for all lanes. */
bool pass_needs_whole_warp(const struct ptx_stmt *s)
{
	switch (s->mn->op) {
	case PTX_OP_ldmatrix:
	case PTX_OP_stmatrix:
	case PTX_OP_mma:
	case PTX_OP_wmma_load:
	case PTX_OP_wmma_store:
	case PTX_OP_wmma_mma:
		return true;
	default:
		return false;
	}
}

/* Returns whether s waits for all lanes of its warp that have not exited. */
static bool waits_for_warp(const struct ptx_stmt *s)
{
	const struct ptx_opd *mask;

	if (s->kind != PTX_INSN || s->guard != PTX_NO_REG)
		return false;
	if (pass_is_plain_barrier(s) || pass_needs_whole_warp(s))
		return true;
	mask = pass_mask_of(s);
	return mask && mask->kind == PTX_OPD_IMM && mask->has_value &&
	       (uint32_t)mask->value == UINT32_MAX;
}

static bool block_waits(const struct cfg *g, uint32_t b)
{
	for (uint32_t i = g->at[b].first; i < g->at[b].end; i++)
		if (waits_for_warp(&g->f->body.at[i]))
			return true;
	return false;
}

/* Marks the basic blocks from which a lane can reach the end without waiting for its warp. */
static void find_ways_out(struct sync_check *c)
{
	const struct cfg *g = c->g;
	uint32_t depth = 0;

	c->out[g->exit] = 1;
	c->list[depth++] = g->exit;
	while (depth) {
		const struct cfg_block *b = &g->at[c->list[--depth]];

		for (uint32_t i = 0; i < b->n_pred; i++) {
			if (c->out[b->pred[i]] || block_waits(g, b->pred[i]))
				continue;
			c->out[b->pred[i]] = 1;
			c->list[depth++] = b->pred[i];
		}
	}
}

static bool lanes_part_under(const struct sync_check *c, const struct cfg_uniformity *u, uint32_t b)
{
	const struct cfg_block *blk = &c->g->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &c->g->f->body.at[blk->end - 1] : NULL;

	if (!s || s->kind != PTX_INSN || blk->n_succ < 2 || c->excludes[b])
		return false;
	if (s->guard != PTX_NO_REG && u->reg[s->guard] < CFG_WARP_UNIFORM)
		return true;
	return s->mn->op == PTX_OP_brx;
}

static bool lanes_part(const struct sync_check *c, uint32_t b)
{
	return lanes_part_under(c, c->u, b);
}

/* Returns whether a function that a call through a pointer may reach has a warp operation. */
static bool pointers_hold_warp_ops(const struct pass_facts *facts)
{
	for (size_t i = 0; i < facts->callees.len; i++)
		if (facts->callees.at[i].taken && facts->callees.at[i].warp_ops)
			return true;
	return false;
}

static bool holds_warp_op(struct sync_check *c, const struct ptx_stmt *s)
{
	const struct pass_callee *callee;

	if (s->kind != PTX_INSN)
		return false;
	if (s->mn->flags & PTX_F_WARP_SYNC)
		return !pass_needs_whole_warp(s);
	if (s->mn->op != PTX_OP_call)
		return false;
	if (!pass_call_target(s))
		return pointers_hold_warp_ops(c->facts);
	callee = pass_called(c->facts, s);
	return callee && callee->warp_ops;
}

static bool has_warp_op(struct sync_check *c, uint32_t b)
{
	for (uint32_t i = c->g->at[b].first; i < c->g->at[b].end; i++)
		if (holds_warp_op(c, &c->g->f->body.at[i]))
			return true;
	return false;
}

/* Returns whether lanes that diverged and did not exit have reconverged at block `at`, as they do
 * on hardware. On hardware the exiting lanes are gone, and ptxas reconverges the remaining lanes
 * where it would without the exit. In a worker the exiting lanes jump to the block's end, and ptxas
 * may reconverge the remaining lanes only at the block's end. This matters for activemask: programs
 * rely on it to return all lanes that could be active at that place, although PTX does not
 * guarantee it. */
static bool lanes_meet(struct sync_check *c, uint32_t at)
{
	const struct cfg *g = c->g;

	for (uint32_t b = 0; b < g->n; b++) {
		uint32_t past[2] = {b, g->at[b].ipdom}, n = 0;

		if (past[1] == at || !lanes_part(c, b))
			continue;
		for (uint32_t i = 0; i < g->at[b].n_succ; i++)
			n += pass_way_leads(c->masks, g->at[b].succ[i], at, past);
		if (n > 1)
			return false;
	}
	return true;
}

/* Returns whether all lanes of a mask take the same edge at the end of block `branch`. The mask
 * contains the lanes that do not exit at the end of block `stay`. */
static bool stay_together(struct sync_check *c, uint32_t stay, uint32_t branch)
{
	if (stay == branch)
		return true;
	if (c->stay != stay) {
		bool before = c->excludes[stay], ok = c->n_staying < STAYING_MAX;

		c->n_staying++;
		c->excludes[stay] = true;
		ok = ok && cfg_uniformity(&c->facts->arena, c->g, c->assume, c->excludes,
				   &c->staying) == 0;
		c->excludes[stay] = before;
		if (!ok)
			return false;
		c->stay = stay;
	}
	return !lanes_part_under(c, c->staying, branch);
}

/* Returns the first warp operation of basic block b that may wait for lanes that diverged at
 * `branch` and exited; NULL: there is none. */
static const struct ptx_stmt *find_warp_op_at_risk(
	struct sync_check *c, uint32_t branch, uint32_t b)
{
	for (uint32_t i = c->g->at[b].first; i < c->g->at[b].end; i++) {
		const struct ptx_stmt *s = &c->g->f->body.at[i];
		uint32_t from;

		if (!holds_warp_op(c, s))
			continue;
		from = pass_mask_of_stayers(c->masks, s);
		if (from != CFG_NONE && stay_together(c, from, branch)) {
			c->named = true;
			continue;
		}
		from = pass_young_mask(c->masks, branch, s);
		if (from == CFG_NONE || !lanes_meet(c, from))
			return s;
		c->young = true;
	}
	return NULL;
}

/* Returns the first basic block after a branch that has a warp operation at risk, because not all
 * lanes reach it; CFG_NONE: there is none. */
static uint32_t find_first_risk(struct sync_check *c, uint32_t branch)
{
	uint32_t n = cfg_influence(c->g, branch, c->list, c->seen, ++c->mark), first = CFG_NONE;
	bool before = c->young;

	c->young = c->named = false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t b = c->list[i];

		if (c->u->block[b] < CFG_WARP_UNIFORM && c->holds[b] &&
			find_warp_op_at_risk(c, branch, b))
			first = MIN(first, b);
	}
	/* If masks make the operations safe, the result holds only for this branch: lanes may
	 * diverge again after the mask is computed. */
	for (uint32_t i = 0; i < n && !c->young && !c->named; i++)
		c->safe[c->list[i]] = c->mark;
	c->young |= before;
	return first;
}

/* Returns the first warp operation at risk, and in *ret_branch the block at whose end lanes diverge
 * before it. NULL: there is none. */
static const struct ptx_stmt *find_risk(struct sync_check *c, uint32_t *ret_branch)
{
	uint32_t from = c->mark;

	for (uint32_t d = 0; d < c->g->n; d++) {
		uint32_t to = c->g->at[d].ipdom, b;

		/* The influence of branch d is the set of blocks that run only on some of the paths
		 * from d. If d is itself in the influence of another branch that was checked and is
		 * without risk, then all of d's influence is in the influence of that branch, and d
		 * needs no check. */
		if (c->safe[d] > from || !lanes_part(c, d) || (to != CFG_NONE && !c->out[to]))
			continue;
		b = find_first_risk(c, d);
		*ret_branch = d;
		if (b != CFG_NONE)
			return find_warp_op_at_risk(c, d, b);
	}
	return NULL;
}

/* Returns whether s calls a function with a barrier. The same threads reach the barrier as the
 * call. The function's own code is checked separately. */
static bool call_has_barrier(struct sync_check *c, const struct ptx_stmt *s)
{
	const struct pass_callee *callee;

	if (s->kind != PTX_INSN || s->mn->op != PTX_OP_call)
		return false;
	callee = pass_called(c->facts, s);
	return callee && callee->barriers;
}

static void check_barriers(struct sync_check *c)
{
	for (uint32_t b = 0; b < c->g->n; b++)
		for (uint32_t i = c->g->at[b].first; i < c->g->at[b].end; i++) {
			const struct ptx_stmt *s = &c->g->f->body.at[i];
			uint8_t level = c->u->block[b];

			if (s->kind == PTX_INSN && s->guard != PTX_NO_REG)
				level = MIN(level, c->u->reg[s->guard]);
			if (is_barrier(s))
				check_barrier(c, s, level);
			else if (call_has_barrier(c, s) && level != CFG_BLOCK_UNIFORM)
				pass_note(c->facts, PASS_BARRIER_APART, s,
					"a call of a function with a barrier, which some threads "
					"may not reach");
		}
}

static void choose_barriers(struct sync_check *c)
{
	struct pass_facts *facts = c->facts;

	facts->barrier_ids = c->ids;
	if (c->is_parted) {
		facts->barriers = c->red ? PASS_BAR_ACTIVE_RED : PASS_BAR_ACTIVE;
		if (c->counted_0)
			pass_note(facts, PASS_BARRIER_APART, NULL,
				"barrier 0 has a thread count, and some threads may have exited "
				"before it");
		for (size_t i = 1; i < facts->callees.len; i++)
			if (facts->callees.at[i].barriers)
				pass_note(facts, PASS_BARRIER_APART, NULL,
					"barriers in a called function, and some threads may have "
					"exited before a barrier");
		return;
	}
	/* If barrier 0 has no thread count and all threads of the kernel's block reach it, the code
	 * that a pass runs between two blocks of the grid can use barrier 0, too. */
	facts->keeps_barrier_0 = c->counted_0;
}

static int prepare_check(struct sync_check *c, const struct cfg *g, bool in_callee)
{
	struct arena *a = &c->facts->arena;

	c->g = g;
	c->in_callee = in_callee;
	c->mark = 0;
	c->list = ARENA_ARRAY(a, uint32_t, g->n);
	c->seen = ARENA_ARRAY(a, uint32_t, g->n);
	c->safe = ARENA_ARRAY(a, uint32_t, g->n);
	c->out = ARENA_ARRAY(a, uint8_t, g->n);
	c->holds = ARENA_ARRAY(a, uint8_t, g->n);
	c->excludes = ARENA_ARRAY(a, bool, g->n);
	if (!c->list || !c->seen || !c->safe || !c->out || !c->holds || !c->excludes)
		return -ENOMEM;
	find_ways_out(c);
	for (uint32_t b = 0; b < g->n; b++)
		c->holds[b] = has_warp_op(c, b);
	return pass_masks_find(a, g, &c->masks);
}

/* ---- early exits ---- */

/* Returns whether the code from block `from` on has no barrier, warp operation or call, at which
 * other lanes might wait. */
static bool leads_out(struct sync_check *c, uint32_t from, uint32_t branch)
{
	const struct cfg *g = c->g;
	uint32_t n = 0;

	c->mark++;
	c->seen[branch] = c->mark;
	c->seen[from] = c->mark;
	c->list[n++] = from;
	while (n) {
		const struct cfg_block *b = &g->at[c->list[--n]];

		for (uint32_t i = b->first; i < b->end; i++) {
			const struct ptx_stmt *s = &g->f->body.at[i];

			if (s->kind == PTX_INSN &&
				(s->mn->op == PTX_OP_call ||
					s->mn->flags & (PTX_F_BARRIER | PTX_F_WARP_SYNC)))
				return false;
		}
		for (uint32_t i = 0; i < b->n_succ; i++) {
			if (c->seen[b->succ[i]] == c->mark)
				continue;
			c->seen[b->succ[i]] = c->mark;
			c->list[n++] = b->succ[i];
		}
	}
	return true;
}

/* Returns whether `branch` is an early exit: all remaining lanes of a warp reach it together, and
 * the code on one of its two edges never synchronizes again. */
static bool is_way_out(struct sync_check *c, uint32_t branch)
{
	const struct cfg_block *b = &c->g->at[branch];
	const struct ptx_stmt *s = &c->g->f->body.at[b->end - 1];

	if (c->u->block[branch] < CFG_WARP_UNIFORM || b->n_succ != 2 || s->guard == PTX_NO_REG)
		return false;
	switch (s->mn->op) {
	case PTX_OP_ret:
	case PTX_OP_exit:
		return true;
	case PTX_OP_bra:
		return leads_out(c, b->succ[0], branch) != leads_out(c, b->succ[1], branch);
	default:
		return false;
	}
}

static bool add_leave(struct sync_check *c, uint32_t branch)
{
	const struct cfg *g = c->g;
	const struct cfg_block *b = &g->at[branch];
	struct pass_leave l = {.at = b->end - 1, .taken = true};
	uint32_t next = b->end < g->f->body.len ? g->block_of[b->end] : g->exit;

	/* `taken` is false if the lanes that fall through to the next statement are the ones that
	 * exit. */
	if (g->f->body.at[l.at].mn->op == PTX_OP_bra)
		l.taken = !leads_out(c, next, branch);
	return VEC_PUSH(&c->facts->leaves, l);
}

/* Returns whether exited lanes can be removed from member masks. For this, the code must be the
 * kernel's own, and each `brx` must have a known target list. Every warp operation must have a mask
 * operand, so calls of functions with warp operations are not allowed. All threads of a block must
 * reach barriers together. */
static bool can_keep_masks(struct sync_check *c)
{
	const struct cfg *g = c->g;

	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = g->at[b].first; i < g->at[b].end; i++) {
			const struct ptx_stmt *s = &g->f->body.at[i];

			if (s->kind != PTX_INSN)
				continue;
			if (holds_warp_op(c, s) && !pass_mask_of(s))
				return false;
			if ((is_barrier(s) || call_has_barrier(c, s)) &&
				(s->guard != PTX_NO_REG || c->u->block[b] != CFG_BLOCK_UNIFORM))
				return false;
		}
	return !c->in_callee && !g->has_indirect;
}

/* Returns whether the code uses activemask. Lanes that have finished a block of the grid must not
 * appear in the result of an activemask of the next block while other lanes of the warp are still
 * in the first. So lanes must not enter the next block before the other lanes of their warp have
 * finished (masks.c). */
static bool asks_who_is_there(const struct cfg *g)
{
	for (size_t i = 0; i < g->f->body.len; i++)
		if (g->f->body.at[i].kind == PTX_INSN &&
			g->f->body.at[i].mn->op == PTX_OP_activemask)
			return true;
	return false;
}

/* Finds the early exits after which the kernel's member masks must exclude the lanes that exited,
 * since a worker keeps those lanes alive. virtualize.c emits code that keeps track of the lanes
 * that did not exit. Returns false if a warp operation is at risk for another reason. */
static bool find_leaves(struct sync_check *c)
{
	struct pass_facts *facts = c->facts;
	uint32_t n = 0, branch;
	bool ok = true;

	memset(c->excludes, 0, c->g->n * sizeof(*c->excludes));
	for (; ok; n++) {
		c->stay = CFG_NONE;
		c->young = false;
		ok = cfg_uniformity(&facts->arena, c->g, c->assume, c->excludes, &c->u) == 0;
		if (ok && !find_risk(c, &branch))
			break;
		ok = ok && n < LEAVES_MAX && is_way_out(c, branch);
		if (ok)
			c->excludes[branch] = true;
	}
	for (uint32_t b = 0; b < c->g->n && ok; b++)
		ok = !c->excludes[b] || add_leave(c, b);
	memset(c->excludes, 0, c->g->n * sizeof(*c->excludes));
	c->young |= asks_who_is_there(c->g);
	return ok;
}

/* Looks for the weakest assumption that makes the warp operations safe. It tries, in this order:
 * - no assumption
 * - one-dimensional blocks, which the launch shows
 * - a program without races
 * - a program without races, and one-dimensional blocks
 * - the same four again, with exited lanes removed from masks
 *
 * That a program has no races cannot be checked, so it is assumed only where the kernel would
 * otherwise be a guard kernel, or need such masks. */
static int check_warp_ops(struct sync_check *c)
{
	static const unsigned tries[] = {
		0, CFG_BLOCKS_1D, CFG_NO_RACES, CFG_NO_RACES | CFG_BLOCKS_1D};
	struct pass_facts *facts = c->facts;
	const struct ptx_stmt *risk = NULL;
	struct cfg_uniformity *least = NULL;
	bool safe = false;
	uint32_t branch;

	for (size_t i = 0; i < 2 * ARRAY_LEN(tries) && !safe; i++) {
		c->assume = tries[i % ARRAY_LEN(tries)];
		c->stay = CFG_NONE;
		c->young = false;
		if (i < ARRAY_LEN(tries)) {
			int r = cfg_uniformity(&facts->arena, c->g, c->assume, NULL, &c->u);

			if (r < 0)
				return r;
			least = least ? least : c->u;
			risk = find_risk(c, &branch);
			safe = !risk;
		} else {
			c->u = least;
			safe = can_keep_masks(c) && find_leaves(c);
			c->u = least;
		}
	}
	if (safe) {
		facts->one_dimensional |= (c->assume & CFG_BLOCKS_1D) != 0;
		facts->gathers |= c->young;
	} else {
		c->u = least;
		pass_note(facts, PASS_LANES_LEFT, risk,
			"some lanes of the warp may have exited before %s", risk->mn->text);
	}
	if (!c->in_callee)
		facts->u = least;
	return 0;
}

static int check_func(struct sync_check *c, const struct cfg *g, bool in_callee)
{
	int r = prepare_check(c, g, in_callee);

	if (r == 0)
		r = check_warp_ops(c);
	if (r == 0)
		check_barriers(c);
	return r;
}

int pass_check_sync(struct pass_facts *facts)
{
	struct sync_check c = {.facts = facts};
	int r = check_func(&c, facts->g, false);

	for (size_t i = 1; r == 0 && i < facts->callees.len; i++) {
		struct cfg *g;

		if (!facts->callees.at[i].barriers && !facts->callees.at[i].warp_ops)
			continue;
		r = cfg_build(&facts->arena, facts->callees.at[i].f, &g);
		if (r == 0)
			r = check_func(&c, g, true);
	}
	if (r == 0)
		choose_barriers(&c);
	return r;
}

/* Notes the trait PASS_SPINS_DEEP of kernels that call a function that spins. After such a call
 * ptxas wrongly assumes whole warps. Before barriers of the kernel itself, and before barriers that
 * passes add, passes emit UNSEEN_WARP (emit.h) for this reason. But warp operations, and barriers
 * in callees, stay unchanged. So a kernel with such operations or barriers gets the guard form, in
 * which they are right if they are right in the original kernel. */
void pass_check_spins(struct pass_facts *facts)
{
	for (size_t i = 0; facts->calls_spin && i < facts->callees.len; i++) {
		const struct ptx_func *f = facts->callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			const struct ptx_stmt *s = &f->body.at[k];

			if (s->kind != PTX_INSN)
				continue;
			if (s->mn->flags & PTX_F_WARP_SYNC || (i > 0 && is_barrier(s)))
				pass_note(facts, PASS_SPINS_DEEP, s,
					"%s, in a kernel that calls a function with a loop of "
					"atomic operations",
					s->mn->text);
		}
	}
}
