/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds which products ptxas may contract with which sums (see contract.h). For each product it
 * follows definitions and uses, through moves and negations, to all statements that read the
 * product. */
#include "cfg/contract.h"

#include "cfg/chains.h"

#include <errno.h>
#include <string.h>

struct finding {
	const struct cfg *g;
	const struct cfg_chains *c;
	struct contract *ret;
	VEC(uint32_t) todo;   /* worklist of nodes of the chains */
	VEC(uint32_t) sums;   /* all sums that read the current product */
	bool alone;           /* true if no other value reaches these reads */
	uint32_t *seen, mark; /* seen: for each node, the last mark */
	/* For each addition, and for each of its two source operands: the multiplication that ptxas
	 * may fuse into it. */
	struct contract_fused *may;
	/* for each product: how many sums can take it, and how many do */
	uint32_t *readers, *takers;
	const struct ptx_mnem *asked[2];
	bool may_take; /* cached answer: whether asked[0] may take a product of asked[1] */
};

static bool is_fraction(uint8_t type)
{
	return type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_F16X2 ||
	       type == PTX_BF16 || type == PTX_BF16X2;
}

static bool is_open(const struct ptx_stmt *s)
{
	static const char *const rounding[] = {"rn", "rz", "rm", "rp", "rna", "rs"};

	if (s->kind != PTX_INSN || s->mn->n_types != 1 || !is_fraction(s->mn->type[0]))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rounding); i++)
		if (ptx_has_mod(s->mn, rounding[i]))
			return false;
	return true;
}

/* Division counts as a product: an approximate division ends in a multiplication by an approximate
 * reciprocal. An approximate reciprocal that supports subnormals ends in a multiplication by a
 * power of two. */
bool contract_is_product(const struct ptx_stmt *s)
{
	if (!is_open(s) || ptx_has_mod(s->mn, "sat"))
		return false;
	switch (s->mn->op) {
	case PTX_OP_mul:
		return true;
	case PTX_OP_div:
		return ptx_has_mod(s->mn, "approx") || ptx_has_mod(s->mn, "full");
	case PTX_OP_rcp:
		return ptx_has_mod(s->mn, "approx") && !ptx_has_mod(s->mn, "ftz");
	default:
		return false;
	}
}

bool contract_is_sum(const struct ptx_stmt *s)
{
	return is_open(s) && (s->mn->op == PTX_OP_add || s->mn->op == PTX_OP_sub);
}

bool contract_splits(const struct ptx_stmt *s)
{
	const uint32_t alone = PTX_F_BRANCH | PTX_F_EXIT | PTX_F_CALL | PTX_F_FENCE | PTX_F_UNKNOWN;
	const uint32_t guarded = PTX_F_READS_MEM | PTX_F_WRITES_MEM | PTX_F_SIDE_EFFECT |
				 PTX_F_BARRIER | PTX_F_CONVERGENT | PTX_F_WARP_SYNC |
				 PTX_F_VOLATILE | PTX_F_ATOMIC | PTX_F_ASYNC;

	if (s->kind != PTX_INSN)
		return s->kind == PTX_LABEL;
	if (s->mn->flags & alone || (s->guard != PTX_NO_REG && s->mn->flags & guarded))
		return true;
	switch (s->mn->op) {
	case PTX_OP_div:
	case PTX_OP_rem:
	case PTX_OP_sqrt:
	case PTX_OP_rcp:
		return !ptx_has_mod(s->mn, "approx") && !ptx_has_mod(s->mn, "full");
	default:
		return false;
	}
}

/* Returns true if s only copies or negates a product. */
static bool is_through(const struct ptx_stmt *s, const struct ptx_stmt *product)
{
	if (s->kind != PTX_INSN || s->guard != PTX_NO_REG || s->n != 2 ||
		s->opd[0].kind != PTX_OPD_REG || s->opd[1].kind != PTX_OPD_REG)
		return false;
	return s->mn->op == PTX_OP_mov ||
	       (s->mn->op == PTX_OP_neg && s->mn->type[0] == product->mn->type[0]);
}

