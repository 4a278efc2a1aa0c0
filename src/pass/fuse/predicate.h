/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prepares a kernel for weaving. Short regions that diverging lanes may skip (`if (i < n)`,
 * clamping at a border) become predicated instructions. Such straight-line code can be woven with
 * another kernel whether lanes diverge or not (weave.h). Also, ptxas contracts some multiplications
 * of the original with no addition. These multiplications get an explicit rounding modifier
 * (contract.h), because the code around them will change. */
#ifndef HEDDLE_PREDICATE_H
#define HEDDLE_PREDICATE_H

#include "pass/merge.h"

/* A region from its branch to where its sides join, as a range of statements of the old body and of
 * the new body. */
struct predicate_region {
	uint32_t from, to, now_from, now_to;
};
typedef VEC(struct predicate_region) predicate_regions;

/* Extracts the kernel g into a separate module and predicates its short regions. `branches` keeps
 * the branches of these regions. Line numbers are those of g's module. The caller frees *ret; NULL
 * means that nothing has to change. Returns 0; -EINVAL with diags if the result differs from the
 * original (a bug); -ENOMEM. */
int pass_predicate(const struct pass_kernel *g, bool branches, struct diag_list *diags,
	struct ptx_module **ret);

/* Positions of the labels of a body, sorted by the symbols' addresses. */
struct predicate_label {
	const struct ptx_sym *sym;
	uint32_t at;
};
struct predicate_labels {
	struct predicate_label *of;
	size_t n;
};
/* Returns 0 or -ENOMEM. */
int predicate_labels_find(const ptx_body *body, struct predicate_labels *ret);
/* Returns the index of the label's statement; UINT32_MAX: no such label. */
uint32_t predicate_label_at(const struct predicate_labels *l, const struct ptx_sym *sym);
void predicate_labels_free(struct predicate_labels *l);

/* predicate_check.c: returns whether instruction s writes register reg. */
bool predicate_writes(const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg);
/* Checks that f's body does the same as `before`, the body of f before the rewriting, when f had
 * n_regs registers. `regions` lists the rewritten regions. Returns 0; -EINVAL with diags;
 * -ENOMEM. */
int predicate_check(const struct ptx_func *f, const ptx_body *before, uint32_t n_regs,
	const predicate_regions *regions, struct diag_list *diags);

#endif
