/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The preemption pass and what hosts need to know of its result. A pass takes a PTX module and
 * returns a PTX module. The pass either transforms a kernel, or leaves the module unchanged and
 * says why. passes.h has all passes. */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "ctl/control.h"
#include "ptx/ptx.h"

/* How heddle can control a kernel's execution, as far as the kernel's code decides (the table of
 * tiers in doc/architecture.md). */
enum pass_tier { PASS_MANAGED, PASS_GUARD, PASS_HELD };
const char *pass_tier_name(enum pass_tier tier); /* "managed" … */

/* The order in which workers claim the blocks of a grid, for locality in the L2 cache ("Adaptive
 * Simultaneous Multi-tenancy for GPUs", section 6, future work). z changes slowest in each order.
 *     row      x changes fastest, as in a plain launch
 *     column   y changes fastest
 *     hilbert  along Hilbert curves through tiles of 16 x 16 blocks: blocks that run at the same
 *              time are near each other in x and in y (emit_order.c) */
enum pass_order { PASS_ORDER_ROW, PASS_ORDER_COLUMN, PASS_ORDER_HILBERT, PASS_ORDERS };
#define PASS_ORDER_WORDS "row|column|hilbert"
const char *pass_order_name(enum pass_order order); /* "row" … */
/* Returns false if no order has this name; *ret then stays unchanged. */
bool pass_order_find(const char *name, enum pass_order *ret);

struct pass_verdict {
	enum pass_tier tier;
	/* the reason why the tier is not better, in the module's arena; NULL for managed */
	const char *reason;
	uint32_t line, col; /* position of the statement that decided; 0: none */
};

/* Facts that a host needs to launch a rewritten kernel. */
struct pass_kernel_info {
	enum pass_tier tier;
	uint32_t arg_offset;  /* offset of struct ctl_args in the parameter buffer */
	uint32_t param_bytes; /* size of the whole parameter buffer, including ctl_args */
	uint32_t n_params;    /* number of the kernel's own parameters */
	uint32_t added_static_shared_bytes;
	/* True if blocks of the kernel may wait for other blocks. A host must then ensure two
	 * things:
	 * - If blocks wait only for blocks with lower numbers: it sets chunk to 1 and allows no
	 *   early claims (CTL_PULL_AHEAD).
	 * - The pass cannot rule out that blocks wait for blocks with higher numbers. So a grid
	 *   that fits on the device at once must run there completely or not at all: no relay warp
	 *   may take the resources of a block, and no quota may stop workers before every block is
	 *   claimed. */
	bool rising_order;
	/* True if the kernel has no barriers and no shared memory, so that the warps of a block need
	 * not execute the same block of the kernel at one time. */
	bool block_local;
	/* True if the rewritten kernel is correct only for blocks of one dimension. A host must run
	 * launches with other blocks unchanged. */
	bool one_dimensional;
	/* reads the size of its shared memory, so it would notice added dynamic memory */
	bool reads_shared_size;
	bool keeps_masks; /* exited lanes are removed from the kernel's member masks */
	/* The order of the kernel's blocks (enum pass_order). It is row order if the kernel does
	 * not allow the order that struct pass_options requests. */
	uint8_t order;
};

/* Whether a kernel's blocks may wait for each other. They may if the kernel or a callee has a loop
 * that ends only after another block has written the value that the loop reads. */
struct pass_wait {
	bool may;
	uint32_t line, col; /* position of the loop's load; 0: no single place */
};

/* Finds the tier of a kernel, and whether its blocks may wait for each other. Changes nothing. f
 * must be an entry of m. ret_wait may be NULL. */
void pass_classify(struct ptx_module *m, const struct ptx_func *f, struct pass_verdict *ret,
	struct pass_wait *ret_wait);

/* Options that a host can choose well only after it has compiled the original kernel. */
struct pass_record;
struct pass_options {
	/* compiles without early claims (CTL_PULL_AHEAD), which saves one register */
	bool no_pull_ahead;
	/* register limit (.maxnreg) that keeps the original kernel's occupancy; 0: as many
	 * registers as the kernel's largest block allows */
	uint32_t max_registers;
	/* The requested order of blocks. A kernel gets row order instead if its blocks may wait for
	 * blocks with lower numbers, or if it does not read both x and y of %ctaid. */
	enum pass_order order;
	struct pass_record *record; /* filled for the verifier (verify.h); NULL: not needed */
};

/* Rewrites entry `name` of m into its preemptible form, in place and under the same name. The
 * rewritten kernel has struct ctl_args as an additional last parameter (FLEP, section 4.1, figure 4
 * (c), with heddle's control block). A managed kernel becomes a worker, a loop that claims and runs
 * blocks; a guard kernel checks the quota on entry. Returns:
 * - 0
 * - -ENOTSUP with verdict->reason if the kernel must run unchanged
 * - -ENOENT if m has no such entry with a body
 * - -EINVAL with diags (a bug); -ENOMEM */
int pass_preempt(struct ptx_module *m, const char *name, const struct pass_options *options,
	struct diag_list *diags, struct pass_verdict *ret_verdict,
	struct pass_kernel_info *ret_info);

/* The parameter that slicing adds (worker/slice.c): four 32-bit words, which are the number of the
 * launch's first block in the whole grid, and the grid's x, y and z. */
#define PASS_SLICE_PARAM "hd_slice"
#define PASS_SLICE_BYTES 16u

/* Returns a module with the entry CTL_CLOSER, which a host launches after each grid of a guard form
 * (control.h). */
const char *pass_closer_ptx(void);

/* Computes the layout that the driver gives to an entry's parameters. ret_offsets may be NULL. */
int pass_param_layout(const struct ptx_func *f, uint32_t *ret_bytes, uint32_t *ret_offsets,
	uint32_t *ret_sizes, uint32_t max);

#endif
