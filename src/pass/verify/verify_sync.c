/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks barriers: their numbers and thread counts in the rewritten code, and which threads reach
 * them. verify_flow.c checks that barriers come in the order of the original kernel. */
#include "pass/verify/verify_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_barrier(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->flags & PTX_F_BARRIER &&
	       s->mn->op != PTX_OP_barrier_cluster;
}

static unsigned number_at(const struct ptx_stmt *s)
{
	return ptx_has_mod(s->mn, "red") ? 1 : 0;
}

/* Returns the barrier's thread count; NULL: all threads of the block. */
static const struct ptx_opd *count_of(const struct ptx_stmt *s)
{
	unsigned red = number_at(s);

	return s->n > 1 + 2 * red ? &s->opd[1 + red] : NULL;
}

static bool is_imm(const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_IMM && o->has_value;
}

static bool is_aligned(const struct ptx_stmt *s)
{
	return s->mn->op == PTX_OP_bar || ptx_has_mod(s->mn, "aligned");
}

static void wrong(struct verify_pair *p, uint32_t at, const char *why)
{
	verify_tell(p, PASS_RULE_BARRIERS, at, p->of[at], "`%s` replaces `%s`: %s",
		verify_text(p, p->q, at), verify_text(p, p->p, p->of[at]), why);
}

/* ---- checking one barrier ---- */
static void same_number(
	struct verify_pair *p, uint32_t at, const struct ptx_stmt *s, const struct ptx_stmt *plain)
{
	const struct ptx_opd *a = &plain->opd[number_at(plain)], *b = &s->opd[number_at(s)];
	uint8_t *now;

	p->g->has_barriers = true;
	if (!is_imm(a) || !is_imm(b)) {
		verify_operand(p, a, b, at);
		return;
	}
	now = &p->g->barrier[a->value & 15];
	if (*now == 255)
		*now = (uint8_t)b->value;
	if (*now != b->value || (!p->v->r->form && a->value != b->value))
		wrong(p, at, "it has another barrier number");
	for (unsigned i = 0; i < 16; i++)
		if (i != a->value && p->g->barrier[i] == b->value)
			wrong(p, at, "two barriers of the kernel have the same number");
}

/* Returns whether the rewritten code has extra lanes that fill up the last warp of the kernel's
 * block. */
static bool has_fillers(const struct verify_pair *p)
{
	const uint32_t *b = p->g->from->block;

	return p->v->r->form && (b[0] * b[1] * b[2]) % 32 &&
	       memcmp(b, p->v->r->form->block, sizeof(p->v->r->form->block)) != 0;
}

static void same_count(
	struct verify_pair *p, uint32_t at, const struct ptx_stmt *s, const struct ptx_stmt *plain)
{
	const struct ptx_opd *a = count_of(plain), *b = count_of(s);

	if (a && has_fillers(p))
		wrong(p, at, "it counts lanes that the kernel's block does not have");
	else if (a && b)
		verify_operand(p, a, b, at);
	else if (a)
		wrong(p, at, "its thread count is missing");
	else if (b && (!is_imm(b) || !p->v->r->form || b->value != p->g->threads))
		wrong(p, at, "it does not count the threads of the kernel's block");
}

static bool has_all_mods(const struct ptx_mnem *of, const struct ptx_mnem *in)
{
	for (unsigned i = 0; i < of->n_mods; i++)
		if (strcmp(of->mods[i], "aligned") != 0 && !ptx_has_mod(in, of->mods[i]))
			return false;
	return true;
}

/* Compares the operands of a barrier reduction whose result goes through memory (rounds.c). */
static void same_reduction(
	struct verify_pair *p, uint32_t from, uint32_t end, const struct ptx_stmt *plain)
{
	const struct ptx_stmt *first = &p->q->body.at[from], *last = &p->q->body.at[end - 1];

	if (first->kind != PTX_INSN || first->mn->op != PTX_OP_selp || !last->n) {
		wrong(p, from, "its operand is not read");
		return;
	}
	if (verify_operand(p,
		    &(struct ptx_opd){.kind = PTX_OPD_REG, .reg = plain->opd[plain->n - 1].reg},
		    &(struct ptx_opd){.kind = PTX_OPD_REG, .reg = first->opd[3].reg}, from))
		verify_operand(p, &plain->opd[0], &last->opd[0], end - 1);
}

