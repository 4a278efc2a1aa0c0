/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks reads of block and thread ids. A block id is in a register that no kernel code writes, and
 * all reads of the id in the entry use the same register. The grid's size is in the kernel's own
 * struct ctl_args. If the rewritten code has more threads than the kernel, thread ids are in
 * registers and the block's size is a constant. */
#include "pass/verify/verify_private.h"

#include <string.h>

/* Maps a special register to the number of an id, 0 to 11; PASS_IDS: it is no id. *ret_all becomes
 * true if the operand is the whole vector of x, y, z and 0. */
static unsigned id_of(const struct ptx_opd *o, bool *ret_all)
{
	static const uint64_t first[] = {
		PTX_SR_CTAID_X, PTX_SR_NCTAID_X, PTX_SR_TID_X, PTX_SR_NTID_X};

	*ret_all = false;
	for (unsigned i = 0; o->kind == PTX_OPD_SPECIAL && i < ARRAY_LEN(first); i++) {
		*ret_all = o->value == first[i] + 3;
		if (o->value >= first[i] && o->value <= first[i] + 3)
			return 3 * i + (*ret_all ? 0 : (unsigned)(o->value - first[i]));
	}
	*ret_all = false;
	return PASS_IDS;
}

static bool report_wrong_id(struct verify_pair *p, uint32_t at, const struct ptx_stmt *by)
{
	verify_tell(p, PASS_RULE_IDS, at, p->of[at], "`%s` replaces `%s`, but has another value",
		verify_text(p, p->q, (uint32_t)(by - p->q->body.at)),
		verify_text(p, p->p, p->of[at]));
	return false;
}

static bool is_imm(const struct ptx_opd *o, uint64_t value)
{
	return o->kind == PTX_OPD_IMM && o->has_value && o->value == value;
}

/* Returns whether reg is a register that a pass added for this id. All reads of the id in the entry
 * must use the same register. */
static bool is_id_reg(struct verify_pair *p, unsigned id, uint32_t reg)
{
	if (p->back[reg] != NONE)
		return false;
	if (!p->entry)
		/* callees get ids as parameters, so each function has its own registers for them */
		return true;
	if (p->g->id_reg[id] == NONE)
		p->g->id_reg[id] = reg;
	return p->g->id_reg[id] == reg;
}

/* Returns whether statement `by` reads id `id`. */
static bool reads_id(struct verify_pair *p, unsigned id, const struct ptx_stmt *by)
{
	const struct pass_merged *form = p->v->r->form;
	const struct ptx_opd *o = &by->opd[1];

	if (id == PASS_IDS) /* fourth component of a vector, always 0 */
		return is_imm(o, 0);
	if (id >= PASS_NTID)
		return is_imm(o, p->g->from->block[id - PASS_NTID]);
	if (o->kind == PTX_OPD_REG)
		return is_id_reg(p, id, o->reg) &&
		       (!p->entry || id < PASS_NCTAID || id >= PASS_TID);
	if (id >= PASS_NCTAID && id < PASS_TID && o->kind == PTX_OPD_ADDR && p->entry) {
		const struct ptx_sym *args = o->list[0].kind == PTX_OPD_SYM ? o->list[0].sym : NULL;
		uint32_t there = args ? verify_param_at(p->q, args) : NONE;
		uint32_t field = (uint32_t)offsetof(struct ctl_args, grid) + 4 * (id - PASS_NCTAID);

		return there != NONE && by->mn->op == PTX_OP_ld && o->value == field &&
		       (form ? there == form->of[p->k].arg_offset
			     : args == p->q->params.at[p->q->params.len - 1]);
	}
	return false;
}

static uint32_t written_reg(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->n == 2 && s->opd[0].kind == PTX_OPD_REG ? s->opd[0].reg
										 : NONE;
}

/* Returns whether s reads an id with the width that the original kernel's statement has: 32 bits,
 * or truncated to 16. */
static bool is_form(const struct ptx_stmt *plain, const struct ptx_stmt *s)
{
	bool narrow = plain->mn->n_types && ptx_type_bytes(plain->mn->type[0]) == 2;

	if (plain->mn->op != PTX_OP_mov)
		return s->mn == plain->mn || !strcmp(s->mn->text, plain->mn->text);
	if (narrow)
		return !strcmp(s->mn->text, "cvt.u16.u32");
	return !strcmp(s->mn->text, "mov.u32") || !strcmp(s->mn->text, "ld.param.u32");
}

/* Returns the statement that computes the value of statement `at`. If `at` only copies an added
 * register, that is the statement before it; else it is `at` itself. */
static const struct ptx_stmt *find_source(struct verify_pair *p, uint32_t from, uint32_t at)
{
	const struct ptx_stmt *s = &p->q->body.at[at];

	if (s->opd[1].kind == PTX_OPD_REG && at > from && s[-1].kind == PTX_INSN &&
		written_reg(&s[-1]) == s->opd[1].reg)
		return &s[-1];
	return s;
}

