/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks that rewritten code still does what the original kernels do. The verifier does not know
 * how passes emit code. It compares the control-flow graphs of the original kernels and of the
 * rewritten code. A record, written by the pass, says which statement of the rewritten code
 * implements which instruction. The verifier checks the record, too: the statement must be that
 * instruction, and the same instructions must follow on all paths.
 *
 * Rewritten code that implements no instruction is called silent. Silent code must not write a
 * kernel's registers, contain barriers between a kernel's instructions, or touch the carry flag
 * between instructions that use it.
 *
 * The verifier takes two things for granted:
 * - Branches that depend on ctl_args.never are not taken.
 * - Where all threads read heddle's own data in shared memory, they all get the same value. */
#ifndef HEDDLE_VERIFY_H
#define HEDDLE_VERIFY_H

#include "pass/analysis/body.h"
#include "pass/analysis/origins.h"
#include "pass/merge.h"

/* The property that a finding violates. The message begins with the name of the property. */
enum pass_rule {
	PASS_RULE_FLOW, /* instructions have the same successors as in the original kernel */
	PASS_RULE_CODE, /* instructions and their operands match the original kernel */
	PASS_RULE_IDS,  /* each id read is that of the kernel's own block */
	/* all paths meet the same barriers with the right thread counts, and no two kernels that
	 * run side by side use the same barrier number */
	PASS_RULE_BARRIERS,
	/* lanes of a warp still execute together what they execute together in the original
	 * kernel */
	PASS_RULE_CONVERGENCE,
	PASS_RULE_SHARED, /* shared variables do not overlap, and keep their alignment */
	/* no other code sets the carry flag between an instruction that sets it and one that reads
	 * it */
	PASS_RULE_CARRY,
	PASS_RULE_PARAMS,  /* parameters are read at their original offsets */
	PASS_RULE_GLOBALS, /* each module variable is the same object as in the original */
	/* ptxas may contract the same products and sums as before (contract.h) */
	PASS_RULE_ROUNDING,
	PASS_RULES
};
const char *pass_rule_name(enum pass_rule rule); /* "flow" … */

struct pass_result {
	const struct ptx_module *m;
	const struct ptx_func *f; /* the entry that the pass created */
	unsigned n;
	const struct pass_kernel *kernels; /* the original kernels, each with its original module */
	const struct pass_record *record;
	const struct pass_merged *form; /* NULL: one kernel that keeps its name (pass_preempt) */
	/* If not NULL, *diverged becomes true if lanes of a woven form may still be diverged at a
	 * barrier or warp operation (verify_meet.c), and the verifier does not report it. If NULL,
	 * the verifier reports it as a finding. */
	bool *diverged;
};

/* Returns true if there are no findings. Findings are errors in diags, with the line in the
 * rewritten code as ptx_print prints it, and the line in the kernel's file. Running out of memory
 * is a finding, too. Changes nothing. */
bool pass_verify(const struct pass_result *r, struct diag_list *diags);

/* The hardware registers that a kernel's code may not read in a rewritten form. */
struct pass_left {
	bool id[PASS_IDS];
	bool sizes; /* sizes of shared memory: %dynamic_smem_size and %total_smem_size */
};
#define PASS_LEFT_BLOCK                                      \
	{                                                    \
		.id = { true, true, true, true, true, true } \
	} /* %ctaid and %nctaid */
/* Returns true if the kernels' code in entry f and in the functions that f reaches reads none of
 * these. left has one element for each of n_left kernels. In functions other than f only what is
 * in all elements counts, because kernels may share functions. Findings are errors in diags, as
 * pass_verify's, with the line in the kernel's file. Checks each operand of each statement that
 * has a line. Changes nothing. pass_verify includes this check; passes that it does not verify call
 * it alone. */
bool pass_verify_left(const struct ptx_module *m, const struct ptx_func *f,
	const struct pass_left *left, unsigned n_left, struct diag_list *diags);

#endif