void verify_barrier(struct verify_pair *p, uint32_t from, uint32_t end)
{
	const struct ptx_stmt *plain = &p->p->body.at[p->of[from]], *s;
	bool reduces = ptx_has_mod(plain->mn, "red");
	uint32_t at = NONE;

	for (uint32_t i = from; i < end; i++)
		if (is_barrier(&p->q->body.at[i])) {
			if (at != NONE)
				wrong(p, i, "there are two barriers in place of one");
			at = i;
		}
	if (!is_barrier(plain))
		return; /* a barrier of a cluster, which passes do not change */
	if (at == NONE) {
		wrong(p, from, "it is none");
		return;
	}
	s = &p->q->body.at[at];
	if (!verify_reg(p, plain->guard, s->guard, at))
		return;
	same_number(p, at, s, plain);
	same_count(p, at, s, plain);
	if (reduces && !ptx_has_mod(s->mn, "red")) {
		same_reduction(p, from, end, plain);
		return;
	}
	if (!has_all_mods(plain->mn, s->mn) || !has_all_mods(s->mn, plain->mn)) {
		wrong(p, at, "of another kind");
		return;
	}
	if (reduces && verify_operand(p, &plain->opd[0], &s->opd[0], at))
		verify_operand(p, &plain->opd[plain->n - 1], &s->opd[s->n - 1], at);
}

/* ---- code that follows a kernel ---- */
/* Marks basic blocks of the entry:
 * - 2 if code of the kernel can run before the block, so that all of the block can follow that code
 * - 1 if the block contains code of the kernel, but 2 does not apply
 * - 0 for all other blocks */
static uint8_t *find_blocks_behind(const struct verify_pair *p)
{
	const struct cfg *g = p->v->host;
	uint8_t *behind = arena_zalloc(&p->v->arena, g->n);
	bool changed = behind != NULL;

	p->v->failed |= !behind;
	for (uint32_t i = 0; behind && i < p->q->body.len; i++)
		if (p->of[i] != NONE)
			behind[g->block_of[i]] = 1;
	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < g->n; b++)
			for (uint32_t i = 0; behind[b] && i < g->at[b].n_succ; i++) {
				changed |= behind[g->at[b].succ[i]] != 2;
				behind[g->at[b].succ[i]] = 2;
			}
	}
	return behind;
}

/* Returns a statement that can run after code of the kernel and that is one of these: a statement
 * of another kernel, or a barrier that no kernel has. Returns NONE if there is none. */
static uint32_t find_behind(const struct verify_pair *p)
{
	const struct cfg *g = p->v->host;
	const uint8_t *behind = find_blocks_behind(p);

	for (uint32_t b = 0; behind && b < g->n; b++) {
		bool after = behind[b] == 2;

		for (uint32_t i = g->at[b].first; behind[b] && i < g->at[b].end; i++) {
			const struct verify_pair *by = verify_owner(p->v, i);

			after |= by == p;
			if (after && by != p && (by || is_barrier(&p->q->body.at[i])))
				return i;
		}
	}
	return NONE;
}

/* Reports code that follows a kernel whose threads may have exited. */
static void look_behind(struct verify_pair *p)
{
	uint32_t at = find_behind(p);

	if (at != NONE)
		verify_tell(p, PASS_RULE_BARRIERS, at, NONE,
			"`%s` comes after the kernel, some of whose threads have exited",
			verify_text(p, p->q, at));
}

/* Returns whether the kernel ends only after its last statement, and the entry ends there, too. */
static bool ends_as_it_did(const struct verify_pair *p)
{
	for (size_t i = 0; i < p->p->body.len; i++) {
		const struct ptx_stmt *s = &p->p->body.at[i];

		if (s->kind == PTX_INSN && (s->mn->op == PTX_OP_ret || s->mn->op == PTX_OP_exit))
			return false;
	}
	return find_behind(p) == NONE;
}

/* Reports aligned barriers of a kernel at which lanes of a warp may arrive separately. Lanes may do
 * so if the kernel's code stands among other code. They do not if the kernel's body runs once and
 * ends as in the original kernel; such a body is not checked. */
void verify_forms(struct verify_pair *p)
{
	if (!p->entry || p->leaves || (!p->v->r->form && !p->again) ||
		(p->v->r->form && ends_as_it_did(p)))
		return;
	for (uint32_t i = 0; i < p->q->body.len; i++)
		if (p->of[i] != NONE && is_barrier(&p->q->body.at[i]) &&
			is_aligned(&p->q->body.at[i]))
			wrong(p, i, "it is .aligned, but the lanes of a warp may arrive diverged");
}

