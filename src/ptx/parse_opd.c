/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Operands. A list (vector, tuple, address, pair) is gathered on the parser's stack and then copied
 * to the arena in one piece. In an instruction that the table does not know, names without a
 * declaration are kept as text; elsewhere they are errors. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

#define MAX_NESTED_LISTS 4

struct ptx_opd *ptx_keep_opds(struct ptx_parser *p, size_t from)
{
	size_t n = p->stack.len - from;
	struct ptx_opd *at;

	p->stack.len = from;
	if (!n)
		return NULL;
	at = arena_alloc(&p->m->arena, n * sizeof(*at));
	if (!at)
		ptx_give_up(p, 0);
	memcpy(at, p->stack.at + from, n * sizeof(*at));
	return at;
}

static void push(struct ptx_parser *p, const struct ptx_opd *o)
{
	if (!VEC_PUSH(&p->stack, *o))
		ptx_give_up(p, -ENOMEM);
}

/* A list's members stand on the stack from there on. */
static void make_list(struct ptx_parser *p, struct ptx_opd *o, enum ptx_opd_kind kind, size_t from)
{
	o->kind = (uint8_t)kind;
	o->n = (uint32_t)(p->stack.len - from);
	o->list = ptx_keep_opds(p, from);
}

struct ptx_sym *ptx_label_ref(struct ptx_parser *p, struct ptx_name *n)
{
	struct ptx_sym *sym = n->local;

	if (sym && sym->scope == ptx_scope_id(p->names) &&
		(sym->kind == PTX_SYM_LABEL || sym->kind == PTX_SYM_PROTO))
		return sym;
	if (sym && sym->scope == ptx_scope_id(p->names))
		return NULL;
	sym = ptx_sym_new(p->m, PTX_SYM_LABEL, n);
	if (!sym || ptx_bind(p->names, n, sym) < 0)
		ptx_give_up(p, 0);
	sym->line = p->line;
	sym->col = (uint32_t)(p->s - p->line_start) - n->len + 1;
	if (p->depth == 0 && !VEC_PUSH(&p->f->syms, sym))
		ptx_give_up(p, -ENOMEM);
	return sym;
}

static bool components(struct ptx_parser *p, struct ptx_opd *o)
{
	const char *s = p->s + 1, *e = s;

	while (ch_is(*e, CH_ID))
		e++;
	if (e == s) {
		ptx_error(p, p->s, 1, "a component (.x, .b0, .h1) should follow the dot");
		return false;
	}
	p->s = e;
	if (e - s == 1 && strchr("xyzwrgba", *s))
		o->selector = (uint8_t)*s;
	else if (e - s == 2 && *s == 'b' && s[1] >= '0' && s[1] <= '3')
		o->selector = (uint8_t)(PTX_SEL_B0 + (s[1] - '0'));
	else if (e - s == 2 && *s == 'h' && s[1] >= '0' && s[1] <= '1')
		o->selector = (uint8_t)(PTX_SEL_H0 + (s[1] - '0'));
	else
		o->selector = PTX_SEL_TEXT;
	if (o->selector == PTX_SEL_TEXT)
		o->name = ptx_name_at(p, s, (size_t)(e - s))->text;
	return true;
}

/* "%tid.x": the component belongs to the name. */
static bool special(struct ptx_parser *p, struct ptx_opd *o, const char *from)
{
	const char *e = p->s;
	struct ptx_name *n;

	if (*e == '.')
		for (e++; ch_is(*e, CH_ID); e++)
			;
	n = ptx_name_at(p, from, (size_t)(e - from));
	if (!n->special)
		n->special = (uint8_t)(1 + ptx_special_from_name(n->text, n->len));
	o->name = n->text;
	if (n->special == PTX_SR_UNKNOWN + 1) {
		if (!p->is_unknown) {
			ptx_error(p, from, (size_t)(p->s - from), "%.*s is not declared",
				(int)MIN(p->s - from, 200), from);
			return false;
		}
		o->kind = PTX_OPD_TEXT;
	} else {
		o->kind = PTX_OPD_SPECIAL;
		o->has_value = 1;
		o->value = n->special - 1u;
	}
	p->s = e;
	return true;
}

/* What follows a number or stands in its place: an expression, kept as text, with its value. */
static bool expression(struct ptx_parser *p, struct ptx_opd *o, const char *from)
{
	const char *e = from, *at = p->s;
	bool known;

	if (!ptx_fold(&e, &o->value, &known)) {
		ptx_error(p, at, 1, "an operand should stand here");
		return false;
	}
	o->kind = PTX_OPD_IMM;
	o->has_value = known;
	while (p->s < e)
		ptx_step(p);
	o->name = ptx_clean_text(p, from, e);
	return true;
}

static void read_number(struct ptx_name *n)
{
	bool minus = n->text[0] == '-';
	const char *s = n->text + minus;

	n->number = (uint8_t)ptx_read_number(s, n->len - minus, &n->value);
	if (!minus)
		return;
	if (n->number == PTX_NUM_INT)
		n->value = -n->value;
	else if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F'))
		n->value ^= 1u << 31;
	else
		n->value ^= 1ull << 63;
}

