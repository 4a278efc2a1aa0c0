/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernels as one launch (KernelMerge, section 2): workers that take a block of one kernel
 * after a block of another. Each kernel keeps arguments and a control block of its own (control.h):
 * its tickets, finished blocks, quotas and gate are what they are when it runs alone, so that
 * whoever counts or steers it need not know that it is merged. */
#ifndef HEDDLE_MERGE_H
#define HEDDLE_MERGE_H

#include "ctl/merge.h"
#include "pass/pass.h"

#define PASS_MAX_THREADS  1024u  /* of a block, on every GPU */
#define PASS_GUEST_PREFIX "k%u_" /* begins all names of kernel k */

struct pass_guest {
	const struct ptx_module *m; /* read only; several guests may be of one module */
	const char *name;
	uint32_t block[3];      /* of its launch: part of the form */
	uint32_t dynamic_bytes; /* dynamic shared memory of its launch, part of the form, too */
	uint32_t grid[3];       /* harness.h; else not looked at */
	/* Blocks of it that an SM holds alone; 0: not known. Where all are known, the assembler is
	 * told to make do with registers for as many threads as the least of them, in a worker. */
	uint32_t fits;
	const char *file; /* that the module is from, for messages; NULL: not known */
};

/* How far weaving went. */
struct pass_apart { /* something of a kernel that runs alone */
	uint8_t guest;
	uint32_t line, col; /* in the kernel's file */
	const char *why;    /* static */
};
struct pass_woven {
	struct {
		/* The kernel's, without branches; those that stand among the other's somewhere. */
		uint32_t instructions, woven;
	} of[2];
	uint32_t reach; /* enum weave_reach: what was given up, since it is too large */
	struct pass_apart apart[24]; /* the first ones */
	unsigned n_apart;
	struct pass_verdict why; /* reason NULL: woven; else fused vertically, for kernel which */
	unsigned which;
};

/* How to launch the form: blocks of `block` threads with shared_bytes of dynamic shared memory. */
struct pass_merged {
	uint32_t block[3], shared_bytes;
	uint32_t param_bytes;  /* of the whole buffer */
	uint32_t merge_offset; /* of struct ctl_merge in it */
	struct {
		uint32_t param_offset, own_bytes; /* the kernel's own parameters, as it has them */
		uint32_t arg_offset;              /* of its struct ctl_args */
		bool rising_order;                /* pass.h; chunk 1 */
	} of[CTL_MAX_MERGED];
	struct pass_woven woven; /* pass_weave */
};

/* What merging and fusing have in common: a new module with the entry CTL_MERGE_ENTRY that runs n
 * (1 to CTL_MAX_MERGED) guests; one guest alone shows what the scheduler costs (section 2.4).
 * record, empty before, says what comes from where, and is the caller's to be finished in any case;
 * NULL: nobody asks. Nothing of the result is verified here: ask for it at the door (registry.h).
 * Returns 0; -ENOTSUP with ret_verdict->reason (in the arena of diags) when guest *ret_which cannot
 * be merged; -EINVAL with diags (a bug); -ENOMEM. */
struct pass_record;
typedef int pass_merge_fn(const struct pass_guest *guests, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record);
pass_merge_fn pass_merge;

/* ---- kernels fused block by block: no scheduler; what GoPTX (section IV-B) compares with ----
 * Block i of the launch runs block i of each guest that has one: the grid is the largest, in x
 * alone. struct ctl_args of each: total, grid and inverse are read, no more; there is no struct
 * ctl_merge. */
pass_merge_fn pass_fuse_vertical;   /* one guest's block behind another's, by the same threads */
pass_merge_fn pass_fuse_horizontal; /* side by side: each has warps of its own, and shared memory */

/* Two guests' instructions woven together (GoPTX, section III), by the same threads; shared memory
 * of each is its own. What cannot be woven is fused vertically: ret->woven says why. */
struct pass_weave_options {
	uint32_t max_registers; /* a bound for the assembler (GoPTX, section III-D); 0: none */
	bool unsliced;          /* long blocks stay whole */
	bool branches;          /* short regions keep theirs (predicate.h) */
	bool in_order;          /* within a block one kernel's come behind the other's */
};
int pass_weave(const struct pass_guest *guests, unsigned n, const struct pass_weave_options *o,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record);

#endif
