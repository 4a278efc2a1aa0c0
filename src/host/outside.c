/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps module variables in one copy, in the original module. An extracted kernel does not name
 * them. Each function that named a variable gets a register with the variable's address, loaded
 * from a constant array of the form. The loader of the form fills the array, because addresses
 * differ from start to start; if they were in the text, each start would have to compile it again.
 *
 * .const variables are read through their global addresses, because a constant bank belongs to one
 * module. A kernel is refused if it uses a variable in a way that cannot be replaced (textures,
 * unknown instructions). */
#include "host/outside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct bake {
	struct ptx_module *m;
	struct diag_list *diags;
	struct ptx_func *f;
	bool refused;
	VEC(struct baked { /* entries of the array */
		const struct ptx_sym *sym;
		uint64_t offset;
		uint64_t align;           /* alignment of that address */
		const struct ptx_func *f; /* function whose register `reg` has this address */
		uint32_t reg;
	})
	vars;
	ptx_body head; /* new statements at the start of the current function */
};

static bool is_baked(const struct bake *b, const struct ptx_sym *sym)
{
	return sym && sym->kind == PTX_SYM_VAR &&
	       (sym->space == PTX_GLOBAL || sym->space == PTX_CONST) &&
	       ptx_find_global(b->m, sym->name) == sym;
}

static struct baked *find_variable(const struct bake *b, const struct ptx_opd *o)
{
	uint64_t offset = o->has_value ? o->value : 0;

	for (size_t i = 0; i < b->vars.len; i++) {
		if (b->vars.at[i].sym == o->sym && b->vars.at[i].offset == offset)
			return &b->vars.at[i];
	}
	return NULL;
}

/* ---- finding the module variables ---- */

static void note_variable(void *user, struct ptx_opd *o)
{
	struct bake *b = user;

	if (o->kind != PTX_OPD_SYM || !is_baked(b, o->sym))
		return;
	if (o->negated ||
		(!find_variable(b, o) &&
			!VEC_PUSH(&b->vars, (struct baked){.sym = o->sym,
						    .offset = o->has_value ? o->value : 0})))
		b->refused = true;
}

static bool text_mentions(const struct bake *b, const char *text)
{
	for (size_t i = 0; text && i < b->m->items.len; i++) {
		const struct ptx_item *it = &b->m->items.at[i];

		if (it->kind == PTX_ITEM_VAR && is_baked(b, it->sym) && strstr(text, it->sym->name))
			return true;
	}
	return false;
}

static int note_func(struct bake *b)
{
	for (size_t i = 0; i < b->f->body.len; i++) {
		struct ptx_stmt *s = &b->f->body.at[i];

		if (s->kind != PTX_INSN)
			continue;
		if (!s->n && s->mn->op == PTX_OP_RAW && text_mentions(b, s->text))
			return -ENOTSUP;
		if (s->n)
			ptx_visit_opds(s, note_variable, b);
		if (b->refused)
			return -ENOTSUP;
		if (b->vars.len > HOST_OUTSIDE_MAX)
			return -E2BIG;
	}
	return 0;
}

/* ---- replacing uses of the variables ---- */

/* Returns the register that contains the variable's address in this function, or PTX_NO_REG if none
 * is available. The emitted code shows the assembler how the address is aligned; otherwise the
 * assembler splits wide loads (on an H200, 142 us instead of 77). */
static uint32_t register_for(struct bake *b, struct baked *v)
{
	char name[128];
	uint32_t reg;

	if (v->f == b->f)
		return v->reg;
	reg = ptx_new_reg(b->m, b->f, &b->head, "b64", "var");
	if (reg == PTX_NO_REG)
		return reg;
	ptx_reg_name(b->f, reg, name, sizeof(name));
	if (ptx_append(b->m, b->f, &b->head, b->diags,
		    "ld.const.b64 %s, [" HOST_OUTSIDE_ARRAY "+%zu]; and.b64 %s, %s, -%u;", name,
		    (size_t)(v - b->vars.at) * sizeof(uint64_t), name, name,
		    (unsigned)v->align) < 0)
		return PTX_NO_REG;
	v->f = b->f;
	v->reg = reg;
	return reg;
}

static void replace_variable(void *user, struct ptx_opd *o)
{
	struct bake *b = user;
	struct baked *v = o->kind == PTX_OPD_SYM ? find_variable(b, o) : NULL;
	uint32_t reg;

	if (!v)
		return;
	reg = register_for(b, v);
	if (reg == PTX_NO_REG)
		b->refused = true;
	else
		*o = (struct ptx_opd){.kind = PTX_OPD_REG, .reg = reg};
}

static int bake_func(struct bake *b)
{
	struct ptx_func *f = b->f;
	ptx_body body = {0};

	for (size_t i = 0; i < f->body.len; i++) {
		if (f->body.at[i].kind == PTX_INSN && f->body.at[i].n)
			ptx_visit_opds(&f->body.at[i], replace_variable, b);
		if (b->refused)
			return -ENOMEM;
	}
	if (!b->head.len)
		return 0;
	for (size_t i = 0; i < b->head.len; i++)
		VEC_PUSH(&body, b->head.at[i]);
	for (size_t i = 0; i < f->body.len; i++)
		VEC_PUSH(&body, f->body.at[i]);
	if (body.len != b->head.len + f->body.len) {
		VEC_FREE(&body);
		return -ENOMEM;
	}
	VEC_FREE(&f->body);
	memcpy(&f->body, &body, sizeof(body));
	b->head.len = 0;
	return 0;
}

