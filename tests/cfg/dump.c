/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* dump FILE.ptx: prints the graph of each function; the lines must match the comments "// expect
 * LINE" in the file, in order. BLESS=1 prints the comments as they should be. */
#include "print_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "// expect "

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	if (!f || !text)
		return NULL;
	*ret_len = fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return text;
}

static int dump_func(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out)
{
	struct cfg_uniformity *u;
	struct cfg_liveness *l;
	struct cfg_demand d;
	struct arena a;
	struct cfg *g;
	int r;

	arena_init(&a, 0);
	r = cfg_build(&a, f, &g);
	if (r == 0)
		r = cfg_uniformity(&a, g, CFG_NO_RACES, NULL, &u);
	if (r == 0)
		r = cfg_liveness(&a, g, &l);
	if (r == 0) {
		strbuf_printf(out, "%s\n", f->sym->name);
		print_graph(g, u, l, out);
		cfg_demand(m, f, &d);
		strbuf_printf(out, "shared %llu%s\n", (unsigned long long)d.static_shared_bytes,
			d.dynamic_shared ? " dynamic" : "");
	}
	arena_finish(&a);
	return r;
}

static void collect(const char *text, struct strbuf *out)
{
	for (const char *s = text; (s = strstr(s, MARK));) {
		size_t n;

		s += strlen(MARK);
		n = strcspn(s, "\n");
		strbuf_add(out, s, n);
		strbuf_puts(out, "\n");
	}
}

int main(int argc, char **argv)
{
	static struct diag_list diags;
	struct strbuf got = {0}, want = {0};
	struct ptx_module *m;
	struct arena a;
	size_t len = 0;
	char *text = argc > 1 ? read_file(argv[1], &len) : NULL;

	if (!text)
		return 2;
	arena_init(&a, 0);
	diag_init(&diags, &a, argv[1], text, len);
	if (ptx_parse(text, len, 0, &diags, &m) < 0 || diags.errors)
		return 2;
	strbuf_puts(&got, "");
	strbuf_puts(&want, "");
	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->has_body &&
			dump_func(m, m->items.at[i].func, &got) < 0)
			return 1;
	collect(text, &want);
	if (strcmp(got.at, want.at) != 0) {
		for (char *line = strtok(got.at, "\n"); line; line = strtok(NULL, "\n"))
			printf(MARK "%s\n", line);
		return 1;
	}
	strbuf_finish(&got);
	strbuf_finish(&want);
	ptx_module_free(m);
	arena_finish(&a);
	free(text);
	return 0;
}
