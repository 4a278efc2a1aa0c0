/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Removes inner scopes: their declarations move to the function's head, under names that nothing
 * else uses. Inline assembly creates thousands of scopes, so every step takes linear time:
 * - Classify each scope: must it keep its braces?
 * - Choose new names for the declarations of scopes that lose their braces.
 * - Put the new names into statements that are stored as text. This happens during a walk in which
 *   the old names in the text can still be looked up.
 * - Write the new body.
 *
 * ptx_validate checks the result. If it reports an error, all changes are undone. */
#include "ptx/copy.h"
#include "ptx/graft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A symbol that gets another name, and its old contents, for undo. */
struct renaming {
	struct ptx_sym *sym;
	struct ptx_sym old;
	const struct ptx_name *name;
};

struct flat {
	struct ptx_module *m;
	struct ptx_func *f;
	struct diag_list *diags;
	/* for each scope, in the order of opening braces: whether it keeps its braces */
	VEC(bool) kept;
	VEC(struct renaming) renamed;
	struct hash_map names; /* symbol -> its new name */
	struct hash_map texts; /* statement -> result of ptx_rename_stmt */
	ptx_body body;
	VEC(struct ptx_sym *) hoisted; /* symbols from inner scopes */
	uint32_t tag;
};

static void complain(struct flat *c, const struct ptx_stmt *s, const char *what, const char *name)
{
	diag_add(c->diags, DIAG_ERROR, s ? s->line : c->f->line, s ? s->col : 1, 1,
		"in %.100s: %s%.200s", c->f->sym->name, what, name);
}

static bool is_call_param(const struct ptx_stmt *s)
{
	return s->kind == PTX_DECL && s->sym->kind == PTX_SYM_VAR && s->sym->space == PTX_PARAM;
}

/* Finds the pairs of braces that contain only a call sequence. */
static int measure_scopes(struct flat *c)
{
	const ptx_body *body = &c->f->body;
	VEC(size_t) open = {0}; /* numbers of the open scopes */
	VEC(bool) straight = {0};
	int r = -ENOMEM;

	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];
		size_t at = open.len ? open.at[open.len - 1] : SIZE_MAX;

		if (s->kind == PTX_OPEN) {
			if (open.len)
				straight.at[at] = false;
			if (!VEC_PUSH(&open, c->kept.len) || !VEC_PUSH(&c->kept, false) ||
				!VEC_PUSH(&straight, true))
				goto out;
		} else if (s->kind == PTX_CLOSE && !open.len) {
			complain(c, s, "a brace closes nothing", "");
			r = -EINVAL;
			goto out;
		} else if (s->kind == PTX_CLOSE) {
			c->kept.at[at] = c->kept.at[at] && straight.at[at];
			open.len--;
		} else if (open.len) {
			if (is_call_param(s))
				c->kept.at[at] = true;
			if (s->kind == PTX_LABEL ||
				(s->kind == PTX_INSN && s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT)))
				straight.at[at] = false;
		}
	}
	r = open.len ? -EINVAL : 0;
	if (r < 0)
		complain(c, NULL, "a brace is not closed", "");
out:
	VEC_FREE(&open);
	VEC_FREE(&straight);
	return r;
}

/* Returns true if the function is already flat: all declarations come first, and braces enclose
 * only call sequences. */
static bool is_flat(const struct flat *c)
{
	const ptx_body *body = &c->f->body;
	bool began = false, inside = false;

	for (size_t i = 0; i < c->kept.len; i++)
		if (!c->kept.at[i])
			return false;
	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_DECL && began && !(inside && is_call_param(s)))
			return false;
		began |= s->kind != PTX_DECL;
		inside = s->kind == PTX_OPEN || (inside && s->kind != PTX_CLOSE);
	}
	return true;
}

static int rename_sym(struct flat *c, const struct ptx_stmt *s)
{
	struct renaming r = {.sym = s->sym, .old = *s->sym};

	r.name = ptx_tagged_name(c->m, c->tag, s->sym);
	if (!r.name || !VEC_PUSH(&c->renamed, r) ||
		!hash_map_put_at(&c->names, s->sym, (void *)r.name->text))
		return -ENOMEM;
	return 0;
}

/* Calls `each` with every statement, its scope depth, and whether the enclosing braces are kept
 * (those of a call sequence). */
