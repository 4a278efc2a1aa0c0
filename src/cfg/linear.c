/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds two properties of integer registers from their arithmetic: which contain the thread's index
 * in its block, (tid.z * ntid.y + tid.y) * ntid.x + tid.x, in any spelling, and which end in zero
 * bits.
 *
 * The hardware divides blocks of any shape into warps of 32 consecutive indices (CUDA's thread
 * hierarchy; PTX ISA, %laneid and %tid). A block has at most 1,024 threads, so all products here
 * stay far below 2^31. Therefore width and sign of the arithmetic do not matter.
 *
 * Only registers with a single, unguarded definition are considered. Code that reads such a
 * register gets that value or an undefined one. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>

/* A value as a set of products to add up, each at most once, one bit per product. Bit i stands for
 * a product of up to three factors:
 * - i / 4 selects the first factor: none (0), tid.x (1), tid.y (2) or tid.z (3)
 * - i & 2: ntid.y is a factor
 * - i & 1: ntid.x is a factor
 *
 * For example, bit 9 (4 * 2 + 1) is tid.y * ntid.x. The set is 0 if the value is no such sum. */
#define NTID_X (1u << 1)
#define NTID_Y (1u << 2)
#define TID_X  (1u << 4)
#define TID_Y  (1u << 8)
#define TID_Z  (1u << 12)
#define NUMBER (TID_X | TID_Y << 1 | TID_Z << 3)

#define ZEROS_MAX 64

struct search {
	const struct ptx_func *f;
	uint8_t *n_defs; /* for each register: number of its definitions, at most 2 */
	uint16_t *sum;
	uint8_t *zeros;
};

static void count_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct search *c = user;

	if ((role & PTX_DEF) && c->n_defs[reg] < 2)
		c->n_defs[reg]++;
}

static bool is_plain_reg(const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_REG && !o->selector && !o->negated;
}

static uint16_t sum_of(const struct search *c, const struct ptx_opd *o)
{
	if (is_plain_reg(o))
		return c->sum[o->reg];
	if (o->kind != PTX_OPD_SPECIAL)
		return 0;
	switch (o->value) {
	case PTX_SR_TID_X:
		return TID_X;
	case PTX_SR_TID_Y:
		return TID_Y;
	case PTX_SR_TID_Z:
		return TID_Z;
	case PTX_SR_NTID_X:
		return NTID_X;
	case PTX_SR_NTID_Y:
		return NTID_Y;
	default:
		return 0;
	}
}

static uint16_t add(uint16_t a, uint16_t b)
{
	return a && b && !(a & b) ? a | b : 0;
}

static uint16_t multiply(uint16_t a, uint16_t b)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 16; j++) {
			if (!(a >> i & 1) || !(b >> j & 1))
				continue;
			if ((i & j & 3) || (i / 4 && j / 4) || (sum >> (i | j) & 1))
				return 0;
			sum |= 1u << (i | j);
		}
	return (uint16_t)sum;
}

static unsigned zeros_of(const uint8_t *zeros, const struct ptx_opd *o)
{
	unsigned n = 0;

	if (is_plain_reg(o))
		return zeros[o->reg];
	if (o->kind != PTX_OPD_IMM || !o->has_value)
		return 0;
	while (n < ZEROS_MAX && !(o->value >> n & 1))
		n++;
	return n;
}

bool cfg_is_plain_integer(const struct ptx_mnem *mn)
{
	for (unsigned i = 0; i < mn->n_types; i++)
		if (!ptx_is_plain_integer(mn->type[i]))
			return false;
	return mn->n_types && !ptx_has_mod(mn, "sat") && !ptx_has_mod(mn, "hi");
}

static uint16_t find_sum(const struct search *c, const struct ptx_stmt *s)
{
	const struct ptx_opd *o = s->opd;

	switch (s->mn->op) {
	case PTX_OP_mov:
	case PTX_OP_cvt:
		return sum_of(c, &o[1]);
	case PTX_OP_add:
		return add(sum_of(c, &o[1]), sum_of(c, &o[2]));
	case PTX_OP_mul:
		return multiply(sum_of(c, &o[1]), sum_of(c, &o[2]));
	case PTX_OP_mad:
		return add(multiply(sum_of(c, &o[1]), sum_of(c, &o[2])), sum_of(c, &o[3]));
	default:
		return 0;
	}
}

