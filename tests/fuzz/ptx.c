/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses any bytes as PTX, and prints, validates, copies and extracts the module. If the text has
 * no error, the printed text parses without error and prints the same again. */
#include "ptx/ptx.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ignore(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	*(uint32_t *)user += reg + (uint32_t)role;
}

static void stop(const char *why, const struct diag_list *d, const struct strbuf *text)
{
	struct strbuf b = {0};

	diag_render(d, &b);
	fprintf(stderr, "%s\n%s\nprinted:\n%s\n", why, b.at ? b.at : "", text->at ? text->at : "");
	abort();
}

static void print_again(const struct strbuf *first)
{
	static struct diag_list d;
	struct strbuf second = {0};
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "printed", first->at, first->len);
	if (ptx_parse(first->at, first->len, LIMIT_BYTES, &d, &m) == 0) {
		if (d.errors)
			stop("what was printed does not parse", &d, first);
		ptx_print(m, &second);
		if (second.len != first->len || memcmp(second.at, first->at, first->len) != 0)
			stop("printed differently", &d, &second);
		if (ptx_validate(m, &d))
			stop("what was parsed without error is not valid", &d, first);
		ptx_module_free(m);
	}
	strbuf_finish(&second);
	arena_finish(&a);
}

static void edit(struct ptx_module *m, struct diag_list *d)
{
	size_t n = m->items.len;
	uint32_t sum = 0;

	for (size_t i = 0; i < n && i < 8; i++) {
		struct ptx_func *f = m->items.at[i].func;
		struct ptx_module *part;
		char name[64];

		if (m->items.at[i].kind != PTX_ITEM_FUNC)
			continue;
		for (size_t k = 0; k < f->body.len; k++)
			ptx_visit_regs(f, &f->body.at[k], ignore, &sum);
		if (ptx_extract(m, f->sym->name, i & 1, &part) == 0)
			ptx_module_free(part);
		snprintf(name, sizeof(name), "hd_copy_%zu", i);
		f = ptx_clone_func(m, f, name, NULL);
		if (f)
			ptx_append(m, f, &f->body, d,
				".reg .u32 hd_x; { mov.u32 hd_x, %u; bra $hd_l; } $hd_l: ret;",
				sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct diag_list d;
	struct strbuf first = {0};
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "fuzz", (const char *)data, len);
	if (ptx_parse((const char *)data, len, LIMIT_BYTES, &d, &m) == 0) {
		bool clean = d.errors == 0;
		struct strbuf shown = {0};

		diag_render(&d, &shown);
		strbuf_finish(&shown);
		ptx_print(m, &first);
		if (clean)
			print_again(&first);
		ptx_validate(m, &d);
		edit(m, &d);
		strbuf_finish(&first);
		ptx_print(m, &first);
		ptx_module_free(m);
	}
	strbuf_finish(&first);
	arena_finish(&a);
	return 0;
}
