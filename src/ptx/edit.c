/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds objects in a module, visits registers and operands, and parses new code from text.
 *
 * After ptx_append, the name table keeps the function's outermost scope open until another function
 * needs the table. So for a pass that appends many snippets to one function, this scope is opened
 * only once. A brace that one snippet leaves open stays open for the next snippet. */
#include "ptx/copy.h"
#include "ptx/graft.h"
#include "ptx/lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ptx_name *name_if_known(const struct ptx_module *m, const char *name)
{
	size_t len = strlen(name);
	struct ptx_name *n;
	char small[256], *padded = small;

	if (len + 8 > sizeof(small) && !(padded = malloc(len + 8)))
		return NULL;
	memcpy(padded, name, len);
	memset(padded + len, 0, 8);
	n = ptx_name_if_known(m, padded, len);
	if (padded != small)
		free(padded);
	return n;
}

bool ptx_is_known(const struct ptx_module *m, const char *name)
{
	return name_if_known(m, name);
}

struct ptx_sym *ptx_find_global(const struct ptx_module *m, const char *name)
{
	struct ptx_name *n = name_if_known(m, name);

	return n ? n->global : NULL;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
	struct ptx_sym *sym = ptx_find_global(m, name);

	return sym && sym->kind == PTX_SYM_FUNC ? sym->func : NULL;
}

const char *ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t size)
{
	const struct ptx_reg *r = reg < f->regs.len ? &f->regs.at[reg] : NULL;
	char digits[16];
	size_t n = 0, len;

	if (!r) {
		snprintf(buf, size, "%%bad%u", reg);
		return buf;
	}
	/* The digits are written without printf, which would be slow: ptx_validate asks for the
	 * name of every register operand. */
	for (uint32_t v = r->number; r->sym->count && (v || !n); v /= 10)
		digits[n++] = (char)('0' + v % 10);
	len = MIN(strlen(r->sym->name), size - 1);
	memcpy(buf, r->sym->name, len);
	while (n && len + 1 < size)
		buf[len++] = digits[--n];
	buf[len] = 0;
	return buf;
}

/* ---- definitions and uses ---- */
struct visit {
	ptx_reg_fn *fn;
	void *user;
};

static void visit_one(const struct visit *v, const struct ptx_opd *o, int role)
{
	switch (o->kind) {
	case PTX_OPD_REG:
		/* A write to one component of a register, or to a part of its bits, also counts as
		 * a use, because the rest of the register keeps its value. */
		if (role & PTX_DEF && o->selector)
			role |= PTX_USE;
		v->fn(v->user, o->reg, (enum ptx_role)role, o);
		break;
	case PTX_OPD_ADDR:
		for (uint32_t i = 0; i < o->n; i++)
			visit_one(v, &o->list[i], PTX_USE);
		break;
	case PTX_OPD_VECTOR:
	case PTX_OPD_TUPLE:
	case PTX_OPD_PAIR:
		for (uint32_t i = 0; i < o->n; i++)
			visit_one(v, &o->list[i], role);
		break;
	default:
		break;
	}
}

void ptx_visit_regs(const struct ptx_func *f, const struct ptx_stmt *s, ptx_reg_fn *fn, void *user)
{
	struct visit v = {fn, user};
	const char *shape;

	if (s->kind != PTX_INSN)
		return;
	if (s->guard != PTX_NO_REG)
		fn(user, s->guard, PTX_USE, NULL);
	shape = s->mn->shape;
	for (unsigned i = 0; i < s->n; i++) {
		int role = PTX_USE;

		if (s->mn->op == PTX_OP_call)
			role = i == 0 && s->opd[0].kind == PTX_OPD_TUPLE ? PTX_DEF : PTX_USE;
		else if (s->mn->op == PTX_OP_RAW)
			role = i == 0 ? PTX_USE | PTX_DEF : PTX_USE;
		else if (*shape == 'd')
			role = PTX_DEF;
		else if (*shape == 'b')
			role = PTX_USE | PTX_DEF;
		visit_one(&v, &s->opd[i], role);
		if (*shape && *++shape == '?')
			shape++;
	}
}

static void visit_opd(struct ptx_opd *o, ptx_opd_fn *fn, void *user)
{
	fn(user, o);
	if (o->kind < PTX_OPD_ADDR || o->kind > PTX_OPD_PAIR)
		return;
	for (uint32_t i = 0; i < o->n; i++)
		visit_opd(&o->list[i], fn, user);
}

