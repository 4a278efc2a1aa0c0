/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds the flow graph of a rewritten body (weave.h). It decides which statements stay together
 * and where runs are cut (adaptive slicing: GoPTX, section III-C). It also finds the branches and
 * the code that cannot be woven. */
#include "cfg/contract.h"
#include "cfg/effects.h"
#include "pass/fuse/weave.h"

#include <errno.h>
#include <string.h>

/* A unit (statements that stay together, weave.h) counts at most this many cycles when a basic
 * block is cut into runs. The reason: later instructions, also of the same kernel, run during the
 * rest of the unit's latency. So several successive loads take less time than the sum of their
 * latencies. */
#define SLICE_UNIT 32 /* in cycles */
/* A branch at which lanes may diverge needs votes. If the two sides of the branch together take
 * fewer cycles than this, votes would take longer than the sides. Then the sides get no votes, and
 * each side runs alone, without code of the other kernel. */
#define SHORT_REGION 40 /* in cycles */

struct flowing {
	struct weave_flow *f;
	const ptx_body *body;
	bool calls_sync; /* one of the callees has barriers */
	struct contract contract;
	struct pass_verdict why;
	uint32_t *list, *seen, mark; /* for walks over blocks */
};

const struct ptx_stmt *weave_plain(const struct weave_flow *f, uint32_t at)
{
	uint32_t number = at < f->g->numbers.len ? f->g->numbers.at[at] : PASS_OURS;

	return number == PASS_OURS ? NULL : f->plain[number];
}

static int refuse_flow(struct flowing *x, const struct ptx_stmt *s, const char *why)
{
	s = s ? weave_plain(x->f, (uint32_t)(s - x->body->at)) : NULL;
	x->why = (struct pass_verdict){PASS_HELD, why, s ? s->line : 0, s ? s->col : 0};
	return -ENOTSUP;
}

/* ---- finding code that cannot be woven ---- */
static int check_stmt(struct flowing *x, const struct ptx_stmt *s)
{
	if (s->kind != PTX_INSN)
		return 0;
	switch (s->mn->op) {
	case PTX_OP_alloca:
	case PTX_OP_stacksave:
	case PTX_OP_stackrestore:
		return refuse_flow(x, s, "it changes the stack, which both kernels would share");
	case PTX_OP_setmaxnreg:
		return refuse_flow(x, s,
			"it changes the number of registers, which would affect both kernels");
	case PTX_OP_ret:
	case PTX_OP_exit:
		return refuse_flow(x, s, "its threads exit");
	default:
		return 0;
	}
}

static const struct ptx_stmt *find_barrier(const struct weave_flow *f, const ptx_body *body)
{
	for (uint32_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_INSN && body->at[i].mn->flags & PTX_F_BARRIER &&
			weave_plain(f, i))
			return &body->at[i];
	return NULL;
}

static int check_body(struct flowing *x)
{
	const struct kernel *g = x->f->g;
	int r = 0;

	if (x->f->cfg->has_indirect)
		return refuse_flow(x, NULL, "the targets of one of its branches are not known");
	if (pass_has_rounds(&g->at))
		return refuse_flow(x, find_barrier(x->f, x->body),
			"some of its threads can exit before a barrier that counts them");
	for (size_t i = 0; r == 0 && i < x->body->len; i++)
		r = check_stmt(x, &x->body->at[i]);
	if (r == 0 && x->contract.doubtful != CFG_NONE)
		r = refuse_flow(x, &x->body->at[x->contract.doubtful],
			"whether ptxas contracts this product and a sum to an fma depends on the "
			"surrounding code");
	return r;
}

/* ---- units ---- */
static uint32_t number_of(const struct weave_flow *f, uint32_t at)
{
	return at < f->g->numbers.len ? f->g->numbers.at[at] : PASS_OURS;
}

static bool is_leaving(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT);
}

/* Returns the end of the statements, from `at` on, that together implement one instruction or form
 * one call. */