/* Returns true if ptxas may fuse this sum (add) and this product (mul) into an fma. Only the two
 * mnemonics decide, and few pairs of them occur, so x caches the last result. */
static bool may_take(struct finding *x, const struct ptx_stmt *sum, const struct ptx_stmt *product)
{
	if (x->asked[0] == sum->mn && x->asked[1] == product->mn)
		return x->may_take;
	x->asked[0] = sum->mn;
	x->asked[1] = product->mn;
	x->may_take = contract_is_sum(sum) && sum->mn->type[0] == product->mn->type[0] &&
		      ptx_has_mod(sum->mn, "ftz") == ptx_has_mod(product->mn, "ftz");
	return x->may_take;
}

static const struct ptx_stmt *stmt(const struct finding *x, uint32_t at)
{
	return &x->g->f->body.at[at];
}

/* Returns the only definition of the register that statement `at` can read, or NULL if there is not
 * exactly one. */
static const struct ptx_stmt *only_def(const struct finding *x, uint32_t reg, uint32_t at)
{
	uint32_t use = cfg_find_use(x->c, reg, at), d;

	if (use == CFG_NONE)
		return NULL;
	d = x->c->only[x->c->n_defs + use];
	return d < x->c->n_defs ? stmt(x, x->c->def[d].stmt) : NULL;
}

static int add_todo(struct finding *x, uint32_t node)
{
	if (x->seen[node] == x->mark)
		return 0;
	x->seen[node] = x->mark;
	return VEC_PUSH(&x->todo, node) ? 0 : -ENOMEM;
}

/* Checks one statement that reads the product (mul) or a copy of it. Returns:
 * - 0 if the statement is a sum (add), which is added to x->sums, or if it copies the value
 * - 1 for any other statement, and for a sum of the product with itself, which ptxas does not
 *   contract
 * - -ENOMEM */
static int look_at_use(struct finding *x, const struct ptx_stmt *product, uint32_t use)
{
	uint32_t at = x->c->use[use].stmt, next;
	const struct ptx_stmt *s = stmt(x, at);

	x->alone &= x->c->only[x->c->n_defs + use] != CFG_SEVERAL;
	/* ptxas does not contract m + m. */
	if (may_take(x, s, product) && s->opd[1].kind == PTX_OPD_REG &&
		s->opd[2].kind == PTX_OPD_REG && s->opd[1].reg == s->opd[2].reg)
		return 1;
	if (may_take(x, s, product))
		return VEC_PUSH(&x->sums, at) ? 0 : -ENOMEM;
	if (!is_through(s, product))
		return 1;
	next = cfg_find_def(x->c, s->opd[0].reg, at);
	return next == CFG_NONE ? 1 : add_todo(x, next);
}

/* Checks every statement that reads the product through one node of the value graph (chains.h). A
 * use has exactly one input node, so no use is checked twice. A merge among the readers is added to
 * the worklist. */
static int follow(struct finding *x, const struct ptx_stmt *product, uint32_t node)
{
	const struct cfg_chains *c = x->c;
	int r = 0;

	for (uint32_t i = c->to_of[node]; i < c->to_of[node + 1] && r == 0; i++) {
		uint32_t to = c->to[i];

		r = to < c->n_defs + c->n_uses ? look_at_use(x, product, to - c->n_defs)
					       : add_todo(x, to);
	}
	return r;
}

static int find_sums(struct finding *x, uint32_t at)
{
	const struct ptx_stmt *product = stmt(x, at);
	uint32_t def = cfg_find_def(x->c, product->opd[0].reg, at);
	int r = 0;

	x->todo.len = x->sums.len = 0;
	x->alone = true;
	x->mark++;
	if (def == CFG_NONE)
		return 1;
	r = add_todo(x, def);
	while (x->todo.len && r == 0)
		r = follow(x, product, x->todo.at[--x->todo.len]);
	return r;
}

