/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds a control-flow graph and writes it as code; cfg.h analyzes graphs of existing code. A
 * draft consists of parts: straight-line statements, and a description of how the part ends. Only
 * this description defines control flow. The writer creates the labels and branches. */
#ifndef HEDDLE_CFG_WRITE_H
#define HEDDLE_CFG_WRITE_H

#include "cfg/cfg.h"

struct cfg_part {
	/* straight-line code, without branches and exits; can begin with a label, which is kept,
	 * and a .pragma "nounroll" after the label */
	ptx_body stmts;
	/* The part's last instruction with its guard and mnemonic: bra, brx, ret, exit or trap. mn
	 * is NULL if the part has no such instruction. The writer sets the operands of a branch,
	 * except the index of brx. */
	struct ptx_stmt last;
	VEC(uint32_t) to; /* targets of `last`: one part for bra, the branch table for brx */
	/* part where control goes if `last` is absent or its guard is false; CFG_NONE: the end of
	 * the function */
	uint32_t next;
};

struct cfg_draft {
	ptx_body head;              /* declarations that precede all parts */
	VEC(struct cfg_part) parts; /* parts[0] is the entry; parts are written in this order */
};

/* Adds a part without statements that continues at the function's end. Returns its number, or
 * CFG_NONE if out of memory. */
uint32_t cfg_draft_add(struct cfg_draft *d);
void cfg_draft_finish(struct cfg_draft *d); /* frees the draft's memory and leaves it empty */
/* Writes a draft as a body for f, and adds the new labels to f. Parts are written in the order of
 * their numbers, and control falls through where possible. So a guarded branch from part i to part
 * i + 1 is inverted: it leads to the part's `next` instead. The caller owns *ret_body.
 * If ret_first is not NULL, ret_first[i] becomes the index of part i's first statement in *ret_body,
 * and ret_first[n] the end of the last of n parts. A part is written as a label (if it needs one and
 * has none), its statements, `last`, and a branch to `next`.
 *
 * As a check, the graph of the written body is built and compared with the draft. Returns -EINVAL
 * if they differ, because of a branch among the statements or a target that does not exist, or
 * -ENOMEM. */
int cfg_write(struct ptx_module *m, struct ptx_func *f, const struct cfg_draft *d,
	ptx_body *ret_body, uint32_t *ret_first);

#endif