static int each_stmt(struct flat *c,
	int (*each)(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept))
{
	const ptx_body *body = &c->f->body;
	size_t depth = 0, scope = 0;
	bool kept = false; /* the current scope keeps its braces; such scopes contain no others */
	int r = 0;

	for (size_t i = 0; r == 0 && i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_OPEN) {
			depth++;
			kept = c->kept.at[scope++];
		}
		r = each(c, s, depth, kept);
		if (s->kind == PTX_CLOSE) {
			depth--;
			kept = false;
		}
	}
	return r;
}

static int choose_name(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept)
{
	if (depth == 0 || (kept && s->kind != PTX_DECL) || (kept && is_call_param(s)))
		return 0;
	if (s->kind == PTX_DECL || s->kind == PTX_LABEL || (s->kind == PTX_DIRECTIVE && s->sym))
		return rename_sym(c, s);
	return 0;
}

static const char *new_name(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size)
{
	struct flat *c = user;
	const char *name;

	if (reg != PTX_NO_REG)
		sym = c->f->regs.at[reg].sym;
	name = hash_map_at(&c->names, sym);
	if (!name || reg == PTX_NO_REG || !sym->count)
		return name;
	snprintf(buf, size, "%s%u", name, c->f->regs.at[reg].number);
	return buf;
}

static int translate_text(void *user, struct ptx_stmt *s)
{
	struct flat *c = user;
	const void *text = ptx_rename_stmt(c->m, s, new_name, c);

	return text && hash_map_put_at(&c->texts, s, (void *)text) ? 0 : -ENOMEM;
}

static int put_decl(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept)
{
	struct ptx_stmt st = *s;

	if (s->kind != PTX_DECL || (kept && is_call_param(s)))
		return 0;
	st.line = st.col = 0;
	if (!VEC_PUSH(&c->body, st) || (depth && !VEC_PUSH(&c->hoisted, s->sym)))
		return -ENOMEM;
	return 0;
}

static int put_rest(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept)
{
	struct ptx_stmt st = *s;
	const void *text = hash_map_at(&c->texts, s);

	if (s->kind == PTX_DECL && !(kept && is_call_param(s)))
		return 0;
	if ((s->kind == PTX_OPEN || s->kind == PTX_CLOSE) && !kept)
		return 0;
	if (s->kind == PTX_INSN && text) {
		if (s->n)
			st.opd = (struct ptx_opd *)text;
		else
			st.text = text;
	}
	return VEC_PUSH(&c->body, st) ? 0 : -ENOMEM;
}

/* Gives the symbols their new names. From here on, an error has to be undone. */
static int apply_names(struct flat *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->renamed.len; i++) {
		struct ptx_sym *sym = c->renamed.at[i].sym;
		const struct ptx_name *n = c->renamed.at[i].name;

		sym->name = n->text;
		sym->name_len = n->len;
		if (sym->kind == PTX_SYM_VAR && sym->decl && !sym->name_at)
			r = ptx_own_decl(c->m, sym);
		if (r == -ENOTSUP)
			complain(c, NULL, "the type is not known of the variable ",
				c->renamed.at[i].old.name);
	}
	for (size_t i = 0; r == 0 && i < c->f->body.len; i++) {
		const struct ptx_stmt *s = &c->f->body.at[i];
		void *text = s->kind != PTX_INSN ? hash_map_at(&c->texts, s) : NULL;

		if (!text)
			continue;
		if (!VEC_PUSH(&c->renamed, (struct renaming){.sym = s->sym, .old = *s->sym}))
			return -ENOMEM;
		if (s->kind == PTX_DECL)
			s->sym->init = text;
		else
			s->sym->targets = text;
	}
	return r;
}

static void undo(struct flat *c)
{
	for (size_t i = c->renamed.len; i-- > 0;)
		*c->renamed.at[i].sym = c->renamed.at[i].old;
}

/* Exchanges the function's body with the body in c. */
static void swap_body(struct flat *c)
{
	ptx_body old = c->f->body;

	c->f->body = c->body;
	c->body = old;
}

static int rewrite(struct flat *c)
{
	size_t n_syms = c->f->syms.len;
	int r = each_stmt(c, put_decl);

	if (r == 0)
		r = each_stmt(c, put_rest);
	for (size_t i = 0; r == 0 && i < c->hoisted.len; i++)
		if (!VEC_PUSH(&c->f->syms, c->hoisted.at[i]))
			r = -ENOMEM;
	if (r == 0)
		r = apply_names(c);
	if (r == 0) {
		swap_body(c);
		r = ptx_validate_func(c->m, c->f, c->diags) ? -EINVAL : 0;
		if (r < 0)
			swap_body(c);
	}
	if (r < 0) {
		undo(c);
		c->f->syms.len = n_syms;
	}
	return r;
}