/* Returns true if the operand is a constant, or a load of a parameter or of constant memory at a
 * fixed address. Machine instructions accept both directly as operands. Follows up to 16 moves,
 * negations and absolute values. */
static bool is_constant(const struct finding *x, const struct ptx_opd *o, uint32_t at)
{
	for (unsigned steps = 0; steps < 16; steps++) {
		const struct ptx_stmt *s;

		if (o->kind != PTX_OPD_REG)
			return o->kind == PTX_OPD_IMM || o->kind == PTX_OPD_FLOAT;
		s = only_def(x, o->reg, at);
		if (!s || s->guard != PTX_NO_REG || s->n != 2)
			return false;
		if (s->mn->op == PTX_OP_ld)
			return (s->mn->space == PTX_PARAM || s->mn->space == PTX_CONST) &&
			       s->opd[1].kind == PTX_OPD_ADDR &&
			       s->opd[1].list[0].kind == PTX_OPD_SYM;
		if (s->mn->op != PTX_OP_mov && s->mn->op != PTX_OP_neg && s->mn->op != PTX_OP_abs)
			return false;
		o = &s->opd[1];
		at = (uint32_t)(s - x->g->f->body.at);
	}
	return false;
}

static bool has_constant(const struct finding *x, uint32_t product)
{
	const struct ptx_stmt *s = stmt(x, product);

	for (uint8_t i = 1; i < s->n; i++)
		if (is_constant(x, &s->opd[i], product))
			return true;
	return false;
}

/* Returns true if the product (mul) reaches the sum (add) only through the back edge of a loop,
 * that is, in the next iteration. */
static bool comes_round(const struct finding *x, uint32_t product, uint32_t sum)
{
	uint32_t a = x->g->block_of[product], b = x->g->block_of[sum];

	return a == b ? sum <= product : x->g->at[b].order <= x->g->at[a].order;
}

/* Follows copies from an operand of a sum back to their source. Returns true if the source is the
 * product. If more copies are followed than there are definitions, they form a cycle, and the
 * result is false. */
static bool leads_to(const struct finding *x, const struct ptx_opd *o, uint32_t at,
	uint32_t product, bool *ret_negated)
{
	*ret_negated = false;
	for (uint32_t steps = 0; o->kind == PTX_OPD_REG && steps <= x->c->n_defs; steps++) {
		const struct ptx_stmt *s = only_def(x, o->reg, at);

		if (s == stmt(x, product))
			return true;
		if (!s || !is_through(s, stmt(x, product)))
			return false;
		*ret_negated ^= s->mn->op == PTX_OP_neg;
		o = &s->opd[1];
		at = (uint32_t)(s - x->g->f->body.at);
	}
	return false;
}

/* Returns true if the operand never changes: only one definition in the whole function writes it,
 * and that definition reaches the product. */
static bool stays(const struct finding *x, const struct ptx_opd *o, uint32_t product)
{
	return o->kind != PTX_OPD_REG ||
	       (only_def(x, o->reg, product) &&
		       x->c->defs_of_reg[o->reg + 1] - x->c->defs_of_reg[o->reg] == 1);
}

static bool note_fused(struct finding *x, uint32_t product, uint32_t sum)
{
	const struct ptx_stmt *p = stmt(x, product);
	struct contract_fused *f = &x->ret->fused[sum], now = {product, 0, false};

	for (uint8_t i = 1; i <= 2 && !now.operand; i++)
		if (leads_to(x, &stmt(x, sum)->opd[i], sum, product, &now.negated))
			now.operand = i;
	if (f->operand || x->ret->from[sum] != CFG_NONE || x->ret->unfused[sum]) {
		f->operand = 0; /* ambiguous: more than one product */
		return false;
	}
	if (!now.operand || !stays(x, &p->opd[1], product) || !stays(x, &p->opd[2], product))
		return false;
	*f = now;
	return true;
}

