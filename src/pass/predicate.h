/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Short regions that lanes may not all run (`if (i < n)`, a clamp at a border), as instructions
 * under guards in place of branches: what is one run of instructions can be woven with another
 * kernel's, whatever lanes do (weave.h). */
#ifndef HEDDLE_PREDICATE_H
#define HEDDLE_PREDICATE_H

#include "pass/merge.h"

/* A region, by statements of the body before and behind: from its branch to where its ways meet. */
struct predicate_region {
	uint32_t from, to, now_from, now_to;
};
typedef VEC(struct predicate_region) predicate_regions;

/* The kernel of a guest in a module of its own, its short regions without branches; lines are the
 * guest's. *ret: to be freed; NULL: there is nothing to be done. -EINVAL, with diags: what was made
 * is not what was there (a bug). -ENOMEM. */
int pass_predicate(const struct pass_guest *g, struct diag_list *diags, struct ptx_module **ret);

/* predicate_check.c. An instruction gives the register a value. */
bool predicate_writes(const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg);
/* Whether f's body does what `before` did (of f, too, which had n_regs registers
 * then), where those regions were rewritten. 0, or -EINVAL with diags; -ENOMEM. */
int predicate_check(const struct ptx_func *f, const ptx_body *before, uint32_t n_regs,
	const predicate_regions *regions, struct diag_list *diags);

#endif
