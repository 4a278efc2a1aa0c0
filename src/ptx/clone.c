/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Copies statements and functions. A copied function keeps its register numbers, so register
 * operands stay as they are. Symbol operands are translated: a symbol of the original function
 * becomes its copy, and a global symbol stays. */
#include "ptx/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct ptx_sym *map_copy(
	struct ptx_module *m, struct hash_map *map, const struct ptx_sym *from)
{
	struct ptx_sym *to = hash_map_at(map, from);

	if (to)
		return to;
	to = ARENA_NEW(&m->arena, struct ptx_sym);
	if (!to || !hash_map_put_at(map, from, to))
		return NULL;
	*to = *from;
	return to;
}

static bool is_list(const struct ptx_opd *o)
{
	return o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR;
}

struct ptx_opd *ptx_copy_opds(const struct ptx_copy *c, const struct ptx_opd *from, size_t n)
{
	struct ptx_opd *to = arena_alloc(&c->m->arena, n * sizeof(*to));

	if (!to)
		return NULL;
	memcpy(to, from, n * sizeof(*to));
	for (size_t i = 0; i < n; i++) {
		struct ptx_opd *o = &to[i];
		void *copy;

		if (o->kind == PTX_OPD_REG) {
			o->reg = ptx_copy_reg(c, o->reg);
		} else if (is_list(o) && o->n) {
			o->list = ptx_copy_opds(c, from[i].list, from[i].n);
			if (!o->list)
				return NULL;
		} else if (o->kind == PTX_OPD_SYM && o->sym && c->syms) {
			copy = hash_map_at(c->syms, o->sym);
			o->sym = copy ? copy : o->sym;
		}
	}
	return to;
}

struct ptx_stmt ptx_copy_stmt(struct ptx_module *m, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = *s;

	if (s->kind == PTX_INSN && s->n) {
		copy.opd = ptx_copy_opds(&(struct ptx_copy){.m = m}, s->opd, s->n);
		if (!copy.opd)
			copy.n = 0;
	}
	return copy;
}

static bool has_symbol(const struct ptx_stmt *s)
{
	return s->kind == PTX_LABEL || s->kind == PTX_DECL || (s->kind == PTX_DIRECTIVE && s->sym);
}

/* Copies all symbols before any statement, because an operand can name a label that is placed
 * later. */
static int copy_symbols(
	struct ptx_module *m, struct hash_map *map, const struct ptx_func *f, struct ptx_func *to)
{
	for (size_t i = 0; i < f->syms.len; i++) {
		struct ptx_sym *sym = map_copy(m, map, f->syms.at[i]);

		if (!sym || !VEC_PUSH(&to->syms, sym))
			return -ENOMEM;
	}
	for (size_t i = 0; i < f->rets.len; i++) {
		struct ptx_sym *sym = map_copy(m, map, f->rets.at[i]);

		if (!sym || !VEC_PUSH(&to->rets, sym))
			return -ENOMEM;
	}
	for (size_t i = 0; i < f->params.len; i++) {
		struct ptx_sym *sym = map_copy(m, map, f->params.at[i]);

		if (!sym || !VEC_PUSH(&to->params, sym))
			return -ENOMEM;
	}
	for (size_t i = 0; i < f->body.len; i++)
		if (has_symbol(&f->body.at[i]) && !map_copy(m, map, f->body.at[i].sym))
			return -ENOMEM;
	for (size_t i = 0; i < f->regs.len; i++) {
		struct ptx_reg r = f->regs.at[i];

		r.sym = map_copy(m, map, r.sym);
		if (!r.sym || !VEC_PUSH(&to->regs, r))
			return -ENOMEM;
	}
	return 0;
}

static int copy_body(
	struct ptx_module *m, struct hash_map *map, const struct ptx_func *f, struct ptx_func *to)
{
	const struct ptx_copy c = {.m = m, .syms = map};

	for (size_t i = 0; i < f->body.len; i++) {
		struct ptx_stmt s = f->body.at[i];

		if (has_symbol(&s)) {
			s.sym = map_copy(m, map, s.sym);
			if (s.sym->targets)
				s.sym->targets =
					ptx_copy_opds(&c, s.sym->targets, s.sym->n_targets);
		} else if (s.kind == PTX_INSN && s.n) {
			s.opd = ptx_copy_opds(&c, s.opd, s.n);
			if (!s.opd)
				return -ENOMEM;
		}
		if (!VEC_PUSH(&to->body, s))
			return -ENOMEM;
	}
	return 0;
}

static int insert_item(struct ptx_module *m, struct ptx_func *f, const struct ptx_func *before)
{
	struct ptx_item it = {PTX_ITEM_FUNC, f->line, {.func = f}};
	size_t at = m->items.len;

	for (size_t i = 0; before && i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func == before)
			at = MIN(at, i);
	if (!VEC_PUSH(&m->items, it))
		return -ENOMEM;
	memmove(&m->items.at[at + 1], &m->items.at[at], (m->items.len - 1 - at) * sizeof(it));
	m->items.at[at] = it;
	return 0;
}

struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, const char *name,
	const struct ptx_func *before)
{
	struct ptx_name *n = ptx_name_from(m, name);
	struct ptx_func *to = ARENA_NEW(&m->arena, struct ptx_func);
	struct ptx_sym *sym = n ? ptx_sym_new(m, PTX_SYM_FUNC, n) : NULL;
	struct hash_map map = {0};
	int r;

	if (!to || !sym || (n->global && n->global->kind == PTX_SYM_FUNC))
		return NULL;
	sym->func = to;
	sym->line = f->line;
	to->sym = sym;
	to->is_entry = f->is_entry;
	to->has_body = f->has_body;
	to->is_noreturn = f->is_noreturn;
	/* No code outside the module calls a specialized function, so it needs no linkage. */
	to->linkage = sym->linkage = f->is_entry ? f->linkage : 0;
	to->no_param_list = f->no_param_list;
	to->attributes = f->attributes;
	to->line = f->line;
	to->body_line = f->body_line;
	to->end_line = f->end_line;
	r = copy_symbols(m, &map, f, to);
	for (size_t i = 0; r == 0 && i < f->directives.len; i++)
		if (!VEC_PUSH(&to->directives, f->directives.at[i]))
			r = -ENOMEM;
	if (r == 0)
		r = copy_body(m, &map, f, to);
	hash_map_free(&map);
	if (r == 0)
		r = insert_item(m, to, before);
	if (r < 0) {
		ptx_func_finish(to);
		return NULL;
	}
	n->global = sym;
	return to;
}

void ptx_drop_func(struct ptx_module *m, struct ptx_func *f)
{
	size_t to = 0;

	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind != PTX_ITEM_FUNC || m->items.at[i].func != f)
			m->items.at[to++] = m->items.at[i];
	m->items.len = to;
	ptx_func_finish(f);
}