/* Returns the number of trailing zero bits that the result certainly has. Overflow and changes of
 * width do not affect trailing zeros. */
static unsigned find_zeros(const uint8_t *zeros, const struct ptx_stmt *s)
{
	const struct ptx_opd *o = s->opd;
	unsigned a = zeros_of(zeros, &o[1]), b = s->n > 2 ? zeros_of(zeros, &o[2]) : 0;

	switch (s->mn->op) {
	case PTX_OP_mov:
	case PTX_OP_cvt:
		return a;
	case PTX_OP_shl:
		return o[2].kind == PTX_OPD_IMM && o[2].has_value ? a + MIN(o[2].value, 64u) : 0;
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_or:
	case PTX_OP_xor:
		return MIN(a, b);
	case PTX_OP_and:
		return MAX(a, b);
	case PTX_OP_mul:
		return a + b;
	case PTX_OP_mad:
		return MIN(a + b, zeros_of(zeros, &o[3]));
	default:
		return 0;
	}
}

static bool visit(struct search *c, const struct ptx_stmt *s)
{
	uint32_t to;
	uint16_t sum;
	uint8_t zeros;

	if (s->kind != PTX_INSN || s->guard != PTX_NO_REG || s->n < 2 || s->n != s->mn->n_needed ||
		!is_plain_reg(&s->opd[0]) || c->n_defs[s->opd[0].reg] != 1 ||
		!cfg_is_plain_integer(s->mn))
		return false;
	to = s->opd[0].reg;
	sum = find_sum(c, s);
	zeros = (uint8_t)MIN(find_zeros(c->zeros, s), ZEROS_MAX);
	if (c->sum[to] == sum && c->zeros[to] == zeros)
		return false;
	c->sum[to] = sum;
	c->zeros[to] = zeros;
	return true;
}

/* Visits all statements in text order until nothing changes. A definition usually precedes its uses
 * in the text; loops need further passes. */
static void solve(struct search *c)
{
	bool changed = true;

	for (size_t i = 0; i < c->f->body.len; i++)
		ptx_visit_regs(c->f, &c->f->body.at[i], count_def, c);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < c->f->body.len; i++)
			changed |= visit(c, &c->f->body.at[i]);
	}
}

static bool is_number(uint16_t sum, bool blocks_1d)
{
	if (blocks_1d) /* tid.y and tid.z are 0 in one-dimensional blocks */
		return (sum & (TID_X * 15 | 15)) == TID_X;
	return sum == NUMBER;
}

bool cfg_is_thread_number(const struct cfg_linear *l, const struct ptx_opd *o)
{
	if (o->kind == PTX_OPD_SPECIAL)
		return l->blocks_1d && o->value == PTX_SR_TID_X;
	return is_plain_reg(o) && l->number[o->reg];
}

unsigned cfg_zeros(const struct cfg_linear *l, const struct ptx_opd *o)
{
	return zeros_of(l->zeros, o);
}

int cfg_linear_find(const struct cfg *g, bool blocks_1d, struct cfg_linear *ret)
{
	size_t regs = g->f->regs.len;
	struct search c = {.f = g->f};

	c.n_defs = calloc(regs + 1, 1);
	c.sum = calloc(regs + 1, sizeof(*c.sum));
	c.zeros = calloc(regs + 1, 1);
	*ret = (struct cfg_linear){blocks_1d, calloc(regs + 1, sizeof(*ret->number)), c.zeros};
	if (c.n_defs && c.sum && c.zeros && ret->number) {
		solve(&c);
		for (size_t i = 0; i < regs; i++)
			ret->number[i] = is_number(c.sum[i], blocks_1d);
	}
	free(c.n_defs);
	free(c.sum);
	return c.n_defs && c.sum && c.zeros && ret->number ? 0 : -ENOMEM;
}

void cfg_linear_finish(struct cfg_linear *l)
{
	free(l->number);
	free(l->zeros);
}
