/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Imports a kernel of one module into another. First ptx_extract copies the kernel and what it
 * reaches into a temporary module, which can be changed freely. There, all symbols get their new
 * names, and symbols that the target module already has are dropped. The rest is printed and parsed
 * again as part of the target module. */
#include "ptx/copy.h"
#include "ptx/graft.h"
#include "ptx/lex.h"
#include "ptx/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function or variable to import. */
struct import_sym {
	struct ptx_sym *sym;
	const struct ptx_sym *shared; /* symbol in `into` that it is merged with; NULL: none */
	const struct ptx_name *name;  /* its new name */
	bool is_extern;               /* defined in another module */
};

struct import {
	struct ptx_module *into, *own; /* own: the extracted module */
	const char *entry, *prefix;
	struct diag_list *diags;
	VEC(struct import_sym) syms;
	struct hash_map by_sym;  /* symbol of own -> index in syms, plus 1 */
	struct hash_map by_name; /* text of an old name -> the new name */
	uint32_t dynamic_align;  /* alignment of own's dynamic shared memory */
	bool all_shared;         /* whether all symbols that a function reaches are shared */
	ptx_lines lines;         /* for each line of own: its line in the original module */
};

static void complain(const struct import *im, const char *fmt, const char *a, const char *b)
{
	char text[512];

	snprintf(text, sizeof(text), fmt, a, b);
	diag_add(im->diags, DIAG_ERROR, 0, 0, 1, "cannot import %.200s: %s", im->entry, text);
}

static bool is_dynamic_shared(const struct ptx_sym *sym)
{
	return sym->kind == PTX_SYM_VAR && sym->space == PTX_SHARED && sym->linkage & PTX_EXTERN &&
	       sym->bytes == 0;
}

static struct ptx_sym *global_of(const struct ptx_module *m, const char *name)
{
	return ptx_find_global(m, name);
}

static struct import_sym *import_sym_of(const struct import *im, const struct ptx_sym *sym)
{
	size_t at = (uintptr_t)hash_map_at(&im->by_sym, sym);

	return at ? &im->syms.at[at - 1] : NULL;
}

/* Returns true if the imported module declares the symbol but does not define it. Such symbols are
 * matched by name. */
static bool is_extern(const struct import *im, const struct ptx_sym *sym)
{
	if (sym->kind == PTX_SYM_FUNC)
		return !sym->func->has_body;
	/* A variable can be declared first and defined later. It then has two symbols with one
	 * name; the name resolves to the definition. */
	return sym->linkage & PTX_EXTERN && global_of(im->own, sym->name)->linkage & PTX_EXTERN;
}

static int list_import_syms(struct import *im)
{
	for (size_t i = 0; i < im->own->items.len; i++) {
		struct import_sym g = {.sym = ptx_item_sym(&im->own->items.at[i])};
		int r = 0;

		if (!g.sym || import_sym_of(im, g.sym))
			continue;
		g.is_extern = is_extern(im, g.sym);
		if (g.sym->kind == PTX_SYM_VAR && g.sym->decl && !g.sym->name_at)
			r = ptx_own_decl(im->own, g.sym);
		if (r == -ENOTSUP)
			complain(im, "the type of its variable %.200s is not known%s", g.sym->name,
				"");
		if (r < 0)
			return r;
		if (!VEC_PUSH(&im->syms, g) ||
			!hash_map_put_at(&im->by_sym, g.sym, (void *)(uintptr_t)im->syms.len))
			return -ENOMEM;
	}
	return 0;
}

/* ---- checking that the modules are compatible ---- */
static int check_targets(const struct import *im)
{
	struct ptx_target into = ptx_target_of(im->into), own = ptx_target_of(im->own), both;
	const char *to = im->into->target ? im->into->target : "";
	const char *from = im->own->target ? im->own->target : "";

	for (unsigned i = 0; i < PTX_TARGET_OPTIONS; i++)
		if ((into.options ^ own.options) & 1u << i) {
			complain(im, "one of the modules alone has %s in its .target%s",
				ptx_target_options[i], "");
			return -ENOTSUP;
		}
	/* A suffix must not be added to a plain target such as sm_90: the existing code has to keep
	 * running on later architectures too. */
	if (!ptx_target_join(&into, &own, &both) || (both.kind && !into.kind)) {
		complain(im, "it is written for %.40s, the module that it goes into for %.40s",
			from, to);
		return -ENOTSUP;
	}
	return 0;
}

