/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the statements that implement one instruction. The last of them must be the same
 * instruction on the corresponding registers; before it may stand only code that passes may insert
 * (may_precede). Registers of a kernel and of the rewritten code correspond one to one. The first
 * use of a register decides its counterpart. */
#include "pass/analysis/masks.h"
#include "pass/analysis/unread.h"
#include "pass/verify/verify_private.h"

#include <stdlib.h>
#include <string.h>

static uint8_t type_of(const struct ptx_func *f, uint32_t reg)
{
	return f->regs.at[reg].sym->type.base;
}

bool verify_reg(struct verify_pair *p, uint32_t plain, uint32_t now, uint32_t at)
{
	char a[128], b[128];

	if (plain == PTX_NO_REG && now == PTX_NO_REG)
		return true;
	if (plain != PTX_NO_REG && now != PTX_NO_REG) {
		if (p->reg[plain] == now)
			return true;
		if (p->reg[plain] == NONE && p->back[now] == NONE &&
			type_of(p->p, plain) == type_of(p->q, now)) {
			p->reg[plain] = now;
			p->back[now] = plain;
			return true;
		}
	}
	verify_tell(p, PASS_RULE_CODE, at, p->of[at], "`%s` has register %s in place of %s in `%s`",
		verify_text(p, p->q, at),
		now == PTX_NO_REG ? "none" : ptx_reg_name(p->q, now, a, sizeof(a)),
		plain == PTX_NO_REG ? "none" : ptx_reg_name(p->p, plain, b, sizeof(b)),
		verify_text(p, p->p, p->of[at]));
	return false;
}

static bool differs(struct verify_pair *p, uint32_t at)
{
	verify_tell(p, PASS_RULE_CODE, at, p->of[at],
		"`%s` replaces `%s`, which is another operation", verify_text(p, p->q, at),
		verify_text(p, p->p, p->of[at]));
	return false;
}

static bool same_list(
	struct verify_pair *p, const struct ptx_opd *plain, const struct ptx_opd *now, uint32_t at)
{
	if (plain->n != now->n)
		return differs(p, at);
	for (uint32_t i = 0; i < plain->n; i++)
		if (!verify_operand(p, &plain->list[i], &now->list[i], at))
			return false;
	return true;
}

/* Compares two addresses, each of the form "[name + a] + b": the kernel's and that of the rewritten
 * code. In the rewritten code a kernel's variable may be a part of a larger array, so that the name
 * is the array's and `a` or `b` contains the variable's offset. So not a and b, but only their sums
 * are compared (verify_name). */
static bool same_address(
	struct verify_pair *p, const struct ptx_opd *plain, const struct ptx_opd *now, uint32_t at)
{
	const struct ptx_opd *a = &plain->list[0], *b = &now->list[0];

	if (plain->n != now->n || !plain->n)
		return differs(p, at);
	if (a->kind == PTX_OPD_SYM && b->kind == PTX_OPD_SYM) {
		if (!verify_name(p, a->sym, plain->value + (a->has_value ? a->value : 0), b->sym,
			    now->value + (b->has_value ? b->value : 0), at))
			return false;
	} else if (plain->value != now->value || !verify_operand(p, a, b, at)) {
		return plain->value != now->value ? differs(p, at) : false;
	}
	for (uint32_t i = 1; i < plain->n; i++)
		if (!verify_operand(p, &plain->list[i], &now->list[i], at))
			return false;
	return true;
}

