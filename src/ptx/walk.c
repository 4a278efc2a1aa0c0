/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Walks over a body and keeps the name table as the parser would have it at each statement, so that
 * names in the body can be looked up again. */
#include "ptx/copy.h"
#include "ptx/lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool places(const struct ptx_stmt *s)
{
	return s->kind == PTX_LABEL || (s->kind == PTX_DIRECTIVE && s->sym);
}

static void place_at(struct ptx_walk *w, size_t scope, struct ptx_sym *label)
{
	label->placed = true;
	w->labels.at[w->first.at[scope]++] = label;
}

/* Collects the labels of each scope before the walk, because a label is known in its whole scope,
 * also before it is placed. */
static int gather_labels(struct ptx_walk *w)
{
	const ptx_body *body = &w->f->body;
	VEC(size_t) open = {0};
	size_t scopes = 1, total = 0;
	int r = -ENOMEM;

	if (!VEC_PUSH(&open, 0) || !VEC_PUSH(&w->first, 0))
		goto out;
	/* Counts the labels of each scope, then turns the counts into start indices. */
	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_OPEN) {
			if (!VEC_PUSH(&open, scopes++) || !VEC_PUSH(&w->first, 0))
				goto out;
		} else if (s->kind == PTX_CLOSE && open.len > 1) {
			open.len--;
		} else if (places(s)) {
			w->first.at[open.at[open.len - 1]]++;
			if (!VEC_PUSH(&w->labels, NULL))
				goto out;
		}
	}
	for (size_t i = 0; i < scopes; i++) {
		size_t n = w->first.at[i];

		w->first.at[i] = total;
		total += n;
	}
	open.len = 1;
	scopes = 1;
	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_OPEN)
			open.at[open.len++] = scopes++;
		else if (s->kind == PTX_CLOSE && open.len > 1)
			open.len--;
		else if (places(s))
			place_at(w, open.at[open.len - 1], s->sym);
	}
	/* While the labels were stored, first[i] advanced from the start of scope i to its end,
	 * which is the start of scope i + 1. Shifting the array restores the starts. */
	memmove(w->first.at + 1, w->first.at, (scopes - 1) * sizeof(*w->first.at));
	w->first.at[0] = 0;
	r = 0;
out:
	VEC_FREE(&open);
	return r;
}

static int bind(struct ptx_walk *w, struct ptx_sym *sym)
{
	struct ptx_name *n = ptx_name_from(w->m, sym->name);
	int r;

	if (!n)
		return -ENOMEM;
	r = sym->kind == PTX_SYM_REG ? ptx_bind_reg(w->m, n, sym) : ptx_bind(w->m->globals, n, sym);
	if (r == -EEXIST && w->twice)
		w->twice(w->user, sym);
	return r == -EEXIST ? 0 : r;
}

static int open_scope(struct ptx_walk *w)
{
	size_t i = w->first.at[w->scope], end = w->labels.len;
	int r;

	if (++w->scope < w->first.len)
		end = w->first.at[w->scope];
	r = ptx_scope_open(w->m->globals);
	for (; r == 0 && i < end; i++)
		r = bind(w, w->labels.at[i]);
	return r;
}

static int bind_params(struct ptx_walk *w, struct ptx_sym *const *at, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (strcmp(at[i]->name, "_") != 0)
			r = bind(w, at[i]);
	return r;
}

int ptx_walk_begin(struct ptx_walk *w, struct ptx_module *m, const struct ptx_func *f)
{
	int r;

	w->m = m;
	w->f = f;
	w->scope = w->depth = 0;
	w->labels.len = w->first.len = 0;
	r = gather_labels(w);
	if (r < 0)
		return r;
	ptx_unbind_func(m);
	r = open_scope(w);
	if (r == 0)
		r = bind_params(w, f->rets.at, f->rets.len);
	return r == 0 ? bind_params(w, f->params.at, f->params.len) : r;
}

int ptx_walk_step(struct ptx_walk *w, const struct ptx_stmt *s)
{
	switch (s->kind) {
	case PTX_DECL:
		if (s->sym->kind != PTX_SYM_REG || s->sym->first_reg < w->f->regs.len)
			return bind(w, s->sym);
		return 0;
	case PTX_OPEN:
		w->depth++;
		return open_scope(w);
	case PTX_CLOSE:
		if (w->depth == 0)
			return -EINVAL;
		w->depth--;
		ptx_scope_close(w->m->globals, NULL);
		return 0;
	default:
		return 0;
	}
}

void ptx_walk_end(struct ptx_walk *w)
{
	if (w->m)
		ptx_unbind_func(w->m);
	VEC_FREE(&w->labels);
	VEC_FREE(&w->first);
}

/* ---- statements stored as text ---- */
/* Returns the end of the word at s. *ret_name is true if the word is a name; the letters in a
 * number are not. */
static const char *word_end(const char *s, bool *ret_name)
{
	const char *e = ptx_ident_end(s);

	*ret_name = e != s;
	if (e == s && ch_is(*s, CH_DIGIT))
		while (ch_is(*e, CH_ID))
			e++;
	return e == s ? s + 1 : e;
}

