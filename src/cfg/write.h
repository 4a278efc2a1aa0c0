/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A graph that is made, where cfg.h has graphs that were found: blocks of statements, how each
 * ends, and a body laid out from them. What control flow means is in the ends alone; labels and
 * branches are the writer's. */
#ifndef HEDDLE_CFG_WRITE_H
#define HEDDLE_CFG_WRITE_H

#include "cfg/cfg.h"

struct cfg_part {
	ptx_body stmts; /* straight: no branch, nothing that ends the thread. May begin with a
			   label, which stays (and a .pragma "nounroll" behind it) */
	/* The instruction that leaves: bra, brx, ret, exit, trap, with its guard and its mnemonic;
	 * of a branch the operands are the writer's, but for the index of brx. mn NULL: none does.
	 */
	struct ptx_stmt last;
	VEC(uint32_t) to; /* parts where `last` leads: one for bra, brx's table for brx */
	uint32_t next; /* where it goes without `last`, or when that is not taken; CFG_NONE: off the
			  function's end */
};

struct cfg_draft {
	ptx_body head;              /* declarations */
	VEC(struct cfg_part) parts; /* 0 is the entry; they are laid out in this order */
};

/* Adds a part without statements that runs off the end; its number, CFG_NONE: out of memory. */
uint32_t cfg_draft_add(struct cfg_draft *d);
void cfg_draft_finish(struct cfg_draft *d); /* frees, and leaves it empty */
/* The graph of a function without inner scopes (ptx_flatten) as a draft: part i is block i, but for
 * the last. Statements are copied as they are, not deeply. -ENOTSUP: a brx whose targets are not
 * known, or an instruction that names a label and is no known branch; -EINVAL: scopes; -ENOMEM. */
int cfg_draft_from(const struct cfg *g, struct cfg_draft *d);

/* The body of a draft for f, whose new labels are f's. Control falls through where it can; a
 * bra whose target comes next is turned round. The graph of what was written is built and compared
 * with the draft: -EINVAL when it is another (a branch among the statements, a target that does not
 * exist). ret_body is the caller's. */
int cfg_write(
	struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d, ptx_body *ret_body);
/* The same; ret_first: for each part, and then for the end, where its statements begin: a label, if
 * it has none of its own and needs one; its statements; `last`; a branch to `next`. */
int cfg_write_parts(struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d,
	ptx_body *ret_body, uint32_t *ret_first);

#endif