void ptx_visit_opds(struct ptx_stmt *s, ptx_opd_fn *fn, void *user)
{
	if (s->kind != PTX_INSN)
		return;
	for (unsigned i = 0; i < s->n; i++)
		visit_opd(&s->opd[i], fn, user);
}

/* ---- adding code ---- */
static const char *snippet_line(const char *text, uint32_t line, int *ret_len)
{
	while (line-- > 1 && strchr(text, '\n'))
		text = strchr(text, '\n') + 1;
	*ret_len = (int)strcspn(text, "\n");
	return text;
}

static void report(struct diag_list *to, const struct diag_list *from, const char *text)
{
	for (unsigned i = 0; to && i < from->len; i++) {
		int len;
		const char *line = snippet_line(text, from->at[i].line, &len);

		diag_add(to, from->at[i].level, 0, 0, 1, "in generated code \"%.*s\": %s", len,
			line, from->at[i].message);
	}
}

/* Raises the module's memory limit for len bytes of new text, by the same factor (64) that
 * ptx_parse uses. */
static void allow_memory(struct ptx_module *m, size_t len)
{
	if (m->arena.limit_bytes)
		m->arena.limit_bytes += 64 * len;
}

/* Parses `text`, which NUL padding follows. If body is not NULL, the text is statements to append
 * to body. If only f is given, the text is a parameter of f. If f is NULL too, it is a module
 * variable. */
static int parse_snippet(struct ptx_module *m, struct ptx_func *f, ptx_body *body,
	struct diag_list *diags, const char *text, struct ptx_sym **ret_param)
{
	struct ptx_parser *p = calloc(1, sizeof(*p));
	struct diag_list *own = calloc(1, sizeof(*own));
	struct arena scratch;
	int r = -ENOMEM;

	arena_init(&scratch, 0);
	if (!p || !own)
		goto out;
	r = f ? ptx_bind_func(m, f) : 0;
	if (!f)
		ptx_unbind_func(m);
	if (r < 0)
		goto out;
	allow_memory(m, strlen(text));
	diag_init(own, &scratch, "snippet", text, strlen(text));
	ptx_parser_init(p, m, own, text, strlen(text));
	p->f = f;
	p->body = body;
	p->is_snippet = true;
	p->depth = f ? (unsigned)m->globals->marks.len - 1 : 0;
	if (setjmp(p->escape) == 0) {
		if (body) {
			ptx_parse_body(p);
			ptx_resolve_labels(p, false);
		} else if (!f) {
			ptx_parse_decl(p, ptx_parse_linkage(p));
		} else {
			p->param = ptx_parse_param(p, PTX_SYM_PARAM);
		}
	}
	r = p->error ? p->error : own->errors ? -EINVAL : 0;
	report(diags, own, text);
	ptx_parser_finish(p);
	if (r == 0 && ret_param)
		*ret_param = p->param;
out:
	arena_finish(&scratch);
	free(own);
	free(p);
	return r;
}

void ptx_set_text(struct ptx_module *m, const char *word, const char *text)
{
	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_TEXT && ptx_word_is(m->items.at[i].text, word))
			m->items.at[i].text = text;
}

int ptx_raise_version(struct ptx_module *m, unsigned version)
{
	const char *text;

	if (m->version >= version)
		return 0;
	text = arena_printf(&m->arena, ".version %u.%u", version / 10, version % 10);
	if (!text)
		return -ENOMEM;
	ptx_set_text(m, ".version", text);
	m->version = version;
	return 0;
}

/* Returns the ISA version (62 is 6.2) that an instruction of added code needs. Among the operations
 * that passes add, only nanosleep and activemask need more than 6.0, the first version with sm_70.
 * A later version removes nothing that an earlier one has, so raising .version is safe. */
static unsigned version_of(enum ptx_op op)
{
	return op == PTX_OP_nanosleep ? 63 : op == PTX_OP_activemask ? 62 : 60;
}

/* Raises .version for the new statements, which begin at index `first`. */
static int raise_for(struct ptx_module *m, const ptx_body *body, size_t first)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < body->len; i++)
		if (body->at[i].kind == PTX_INSN)
			r = ptx_raise_version(m, version_of(body->at[i].mn->op));
	return r;
}