/* ---- which threads reach which code ---- */
struct range {
	uint32_t first, end;
};

/* Returns whether `at` is "@p bra" and p means that the thread's number is at least n, where n is a
 * multiple of the warp size. *ret_n gets n. */
static bool compares_tid(const struct cfg *g, uint32_t at, uint32_t *ret_n)
{
	const struct ptx_stmt *s = &g->f->body.at[at], *w;

	if (s->guard == PTX_NO_REG || s->guard_negated || s->mn->op != PTX_OP_bra)
		return false;
	w = verify_written(g, at, s->guard);
	if (w && w->mn->op == PTX_OP_vote && ptx_has_mod(w->mn, "any") &&
		w->opd[1].kind == PTX_OPD_REG && !w->opd[1].negated)
		w = verify_written(g, (uint32_t)(w - g->f->body.at), w->opd[1].reg);
	if (!w || w->mn->op != PTX_OP_setp || w->mn->cmp != PTX_GE || w->n != 3 ||
		w->opd[1].kind != PTX_OPD_REG || !is_imm(&w->opd[2]) || w->opd[2].value % 32)
		return false;
	*ret_n = (uint32_t)w->opd[2].value;
	w = verify_written(g, (uint32_t)(w - g->f->body.at), w->opd[1].reg);
	return w && w->mn->op == PTX_OP_mov && w->opd[1].kind == PTX_OPD_SPECIAL &&
	       w->opd[1].value == PTX_SR_TID_X;
}

static bool widen(struct range *to, struct range by)
{
	struct range was = *to;

	if (by.first >= by.end)
		return false;
	if (to->first >= to->end)
		*to = by;
	else
		*to = (struct range){MIN(to->first, by.first), MAX(to->end, by.end)};
	return to->first != was.first || to->end != was.end;
}

/* Returns the range of threads that reach basic block b and continue along its edge i. */
static struct range range_of_way(const struct cfg *g, const struct range *r, uint32_t b, uint32_t i)
{
	const struct cfg_block *blk = &g->at[b];
	struct range to = r[b];
	uint32_t n = 0;

	if (blk->n_succ != 2 || !compares_tid(g, blk->end - 1, &n))
		return to;
	if (i == 0)
		to.first = MAX(to.first, n);
	else
		to.end = MIN(to.end, n);
	return to;
}

static bool pass_on(const struct cfg *g, struct range *r, uint32_t b)
{
	bool changed = false;

	for (uint32_t i = 0; i < g->at[b].n_succ; i++)
		changed |= widen(&r[g->at[b].succ[i]], range_of_way(g, r, b, i));
	return changed;
}

static uint32_t all_threads(const struct verify *v)
{
	const uint32_t *b = v->r->form->block;

	return b[0] * b[1] * b[2];
}

/* Returns whether threads that reach basic block b only exit from there: they meet no barrier and
 * no code of a kernel. */
static bool only_leaves(struct verify *v, uint32_t b, const uint8_t *leaves)
{
	const struct cfg_block *blk = &v->host->at[b];

	for (uint32_t i = blk->first; i < blk->end; i++)
		if (is_barrier(&v->r->f->body.at[i]) || verify_owner(v, i))
			return false;
	for (uint32_t i = 0; i < blk->n_succ; i++)
		if (!leaves[blk->succ[i]])
			return false;
	return true;
}

/* Finds for each basic block whether a path leads from it to `to`, and whether threads only exit
 * from it. */
static void find_ways(struct verify *v, uint32_t to, uint8_t *leads, uint8_t *leaves)
{
	const struct cfg *g = v->host;
	bool changed = true;

	leads[to] = leaves[g->exit] = 1;
	while (changed) {
		changed = false;
		for (uint32_t b = g->n; b-- > 0;) {
			uint8_t was = leads[b] | leaves[b] << 1;

			for (uint32_t i = 0; i < g->at[b].n_succ; i++)
				leads[b] |= leads[g->at[b].succ[i]];
			leaves[b] = leaves[b] || only_leaves(v, b, leaves);
			changed |= was != (leads[b] | leaves[b] << 1);
		}
	}
}

/* Returns whether all threads that do not reach basic block `to` exit. It checks each edge that
 * leaves the paths to `to`: threads on it must exit, or be in the range of threads that reach `to`.
 * A barrier in `to` then waits for no other thread. */