static int check_modules(const struct import *im)
{
	if (im->into->address_bits != 64 || im->own->address_bits != 64) {
		complain(im, "32-bit addresses%s%s", "", "");
		return -ENOTSUP;
	}
	return check_targets(im);
}

/* ---- comparing symbols of both modules ---- */
static bool same_param(const struct ptx_sym *a, const struct ptx_sym *b)
{
	return a->bytes == b->bytes && MAX(a->align, 1) == MAX(b->align, 1) &&
	       (a->space == PTX_REG) == (b->space == PTX_REG);
}

static bool same_shape(const struct ptx_sym *a, const struct ptx_sym *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == PTX_SYM_VAR)
		return a->space == b->space && (a->bytes == b->bytes || !a->bytes || !b->bytes);
	if (a->func->params.len != b->func->params.len || a->func->rets.len != b->func->rets.len)
		return false;
	for (size_t i = 0; i < a->func->params.len; i++)
		if (!same_param(a->func->params.at[i], b->func->params.at[i]))
			return false;
	for (size_t i = 0; i < a->func->rets.len; i++)
		if (!same_param(a->func->rets.at[i], b->func->rets.at[i]))
			return false;
	return true;
}

static bool is_linked(const struct ptx_sym *sym)
{
	return sym->linkage & (PTX_EXTERN | PTX_VISIBLE | PTX_WEAK | PTX_COMMON) ||
	       (sym->kind == PTX_SYM_FUNC && !sym->func->has_body);
}

/* Maps an .extern symbol to the target module's symbol of the same name, if there is one, so that
 * both modules use one object. Some other module defines the object of an .extern symbol; here the
 * target module may be that module. Returns -ENOTSUP if the target's symbol of this name has
 * another type or size, or is private to the target module. */
static int share_extern(struct import *im, struct import_sym *g)
{
	const struct ptx_sym *there = global_of(im->into, g->sym->name);

	if (!there)
		return 0;
	if (!same_shape(g->sym, there) || !is_linked(there)) {
		complain(im, "its .extern %.200s is something else in the other module%s",
			g->sym->name, "");
		return -ENOTSUP;
	}
	g->shared = there;
	return 0;
}

static struct ptx_sym *dynamic_shared(const struct ptx_module *m)
{
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind == PTX_ITEM_VAR && is_dynamic_shared(it->sym))
			return it->sym;
	}
	return NULL;
}

/* Maps the dynamic shared array of the imported module to the target module's array. If another
 * object inside the imported functions has the name of the target's array, that name would mean
 * this object there. Then the imported array keeps its own name. This is correct too, because both
 * arrays mean the same memory. */
static int share_dynamic(struct import *im)
{
	const struct ptx_sym *one = dynamic_shared(im->into), *here;

	if (!one)
		return 0;
	here = global_of(im->own, one->name);
	if (here ? !is_dynamic_shared(here) : ptx_is_known(im->own, one->name))
		return 0;
	for (size_t i = 0; i < im->syms.len; i++) {
		struct import_sym *g = &im->syms.at[i];

		if (!is_dynamic_shared(g->sym))
			continue;
		g->shared = one;
		im->dynamic_align = MAX(im->dynamic_align, g->sym->align);
	}
	return 0;
}

/* Prints a function without .loc, because .loc is not imported. */
static int print_without_lines(
	const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out)
{
	struct strbuf all = {0};
	const char *s, *e;

	ptx_print_func(m, f, &all);
	for (s = all.at; s && *s; s = e) {
		e = s + strcspn(s, "\n");
		e += *e == '\n';
		if (strncmp(s, "\t.loc", 5) != 0)
			strbuf_add(out, s, (size_t)(e - s));
	}
	if (all.failed)
		out->failed = true;
	strbuf_finish(&all);
	return out->failed ? -ENOMEM : 0;
}

static int same_text(
	const struct import *im, const struct ptx_func *a, const struct ptx_func *b, bool *ret_same)
{
	struct strbuf x = {0}, y = {0};
	int r = print_without_lines(im->own, a, &x);

	if (r == 0)
		r = print_without_lines(im->into, b, &y);
	if (r == 0)
		*ret_same = x.len == y.len && !memcmp(x.at, y.at, x.len);
	strbuf_finish(&x);
	strbuf_finish(&y);
	return r;
}

