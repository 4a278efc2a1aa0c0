/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Special registers as operands. ptxas accepts them in two places, and so does this file:
 * - as the whole source of mov and cvt, with an integer type of the register's size
 * - as an element of a source vector: mov.b64 %d1, {%ctaid.x, %r1}; st.v2, red.v2, tex, mma, …
 *
 * The second form is replaced by the first: a mov before the statement copies the special register
 * into a new register, which becomes the element. So all code behind the parser sees special
 * registers only as the source of mov and cvt. The mov has no guard: reading a special register has
 * no effect.
 *
 * tests/ptx/special_operands.txt has what ptxas 13.0 says of each place and each type. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

/* The sizes, in bytes, that a special register can be read with. */
enum { READS_16 = 2, READS_32 = 4, READS_64 = 8 };

static bool is_whole_vector(const struct ptx_opd *o)
{
	return o->value == PTX_SR_TID || o->value == PTX_SR_NTID || o->value == PTX_SR_CTAID ||
	       o->value == PTX_SR_NCTAID;
}

static unsigned sizes_of(const struct ptx_opd *o)
{
	size_t len = strlen(o->name);

	switch (o->value) {
	case PTX_SR_CLOCK64:
	case PTX_SR_GLOBALTIMER:
		return READS_64;
	case PTX_SR_GRIDID:
		return READS_16 | READS_32 | READS_64;
	case PTX_SR_OTHER:
		if (!strcmp(o->name, "%is_explicit_cluster"))
			return 0; /* it is a predicate */
		if (!strcmp(o->name, "%current_graph_exec") ||
			(len > 3 && !strcmp(o->name + len - 3, "_64")))
			return READS_64;
		return !strcmp(o->name + len - 2, ".w") ? READS_16 | READS_32 : READS_32;
	default:
		return o->value < PTX_SR_LANEID ? READS_16 | READS_32 : READS_32;
	}
}

static bool is_integer(uint8_t type)
{
	return type >= PTX_U8 && type <= PTX_B64;
}

static bool complain(struct ptx_parser *p, const struct ptx_opd *o, const char *why)
{
	struct ptx_special_seen *seen = &p->special;
	const char *line_start = p->line_start;
	uint32_t line = p->line;

	p->line = seen->line;
	p->line_start = seen->line_start;
	ptx_error(p, seen->at, strlen(o->name), "%.200s: %s", o->name, why);
	p->line = line;
	p->line_start = line_start;
	return false;
}

/* ---- special registers as the source of mov and cvt ---- */
static bool check_mov(struct ptx_parser *p, const struct ptx_opd *o)
{
	const struct ptx_mnem *mn = p->mnem;
	uint8_t type = mn->n_types ? mn->type[0] : PTX_NOTYPE;

	if (is_whole_vector(o))
		return (mn->vec == 4 && is_integer(type) && ptx_type_bytes(type) == 4) ||
		       complain(p, o, "all components together are read by mov.v4.u32 only");
	if (mn->vec > 1)
		return complain(p, o, "one value for several registers");
	if (type == PTX_PRED && !sizes_of(o))
		return true;
	if (!is_integer(type))
		return complain(p, o, "mov reads special registers with integer types only");
	return sizes_of(o) & ptx_type_bytes(type) ||
	       complain(p, o, "its size is not that of the instruction's type");
}

static bool check_cvt(struct ptx_parser *p, const struct ptx_opd *o)
{
	const struct ptx_mnem *mn = p->mnem;

	if (is_whole_vector(o))
		return complain(p, o, "all components together are read by mov.v4.u32 only");
	if (mn->n_types != 2 || !is_integer(mn->type[0]) || !is_integer(mn->type[1]) ||
		!sizes_of(o) || ptx_has_mod(mn, "pack"))
		return complain(p, o, "cvt reads special registers from integer to integer only");
	return ptx_type_bytes(mn->type[1]) < 8 || sizes_of(o) & READS_64 ||
	       complain(p, o, "its size is not that of the instruction's type");
}

static bool check_whole(struct ptx_parser *p, const struct ptx_opd *o, unsigned i)
{
	if (i == 1 && p->mnem->op == PTX_OP_mov)
		return check_mov(p, o);
	if (i == 1 && p->mnem->op == PTX_OP_cvt)
		return check_cvt(p, o);
	return complain(p, o,
		"only mov and cvt read a special register, and { } holds it: use mov to copy it "
		"to a register first");
}

/* ---- special registers as vector elements ---- */
/* Returns whether an element of `bytes` bytes (0: not known) can be this special register. */
static bool check_element(
	struct ptx_parser *p, const struct ptx_opd *o, const struct ptx_opd *vector)
{
	const struct ptx_mnem *mn = p->mnem;
	uint8_t type = mn->n_types ? mn->type[0] : PTX_NOTYPE;
	unsigned bytes = ptx_type_bytes(type), size = sizes_of(o) & READS_64 ? 8 : 4;

	if (is_whole_vector(o))
		return complain(p, o, "an element of a vector is a single component");
	if (mn->op == PTX_OP_wmma_store || mn->op == PTX_OP_call || !sizes_of(o))
		return complain(p, o, "this instruction reads no special register");
	if (mn->op == PTX_OP_mov) {
		if (mn->vec <= 1)
			bytes /= vector->n;
		return bytes == size || complain(p, o, "its size is not that of the element");
	}
	if (mn->op != PTX_OP_st)
		return true;
	if (type == PTX_F16 || type == PTX_BF16)
		return complain(p, o, "elements of this type are no integers");
	return bytes <= size || complain(p, o, "its size is not that of the element");
}

static void replace(struct ptx_parser *p, struct ptx_opd *o)
{
	bool wide = sizes_of(o) & READS_64;
	uint32_t reg = ptx_reg_before(p, wide ? PTX_B64 : PTX_B32, "special");
	struct ptx_opd opd[2] = {{.kind = PTX_OPD_REG, .reg = reg}, *o};

	ptx_insn_before(p, wide ? "mov.u64" : "mov.u32", opd, 2);
	*o = opd[0];
}

static bool check_list(struct ptx_parser *p, struct ptx_opd *list, bool reads)
{
	for (uint32_t i = 0; i < list->n; i++) {
		struct ptx_opd *o = &list->list[i];

		if (o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR && !check_list(p, o, reads))
			return false;
		if (o->kind != PTX_OPD_SPECIAL)
			continue;
		if (list->kind == PTX_OPD_ADDR)
			return complain(p, o, "an address is a register or a variable");
		if (list->kind != PTX_OPD_VECTOR)
			return complain(p, o, "use mov to copy it to a register first");
		if (!reads)
			return complain(p, o, "cannot be written");
		if (!check_element(p, o, list))
			return false;
		replace(p, o);
	}
	return true;
}

bool ptx_parse_specials(struct ptx_parser *p, struct ptx_opd *opd, unsigned n)
{
	const char *shape = p->mnem->shape;

	for (unsigned i = 0; i < n; i++) {
		bool written = *shape == 'd' || *shape == 'b';
		struct ptx_opd *o = &opd[i];

		if (o->kind == PTX_OPD_SPECIAL && written)
			return complain(p, o, "cannot be written");
		if (o->kind == PTX_OPD_SPECIAL && !check_whole(p, o, i))
			return false;
		if (o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR &&
			!check_list(p, o, o->kind == PTX_OPD_ADDR || !written))
			return false;
		if (*shape && *++shape == '?')
			shape++;
	}
	return true;
}