static uint32_t together_from(const struct flowing *x, uint32_t at, uint32_t end)
{
	uint32_t number = number_of(x->f, at), depth = 0, i = at;

	for (; i < end; i++) {
		const struct ptx_stmt *s = &x->body->at[i];

		if (i > at && !depth && (number == PASS_OURS || number_of(x->f, i) != number))
			break;
		if (!depth && is_leaving(s))
			break;
		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
	}
	return MAX(i, at + 1);
}

static bool is_elsewhere(const struct ptx_stmt *s)
{
	return s->kind == PTX_LABEL || s->kind == PTX_DECL || (s->kind == PTX_DIRECTIVE && s->sym);
}

static bool waits_for_warps(const struct flowing *x, const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN &&
	       (s->mn->flags & PTX_F_BARRIER || (s->mn->op == PTX_OP_call && x->calls_sync));
}

/* Joins all units from index `at` on into one unit. */
static void join_units(struct weave_flow *f, size_t at)
{
	struct weave_unit *u = &f->units.at[at];

	for (size_t i = at + 1; i < f->units.len; i++) {
		u->end = f->units.at[i].end;
		u->latency += f->units.at[i].latency;
		u->sync |= f->units.at[i].sync;
	}
	f->units.len = at + 1;
}

/* Joins all code from the instruction that sets the carry flag to the last one that reads it into
 * one unit. Other code must not come in between, because the carry flag is not a register. */
static int join_carry(struct flowing *x, const struct ptx_stmt *s, size_t block_begins)
{
	struct weave_flow *f = x->f;
	size_t at = f->units.len - 1;

	for (; at-- > block_begins;) {
		bool writes = false;

		for (uint32_t i = f->units.at[at].first; i < f->units.at[at].end; i++) {
			const struct ptx_stmt *t = &x->body->at[i];

			writes |= t->kind == PTX_INSN && t->mn->op != PTX_OP_call &&
				  t->mn->flags & PTX_F_WRITES_CC;
		}
		if (writes)
			break;
	}
	if (at + 1 <= block_begins)
		return refuse_flow(x, s, "it reads a carry flag that another basic block sets");
	join_units(f, at);
	return 0;
}

/* Joins into one unit all units from the multiplication at statement `from`, which ptxas may
 * contract with an addition in the last unit. Whether ptxas contracts the two depends on the code
 * between them, so that code must be the same as in the original kernel. */
static void join_sum(struct weave_flow *f, uint32_t from, size_t block_begins)
{
	size_t at = f->units.len - 1;

	while (at > block_begins && f->units.at[at].first > from)
		at--;
	join_units(f, at);
}

static int add_unit(struct flowing *x, uint32_t first, uint32_t end, size_t block_begins)
{
	struct weave_unit u = {.first = first, .end = end};
	const struct ptx_stmt *reads = NULL;
	uint32_t product = CFG_NONE;

	for (uint32_t i = first; i < end; i++) {
		const struct ptx_stmt *s = &x->body->at[i];

		u.latency += weave_latency(s);
		u.sync |= waits_for_warps(x, s);
		product = MIN(product, x->contract.from[i]);
		if (s->kind == PTX_INSN && s->mn->op != PTX_OP_call &&
			s->mn->flags & PTX_F_READS_CC)
			reads = s;
	}
	x->f->latency += u.latency;
	if (!VEC_PUSH(&x->f->units, u))
		return -ENOMEM;
	if (product != CFG_NONE)
		join_sum(x->f, product, block_begins);
	return reads ? join_carry(x, reads, block_begins) : 0;
}

static int find_units(struct flowing *x)
{
	struct weave_flow *f = x->f;
	int r = 0;

	for (uint32_t b = 0; r == 0 && b < f->cfg->n; b++) {
		const struct cfg_block *blk = &f->cfg->at[b];
		uint32_t next;

		f->run[b] = (uint32_t)f->units.len;
		for (uint32_t i = blk->first; r == 0 && i < blk->end; i = next) {
			const struct ptx_stmt *s = &x->body->at[i];

			next = i + 1;
			if (is_leaving(s) || is_elsewhere(s))
				continue;
			next = together_from(x, i, blk->end);
			r = add_unit(x, i, next, f->run[b]);
		}
	}
	f->run[f->cfg->n] = (uint32_t)f->units.len;
	return r;
}

