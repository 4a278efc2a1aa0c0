/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Module variables stay one copy: the original module's. A kernel that is rewritten on its own
 * names them no longer; each function that did gets a register with the variable's address, as the
 * driver tells it. .const variables are read through their global addresses, since constant banks
 * belong to a module. What cannot be found this way (textures, unknown shapes) refuses the
 * kernel. */
#include "shim/managed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct bake {
	struct ptx_module *m;
	const struct kernel *k;
	struct diag_list *diags;
	struct ptx_func *f;
	unsigned baked;
	bool refused;
	/* of the function at hand */
	VEC(struct baked {
		const struct ptx_sym *sym;
		uint64_t offset;
		uint32_t reg;
	})
	vars;
	ptx_body head;
};

static bool address_of(const struct bake *b, const char *name, CUdeviceptr *ret)
{
	size_t bytes;

	if (!b->k->in_library)
		return cu.cuModuleGetGlobal(ret, &bytes, (CUmodule)b->k->owner, name) ==
		       CUDA_SUCCESS;
	if (cu.cuLibraryGetGlobal &&
		cu.cuLibraryGetGlobal(ret, &bytes, (CUlibrary)b->k->owner, name) == CUDA_SUCCESS)
		return true;
	return cu.cuLibraryGetManaged &&
	       cu.cuLibraryGetManaged(ret, &bytes, (CUlibrary)b->k->owner, name) == CUDA_SUCCESS;
}

static bool is_baked(const struct bake *b, const struct ptx_sym *sym)
{
	return sym && sym->kind == PTX_SYM_VAR &&
	       (sym->space == PTX_GLOBAL || sym->space == PTX_CONST) &&
	       ptx_find_global(b->m, sym->name) == sym;
}

/* The register that holds sym's address, and offset bytes, in this function; PTX_NO_REG: none to be
 * had. */
static uint32_t register_for(struct bake *b, const struct ptx_sym *sym, uint64_t offset)
{
	char name[128];
	CUdeviceptr at;
	uint32_t reg;

	for (size_t i = 0; i < b->vars.len; i++) {
		if (b->vars.at[i].sym == sym && b->vars.at[i].offset == offset)
			return b->vars.at[i].reg;
	}
	if (!address_of(b, sym->name, &at))
		return PTX_NO_REG;
	reg = ptx_new_reg(b->m, b->f, &b->head, "b64", "hd_var");
	if (reg == PTX_NO_REG ||
		ptx_append(b->m, b->f, &b->head, b->diags, "mov.b64 %s, 0x%llx;",
			ptx_reg_name(b->f, reg, name, sizeof(name)), at + offset) < 0)
		return PTX_NO_REG;
	if (!VEC_PUSH(&b->vars, (struct baked){sym, offset, reg}))
		return PTX_NO_REG;
	b->baked++;
	return reg;
}

static void replace(void *user, struct ptx_opd *o)
{
	struct bake *b = user;
	uint32_t reg;

	if (o->kind != PTX_OPD_SYM || !is_baked(b, o->sym))
		return;
	reg = register_for(b, o->sym, o->has_value ? o->value : 0);
	if (reg == PTX_NO_REG || o->negated) {
		b->refused = true;
		return;
	}
	*o = (struct ptx_opd){.kind = PTX_OPD_REG, .reg = reg};
}

static bool mentions(const struct bake *b, const char *text)
{
	for (size_t i = 0; text && i < b->m->items.len; i++) {
		const struct ptx_item *it = &b->m->items.at[i];

		if (it->kind == PTX_ITEM_VAR && is_baked(b, it->sym) && strstr(text, it->sym->name))
			return true;
	}
	return false;
}

