/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a module from text, for unit tests. Include after unit.h. */
#ifndef HEDDLE_TESTS_PTX_FIXTURE_H
#define HEDDLE_TESTS_PTX_FIXTURE_H

#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
	struct ptx_module *m;
	struct ptx_func *f; /* for kernel(): the kernel k */
	struct diag_list *diags;
	/* allocated separately, since the module moves and the diagnostics point here */
	struct arena *arena;
};

static inline void begin(struct module *t, const char *text, size_t len)
{
	*t = (struct module){
		.diags = calloc(1, sizeof(*t->diags)), .arena = malloc(sizeof(*t->arena))};
	assert_non_null(t->diags);
	assert_non_null(t->arena);
	arena_init(t->arena, 0);
	diag_init(t->diags, t->arena, "test", text, len);
}

static inline int try_parse(struct module *t, const char *text, size_t len)
{
	begin(t, text, len);
	return ptx_parse(text, len, 0, t->diags, &t->m);
}

static inline void finish(struct module *t)
{
	ptx_module_free(t->m);
	arena_finish(t->arena);
	free(t->arena);
	free(t->diags);
}

static inline void no_errors(const struct module *t)
{
	struct strbuf b = {0};

	if (!t->diags->errors)
		return;
	diag_render(t->diags, &b);
	fail_msg("%s", b.at);
}

static inline struct module parse_ok(const char *text)
{
	struct module t;

	assert_int_equal(try_parse(&t, text, strlen(text)), 0);
	no_errors(&t);
	return t;
}

/* Makes a kernel k with registers of every kind and this code. */
static inline struct module kernel(const char *code)
{
	char *text = malloc(strlen(code) + 400);
	struct module t;

	sprintf(text,
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 "
		"out)\n{\n"
		".reg .pred %%p<9>;\n.reg .b32 %%r<9>;\n.reg .b64 %%rd<9>;\n.reg .f32 "
		"%%f<9>;\n%s\n}\n",
		code);
	t = parse_ok(text);
	t.f = ptx_find_func(t.m, "k");
	t.diags->text = NULL;
	t.diags->text_len = 0;
	free(text);
	return t;
}

static inline struct ptx_func *func(const struct module *t)
{
	assert_non_null(t->f);
	return t->f;
}

/* Returns the n-th instruction of the kernel. */
static inline const struct ptx_stmt *insn(const struct module *t, size_t n)
{
	for (size_t i = 0; i < t->f->body.len; i++)
		if (t->f->body.at[i].kind == PTX_INSN && n-- == 0)
			return &t->f->body.at[i];
	fail_msg("there are fewer instructions");
	return NULL;
}

static inline bool prints(const struct module *t, const char *what)
{
	struct strbuf b = {0};
	bool found;

	ptx_print(t->m, &b);
	found = b.at && strstr(b.at, what);
	if (!found)
		print_message("%s\n", b.at ? b.at : "");
	strbuf_finish(&b);
	return found;
}

#endif