static bool others_leave(struct verify *v, const struct range *r, uint32_t to)
{
	const struct cfg *g = v->host;
	uint8_t *leads = arena_zalloc(&v->arena, g->n), *leaves = arena_zalloc(&v->arena, g->n);

	if (!leads || !leaves) {
		v->failed = true;
		return true;
	}
	find_ways(v, to, leads, leaves);
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = 0; leads[b] && i < g->at[b].n_succ; i++) {
			uint32_t next = g->at[b].succ[i];
			struct range by = range_of_way(g, r, b, i);

			if (leads[next] || leaves[next] || by.first >= by.end)
				continue;
			if (by.first < r[to].first || by.end > r[to].end)
				return false;
		}
	return true;
}

/* A kernel's code may begin at several places of the rewritten code, each for some of the kernel's
 * threads. Checks that the threads that begin at these places are together all threads of the
 * kernel's block. verify_flow.c checks the paths from these places on. */
static void look_at_beginnings(struct verify *v, struct verify_pair *p, const struct range *all)
{
	struct range hull = {0, 0};
	uint32_t warps = 0;

	for (uint32_t i = 0; i < v->r->f->body.len; i++) {
		struct range r = all[v->host->block_of[i]];

		if (p->of[i] == NONE || r.first >= r.end)
			continue;
		p->g->has_code = true;
		if (p->of[i] != p->entry_at)
			continue;
		p->g->in_parts |= hull.end && (hull.first != r.first || hull.end != r.end);
		widen(&hull, r);
		for (uint32_t t = r.first; t < r.end; t += 32)
			warps |= 1u << (t / 32 % 32);
	}
	p->g->first = hull.first;
	p->g->end = hull.end;
	if (!p->g->has_code)
		return;
	if (hull.end - hull.first != MIN(p->g->threads, all_threads(v)) ||
		(uint32_t)__builtin_popcount(warps) != (hull.end - hull.first + 31) / 32)
		verify_tell(p, PASS_RULE_BARRIERS, NONE, p->entry_at,
			"threads %u to %u of the entry reach it, but its block has %u threads",
			hull.first, hull.end, p->g->threads);
}

/* Checks which threads reach a statement. A kernel's statement must be reached by exactly the
 * threads that reach the rest of the kernel. Exception: if the kernel's code begins at several
 * places, a statement needs to be reached by only some of these threads. If the statement is a
 * barrier, also checks that the barrier waits only for threads that reach it. */
static void look_at_comers(struct verify *v, uint32_t at, const struct range *all, uint32_t block)
{
	struct range r = all[block];
	struct verify_pair *p = verify_owner(v, at);
	const struct ptx_stmt *s = &v->r->f->body.at[at];
	const struct ptx_opd *count = is_barrier(s) ? count_of(s) : NULL;

	if (p && (p->g->in_parts ? p->g->first > r.first || p->g->end < r.end
				 : p->g->first != r.first || p->g->end != r.end))
		verify_tell(p, PASS_RULE_BARRIERS, at, p->of[at],
			"threads %u to %u of the entry reach `%s`, but %u to %u reach the rest of "
			"the kernel",
			r.first, r.end, verify_text(p, p->q, at), p->g->first, p->g->end);
	if (!is_barrier(s) || (p && count && count_of(&p->p->body.at[p->of[at]])))
		return; /* the original barrier has a thread count itself */
	if (p && p->g->in_parts)
		r = (struct range){p->g->first, p->g->end};
	if (count ? is_imm(count) && count->value == r.end - r.first
		  : r.end - r.first == all_threads(v) || others_leave(v, all, block))
		return;
	p = p ? p : v->pairs.at[0];
	verify_tell(p, PASS_RULE_BARRIERS, at, NONE,
		"`%s` does not wait for exactly threads %u to %u, which reach it",
		verify_text(p, p->q, at), r.first, r.end);
}

/* Checks that the ids of the kernel's threads begin at 0. */
static void look_at_first(struct verify *v, unsigned k)
{
	const struct ptx_func *f = v->r->f;
	struct verify_kernel *g = &v->kernel[k];
	uint32_t reg = g->id_reg[PASS_TID], less = 0;

	for (uint32_t i = 0; reg != NONE && i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN && s->mn->op == PTX_OP_sub && s->n == 3 &&
			s->opd[0].kind == PTX_OPD_REG && s->opd[0].reg == reg && is_imm(&s->opd[2]))
			less += (uint32_t)s->opd[2].value;
	}
	if (g->has_code && reg != NONE && less != g->first)
		verify_tell(v->pairs.at[k], PASS_RULE_IDS, NONE, NONE,
			"its first thread is thread %u of the entry, but its thread ids begin at "
			"%u",
			g->first, less);
}