static int bake_func(struct bake *b, struct ptx_func *f)
{
	ptx_body body = {0};

	b->f = f;
	b->vars.len = 0;
	memset(&b->head, 0, sizeof(b->head));
	for (size_t i = 0; i < f->body.len; i++) {
		struct ptx_stmt *s = &f->body.at[i];

		if (s->kind != PTX_INSN)
			continue;
		if (!s->n && s->mn->op == PTX_OP_RAW && mentions(b, s->text))
			return -ENOTSUP;
		if (!s->n)
			continue;
		ptx_visit_opds(s, replace, b);
		if (b->refused)
			return -ENOTSUP;
	}
	if (!b->head.len)
		return 0;
	for (size_t i = 0; i < b->head.len; i++)
		VEC_PUSH(&body, b->head.at[i]);
	for (size_t i = 0; i < f->body.len; i++)
		VEC_PUSH(&body, f->body.at[i]);
	if (body.len != b->head.len + f->body.len)
		return -ENOMEM;
	VEC_FREE(&f->body);
	VEC_FREE(&b->head);
	memcpy(&f->body, &body, sizeof(body));
	return 0;
}

static bool has_variables(const struct bake *b)
{
	for (size_t i = 0; i < b->m->items.len; i++) {
		const struct ptx_item *it = &b->m->items.at[i];

		if (it->kind == PTX_ITEM_VAR && is_baked(b, it->sym))
			return true;
	}
	return false;
}

/* The driver tells addresses in the current context, and may load the module for that. */
static int bake_all(struct bake *b)
{
	struct shim_inside in;
	int r = 0;

	fence_begin(FENCE_LOADS);
	shim_enter(&in);
	for (size_t i = 0; i < b->m->items.len && r == 0; i++) {
		struct ptx_item *it = &b->m->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->has_body)
			r = bake_func(b, it->func);
	}
	shim_leave(&in);
	fence_end();
	VEC_FREE(&b->vars);
	VEC_FREE(&b->head);
	return r;
}

int globals_bake(
	struct ptx_module *m, const struct kernel *k, unsigned *ret_baked, struct diag_list *diags)
{
	struct bake b = {.m = m, .k = k, .diags = diags};
	size_t kept = 0;
	int r;

	*ret_baked = 0;
	if (!has_variables(&b))
		return 0;
	r = bake_all(&b);
	if (r < 0)
		return r;
	/* Declarations of what is named no longer. */
	for (size_t i = 0; i < m->items.len; i++) {
		struct ptx_item *it = &m->items.at[i];

		if (it->kind != PTX_ITEM_VAR || !is_baked(&b, it->sym))
			m->items.at[kept++] = *it;
	}
	m->items.len = kept;
	*ret_baked = b.baked;
	return 0;
}

/* Does a cache operator or hint follow? Its place is not that of ".nc". */
static bool is_cached(const char *at)
{
	static const char *const starts[] = {".ca.", ".cg.", ".cs.", ".cv.", ".lu.", ".L"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(at, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* "ld.const.u32" becomes "ld.global.nc.u32": it stays a load of what nobody writes meanwhile. */
static bool leave_const(struct ptx_module *m, struct ptx_stmt *s)
{
	const char *at = strstr(s->mn->text, ".const");
	struct strbuf text = {0};

	if (!at)
		return true;
	strbuf_add(&text, s->mn->text, (size_t)(at - s->mn->text));
	at += strlen(".const");
	strbuf_puts(&text, ".global");
	if (s->mn->op == PTX_OP_ld && text.len == strlen("ld.global") && !is_cached(at))
		strbuf_puts(&text, ".nc");
	strbuf_puts(&text, at);
	s->mn = text.failed ? NULL : ptx_get_mnem(m, text.at);
	strbuf_finish(&text);
	return s->mn != NULL;
}

int globals_leave_const(struct ptx_module *m)
{
	for (size_t i = 0; i < m->items.len; i++) {
		struct ptx_item *it = &m->items.at[i];

		for (size_t k = 0; it->kind == PTX_ITEM_FUNC && k < it->func->body.len; k++) {
			struct ptx_stmt *s = &it->func->body.at[k];

			if (s->kind == PTX_INSN && !leave_const(m, s))
				return -ENOMEM;
		}
	}
	return 0;
}