/* Finds the units at the end of a block that help to implement the branch there, such as a vote on
 * the lanes that stay. */
static void find_tails(struct weave_flow *f)
{
	for (uint32_t b = 0; b < f->cfg->n; b++) {
		const struct cfg_block *blk = &f->cfg->at[b];
		uint32_t number = PASS_OURS, at = f->run[b + 1];

		if (blk->end > blk->first && is_leaving(&f->g->f->body.at[blk->end - 1]))
			number = number_of(f, blk->end - 1);
		while (number != PASS_OURS && at > f->run[b] &&
			number_of(f, f->units.at[at - 1].first) == number)
			at--;
		f->tail[b] = at;
	}
}

/* Finds the warp-uniform branches in the original kernel, as the verifier does. A register with one
 * definition in the original kernel can have several in the rewritten body, so in the rewritten
 * body the analysis would find fewer such branches. */
static int find_whole(struct arena *a, const struct pass_kernel *from, struct weave_flow *f)
{
	const struct ptx_func *plain = ptx_find_func(from->m, from->name);
	bool is_1d = from->block[1] == 1 && from->block[2] == 1;
	struct cfg_uniformity *u;
	struct cfg *g;
	uint32_t n = 0;
	int r = cfg_build(a, plain, &g);

	f->whole = arena_zalloc(a, plain->body.len + 1);
	f->plain = arena_zalloc(a, (plain->body.len + 1) * sizeof(*f->plain));
	if (r == 0)
		r = cfg_uniformity(a, g, is_1d ? CFG_BLOCKS_1D : 0, NULL, &u);
	if (r < 0 || !f->whole || !f->plain)
		return r < 0 ? r : -ENOMEM;
	for (uint32_t i = 0; i < plain->body.len; i++) {
		const struct ptx_stmt *s = &plain->body.at[i];

		if (s->kind != PTX_INSN)
			continue;
		f->plain[n] = s;
		f->whole[n++] = s->mn->op == PTX_OP_bra && s->guard != PTX_NO_REG &&
				u->reg[s->guard] >= CFG_WARP_UNIFORM &&
				u->block[g->block_of[i]] >= CFG_WARP_UNIFORM;
	}
	return 0;
}

int weave_flow_find(struct arena *a, struct kernels *x, unsigned k, const struct pass_kernel *from,
	struct weave_flow *ret, struct pass_verdict *ret_why)
{
	struct kernel *g = &x->of[k];
	struct flowing w = {.f = ret, .body = &g->f->body};
	int r;

	*ret = (struct weave_flow){.g = g, .k = k};
	for (size_t i = 1; i < g->facts.callees.len; i++)
		w.calls_sync |= g->facts.callees.at[i].barriers;
	r = cfg_build(a, g->f, &ret->cfg);
	if (r == 0)
		r = contract_find(a, ret->cfg, &w.contract);
	if (r == 0)
		r = find_whole(a, from, ret);
	if (r == 0)
		r = check_body(&w);
	/* The entry's blocks have only one dimension. */
	if (r == 0)
		r = cfg_uniformity(a, ret->cfg, CFG_BLOCKS_1D, NULL, &ret->u);
	if (r == 0) {
		ret->run = ARENA_ARRAY(a, uint32_t, ret->cfg->n + 1);
		ret->node = ARENA_ARRAY(a, uint32_t, ret->cfg->n);
		ret->woven = arena_zalloc(a, g->f->body.len + 1);
		ret->tail = ARENA_ARRAY(a, uint32_t, ret->cfg->n);
		r = ret->run && ret->node && ret->woven && ret->tail ? find_units(&w) : -ENOMEM;
	}
	if (r == 0)
		find_tails(ret);
	*ret_why = w.why;
	return r;
}

