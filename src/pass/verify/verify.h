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

/* What a finding is about; its name is how the message begins. */
enum pass_rule {
	PASS_RULE_FLOW,        /* instructions follow each other as they did */
	PASS_RULE_CODE,        /* an instruction and its registers are what they were */
	PASS_RULE_IDS,         /* ids are those of the kernel's own block */
	PASS_RULE_BARRIERS,    /* the same arrivals on all ways, counted; no number for two */
	PASS_RULE_CONVERGENCE, /* no new way to what lanes do together */
	PASS_RULE_SHARED,      /* variables in shared memory lie apart, where they lay */
	PASS_RULE_CARRY,       /* nobody else between who sets the carry flag and who reads it */
	PASS_RULE_PARAMS,      /* parameters are read where the kernel's own lie */
	PASS_RULE_GLOBALS,     /* variables of modules are the same objects */
	PASS_RULE_ROUNDING,    /* what the assembler may fuse is what it was (contract.h) */
	PASS_RULES
};
const char *pass_rule_name(enum pass_rule rule); /* "flow" … */

struct pass_result {
	const struct ptx_module *m;
	const struct ptx_func *f; /* the entry that was made */
	unsigned n;
	const struct pass_guest *guests; /* the plain kernels, in modules of their own */
	const struct pass_record *record;
	const struct pass_merged *form; /* NULL: one kernel, under its own name (pass_preempt) */
	bool *apart; /* set, in place of a finding: lanes of a woven form may stay apart where they
			do something together (verify_meet.c); NULL: that is a finding */
};

/* True: nothing was found. Findings are errors in diags, each with the line in the result as
 * ptx_print writes it and that in the kernel's own file; lack of memory is one, too. Reads only. */
bool pass_verify(const struct pass_result *r, struct diag_list *diags);

#endif