static void doubt(struct finding *x, uint32_t product)
{
	x->ret->doubtful = MIN(x->ret->doubtful, product);
}

/* Records a product that only later additions in its own block use. */
static void note_here(struct finding *x, uint32_t product)
{
	for (size_t i = 0; i < x->sums.len; i++) {
		uint32_t sum = x->sums.at[i], *from = &x->ret->from[sum];

		x->ret->n += *from == CFG_NONE;
		*from = MIN(*from, product);
		if (x->ret->fused[sum].operand || x->ret->unfused[sum])
			doubt(x, product);
		x->ret->fused[sum].operand = 0;
	}
}

/* Records a product if additions in other basic blocks use it, or additions in the next iteration
 * of a loop. A multiplication can be given a rounding modifier, and then ptxas contracts it with no
 * addition. The final multiplication of a division or reciprocal cannot be given one, so for such a
 * product the additions get the modifier instead. */
static void note_elsewhere(struct finding *x, uint32_t product)
{
	bool is_mul = stmt(x, product)->mn->op == PTX_OP_mul;

	if (x->alone && has_constant(x, product)) {
		x->ret->anywhere[product] = is_mul;
		if (!is_mul)
			doubt(x, product);
		for (size_t i = 0; is_mul && i < x->sums.len; i++)
			if (!note_fused(x, product, x->sums.at[i]))
				doubt(x, product);
		return;
	}
	x->ret->unfused[product] = is_mul;
	for (size_t i = 0; !is_mul && i < x->sums.len; i++) {
		uint32_t sum = x->sums.at[i];

		x->ret->unfused[sum] = 1;
		if (x->ret->fused[sum].operand || x->ret->from[sum] != CFG_NONE)
			doubt(x, product);
		x->ret->fused[sum].operand = 0;
	}
}

/* Returns true if ptxas may turn a statement between the product and the sum into a branch. The
 * product and the sum are in one block. */
static bool is_split(const struct finding *x, uint32_t product, uint32_t sum)
{
	for (uint32_t i = product + 1; i < sum; i++)
		if (contract_splits(stmt(x, i)))
			return true;
	return false;
}

/* Returns true if the operand still has the same value at the sum. */
static bool is_unchanged(
	const struct finding *x, const struct ptx_opd *o, uint32_t product, uint32_t sum)
{
	if (o->kind != PTX_OPD_REG)
		return true;
	if (x->g->block_of[product] != x->g->block_of[sum])
		return stays(x, o, product);
	for (uint32_t i = x->c->defs_of_reg[o->reg]; i < x->c->defs_of_reg[o->reg + 1]; i++)
		if (x->c->def[i].stmt >= product && x->c->def[i].stmt < sum)
			return false;
	return true;
}

static bool may_fuse(const struct finding *x, uint32_t product, uint32_t sum, bool is_constant,
	struct contract_fused *ret)
{
	const struct ptx_stmt *p = stmt(x, product);

	*ret = (struct contract_fused){.product = product};
	for (uint8_t i = 1; i <= 2 && !ret->operand; i++)
		if (leads_to(x, &stmt(x, sum)->opd[i], sum, product, &ret->negated))
			ret->operand = i;
	if (!ret->operand || comes_round(x, product, sum) ||
		!is_unchanged(x, &p->opd[1], product, sum) ||
		!is_unchanged(x, &p->opd[2], product, sum))
		return false;
	return is_constant ||
	       (x->g->block_of[product] == x->g->block_of[sum] && !is_split(x, product, sum));
}