void weave_flow_finish(struct weave_flow *f)
{
	VEC_FREE(&f->units);
	VEC_FREE(&f->nodes);
}

bool weave_has_sync(const struct weave_flow *f)
{
	for (size_t i = 0; i < f->units.len; i++)
		if (f->units.at[i].sync)
			return true;
	return false;
}

uint64_t weave_threshold(const struct weave_flow f[2])
{
	uint64_t blocks = (uint64_t)f[0].cfg->exit + f[1].cfg->exit;

	return (f[0].latency + f[1].latency + blocks - 1) / blocks;
}

/* ---- nodes ---- */
static uint32_t add_node(struct weave_flow *f, struct weave_node n)
{
	if (!VEC_PUSH(&f->nodes, n))
		return CFG_NONE;
	return (uint32_t)f->nodes.len - 1;
}

/* Cuts a basic block's units into runs. A run ends before the unit with which it would exceed
 * `threshold` cycles; a unit counts at most SLICE_UNIT cycles, and 0 means no limit. With `sync_alone`,
 * a run also ends between a unit that waits for other warps and one that does not. Returns the last
 * run. */
static uint32_t add_runs(struct weave_flow *f, uint32_t b, uint64_t threshold, bool sync_alone)
{
	struct weave_node n = {.kind = WEAVE_RUN, .from = f->run[b], .block = b};
	uint64_t cycles = 0;

	for (uint32_t i = f->run[b]; i < f->tail[b]; i++) {
		const struct weave_unit *u = &f->units.at[i];
		bool longer = threshold && cycles + MIN(u->latency, SLICE_UNIT) > threshold;

		if (i > n.from && (longer || (sync_alone && u->sync != n.sync))) {
			n.end = i;
			n.next[0] = (uint32_t)f->nodes.len + 1;
			if (add_node(f, n) == CFG_NONE)
				return CFG_NONE;
			n.from = i;
			n.sync = false;
			cycles = 0;
		}
		cycles += MIN(u->latency, SLICE_UNIT);
		n.sync |= u->sync;
	}
	n.end = f->tail[b];
	n.next[0] = CFG_NONE;
	return add_node(f, n);
}

static const struct ptx_stmt *find_terminator(const struct weave_flow *f, uint32_t b)
{
	const struct cfg_block *blk = &f->cfg->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &f->g->f->body.at[blk->end - 1] : NULL;

	return s && is_leaving(s) ? s : NULL;
}

static bool takes_whole(const struct weave_flow *f, uint32_t b, const struct ptx_stmt *s)
{
	uint32_t number = number_of(f, f->cfg->at[b].end - 1);

	if (number != PASS_OURS)
		return f->whole[number];
	return f->u->reg[s->guard] >= CFG_WARP_UNIFORM && f->u->block[b] >= CFG_WARP_UNIFORM;
}

/* Describes the branch at the end of a basic block. next[] gets numbers of basic blocks, which are
 * replaced by nodes later. Returns false if the block always continues at *ret_next. */
static bool describe_end(
	const struct weave_flow *f, uint32_t b, struct weave_node *ret, uint32_t *ret_next)
{
	const struct cfg_block *blk = &f->cfg->at[b];
	const struct ptx_stmt *s = find_terminator(f, b);
	bool guarded = s && s->guard != PTX_NO_REG;

	*ret = (struct weave_node){
		.block = b, .from = f->tail[b], .end = f->run[b + 1], .next = {CFG_NONE, CFG_NONE}};
	*ret_next = blk->n_succ ? blk->succ[0] : f->cfg->exit;
	if (!s || (s->mn->op == PTX_OP_bra && !guarded))
		return false;
	ret->meet = blk->ipdom == CFG_NONE ? f->cfg->exit : blk->ipdom;
	if (s->mn->op == PTX_OP_brx) {
		ret->kind = WEAVE_TABLE;
		ret->alone = true;
	} else if (s->mn->flags & PTX_F_EXIT) {
		ret->kind = WEAVE_TRAP;
		ret->next[0] = guarded ? b + 1 : CFG_NONE;
	} else {
		ret->kind = WEAVE_BRANCH;
		ret->next[0] = blk->succ[0];
		ret->next[1] = b + 1;
		ret->uniform = blk->n_succ < 2 || takes_whole(f, b, s);
	}
	return true;
}

