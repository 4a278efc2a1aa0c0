/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds reads of the hardware's ids that a pass had to replace and did not. Unlike the rest of the
 * verifier, this check needs no record and no original kernel, so it serves all passes. It looks at
 * every operand of every statement, at any depth, of the entry and of all functions that the entry
 * reaches. Statements that heddle itself added have no line; they may read the hardware's ids. */
#include "pass/verify/verify.h"

#include <string.h>

struct look {
	const struct pass_left *left;
	const struct ptx_opd *found;
};

static bool is_left(const struct pass_left *left, const struct ptx_opd *o)
{
	static const uint64_t first[] = {
		PTX_SR_CTAID_X, PTX_SR_NCTAID_X, PTX_SR_TID_X, PTX_SR_NTID_X};

	if (o->value == PTX_SR_DYNAMIC_SMEM || o->value == PTX_SR_TOTAL_SMEM ||
		o->value == PTX_SR_AGGR_SMEM)
		return left->sizes;
	for (unsigned i = 0; i < ARRAY_LEN(first); i++) {
		if (o->value < first[i] || o->value > first[i] + 3)
			continue;
		if (o->value < first[i] + 3)
			return left->id[3 * i + (o->value - first[i])];
		return left->id[3 * i] || left->id[3 * i + 1] || left->id[3 * i + 2];
	}
	return false;
}

static void look_at_operand(void *user, struct ptx_opd *o)
{
	struct look *l = user;

	if (!l->found && o->kind == PTX_OPD_SPECIAL && is_left(l->left, o))
		l->found = o;
}

static unsigned look_at_func(const struct ptx_func *f, const struct pass_left *left,
	unsigned n_left, struct diag_list *diags)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->body.len; i++) {
		struct ptx_stmt s = f->body.at[i];
		/* number of the kernel plus 1; 0: there is only one kernel */
		uint32_t k = s.line >> PTX_LINE_BITS;
		struct look l = {&left[k ? MIN(k, n_left) - 1 : 0], NULL};

		if (s.kind != PTX_INSN || !s.line)
			continue;
		ptx_visit_opds(&s, look_at_operand, &l);
		if (!l.found)
			continue;
		n++;
		diag_add(diags, DIAG_ERROR, s.line & PTX_LINE_MASK, s.col, 1,
			"%s: %s of '%.200s' reads the hardware's %s, not that of the kernel's "
			"block",
			pass_rule_name(PASS_RULE_IDS), s.mn->text, f->sym->name, l.found->name);
	}
	return n;
}

bool pass_verify_left(const struct ptx_module *m, const struct ptx_func *f,
	const struct pass_left *left, unsigned n_left, struct diag_list *diags)
{
	ptx_func_list list = {0};
	struct pass_left common = left[0];
	unsigned n = 0;
	int r = ptx_reached(m, f, &list);

	for (unsigned k = 1; k < n_left; k++)
		for (unsigned i = 0; i < PASS_IDS; i++)
			common.id[i] &= left[k].id[i];
	for (size_t i = 0; r == 0 && i < list.len; i++) {
		bool entry = list.at[i] == f;

		n += look_at_func(list.at[i], entry ? left : &common, entry ? n_left : 1, diags);
	}
	VEC_FREE(&list);
	if (r < 0)
		diag_add(
			diags, DIAG_ERROR, 0, 0, 1, "the result cannot be verified: out of memory");
	return r == 0 && n == 0;
}