/* Records a product (mul) if ptxas may fuse it into every addition that uses it. */
static void note_candidate(struct finding *x, uint32_t product)
{
	struct contract_fused f;
	bool is_constant;

	if (!x->alone || stmt(x, product)->mn->op != PTX_OP_mul)
		return;
	is_constant = has_constant(x, product);
	for (size_t i = 0; i < x->sums.len; i++)
		if (!may_fuse(x, product, x->sums.at[i], is_constant, &f))
			return;
	for (size_t i = 0; i < x->sums.len; i++) {
		may_fuse(x, product, x->sums.at[i], is_constant, &f);
		x->may[2 * (size_t)x->sums.at[i] + f.operand - 1] = f;
	}
	x->readers[product] = (uint32_t)x->sums.len;
}

static void choose(struct finding *x, uint32_t n)
{
	struct contract_fused *chosen = x->ret->chosen;

	for (uint32_t i = 0; i < n; i++) {
		const struct contract_fused *a = &x->may[2 * (size_t)i], *b = a + 1;

		if (!a->operand ||
			(b->operand && x->readers[a->product] > 1 && x->readers[b->product] == 1))
			a = b;
		chosen[i] = *a;
		x->takers[a->product] += a->operand != 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (x->takers[chosen[i].product] != x->readers[chosen[i].product])
			chosen[i].operand = 0;
}

static int look_at(struct finding *x, uint32_t at)
{
	bool here = true;
	int r = find_sums(x, at);

	if (r != 0 || !x->sums.len)
		return MIN(r, 0);
	for (size_t i = 0; i < x->sums.len; i++) {
		if (comes_round(x, at, x->sums.at[i]))
			doubt(x, at);
		here &= x->g->block_of[x->sums.at[i]] == x->g->block_of[at] && x->sums.at[i] > at;
	}
	note_candidate(x, at);
	if (here)
		note_here(x, at);
	else
		note_elsewhere(x, at);
	return 0;
}

static bool any(const struct cfg *g, bool (*is)(const struct ptx_stmt *s))
{
	for (size_t i = 0; i < g->f->body.len; i++)
		if (is(&g->f->body.at[i]))
			return true;
	return false;
}

int contract_find(struct arena *a, const struct cfg *g, struct contract *ret)
{
	const ptx_body *body = &g->f->body;
	struct finding x = {.g = g, .ret = ret};
	struct cfg_chains *c;
	struct arena own;
	int r = 0;

	*ret = (struct contract){.from = ARENA_ARRAY(a, uint32_t, body->len + 1),
		.unfused = arena_zalloc(a, body->len + 1),
		.anywhere = arena_zalloc(a, body->len + 1),
		.fused = arena_zalloc(a, (body->len + 1) * sizeof(*ret->fused)),
		.chosen = arena_zalloc(a, (body->len + 1) * sizeof(*ret->chosen)),
		.doubtful = CFG_NONE};
	if (!ret->from || !ret->unfused || !ret->anywhere || !ret->fused || !ret->chosen)
		return -ENOMEM;
	memset(ret->from, 0xff, (body->len + 1) * sizeof(*ret->from));
	if (!any(g, contract_is_product) || !any(g, contract_is_sum))
		return 0;
	arena_init(&own, 0);
	r = cfg_chains(&own, g, &c);
	if (r == 0) {
		x.c = c;
		x.seen = arena_zalloc(&own, (size_t)c->n_nodes * sizeof(*x.seen));
		x.may = arena_zalloc(&own, 2 * (body->len + 1) * sizeof(*x.may));
		x.readers = arena_zalloc(&own, (body->len + 1) * sizeof(*x.readers));
		x.takers = arena_zalloc(&own, (body->len + 1) * sizeof(*x.takers));
		r = x.seen && x.may && x.readers && x.takers ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < body->len && r == 0; i++)
		if (contract_is_product(&body->at[i]) && body->at[i].guard == PTX_NO_REG &&
			body->at[i].opd[0].kind == PTX_OPD_REG)
			r = look_at(&x, i);
	if (r == 0)
		choose(&x, (uint32_t)body->len);
	VEC_FREE(&x.todo);
	VEC_FREE(&x.sums);
	arena_finish(&own);
	return r;
}