bool verify_operand(
	struct verify_pair *p, const struct ptx_opd *plain, const struct ptx_opd *now, uint32_t at)
{
	if (plain->kind != now->kind || plain->negated != now->negated ||
		plain->selector != now->selector)
		return differs(p, at);
	switch (plain->kind) {
	case PTX_OPD_REG:
		return verify_reg(p, plain->reg, now->reg, at);
	case PTX_OPD_SYM:
		if (!plain->sym || !now->sym)
			return plain->sym == now->sym || differs(p, at);
		return verify_name(p, plain->sym, plain->has_value ? plain->value : 0, now->sym,
			now->has_value ? now->value : 0, at);
	case PTX_OPD_ADDR:
		return same_address(p, plain, now, at);
	case PTX_OPD_VECTOR:
	case PTX_OPD_TUPLE:
	case PTX_OPD_PAIR:
		return same_list(p, plain, now, at);
	case PTX_OPD_IMM:
	case PTX_OPD_FLOAT:
	case PTX_OPD_SPECIAL:
		if (plain->value != now->value || plain->has_value != now->has_value)
			return differs(p, at);
		return plain->has_value || plain->kind != PTX_OPD_SPECIAL ||
		       plain->value < PTX_SR_ENVREG || !strcmp(plain->name, now->name) ||
		       differs(p, at);
	default: /* raw text, which may contain renamed symbols */
		return true;
	}
}

static bool same_guard(struct verify_pair *p, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *plain = &p->p->body.at[p->of[at]];

	if (plain->guard_negated != s->guard_negated && plain->guard != PTX_NO_REG)
		return differs(p, at);
	return verify_reg(p, plain->guard, s->guard, at);
}

/* ---- calls ---- */
static const struct ptx_opd *callee_of(const struct ptx_stmt *s, unsigned *ret_at)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->opd[i].kind == PTX_OPD_SYM && s->opd[i].sym) {
			*ret_at = i;
			return &s->opd[i];
		}
	return NULL;
}

/* Checks that a call has the original arguments, which ids may follow. */
static bool same_call(struct verify_pair *p, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *plain = &p->p->body.at[p->of[at]];
	unsigned i = 0, k = 0;
	const struct ptx_opd *a = callee_of(plain, &i), *b = callee_of(s, &k);
	bool is_direct = a && b && a->sym->kind == PTX_SYM_FUNC;

	if (!is_direct || i != k || s->n < plain->n) {
		if (is_direct || s->n != plain->n)
			return differs(p, at);
		for (i = 0; i < s->n; i++)
			if (!verify_operand(p, &plain->opd[i], &s->opd[i], at))
				return false;
		return true;
	}
	if (b->sym->kind != PTX_SYM_FUNC)
		return differs(p, at);
	if (!verify_name(p, a->sym, 0, b->sym, 0, at))
		return false;
	for (i = 0; i < plain->n; i++) {
		struct ptx_opd own = s->opd[i];

		if (i == k)
			continue;
		if (i == k + 1 && own.kind == PTX_OPD_TUPLE && plain->opd[i].n < own.n)
			own.n = plain->opd[i].n;
		if (!verify_operand(p, &plain->opd[i], &own, at))
			return false;
	}
	return true;
}

/* ---- comparing instructions ---- */
/* Returns whether a pass may insert s before an instruction. It may insert the arguments of a call,
 * and an `and` that removes exited lanes from a member mask. */
static bool may_precede(const struct ptx_stmt *plain, const struct ptx_stmt *s)
{
	if (s->kind != PTX_INSN)
		return true;
	if (plain->mn->op == PTX_OP_call)
		return s->mn->space == PTX_PARAM;
	return pass_mask_of(plain) && s->mn->op == PTX_OP_and;
}

/* Returns whether the statement's mask is computed by an `and` with the kernel's own mask. */
static bool is_masked(struct verify_pair *p, uint32_t from, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *plain = &p->p->body.at[p->of[at]];
	const struct ptx_stmt *and = at > from ? &p->q->body.at[at - 1] : NULL;

	return and&&and->kind == PTX_INSN && and->n == 3 && s->n == plain->n &&
	       s->opd[s->n - 1].kind == PTX_OPD_REG && and->opd[0].reg == s->opd[s->n - 1].reg &&
	       verify_operand(p, &plain->opd[plain->n - 1], &and->opd[2], at);
}

