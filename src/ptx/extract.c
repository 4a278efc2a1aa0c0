/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the functions and variables that a kernel reaches, and extracts one kernel together with
 * these as a new module. The extracted code is printed and parsed again, so the new module shares
 * no memory with the old one. Debug sections are not copied, because they describe the whole file.
 * Parts of .loc that refer to those sections are not copied either. */
#include "ptx/copy.h"
#include "ptx/lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reach {
	const struct ptx_module *m;
	VEC(const struct ptx_sym *) todo; /* all symbols reached so far, in order of discovery */
	struct hash_map seen;             /* the same symbols as a set */
	bool locs, failed;
};

static bool is_reached(const struct reach *r, const struct ptx_sym *sym)
{
	return hash_map_at(&r->seen, sym) != NULL;
}

static void reach(struct reach *r, const struct ptx_sym *sym)
{
	if (is_reached(r, sym))
		return;
	if (!hash_map_put_at(&r->seen, sym, (void *)sym) || !VEC_PUSH(&r->todo, sym))
		r->failed = true;
}

void ptx_visit_text_globals(
	const struct ptx_module *m, const char *s, ptx_global_fn *fn, void *user)
{
	char name[512];

	while (*s) {
		const char *e = ptx_ident_end(s);
		const struct ptx_sym *sym;

		if (e == s) {
			/* Skips the whole number, because letters in it are not a name. */
			while (ch_is(*s, CH_DIGIT) || (e != s && ch_is(*s, CH_ID)))
				e = ++s;
			if (e != s)
				continue;
			s += e == s;
			continue;
		}
		if ((size_t)(e - s) < sizeof(name)) {
			memcpy(name, s, (size_t)(e - s));
			name[e - s] = 0;
			sym = ptx_find_global(m, name);
			if (sym)
				fn(user, sym);
		}
		s = e;
	}
}

static void visit_opds(const struct ptx_module *m, const struct ptx_opd *o, size_t n,
	ptx_global_fn *fn, void *user)
{
	for (size_t i = 0; i < n; i++) {
		if (o[i].kind >= PTX_OPD_ADDR && o[i].kind <= PTX_OPD_PAIR)
			visit_opds(m, o[i].list, o[i].n, fn, user);
		else if (o[i].kind == PTX_OPD_SYM && o[i].sym &&
			 ptx_find_global(m, o[i].sym->name) == o[i].sym)
			fn(user, o[i].sym);
	}
}

void ptx_visit_globals(
	const struct ptx_module *m, const struct ptx_func *f, ptx_global_fn *fn, void *user)
{
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN && s->n)
			visit_opds(m, s->opd, s->n, fn, user);
		else if (s->kind == PTX_INSN && s->text)
			ptx_visit_text_globals(m, s->text, fn, user);
		else if (s->kind == PTX_DECL && s->sym->init)
			ptx_visit_text_globals(m, s->sym->init, fn, user);
		else if (s->kind == PTX_DIRECTIVE && s->sym)
			visit_opds(m, s->sym->targets, s->sym->n_targets, fn, user);
	}
}

static void reach_body(void *user, const struct ptx_sym *sym)
{
	if (sym->kind == PTX_SYM_FUNC && sym->func && sym->func->has_body)
		/* Adds the function itself, not its alias. Otherwise it could be in the list
		 * twice. */
		reach(user, sym->func->sym);
}

int ptx_reached(const struct ptx_module *m, const struct ptx_func *f, ptx_func_list *list)
{
	struct reach r = {.m = m};

	for (size_t i = 0; i < list->len; i++)
		reach(&r, list->at[i]->sym);
	reach_body(&r, f->sym);
	for (size_t i = list->len; i < r.todo.len && !r.failed; i++) {
		ptx_visit_globals(m, r.todo.at[i]->func, reach_body, &r);
		r.failed = r.failed || !VEC_PUSH(list, r.todo.at[i]->func);
	}
	hash_map_free(&r.seen);
	VEC_FREE(&r.todo);
	return r.failed ? -ENOMEM : 0;
}

static void reach_global(void *user, const struct ptx_sym *sym)
{
	reach(user, sym);
}

static void reach_text(struct reach *r, const char *s)
{
	ptx_visit_text_globals(r->m, s, reach_global, r);
}

static void reach_func(struct reach *r, const struct ptx_func *f)
{
	ptx_visit_globals(r->m, f, reach_global, r);
	for (size_t i = 0; i < f->body.len && !r->locs; i++)
		r->locs = f->body.at[i].kind == PTX_DIRECTIVE && !f->body.at[i].sym &&
			  ptx_word_is(f->body.at[i].text, ".loc");
}

/* For ".alias a, b": if a is reached, b is reached as well. */
static void reach_aliases(struct reach *r, const struct ptx_sym *sym)
{
	for (size_t i = 0; i < r->m->items.len; i++) {
		const struct ptx_item *it = &r->m->items.at[i];
		const char *s;

		if (it->kind != PTX_ITEM_TEXT || !ptx_word_is(it->text, ".alias"))
			continue;
		for (s = it->text + strlen(".alias"); *s == ' ' || *s == '\n'; s++)
			;
		if (ptx_word_is(s, sym->name))
			reach_text(r, s);
	}
}

