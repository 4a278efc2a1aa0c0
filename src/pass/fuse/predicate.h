/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel made ready for weaving. Short regions that lanes may not all run (`if (i < n)`, a clamp
 * at a border), as instructions under guards in place of branches: what is one run of instructions
 * can be woven with another kernel's, whatever lanes do (weave.h). And what the assembler fuses
 * with nothing as the kernel stands (contract.h) says so, for the blocks around it become others.
 */
#ifndef HEDDLE_PREDICATE_H
#define HEDDLE_PREDICATE_H

#include "pass/merge.h"

/* A region, by statements of the body before and behind: from its branch to where its ways meet. */
struct predicate_region {
	uint32_t from, to, now_from, now_to;
};
typedef VEC(struct predicate_region) predicate_regions;

/* The kernel of a guest in a module of its own, its short regions without branches, unless they are
 * to keep them; lines are the guest's. *ret: to be freed; NULL: there is nothing to be done.
 * -EINVAL, with diags: what was made is not what was there (a bug). -ENOMEM. */
int pass_predicate(const struct pass_guest *g, bool branches, struct diag_list *diags,
	struct ptx_module **ret);

/* Where labels of a body stand, sorted by address. */
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

/* predicate_check.c. An instruction gives the register a value. */
bool predicate_writes(const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg);
/* Whether f's body does what `before` did (of f, too, which had n_regs registers
 * then), where those regions were rewritten. 0, or -EINVAL with diags; -ENOMEM. */
int predicate_check(const struct ptx_func *f, const ptx_body *before, uint32_t n_regs,
	const predicate_regions *regions, struct diag_list *diags);

#endif
