/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prepares a kernel for weaving. Short regions that diverging lanes may skip (`if (i < n)`,
 * clamping at a border) become predicated instructions: straight-line code can be woven with
 * another kernel whether lanes diverge or not (weave.h). And products that ptxas contracts with no
 * sum in the original get the rounding that says so (contract.h), because the code around them will
 * change. */
#ifndef HEDDLE_PREDICATE_H
#define HEDDLE_PREDICATE_H

#include "pass/merge.h"

/* A region, as statement ranges of the old and the new body: from its branch to where its sides
 * meet. */
struct predicate_region {
	uint32_t from, to, now_from, now_to;
};
typedef VEC(struct predicate_region) predicate_regions;

/* Extracts a guest's kernel into a module of its own and predicates its short regions, unless
 * `branches` keeps them. Line numbers are the guest's. *ret: to be freed; NULL: nothing to change.
 * -EINVAL with diags: the result differs from the original (a bug). -ENOMEM. */
int pass_predicate(const struct pass_guest *g, bool branches, struct diag_list *diags,
	struct ptx_module **ret);

/* Positions of a body's labels, sorted by address. */
struct predicate_label {
	const struct ptx_sym *sym;
	uint32_t at;
};
struct predicate_labels {
	struct predicate_label *of;
	size_t n;
};
int predicate_labels_find(const ptx_body *body, struct predicate_labels *ret); /* -ENOMEM */
/* Its statement; UINT32_MAX: none. */
uint32_t predicate_label_at(const struct predicate_labels *l, const struct ptx_sym *sym);
void predicate_labels_free(struct predicate_labels *l);

/* predicate_check.c: whether instruction s writes register reg. */
bool predicate_writes(const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg);
/* Checks that f's body does the same as `before`, an older body of f, when f had n_regs registers;
 * `regions` lists the rewritten regions. 0, or -EINVAL with diags; -ENOMEM. */
int predicate_check(const struct ptx_func *f, const ptx_body *before, uint32_t n_regs,
	const predicate_regions *regions, struct diag_list *diags);

#endif