static int each_func(struct bake *b, int (*fn)(struct bake *))
{
	int r = 0;

	for (size_t i = 0; i < b->m->items.len && r == 0; i++) {
		struct ptx_item *it = &b->m->items.at[i];

		if (it->kind != PTX_ITEM_FUNC || !it->func->has_body)
			continue;
		b->f = it->func;
		r = fn(b);
	}
	return r;
}

/* Removes the declarations of the replaced variables. Returns true if there were any. */
static bool drop_declarations(struct bake *b)
{
	struct ptx_module *m = b->m;
	size_t n = m->items.len, kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct ptx_item *it = &m->items.at[i];

		if (it->kind != PTX_ITEM_VAR || !is_baked(b, it->sym))
			m->items.at[kept++] = *it;
	}
	m->items.len = kept;
	return kept < n;
}

/* Declares the array of addresses. It is visible outside the module, so that the assembler assumes
 * nothing about its contents. */
static int declare_array(struct bake *b)
{
	char decl[96];

	snprintf(decl, sizeof(decl), ".visible .const .align 8 .b64 " HOST_OUTSIDE_ARRAY "[%zu];",
		b->vars.len);
	return ptx_add_var(b->m, b->diags, decl) ? 0 : -EINVAL;
}

/* Asks the caller for the alignment of each address. */
static int locate_variables(struct bake *b, host_locate_fn *fn, void *user)
{
	struct host_outside *vars = arena_zalloc(&b->m->arena, b->vars.len * sizeof(*vars));
	int r;

	if (!vars)
		return -ENOMEM;
	for (size_t i = 0; i < b->vars.len; i++)
		vars[i] = (struct host_outside){b->vars.at[i].sym->name, b->vars.at[i].offset, 1};
	r = fn(user, vars, b->vars.len);
	for (size_t i = 0; r == 0 && i < b->vars.len; i++)
		b->vars.at[i].align = vars[i].align;
	return r;
}

int host_leave_outside(
	struct ptx_module *m, struct diag_list *diags, host_locate_fn *fn, void *user)
{
	struct bake b = {.m = m, .diags = diags};
	int r = each_func(&b, note_func);

	if (r == 0 && drop_declarations(&b) && b.vars.len) {
		r = locate_variables(&b, fn, user);
		if (r == 0)
			r = declare_array(&b);
		if (r == 0)
			r = each_func(&b, bake_func);
	}
	VEC_FREE(&b.vars);
	VEC_FREE(&b.head);
	return r;
}

/* ---- reading .const as .global ---- */

/* Returns true if a cache operator or hint follows at this position. Then ".nc" cannot be put
 * here. */
static bool is_cached(const char *at)
{
	static const char *const starts[] = {".ca.", ".cg.", ".cs.", ".cv.", ".lu.", ".L"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(at, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Returns true if the statement names a .const variable. This can only be the form's own array,
 * since the program's constants have been replaced. */
static bool names_const(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct ptx_opd *o = &s->opd[i];

		if (o->kind == PTX_OPD_ADDR && o->n && o->list[0].kind == PTX_OPD_SYM &&
			o->list[0].sym && o->list[0].sym->space == PTX_CONST)
			return true;
	}
	return false;
}

/* Turns for example "ld.const.u32" into "ld.global.nc.u32", which still promises that the kernel
 * does not write this memory. */
static bool leave_const(struct ptx_module *m, struct ptx_stmt *s)
{
	const char *at = strstr(s->mn->text, ".const");
	struct strbuf text = {0};

	if (!at || names_const(s))
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

/* Replaces, for example, "ld.global.nc.v4.f32" by "ld.global.v4.f32". */
static bool leave_nc(struct ptx_module *m, struct ptx_stmt *s)
{
	const char *at = s->mn->op == PTX_OP_ld ? strstr(s->mn->text, ".nc.") : NULL;
	struct strbuf text = {0};

	if (!at)
		return true;
	strbuf_add(&text, s->mn->text, (size_t)(at - s->mn->text));
	strbuf_puts(&text, at + strlen(".nc"));
	s->mn = text.failed ? NULL : ptx_get_mnem(m, text.at);
	strbuf_finish(&text);
	return s->mn != NULL;
}

static int each_insn(struct ptx_module *m, bool (*edit)(struct ptx_module *m, struct ptx_stmt *s))
{
	for (size_t i = 0; i < m->items.len; i++) {
		struct ptx_item *it = &m->items.at[i];

		for (size_t k = 0; it->kind == PTX_ITEM_FUNC && k < it->func->body.len; k++) {
			struct ptx_stmt *s = &it->func->body.at[k];

			if (s->kind == PTX_INSN && !edit(m, s))
				return -ENOMEM;
		}
	}
	return 0;
}

int host_leave_const(struct ptx_module *m)
{
	return each_insn(m, leave_const);
}

int host_leave_nc(struct ptx_module *m)
{
	return each_insn(m, leave_nc);
}