/* A number by itself ends where a delimiter stands; everything else is an expression. */
static bool number(struct ptx_parser *p, struct ptx_opd *o)
{
	const char *from = p->s, *e = from;
	struct ptx_name *n;

	/* Plain decimal digits need no text: they print as they were. */
	for (o->value = 0; ch_is(*e, CH_DIGIT) && e - from < 18; e++)
		o->value = o->value * 10 + (uint64_t)(*e - '0');
	if (ch_is(*e, CH_END) && e > from && (*from != '0' || e == from + 1)) {
		o->kind = PTX_OPD_IMM;
		o->has_value = 1;
		p->s = e;
		return true;
	}
	o->value = 0;
	e = from + (*from == '-');
	while (ch_is(*e, CH_MNEM) || ((*e == '-' || *e == '+') && (e[-1] == 'e' || e[-1] == 'E') &&
					     e > from && from[1] != 'x' && from[1] != 'X'))
		e++;
	if (e > from + (*from == '-') && ch_is(*e, CH_END)) {
		n = ptx_name_at(p, from, (size_t)(e - from));
		if (n->number == PTX_NUM_UNREAD)
			read_number(n);
		if (n->number != PTX_NUM_NONE) {
			o->kind = n->number == PTX_NUM_INT ? PTX_OPD_IMM : PTX_OPD_FLOAT;
			o->has_value = 1;
			o->value = n->value;
			o->name = n->text;
			p->s = e;
			return true;
		}
	}
	/* A float with a gap behind it. */
	if (*e == ' ' || ch_is(*e, CH_GAP)) {
		uint64_t v;
		bool minus = *from == '-';

		if (ptx_read_number(from + minus, (size_t)(e - from) - minus, &v) ==
			PTX_NUM_FLOAT) {
			n = ptx_name_at(p, from, (size_t)(e - from));
			read_number(n);
			o->kind = PTX_OPD_FLOAT;
			o->has_value = 1;
			o->value = n->value;
			o->name = n->text;
			p->s = e;
			return true;
		}
	}
	return expression(p, o, from);
}

/* "+ 4" or "- 4" behind a base; the text of what is added, a minus included. */
static bool offset(struct ptx_parser *p, struct ptx_opd *o, const char **ret_text)
{
	struct ptx_opd value = {0};

	if (*p->s == '+')
		p->s++;
	ptx_skip(p);
	if (!number(p, &value))
		return false;
	if (value.kind != PTX_OPD_IMM) {
		ptx_error(p, p->s - 1, 1, "the offset should be an integer");
		return false;
	}
	o->value = value.value;
	*ret_text = value.name;
	o->has_value = 1;
	return true;
}

static bool symbol(struct ptx_parser *p, struct ptx_opd *o, struct ptx_name *n, const char *from,
	bool label, bool in_address)
{
	const char *text;

	o->name = n->text;
	o->kind = PTX_OPD_SYM;
	if (label) {
		o->sym = ptx_label_ref(p, n);
		p->label_pending |= o->sym && !o->sym->placed && p->depth > 0;
		return true;
	}
	o->sym = n->local ? n->local : n->global;
	/* Whether an unknown operation means a label, and which scope's, nobody knows. */
	if (p->is_unknown && o->sym && o->sym->kind == PTX_SYM_LABEL)
		o->sym = NULL;
	if (!o->sym && ptx_word_is(n->text, "WARP_SZ"))
		return expression(p, o, from);
	if (!o->sym && !p->is_unknown) {
		ptx_error(p, from, n->len, "%.200s is not declared", n->text);
		return false;
	}
	if (!o->sym)
		o->kind = PTX_OPD_TEXT;
	ptx_skip(p);
	if (!in_address && (*p->s == '+' || *p->s == '-'))
		return offset(p, o, &text);
	return true;
}

static bool identifier(struct ptx_parser *p, struct ptx_opd *o, bool label, bool in_address)
{
	const char *from = p->s, *e = ptx_ident_end(from);
	struct ptx_name *n;

	if (*from == '_' && e == from + 1) {
		p->s = e;
		o->kind = PTX_OPD_SINK;
		return true;
	}
	if (*from == '%' || p->names->plain_families) {
		if (ptx_find_reg(p->m, from, (size_t)(e - from), &o->reg)) {
			p->s = e;
			return *e != '.' || components(p, o);
		}
		if (*from == '%' && !label) {
			/* A register, or a name of the function or module that begins so. */
			n = ptx_name_at(p, from, (size_t)(e - from));
			p->s = e;
			if (n->local || n->global)
				return symbol(p, o, n, from, label, in_address);
			return special(p, o, from);
		}
	}
	n = ptx_name_at(p, from, (size_t)(e - from));
	p->s = e;
	if (!label && n->local && n->local->kind == PTX_SYM_REG && !n->local->count) {
		o->reg = n->local->first_reg;
		return *e != '.' || components(p, o);
	}
	if (!label && n->local && n->local->kind == PTX_SYM_PARAM && n->local->space == PTX_REG) {
		o->reg = n->local->first_reg;
		return *e != '.' || components(p, o);
	}
	return symbol(p, o, n, from, label, in_address);
}

