/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whether a result still does what the plain kernels do. Nothing of how passes emit is known here:
 * the plain kernels and the result are two graphs, the record says which statement is which
 * instruction, and what it says is checked, too: an instruction has to be the one that it is said
 * to be, and to be followed by the same ones on all ways. Everything else of the result is silent:
 * it may not write a kernel's registers, meet barriers between its instructions, or touch the carry
 * flag between those that use it.
 *
 * What is taken for granted: branches that hang on ctl_args.never are not taken, and what all
 * threads read of heddle's own words in shared memory is the same for all of them. */
#ifndef HEDDLE_VERIFY_H
#define HEDDLE_VERIFY_H

#include "pass/analysis/record.h"
#include "pass/merge.h"

/* The property that a finding violates; its name begins the message. */
enum pass_rule {
	PASS_RULE_FLOW, /* instructions follow each other as in the plain kernel */
	PASS_RULE_CODE, /* instructions and their registers are as in the plain kernel */
	PASS_RULE_IDS,  /* ids are those of the kernel's own block */
	/* each path has the same barrier arrivals with right counts; no number is shared */
	PASS_RULE_BARRIERS,
	PASS_RULE_CONVERGENCE, /* no new way to what lanes do together */
	PASS_RULE_SHARED,      /* shared variables do not overlap and keep their alignment */
	PASS_RULE_CARRY,       /* no other code sets the carry flag between a write and its read */
	PASS_RULE_PARAMS,      /* parameters are read at the kernel's own offsets */
	PASS_RULE_GLOBALS,     /* module variables are the same objects */
	PASS_RULE_ROUNDING,    /* ptxas may contract the same products and sums (contract.h) */
	PASS_RULES
};
const char *pass_rule_name(enum pass_rule rule); /* "flow" … */

struct pass_result {
	const struct ptx_module *m;
	const struct ptx_func *f; /* the entry that was made */
	unsigned n;
	const struct pass_guest *guests; /* the plain kernels, each in its own module */
	const struct pass_record *record;
	const struct pass_merged *form; /* NULL: one kernel, under its own name (pass_preempt) */
	/* set instead of a finding if lanes of a woven form may stay diverged where they act
	 * together (verify_meet.c); NULL: that is a finding */
	bool *apart;
};

/* Returns true if there are no findings. Findings are errors in diags, with the line in the result
 * as printed by ptx_print, and the line in the kernel's file. Out of memory is one, too. Changes
 * nothing. */
bool pass_verify(const struct pass_result *r, struct diag_list *diags);

#endif
