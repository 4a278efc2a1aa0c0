/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses declarations of registers, variables and parameters. A variable keeps its declaration as
 * text, together with the position of its name, so that unknown attributes survive. The fields that
 * passes need (space, type, alignment, size) are parsed from the text. */
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

#define MAX_VAR_FAMILY 4096

/* The part of a declaration that precedes the names. */
struct spec {
	const char *from; /* the text after the linkage */
	enum ptx_space space;
	struct ptx_type type;
	uint32_t align;
	/* .ptr was read: a state space or alignment after it describes the pointee */
	bool seen_ptr;
};

static bool integer(struct ptx_parser *p, uint64_t *ret)
{
	const char *e;
	bool known;

	ptx_skip(p);
	e = p->s;
	if (!ptx_fold(&e, ret, &known)) {
		ptx_error(p, p->s, 1, "an integer should stand here");
		return false;
	}
	if (!known)
		*ret = 0;
	while (p->s < e)
		ptx_step(p);
	return true;
}

static bool skip_parens(struct ptx_parser *p)
{
	unsigned depth = 0;

	ptx_skip(p);
	if (*p->s != '(')
		return true;
	do {
		if (p->s >= p->end)
			return false;
		depth += *p->s == '(';
		depth -= *p->s == ')';
		ptx_step(p);
	} while (depth);
	return true;
}

static bool spec_word(struct ptx_parser *p, struct spec *sp, const char *w, size_t len)
{
	static const struct {
		const char *name;
		uint8_t space;
	} spaces[] = {{"reg", PTX_REG}, {"local", PTX_LOCAL}, {"shared", PTX_SHARED},
		{"param", PTX_PARAM}, {"global", PTX_GLOBAL}, {"const", PTX_CONST},
		{"tex", PTX_TEX}};
	uint64_t align;
	uint8_t type;

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		if (!ptx_word_is(w, spaces[i].name))
			continue;
		if (sp->space == PTX_GENERIC)
			sp->space = (enum ptx_space)spaces[i].space;
		if (*p->s == '[') /* old syntax for constant banks: .const[3] */
			while (p->s < p->end && *p->s++ != ']')
				;
		return true;
	}
	if (ptx_word_is(w, "align")) {
		if (!integer(p, &align))
			return false;
		if (!sp->seen_ptr)
			sp->align = (uint32_t)align;
	} else if (ptx_word_is(w, "ptr")) {
		sp->seen_ptr = true;
	} else if (ptx_word_is(w, "attribute")) {
		return skip_parens(p);
	} else if (len == 2 && w[0] == 'v' && w[1] >= '2' && w[1] <= '8') {
		sp->type.vec = (uint8_t)(w[1] - '0');
	} else if (!sp->seen_ptr && (type = ptx_type_from_name(w, len)) != PTX_NOTYPE) {
		sp->type.base = type;
	}
	return true;
}

/* Parses the part of a declaration before the first name: ".shared .align 4 .b8". */
static bool read_spec(struct ptx_parser *p, struct spec *sp)
{
	*sp = (struct spec){.from = p->s, .type = {.vec = 1}};
	for (;;) {
		const char *w;

		ptx_skip(p);
		if (*p->s != '.')
			return true;
		w = ++p->s;
		while (ch_is(*p->s, CH_ID) || (p->s[0] == ':' && p->s[1] == ':'))
			p->s += *p->s == ':' ? 2 : 1;
		if (p->s == w) {
			ptx_error(p, w, 1, "a word should follow the dot");
			return false;
		}
		if (!spec_word(p, sp, w, (size_t)(p->s - w)))
			return false;
	}
}

/* Parses the array dimensions after a name, such as "[4][8]". *ret_elements is the number of
 * elements, or 0 if the size is left open. */
static bool dimensions(struct ptx_parser *p, uint64_t *ret_elements, bool *ret_array)
{
	uint64_t n, total = 1;

	ptx_skip(p);
	*ret_array = *p->s == '[';
	while (*p->s == '[') {
		p->s++;
		ptx_skip(p);
		n = 0;
		if (*p->s != ']' && !integer(p, &n))
			return false;
		if (!ptx_accept(p, ']')) {
			ptx_error(p, p->s, 1, "']' should stand here");
			return false;
		}
		if (__builtin_mul_overflow(total, n, &total))
			total = UINT64_MAX / 64;
		ptx_skip(p);
	}
	*ret_elements = total;
	return true;
}

/* Parses the size of a register family ("<8>"). *ret is 0 if there is none. */
static bool family_size(struct ptx_parser *p, uint64_t *ret)
{
	*ret = 0;
	ptx_skip(p);
	if (*p->s != '<')
		return true;
	p->s++;
	/* The count before '>' has to be a plain number: an expression parser would take '>' for a
	 * comparison. */
	ptx_skip(p);
	for (; ch_is(*p->s, CH_DIGIT); p->s++)
		if (*ret <= UINT32_MAX)
			*ret = *ret * 10 + (uint64_t)(*p->s - '0');
	if (!ptx_accept(p, '>')) {
		ptx_error(p, p->s, 1, "'>' should stand here");
		return false;
	}
	return true;
}

