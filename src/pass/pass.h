/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Preemption, the pass that a host needs: PTX module in, PTX module out. A pass either transforms a
 * kernel, or leaves the module unchanged and says why. registry.h has all passes. */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "ctl/control.h"
#include "ptx/ptx.h"

/* How a kernel's execution can be controlled (design: tiers), as far as its code decides. */
enum pass_tier { PASS_MANAGED, PASS_GUARD, PASS_HELD };
const char *pass_tier_name(enum pass_tier tier); /* "managed" … */

/* The order in which workers take the blocks of a grid, for locality in the L2 cache ("Adaptive
 * Simultaneous Multi-tenancy for GPUs", section 6, future work). z is outermost in each.
 *   row      x is fastest, as launches do it
 *   column   y is fastest
 *   hilbert  along Hilbert curves through tiles of 16 x 16 blocks: blocks that run at the same time
 *            are near each other in x and in y (emit_order.c) */
enum pass_order { PASS_ORDER_ROW, PASS_ORDER_COLUMN, PASS_ORDER_HILBERT, PASS_ORDERS };
#define PASS_ORDER_WORDS "row|column|hilbert"
const char *pass_order_name(enum pass_order order); /* "row" … */
/* False: no order has this name; *ret is unchanged. */
bool pass_order_find(const char *name, enum pass_order *ret);

struct pass_verdict {
	enum pass_tier tier;
	/* why the tier is not better; NULL for managed. In the module's arena */
	const char *reason;
	uint32_t line, col; /* of the statement that decided; 0: none */
};

/* The facts that a host needs to launch a transformed kernel. */
struct pass_kernel_info {
	enum pass_tier tier;
	uint32_t arg_offset;  /* offset of struct ctl_args in the parameter buffer */
	uint32_t param_bytes; /* of the whole buffer, ctl_args included */
	uint32_t n_params;    /* the kernel's own */
	uint32_t added_static_shared_bytes;
	bool rising_order; /* a block may wait for others. For lower ones: chunk 1, nothing pulled
			      ahead. For any, as far as one can tell: a grid that fits the device
			      at once is there at once, or not at all: no relay takes a place, no
			      quota holds before every block is claimed */
	bool block_local;  /* no barriers and no shared memory: warps may run ahead of each other */
	bool one_dimensional; /* correct only if blocks have one dimension; run others unchanged */
	bool reads_shared_size; /* of its block: added dynamic shared memory would be visible */
	bool keeps_masks;       /* exited lanes are removed from its member masks */
	uint8_t order; /* enum pass_order of its blocks: maybe row in place of the order that
			     was asked for (struct pass_options) */
};

/* Whether a kernel's blocks may wait for each other: some loop, of the kernel or of a callee, exits
 * only after another block wrote the value that the loop reads. */
struct pass_wait {
	bool may;
	uint32_t line, col; /* position of the read; 0: no single place */
};

/* Changes nothing. f must be an entry of m. ret_wait may be NULL. */
void pass_classify(struct ptx_module *m, const struct ptx_func *f, struct pass_verdict *ret,
	struct pass_wait *ret_wait);

/* Rewrites entry `name` of m into its preemptible form, in place, under the same name, with
 * struct ctl_args appended (FLEP, section 4.1, figure 4 (c), on the design's control block).
 * Managed kernels become a worker loop; guard kernels look at the quota on entry.
 * Returns 0; -ENOTSUP with verdict->reason when it must run untouched; -EINVAL with diags (a bug).
 */
int pass_preempt(struct ptx_module *m, const char *name, struct diag_list *diags,
	struct pass_verdict *ret_verdict, struct pass_kernel_info *ret_info);

/* The same with options that a host can choose well only after compiling the plain form. */
struct pass_record;
struct pass_options {
	bool no_pull_ahead; /* CTL_PULL_AHEAD gets no effect; saves one register */
	/* register limit (.maxnreg), to keep the plain form's occupancy; 0: as many as the kernel's
	 * largest block allows */
	uint32_t max_registers;
	/* Order of blocks. A kernel gets row order if its blocks may wait for lower ones, or if it
	 * does not read both x and y of %ctaid. */
	enum pass_order order;
	struct pass_record *record; /* filled for the verifier (verify.h); NULL: not wanted */
};
int pass_preempt_with(struct ptx_module *m, const char *name, const struct pass_options *options,
	struct diag_list *diags, struct pass_verdict *ret_verdict,
	struct pass_kernel_info *ret_info);

/* Rewrites entry `name` of m into its sliced form, in place, under the same name, with a parameter
 * of four 32-bit words appended: the number of the launch's first block in the whole grid, and the
 * grid's x, y and z. Launches have blocks in x alone. Returns 0; -ENOTSUP with ret_verdict->reason;
 * -EINVAL with diags (a bug); -ENOENT; -ENOMEM. */
#define PASS_SLICE_PARAM "hd_slice"
#define PASS_SLICE_BYTES 16u
int pass_slice(struct ptx_module *m, const char *name, struct diag_list *diags,
	struct pass_verdict *ret_verdict, struct pass_kernel_info *ret_info);

/* A module with the entry CTL_CLOSER, which a host launches after each guard grid (control.h). */
const char *pass_closer_ptx(void);

/* Computes an entry's parameter layout as the driver lays it out. offsets may be NULL. */
int pass_param_layout(const struct ptx_func *f, uint32_t *ret_bytes, uint32_t *ret_offsets,
	uint32_t *ret_sizes, uint32_t max);

#endif
