/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as a kept form (the file in which the shim keeps a kernel's form for the next start):
 * an accepted form has as many names as it states, each of them terminated, its parameters lie
 * within their buffer, and writing it gives as many bytes as were read. */
#include "shim/form/kept.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 1 /* the version in the corpus */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct made *m, size_t len)
{
	const char *name = m->vars.names.at, *end = name + m->vars.names.len;
	struct strbuf b = {0};

	for (uint32_t i = 0; i < m->vars.n; i++) {
		if (name >= end || !*name || __builtin_popcountll(m->vars.at[i].align) != 1)
			abort();
		name += strlen(name) + 1;
	}
	if (name != end || m->vars.n > VARS_MAX || !made_sane(m) || !m->text.len)
		abort();
	kept_write(m, VERSION, &b);
	if (b.len != len)
		abort();
	strbuf_finish(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* Allocates the exact size, so that a sanitizer sees a read past the end. */
	char *exact = malloc(len + !len);
	struct made m = {0};

	if (!exact)
		return 0;
	if (len)
		memcpy(exact, data, len);
	if (kept_read(exact, len, VERSION, &m))
		check(&m, len);
	made_finish(&m);
	free(exact);
	return 0;
}