void verify_threads(struct verify *v)
{
	const struct pass_merged *form = v->r->form;
	struct range *r;
	bool changed = true;

	if (!form)
		return;
	r = ARENA_ARRAY(&v->arena, struct range, v->host->n);
	if (!r) {
		v->failed = true;
		return;
	}
	r[0] = (struct range){0, all_threads(v)};
	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < v->host->n; b++)
			if (r[b].first < r[b].end)
				changed |= pass_on(v->host, r, b);
	}
	for (unsigned k = 0; k < v->r->n; k++)
		look_at_beginnings(v, v->pairs.at[k], r);
	for (uint32_t b = 0; b < v->host->n; b++)
		for (uint32_t i = v->host->at[b].first; i < v->host->at[b].end; i++)
			if (r[b].first < r[b].end && v->r->f->body.at[i].kind == PTX_INSN)
				look_at_comers(v, i, r, b);
	for (unsigned k = 0; k < v->r->n; k++) {
		look_at_first(v, k);
		if (v->pairs.at[k]->leaves)
			look_behind(v->pairs.at[k]);
	}
}

/* ---- resources that kernels must not share ---- */
/* Reports barrier numbers that two kernels use at the same time. */
static void compare_numbers(struct verify *v, unsigned k, unsigned other)
{
	for (unsigned i = 0; i < 16; i++)
		for (unsigned m = 0; m < 16; m++) {
			uint8_t a = v->kernel[k].barrier[i], b = v->kernel[other].barrier[m];

			if (a != 255 && a == b)
				verify_tell(v->pairs.at[k], PASS_RULE_BARRIERS, NONE, NONE,
					"barrier %u is also used by kernel '%.200s', which runs at "
					"the same time",
					a, v->kernel[other].from->name);
		}
}

static bool shares(const struct verify_kernel *g)
{
	return g->has_shared || g->has_barriers;
}

/* Returns whether no thread runs both kernels. */
static bool are_disjoint(const struct verify_kernel *a, const struct verify_kernel *b)
{
	return a->end <= b->first || b->end <= a->first;
}

struct search {
	struct verify *v;
	struct verify_pair *from;
	/* for each kernel: whether it shares memory or barriers with kernel `from` */
	bool shares[CTL_MAX_MERGED];
	uint8_t *seen;
	VEC(uint32_t) todo;
};

/* Returns whether a statement is a barrier for all threads of the entry or of the kernel. */
static bool holds_all(const struct search *s, const struct ptx_stmt *stmt)
{
	const struct ptx_opd *count = is_barrier(stmt) ? count_of(stmt) : NULL;

	if (!is_barrier(stmt) || stmt->guard != PTX_NO_REG || ptx_has_mod(stmt->mn, "arrive"))
		return false;
	return !count || (is_imm(count) && count->value >= s->from->g->end - s->from->g->first);
}

static void add(struct search *s, uint32_t block)
{
	if (s->seen[block])
		return;
	s->seen[block] = 1;
	if (!VEC_PUSH(&s->todo, block))
		s->v->failed = true;
}

static void search_behind(struct search *s, uint32_t block)
{
	const struct cfg *g = s->v->host;
	const struct cfg_block *b = &g->at[block];

	for (uint32_t i = verify_is_never(s->from, b->end - 1) ? 1 : 0; i < b->n_succ; i++)
		if (b->succ[i] != g->exit)
			add(s, b->succ[i]);
}

/* Returns whether two kernels use a common barrier number. */
static bool share_numbers(const struct verify_kernel *a, const struct verify_kernel *b)
{
	for (unsigned i = 0; i < 16; i++)
		for (unsigned m = 0; m < 16; m++)
			if (a->barrier[i] != 255 && a->barrier[i] == b->barrier[m])
				return true;
	return false;
}

/* Returns whether two kernels use some of the same threads and share bytes of shared memory or a
 * barrier number. */
static bool shares_with(const struct verify_kernel *a, const struct verify_kernel *b)
{
	return a != b && !are_disjoint(a, b) && (verify_share_places(a, b) || share_numbers(a, b));
}

