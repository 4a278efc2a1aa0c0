/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Statements of a body: instructions, labels, braces, directives. An instruction that is not in the
 * table is read like any other; only when its operands have no known form is it kept as text. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

void ptx_emit(struct ptx_parser *p, struct ptx_stmt st)
{
	size_t n = p->body->len;

	if (n >= 4096 && (n & (n - 1)) == 0)
		ptx_check_memory(p, n * 2 * sizeof(st));
	if (p->is_snippet)
		st.line = st.col = 0;
	if (!VEC_PUSH(p->body, st))
		ptx_give_up(p, -ENOMEM);
}

static struct ptx_stmt stmt_at(struct ptx_parser *p, enum ptx_stmt_kind kind, const char *at)
{
	return (struct ptx_stmt){.kind = (uint8_t)kind,
		.guard = PTX_NO_REG,
		.line = p->line,
		.col = (uint32_t)(at - p->line_start) + 1};
}

/* Labels used before they are placed, inside a nested scope, may turn out to be another scope's. */
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

/* In a call: what stands behind the target and is no tuple names a prototype. */
static bool wants_label(const struct ptx_mnem *mn, const struct ptx_opd *first, size_t i)
{
	switch (mn->op) {
	case PTX_OP_bra:
		return true;
	case PTX_OP_brx:
		return i == 1;
	case PTX_OP_call:
		return i > (first->kind == PTX_OPD_TUPLE ? 1u : 0u);
	default:
		return false;
	}
}

static bool operands(struct ptx_parser *p, const struct ptx_mnem *mn, struct ptx_stmt *st)
{
	bool call = mn->op == PTX_OP_call;
	size_t n = 0;

	p->stack.len = 0;
	p->opd_depth = 0;
	p->label_pending = false;
	ptx_skip(p);
	if (*p->s != ';') {
		for (;; p->s++) {
			struct ptx_opd o;
			bool label = n && wants_label(mn, p->stack.at, n);

			if (!ptx_parse_operand(p, &o, label || mn->op == PTX_OP_bra, call))
				return false;
			if (n == PTX_MAX_OPERANDS) {
				ptx_error(p, p->s, 1, "too many operands");
				return false;
			}
			if (!VEC_PUSH(&p->stack, o))
				ptx_give_up(p, -ENOMEM);
			n++;
			ptx_skip(p);
			if (*p->s != ',')
				break;
		}
		if (*p->s != ';') {
			ptx_error(p, p->s, 1, "',' or ';' should stand here");
			return false;
		}
	}
	if (n < mn->n_needed) {
		ptx_error(p, p->s, 1, "%.100s takes %d operands or more", mn->text, mn->n_needed);
		return false;
	}
	p->s++;
	st->n = (uint8_t)n;
	st->opd = ptx_keep_opds(p, 0);
	if (p->label_pending)
		note_fixups(p, st->opd, n);
	return true;
}

/* The rest of the statement as text. */
static void keep_text(struct ptx_parser *p, struct ptx_stmt *st)
{
	const char *from = p->s, *text;

	while (p->s < p->end && *p->s != ';' && *p->s != '\0')
		ptx_step(p);
	text = ptx_clean_text(p, from, p->s);
	st->n = 0;
	st->text = *text ? text : NULL;
	p->is_unknown = false;
	if (*p->s == ';')
		p->s++;
	else if (p->diags)
		diag_add(p->diags, DIAG_ERROR, st->line, st->col, 1, "this statement has no end");
}

/* "ld .global .u32": parts may stand apart. Joined, and p->s behind the last. */
static const char *join_parts(struct ptx_parser *p, const char *mnem, size_t *len)
{
	struct strbuf b = {0};
	const char *text;

	strbuf_add(&b, mnem, *len);
	while (*p->s == '.' && ch_is(p->s[1], CH_START | CH_DIGIT)) {
		const char *from = p->s++;

		while (ch_is(*p->s, CH_MNEM) || (p->s[0] == ':' && p->s[1] == ':'))
			p->s += *p->s == ':' ? 2 : 1;
		strbuf_add(&b, from, (size_t)(p->s - from));
		ptx_skip(p);
	}
	*len = b.len;
	strbuf_add(&b, "\0\0\0\0\0\0\0\0", 8);
	text = b.failed ? NULL : arena_strndup(&p->m->arena, b.at, b.len);
	strbuf_finish(&b);
	if (!text)
		ptx_give_up(p, 0);
	return text;
}

