/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records which instruction each statement comes from (origins.h). */
#include "pass/analysis/origins.h"

#include <errno.h>
#include <stdlib.h>

void pass_record_finish(struct pass_record *r)
{
	for (size_t i = 0; i < r->funcs.len; i++)
		VEC_FREE(&r->funcs.at[i].of);
	VEC_FREE(&r->funcs);
	*r = (struct pass_record){0};
}

const struct pass_recorded *pass_record_find(const struct pass_record *r, const struct ptx_func *f)
{
	for (size_t i = 0; i < r->funcs.len; i++)
		if (r->funcs.at[i].f == f)
			return &r->funcs.at[i];
	return NULL;
}

uint32_t *pass_record_numbers(const struct ptx_func *f, uint32_t ignored)
{
	uint32_t *to = malloc((f->body.len + 1) * sizeof(*to)), n = 0;

	for (size_t i = 0; to && i < f->body.len; i++) {
		to[i] = PASS_OURS;
		if (f->body.at[i].kind != PTX_INSN)
			continue;
		if (n >= ignored)
			to[i] = n - ignored;
		n++;
	}
	return to;
}

bool pass_record_note(pass_numbers *n, size_t from, size_t to, uint32_t number)
{
	while (n->len < from)
		if (!VEC_PUSH(n, PASS_OURS))
			return false;
	while (n->len < to)
		if (!VEC_PUSH(n, number))
			return false;
	return true;
}

int pass_record_func(struct pass_record *r, const struct ptx_func *f, const pass_numbers *n)
{
	struct pass_recorded to = {.f = f};

	for (size_t i = 0; i < n->len; i++) {
		struct pass_origin o = {n->at[i] == PASS_OURS ? PASS_OURS : r->kernel, n->at[i]};

		if (!VEC_PUSH(&to.of, o))
			goto fail;
	}
	if (VEC_PUSH(&r->funcs, to))
		return 0;
fail:
	VEC_FREE(&to.of);
	return -ENOMEM;
}
