/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes known contraction decisions (contract.h) explicit in the instructions, so that ptxas cannot
 * decide differently after a pass moves code or parameters. */
#include "cfg/contract.h"
#include "ptx/edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct settling {
	struct ptx_module *m;
	struct ptx_func *f;
	struct diag_list *diags;
	ptx_body out;
	int error;
};

static void name_operation(const struct ptx_stmt *s, const char *op, char ret[64])
{
	snprintf(ret, 64, "%s%s", op, s->mn->text + strcspn(s->mn->text, "."));
}

/* Emits an instruction that negates an operand, and returns the result's register. */
static struct ptx_opd negated(
	struct settling *x, const struct ptx_stmt *sum, const struct ptx_opd *o)
{
	uint8_t type = sum->mn->type[0];
	const char *name = ptx_type_name(type);
	const char *reg = type == PTX_F32 || type == PTX_F64        ? name
			  : type == PTX_F16X2 || type == PTX_BF16X2 ? "b32"
								    : "b16";
	uint32_t to = x->error ? 0 : ptx_new_reg(x->m, x->f, &x->out, reg, "ng");
	struct ptx_opd ret = *o;
	char text[128];

	ptx_reg_name(x->f, to, text, sizeof(text));
	if (!x->error)
		x->error = ptx_append(
			x->m, x->f, &x->out, x->diags, "neg.%s %s, %s;", name, text, text);
	if (x->error)
		return ret;
	ret = x->out.at[x->out.len - 1].opd[0];
	x->out.at[x->out.len - 1].opd[1] = *o;
	return ret;
}

/* Emits a contracted sum as one fused instruction: a * b + c. */
static void put_fused(
	struct settling *x, const struct ptx_stmt *sum, const struct contract_fused *f)
{
	const struct ptx_stmt *product = &x->f->body.at[f->product];
	bool is_sub = sum->mn->op == PTX_OP_sub, first = f->operand == 1;
	struct ptx_opd a = product->opd[1], b = product->opd[2], c = sum->opd[first ? 2 : 1];
	size_t from = x->out.len;
	struct ptx_stmt s = *sum;
	char op[64], to[128];

	if ((is_sub && !first) != f->negated)
		a = negated(x, sum, &a);
	if (is_sub && first)
		c = negated(x, sum, &c);
	name_operation(sum, "fma.rn", op);
	ptx_reg_name(x->f, sum->opd[0].reg, to, sizeof(to));
	if (!x->error)
		x->error = ptx_append(
			x->m, x->f, &x->out, x->diags, "%s %s, %s, %s, %s;", op, to, to, to, to);
	if (x->error)
		return;
	s = x->out.at[x->out.len - 1];
	s.opd[1] = a;
	s.opd[2] = b;
	s.opd[3] = c;
	s.guard = sum->guard;
	s.guard_negated = sum->guard_negated;
	x->out.at[x->out.len - 1] = s;
	for (size_t i = from; i < x->out.len; i++)
		x->out.at[i].line = sum->line;
}

static void round_alone(struct settling *x, struct ptx_stmt *s)
{
	char text[64];

	name_operation(s,
		s->mn->op == PTX_OP_mul   ? "mul.rn"
		: s->mn->op == PTX_OP_add ? "add.rn"
					  : "sub.rn",
		text);
	s->mn = ptx_get_mnem(x->m, text);
	x->error = s->mn ? 0 : -ENOMEM;
}

static bool settle_one(struct settling *x, const struct contract *c, size_t i)
{
	struct ptx_stmt s = x->f->body.at[i];

	if (c->fused[i].operand) {
		put_fused(x, &s, &c->fused[i]);
		return true;
	}
	if (c->unfused[i])
		round_alone(x, &s);
	if (!x->error && !VEC_PUSH(&x->out, s))
		x->error = -ENOMEM;
	return c->unfused[i];
}

static bool fuse_one(struct settling *x, const struct contract *c, size_t i)
{
	const struct ptx_stmt *s = &x->f->body.at[i];

	if (c->chosen[i].operand)
		put_fused(x, s, &c->chosen[i]);
	else if (!VEC_PUSH(&x->out, *s))
		x->error = -ENOMEM;
	return c->chosen[i].operand;
}

/* Rewrites the body by calling `one` for each statement. `one` returns true if it changed the
 * statement. */
static int rewrite(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags,
	bool (*one)(struct settling *x, const struct contract *c, size_t i), size_t *ret_n)
{
	struct settling x = {.m = m, .f = f, .diags = diags};
	struct contract c;
	struct cfg *g;
	struct arena a;
	size_t n = 0;

	arena_init(&a, 0);
	x.error = cfg_build(&a, f, &g);
	if (x.error == 0)
		x.error = contract_find(&a, g, &c);
	for (size_t i = 0; i < f->body.len && x.error == 0; i++)
		n += one(&x, &c, i);
	arena_finish(&a);
	if (x.error || !n) {
		VEC_FREE(&x.out);
		return x.error;
	}
	VEC_FREE(&f->body);
	f->body = x.out;
	*ret_n += n;
	return 0;
}

int contract_settle(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n)
{
	return rewrite(m, f, diags, settle_one, ret_n);
}

int contract_fuse(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n)
{
	return rewrite(m, f, diags, fuse_one, ret_n);
}
