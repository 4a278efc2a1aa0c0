/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* graft_tool graft FILE           for each kernel k a kernel g_k made from its statements
 * graft_tool flat FILE            the same, with the kernel flattened first
 * graft_tool twice FILE           the same, with two copies selected by one more parameter,
 *                                 except for kernels whose shared memory is too large
 * graft_tool import FILE OTHER    FILE with OTHER's kernels as i_k_k, and its own again as s_k_k
 * Prints the module. Both the module and the module parsed from its text are validated. */
#include "ptx/graft.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct diag_list *diags;

static struct ptx_module *parse(const char *text, size_t len)
{
	struct ptx_module *m;

	if (ptx_parse(text, len, 0, diags, &m) < 0 || diags->errors)
		return NULL;
	return m;
}

/* Makes an entry with the parameters and directives of `like`, and no statements. */
static struct ptx_func *new_host(
	struct ptx_module *m, const struct ptx_func *like, const char *name, bool one_more)
{
	struct ptx_func head = *like;
	struct ptx_sym sym = *like->sym;
	struct strbuf text = {0};
	struct ptx_func *host;
	int r;

	head.sym = &sym;
	sym.name = name;
	sym.name_len = (uint32_t)strlen(name);
	head.body.len = 0;
	ptx_print_func(m, &head, &text);
	r = text.failed ? -ENOMEM : ptx_add_text(m, diags, text.at, text.len);
	strbuf_finish(&text);
	if (r < 0)
		return NULL;
	host = ptx_find_func(m, name);
	if (one_more && !ptx_add_param(m, host, diags, ".param .u32 which"))
		return NULL;
	return host;
}

static int put_source(
	struct ptx_module *m, struct ptx_func *host, const struct ptx_func *source, ptx_body *body)
{
	struct ptx_graft *g;
	int r = ptx_graft_new(m, host, source, diags, &g);

	if (r < 0)
		return r;
	for (size_t i = 0; i < source->params.len; i++)
		ptx_graft_map(g, source->params.at[i], host->params.at[i]);
	for (size_t i = 0; r == 0 && i < source->body.len; i++)
		if (!VEC_PUSH(body, ptx_graft_stmt(g, &source->body.at[i])))
			r = -ENOMEM;
	r = r ? r : ptx_graft_error(g);
	ptx_graft_free(g);
	return r;
}

static int graft(struct ptx_module *m, const struct ptx_func *source, bool twice)
{
	char *name = arena_printf(&m->arena, "g_%s", source->sym->name);
	struct ptx_func *host = new_host(m, source, name, twice);
	ptx_body body = {0};
	int r = host ? 0 : -EINVAL;

	if (r == 0 && twice)
		r = ptx_append(m, host, &body, diags,
			".reg .u32 %%which;\n.reg .pred %%second;\nld.param.u32 %%which, [which];\n"
			"setp.ne.u32 %%second, %%which, 0;\n@%%second bra $second;\n");
	if (r == 0)
		r = put_source(m, host, source, &body);
	if (r == 0 && twice)
		r = ptx_append(m, host, &body, diags, "ret;\n$second:\n");
	if (r == 0 && twice)
		r = put_source(m, host, source, &body);
	if (r == 0)
		host->body = body;
	else
		VEC_FREE(&body);
	return r;
}

static bool is_kernel(const struct ptx_item *it)
{
	return it->kind == PTX_ITEM_FUNC && it->func->is_entry && it->func->has_body;
}

/* Returns whether two copies need more static shared memory than a device's compiler allows. */
static bool is_full(const struct ptx_func *f)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_DECL && f->body.at[i].sym->kind == PTX_SYM_VAR &&
			f->body.at[i].sym->space == PTX_SHARED)
			bytes += f->body.at[i].sym->bytes;
	return 2 * bytes > 49152;
}

static int graft_all(struct ptx_module *m, bool flat, bool twice)
{
	size_t n = m->items.len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (flat && m->items.at[i].kind == PTX_ITEM_FUNC)
			r = ptx_flatten(m, m->items.at[i].func, diags);
		if (r == 0 && is_kernel(&m->items.at[i]) &&
			!(twice && is_full(m->items.at[i].func)))
			r = graft(m, m->items.at[i].func, twice);
	}
	return r;
}

static int import_all(struct ptx_module *into, const struct ptx_module *from, char mark)
{
	size_t n = from->items.len;
	struct ptx_func *f;
	char prefix[256];
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct ptx_item *it = &from->items.at[i];

		if (!is_kernel(it))
			continue;
		snprintf(prefix, sizeof(prefix), "%c_%s_", mark, it->func->sym->name);
		r = ptx_import(into, from, it->func->sym->name, prefix, diags, &f);
	}
	return r;
}

/* Prints m, and validates the module parsed from its text. */
static int check_print(struct ptx_module *m)
{
	struct strbuf out = {0};
	struct ptx_module *again;
	int r = ptx_validate(m, diags) ? -EINVAL : 0;

	ptx_print(m, &out);
	if (r == 0 && !out.failed) {
		again = parse(out.at, out.len);
		r = again && !ptx_validate(again, diags) ? 0 : -EINVAL;
		ptx_module_free(again);
	}
	if (out.at)
		fwrite(out.at, 1, out.len, stdout);
	strbuf_finish(&out);
	return r;
}

static int run(int argc, char **argv, struct diag_list *list)
{
	struct ptx_module *m = argc > 2 ? tool_parse_file(argv[2], list) : NULL, *other = NULL;
	int r = -EINVAL;

	diags = list;
	if (m && !strcmp(argv[1], "import") && argc == 4) {
		other = tool_parse_file(argv[3], list);
		r = other ? import_all(m, other, 'i') : -EINVAL;
		ptx_module_free(other);
		other = r == 0 ? tool_parse_file(argv[2], list) : NULL;
		if (r == 0)
			r = other ? import_all(m, other, 's') : -EINVAL;
		ptx_module_free(other);
	} else if (m && argc == 3) {
		r = graft_all(m, !strcmp(argv[1], "flat"), !strcmp(argv[1], "twice"));
	}
	if (r == 0)
		r = check_print(m);
	ptx_module_free(m);
	return r;
}

int main(int argc, char **argv)
{
	return tool_main(argc, argv, run);
}