/* Handles a kernel's statement that the search reaches without a barrier in between. Reports the
 * statement if it belongs to a kernel that shares memory or barriers with the kernel of s->from.
 * Also reports the first statement of the next block of s->from, if that kernel has shared memory
 * and does not begin with a loop. Returns false if the search must go on after the statement. */
static bool meet(struct search *s, struct verify_pair *p, uint32_t at)
{
	const struct verify_kernel *g = s->from->g;
	const struct cfg *plain = p->pg;
	bool theirs = p != s->from && s->shares[p->k];

	if (theirs)
		verify_tell(p, PASS_RULE_SHARED, at, NONE,
			"no barrier separates `%s` from kernel '%.200s', which uses the same "
			"shared memory or barriers",
			verify_text(p, p->q, at), g->from->name);
	/* If the kernel begins with a loop, it reaches its first statement again within the same
	 * block of the grid, where no barrier is needed. So such a kernel is not reported. */
	if (p == s->from && g->has_shared && p->of[at] == p->entry_at &&
		plain->at[plain->block_of[p->entry_at]].n_pred == 0)
		verify_tell(p, PASS_RULE_SHARED, at, NONE,
			"no barrier separates `%s` from the previous block, which uses the same "
			"shared memory",
			verify_text(p, p->q, at));
	return theirs || p == s->from;
}

/* Searches from statement `at` to the end of its basic block or to the first barrier of all
 * threads. */
static void search_block(struct search *s, uint32_t at)
{
	const struct cfg *g = s->v->host;
	const struct cfg_block *b = &g->at[g->block_of[at]];

	for (; at < b->end; at++) {
		struct verify_pair *p = verify_owner(s->v, at);

		if (p && meet(s, p, at))
			return;
		if (holds_all(s, &g->f->body.at[at]))
			return;
	}
	search_behind(s, g->block_of[b->first]);
}

/* Checks that a barrier separates kernel k from code that uses the same memory or barriers. */
static void search_ways(struct verify *v, unsigned k)
{
	const struct cfg *g = v->host;
	struct search s = {.v = v, .from = v->pairs.at[k], .seen = calloc(g->n, 1)};

	v->failed |= !s.seen;
	for (unsigned i = 0; i < v->r->n; i++)
		s.shares[i] = shares_with(&v->kernel[k], &v->kernel[i]);
	for (uint32_t b = 0; b < g->n && !v->failed; b++)
		for (uint32_t i = g->at[b].end; i-- > g->at[b].first;)
			if (s.from->of[i] != NONE) { /* the kernel's last statement in this block */
				if (i + 1 < g->at[b].end)
					search_block(&s, i + 1);
				else
					search_behind(&s, b);
				break;
			}
	while (s.todo.len && !v->failed)
		search_block(&s, g->at[s.todo.at[--s.todo.len]].first);
	free(s.seen);
	VEC_FREE(&s.todo);
}

/* Code that belongs to no kernel must not access the kernels' shared memory. */
struct naming {
	const struct ptx_sym *sym;
	bool found;
};

static void look_for_name(void *user, struct ptx_opd *o)
{
	struct naming *n = user;

	n->found |= o->kind == PTX_OPD_SYM && o->sym == n->sym;
}

static void look_for_pool(struct verify *v)
{
	for (uint32_t i = 0; v->pool && i < v->r->f->body.len; i++) {
		struct ptx_stmt s = v->r->f->body.at[i];
		struct naming n = {.sym = v->pool};

		if (s.kind != PTX_INSN || verify_owner(v, i))
			continue;
		ptx_visit_opds(&s, look_for_name, &n);
		if (n.found)
			verify_tell(v->pairs.at[0], PASS_RULE_SHARED, i, NONE,
				"`%s` accesses the kernels' shared memory, but is of no kernel",
				verify_text(v->pairs.at[0], v->r->f, i));
	}
}

void verify_disjoint(struct verify *v)
{
	for (unsigned k = 0; k < v->r->n && !v->failed; k++) {
		for (unsigned j = 0; v->r->form && j < k; j++)
			if (are_disjoint(&v->kernel[k], &v->kernel[j]) && v->kernel[k].has_code &&
				v->kernel[j].has_code)
				compare_numbers(v, k, j);
		if (shares(&v->kernel[k]))
			search_ways(v, k);
	}
	look_for_pool(v);
}
