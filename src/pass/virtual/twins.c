/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Duplicates statements of a body. The second copy gets new labels. */
#include "pass/virtual/twins.h"

#include <errno.h>

int pass_twins_find(struct pass_writer *w, const struct ptx_func *f, size_t from, pass_twins *t)
{
	for (size_t i = from; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		struct pass_twin twin = {s->sym, NULL};

		if (s->kind != PTX_LABEL)
			continue;
		twin.to = ptx_new_label(w->m, w->f, "twin");
		if (!twin.to || !VEC_PUSH(t, twin))
			return -ENOMEM;
	}
	return 0;
}

struct ptx_sym *pass_twin_of(const pass_twins *t, const struct ptx_sym *sym)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->at[i].from == sym)
			return t->at[i].to;
	return NULL;
}

static void name_twin(void *user, struct ptx_opd *opd)
{
	struct ptx_sym *to;

	if (opd->kind != PTX_OPD_SYM || !opd->sym)
		return;
	to = pass_twin_of(user, opd->sym);
	if (to) {
		opd->sym = to;
		opd->name = to->name;
	}
}

struct ptx_stmt pass_twin_stmt(struct ptx_module *m, pass_twins *t, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = ptx_copy_stmt(m, s);

	ptx_visit_opds(&copy, name_twin, t);
	return copy;
}
