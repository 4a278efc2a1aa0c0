/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds kernels whose blocks may wait for other blocks. Such a kernel has a loop that repeats
 * without changing anything but the values it loads, and that exits depending on a loaded value.
 *
 * For each exit of each natural loop, the analysis takes the backward slice of the exit's predicate
 * within the loop. Some registers of the slice depend on themselves: an induction variable, a
 * pointer that walks a list, a bound that is halved. Where such a register is written, the loop
 * makes progress. The loop waits if both are true:
 * - the slice contains a load or an atomic on global or generic memory
 * - the loop can return to that exit without making progress
 *
 * Ordinary loops are not reported. A bound that is loaded before the loop is outside the slice. A
 * bound that is loaded inside the loop is compared with a register that makes progress.
 *
 * The slice is taken twice, first by data dependence only, then with control dependence, too. The
 * second slice is needed because a counter that advances only after a flag was seen has no load in
 * its operands. In the second slice, writing a constant also counts as progress if it is the only
 * value that the loop writes to that register: a loop that sets "found = true" does so in order to
 * end. */
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAYS_MAX 256 /* maximum number of blocks with exits; a loop with more is assumed to wait */

struct def {
	uint32_t reg, stmt;
};

/* A control dependence: the branch at the end of basic block `by` decides whether `block` runs. */
struct control {
	uint32_t block, by;
};

struct search {
	struct pass_facts *facts;
	const struct cfg *g;
	struct def *defs; /* sorted by register */
	size_t n_defs, cap_defs;
	uint8_t *in_loop;                   /* for each block */
	uint8_t *in_slice, *state, *copies; /* for each register */
	uint32_t *stack;                    /* worklist of registers or blocks */
	uint8_t *progress, *seen;           /* for each block */
	/* by basic block: whether the slice contains the conditions under which the block runs */
	uint8_t *decided;
	VEC(uint32_t) slice;
	VEC(uint32_t) loop; /* the loop's blocks, with the header first */
	/* blocks of the loop that have an exit, sorted; at most WAYS_MAX + 1 */
	VEC(uint32_t) ways;
	bool sorted;                  /* `loop` has been sorted */
	VEC(struct control) controls; /* sorted by block */
	/* true once `controls` is filled, which the first loop that needs it does */
	bool has_controls;
	struct cfg_spans *spans; /* NULL until a loop first needs it */
	/* by register: 1 + the header of the loop for which is_carried computed carried[]; any
	 * other number means that carried[] is not known for the present loop */
	uint32_t *asked;
	uint8_t *carried; /* the computed result for each register */
	uint32_t header;
	bool any_space;  /* volatile and atomic accesses to shared memory also count */
	bool by_control; /* the slice includes control dependences */
	bool loads, observes;
	const struct ptx_stmt *load;     /* the first load in the slice, if `loads` is true */
	const struct ptx_stmt *waits_at; /* the load of the value that the loop waits for */
	/* True if the slice loads from shared memory. Then stores to shared memory belong to the
	 * slice, too. */
	bool by_shared;
	/* True if the slice contains stores to shared memory. Then a load counts only if it is
	 * volatile or atomic. */
	bool via_shared;
	uint32_t stmt;
	int error;
};

static void note_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct search *s = user;

	if (!(role & PTX_DEF) || s->error)
		return;
	if (!vec_grow((void **)&s->defs, &s->cap_defs, s->n_defs, sizeof(*s->defs)))
		s->error = -ENOMEM;
	else
		s->defs[s->n_defs++] = (struct def){reg, s->stmt};
}

static int by_reg(const void *a, const void *b)
{
	const struct def *x = a, *y = b;

	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	return x->stmt < y->stmt ? -1 : x->stmt != y->stmt;
}

static size_t first_def(const struct search *s, uint32_t reg)
{
	size_t lo = 0, hi = s->n_defs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->defs[mid].reg < reg)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void add_to_slice(struct search *s, uint32_t reg)
{
	if (s->in_slice[reg] || s->error)
		return;
	s->in_slice[reg] = 1;
	if (!VEC_PUSH(&s->slice, reg))
		s->error = -ENOMEM;
}

