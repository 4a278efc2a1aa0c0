/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a kernel asks of an SM as far as its text says: shared memory of the kernel and of all that
 * it calls, and the bounds on its block. */
#include "cfg/cfg_private.h"

#include <stdlib.h>
#include <string.h>

struct shared_use {
	const struct ptx_module *m;
	struct cfg_demand *d;
	VEC(const struct ptx_sym *) vars;
	VEC(const struct ptx_func *) funcs;
};

static void add_func(struct shared_use *u, const struct ptx_func *f)
{
	for (size_t i = 0; i < u->funcs.len; i++)
		if (u->funcs.at[i] == f)
			return;
	(void)VEC_PUSH(&u->funcs, f);
}

static void add_var(struct shared_use *u, const struct ptx_sym *v)
{
	uint32_t align = v->align ? v->align : MAX(ptx_type_bytes(v->type.base), 1u);

	for (size_t i = 0; i < u->vars.len; i++)
		if (u->vars.at[i] == v)
			return;
	if (!VEC_PUSH(&u->vars, v))
		return;
	if ((v->linkage & PTX_EXTERN) && v->bytes == 0) {
		u->d->dynamic_shared = true;
		return;
	}
	u->d->static_shared_bytes = round_up(u->d->static_shared_bytes, align) + v->bytes;
}

static void visit_operand(void *user, struct ptx_opd *o)
{
	struct shared_use *u = user;

	if (o->kind != PTX_OPD_SYM || !o->sym)
		return;
	if (o->sym->kind == PTX_SYM_VAR && o->sym->space == PTX_SHARED)
		add_var(u, o->sym);
	if (o->sym->kind == PTX_SYM_FUNC && o->sym->func) {
		const struct ptx_func *body = ptx_find_func(u->m, o->sym->name);

		add_func(u, body ? body : o->sym->func);
	}
}

/* "256, 1, 1" behind a directive's name: missing dimensions are 1. */
static bool read_dims(const char *directive, const char *name, uint32_t dims[3])
{
	size_t len = strlen(name);
	const char *s = directive + len;
	char *end;

	if (strncmp(directive, name, len) != 0 || (*s != ' ' && *s != '\t'))
		return false;
	for (int i = 0; i < 3; i++) {
		unsigned long v = strtoul(s, &end, 0);

		dims[i] = end != s ? (uint32_t)v : 1;
		s = end;
		while (*s == ',' || *s == ' ' || *s == '\t')
			s++;
	}
	return true;
}

bool cfg_block_bound(const struct ptx_func *f, uint32_t dims[3])
{
	for (size_t i = 0; i < f->directives.len; i++)
		if (read_dims(f->directives.at[i], ".maxntid", dims) ||
			read_dims(f->directives.at[i], ".reqntid", dims))
			return true;
	return false;
}

bool cfg_blocks_1d(const struct ptx_func *f)
{
	uint32_t dims[3];

	/* .maxntid bounds only the product of its three numbers: 256, 1, 1 allows 16 by 16. */
	for (size_t i = 0; i < f->directives.len; i++)
		if (read_dims(f->directives.at[i], ".reqntid", dims))
			return dims[1] <= 1 && dims[2] <= 1;
	return false;
}

void cfg_demand(const struct ptx_module *m, const struct ptx_func *f, struct cfg_demand *ret)
{
	struct shared_use u = {.m = m, .d = ret};
	uint32_t dims[3];

	*ret = (struct cfg_demand){0};
	add_func(&u, f);
	for (size_t i = 0; i < u.funcs.len; i++) {
		const struct ptx_func *at = u.funcs.at[i];

		for (size_t k = 0; k < at->body.len; k++) {
			struct ptx_stmt s = at->body.at[k];

			if (s.kind == PTX_DECL && s.sym->kind == PTX_SYM_VAR &&
				s.sym->space == PTX_SHARED)
				add_var(&u, s.sym);
			ptx_visit_opds(&s, visit_operand, &u);
		}
	}
	if (cfg_block_bound(f, dims))
		ret->max_ntid = dims[0] * dims[1] * dims[2];
	VEC_FREE(&u.vars);
	VEC_FREE(&u.funcs);
}