static bool keep_text(const struct reach *r, const char *text)
{
	if (ptx_word_is(text, ".section") || text[0] == '@')
		return false;
	if (ptx_word_is(text, ".file"))
		return r->locs;
	if (ptx_word_is(text, ".alias")) {
		for (size_t i = 0; i < r->todo.len; i++) {
			const char *s = strstr(text, r->todo.at[i]->name);

			if (s && (s[-1] == ' ' || s[-1] == '\n') &&
				ptx_word_is(s, r->todo.at[i]->name))
				return true;
		}
		return false;
	}
	return true;
}

static bool has_storage(const struct ptx_sym *sym)
{
	return sym->space == PTX_GLOBAL || sym->space == PTX_CONST;
}

/* Prints a module variable. Unless keep_storage is set, a .global or .const variable becomes an
 * .extern declaration, because the original module owns the storage. */
static void print_var(const struct ptx_sym *sym, bool keep_storage, struct strbuf *out)
{
	struct ptx_sym copy = *sym;
	struct ptx_stmt s = {.kind = PTX_DECL, .guard = PTX_NO_REG, .sym = &copy};

	if (!keep_storage && has_storage(sym)) {
		copy.linkage = PTX_EXTERN;
		copy.init = NULL;
	}
	ptx_print_stmt(NULL, &s, out);
}

struct noting {
	/* from[i] is the original line of line i + 1 of the printed text. If memory runs out, the
	 * last entries are missing. */
	ptx_lines *from;
	size_t at, before; /* before: number of lines that end before offset `at` of the text */
};

static void note_lines(struct noting *n, const struct strbuf *out, const ptx_lines *of_func)
{
	ptx_lines *from = n->from;

	for (; n->at < out->len; n->at++)
		n->before += out->at[n->at] == '\n';
	while (from->len < n->before)
		if (!VEC_PUSH(from, 0))
			return;
	for (size_t i = 0; i < of_func->len; i++)
		if (!VEC_PUSH(from, of_func->at[i]))
			return;
}

static void print_func(
	const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out, struct noting *n)
{
	struct strbuf b = {0};
	const char *s, *name;
	ptx_lines lines = {0};

	ptx_print_func_lines(m, f, &b, n->from ? &lines : NULL);
	if (n->from)
		note_lines(n, out, &lines);
	VEC_FREE(&lines);
	if (b.failed)
		out->failed = true;
	for (s = b.at; s && (name = strstr(s, ", function_name")); s = name + strcspn(name, "\n"))
		strbuf_add(out, s, (size_t)(name - s));
	if (s)
		strbuf_puts(out, s);
	strbuf_finish(&b);
}

static void print_kept(
	const struct reach *r, bool keep_storage, struct strbuf *out, ptx_lines *from)
{
	struct noting n = {.from = from};

	for (size_t i = 0; i < r->m->items.len; i++) {
		const struct ptx_item *it = &r->m->items.at[i];

		if (it->kind == PTX_ITEM_TEXT && keep_text(r, it->text)) {
			strbuf_puts(out, it->text);
			strbuf_puts(out, "\n");
		} else if (it->kind == PTX_ITEM_VAR && is_reached(r, it->sym)) {
			print_var(it->sym, keep_storage, out);
		} else if (it->kind == PTX_ITEM_FUNC && is_reached(r, it->func->sym)) {
			print_func(r->m, it->func, out, &n);
		}
	}
}

void ptx_lines_behind(ptx_lines *io_lines, const ptx_lines *before)
{
	for (size_t i = 0; i < io_lines->len; i++) {
		uint32_t line = io_lines->at[i];

		io_lines->at[i] = line && line <= before->len ? before->at[line - 1] : 0;
	}
}

int ptx_extract(
	const struct ptx_module *m, const char *entry, bool keep_storage, struct ptx_module **ret)
{
	return ptx_extract_lines(m, entry, keep_storage, NULL, ret);
}

int ptx_extract_lines(const struct ptx_module *m, const char *entry, bool keep_storage,
	ptx_lines *ret_lines, struct ptx_module **ret)
{
	const struct ptx_func *f = ptx_find_func(m, entry);
	struct reach r = {.m = m};
	struct strbuf text = {0};
	struct diag_list *diags = calloc(1, sizeof(*diags));
	struct arena scratch;
	int err = -ENOMEM;

	arena_init(&scratch, 0);
	if (!f || !f->has_body) {
		err = -ENOENT;
	} else if (diags) {
		reach(&r, f->sym);
		for (size_t i = 0; i < r.todo.len; i++) {
			const struct ptx_sym *sym = r.todo.at[i];

			reach_aliases(&r, sym);
			if (sym->kind == PTX_SYM_FUNC && sym->func)
				reach_func(&r, sym->func);
			else if (sym->init && (keep_storage || !has_storage(sym)))
				reach_text(&r, sym->init);
		}
		print_kept(&r, keep_storage, &text, ret_lines);
		diag_init(diags, &scratch, entry, text.at, text.len);
		if (!r.failed && !text.failed)
			err = ptx_parse(text.at, text.len, 0, diags, ret);
	}
	arena_finish(&scratch);
	free(diags);
	hash_map_free(&r.seen);
	VEC_FREE(&r.todo);
	strbuf_finish(&text);
	return err;
}
