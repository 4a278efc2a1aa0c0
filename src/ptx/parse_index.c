/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses array[index] as an operand (PTX ISA, "Arrays as Operands"), and replaces it by simpler
 * operands. A constant index becomes the address "array+bytes", as in ptxas. For an index in a
 * register, instructions that are added before the statement compute the address.
 *
 * Like ptxas, these instructions take 32 bits of the register and add the constant of the index, if
 * it has one. They then scale the unsigned sum by the size of one scalar element, even if the
 * elements are vectors or the array has several dimensions. */
#include "base/number.h"
#include "ptx/lex.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct ptx_opd reg_opd(uint32_t reg)
{
	return (struct ptx_opd){.kind = PTX_OPD_REG, .reg = reg};
}

static struct ptx_opd value_opd(uint64_t value)
{
	return (struct ptx_opd){.kind = PTX_OPD_IMM, .has_value = 1, .value = value};
}

static void put_before(struct ptx_parser *p, const struct ptx_stmt *st)
{
	if (!VEC_PUSH(&p->before, *st))
		ptx_give_up(p, -ENOMEM);
}

void ptx_insn_before(struct ptx_parser *p, const char *mnem, const struct ptx_opd *opd, unsigned n)
{
	struct ptx_stmt st = {.kind = PTX_INSN, .n = (uint8_t)n, .guard = PTX_NO_REG};
	char text[32] = {0}; /* eight bytes after a name must be readable */

	memcpy(text, mnem, strlen(mnem));
	st.mn = ptx_mnem_for(p->m, text, strlen(mnem));
	st.opd = arena_alloc(&p->m->arena, n * sizeof(*opd));
	if (!st.mn || !st.opd)
		ptx_give_up(p, 0);
	memcpy(st.opd, opd, n * sizeof(*opd));
	put_before(p, &st);
}

/* Moves the numbers of fresh names past those of the names "%hd_index_N" and "%hd_special_N" in the
 * rest of the text, which may declare them later. */
static void skip_used_names(struct ptx_parser *p)
{
	static const char *const names[] = {"%hd_index_", "%hd_special_"};

	p->knows_fresh = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *s = p->s;

		while ((s = memmem(s, (size_t)(p->end - s), names[i], strlen(names[i])))) {
			uint64_t number;

			s += strlen(names[i]);
			number = number_digits(s, (size_t)(p->end - s), 10).value;
			if (number < UINT32_MAX / 2 && number >= p->m->fresh)
				p->m->fresh = (unsigned)number + 1;
		}
	}
}

uint32_t ptx_reg_before(struct ptx_parser *p, enum ptx_base_type type, const char *hint)
{
	struct ptx_stmt st = {.kind = PTX_DECL, .guard = PTX_NO_REG};
	char text[48] = {0};
	struct ptx_name *n;
	int len;

	if (!p->is_snippet && !p->knows_fresh)
		skip_used_names(p);
	do {
		len = snprintf(text, sizeof(text) - 8, "%%hd_%s_%u", hint, p->m->fresh++);
		n = ptx_name_at(p, text, (size_t)len);
	} while (n->local || n->global);
	st.sym = ptx_sym_new(p->m, PTX_SYM_REG, n);
	if (!st.sym)
		ptx_give_up(p, 0);
	st.sym->space = PTX_REG;
	st.sym->type.base = (uint8_t)type;
	st.sym->type.vec = 1;
	if (ptx_bind_reg(p->m, n, st.sym) < 0 || ptx_declare_regs(p->m, p->f, st.sym) < 0)
		ptx_give_up(p, 0);
	if (p->depth == 0 && !VEC_PUSH(&p->f->syms, st.sym))
		ptx_give_up(p, -ENOMEM);
	put_before(p, &st);
	return st.sym->first_reg;
}

static bool is_index_type(const struct ptx_type *type)
{
	return ptx_is_plain_integer(type->base) && type->vec <= 1;
}

/* Computes the index: the register's low 32 bits plus the constant. Returns false and reports an
 * error if the register's type cannot be an index. */
static bool index_reg(
	struct ptx_parser *p, const char *at, uint32_t from, uint64_t plus, uint32_t *ret_reg)
{
	const struct ptx_type *type = &p->f->regs.at[from].sym->type;
	struct ptx_opd opd[3] = {{0}, reg_opd(from), value_opd((uint32_t)plus)};