/* Stores the declaration as text. A declaration can list several names; the stored text is the part
 * before the names, this name, and the part after it. */
static void keep_decl(struct ptx_parser *p, struct ptx_sym *sym, const struct spec *sp,
	const char *spec_end, const char *name_end, const char *end)
{
	const char *head = ptx_clean_text(p, sp->from, spec_end);
	const char *tail = ptx_clean_text(p, name_end, end);
	size_t n = strlen(head);
	char *decl;

	while (n && (head[n - 1] == ' ' || head[n - 1] == '\n'))
		n--;
	/* Printing starts with the part before the name, which can begin on an earlier line than
	 * the name. */
	for (size_t i = 0; i < n; i++)
		sym->line -= head[i] == '\n';
	decl = arena_alloc(&p->m->arena, n + sym->name_len + strlen(tail) + 2);
	if (!decl)
		ptx_give_up(p, 0);
	memcpy(decl, head, n);
	decl[n] = ' ';
	memcpy(decl + n + 1, sym->name, sym->name_len);
	strcpy(decl + n + 1 + sym->name_len, tail);
	sym->decl = decl;
	sym->name_at = (uint32_t)n + 1;
	sym->decl_name_len = sym->name_len;
}

static void set_size(struct ptx_sym *sym, const struct spec *sp, uint64_t elements)
{
	uint64_t each = (uint64_t)ptx_type_bytes(sp->type.base) * sp->type.vec;

	/* The opaque types are handles of textures, samplers and surfaces, which are 64 bits
	 * wide. */
	if (sp->type.base == PTX_OTHER_TYPE)
		each = 8;
	sym->space = sp->space;
	sym->type = sp->type;
	sym->align = sp->align;
	if (__builtin_mul_overflow(each, elements, &sym->bytes))
		sym->bytes = UINT64_MAX;
}

static void declared_twice(struct ptx_parser *p, const char *at, const struct ptx_name *n)
{
	ptx_error(p, at, n->len, "%.200s is already declared in this scope", n->text);
}

static void bind_register(
	struct ptx_parser *p, struct ptx_sym *sym, struct ptx_name *n, const char *at)
{
	size_t count = MAX(sym->count, 1);
	int r;

	if (sym->count > PTX_MAX_FAMILY ||
		(p->f->regs.len + count) * sizeof(struct ptx_reg) > p->limit_bytes / 2) {
		ptx_error(p, at, n->len, "more registers than a function may hold");
		sym->count = 1;
	}
	r = ptx_bind_reg(p->m, n, sym);
	if (r == -EEXIST)
		declared_twice(p, at, n);
	else if (r < 0 || ptx_declare_regs(p->m, p->f, sym) < 0)
		ptx_give_up(p, r < 0 ? 0 : -ENOMEM);
	if (r == 0 && p->depth == 0 && !VEC_PUSH(&p->f->syms, sym))
		ptx_give_up(p, -ENOMEM);
}

static void bind_variable(
	struct ptx_parser *p, struct ptx_sym *sym, struct ptx_name *n, const char *at)
{
	int r;

	if (!p->f) {
		/* In parsed text, the later of two variables with one name takes the name. Text
		 * added by ptx_add_text can replace only an .extern declaration, and ptx_add_var
		 * replaces nothing. */
		bool add = p->is_snippet ||
			   (p->is_added && n->global && !(n->global->linkage & PTX_EXTERN));

		if (add && n->global)
			declared_twice(p, at, n);
		else
			n->global = sym;
		return;
	}
	r = ptx_bind(p->names, n, sym);
	if (r == -EEXIST)
		declared_twice(p, at, n);
	else if (r < 0 || (p->depth == 0 && !VEC_PUSH(&p->f->syms, sym)))
		ptx_give_up(p, -ENOMEM);
}

/* Returns the text of an initializer "= …", up to the ',' or ';' that ends it. */
static const char *initialiser(struct ptx_parser *p)
{
	const char *from;
	unsigned depth = 0;

	p->s++;
	ptx_skip(p);
	from = p->s;
	while (p->s < p->end && *p->s != ';' && (depth || *p->s != ',')) {
		depth += *p->s == '{' || *p->s == '(';
		if ((*p->s == '}' || *p->s == ')') && depth)
			depth--;
		ptx_step(p);
	}
	return ptx_clean_text(p, from, p->s);
}

static void emit_item(struct ptx_parser *p, struct ptx_sym *sym)
{
	struct ptx_stmt st = {.kind = PTX_DECL,
		.guard = PTX_NO_REG,
		.line = sym->line,
		.col = sym->col,
		.sym = sym};

	if (p->f)
		ptx_emit(p, st);
	else if (!VEC_PUSH(&p->m->items, (struct ptx_item){PTX_ITEM_VAR, sym->line, {.sym = sym}}))
		ptx_give_up(p, -ENOMEM);
}

