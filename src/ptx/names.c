/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The name table and the scopes; names.h explains the idea.
 *
 * Code can use a label before it is placed. Only when an inner scope closes is it known whether the
 * label belongs to this scope or to an outer one. Until then the name is bound to a symbol that is
 * not placed yet. ptx_scope_close hands such symbols to the enclosing scope. */
#include "ptx/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ptx_names_init(struct ptx_module *m)
{
	struct ptx_scope *sc = ARENA_NEW(&m->arena, struct ptx_scope);

	if (!sc)
		return -ENOMEM;
	m->globals = sc;
	ptx_ops_init(sc);
	sc->cap = 1024;
	sc->entries = calloc(sc->cap, sizeof(*sc->entries));
	return sc->entries ? 0 : -ENOMEM;
}

void ptx_names_free(struct ptx_module *m)
{
	struct ptx_scope *sc = m->globals;

	if (sc) {
		VEC_FREE(&sc->undo);
		VEC_FREE(&sc->marks);
		VEC_FREE(&sc->ids);
		VEC_FREE(&sc->fixups);
		free(sc->entries);
	}
}

static int names_grow(struct ptx_scope *sc)
{
	size_t cap = sc->cap * 2;
	struct ptx_name **entries = calloc(cap, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < sc->cap; i++) {
		struct ptx_name *n = sc->entries[i];
		size_t at;

		if (!n)
			continue;
		for (at = n->hash & (cap - 1); entries[at]; at = (at + 1) & (cap - 1))
			;
		entries[at] = n;
	}
	free(sc->entries);
	sc->entries = entries;
	sc->cap = cap;
	return 0;
}

struct ptx_name *ptx_name_hashed(struct ptx_module *m, const char *s, size_t len, uint32_t hash)
{
	struct ptx_scope *sc = m->globals;
	struct ptx_name *n;
	size_t at;

	for (at = hash & (sc->cap - 1); (n = sc->entries[at]); at = (at + 1) & (sc->cap - 1))
		if (n->hash == hash && n->len == len && ptx_same_text(n->text, s, len))
			return n;
	if (sc->len * 2 >= sc->cap) {
		if (names_grow(sc) < 0)
			return NULL;
		for (at = hash & (sc->cap - 1); sc->entries[at]; at = (at + 1) & (sc->cap - 1))
			;
	}
	n = arena_alloc(&m->arena, sizeof(*n) + len + 1);
	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	memcpy(n->text, s, len);
	n->text[len] = 0;
	n->len = (uint32_t)len;
	n->hash = hash;
	sc->entries[at] = n;
	sc->len++;
	return n;
}

struct ptx_name *ptx_name_if_known(const struct ptx_module *m, const char *s, size_t len)
{
	const struct ptx_scope *sc = m->globals;
	uint32_t hash = ptx_hash(s, len);
	struct ptx_name *n;

	for (size_t at = hash & (sc->cap - 1); (n = sc->entries[at]); at = (at + 1) & (sc->cap - 1))
		if (n->hash == hash && n->len == len && ptx_same_text(n->text, s, len))
			return n;
	return NULL;
}

struct ptx_name *ptx_name_from(struct ptx_module *m, const char *name)
{
	size_t len = strlen(name);
	char small[256], *padded = small;
	struct ptx_name *n;

	if (len + 8 > sizeof(small) && !(padded = malloc(len + 8)))
		return NULL;
	memcpy(padded, name, len);
	memset(padded + len, 0, 8);
	n = ptx_name_get(m, padded, len);
	if (padded != small)
		free(padded);
	return n;
}

struct ptx_sym *ptx_sym_new(struct ptx_module *m, enum ptx_sym_kind kind, const struct ptx_name *n)
{
	struct ptx_sym *sym = ARENA_NEW(&m->arena, struct ptx_sym);

	if (!sym)
		return NULL;
	sym->kind = kind;
	sym->name = n->text;
	sym->name_len = n->len;
	sym->type.vec = 1;
	return sym;
}

/* ---- scopes ---- */
uint32_t ptx_scope_id(const struct ptx_scope *sc)
{
	return sc->ids.len ? sc->ids.at[sc->ids.len - 1] : 0;
}

int ptx_scope_open(struct ptx_scope *sc)
{
	if (!VEC_PUSH(&sc->marks, sc->undo.len))
		return -ENOMEM;
	if (!VEC_PUSH(&sc->ids, ++sc->last_id)) {
		sc->marks.len--;
		return -ENOMEM;
	}
	return 0;
}