static bool has_ident(const char *text)
{
	bool is_name = false;

	while (*text && !is_name)
		text = word_end(text, &is_name);
	return is_name;
}

/* Returns true if the operand's text can contain names: unknown operands, expressions without a
 * known value, and offsets of addresses. */
static bool is_text(const struct ptx_opd *o)
{
	if (!o->name)
		return false;
	if (o->kind == PTX_OPD_IMM)
		return !o->has_value;
	return o->kind == PTX_OPD_TEXT || (o->kind == PTX_OPD_ADDR && has_ident(o->name));
}

static bool any_text(const struct ptx_opd *o, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_text(&o[i]) || (o[i].kind >= PTX_OPD_ADDR && o[i].kind <= PTX_OPD_PAIR &&
					      any_text(o[i].list, o[i].n)))
			return true;
	return false;
}

static bool has_text(const struct ptx_stmt *s)
{
	if (s->kind == PTX_DECL)
		return s->sym->init;
	if (s->kind == PTX_DIRECTIVE && s->sym)
		return any_text(s->sym->targets, s->sym->n_targets);
	if (s->kind != PTX_INSN)
		return false;
	return s->n ? any_text(s->opd, s->n) : s->text != NULL;
}

int ptx_walk_texts(struct ptx_module *m, const struct ptx_func *f, ptx_text_fn *fn, void *user)
{
	const ptx_body *body = &f->body;
	struct ptx_walk walk = {0};
	size_t first = 0;
	int r;

	while (first < body->len && !has_text(&body->at[first]))
		first++;
	if (first == body->len)
		return 0;
	r = ptx_walk_begin(&walk, m, f);
	for (size_t i = 0; r == 0 && i < body->len; i++) {
		if (has_text(&body->at[i]))
			r = fn(user, &body->at[i]);
		if (r == 0)
			r = ptx_walk_step(&walk, &body->at[i]);
	}
	ptx_walk_end(&walk);
	return r;
}

struct texts {
	struct ptx_module *m;
	ptx_renamed_fn *name_of;
	void *user;
	bool failed;
};

static void rename_opd(void *user, struct ptx_opd *o)
{
	struct texts *t = user;

	if (!is_text(o))
		return;
	o->name = ptx_rename_text(t->m, o->name, t->name_of, t->user);
	t->failed |= !o->name;
}

const void *ptx_rename_stmt(
	struct ptx_module *m, const struct ptx_stmt *s, ptx_renamed_fn *name_of, void *user)
{
	struct texts t = {.m = m, .name_of = name_of, .user = user};
	struct ptx_stmt copy = {.kind = PTX_INSN};

	if (s->kind == PTX_DECL)
		return ptx_rename_text(m, s->sym->init, name_of, user);
	if (s->kind == PTX_DIRECTIVE) {
		copy.opd = ptx_copy_opds(
			&(struct ptx_copy){.m = m}, s->sym->targets, s->sym->n_targets);
		for (uint32_t i = 0; copy.opd && i < s->sym->n_targets; i++)
			rename_opd(&t, &copy.opd[i]);
		return t.failed ? NULL : copy.opd;
	}
	if (!s->n)
		return ptx_rename_text(m, s->text, name_of, user);
	copy = ptx_copy_stmt(m, s);
	ptx_visit_opds(&copy, rename_opd, &t);
	return copy.n && !t.failed ? copy.opd : NULL;
}

static const char *renamed(struct ptx_module *m, const char *s, size_t len, ptx_renamed_fn *name_of,
	void *user, char *buf, size_t size)
{
	char word[512] = {0}; /* eight bytes after a name must be readable */
	const struct ptx_name *n;
	uint32_t reg;

	if (len + 8 > sizeof(word))
		return NULL;
	memcpy(word, s, len);
	if (ptx_find_reg(m, word, len, &reg))
		return name_of(user, reg, NULL, buf, size);
	n = ptx_name_if_known(m, word, len);
	if (!n || (!n->local && !n->global))
		return NULL;
	return name_of(user, PTX_NO_REG, n->local ? n->local : n->global, buf, size);
}

const char *ptx_rename_text(
	struct ptx_module *m, const char *text, ptx_renamed_fn *name_of, void *user)
{
	struct strbuf out = {0};
	const char *s = text, *kept = text, *result = text;

	while (*s) {
		char buf[160];
		bool is_name;
		const char *e, *to = NULL;

		/* Words after a dot (".b32") and words in a string ("generic") are not names. */
		if (*s == '"') {
			e = strchr(s + 1, '"');
			s = e ? e + 1 : s + strlen(s);
			continue;
		}
		e = word_end(s, &is_name);
		if (is_name && (s == text || s[-1] != '.'))
			to = renamed(m, s, (size_t)(e - s), name_of, user, buf, sizeof(buf));
		if (to) {
			strbuf_add(&out, kept, (size_t)(s - kept));
			strbuf_puts(&out, to);
			kept = e;
		}
		s = e;
	}
	if (kept != text) {
		strbuf_puts(&out, kept);
		result = out.failed ? NULL : arena_strndup(&m->arena, out.at, out.len);
	}
	strbuf_finish(&out);
	return result;
}