static void add_use(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	if (role & PTX_USE)
		add_to_slice(user, reg);
}

/* Returns whether st atomically adds a positive constant (takes a ticket), so that its result
 * differs each time. */
static bool draws_number(const struct ptx_stmt *st)
{
	return st->mn->op == PTX_OP_atom && ptx_has_mod(st->mn, "add") && st->n > 2 &&
	       st->opd[2].kind == PTX_OPD_IMM && st->opd[2].has_value &&
	       (int64_t)st->opd[2].value > 0;
}

static void note_load(struct search *s, const struct ptx_stmt *st)
{
	uint32_t flags = st->mn->flags;
	bool observes;

	if (st->mn->op == PTX_OP_call) {
		const struct pass_callee *c = pass_called(s->facts, st);

		if (!c || c->observes) {
			s->loads = s->observes = true;
			s->load = s->load ? s->load : st;
		}
		return;
	}
	if (st->mn->space == PTX_SHARED && flags & (PTX_F_READS_MEM | PTX_F_ATOMIC))
		s->by_shared = true;
	observes = (flags & (PTX_F_VOLATILE | PTX_F_ATOMIC)) != 0;
	if (!(flags & (PTX_F_READS_MEM | PTX_F_ATOMIC)) ||
		(st->mn->space != PTX_GENERIC && st->mn->space != PTX_GLOBAL &&
			!(s->any_space && observes)) ||
		(s->via_shared && draws_number(st)))
		return;
	if (!s->load && (observes || !s->via_shared))
		s->load = st;
	s->loads |= observes || !s->via_shared;
	s->observes |= observes;
}

static void clear_slice(struct search *s)
{
	for (size_t i = 0; i < s->slice.len; i++)
		s->in_slice[s->slice.at[i]] = 0;
	s->slice.len = 0;
	s->loads = s->observes = s->by_shared = s->via_shared = false;
	s->load = NULL;
}

/* Clears the entries of the loop's blocks. No other entries are ever set. */
static void clear_blocks(const struct search *s, uint8_t *of_blocks)
{
	for (size_t i = 0; i < s->loop.len; i++)
		of_blocks[s->loop.at[i]] = 0;
}

static int by_block(const void *a, const void *b)
{
	const struct control *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->by < y->by ? -1 : x->by != y->by;
}

/* Computes control dependence. A branch decides, for each of its edges, whether the blocks between
 * the edge and the branch's post-dominator run. */
static void find_controls(struct search *s)
{
	const struct cfg *g = s->g;
	/* for each block: the last branch that was found to decide it, from 1 */
	uint32_t *last = calloc(g->n + 1u, sizeof(*last));

	s->has_controls = true;
	s->error = last ? s->error : -ENOMEM;
	for (uint32_t by = 0; last && by < g->n; by++) {
		const struct cfg_block *from = &g->at[by];

		if (from->n_succ < 2 || from->order == CFG_NONE)
			continue;
		for (uint32_t i = 0; i < from->n_succ; i++) {
			/* If an earlier edge of this branch has reached b, the rest of its path is
			 * recorded, too. */
			for (uint32_t b = from->succ[i];
				b != CFG_NONE && b != from->ipdom && last[b] != by + 1;
				b = g->at[b].ipdom) {
				struct control c = {b, by};

				last[b] = by + 1;
				if (!VEC_PUSH(&s->controls, c))
					s->error = -ENOMEM;
			}
		}
	}
	free(last);
	if (s->controls.len && !s->error)
		qsort(s->controls.at, s->controls.len, sizeof(s->controls.at[0]), by_block);
}