static bool in_loop(const struct weave_flow *f, uint32_t block)
{
	return f->cfg->at[block].loop_header != CFG_NONE;
}

/* Returns whether the branch skips exactly one basic block. */
static bool is_if(const struct weave_flow *f, const struct weave_node *n, uint32_t block)
{
	const struct cfg_block *b = &f->cfg->at[block];
	struct weave_node end;
	uint32_t next, meet = f->cfg->at[n->block].ipdom;

	return n->kind == WEAVE_BRANCH && n->from == n->end && block != n->block &&
	       meet != CFG_NONE && f->cfg->at[n->block].n_succ == 2 && b->n_succ == 1 &&
	       b->succ[0] == meet && (n->next[0] == meet) != (n->next[1] == meet) &&
	       !describe_end(f, block, &end, &next);
}

static void make_if(const struct weave_flow *f, struct weave_node *n, uint32_t block)
{
	n->kind = WEAVE_IF;
	n->into = n->next[0] == block ? 0 : 1;
	n->from = f->run[block];
	n->end = f->run[block + 1];
	n->next[0] = n->meet;
	n->next[1] = CFG_NONE;
	for (uint32_t u = n->from; u < n->end; u++)
		n->sync |= f->units.at[u].sync;
}

/* Returns whether the basic block is short enough for a node of kind WEAVE_IF. Such a node counts
 * as one run. The units of a longer basic block are instead cut into several runs, each of which
 * can be woven with a different run of the other kernel. */
static bool is_one_run(const struct weave_flow *f, uint32_t block, uint64_t threshold)
{
	uint64_t cycles = 0;

	for (uint32_t u = f->run[block]; u < f->run[block + 1]; u++)
		cycles += f->units.at[u].latency;
	return !threshold || cycles <= threshold;
}

/* Analyzes the code between a branch and its reconvergence point: how many cycles it takes, whether
 * it waits for other warps, and whether the branch becomes a WEAVE_IF or its sides run alone. */
static void sum_up_sides(
	struct flowing *x, struct weave_node *n, enum weave_reach reach, uint64_t threshold)
{
	const struct weave_flow *f = x->f;
	uint32_t blocks = cfg_influence(f->cfg, n->block, x->list, x->seen, ++x->mark);
	uint64_t cycles = 0;
	bool loops = false;

	if (blocks == 1 && is_if(f, n, x->list[0]) && is_one_run(f, x->list[0], threshold)) {
		make_if(f, n, x->list[0]);
		return;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		for (uint32_t u = f->run[x->list[i]]; u < f->run[x->list[i] + 1]; u++) {
			cycles += f->units.at[u].latency;
			n->sync |= f->units.at[u].sync;
		}
		loops |= x->list[i] == n->block;
	}
	n->likely = n->kind == WEAVE_BRANCH && n->next[0] != f->cfg->exit &&
		    f->cfg->at[n->next[0]].order <= f->cfg->at[n->block].order;
	if (n->kind == WEAVE_BRANCH && f->cfg->at[n->block].n_succ > 1)
		n->alone =
			reach == WEAVE_CHAIN ||
			(!n->uniform && (reach == WEAVE_UNIFORM ||
						(reach == WEAVE_STRAIGHT && in_loop(f, n->block)) ||
						(cycles < SHORT_REGION && !loops)));
	/* A warp-uniform branch whose sides are separate nodes does not itself wait for other
	 * warps. */
	if (n->kind == WEAVE_TRAP || (n->uniform && !n->alone))
		n->sync = false;
}

