/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses operands. The operands of a statement are written directly to their final memory. The
 * members of a list (vector, tuple, pair) are collected on the parser's stack and then copied to
 * the arena in one piece. A name without a declaration is stored as text if the instruction is not
 * in ops.def; otherwise it is an error. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

#define MAX_NESTED_LISTS 4
#define OPD_BLOCK        256 /* more operands than a statement can have */

static bool operand(struct ptx_parser *p, struct ptx_opd *o, bool label, bool tuple);

static struct ptx_opd *new_opds(struct ptx_parser *p, size_t n)
{
	struct ptx_opd *at = arena_alloc(&p->m->arena, n * sizeof(*at));

	if (!at)
		ptx_give_up(p, 0);
	return at;
}

/* Copies the operands on the stack from index `from` on to their final memory. */
static struct ptx_opd *keep_opds(struct ptx_parser *p, size_t from)
{
	size_t n = p->stack.len - from;
	struct ptx_opd *at;

	p->stack.len = from;
	if (!n)
		return NULL;
	at = new_opds(p, n);
	memcpy(at, p->stack.at + from, n * sizeof(*at));
	return at;
}

/* Returns the memory for operand n of the current statement. If the memory block is full, moves the
 * earlier operands to a new block, because all operands are adjacent. */
static inline struct ptx_opd *next_opd(struct ptx_parser *p, size_t n)
{
	struct ptx_scope *sc = p->names;
	struct ptx_opd *block;

	if (n < sc->opds_left)
		return sc->opds + n;
	block = new_opds(p, OPD_BLOCK);
	if (n)
		memcpy(block, sc->opds, n * sizeof(*block));
	sc->opds = block;
	sc->opds_left = OPD_BLOCK;
	return block + n;
}

static void push(struct ptx_parser *p, const struct ptx_opd *o)
{
	if (!VEC_PUSH(&p->stack, *o))
		ptx_give_up(p, -ENOMEM);
}

/* Makes a list operand of the stack's entries from index `from` on. */
static void make_list(struct ptx_parser *p, struct ptx_opd *o, enum ptx_opd_kind kind, size_t from)
{
	o->kind = (uint8_t)kind;
	o->n = (uint32_t)(p->stack.len - from);
	o->list = keep_opds(p, from);
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

/* Parses a special register such as "%tid.x"; the component is part of its name. */
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
		if (!p->special.at)
			p->special = (struct ptx_special_seen){from, p->line_start, p->line};
	}
	p->s = e;
	return true;
}

static const char *past_comment(const char *s, const char *e)
{
	bool line = s[1] == '/';

	for (s += 2; s < e && !(line ? *s == '\n' : s[0] == '*' && s[1] == '/'); s++)
		;
	return s + (line ? 1 : 2);
}

/* Returns the first name in the text of an expression, or NULL if there is none. WARP_SZ does not
 * count as a name. */
static const char *name_within(const char *s, const char *e)
{
	while (s < e) {
		if (*s == '/' && (s[1] == '/' || s[1] == '*')) {
			s = past_comment(s, e);
		} else if (ch_is(*s, CH_DIGIT) || *s == '.') { /* "32U" or ".s64" */
			for (s++; ch_is(*s, CH_ID); s++)
				;
		} else if (ch_is(*s, CH_START) && *s != '%') {
			if (!ptx_word_is(s, "WARP_SZ"))
				return s;
			s = ptx_ident_end(s);
		} else {
			s++;
		}
	}
	return NULL;
}

/* Reports an error if an expression contains a declared name. Expressions are stored as text, so a
 * pass that renames the declaration could not rename it there. An undeclared name is never renamed,
 * so it is allowed in an instruction that is not in ops.def. */
static bool may_hold(struct ptx_parser *p, const char *name)
{
	const char *e = ptx_ident_end(name);
	const struct ptx_name *n = ptx_name_at(p, name, (size_t)(e - name));

	if (p->is_unknown && !n->local && !n->global)
		return true;
	ptx_error(p, name, (size_t)(e - name), "%.200s: a name cannot stand in an expression",
		n->text);
	return false;
}