static void look_at_reached(void *user, const struct ptx_sym *sym)
{
	struct import *im = user;
	const struct import_sym *g = import_sym_of(im, sym);

	im->all_shared &= !g || g->shared;
}

/* Finds the .weak functions to share. Starts with all functions whose text is equal in both
 * modules. Then removes a function if it reaches anything that is not shared, until nothing
 * changes. */
static int share_weak(struct import *im)
{
	bool again = true;

	for (size_t i = 0; i < im->syms.len; i++) {
		struct import_sym *g = &im->syms.at[i];
		const struct ptx_sym *there = global_of(im->into, g->sym->name);
		bool same = false;
		int r;

		if (g->sym->kind != PTX_SYM_FUNC || !(g->sym->linkage & PTX_WEAK) || !there ||
			there->kind != PTX_SYM_FUNC || !(there->linkage & PTX_WEAK) ||
			!there->func->has_body || g->sym->func->is_entry ||
			g->sym->func->sym != g->sym || there->func->sym != there)
			continue;
		r = same_text(im, g->sym->func, there->func, &same);
		if (r < 0)
			return r;
		g->shared = same ? there : NULL;
	}
	while (again) {
		again = false;
		for (size_t i = 0; i < im->syms.len; i++) {
			struct import_sym *g = &im->syms.at[i];

			if (!g->shared || g->sym->kind != PTX_SYM_FUNC || g->is_extern)
				continue;
			im->all_shared = true;
			ptx_visit_globals(im->own, g->sym->func, look_at_reached, im);
			again |= !im->all_shared;
			g->shared = im->all_shared ? g->shared : NULL;
		}
	}
	return 0;
}

static int find_shared(struct import *im)
{
	int r = share_dynamic(im);

	for (size_t i = 0; r == 0 && i < im->syms.len; i++)
		if (im->syms.at[i].is_extern && !is_dynamic_shared(im->syms.at[i].sym))
			r = share_extern(im, &im->syms.at[i]);
	return r == 0 ? share_weak(im) : r;
}

/* ---- names ---- */
static bool keeps_name(const struct import *im, const struct import_sym *g)
{
	const struct ptx_sym *sym = g->sym;

	if (sym->kind != PTX_SYM_FUNC)
		return g->is_extern && !is_dynamic_shared(sym);
	return g->is_extern ||
	       (sym->linkage & PTX_WEAK && !sym->func->is_entry && !global_of(im->into, sym->name));
}

static int choose_name(struct import *im, struct import_sym *g)
{
	const char *old = g->sym->name, *text = old;
	bool taken;

	if (g->shared)
		text = g->shared->name;
	else if (!keeps_name(im, g))
		text = arena_printf(&im->own->arena, "%s%s", im->prefix, old);
	if (!text)
		return -ENOMEM;
	g->name = hash_map_at(&im->by_name, old);
	if (g->name)
		return 0;
	/* Nothing inside the imported functions may use the new name either, because it would hide
	 * the renamed symbol there. */
	taken = strcmp(text, old) != 0 && !g->shared && ptx_is_known(im->own, text);
	if (taken || (!g->shared && global_of(im->into, text))) {
		complain(im, "the name %.200s is taken; another prefix would do%s", text, "");
		return -EEXIST;
	}
	g->name = ptx_name_from(im->own, text);
	return g->name && hash_map_put_at(&im->by_name, old, (void *)g->name) ? 0 : -ENOMEM;
}

static const char *name_now(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size)
{
	const struct import_sym *g = reg == PTX_NO_REG ? import_sym_of(user, sym) : NULL;

	return g ? g->name->text : NULL;
}

/* Renames the symbols in a statement's text. The caller runs this while the old names still
 * resolve, because the text contains the old names. */
static int rename_text(void *user, struct ptx_stmt *s)
{
	struct import *im = user;
	const void *text = ptx_rename_stmt(im->own, s, name_now, im);

	if (!text)
		return -ENOMEM;
	if (s->kind == PTX_DECL)
		s->sym->init = text;
	else if (s->kind == PTX_DIRECTIVE)
		s->sym->targets = (struct ptx_opd *)text;
	else if (s->n)
		s->opd = (struct ptx_opd *)text;
	else
		s->text = text;
	return 0;
}

