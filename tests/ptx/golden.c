/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: golden [--bless] FILE.ptx…
 * FILE.expect, beside FILE.ptx, holds the messages from reading FILE.ptx or, if there are none,
 * the printed module. --bless writes it. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_file(const char *path, struct strbuf *out)
{
	FILE *f = fopen(path, "rb");
	char buf[4096];
	size_t n;

	if (!f)
		return false;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(out, buf, n);
	fclose(f);
	return true;
}

static void result(const char *name, const struct strbuf *text, struct strbuf *out)
{
	static struct diag_list d;
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, 0);
	diag_init(&d, &a, name, text->at, text->len);
	if (ptx_parse(text->at, text->len, 0, &d, &m) == 0) {
		if (!d.errors)
			ptx_validate(m, &d);
		diag_render(&d, out);
		if (!d.len)
			ptx_print(m, out);
		ptx_module_free(m);
	}
	arena_finish(&a);
}

static bool check(const char *path, bool bless)
{
	struct strbuf text = {0}, got = {0}, want = {0}, expect = {0};
	const char *slash = strrchr(path, '/');
	bool ok = read_file(path, &text);

	result(slash ? slash + 1 : path, &text, &got);
	strbuf_add(&expect, path, strlen(path) - strlen(".ptx"));
	strbuf_puts(&expect, ".expect");
	if (bless) {
		FILE *f = fopen(expect.at, "wb");

		ok = f && fwrite(got.at, 1, got.len, f) == got.len && fclose(f) == 0;
	} else if (ok) {
		ok = read_file(expect.at, &want) && want.len == got.len &&
		     !memcmp(want.at, got.at, got.len);
		if (!ok)
			printf("%s: not as in %s; got:\n%s\n", path, expect.at, got.at);
	}
	strbuf_finish(&text);
	strbuf_finish(&got);
	strbuf_finish(&want);
	strbuf_finish(&expect);
	return ok;
}

int main(int argc, char **argv)
{
	bool bless = argc > 1 && !strcmp(argv[1], "--bless");
	int failed = 0;

	for (int i = 1 + bless; i < argc; i++)
		failed += !check(argv[i], bless);
	printf("%d of %d differ\n", failed, argc - 1 - bless);
	return failed || argc == 1 + bless;
}