static size_t first_control(const struct search *s, uint32_t block)
{
	size_t lo = 0, hi = s->controls.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->controls.at[mid].block < block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Adds to the slice the conditions within the loop under which a basic block runs. */
static void add_control(struct search *s, uint32_t block)
{
	uint32_t depth = 0;

	if (!s->by_control || s->decided[block])
		return;
	s->decided[block] = 1;
	s->stack[depth++] = block;
	while (depth && !s->error) {
		uint32_t b = s->stack[--depth];

		for (size_t i = first_control(s, b);
			i < s->controls.len && s->controls.at[i].block == b; i++) {
			uint32_t by = s->controls.at[i].by;

			if (!s->in_loop[by])
				continue;
			ptx_visit_regs(
				s->g->f, &s->g->f->body.at[s->g->at[by].end - 1], add_use, s);
			if (!s->decided[by]) {
				s->decided[by] = 1;
				s->stack[depth++] = by;
			}
		}
	}
}

static void add_stmt(struct search *s, uint32_t at)
{
	const struct ptx_stmt *st = &s->g->f->body.at[at];

	note_load(s, st);
	ptx_visit_regs(s->g->f, st, add_use, s);
	add_control(s, s->g->block_of[at]);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x != y;
}

/* Adds to the slice the loop's statements that store to shared memory, because a thread may set a
 * flag there for other threads. */
static void add_shared_stores(struct search *s)
{
	if (!s->sorted)
		qsort(s->loop.at, s->loop.len, sizeof(s->loop.at[0]), by_number);
	s->sorted = true;
	for (size_t i = 0; i < s->loop.len; i++) {
		uint32_t b = s->loop.at[i];

		for (uint32_t at = s->g->at[b].first; at < s->g->at[b].end; at++) {
			const struct ptx_stmt *st = &s->g->f->body.at[at];

			if (st->kind == PTX_INSN && st->mn->space == PTX_SHARED &&
				st->mn->flags & PTX_F_WRITES_MEM)
				add_stmt(s, at);
		}
	}
}

/* Computes the slice, within the loop, of the branch at the end of a basic block. */
static void find_slice(struct search *s, uint32_t block)
{
	clear_slice(s);
	clear_blocks(s, s->decided);
	ptx_visit_regs(s->g->f, &s->g->f->body.at[s->g->at[block].end - 1], add_use, s);
	add_control(s, block);
	for (size_t i = 0; i < s->slice.len && !s->error; i++) {
		uint32_t reg = s->slice.at[i];

		for (size_t d = first_def(s, reg); d < s->n_defs && s->defs[d].reg == reg; d++) {
			if (s->in_loop[s->g->block_of[s->defs[d].stmt]])
				add_stmt(s, s->defs[d].stmt);
		}
		if (s->by_control && s->by_shared && !s->via_shared) {
			s->via_shared = true;
			add_shared_stores(s);
		}
	}
}

/* Returns whether the register carries a value from one iteration to the next. Other registers are
 * recomputed in each iteration. */
static bool is_carried(struct search *s, uint32_t reg)
{
	if (!s->spans && !s->error)
		s->error = cfg_spans_find(s->g, &s->spans);
	if (s->error)
		return false;
	if (s->asked[reg] != s->header + 1) {
		s->asked[reg] = s->header + 1;
		s->carried[reg] = cfg_live_in(s->spans, reg, s->header);
	}
	return s->carried[reg];
}

struct reach {
	struct search *s;
	uint32_t target, depth;
	bool hit;
};

static void follow_use(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct reach *r = user;

	if (!(role & PTX_USE))
		return;
	r->hit |= reg == r->target;
	if (!r->s->state[reg] && r->s->in_slice[reg]) {
		r->s->state[reg] = 1;
		r->s->stack[r->depth++] = reg;
	}
}

/* Returns whether a register's new value in the loop depends on its old one. */
static bool depends_on_itself(struct search *s, uint32_t reg)
{
	struct reach r = {s, reg, 0, false};

	for (size_t i = 0; i < s->slice.len; i++)
		s->state[s->slice.at[i]] = 0;
	s->stack[r.depth++] = reg;
	while (r.depth && !r.hit) {
		uint32_t at = s->stack[--r.depth];

		for (size_t d = first_def(s, at); d < s->n_defs && s->defs[d].reg == at; d++)
			if (s->in_loop[s->g->block_of[s->defs[d].stmt]])
				ptx_visit_regs(s->g->f, &s->g->f->body.at[s->defs[d].stmt],
					follow_use, &r);
	}
	return r.hit;
}

static void note_use(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	bool *uses = user;

	*uses |= (role & PTX_USE) != 0;
}

/* Returns whether the loop writes a single constant to the register, once. */
static bool is_set_once(const struct search *s, uint32_t reg)
{
	unsigned n = 0;
	bool uses = false;

	for (size_t d = first_def(s, reg); d < s->n_defs && s->defs[d].reg == reg; d++) {
		const struct ptx_stmt *st = &s->g->f->body.at[s->defs[d].stmt];

		if (!s->in_loop[s->g->block_of[s->defs[d].stmt]])
			continue;
		n++;
		uses |= st->mn->op != PTX_OP_mov;
		ptx_visit_regs(s->g->f, st, note_use, &uses);
	}
	return n == 1 && !uses;
}

/* Returns whether st only copies another register that holds the carried value, the value that goes
 * from one iteration to the next. If the slice has an atomic or volatile access, a selp counts as a
 * copy, too, because then other threads can decide which value the selp chooses. */
static bool copies_carried(const struct search *s, const struct ptx_stmt *st)
{
	unsigned n = st->mn->op == PTX_OP_mov                   ? 2
		     : s->observes && st->mn->op == PTX_OP_selp ? 3
								: 0;

	for (unsigned i = 1; i < MIN(n, st->n); i++) {
		if (st->opd[i].kind == PTX_OPD_REG && s->copies[st->opd[i].reg])
			return true;
	}
	return false;
}

/* Marks the registers that may hold the value that register `carried` had at the iteration's
 * beginning. */
static void find_copies(struct search *s, uint32_t carried)
{
	bool more = true;

	for (size_t i = 0; i < s->slice.len; i++)
		s->copies[s->slice.at[i]] = 0;
	s->copies[carried] = 1;
	while (more) {
		more = false;
		for (size_t i = 0; i < s->slice.len; i++) {
			uint32_t reg = s->slice.at[i];

			for (size_t d = first_def(s, reg);
				d < s->n_defs && s->defs[d].reg == reg && !s->copies[reg]; d++) {
				if (s->in_loop[s->g->block_of[s->defs[d].stmt]] &&
					copies_carried(s, &s->g->f->body.at[s->defs[d].stmt]))
					s->copies[reg] = more = true;
			}
		}
	}
}

/* Marks the blocks that change the value carried around the loop. */
static bool mark_changes(struct search *s, uint32_t carried)
{
	bool any = false;

	find_copies(s, carried);
	for (size_t i = 0; i < s->slice.len; i++) {
		uint32_t reg = s->slice.at[i];

		for (size_t d = first_def(s, reg);
			s->copies[reg] && d < s->n_defs && s->defs[d].reg == reg; d++) {
			uint32_t at = s->defs[d].stmt;
			const struct ptx_stmt *st = &s->g->f->body.at[at];

			if (!s->in_loop[s->g->block_of[at]] || st->guard != PTX_NO_REG ||
				copies_carried(s, st))
				continue;
			s->progress[s->g->block_of[at]] = 1;
			any = true;
		}
	}
	return any;
}

/* Marks the basic blocks that make progress, and returns whether there are any. A guarded write
 * does not count, because it may not happen. */
static bool mark_progress(struct search *s)
{
	bool any = false;

	clear_blocks(s, s->progress);
	for (size_t i = 0; i < s->slice.len && !s->error; i++) {
		uint32_t reg = s->slice.at[i];

		if (is_carried(s, reg) &&
			(depends_on_itself(s, reg) || (s->by_control && is_set_once(s, reg))))
			any |= mark_changes(s, reg);
	}
	return any;
}

/* Returns whether control can go from a basic block through the loop back to that block without
 * making progress. */
static bool goes_round(struct search *s, uint32_t block)
{
	uint32_t depth = 0;

	if (s->progress[block])
		return false;
	clear_blocks(s, s->seen);
	s->stack[depth++] = block;
	while (depth) {
		const struct cfg_block *b = &s->g->at[s->stack[--depth]];

		for (uint32_t i = 0; i < b->n_succ; i++) {
			uint32_t to = b->succ[i];

			if (to == block)
				return true;
			if (s->in_loop[to] && !s->progress[to] && !s->seen[to]) {
				s->seen[to] = 1;
				s->stack[depth++] = to;
			}
		}
	}
	return false;
}

static bool is_way_out(const struct search *s, uint32_t b)
{
	const struct cfg_block *blk = &s->g->at[b];

	if (blk->n_succ < 2)
		return false;
	for (uint32_t i = 0; i < blk->n_succ; i++)
		if (!s->in_loop[blk->succ[i]])
			return true;
	return false;
}

/* Returns whether the loop has an exit that does not depend on loaded values and is certain to be
 * taken in the end. */
static bool is_bounded(struct search *s)
{
	s->by_control = false;
	for (size_t i = 0; i < s->ways.len && !s->error; i++) {
		uint32_t b = s->ways.at[i];

		find_slice(s, b);
		if (!s->loads && mark_progress(s) && !goes_round(s, b))
			return true;
	}
	return false;
}

static bool loop_waits(struct search *s, bool by_control)
{
	bool plain = false;

	s->waits_at = NULL;
	/* A loop with very many exits counts as waiting, without analysis. The slices of its exits
	 * are nearly the same, so examining them all would take quadratic time. */
	if (s->ways.len > WAYS_MAX)
		return true;
	s->by_control = by_control;
	if (by_control && !s->has_controls)
		find_controls(s);
	for (size_t i = 0; i < s->ways.len && !s->error; i++) {
		uint32_t b = s->ways.at[i];

		find_slice(s, b);
		if (!s->loads)
			continue;
		mark_progress(s);
		if (!goes_round(s, b))
			continue;
		if (!plain || s->observes)
			s->waits_at = s->load;
		if (s->observes)
			return true;
		plain = true;
	}
	return plain && !is_bounded(s);
}

/* Returns whether the loop may wait for a thread of its own block, also through shared memory. */
static bool loop_waits_in_block(struct search *s)
{
	bool waits;

	s->any_space = true;
	waits = loop_waits(s, false) || loop_waits(s, true);
	s->any_space = false;
	return waits;
}

/* Returns whether the loop contains an atomic or volatile access. For such a loop ptxas 13.0 emits
 * YIELD, so lanes that leave the loop may run on while others remain in it. So the warp may not be
 * whole after the loop (emit.h). */
static bool loop_spins(const struct search *s)
{
	for (size_t i = 0; i < s->loop.len; i++) {
		const struct cfg_block *b = &s->g->at[s->loop.at[i]];

		for (uint32_t at = b->first; at < b->end; at++) {
			const struct ptx_stmt *st = &s->g->f->body.at[at];
			const struct pass_callee *c;

			if (st->kind != PTX_INSN)
				continue;
			if (st->mn->flags & (PTX_F_VOLATILE | PTX_F_ATOMIC))
				return true;
			c = st->mn->op == PTX_OP_call ? pass_called(s->facts, st) : NULL;
			if (st->mn->op == PTX_OP_call && (!c || c->observes))
				return true;
		}
	}
	return false;
}

static void add_to_loop(struct search *s, uint32_t block)
{
	if (s->in_loop[block] || s->g->at[block].order == CFG_NONE || s->error)
		return;
	s->in_loop[block] = 1;
	if (!VEC_PUSH(&s->loop, block))
		s->error = -ENOMEM;
}

static void find_ways_out(struct search *s)
{
	s->ways.len = 0;
	for (size_t i = 0; i < s->loop.len && s->ways.len <= WAYS_MAX && !s->error; i++)
		if (is_way_out(s, s->loop.at[i]) && !VEC_PUSH(&s->ways, s->loop.at[i]))
			s->error = -ENOMEM;
	if (s->ways.len)
		qsort(s->ways.at, s->ways.len, sizeof(s->ways.at[0]), by_number);
}

/* Collects the basic blocks of the natural loop of a header. Returns false if the block is not a
 * loop header. */
static bool find_loop(struct search *s, uint32_t header)
{
	const struct cfg *g = s->g;

	clear_blocks(s, s->in_loop);
	s->loop.len = 0;
	s->sorted = false;
	s->header = header;
	if (g->at[header].order == CFG_NONE)
		return false;
	for (uint32_t i = 0; i < g->at[header].n_pred; i++) {
		uint32_t latch = g->at[header].pred[i];

		if (g->at[latch].order == CFG_NONE || !cfg_dominates(g, header, latch))
			continue;
		add_to_loop(s, header);
		add_to_loop(s, latch);
	}
	/* Walks backwards from the latches. The loop's other blocks are entered through the header
	 * only, so the walk stops at the header. */
	for (size_t i = 1; i < s->loop.len && !s->error; i++) {
		const struct cfg_block *b = &g->at[s->loop.at[i]];

		for (uint32_t k = 0; k < b->n_pred; k++)
			add_to_loop(s, b->pred[k]);
	}
	find_ways_out(s);
	return s->loop.len > 0;
}

/* Searches one function for loops that wait or spin. A callee counts as spinning if it has any
 * loop, and an atomic or volatile access anywhere. */
static int search_func(struct pass_facts *facts, const struct cfg *g, bool observes, bool is_entry)
{
	struct search s = {.facts = facts, .g = g};
	size_t regs = g->f->regs.len;
	bool found = g->irreducible && observes;
	bool spins = found, waits = found;

	s.in_loop = calloc(g->n, 1);
	s.progress = calloc(g->n, 1);
	s.seen = calloc(g->n, 1);
	s.decided = calloc(g->n, 1);
	s.in_slice = calloc(regs + 1, 1);
	s.state = calloc(regs + 1, 1);
	s.asked = calloc(regs + 1, sizeof(*s.asked));
	s.carried = calloc(regs + 1, 1);
	s.copies = calloc(regs + 1, 1);
	s.stack = calloc(MAX((size_t)g->n, regs) + 1, sizeof(*s.stack));
	if (!s.in_loop || !s.progress || !s.seen || !s.decided || !s.in_slice || !s.state ||
		!s.copies || !s.asked || !s.carried || !s.stack)
		s.error = -ENOMEM;
	for (s.stmt = 0; s.stmt < g->f->body.len && !s.error; s.stmt++)
		ptx_visit_regs(g->f, &g->f->body.at[s.stmt], note_def, &s);
	if (s.n_defs)
		qsort(s.defs, s.n_defs, sizeof(*s.defs), by_reg);
	for (uint32_t b = 0; b < g->n && !(found && spins == observes) && !s.error; b++) {
		if (!find_loop(&s, b))
			continue;
		if (!found && (loop_waits(&s, false) || loop_waits(&s, true))) {
			found = true;
			if (!facts->waits_at)
				facts->waits_at = s.waits_at;
		}
		spins = spins || (observes && (!is_entry || loop_spins(&s)));
		waits = waits || found || (observes && loop_spins(&s) && loop_waits_in_block(&s));
	}
	facts->rising_order |= found;
	facts->waits |= waits || found;
	*(is_entry ? &facts->spins : &facts->calls_spin) |= spins;
	cfg_spans_free(s.spans);
	VEC_FREE(&s.slice);
	VEC_FREE(&s.loop);
	VEC_FREE(&s.ways);
	VEC_FREE(&s.controls);
	free(s.defs);
	free(s.in_loop);
	free(s.progress);
	free(s.seen);
	free(s.decided);
	free(s.in_slice);
	free(s.state);
	free(s.asked);
	free(s.carried);
	free(s.copies);
	free(s.stack);
	return s.error;
}

int pass_find_rising(struct pass_facts *facts)
{
	int r = search_func(facts, facts->g, facts->callees.at[0].observes, true);

	for (size_t i = 1; r == 0 && i < facts->callees.len; i++) {
		struct cfg *g;

		/* ptxas may place a YIELD in a callee with atomic or volatile accesses, even if the
		 * callee has no loop. */
		facts->spins |= facts->callees.at[i].observes;
		r = cfg_build(&facts->arena, facts->callees.at[i].f, &g);
		if (r == 0)
			r = search_func(facts, g, facts->callees.at[i].observes, false);
	}
	return r;
}