static int rename_item(struct import *im, struct ptx_item *it)
{
	const char *text;

	if (it->kind == PTX_ITEM_FUNC)
		return ptx_walk_texts(im->own, it->func, rename_text, im);
	text = it->kind == PTX_ITEM_VAR ? it->sym->init : it->text;
	if (!text || (it->kind == PTX_ITEM_TEXT && !ptx_word_is(text, ".alias")))
		return 0;
	text = ptx_rename_text(im->own, text, name_now, im);
	if (it->kind == PTX_ITEM_VAR)
		it->sym->init = text;
	else
		it->text = text;
	return text ? 0 : -ENOMEM;
}

static int rename_all(struct import *im)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < im->syms.len; i++)
		r = choose_name(im, &im->syms.at[i]);
	for (size_t i = 0; r == 0 && i < im->own->items.len; i++)
		r = rename_item(im, &im->own->items.at[i]);
	for (size_t i = 0; r == 0 && i < im->syms.len; i++) {
		struct import_sym *g = &im->syms.at[i];

		g->sym->name = g->name->text;
		g->sym->name_len = g->name->len;
	}
	return r;
}

/* ---- the text to import ---- */
static bool is_line(const struct ptx_stmt *s)
{
	return s->kind == PTX_DIRECTIVE && !s->sym && ptx_word_is(s->text, ".loc");
}

static void drop_lines(struct ptx_func *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->body.len; i++)
		if (!is_line(&f->body.at[i]))
			f->body.at[kept++] = f->body.at[i];
	f->body.len = kept;
}

/* Returns whether sym is imported, and not merged with a symbol of `into`. */
static bool goes_over(const struct import *im, const struct ptx_sym *sym)
{
	return !import_sym_of(im, sym)->shared;
}

/* Returns the index of the module's first function with a body. */
static size_t first_body(const struct ptx_module *m)
{
	size_t at = 0;

	while (at < m->items.len &&
		(m->items.at[at].kind != PTX_ITEM_FUNC || !m->items.at[at].func->has_body))
		at++;
	return at;
}

static bool is_declared(const struct import *im, const struct ptx_sym *shared)
{
	const struct ptx_module *m = im->into;

	for (size_t i = 0, n = first_body(m); i < n; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->sym == shared)
			return true;
	return false;
}

/* Prints the declarations of the imported symbols and returns their number. Functions come first,
 * because a variable's initializer can name them. */
static size_t print_front(const struct import *im, struct strbuf *out)
{
	const struct ptx_module *own = im->own;
	size_t n = 0;

	for (size_t i = 0; i < im->syms.len; i++) {
		const struct ptx_sym *sym = im->syms.at[i].sym, *shared;
		struct ptx_func declared;

		shared = im->syms.at[i].shared;
		if (sym->kind != PTX_SYM_FUNC || sym->func->is_entry ||
			(shared && is_declared(im, shared)))
			continue;
		declared = *sym->func;
		if (sym->func->sym != sym) { /* sym is an alias */
			declared.sym = (struct ptx_sym *)sym;
			declared.linkage = sym->linkage;
		}
		declared.has_body = false;
		ptx_print_func(own, &declared, out);
		n++;
	}
	for (size_t i = 0; i < own->items.len; i++) {
		struct ptx_stmt s = {.kind = PTX_DECL, .guard = PTX_NO_REG};

		if (own->items.at[i].kind != PTX_ITEM_VAR)
			continue;
		s.sym = own->items.at[i].sym;
		if (!goes_over(im, s.sym))
			continue;
		ptx_print_stmt(NULL, &s, out);
		n++;
	}
	return n;
}

static bool has_text(const struct ptx_module *m, const char *text)
{
	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_TEXT && !strcmp(m->items.at[i].text, text))
			return true;
	return false;
}

static void print_text(const struct import *im, const char *text, struct strbuf *out)
{
	static const char *const stay[] = {
		".version", ".target", ".address_size", ".file", ".section"};

	for (size_t i = 0; i < ARRAY_LEN(stay); i++)
		if (ptx_word_is(text, stay[i]))
			return;
	if (text[0] == '@' || has_text(im->into, text))
		return;
	strbuf_puts(out, text);
	strbuf_puts(out, "\n");
}

static void print_back(const struct import *im, struct strbuf *out)
{
	for (size_t i = 0; i < im->own->items.len; i++) {
		const struct ptx_item *it = &im->own->items.at[i];

		if (it->kind == PTX_ITEM_TEXT) {
			print_text(im, it->text, out);
		} else if (it->kind == PTX_ITEM_FUNC && it->func->has_body &&
			   goes_over(im, it->func->sym)) {
			drop_lines(it->func);
			ptx_print_func(im->own, it->func, out);
		}
	}
}

