/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as a module whose functions are reassembled: each function is imported into its own
 * module again, its statements are put into another function, scopes are removed, and it is
 * converted to a graph and written from it. A valid module stays valid, and its text parses
 * again. */
#include "ptx/graft.h"
#include "cfg/effects.h"
#include "draft_from.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES   (64u << 20)
#define MAX_FUNCTIONS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void stop(const char *why, const struct diag_list *d, const struct ptx_module *m)
{
	struct strbuf b = {0};

	diag_render(d, &b);
	if (m)
		ptx_print(m, &b);
	fprintf(stderr, "%s\n%s\n", why, b.at ? b.at : "");
	abort();
}

/* True for success; out of memory, or a refusal with a message, gives false. Anything else
 * aborts. */
static bool worked(int r, const char *what, const struct diag_list *d, const struct ptx_module *m)
{
	if (r == 0)
		return true;
	if (r == -ENOMEM || r == -E2BIG || (d && d->errors && r != -ENOENT))
		return false;
	stop(what, d, m);
	return false;
}

static void expect_valid(const char *after, const struct ptx_module *m)
{
	static struct diag_list d;
	struct strbuf text = {0};
	struct ptx_module *again;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, after, NULL, 0);
	if (ptx_validate(m, &d) && !strstr(d.at[0].message, "out of memory"))
		stop(after, &d, m);
	ptx_print(m, &text);
	if (!text.failed && ptx_parse(text.at, text.len, LIMIT_BYTES, &d, &again) == 0) {
		if (d.errors || ptx_validate(again, &d))
			stop(after, &d, m);
		ptx_module_free(again);
	}
	strbuf_finish(&text);
	arena_finish(&a);
}

static void write_graph(struct ptx_module *m, struct ptx_func *f)
{
	struct cfg_draft d = {0};
	ptx_body body;
	struct arena a;
	struct cfg *g;
	int r;

	arena_init(&a, LIMIT_BYTES);
	for (size_t i = 0; i < f->body.len; i++)
		cfg_effects_of(&f->body.at[i]);
	r = cfg_build(&a, f, &g);
	if (r == 0)
		r = draft_from(g, &d);
	if (r == 0) {
		r = cfg_write(m, f, &d, &body, NULL);
		if (r == -EINVAL)
			stop("a graph is not written as it was drafted", NULL, m);
		cfg_draft_finish(&d);
	}
	if (r == 0) {
		VEC_FREE(&f->body);
		f->body = body;
	}
	arena_finish(&a);
}

/* Grafts a function into a new one without statements, and flattens the new one. */
static void graft(
	struct ptx_module *m, const struct ptx_func *source, unsigned n, struct diag_list *d)
{
	static const char text[] = ".visible .entry fuzz_host%u()\n{\n}\n";
	struct ptx_func *host;
	struct ptx_graft *g;
	char name[64];

	snprintf(name, sizeof(name), text, n);
	if (!worked(ptx_add_text(m, d, name, strlen(name)), "add", d, m))
		return;
	snprintf(name, sizeof(name), "fuzz_host%u", n);
	host = ptx_find_func(m, name);
	if (!worked(ptx_graft_new(m, host, source, d, &g), "graft", d, m))
		return;
	for (size_t i = 0; i < source->params.len + source->rets.len; i++) {
		struct ptx_sym *p = i < source->params.len
					    ? source->params.at[i]
					    : source->rets.at[i - source->params.len];
		char decl[64];

		if (p->name_len == 1 && *p->name == '_')
			continue;
		snprintf(decl, sizeof(decl), ".param .b64 fuzz_p%zu", i);
		ptx_graft_map(g, p, ptx_add_param(m, host, d, decl));
	}
	for (size_t i = 0; i < source->body.len; i++)
		if (!VEC_PUSH(&host->body, ptx_graft_stmt(g, &source->body.at[i])))
			abort();
	if (ptx_graft_error(g))
		host->body.len = 0;
	ptx_graft_free(g);
	expect_valid("grafted", m);
	d->len = d->errors = 0;
	if (worked(ptx_flatten(m, host, d), "flatten", d, m)) {
		expect_valid("flat", m);
		write_graph(m, host);
		expect_valid("written", m);
	}
}

static void look_for_unknown(void *user, struct ptx_opd *o)
{
	bool *found = user;

	*found |= o->kind == PTX_OPD_SYM && !o->sym;
}

/* The parser accepts a name that has no meaning in its place, such as a branch to a register. */
static bool is_known(const struct ptx_func *f)
{
	bool found = false;

	for (size_t i = 0; i < f->body.len; i++) {
		struct ptx_stmt s = f->body.at[i];

		ptx_visit_opds(&s, look_for_unknown, &found);
		for (uint32_t k = 0; s.kind == PTX_DIRECTIVE && s.sym && k < s.sym->n_targets; k++)
			look_for_unknown(&found, &s.sym->targets[k]);
	}
	return !found;
}

/* Some invalid texts parse differently once line breaks have moved; this test does not cover
 * them. */
static bool survives_print(const struct ptx_module *m, struct diag_list *d)
{
	struct strbuf text = {0};
	struct ptx_module *again = NULL;
	bool same;

	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC)
			m->items.at[i].func->line = 0;
	ptx_print(m, &text);
	same = !text.failed && ptx_parse(text.at, text.len, LIMIT_BYTES, d, &again) == 0 &&
	       !d->errors && !ptx_validate(again, d);
	ptx_module_free(again);
	strbuf_finish(&text);
	return same;
}

static void put_together(struct ptx_module *m, struct diag_list *d)
{
	struct ptx_func *funcs[MAX_FUNCTIONS], *f;
	unsigned n = 0;

	for (size_t i = 0; i < m->items.len && n < MAX_FUNCTIONS; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->has_body &&
			is_known(m->items.at[i].func))
			funcs[n++] = m->items.at[i].func;
	for (unsigned i = 0; i < n; i++) {
		char prefix[16];

		d->len = d->errors = 0;
		graft(m, funcs[i], i, d);
		d->len = d->errors = 0;
		snprintf(prefix, sizeof(prefix), "i%u_", i);
		if (worked(ptx_import(m, m, funcs[i]->sym->name, prefix, d, &f), "import", d, m))
			expect_valid("imported", m);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct diag_list d;
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "input", (const char *)data, len);
	if (ptx_parse((const char *)data, len, LIMIT_BYTES, &d, &m) == 0) {
		if (!d.errors && !ptx_validate(m, &d) && survives_print(m, &d))
			put_together(m, &d);
		ptx_module_free(m);
	}
	arena_finish(&a);
	return 0;
}
