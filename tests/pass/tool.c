/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of tool.h. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>

struct diag_list diags;
struct arena arena;

void fail(const char *what)
{
	struct strbuf out = {0};

	diag_render(&diags, &out);
	fprintf(stderr, "%s%s\n", out.at ? out.at : "", what);
	exit(1);
}

char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t len = 0, cap = 0, n;

	if (!f)
		fail(path);
	do {
		if (cap - len < 65536) {
			cap = cap * 2 + 65536;
			text = realloc(text, cap);
			if (!text)
				abort();
		}
		n = fread(text + len, 1, cap - len, f);
		len += n;
	} while (n);
	fclose(f);
	*ret_len = len;
	return text;
}

struct ptx_module *read_module(const char *path)
{
	struct ptx_module *m = NULL;
	size_t len;
	char *text = read_file(path, &len);

	diag_init(&diags, &arena, path, text, len);
	if (ptx_parse(text, len, 0, &diags, &m) < 0 || diags.errors)
		fail("cannot be parsed");
	diag_init(&diags, &arena, path, NULL, 0);
	free(text);
	return m;
}