static bool is_open_label(const struct ptx_sym *sym)
{
	return sym && sym->kind == PTX_SYM_LABEL && !sym->placed;
}

int ptx_scope_close(struct ptx_scope *sc, struct ptx_func *f)
{
	size_t mark, keep;
	bool outermost = sc->marks.len == 1;
	int r = 0;

	if (!sc->marks.len)
		return -EINVAL;
	mark = keep = sc->marks.at[--sc->marks.len];
	sc->ids.len--;
	for (size_t i = mark; i < sc->undo.len; i++) {
		struct ptx_undo u = sc->undo.at[i];
		struct ptx_sym *sym = u.name->local;

		if (u.family) {
			u.name->family = u.hidden;
			continue;
		}
		u.name->local = u.hidden;
		if (outermost || !is_open_label(sym))
			continue;
		if (u.hidden && u.hidden->scope == ptx_scope_id(sc)) {
			if (u.hidden->kind == PTX_SYM_LABEL || u.hidden->kind == PTX_SYM_PROTO)
				sym->link = u.hidden;
			continue;
		}
		/* The label is not placed in this scope, so from now on it belongs to the outer
		 * scope. */
		u.name->local = sym;
		sym->scope = ptx_scope_id(sc);
		sc->undo.at[keep++] = u;
		if (sc->marks.len == 1 && f && !VEC_PUSH(&f->syms, sym))
			r = -ENOMEM;
	}
	sc->undo.len = keep;
	return r;
}

int ptx_bind(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym)
{
	uint32_t id = ptx_scope_id(sc);

	if (n->local && n->local->scope == id)
		return -EEXIST;
	if (!VEC_PUSH(&sc->undo, (struct ptx_undo){n, n->local, false}))
		return -ENOMEM;
	sym->scope = id;
	n->local = sym;
	return 0;
}

static int ptx_bind_family(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym)
{
	uint32_t id = ptx_scope_id(sc);
	char last = n->text[n->len - 1];

	if (n->family && n->family->scope == id)
		return -EEXIST;
	if (!VEC_PUSH(&sc->undo, (struct ptx_undo){n, n->family, true}))
		return -ENOMEM;
	sym->scope = id;
	sym->link = n->family;
	n->family = sym;
	if (n->text[0] != '%')
		sc->plain_families = true;
	if (last >= '0' && last <= '9')
		sc->digit_families = true;
	return 0;
}

/* ---- registers ---- */
int ptx_declare_regs(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym)
{
	size_t n = sym->count ? sym->count : 1;

	if (n > UINT32_MAX - 1 - f->regs.len)
		return -E2BIG;
	while (f->regs.cap < f->regs.len + n)
		if (!vec_grow((void **)&f->regs.at, &f->regs.cap, f->regs.cap,
			    sizeof(struct ptx_reg)))
			return -ENOMEM;
	sym->first_reg = (uint32_t)f->regs.len;
	for (size_t i = 0; i < n; i++)
		f->regs.at[f->regs.len++] = (struct ptx_reg){sym, (uint32_t)i};
	return 0;
}

static size_t stem_len(const char *s, size_t len)
{
	while (len && s[len - 1] >= '0' && s[len - 1] <= '9')
		len--;
	return len;
}

static struct ptx_name *prefix_name(struct ptx_module *m, const char *s, size_t len)
{
	struct ptx_scope *sc = m->globals;
	struct ptx_prefix_entry *entry;
	uint64_t key = 0;

	if (len > PTX_PREFIX_MAX)
		return ptx_name_get(m, s, len);
	memcpy(&key, s, len);
	entry = &sc->prefixes[ptx_prefix_entry(key)];
	if (entry->key != key) {
		entry->key = key;
		entry->name = ptx_name_get(m, s, len);
		if (!entry->name)
			entry->key = 0;
	}
	return entry->name;
}

int ptx_bind_reg(struct ptx_module *m, struct ptx_name *n, struct ptx_sym *sym)
{
	struct ptx_name *stem;
	size_t len;

	if (sym->count)
		return ptx_bind_family(m->globals, n, sym);
	if (n->text[0] == '%' && n->len <= PTX_PREFIX_MAX && !prefix_name(m, n->text, n->len))
		return -ENOMEM;
	len = stem_len(n->text, n->len);
	if (len && len < n->len) {
		stem = ptx_name_get(m, n->text, len);
		if (!stem)
			return -ENOMEM;
		stem->has_singles = true;
	}
	return ptx_bind(m->globals, n, sym);
}