static int add_block(
	struct flowing *x, uint32_t b, uint64_t threshold, bool sync_alone, enum weave_reach reach)
{
	struct weave_flow *f = x->f;
	struct weave_node end;
	uint32_t last, next;
	bool has_end = describe_end(f, b, &end, &next);

	if (!has_end)
		f->tail[b] = f->run[b + 1]; /* an unconditional jump needs no units */
	f->node[b] = (uint32_t)f->nodes.len;
	last = add_runs(f, b, threshold, sync_alone);
	if (last == CFG_NONE)
		return -ENOMEM;
	f->nodes.at[last].next[0] = has_end ? last + 1 : next;
	/* until link_nodes, `alone` marks that next[0] is still a basic block */
	f->nodes.at[last].alone = !has_end;
	if (!has_end)
		return 0;
	sum_up_sides(x, &end, reach, threshold);
	return add_node(f, end) == CFG_NONE ? -ENOMEM : 0;
}

/* Replaces the basic blocks in next[] and meet by their first nodes. */
static void link_nodes(struct weave_flow *f)
{
	for (size_t i = 0; i < f->nodes.len; i++) {
		struct weave_node *n = &f->nodes.at[i];

		if (n->kind == WEAVE_RUN && n->alone)
			n->next[0] = f->node[n->next[0]];
		if (n->kind == WEAVE_RUN) {
			n->alone = false;
			continue;
		}
		for (unsigned w = 0; w < 2; w++)
			if (n->next[w] != CFG_NONE)
				n->next[w] = f->node[n->next[w]];
		if (n->kind != WEAVE_END)
			n->meet = f->node[n->meet];
	}
}

static bool has_sync_ahead(const struct weave_flow *f, const struct weave_node *n)
{
	bool ahead = n->sync;

	for (unsigned w = 0; w < 2; w++)
		if (n->kind != WEAVE_END && n->next[w] != CFG_NONE &&
			(w == 0 || n->kind == WEAVE_BRANCH))
			ahead |= f->nodes.at[n->next[w]].sync_ahead;
	if (n->kind == WEAVE_TABLE || n->alone)
		ahead |= f->nodes.at[n->meet].sync_ahead;
	return ahead;
}

static void find_sync_ahead(struct weave_flow *f)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = f->nodes.len; i-- > 0;) {
			struct weave_node *n = &f->nodes.at[i];

			if (!n->sync_ahead && has_sync_ahead(f, n))
				changed = n->sync_ahead = true;
		}
	}
}

int weave_flow_nodes(
	struct weave_flow *f, enum weave_reach reach, uint64_t threshold, bool sync_alone)
{
	struct flowing x = {.f = f, .body = &f->g->f->body};
	struct arena a;
	int r = 0;

	f->nodes.len = 0;
	arena_init(&a, 0);
	x.list = ARENA_ARRAY(&a, uint32_t, f->cfg->n);
	x.seen = arena_zalloc(&a, f->cfg->n * sizeof(*x.seen));
	if (!x.list || !x.seen)
		r = -ENOMEM;
	for (uint32_t b = 0; r == 0 && b < f->cfg->exit; b++)
		r = add_block(&x, b, threshold, sync_alone, reach);
	arena_finish(&a);
	if (r < 0)
		return r;
	f->start = f->node[0];
	f->end = f->node[f->cfg->exit] =
		add_node(f, (struct weave_node){.kind = WEAVE_END, .next = {CFG_NONE, CFG_NONE}});
	if (f->end == CFG_NONE)
		return -ENOMEM;
	link_nodes(f);
	find_sync_ahead(f);
	return 0;
}

uint32_t weave_settle(const struct weave_flow *f, uint32_t node)
{
	/* The step limit ends the search in a loop without instructions. */
	for (size_t steps = 0; steps < f->nodes.len; steps++) {
		const struct weave_node *n = &f->nodes.at[node];

		if (n->kind != WEAVE_RUN || n->from < n->end)
			return node;
		node = n->next[0];
	}
	return node;
}