int ptx_flatten(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags)
{
	struct flat c = {.m = m, .f = f, .diags = diags};
	int r = measure_scopes(&c);

	if (r == 0 && !is_flat(&c)) {
		ptx_unbind_func(m);
		c.tag = ptx_new_tag(m);
		r = each_stmt(&c, choose_name);
		if (r == 0)
			r = ptx_walk_texts(c.m, c.f, translate_text, &c);
		if (r == 0)
			r = rewrite(&c);
	}
	VEC_FREE(&c.kept);
	VEC_FREE(&c.renamed);
	VEC_FREE(&c.body);
	VEC_FREE(&c.hoisted);
	hash_map_free(&c.names);
	hash_map_free(&c.texts);
	return r;
}

/* ---- names reserved for passes ---- */
bool ptx_is_own_name(const char *name)
{
	const char *s = *name == '%' || *name == '$' ? name + 1 : name, *end = s + strlen(s);
	const char *digits = end;

	if (strncmp(s, "hd_", 3) != 0 || (s[3] >= '0' && s[3] <= '9'))
		return false;
	while (digits > s && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return digits == end || digits[-1] != '_';
}

static int choose_free(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept)
{
	bool names =
		s->kind == PTX_DECL || s->kind == PTX_LABEL || (s->kind == PTX_DIRECTIVE && s->sym);

	(void)depth;
	(void)kept;
	return names && ptx_is_own_name(s->sym->name) ? rename_sym(c, s) : 0;
}

static int choose_params(struct flat *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->f->params.len + c->f->rets.len; i++) {
		size_t at = i < c->f->params.len ? i : i - c->f->params.len;
		struct ptx_stmt s = {.sym = at == i ? c->f->params.at[at] : c->f->rets.at[at]};

		if (ptx_is_own_name(s.sym->name))
			r = rename_sym(c, &s);
	}
	return r;
}

static int put_renamed(struct flat *c, const struct ptx_stmt *s, size_t depth, bool kept)
{
	struct ptx_stmt st = *s;
	const void *text = s->kind == PTX_INSN ? hash_map_at(&c->texts, s) : NULL;

	(void)depth;
	(void)kept;
	if (text && s->n)
		st.opd = (struct ptx_opd *)text;
	else if (text)
		st.text = text;
	return VEC_PUSH(&c->body, st) ? 0 : -ENOMEM;
}

static bool has_own_names(const struct ptx_func *f)
{
	for (size_t i = 0; i < f->params.len; i++)
		if (ptx_is_own_name(f->params.at[i]->name))
			return true;
	for (size_t i = 0; i < f->rets.len; i++)
		if (ptx_is_own_name(f->rets.at[i]->name))
			return true;
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if ((s->kind == PTX_DECL || s->kind == PTX_LABEL || s->kind == PTX_DIRECTIVE) &&
			s->sym && ptx_is_own_name(s->sym->name))
			return true;
	}
	return false;
}

static int apply_free_names(struct flat *c)
{
	int r = apply_names(c);

	if (r == 0) {
		ptx_unbind_func(c->m);
		swap_body(c);
		r = ptx_validate_func(c->m, c->f, c->diags) ? -EINVAL : 0;
		if (r < 0)
			swap_body(c);
	}
	if (r < 0)
		undo(c);
	return r;
}

int ptx_free_names(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags)
{
	struct flat c = {.m = m, .f = f, .diags = diags};
	int r = 0;

	if (!f->has_body || !has_own_names(f))
		return 0;
	r = measure_scopes(&c);
	if (r == 0) {
		ptx_unbind_func(m);
		c.tag = ptx_new_tag(m);
		r = choose_params(&c);
	}
	if (r == 0)
		r = each_stmt(&c, choose_free);
	if (r == 0)
		r = ptx_walk_texts(c.m, c.f, translate_text, &c);
	if (r == 0)
		r = each_stmt(&c, put_renamed);
	if (r == 0)
		r = apply_free_names(&c);
	VEC_FREE(&c.kept);
	VEC_FREE(&c.renamed);
	VEC_FREE(&c.body);
	VEC_FREE(&c.hoisted);
	hash_map_free(&c.names);
	hash_map_free(&c.texts);
	return r;
}