/* Reads the decimal digits of a register number. Returns false for a leading zero or more than nine
 * digits. */
static bool read_index(const char *s, size_t len, uint32_t *ret)
{
	uint32_t v = 0;

	if (!len || len > 9 || (len > 1 && s[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++)
		v = v * 10 + (uint32_t)(s[i] - '0');
	*ret = v;
	return true;
}

/* Finds the register family that has a register with this number. An inner family with fewer
 * registers hides only that many registers of an outer family with the same prefix. */
static const struct ptx_sym *family_at(
	const struct ptx_name *n, const char *digits, size_t len, uint32_t *ret_number)
{
	const struct ptx_sym *family = n ? n->family : NULL;

	if (!family || !read_index(digits, len, ret_number))
		return NULL;
	while (family && *ret_number >= family->count)
		family = family->link;
	return family;
}

bool ptx_find_reg(struct ptx_module *m, const char *s, size_t len, uint32_t *ret_reg)
{
	size_t stem = stem_len(s, len);
	const struct ptx_sym *best = NULL, *sym;
	struct ptx_name *n = NULL;
	uint32_t number, best_number = 0;
	bool family = s[0] == '%' || m->globals->plain_families;

	for (size_t cut = stem; family && cut && cut < len; cut++) {
		n = prefix_name(m, s, cut);
		sym = family_at(n, s + cut, len - cut, &number);
		if (sym && (!best || sym->scope > best->scope)) {
			best = sym;
			best_number = number;
		}
		if (!m->globals->digit_families)
			break;
	}
	if (!best || n->has_singles || m->globals->digit_families) {
		n = ptx_name_get(m, s, len);
		sym = n ? n->local : NULL;
		if (sym && (!best || sym->scope > best->scope)) {
			if (sym->kind != PTX_SYM_REG &&
				!(sym->kind == PTX_SYM_PARAM && sym->space == PTX_REG))
				return false;
			best = sym;
			best_number = 0;
		}
	}
	if (best)
		*ret_reg = best->first_reg + best_number;
	return best != NULL;
}

/* ---- reopening a function's outermost scope for new code ---- */
void ptx_unbind_func(struct ptx_module *m)
{
	while (m->globals->marks.len)
		ptx_scope_close(m->globals, NULL);
	m->globals->bound = NULL;
	m->globals->fixups.len = 0;
}

static int ptx_bind_again(struct ptx_module *m, struct ptx_sym *sym)
{
	struct ptx_name *n = ptx_name_from(m, sym->name);
	int r;

	if (!n)
		return -ENOMEM;
	if (sym->kind == PTX_SYM_REG)
		r = ptx_bind_reg(m, n, sym);
	else
		r = ptx_bind(m->globals, n, sym);
	return r == -EEXIST ? 0 : r;
}

/* Binds a name in the outermost scope while inner scopes are open. The name must not be in use
 * yet. */
int ptx_bind_outermost(struct ptx_module *m, struct ptx_sym *sym)
{
	struct ptx_scope *sc = m->globals;
	struct ptx_undo u;
	uint32_t id;
	int r = ptx_bind_again(m, sym);

	if (r < 0 || sc->marks.len < 2)
		return r;
	id = sc->ids.at[0];
	sym->scope = id;
	u = sc->undo.at[sc->undo.len - 1];
	memmove(&sc->undo.at[sc->marks.at[1] + 1], &sc->undo.at[sc->marks.at[1]],
		(sc->undo.len - 1 - sc->marks.at[1]) * sizeof(u));
	sc->undo.at[sc->marks.at[1]] = u;
	for (size_t i = 1; i < sc->marks.len; i++)
		sc->marks.at[i]++;
	return 0;
}

int ptx_bind_func(struct ptx_module *m, struct ptx_func *f)
{
	int r;

	if (m->globals->bound == f)
		return 0;
	ptx_unbind_func(m);
	r = ptx_scope_open(m->globals);
	for (size_t i = 0; r == 0 && i < f->syms.len; i++)
		r = ptx_bind_again(m, f->syms.at[i]);
	if (r < 0)
		ptx_unbind_func(m);
	else
		m->globals->bound = f;
	return r;
}