/* Parses an expression that begins at `from`, with or without a number first. Stores its text, and
 * its value if known. */
static bool expression(struct ptx_parser *p, struct ptx_opd *o, const char *from)
{
	const char *e = from, *at = p->s, *name;
	bool known;

	if (!ptx_fold(&e, &o->value, &known)) {
		ptx_error(p, at, 1, "an operand should stand here");
		return false;
	}
	name = known ? NULL : name_within(from, e);
	if (name && !may_hold(p, name))
		return false;
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

/* Parses a short decimal number before a delimiter, the most common form. No text is stored for
 * such numbers. */
static inline bool small_number(struct ptx_parser *p, struct ptx_opd *o)
{
	uint64_t w = ptx_eight(p->s), other = ptx_eight_nondigits(w);
	unsigned n = other ? PTX_FIRST(other) : 0;

	if (!n || !ch_is(p->s[n], CH_END) || (*p->s == '0' && n > 1))
		return false;
	o->value = ptx_eight_value(w, n);
	o->has_value = 1;
	p->s += n;
	return true;
}

static bool named_number(struct ptx_parser *p, struct ptx_opd *o, struct ptx_name *n, const char *e)
{
	if (n->number == PTX_NUM_UNREAD)
		read_number(n);
	if (n->number == PTX_NUM_NONE)
		return false;
	o->kind = n->number == PTX_NUM_INT ? PTX_OPD_IMM : PTX_OPD_FLOAT;
	o->has_value = 1;
	o->value = n->value;
	o->name = n->text;
	p->s = e;
	return true;
}

/* Parses a single number, which a delimiter has to follow; anything else is parsed as an
 * expression. */
static bool number(struct ptx_parser *p, struct ptx_opd *o)
{
	const char *from = p->s, *e = from;
	struct ptx_name *n;

	o->kind = PTX_OPD_IMM;
	if (small_number(p, o))
		return true;
	if (*from == '0') {
		n = ptx_scan_name(p, from, &e);
		if (ch_is(*e, CH_END) && named_number(p, o, n, e))
			return true;
		e = from;
	}
	/* Plain decimal digits need no text, because they are printed from the value. */
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
		if (named_number(p, o, n, e))
			return true;
	}
	/* A float that is followed by white space or a comment. */
	if (*e == ' ' || ch_is(*e, CH_GAP)) {
		uint64_t v;
		bool minus = *from == '-';

		if (ptx_read_number(from + minus, (size_t)(e - from) - minus, &v) ==
			PTX_NUM_FLOAT) {
			n = ptx_name_at(p, from, (size_t)(e - from));
			return named_number(p, o, n, e);
		}
	}
	return expression(p, o, from);
}

/* Parses "+ 4" or "- 4" after an address base. *ret_text is the text of the offset, including a
 * minus sign. */