bool ptx_parse_insn(struct ptx_parser *p, const char *mnem, size_t len, struct ptx_stmt *st)
{
	const struct ptx_mnem *mn;
	const char *from, *line_start;
	uint32_t line;

	ptx_skip(p);
	if (*p->s == '.')
		mnem = join_parts(p, mnem, &len);
	mn = ptx_mnem_for(p->m, mnem, len);
	if (!mn)
		ptx_give_up(p, 0);
	st->mn = mn;
	if (mn->op != PTX_OP_RAW)
		return operands(p, mn, st);
	from = p->s;
	line = p->line;
	line_start = p->line_start;
	p->is_unknown = true;
	if (!operands(p, mn, st)) {
		p->s = from;
		p->line = line;
		p->line_start = line_start;
		keep_text(p, st);
	}
	p->is_unknown = false;
	return true;
}

static bool guard(struct ptx_parser *p, struct ptx_stmt *st)
{
	const char *from = p->s++, *at, *e;

	ptx_skip(p);
	if (*p->s == '!') {
		st->guard_negated = 1;
		p->s++;
		ptx_skip(p);
	}
	at = p->s;
	e = ptx_ident_end(at);
	if (e == at) {
		ptx_error(p, from, 1, "a predicate should follow '@'");
		return false;
	}
	if (!ptx_family_reg(p, &st->guard) &&
		!ptx_find_reg(p->m, at, (size_t)(e - at), &st->guard)) {
		ptx_error(p, at, (size_t)(e - at), "predicate %.*s is not declared",
			(int)MIN(e - at, 200), at);
		return false;
	}
	if (p->f->regs.at[st->guard].sym->type.base != PTX_PRED) {
		ptx_error(
			p, at, (size_t)(e - at), "%.*s is no predicate", (int)MIN(e - at, 200), at);
		return false;
	}
	p->s = e;
	ptx_skip(p);
	return true;
}

/* Binds a label at its place; NULL after an error. */
static struct ptx_sym *place_label(struct ptx_parser *p, const char *s, size_t len)
{
	struct ptx_name *n = ptx_name_at(p, s, len);
	struct ptx_sym *sym = ptx_label_ref(p, n);

	if (!sym || sym->placed) {
		ptx_error(p, s, len, "%.200s is already declared in this scope", n->text);
		return NULL;
	}
	sym->placed = true;
	sym->line = p->is_snippet ? 0 : p->line;
	return sym;
}

/* The names in ".branchtargets a, b;". */
static void read_targets(struct ptx_parser *p, struct ptx_sym *sym, bool labels)
{
	p->stack.len = 0;
	p->label_pending = false;
	while (*p->s != ';') {
		struct ptx_opd o;

		if (!ptx_parse_operand(p, &o, labels, false)) {
			ptx_skip_statement(p);
			return;
		}
		if (!VEC_PUSH(&p->stack, o))
			ptx_give_up(p, -ENOMEM);
		ptx_skip(p);
		if (*p->s == ',') {
			p->s++;
			ptx_skip(p);
		} else if (*p->s != ';') {
			ptx_error(p, p->s, 1, "',' or ';' should stand here");
			ptx_skip_statement(p);
			return;
		}
	}
	p->s++;
	sym->n_targets = (uint32_t)p->stack.len;
	sym->targets = ptx_keep_opds(p, 0);
	if (p->label_pending)
		note_fixups(p, sym->targets, sym->n_targets);
}

/* A label, or a prototype, which is a label in front of a directive. */
static void label(struct ptx_parser *p, const char *s, size_t len)
{
	struct ptx_stmt st = stmt_at(p, PTX_LABEL, s);
	struct ptx_sym *sym = NULL;
	bool targets;

	if (memchr(s, '.', len))
		ptx_error(p, s, len, "a label cannot hold a dot");
	else
		sym = place_label(p, s, len);
	p->s++;
	if (!sym)
		return;
	ptx_skip(p);
	st.sym = sym;
	targets = ptx_word_is(p->s, ".branchtargets") || ptx_word_is(p->s, ".calltargets");
	if (targets) {
		bool labels = p->s[1] == 'b';

		st.kind = PTX_DIRECTIVE;
		st.text = labels ? ".branchtargets" : ".calltargets";
		sym->kind = PTX_SYM_PROTO;
		p->s += strlen(st.text);
		ptx_skip(p);
		read_targets(p, sym, labels);
	} else if (ptx_word_is(p->s, ".callprototype")) {
		st.kind = PTX_DIRECTIVE;
		sym->kind = PTX_SYM_PROTO;
		st.text = ptx_directive(p);
	}
	ptx_emit(p, st);
}

