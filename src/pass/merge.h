/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs several kernels as one launch (KernelMerge, section 2): a worker can run blocks of any of
 * the kernels. Each kernel keeps its own arguments and control block (control.h). A kernel's
 * tickets, finished blocks, quotas and gate are the same as if the kernel ran alone, so code that
 * counts or steers a kernel's blocks is the same for merged kernels. (The gate is a value in device
 * memory; later work of the kernel's stream waits for it.) This does not hold for launches with the
 * flag CTL_UNSTEERED or CTL_BY_CLAIMS (args.h). */
#ifndef HEDDLE_MERGE_H
#define HEDDLE_MERGE_H

#include "ctl/merge.h"
#include "pass/pass.h"

#define PASS_MAX_THREADS   1024u  /* limit per block on every GPU */
#define PASS_KERNEL_PREFIX "k%u_" /* prefix of all names of kernel k */

struct pass_kernel {
	const struct ptx_module *m; /* not modified; several kernels may share a module */
	const char *name;
	uint32_t block[3]; /* block size of its launch, for which the form is made */
	/* dynamic shared memory of its launch, for which the form is made */
	uint32_t dynamic_bytes;
	uint32_t grid[3]; /* used only by the harness (harness.h) */
	/* number of the kernel's blocks that fit on an SM when it runs alone; 0: unknown. If the
	 * number is known for all kernels, the pass limits the registers of a worker. The limit is
	 * such that an SM holds as many threads of workers as threads of the kernel that alone has
	 * the fewest threads on an SM */
	uint32_t fits;
	const char *file; /* file that contained the module, for messages; NULL: unknown */
};

/* Describes how much was woven. */
struct pass_unwoven { /* a part of a kernel that runs alone */
	uint8_t kernel;
	uint32_t line, col; /* position in the kernel's file */
	const char *why;    /* static text */
};
struct pass_woven {
	struct {
		/* number of the kernel's instructions without branches, and how many of them are
		 * woven */
		uint32_t instructions, woven;
	} of[2];
	/* enum weave_reach: how much of the weaving was given up because the code that combines all
	 * states of the two kernels was too large */
	uint32_t reach;
	struct pass_unwoven unwoven[24]; /* the first n_unwoven of them */
	unsigned n_unwoven;
	/* why.reason is NULL if the kernels are woven. Otherwise they are fused vertically because
	 * of kernel number `which`, and why.reason says why */
	struct pass_verdict why;
	unsigned which;
};

/* How the host program launches the merged or fused kernel: with blocks of shape `block` and with
 * shared_bytes of dynamic shared memory. */
struct pass_merged {
	uint32_t block[3], shared_bytes;
	uint32_t param_bytes;  /* size of the whole parameter buffer */
	uint32_t merge_offset; /* offset of struct ctl_merge in the parameter buffer */
	struct {
		/* the kernel's own parameters: their offset and size, with their layout
		 * unchanged */
		uint32_t param_offset, own_bytes;
		uint32_t arg_offset; /* offset of the kernel's struct ctl_args */
		bool rising_order;   /* as in pass.h; if true, chunk must be 1 */
	} of[CTL_MAX_MERGED];
	struct pass_woven woven; /* filled by pass_weave only */
};

/* The common signature of merging and fusing. Makes a new module with the entry CTL_MERGE_ENTRY
 * that runs n kernels, 1 to CTL_MAX_MERGED. Merging a single kernel shows the cost of the scheduler
 * (KernelMerge, section 2.4).
 *
 * record must be empty or NULL. It gets the origin of each statement, and the caller finishes it in
 * any case. The function does not verify the result: use pass_run for that (registry.h).
 *
 * Returns 0; -ENOTSUP with ret_verdict->reason (in the arena of diags) if kernel *ret_which cannot
 * be merged; -EINVAL with diags (a bug), or if n is out of range; -ENOMEM. */
struct pass_record;
typedef int pass_merge_fn(const struct pass_kernel *kernels, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record);
pass_merge_fn pass_merge;

/* ---- kernels fused block by block, without a scheduler (baselines of GoPTX, section IV-B) ----
 *
 * Block i of the launch runs block i of each kernel that has one. The launch has as many blocks as
 * the kernel with the most blocks, all in x. The fused kernel reads only total, grid, inverse and
 * never of each kernel's struct ctl_args. There is no struct ctl_merge. */
pass_merge_fn pass_fuse_vertical; /* the same threads run the blocks of one kernel after another */
/* The kernels run side by side: each kernel has its own warps and its own shared memory. */
pass_merge_fn pass_fuse_horizontal;

/* Weaves the instructions of two kernels (GoPTX, section III): the same threads run both kernels,
 * and each kernel has its own shared memory. Kernels that cannot be woven are fused vertically, and
 * ret->woven says why. */
struct pass_weave_options {
	uint32_t max_registers; /* register limit per thread (GoPTX, section III-D); 0: none */
	bool unsliced;          /* long basic blocks are not sliced */
	bool branches;          /* short regions keep their branches (predicate.h) */
	/* within a basic block, all code of one kernel precedes the other kernel's */
	bool in_order;
};
int pass_weave(const struct pass_kernel *kernels, unsigned n, const struct pass_weave_options *o,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record);

#endif