int ptx_append(struct ptx_module *m, struct ptx_func *f, ptx_body *body, struct diag_list *diags,
	const char *fmt, ...)
{
	char shorter[1024], *text = shorter; /* large enough for most texts */
	const size_t padding = 16, first = body->len;
	va_list ap;
	int r, n;

	va_start(ap, fmt);
	n = vsnprintf(shorter, sizeof(shorter) - padding, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	if ((size_t)n >= sizeof(shorter) - padding) {
		text = malloc((size_t)n + padding);
		if (!text)
			return -ENOMEM;
		va_start(ap, fmt);
		vsnprintf(text, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	memset(text + n, 0, padding);
	r = parse_snippet(m, f, body, diags, text, NULL);
	if (text != shorter)
		free(text);
	return r == 0 ? raise_for(m, body, first) : r;
}

/* Returns a name that begins with `prefix` and that nothing else in this module uses. */
static struct ptx_name *fresh_name(struct ptx_module *m, const char *prefix, const char *hint)
{
	char buf[160];

	for (;;) {
		struct ptx_name *n;
		int len = snprintf(buf, 128, "%s%.80s_%u", prefix, hint ? hint : "t", m->fresh++);

		memset(buf + len, 0, 16);
		if (name_if_known(m, buf))
			continue;
		n = ptx_name_get(m, buf, (size_t)len);
		return n;
	}
}

uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, ptx_body *body, const char *type,
	const char *name_hint)
{
	struct ptx_name *n = fresh_name(m, "%hd_", name_hint);
	struct ptx_sym *sym = n ? ptx_sym_new(m, PTX_SYM_REG, n) : NULL;
	struct ptx_stmt st = {.kind = PTX_DECL, .guard = PTX_NO_REG, .sym = sym};

	if (!sym)
		return PTX_NO_REG;
	sym->space = PTX_REG;
	sym->type.base = ptx_type_from_name(type, strlen(type));
	if (ptx_declare_regs(m, f, sym) < 0 || ptx_add_symbol(m, f, sym) < 0 || !VEC_PUSH(body, st))
		return PTX_NO_REG;
	return sym->first_reg;
}

struct ptx_sym *ptx_new_label(struct ptx_module *m, struct ptx_func *f, const char *name_hint)
{
	struct ptx_name *n = fresh_name(m, "$hd_", name_hint);
	struct ptx_sym *sym = n ? ptx_sym_new(m, PTX_SYM_LABEL, n) : NULL;

	if (!sym || ptx_add_symbol(m, f, sym) < 0)
		return NULL;
	return sym;
}

/* Adds the new parameter to all prototypes of f, because a prototype must match the definition. */
static bool add_to_prototypes(
	const struct ptx_module *m, const struct ptx_func *f, struct ptx_sym *param)
{
	for (size_t i = 0; f->sym->redeclared && i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func != f && it->func->sym == f->sym &&
			!VEC_PUSH(&it->func->params, param))
			return false;
	}
	return true;
}

struct ptx_sym *ptx_add_param(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, const char *decl)
{
	struct ptx_sym *sym = NULL;
	size_t len = strlen(decl);
	char *text = calloc(1, len + 16);
	int r;

	if (!text)
		return NULL;
	memcpy(text, decl, len);
	r = parse_snippet(m, f, NULL, diags, text, &sym);
	free(text);
	if (r < 0 || !sym || !VEC_PUSH(&f->params, sym) || !add_to_prototypes(m, f, sym))
		return NULL;
	return sym;
}

struct ptx_sym *ptx_add_var(struct ptx_module *m, struct diag_list *diags, const char *decl)
{
	size_t len = strlen(decl), n = m->items.len, at = 0;
	char *text = calloc(1, len + 16);
	struct ptx_item it;
	int r;

	if (!text)
		return NULL;
	memcpy(text, decl, len);
	r = parse_snippet(m, NULL, NULL, diags, text, NULL);
	free(text);
	if (r < 0 || m->items.len != n + 1) {
		m->items.len = n;
		return NULL;
	}
	it = m->items.at[n];
	it.line = 0; /* 0 marks heddle's own items, as it does symbols and statements */
	it.sym->line = 0;
	while (at < n && m->items.at[at].kind != PTX_ITEM_FUNC)
		at++;
	memmove(m->items.at + at + 1, m->items.at + at, (n - at) * sizeof(it));
	m->items.at[at] = it;
	return it.sym;
}

struct ptx_sym *ptx_item_sym(const struct ptx_item *it)
{
	if (it->kind == PTX_ITEM_TEXT)
		return NULL;
	return it->kind == PTX_ITEM_VAR ? it->sym : it->func->sym;
}

/* Removes the module's items from index `from` on, and unbinds the names that they declared. */
static void drop_items(struct ptx_module *m, size_t from)
{
	for (size_t i = from; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];
		struct ptx_sym *sym = ptx_item_sym(it);
		struct ptx_name *n = sym ? ptx_name_from(m, sym->name) : NULL;

		if (n && n->global == sym)
			n->global = NULL;
		if (sym && sym->kind == PTX_SYM_FUNC)
			sym->func = NULL;
		if (it->kind == PTX_ITEM_FUNC)
			ptx_func_finish(it->func);
	}
	m->items.len = from;
	for (size_t i = 0; i < from; i++) {
		const struct ptx_item *it = &m->items.at[i];
		struct ptx_sym *sym = ptx_item_sym(it);
		struct ptx_name *n = sym ? ptx_name_from(m, sym->name) : NULL;

		if (n && !n->global)
			n->global = sym;
		if (it->kind == PTX_ITEM_FUNC && (!sym->func || it->func->has_body))
			sym->func = it->func;
	}
}