static void brace(struct ptx_parser *p, bool open)
{
	struct ptx_stmt st = stmt_at(p, open ? PTX_OPEN : PTX_CLOSE, p->s);

	if (open) {
		if (p->depth == PTX_MAX_DEPTH)
			ptx_error(p, p->s, 1, "scopes are nested more than %d deep", PTX_MAX_DEPTH);
		if (p->depth < PTX_MAX_DEPTH && ptx_scope_open(p->names) < 0)
			ptx_give_up(p, -ENOMEM);
		p->depth++;
	} else if (p->depth > 0) {
		p->depth--;
		if (p->depth < PTX_MAX_DEPTH && ptx_scope_close(p->names, p->f) < 0)
			ptx_give_up(p, -ENOMEM);
	}
	p->s++;
	ptx_emit(p, st);
}

/* False at the head of another function: this one's end is missing. */
static bool directive(struct ptx_parser *p)
{
	static const char *const spaces[] = {
		".reg", ".local", ".shared", ".param", ".global", ".const", ".tex"};
	struct ptx_stmt st = stmt_at(p, PTX_DIRECTIVE, p->s);
	const char *from = p->s, *line_start = p->line_start;
	uint32_t line = p->line;
	unsigned linkage = ptx_parse_linkage(p);

	if (ptx_word_is(p->s, ".entry") || ptx_word_is(p->s, ".func")) {
		p->s = from;
		p->line = line;
		p->line_start = line_start;
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		if (ptx_word_is(p->s, spaces[i])) {
			if (!ptx_parse_decl(p, linkage))
				ptx_skip_statement(p);
			return true;
		}
	}
	st.text = ptx_directive(p);
	if (st.text)
		ptx_emit(p, st);
	return true;
}

/* An instruction or a label; a guard may stand in front. */
static void instruction(struct ptx_parser *p)
{
	struct ptx_stmt st = stmt_at(p, PTX_INSN, p->s);
	const char *from, *e;

	if (*p->s == '@' && !guard(p, &st)) {
		ptx_skip_statement(p);
		return;
	}
	from = e = p->s;
	if (*e == '%')
		e++;
	for (;;) {
		while (ch_is(*e, CH_MNEM))
			e++;
		if (e[0] != ':' || e[1] != ':')
			break;
		e += 2;
	}
	if (e == from || ch_is(*from, CH_DIGIT) || *from == '.') {
		ptx_error(p, from, 1, "an instruction should stand here");
		ptx_skip_statement(p);
		return;
	}
	p->s = e;
	if (st.guard == PTX_NO_REG) {
		ptx_skip(p);
		if (*p->s == ':') {
			label(p, from, (size_t)(e - from));
			return;
		}
	}
	if (!ptx_parse_insn(p, from, (size_t)(e - from), &st))
		ptx_skip_statement(p);
	else
		ptx_emit(p, st);
}

bool ptx_parse_body(struct ptx_parser *p)
{
	for (;;) {
		ptx_skip(p);
		switch (*p->s) {
		case '{':
			brace(p, true);
			break;
		case '}':
			if (p->depth == 0 && !p->is_snippet) {
				p->s++;
				return true;
			}
			brace(p, false);
			break;
		case '.':
			if (directive(p))
				break;
			if (!p->is_snippet)
				return false;
			ptx_error(p, p->s, 1, "a function cannot stand in another");
			p->s = p->end;
			break;
		case '\0':
			if (p->s >= p->end)
				return false;
			/* fallthrough */
		default:
			if (ch_is(*p->s, CH_START) || *p->s == '@') {
				instruction(p);
				break;
			}
			ptx_error(p, p->s, 1, "a statement cannot begin with this");
			p->s++;
			ptx_skip_statement(p);
			break;
		}
	}
}

void ptx_resolve_labels(struct ptx_parser *p, bool report)
{
	for (size_t i = 0; i < p->names->fixups.len; i++) {
		struct ptx_opd *o = p->names->fixups.at[i];
		struct ptx_sym *to = o->sym, *next;

		while (to->link)
			to = to->link;
		/* The next one that asks finds it at once. */
		for (struct ptx_sym *s = o->sym; s->link; s = next) {
			next = s->link;
			s->link = to;
			if (next == to)
				break;
		}
		o->sym = to;
	}
	if (p->depth == 0)
		p->names->fixups.len = 0;
	if (!report)
		return;
	for (size_t i = 0; i < p->f->syms.len; i++) {
		struct ptx_sym *sym = p->f->syms.at[i];

		if (sym->kind == PTX_SYM_LABEL && !sym->placed && p->diags)
			diag_add(p->diags, DIAG_ERROR, sym->line, sym->col, sym->name_len,
				"label %.200s is used but stands nowhere", sym->name);
	}
}