/* ".local .b32 x<3>" declares x0, x1 and x2. The printer prints the whole family for the first
 * variable and nothing for the others, because separate declarations could get another layout in
 * memory. */
static void var_family(struct ptx_parser *p, const struct ptx_sym *family, const struct spec *sp,
	uint64_t count, const char *at)
{
	if (count > MAX_VAR_FAMILY) {
		ptx_error(p, at, family->name_len, "too many variables in one declaration");
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		char *name = arena_printf(&p->m->arena, "%s%u", family->name, (unsigned)i);
		struct ptx_name *n = name ? ptx_name_from(p->m, name) : NULL;
		struct ptx_sym *sym = n ? ptx_sym_new(p->m, family->kind, n) : NULL;

		if (!sym)
			ptx_give_up(p, 0);
		set_size(sym, sp, 1);
		sym->line = family->line;
		sym->col = family->col;
		sym->linkage = family->linkage;
		sym->decl = i == 0 ? family->decl : "";
		bind_variable(p, sym, n, at);
		emit_item(p, sym);
	}
}

static bool declarator(
	struct ptx_parser *p, const struct spec *sp, const char *spec_end, unsigned linkage)
{
	const char *at = p->s, *e = ptx_ident_end(at);
	struct ptx_name *n;
	struct ptx_sym *sym;
	uint64_t count, elements = 1;

	if (e == at) {
		ptx_error(p, at, 1, "a name should stand here");
		return false;
	}
	n = ptx_name_at(p, at, (size_t)(e - at));
	sym = ptx_sym_new(p->m, sp->space == PTX_REG ? PTX_SYM_REG : PTX_SYM_VAR, n);
	if (!sym)
		ptx_give_up(p, 0);
	sym->line = p->line;
	sym->col = (uint32_t)(at - p->line_start) + 1;
	sym->linkage = (uint16_t)linkage;
	p->s = e;
	if (!family_size(p, &count) || !dimensions(p, &elements, &sym->is_array))
		return false;
	set_size(sym, sp, elements);
	if (sp->space != PTX_REG || sp->type.base == PTX_NOTYPE || sp->type.base == PTX_OTHER_TYPE)
		keep_decl(p, sym, sp, spec_end, e, p->s);
	if (*p->s == '=')
		sym->init = initialiser(p);
	if (sp->space == PTX_REG) {
		bool empty = *e == '<' && count == 0;

		sym->count = (uint32_t)MIN(count, UINT32_MAX);
		sym->bytes = 0;
		if (!empty)
			bind_register(p, sym, n, at);
		else
			keep_decl(p, sym, sp, spec_end, e, p->s);
	} else if (count) {
		var_family(p, sym, sp, count, at);
		return true;
	} else {
		bind_variable(p, sym, n, at);
	}
	emit_item(p, sym);
	return true;
}

bool ptx_parse_decl(struct ptx_parser *p, unsigned linkage)
{
	struct spec sp;
	const char *spec_end;

	if (!read_spec(p, &sp))
		return false;
	if (sp.space == PTX_REG && !p->f) {
		ptx_error(p, sp.from, 4, "registers can be declared in functions only");
		return false;
	}
	spec_end = p->s;
	do {
		ptx_skip(p);
		if (!declarator(p, &sp, spec_end, linkage))
			return false;
		ptx_skip(p);
	} while (*p->s == ',' && p->s++);
	if (*p->s != ';') {
		ptx_error(p, p->s, 1, "';' should stand here");
		return false;
	}
	p->s++;
	return true;
}

struct ptx_sym *ptx_parse_param(struct ptx_parser *p, enum ptx_sym_kind kind)
{
	struct spec sp;
	const char *spec_end, *at, *e;
	struct ptx_name *n;
	struct ptx_sym *sym;
	uint64_t elements;
	int r;

	if (!read_spec(p, &sp))
		return NULL;
	spec_end = at = p->s;
	e = ptx_ident_end(at);
	if (e == at || sp.space == PTX_GENERIC) {
		ptx_error(p, at, 1, "a parameter should stand here");
		return NULL;
	}
	n = ptx_name_at(p, at, (size_t)(e - at));
	sym = ptx_sym_new(p->m, kind, n);
	if (!sym)
		ptx_give_up(p, 0);
	sym->line = p->line;
	sym->col = (uint32_t)(at - p->line_start) + 1;
	p->s = e;
	if (!dimensions(p, &elements, &sym->is_array))
		return NULL;
	set_size(sym, &sp, elements);
	keep_decl(p, sym, &sp, spec_end, e, p->s);
	if (sp.space == PTX_REG && ptx_declare_regs(p->m, p->f, sym) < 0)
		ptx_give_up(p, -ENOMEM);
	if (n->len == 1 && n->text[0] == '_')
		return sym;
	r = ptx_bind(p->names, n, sym);
	if (r == -EEXIST)
		declared_twice(p, at, n);
	else if (r < 0 || !VEC_PUSH(&p->f->syms, sym))
		ptx_give_up(p, -ENOMEM);
	return sym;
}