/* Returns true for .version, .target and .address_size. Added text must not contain these
 * directives, because the module already has them. */
static bool is_header(const struct ptx_item *it)
{
	return it->kind == PTX_ITEM_TEXT &&
	       (ptx_word_is(it->text, ".version") || ptx_word_is(it->text, ".target") ||
		       ptx_word_is(it->text, ".address_size"));
}

/* Removes line numbers from an item: they would refer to a text that the user does not have. */
static void forget_lines(struct ptx_item *it)
{
	it->line = 0;
	if (it->kind != PTX_ITEM_FUNC)
		return;
	it->func->line = it->func->body_line = it->func->end_line = 0;
	for (size_t i = 0; i < it->func->body.len; i++)
		it->func->body.at[i].line = it->func->body.at[i].col = 0;
}

int ptx_add_text(struct ptx_module *m, struct diag_list *diags, const char *text, size_t len)
{
	struct ptx_parser *p = calloc(1, sizeof(*p));
	struct diag_list *own = calloc(1, sizeof(*own));
	char *copy = calloc(1, len + PTX_PADDING);
	const struct ptx_module before = *m;
	struct arena scratch;
	int r = -ENOMEM;

	arena_init(&scratch, 0);
	if (p && own && copy) {
		memcpy(copy, text, len);
		ptx_unbind_func(m);
		m->globals->knows_tags = false;
		allow_memory(m, len);
		diag_init(own, &scratch, "added", copy, len);
		ptx_parser_init(p, m, own, copy, len);
		p->is_added = true;
		if (setjmp(p->escape) == 0)
			ptx_parse_items(p);
		r = p->error;
		for (size_t i = before.items.len; r == 0 && i < m->items.len; i++)
			if (is_header(&m->items.at[i]))
				ptx_error(p, copy, 1, "%s is the module's to say",
					m->items.at[i].text);
		r = r ? r : own->errors ? -EINVAL : 0;
		report(diags, own, copy);
		ptx_parser_finish(p);
	}
	for (size_t i = before.items.len; r == 0 && i < m->items.len; i++)
		forget_lines(&m->items.at[i]);
	if (r < 0) {
		drop_items(m, before.items.len);
		m->version = before.version;
		m->target = before.target;
		m->sm = before.sm;
		m->address_bits = before.address_bits;
	} else {
		ptx_resolve_aliases(m, before.items.len);
	}
	arena_finish(&scratch);
	free(own);
	free(p);
	free(copy);
	return r;
}

int ptx_raise_align(struct ptx_module *m, struct ptx_sym *sym, uint32_t align)
{
	const char *from = strstr(sym->decl, ".align"), *to;
	char *decl;

	if (sym->align >= align)
		return 0;
	if (from && from < sym->decl + sym->name_at) {
		to = from + strlen(".align");
		to += strspn(to, " \t\n");
		to += strspn(to, "0123456789");
	} else { /* insert it after the state space */
		from = to = sym->decl + strcspn(sym->decl, " \t\n");
	}
	decl = arena_printf(&m->arena, "%.*s%s.align %u%s", (int)(from - sym->decl), sym->decl,
		from == to ? " " : "", align, to);
	if (!decl)
		return -ENOMEM;
	if (sym->name_at)
		sym->name_at = (uint32_t)(sym->name_at + strlen(decl) - strlen(sym->decl));
	sym->decl = decl;
	sym->align = align;
	return 0;
}
