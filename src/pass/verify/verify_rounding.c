/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks multiplications and additions without a rounding modifier. ptxas must be able to contract
 * the same pairs to an fma as in the original kernel, and no other pairs (contract.h). */
#include "cfg/contract.h"
#include "pass/verify/verify_private.h"

/* Returns whether statement `at` of q ends a basic block for ptxas, although the statement that it
 * implements does not. */
static bool splits(const struct verify_pair *p, uint32_t at)
{
	uint32_t plain = p->of[at];

	return contract_splits(&p->q->body.at[at]) &&
	       (plain == NONE || !contract_splits(&p->p->body.at[plain]));
}

/* Checks that ptxas can still contract the sum `at` with the product `from` of the original kernel.
 * The sum and the product must be in one basic block of the rewritten code, with nothing in between
 * that ends a basic block for ptxas. */
static void check_product_before(struct verify_pair *p, uint32_t at, uint32_t from)
{
	uint32_t first = p->qg->at[p->qg->block_of[at]].first;

	for (uint32_t i = at; i-- > first;) {
		if (p->of[i] == from && contract_is_product(&p->q->body.at[i]))
			return;
		if (!splits(p, i))
			continue;
		verify_tell(p, PASS_RULE_ROUNDING, i, p->of[at],
			"`%s` is between `%s` and the operation with which ptxas contracts it",
			verify_text(p, p->q, i), verify_text(p, p->q, at));
		return;
	}
	verify_tell(p, PASS_RULE_ROUNDING, at, p->of[at],
		"`%s` is not in the same basic block as the operation with which ptxas contracts "
		"it",
		verify_text(p, p->q, at));
}

static bool find_contract(struct verify *v, const struct cfg *g, struct contract *ret)
{
	if (contract_find(&v->arena, g, ret) < 0)
		v->failed = true;
	return !v->failed;
}

static bool is_anywhere(const struct verify_pair *p, const struct contract *plain, uint32_t at)
{
	return p->of[at] != NONE && plain->anywhere[p->of[at]];
}

void verify_rounding(struct verify_pair *p)
{
	struct contract plain, now;

	if (!find_contract(p->v, p->pg, &plain) || !find_contract(p->v, p->qg, &now))
		return;
	for (uint32_t i = 0; i < p->q->body.len; i++) {
		uint32_t from = p->of[i];

		if (from == NONE || !contract_is_sum(&p->q->body.at[i]))
			continue;
		from = plain.from[from];
		if (from != CFG_NONE)
			check_product_before(p, i, from);
		else if (now.from[i] != CFG_NONE && !is_anywhere(p, &plain, now.from[i]))
			verify_tell(p, PASS_RULE_ROUNDING, i, p->of[i],
				"a new product is in the basic block of `%s`, and ptxas may "
				"contract both to an fma",
				verify_text(p, p->q, i));
	}
}