/* Returns whether statement `at` only computes an input of the next statement. */
static bool feeds_next(struct verify_pair *p, uint32_t at, uint32_t end)
{
	const struct ptx_stmt *s = &p->q->body.at[at];

	return at + 1 < end && s[1].n == 2 && s[1].opd[1].kind == PTX_OPD_REG &&
	       s[1].opd[1].reg == written_reg(s);
}

/* Finds the next destination component that is written, starting at *i. */
static bool next_dest(const struct ptx_stmt *plain, bool all, uint32_t *i, struct ptx_opd *ret)
{
	const struct ptx_opd *d = &plain->opd[0];

	if (!all || d->kind != PTX_OPD_VECTOR) {
		*ret = *d;
		if (all)
			ret->selector = (uint8_t) "xyzw"[*i & 3];
		return *i < (all ? 4u : 1u);
	}
	while (*i < d->n && d->list[*i].kind != PTX_OPD_REG)
		++*i;
	if (*i >= d->n)
		return false;
	*ret = d->list[*i];
	return true;
}

/* Returns whether the rewritten code may read the hardware's special register. It may do so for a
 * thread id if the entry's blocks have the kernel's shape. */
static bool may_stay(const struct verify_pair *p, unsigned id)
{
	const struct pass_merged *form = p->v->r->form;

	return id >= PASS_TID &&
	       (!form || !memcmp(p->g->from->block, form->block, sizeof(form->block)));
}

/* Checks a read of the size of dynamic shared memory. In a launch of several kernels, the size is a
 * constant. */
static bool dynamic_bytes(struct verify_pair *p, uint32_t from, uint32_t end)
{
	const struct ptx_stmt *s = &p->q->body.at[from];

	if (from + 1 != end || s->mn->op != PTX_OP_mov || s->n != 2 ||
		!is_imm(&s->opd[1], p->g->from->dynamic_bytes))
		return report_wrong_id(p, from, s) || true;
	if (verify_reg(p, p->p->body.at[p->of[from]].guard, s->guard, from))
		verify_operand(p, &p->p->body.at[p->of[from]].opd[0], &s->opd[0], from);
	return true;
}

/* Checks that no register holds two different ids. */
void verify_id_registers(struct verify *v)
{
	for (unsigned i = 0; i < v->r->n * PASS_IDS; i++)
		for (unsigned m = 0; m < i; m++) {
			unsigned k = i / PASS_IDS, j = m / PASS_IDS;
			uint32_t reg = v->kernel[k].id_reg[i % PASS_IDS];
			char name[128];

			if (reg == NONE || reg != v->kernel[j].id_reg[m % PASS_IDS])
				continue;
			verify_tell(v->pairs.at[k], PASS_RULE_IDS, NONE, NONE,
				"register %s also holds another id, of kernel '%.200s'",
				ptx_reg_name(v->r->f, reg, name, sizeof(name)),
				v->kernel[j].from->name);
		}
}

bool verify_ids(struct verify_pair *p, uint32_t from, uint32_t end)
{
	const struct ptx_stmt *plain = &p->p->body.at[p->of[from]];
	bool all = false;
	unsigned id = plain->n == 2 ? id_of(&plain->opd[1], &all) : PASS_IDS;
	uint32_t i = 0;
	struct ptx_opd dest;

	if (p->v->r->form && plain->n == 2 && plain->opd[1].kind == PTX_OPD_SPECIAL &&
		plain->opd[1].value == PTX_SR_DYNAMIC_SMEM)
		return dynamic_bytes(p, from, end);
	if (id == PASS_IDS || (may_stay(p, id) && end == from + 1 && p->q->body.at[from].n == 2 &&
				      p->q->body.at[from].opd[1].kind == PTX_OPD_SPECIAL))
		return false;
	for (uint32_t at = from; at < end; at++) {
		const struct ptx_stmt *s = &p->q->body.at[at];

		if (s->kind != PTX_INSN || s->n != 2 || !verify_reg(p, plain->guard, s->guard, at))
			return report_wrong_id(p, at, s) || true;
		if (feeds_next(p, at, end))
			continue;
		if (!next_dest(plain, all, &i, &dest))
			return report_wrong_id(p, at, s) || true;
		if (!is_form(plain, s))
			return report_wrong_id(p, at, s) || true;
		if (!verify_operand(p, &dest, &s->opd[0], at))
			return true;
		if (!reads_id(p, i < 3 || !all ? id + i : PASS_IDS, find_source(p, from, at)))
			return report_wrong_id(p, at, find_source(p, from, at)) || true;
		i++;
	}
	if (next_dest(plain, all, &i, &dest))
		verify_tell(p, PASS_RULE_IDS, end - 1, p->of[from],
			"only some destinations of `%s` are written",
			verify_text(p, p->p, p->of[from]));
	return true;
}