static bool offset(struct ptx_parser *p, struct ptx_opd *o, const char **ret_text)
{
	struct ptx_opd value = {0};

	*ret_text = NULL;
	if (*p->s == '+') {
		p->s++;
		if (small_number(p, o))
			return true;
	}
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

bool ptx_parse_offset(struct ptx_parser *p, struct ptx_opd *o)
{
	const char *text;

	return offset(p, o, &text);
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
	/* For an unknown operation it is not known whether the name means a label, or the label of
	 * which scope. So the name is kept without a symbol. */
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
	return *p->s != '[' || in_address || p->is_unknown || ptx_parse_index(p, o);
}

static bool register_opd(struct ptx_parser *p, struct ptx_opd *o, uint32_t reg)
{
	o->reg = reg;
	return *p->s != '.' || components(p, o);
}

static bool identifier(struct ptx_parser *p, struct ptx_opd *o, bool label, bool in_address)
{
	const char *from = p->s, *e;
	const struct ptx_sym *sym;
	struct ptx_name *n;

	if (*from == '_' && !ch_is(from[1], CH_ID)) {
		p->s++;
		o->kind = PTX_OPD_SINK;
		return true;
	}
	if (*from == '%' || p->names->plain_families) {
		e = ptx_ident_end(from);
		if (ptx_find_reg(p->m, from, (size_t)(e - from), &o->reg)) {
			p->s = e;
			return register_opd(p, o, o->reg);
		}
		n = ptx_name_at(p, from, (size_t)(e - from));
	} else {
		n = ptx_scan_name(p, from, &e);
	}
	p->s = e;
	sym = n->local;
	if (*from == '%' && !label) {
		/* The name is a special register, unless the function or the module declares this
		 * name. (Declared names can begin with '%', too.) */
		if (!sym && !n->global)
			return special(p, o, from);
	} else if (!label && sym &&
		   ((sym->kind == PTX_SYM_REG && !sym->count) ||
			   (sym->kind == PTX_SYM_PARAM && sym->space == PTX_REG))) {
		return register_opd(p, o, sym->first_reg);
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

		if (!operand(p, &item, label, false))
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

/* Parses an address: [base + offset, ...]. */
static bool address(struct ptx_parser *p, struct ptx_opd *o)
{
	size_t from = p->stack.len;
	struct ptx_opd *base, item;
	const char *text = NULL, *e;

	if (p->opd_depth) {
		ptx_error(p, p->s, 1, "an address cannot stand inside another operand");
		return false;
	}
	p->opd_depth++;
	p->s++;
	ptx_skip(p);
	base = new_opds(p, 1);
	*base = (struct ptx_opd){0};
	if (ch_is(*p->s, CH_START) && !ptx_word_is(p->s, "WARP_SZ")) {
		e = *p->s == '%' ? ptx_family_reg(p->names, p->s, &base->reg) : NULL;
		if (e) {
			p->s = e;
			if (*e == '.' && !components(p, base))
				return false;
		} else if (!identifier(p, base, false, true)) {
			return false;
		}
		ptx_skip(p);
		if ((*p->s == '+' || *p->s == '-') && !offset(p, o, &text))
			return false;
	} else if (!operand(p, base, false, false)) {
		return false;
	}
	ptx_skip(p);
	if (*p->s == ']') {
		p->s++;
		p->opd_depth--;
		o->kind = PTX_OPD_ADDR;
		o->n = 1;
		o->list = base;
		o->name = text;
		return true;
	}
	push(p, base);
	for (;; push(p, &item)) {
		ptx_skip(p);
		if (*p->s == ']')
			break;
		if (*p->s++ != ',') {
			ptx_error(p, p->s - 1, 1, "',' or ']' should stand here");
			return false;
		}
		if (!operand(p, &item, false, false))
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

/* Parses the rest of "a|b" from the bar on. */
static bool pair(struct ptx_parser *p, struct ptx_opd *o)
{
	struct ptx_opd second = {0};

	p->s++;
	ptx_skip(p);
	if (!single(p, &second, false, false))
		return false;
	push(p, o);
	push(p, &second);
	*o = (struct ptx_opd){0};
	make_list(p, o, PTX_OPD_PAIR, p->stack.len - 2);
	return true;
}

static bool operand(struct ptx_parser *p, struct ptx_opd *o, bool label, bool tuple)
{
	const char *e;

	*o = (struct ptx_opd){0};
	ptx_skip(p);
	e = *p->s == '%' ? ptx_family_reg(p->names, p->s, &o->reg) : NULL;
	if (e && ch_is(*e, CH_END)) {
		p->s = e;
		return true;
	}
	if (!single(p, o, label, tuple))
		return false;
	ptx_skip(p);
	return *p->s != '|' || pair(p, o);
}

/* Records operands that use a label before it is placed. In a nested scope, such a label can turn
 * out to belong to another scope; the operand's symbol is then replaced. */
static void note_fixups(struct ptx_parser *p, struct ptx_opd *opd, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ptx_opd *o = &opd[i];

		if (o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR)
			note_fixups(p, o->list, o->n);
		else if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_LABEL &&
			 !o->sym->placed && !VEC_PUSH(&p->names->fixups, o))
			ptx_give_up(p, -ENOMEM);
	}
}

/* Returns true if operand i has to be a label. In a call, the operand after the target names a
 * prototype unless it is a tuple of arguments. */
static bool wants_label(const struct ptx_mnem *mn, const struct ptx_opd *first, int i)
{
	switch (mn->op) {
	case PTX_OP_bra:
		return true;
	case PTX_OP_brx:
		return i == 1;
	case PTX_OP_call:
		return i > (i && first->kind == PTX_OPD_TUPLE ? 1 : 0);
	default:
		return false;
	}
}

/* Parses the operands of an instruction up to the end of the last one. Returns their number, or -1
 * after an error. Plain registers and addresses, the most frequent operands, take a fast path. */
static int operands(struct ptx_parser *p, const struct ptx_mnem *mn)
{
	struct ptx_scope *sc = p->names;
	bool labels = mn->flags & (PTX_F_BRANCH | PTX_F_CALL), call = mn->op == PTX_OP_call, ok;
	const char *s = p->s, *e;

	for (int n = 0; n < PTX_MAX_OPERANDS;) {
		struct ptx_opd *o = next_opd(p, (size_t)n);

		*o = (struct ptx_opd){0};
		while (*s == ' ')
			s++;
		e = *s == '%' ? ptx_family_reg(sc, s, &o->reg) : NULL;
		if (!e || (*e != ',' && *e != ';')) {
			p->s = s;
			if (*s == '[')
				ok = address(p, o);
			else
				ok = operand(p, o, labels && wants_label(mn, sc->opds, n), call);
			if (!ok)
				return -1;
			ptx_skip(p);
			e = p->s;
		}
		n++;
		s = e + 1;
		if (*e != ',') {
			p->s = e;
			return n;
		}
	}
	p->s = s;
	ptx_error(p, s, 1, "too many operands");
	return -1;
}

bool ptx_parse_operands(struct ptx_parser *p, const struct ptx_mnem *mn, struct ptx_stmt *st)
{
	struct ptx_scope *sc = p->names;
	int n = 0;

	p->stack.len = 0;
	p->opd_depth = 0;
	p->mnem = mn;
	p->label_pending = false;
	p->special.at = NULL;
	ptx_skip(p);
	if (*p->s != ';') {
		n = operands(p, mn);
		if (n < 0)
			return false;
		if (*p->s != ';') {
			ptx_error(p, p->s, 1, "',' or ';' should stand here");
			return false;
		}
	}
	if (n < mn->n_needed) {
		ptx_error(p, p->s, 1, "%.100s takes %d operands or more", mn->text, mn->n_needed);
		return false;
	}
	if (p->special.at && !p->is_unknown && !ptx_parse_specials(p, sc->opds, (unsigned)n))
		return false;
	p->s++;
	st->n = (uint8_t)n;
	if (n) {
		st->opd = sc->opds;
		sc->opds += n;
		sc->opds_left -= (size_t)n;
	}
	if (p->label_pending)
		note_fixups(p, st->opd, (size_t)n);
	return true;
}

/* Parses a list of names, as in ".branchtargets a, b;". */
bool ptx_parse_targets(struct ptx_parser *p, struct ptx_sym *sym, bool labels)
{
	p->stack.len = 0;
	p->mnem = NULL;
	p->label_pending = false;
	while (*p->s != ';') {
		struct ptx_opd o;

		if (!operand(p, &o, labels, false))
			return false;
		push(p, &o);
		ptx_skip(p);
		if (*p->s == ',') {
			p->s++;
			ptx_skip(p);
		} else if (*p->s != ';') {
			ptx_error(p, p->s, 1, "',' or ';' should stand here");
			return false;
		}
	}
	p->s++;
	sym->n_targets = (uint32_t)p->stack.len;
	sym->targets = keep_opds(p, 0);
	if (p->label_pending)
		note_fixups(p, sym->targets, sym->n_targets);
	return true;
}
