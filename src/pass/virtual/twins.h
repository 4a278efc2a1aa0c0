/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Duplicates code and gives the copy new labels (twins.c). */
#ifndef HEDDLE_PASS_TWINS_H
#define HEDDLE_PASS_TWINS_H

#include "pass/virtual/writer.h"

struct pass_twin {
	const struct ptx_sym *from;
	struct ptx_sym *to;
};
typedef VEC(struct pass_twin) pass_twins;
/* Creates the labels for a second copy of f's body from statement `from` to the end. Returns 0 or
 * -ENOMEM. */
int pass_twins_find(struct pass_writer *w, const struct ptx_func *f, size_t from, pass_twins *t);
/* Returns NULL if sym has no new label. */
struct ptx_sym *pass_twin_of(const pass_twins *t, const struct ptx_sym *sym);
/* Returns a copy of s that refers to the new labels. */
struct ptx_stmt pass_twin_stmt(struct ptx_module *m, pass_twins *t, const struct ptx_stmt *s);

#endif