	if (!is_index_type(type)) {
		ptx_error(p, at, 1, "an index should be an integer register of 32 or 64 bits");
		return false;
	}
	*ret_reg = from;
	if (ptx_type_bytes(type->base) == 8) {
		*ret_reg = ptx_reg_before(p, PTX_B32, "index");
		opd[0] = reg_opd(*ret_reg);
		ptx_insn_before(p, "cvt.u32.u64", opd, 2);
		opd[1] = opd[0];
	}
	if ((uint32_t)plus) {
		*ret_reg = ptx_reg_before(p, PTX_B32, "index");
		opd[0] = reg_opd(*ret_reg);
		ptx_insn_before(p, "add.s32", opd, 3);
	}
	return true;
}

/* Replaces the operand by a register that holds the element's address, computed before the
 * statement. */
static bool computed(struct ptx_parser *p, struct ptx_opd *o, const char *at, uint64_t plus,
	uint32_t index, unsigned element_bytes)
{
	struct ptx_opd opd[4] = {{0}};
	uint32_t to;

	if (p->m->address_bits != 64) {
		ptx_error(p, at, 1, "an index in a register needs .address_size 64");
		return false;
	}
	if (p->opd_depth) {
		ptx_error(p, at, 1, "an index in a register cannot stand inside another operand");
		return false;
	}
	if (!index_reg(p, at, index, plus, &index))
		return false;
	to = ptx_reg_before(p, PTX_B64, "index");
	opd[0] = reg_opd(to);
	opd[1] = *o;
	ptx_insn_before(p, "mov.u64", opd, 2);
	opd[1] = reg_opd(index);
	opd[2] = value_opd(element_bytes);
	opd[3] = opd[0];
	ptx_insn_before(p, "mad.wide.u32", opd, 4);
	*o = opd[0];
	return true;
}

/* Turns an array element into an address operand. Loads and stores accept "array[index]" directly;
 * in all other forms an address is written in brackets. */
static void make_address(struct ptx_parser *p, struct ptx_opd *o)
{
	struct ptx_opd *base = arena_alloc(&p->m->arena, sizeof(*base));
	uint64_t plus = o->value;

	if (!base)
		ptx_give_up(p, 0);
	*base = *o;
	*o = (struct ptx_opd){.kind = PTX_OPD_ADDR, .n = 1, .list = base};
	if (base->kind != PTX_OPD_SYM)
		return;
	base->has_value = 0;
	base->value = 0;
	o->has_value = 1;
	o->value = plus;
}

static bool takes_address(const struct ptx_parser *p)
{
	enum ptx_op op = p->mnem ? (enum ptx_op)p->mnem->op : PTX_OP_RAW;

	return p->opd_depth == 0 && (op == PTX_OP_ld || op == PTX_OP_ldu || op == PTX_OP_st);
}

bool ptx_parse_index(struct ptx_parser *p, struct ptx_opd *o)
{
	const char *at = ++p->s, *e;
	struct ptx_opd index = {0};
	unsigned element_bytes;
	bool in_reg = false;
	uint32_t reg = 0;

	if (!o->sym || (o->sym->kind != PTX_SYM_VAR && o->sym->kind != PTX_SYM_PARAM) ||
		!o->sym->is_array || !ptx_type_bytes(o->sym->type.base)) {
		ptx_error(p, at - 1, 1, "%.200s is no array, and takes no index", o->name);
		return false;
	}
	element_bytes = ptx_type_bytes(o->sym->type.base);
	ptx_skip(p);
	at = p->s;
	if (ch_is(*at, CH_START) && !ptx_word_is(at, "WARP_SZ")) {
		e = ptx_ident_end(at);
		in_reg = ptx_find_reg(p->m, at, (size_t)(e - at), &reg);
		if (!in_reg) {
			ptx_error(p, at, (size_t)(e - at), "an index is an integer or a register");
			return false;
		}
		p->s = e;
		ptx_skip(p);
	}
	if ((!in_reg || *p->s == '+' || *p->s == '-') && !ptx_parse_offset(p, &index))
		return false;
	if (!ptx_accept(p, ']')) {
		ptx_error(p, p->s, 1, "']' should stand here");
		return false;
	}
	if (!in_reg && (int64_t)index.value < 0) {
		ptx_error(p, at, 1, "the index of %.200s cannot be negative", o->name);
		return false;
	}
	if (!in_reg) {
		o->has_value = 1;
		o->value = index.value * element_bytes;
	} else if (!computed(p, o, at, index.value, reg, element_bytes)) {
		return false;
	}
	if (takes_address(p))
		make_address(p, o);
	return true;
}

void ptx_put_before(struct ptx_parser *p)
{
	struct ptx_stmt last = p->body->at[p->body->len - 1];

	p->body->len--;
	for (size_t i = 0; i < p->before.len; i++) {
		p->before.at[i].line = last.line;
		p->before.at[i].col = last.col;
		ptx_emit(p, p->before.at[i]);
	}
	p->before.len = 0;
	ptx_emit(p, last);
}