/* Returns whether `red` replaces an atomic whose result the kernel never reads. */
static bool is_reduced(struct verify_pair *p, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *plain = &p->p->body.at[p->of[at]];
	uint64_t *read;
	bool is;

	if (!pass_is_reduction_of(s->mn, plain->mn))
		return false;
	read = pass_find_read(p->p);
	p->v->failed |= !read;
	is = read && pass_is_unread(plain, read) && s->n + 1 == plain->n;
	free(read);
	return is;
}

static void same_instruction(struct verify_pair *p, uint32_t from, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at], *plain = &p->p->body.at[p->of[at]];
	unsigned n = plain->n, first = is_reduced(p, at);

	for (uint32_t i = from; i < at; i++)
		if (!may_precede(plain, &p->q->body.at[i])) {
			differs(p, i);
			return;
		}
	if (!first && strcmp(plain->mn->text, s->mn->text) != 0) {
		differs(p, at);
		return;
	}
	if (!same_guard(p, at))
		return;
	if (plain->mn->op == PTX_OP_call) {
		same_call(p, at);
		return;
	}
	if (plain->n != s->n + first) {
		differs(p, at);
		return;
	}
	if (pass_mask_of(plain) && at > from && is_masked(p, from, at))
		n--;
	for (unsigned i = first; i < n; i++)
		if (!verify_operand(p, &plain->opd[i], &s->opd[i - first], at))
			return;
}

/* Finds the counterpart of a guard register that no checked statement has used so far. The
 * counterpart is the guard of the rewritten code's branch, or the operand of the vote that computes
 * that guard. */
static void meet_guard(struct verify_pair *p, uint32_t from, uint32_t end)
{
	uint32_t guard = p->p->body.at[p->of[from]].guard;

	for (uint32_t i = from; i < end && guard != PTX_NO_REG && p->reg[guard] == NONE; i++) {
		const struct ptx_stmt *s = &p->q->body.at[i], *by;

		if (s->kind != PTX_INSN || s->guard == PTX_NO_REG || verify_is_never(p, i))
			continue;
		by = verify_written(p->qg, i, s->guard);
		if (by && by >= &p->q->body.at[from] && by->mn->op == PTX_OP_vote &&
			by->opd[1].kind == PTX_OPD_REG)
			verify_reg(p, guard, by->opd[1].reg, i);
		else
			verify_reg(p, guard, s->guard, i);
	}
}

/* Checks that a branch consists only of branches and of code that computes their guards.
 * verify_flow.c checks where it leads. */
static void same_branch(struct verify_pair *p, uint32_t from, uint32_t end)
{
	const struct ptx_stmt *plain = &p->p->body.at[p->of[from]];

	meet_guard(p, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct ptx_stmt *s = &p->q->body.at[i];

		if (s->kind != PTX_INSN)
			continue;
		if (s->mn->op == PTX_OP_brx) {
			if (plain->mn->op != PTX_OP_brx)
				differs(p, i);
			else if (same_guard(p, i))
				verify_operand(p, &plain->opd[0], &s->opd[0], i);
		} else if (!(s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT)) &&
			   s->mn->op != PTX_OP_setp && s->mn->op != PTX_OP_vote &&
			   !(s->mn->op == PTX_OP_ld && s->mn->space == PTX_PARAM)) {
			differs(p, i);
		}
	}
}

void verify_code(struct verify_pair *p, uint32_t from, uint32_t end)
{
	const struct ptx_stmt *plain = &p->p->body.at[p->of[from]];
	uint32_t last = end;

	while (last > from + 1 && p->q->body.at[last - 1].kind != PTX_INSN)
		last--;
	if (plain->mn->flags & PTX_F_BARRIER)
		verify_barrier(p, from, last);
	else if (plain->mn->flags & PTX_F_BRANCH || plain->mn->op == PTX_OP_ret ||
		 plain->mn->op == PTX_OP_exit)
		same_branch(p, from, last);
	else if (!verify_ids(p, from, last))
		same_instruction(p, from, last - 1);
}