/* Moves the n items that begin at index `from` before the module's first function body. */
static int to_front(struct ptx_module *m, size_t from, size_t n)
{
	size_t at;
	struct ptx_item *moved = malloc((n + 1) * sizeof(*moved));

	if (!moved)
		return -ENOMEM;
	at = MIN(first_body(m), from);
	memcpy(moved, m->items.at + from, n * sizeof(*moved));
	memmove(m->items.at + at + n, m->items.at + at, (from - at) * sizeof(*moved));
	memcpy(m->items.at + at, moved, n * sizeof(*moved));
	free(moved);
	return 0;
}

/* Raises the target module's .version to the later one of the two modules' versions, and sets its
 * .target to the one for which the code of both modules can be assembled (see check_targets). */
static int raise_module(struct import *im)
{
	const struct ptx_module *own = im->own;
	struct ptx_module *m = im->into;
	struct ptx_target a = ptx_target_of(m), b = ptx_target_of(own), both = a;
	const char *target;

	if (ptx_target_join(&a, &b, &both) && (both.sm != a.sm || both.kind != a.kind)) {
		char kind[2] = {both.kind, 0};

		target = arena_printf(&m->arena, ".target sm_%u%s%s", both.sm, kind,
			m->target + strcspn(m->target, ", \t\n"));
		if (!target)
			return -ENOMEM;
		m->sm = both.sm;
		m->target = target + strlen(".target ");
		ptx_set_text(m, ".target", target);
	}
	return ptx_raise_version(m, own->version);
}

/* Gives the imported statements their original line numbers. They were printed and parsed again,
 * and the text contains no line numbers. */
static void give_lines(const struct import *im, const struct ptx_func *f)
{
	const struct ptx_func *now = ptx_find_func(im->into, f->sym->name);

	for (size_t i = 0; now && now->body.len == f->body.len && i < f->body.len; i++) {
		uint32_t line = f->body.at[i].line;

		now->body.at[i].line = line && line <= im->lines.len ? im->lines.at[line - 1] : 0;
		now->body.at[i].col = f->body.at[i].col;
	}
}

static void give_all_lines(const struct import *im)
{
	for (size_t i = 0; i < im->own->items.len; i++) {
		const struct ptx_item *it = &im->own->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->has_body && goes_over(im, it->func->sym))
			give_lines(im, it->func);
	}
}

static int move_over(struct import *im, struct ptx_func **ret)
{
	const char *entry = ptx_find_func(im->own, im->entry)->sym->name;
	struct ptx_sym *one = dynamic_shared(im->into);
	size_t n = im->into->items.len, n_front;
	struct strbuf text = {0};
	int r = -ENOMEM;

	n_front = print_front(im, &text);
	print_back(im, &text);
	if (!text.failed)
		r = ptx_add_text(im->into, im->diags, text.at, text.len);
	if (r == 0)
		r = to_front(im->into, n, n_front);
	if (r == 0)
		r = raise_module(im);
	if (r == 0 && one)
		r = ptx_raise_align(im->into, one, im->dynamic_align);
	if (r == 0) {
		give_all_lines(im);
		*ret = ptx_find_func(im->into, entry);
	}
	strbuf_finish(&text);
	return r;
}

static int extract(struct import *im, const struct ptx_module *from)
{
	int r = ptx_extract_lines(from, im->entry, true, &im->lines, &im->own);

	if (r == -ENOENT)
		complain(im, "there is no such function with a body%s%s", "", "");
	return r;
}

int ptx_import(struct ptx_module *into, const struct ptx_module *from, const char *entry,
	const char *prefix, struct diag_list *diags, struct ptx_func **ret)
{
	struct import im = {.into = into, .entry = entry, .prefix = prefix, .diags = diags};
	int r = extract(&im, from);

	if (r < 0)
		return r;
	r = check_modules(&im);
	if (r == 0)
		r = list_import_syms(&im);
	if (r == 0)
		r = find_shared(&im);
	if (r == 0)
		r = rename_all(&im);
	if (r == 0)
		r = move_over(&im, ret);
	ptx_module_free(im.own);
	VEC_FREE(&im.syms);
	VEC_FREE(&im.lines);
	hash_map_free(&im.by_sym);
	hash_map_free(&im.by_name);
	return r;
}
