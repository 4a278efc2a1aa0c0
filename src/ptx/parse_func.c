/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses functions: everything from .entry or .func to the closing brace, or to the ';' of a
 * declaration. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

static struct ptx_func *new_func(struct ptx_parser *p, unsigned linkage, uint32_t line)
{
	struct ptx_func *f = ARENA_NEW(&p->m->arena, struct ptx_func);

	if (!f)
		ptx_give_up(p, 0);
	f->linkage = (uint16_t)linkage;
	f->line = line;
	/* The function is added to the module at once, so that the module frees it after an error
	 * too. */
	if (!VEC_PUSH(&p->m->items, (struct ptx_item){PTX_ITEM_FUNC, line, {.func = f}}))
		ptx_give_up(p, -ENOMEM);
	return f;
}

/* Parses ".attribute(…)" and similar words before the function's name. */
static const char *attributes(struct ptx_parser *p)
{
	const char *from = p->s, *end = from;
	unsigned depth = 0;

	while (*p->s == '.') {
		for (p->s++; ch_is(*p->s, CH_ID); p->s++)
			;
		end = p->s;
		ptx_skip(p);
		/* The arguments of an attribute follow the word without a blank. A list after a
		 * blank holds the function's results. */
		while (p->s < p->end && ((*p->s == '(' && p->s == end) || depth)) {
			depth += *p->s == '(';
			depth -= *p->s == ')';
			ptx_step(p);
			end = depth ? end : p->s;
		}
		ptx_skip(p);
	}
	return end > from ? ptx_clean_text(p, from, end) : NULL;
}

static bool params(struct ptx_parser *p, enum ptx_sym_kind kind, bool rets)
{
	bool more;

	p->s++;
	ptx_skip(p);
	more = *p->s != ')';
	while (more) {
		struct ptx_sym *sym = ptx_parse_param(p, kind);

		if (!sym)
			return false;
		if (!(rets ? VEC_PUSH(&p->f->rets, sym) : VEC_PUSH(&p->f->params, sym)))
			ptx_give_up(p, -ENOMEM);
		ptx_skip(p);
		more = *p->s == ',';
		if (more) {
			p->s++;
			ptx_skip(p);
		} else if (*p->s != ')') {
			ptx_error(p, p->s, 1, "',' or ')' should stand here");
			return false;
		}
	}
	p->s++;
	ptx_skip(p);
	return true;
}

static bool name(struct ptx_parser *p)
{
	const char *from = p->s, *e = ptx_ident_end(from);
	struct ptx_name *n;
	struct ptx_sym *sym;

	if (e == from) {
		ptx_error(p, from, 1, "a function's name should stand here");
		return false;
	}
	n = ptx_name_at(p, from, (size_t)(e - from));
	sym = n->global && n->global->kind == PTX_SYM_FUNC ? n->global : NULL;
	if (!sym) {
		sym = ptx_sym_new(p->m, PTX_SYM_FUNC, n);
		if (!sym)
			ptx_give_up(p, 0);
		sym->line = p->line;
		sym->col = (uint32_t)(from - p->line_start) + 1;
		sym->func = p->f;
		n->global = sym;
	} else {
		sym->redeclared = true;
	}
	sym->linkage |= p->f->linkage;
	p->f->sym = sym;
	p->s = e;
	ptx_skip(p);
	return true;
}

/* Parses one directive such as ".maxntid 256, 1, 1", up to the next directive, the body or the end.
 * The ';' after ".pragma" belongs to the directive. */
static bool func_directive(struct ptx_parser *p)
{
	const char *from = p->s, *text, *end;
	bool pragma = ptx_word_is(from, ".pragma");
	unsigned depth = 0;

	p->s++;
	while (p->s < p->end && (depth || (*p->s != '.' && *p->s != '{' && *p->s != ';'))) {
		depth += *p->s == '(';
		depth -= *p->s == ')' && depth;
		ptx_step(p);
	}
	if (pragma && *p->s == ';')
		p->s++;
	end = p->s;
	while (end > from &&
		(end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	text = ptx_clean_text(p, from, end);
	if (ptx_word_is(text, ".noreturn"))
		p->f->is_noreturn = true;
	if (!VEC_PUSH(&p->f->directives, text))
		ptx_give_up(p, -ENOMEM);
	ptx_skip(p);
	return true;
}

/* Returns true if s starts a module-level item. Such an item ends a prototype too, because the
 * compiler nvopencc left out the ';' after prototypes. */
static bool begins_item(const char *s)
{
	static const char *const words[] = {".func", ".entry", ".visible", ".extern", ".weak",
		".common", ".global", ".const", ".shared", ".tex", ".texref", ".samplerref",
		".surfref", ".file", ".section", ".alias"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (ptx_word_is(s, words[i]))
			return true;
	return false;
}

static bool header(struct ptx_parser *p)
{
	struct ptx_func *f = p->f;

	ptx_skip(p);
	f->attributes = attributes(p);
	if (*p->s == '(' && !params(p, PTX_SYM_PARAM, true))
		return false;
	if (!name(p))
		return false;
	f->no_param_list = *p->s != '(';
	if (*p->s == '(' && !params(p, PTX_SYM_PARAM, false))
		return false;
	while (*p->s == '.' && (f->is_entry || !begins_item(p->s)))
		if (!func_directive(p))
			return false;
	if (*p->s != ';' && *p->s != '{' && *p->s != '.') {
		ptx_error(p, p->s, 1, "'{' or ';' should stand here");
		return false;
	}
	return true;
}

static void read_body(struct ptx_parser *p, const char *open)
{
	struct ptx_func *f = p->f;
	uint32_t open_col = (uint32_t)(open - p->line_start) + 1, open_line = p->line;

	if (f->sym->func->has_body)
		ptx_error(p, open, 1, "%.200s has a body already", f->sym->name);
	else
		f->sym->func = f;
	f->has_body = true;
	f->body_line = p->line;
	p->s++;
	p->body = &f->body;
	p->depth = 0;
	if (!ptx_parse_body(p) && p->diags)
		diag_add(p->diags, DIAG_ERROR, open_line, open_col, 1,
			"the body of %.200s has no end", f->sym->name);
	while (p->names->marks.len > 1)
		ptx_scope_close(p->names, f);
	p->depth = 0;
	ptx_resolve_labels(p, true);
	f->end_line = p->line;
}

bool ptx_parse_func(struct ptx_parser *p, unsigned linkage, uint32_t line)
{
	struct ptx_func *f = new_func(p, linkage, line);
	bool ok;

	f->is_entry = ptx_word_is(p->s, ".entry");
	p->s += f->is_entry ? strlen(".entry") : strlen(".func");
	p->f = f;
	if (ptx_scope_open(p->names) < 0)
		ptx_give_up(p, -ENOMEM);
	ok = header(p);
	if (!ok) {
		p->m->items.len--;
		ptx_func_finish(f);
	} else if (*p->s == ';') {
		p->s++;
		f->end_line = p->line;
	} else if (*p->s == '.') {
		f->end_line = p->line;
	} else {
		read_body(p, p->s);
	}
	ptx_unbind_func(p->m);
	p->f = NULL;
	p->body = NULL;
	return ok;
}
