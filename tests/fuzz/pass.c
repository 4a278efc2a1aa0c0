/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads any bytes as a module, classifies each kernel and makes it preemptible. A rewritten
 * kernel is valid, and parses again without error. */
#include "pass/pass.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (64u << 20)
#define MAX_KERNELS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void stop(const char *why, const struct diag_list *d, const struct strbuf *text)
{
	struct strbuf b = {0};

	diag_render(d, &b);
	fprintf(stderr, "%s\n%s\n%s\n", why, b.at ? b.at : "", text && text->at ? text->at : "");
	abort();
}

static void parse_again(const struct strbuf *text)
{
	static struct diag_list d;
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "rewritten", text->at, text->len);
	if (ptx_parse(text->at, text->len, LIMIT_BYTES, &d, &m) == 0) {
		if (d.errors || ptx_validate(m, &d))
			stop("what was rewritten is not valid", &d, text);
		ptx_module_free(m);
	}
	arena_finish(&a);
}

/* Returns true if a kernel was rewritten. */
static bool rewrite(struct ptx_module *m, struct diag_list *d)
{
	char *names[MAX_KERNELS];
	unsigned n = 0, done = 0;

	for (size_t i = 0; i < m->items.len && n < MAX_KERNELS; i++) {
		struct ptx_func *f = m->items.at[i].func;

		if (m->items.at[i].kind == PTX_ITEM_FUNC && f->is_entry && f->has_body)
			names[n++] = strdup(f->sym->name);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct pass_options options = {.no_pull_ahead = i & 1};
		struct pass_kernel_info info;
		struct pass_verdict v = {0};
		int r = names[i] ? pass_preempt(m, names[i], &options, d, &v, &info) : -ENOMEM;

		if (r == 0 && info.arg_offset + sizeof(struct ctl_args) > info.param_bytes)
			stop("no room for the arguments", d, NULL);
		if (r == -ENOTSUP && !v.reason)
			stop("refused without a reason", d, NULL);
		if (r < 0 && r != -ENOTSUP && r != -ENOMEM)
			stop(strerror(-r), d, NULL);
		done += r == 0;
		free(names[i]);
	}
	return done > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct diag_list d;
	struct strbuf text = {0};
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "fuzz", (const char *)data, len);
	if (ptx_parse((const char *)data, len, LIMIT_BYTES, &d, &m) == 0) {
		if (!d.errors && !ptx_validate(m, &d) && rewrite(m, &d)) {
			ptx_print(m, &text);
			if (text.at)
				parse_again(&text);
		}
		ptx_module_free(m);
	}
	strbuf_finish(&text);
	arena_finish(&a);
	return 0;
}
