/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the tools that rewrite a module: reads a file and prints diagnostics. */
#ifndef HEDDLE_TESTS_PTX_TOOL_H
#define HEDDLE_TESTS_PTX_TOOL_H

#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns NULL if there are errors, which are in diags, or the file cannot be read. */
static inline struct ptx_module *tool_parse_file(const char *path, struct diag_list *diags)
{
	FILE *f = fopen(path, "rb");
	struct ptx_module *m = NULL;
	struct strbuf text = {0};
	char buf[65536];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&text, buf, n);
	if (f && !text.failed && !ferror(f) &&
		(ptx_parse(text.at, text.len, 0, diags, &m) < 0 || diags->errors))
		m = NULL;
	if (f)
		fclose(f);
	strbuf_finish(&text);
	return m;
}

/* Calls `run` with a list of diagnostics, and prints them if it fails. Returns main's result. */
static inline int tool_main(
	int argc, char **argv, int run(int argc, char **argv, struct diag_list *diags))
{
	struct diag_list *diags = calloc(1, sizeof(*diags));
	struct strbuf out = {0};
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	if (!diags)
		return 1;
	diag_init(diags, &arena, argc > 2 ? argv[2] : "", NULL, 0);
	r = run(argc, argv, diags);
	diag_render(diags, &out);
	if (r < 0)
		fprintf(stderr, "%s%s\n", out.at ? out.at : "", strerror(-r));
	strbuf_finish(&out);
	free(diags);
	arena_finish(&arena);
	return r < 0;
}

#endif
