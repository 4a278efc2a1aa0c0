/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses the statements of a body: instructions, labels, braces, directives. An instruction that is
 * not in ops.def is parsed like any other. It is stored as text only if its operands have no known
 * form. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

/* Returns the memory for the next statement. keep_stmt then makes the statement part of the
 * body. */
static inline struct ptx_stmt *next_stmt(struct ptx_parser *p)
{
	ptx_body *body = p->body;

	if (body->len == body->cap) {
		if (body->len >= 4096)
			ptx_check_memory(p, body->len * 2 * sizeof(*body->at));
		if (!vec_grow((void **)&body->at, &body->cap, body->len, sizeof(*body->at)))
			ptx_give_up(p, -ENOMEM);
	}
	return &body->at[body->len];
}

static inline void keep_stmt(struct ptx_parser *p, struct ptx_stmt *st)
{
	if (p->is_snippet)
		st->line = st->col = 0;
	p->body->len++;
}

void ptx_emit(struct ptx_parser *p, struct ptx_stmt st)
{
	struct ptx_stmt *at = next_stmt(p);

	*at = st;
	keep_stmt(p, at);
}

/* The fields are written one by one. Copying a whole struct right after it was written would stall
 * on store forwarding. */
static inline void begin_stmt(
	struct ptx_parser *p, struct ptx_stmt *st, enum ptx_stmt_kind kind, const char *at)
{
	st->kind = (uint8_t)kind;
	st->guard_negated = 0;
	st->n = 0;
	st->guard = PTX_NO_REG;
	st->line = p->line;
	st->col = (uint32_t)(at - p->line_start) + 1;
	st->mn = NULL;
	st->opd = NULL;
}

/* Stores the rest of the statement as text. */
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

/* Joins the parts of a mnemonic with blanks between them ("ld .global .u32") and sets p->s to the
 * end of the last part. */
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

/* Stores a mnemonic in the table that known_mnem searches. */
static void remember(struct ptx_scope *sc, const struct ptx_mnem *mn)
{
	uint64_t key[2] = {0, 0};

	if (mn->text_len > sizeof(key))
		return;
	memcpy(key, mn->text, mn->text_len);
	sc->mnems[ptx_mnem_entry(key)] = (struct ptx_mnem_entry){{key[0], key[1]}, mn};
}

/* Returns the mnemonic at p->s if the module has used it before (this is so for nearly all) and a
 * blank follows it, and sets p->s to the operands. Returns NULL if the slow path (new_insn) has to
 * parse the mnemonic, which can still be valid. */
static inline const struct ptx_mnem *known_mnem(struct ptx_parser *p)
{
	const char *s = p->s;
	uint64_t key[2] = {ptx_eight(s), ptx_eight(s + 8)};
	uint64_t gap = ptx_eight_gaps(key[0]), second = ptx_eight_gaps(key[1]);
	const struct ptx_mnem_entry *entry;

	if (!(gap | second))
		return NULL;
	s += gap ? PTX_FIRST(gap) : 8 + PTX_FIRST(second);
	key[0] &= PTX_BELOW(gap);
	key[1] &= gap ? 0 : PTX_BELOW(second);
	entry = &p->names->mnems[ptx_mnem_entry(key)];
	if (entry->key[0] != key[0] || entry->key[1] != key[1])
		return NULL;
	while (*s == ' ' || *s == '\t')
		s++;
	/* This is a label of that name, a mnemonic with blanks between its parts, or a comment. */
	if (*s == ':' || *s == '.' || ch_is(*s, CH_GAP))
		return NULL;
	p->s = s;
	return entry->mnem;
}

/* Parses an instruction whose mnemonic is new or that the fast path cannot handle. */
static bool new_insn(struct ptx_parser *p, const char *mnem, size_t len, struct ptx_stmt *st)
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
	if (mn->op != PTX_OP_RAW) {
		remember(p->names, mn);
		return ptx_parse_operands(p, mn, st);
	}
	from = p->s;
	line = p->line;
	line_start = p->line_start;
	p->is_unknown = true;
	if (!ptx_parse_operands(p, mn, st)) {
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
	if (!ptx_family_reg(p->names, at, &st->guard) &&
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

/* Places the label that is defined here, and binds its name. Returns NULL after an error. */
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

/* Parses a label, or a prototype, which is written as a label before a directive. */
static void label(struct ptx_parser *p, const char *s, size_t len)
{
	struct ptx_sym *sym = NULL;
	struct ptx_stmt st;
	bool targets;

	begin_stmt(p, &st, PTX_LABEL, s);
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
		if (!ptx_parse_targets(p, sym, labels))
			ptx_skip_statement(p);
	} else if (ptx_word_is(p->s, ".callprototype")) {
		st.kind = PTX_DIRECTIVE;
		sym->kind = PTX_SYM_PROTO;
		st.text = ptx_directive(p);
	}
	ptx_emit(p, st);
}

static void brace(struct ptx_parser *p, bool open)
{
	struct ptx_stmt st;

	begin_stmt(p, &st, open ? PTX_OPEN : PTX_CLOSE, p->s);
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

/* Parses a directive in a body. Returns false at the head of another function, which means that the
 * current function's closing brace is missing. */
static bool directive(struct ptx_parser *p)
{
	static const char *const spaces[] = {
		".reg", ".local", ".shared", ".param", ".global", ".const", ".tex"};
	const char *from = p->s, *line_start = p->line_start;
	uint32_t line = p->line;
	struct ptx_stmt st;
	unsigned linkage;

	begin_stmt(p, &st, PTX_DIRECTIVE, from);
	linkage = ptx_parse_linkage(p);
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

/* Parses a label, or an instruction that known_mnem does not find. */
static bool label_or_insn(struct ptx_parser *p, struct ptx_stmt *st)
{
	const char *from = p->s, *e = from;

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
		return false;
	}
	p->s = e;
	if (st->guard == PTX_NO_REG) {
		ptx_skip(p);
		if (*p->s == ':') {
			label(p, from, (size_t)(e - from));
			return true;
		}
	}
	if (!new_insn(p, from, (size_t)(e - from), st))
		return false;
	keep_stmt(p, st);
	return true;
}

/* Parses an instruction, with its guard if there is one, or a label. */
static void instruction(struct ptx_parser *p)
{
	struct ptx_stmt *st = next_stmt(p);
	const struct ptx_mnem *mn;
	bool ok;

	begin_stmt(p, st, PTX_INSN, p->s);
	if (*p->s == '@' && !guard(p, st)) {
		ptx_skip_statement(p);
		return;
	}
	mn = known_mnem(p);
	if (!mn) {
		ok = label_or_insn(p, st);
	} else {
		ok = ptx_parse_operands(p, mn, st);
		if (ok) {
			st->mn = mn;
			keep_stmt(p, st);
		}
	}
	if (!ok)
		ptx_skip_statement(p);
	else if (p->before.len)
		ptx_put_before(p);
	p->before.len = 0;
}

bool ptx_parse_body(struct ptx_parser *p)
{
	for (;;) {
		ptx_skip_lines(p);
		if (ch_is(*p->s, CH_START)) {
			instruction(p);
			continue;
		}
		switch (*p->s) {
		case '@':
			instruction(p);
			break;
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
		/* Shortens the chain, so that the next lookup finds the label at once. */
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