static bool list(
	struct ptx_parser *p, struct ptx_opd *o, enum ptx_opd_kind kind, char close, bool label)
{
	size_t from = p->stack.len;
	const char *open = p->s++;
	bool more;

	if (++p->opd_depth > MAX_NESTED_LISTS) {
		ptx_error(p, open, 1, "lists nested too deeply");
		return false;
	}
	ptx_skip(p);
	more = *p->s != close;
	while (more) {
		struct ptx_opd item;

		if (!ptx_parse_operand(p, &item, label, false))
			return false;
		push(p, &item);
		ptx_skip(p);
		more = *p->s == ',';
		if (more) {
			p->s++;
		} else if (*p->s != close) {
			ptx_error(p, p->s, 1, "',' or '%c' should stand here", close);
			return false;
		}
	}
	p->s++;
	p->opd_depth--;
	make_list(p, o, kind, from);
	return true;
}

/* [base + offset, more …] */
static bool address(struct ptx_parser *p, struct ptx_opd *o)
{
	size_t from = p->stack.len;
	struct ptx_opd item = {0};
	const char *text = NULL;

	if (p->opd_depth) {
		ptx_error(p, p->s, 1, "an address cannot stand inside another operand");
		return false;
	}
	p->opd_depth++;
	p->s++;
	ptx_skip(p);
	if (ch_is(*p->s, CH_START) && !ptx_word_is(p->s, "WARP_SZ")) {
		if (*p->s == '%' && ptx_family_reg(p, &item.reg)) {
			if (*p->s == '.' && !components(p, &item))
				return false;
		} else if (!identifier(p, &item, false, true)) {
			return false;
		}
		ptx_skip(p);
		if ((*p->s == '+' || *p->s == '-') && !offset(p, o, &text))
			return false;
	} else if (!ptx_parse_operand(p, &item, false, false)) {
		return false;
	}
	push(p, &item);
	for (;; push(p, &item)) {
		ptx_skip(p);
		if (*p->s == ']')
			break;
		if (*p->s++ != ',') {
			ptx_error(p, p->s - 1, 1, "',' or ']' should stand here");
			return false;
		}
		if (!ptx_parse_operand(p, &item, false, false))
			return false;
	}
	p->opd_depth--;
	p->s++;
	make_list(p, o, PTX_OPD_ADDR, from);
	o->name = text;
	return true;
}

static bool negated(struct ptx_parser *p, struct ptx_opd *o, char sign)
{
	const char *from = p->s++;

	ptx_skip(p);
	if (ch_is(*p->s, CH_START) && !ptx_word_is(p->s, "WARP_SZ")) {
		if (!identifier(p, o, false, false))
			return false;
		if (o->kind == PTX_OPD_REG || o->kind == PTX_OPD_TEXT) {
			o->negated = (uint8_t)sign;
			return true;
		}
		ptx_error(p, from, 1, "'%c' goes with registers only", sign);
		return false;
	}
	p->s = from;
	return expression(p, o, from);
}

static bool single(struct ptx_parser *p, struct ptx_opd *o, bool label, bool tuple)
{
	char c = *p->s;

	if (ch_is(c, CH_START))
		return identifier(p, o, label, false);
	if (ch_is(c, CH_DIGIT))
		return number(p, o);
	switch (c) {
	case '-':
		if (ch_is(p->s[1], CH_DIGIT))
			return number(p, o);
		return negated(p, o, c);
	case '!':
		return negated(p, o, c);
	case '[':
		return address(p, o);
	case '{':
		return list(p, o, PTX_OPD_VECTOR, '}', label);
	case '(':
		if (tuple)
			return list(p, o, PTX_OPD_TUPLE, ')', false);
		return expression(p, o, p->s);
	case '.':
		return number(p, o);
	default:
		return expression(p, o, p->s);
	}
}

bool ptx_parse_operand(struct ptx_parser *p, struct ptx_opd *o, bool label, bool tuple)
{
	struct ptx_opd second;

	memset(o, 0, sizeof(*o));
	ptx_skip(p);
	if (*p->s == '%' && ptx_family_reg(p, &o->reg)) {
		if (ch_is(*p->s, CH_END))
			return true;
		if (*p->s == '.' && !components(p, o))
			return false;
	} else if (!single(p, o, label, tuple)) {
		return false;
	}
	ptx_skip(p);
	if (*p->s != '|')
		return true;
	p->s++;
	ptx_skip(p);
	memset(&second, 0, sizeof(second));
	if (!single(p, &second, false, false))
		return false;
	push(p, o);
	push(p, &second);
	memset(o, 0, sizeof(*o));
	make_list(p, o, PTX_OPD_PAIR, p->stack.len - 2);
	return true;
}
