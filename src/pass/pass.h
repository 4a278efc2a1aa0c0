/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Preempting, the pass that a host needs: PTX module in, PTX module out. It either transforms a
 * kernel or leaves the module as it was and says why. All passes: registry.h. */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "ctl/control.h"
#include "ptx/ptx.h"

/* How a kernel can be steered (design: tiers), as far as its code decides. */
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
/* False: no order has this name; *ret is as it was. */
bool pass_order_find(const char *name, enum pass_order *ret);

struct pass_verdict {
	enum pass_tier tier;
	const char *reason; /* why not a better tier; NULL for managed. In the module's arena */
	uint32_t line, col; /* of the statement that decided; 0: none */
};

/* What a host must know to launch a transformed kernel. */
struct pass_kernel_info {
	enum pass_tier tier;
	uint32_t arg_offset;  /* of struct ctl_args in the parameter buffer */
	uint32_t param_bytes; /* of the whole buffer, ctl_args included */
	uint32_t n_params;    /* the kernel's own */
	uint32_t added_static_shared_bytes;
	bool rising_order; /* a block may wait for others. For lower ones: chunk 1, nothing pulled
			      ahead. For any, as far as one can tell: a grid that fits the device
			      at once is there at once, or not at all: no relay takes a place, no
			      quota holds before every block is claimed */
	bool block_local;  /* no barriers or shared memory: warps may run ahead of each other */
	bool one_dimensional; /* right only when blocks have no y and z extent; others run plain */
	bool reads_shared_size; /* of its block: more dynamic shared memory would not go unseen */
	bool keeps_masks; /* it takes lanes that have left out of its warp operations' masks */
	uint8_t order;    /* enum pass_order of its blocks: maybe row in place of the order that
			     was asked for (struct pass_options) */
};

/* Whether a kernel's blocks may wait for each other: some loop of it, or of a function that it
 * calls, leaves only once another block has written what the loop reads. */
struct pass_wait {
	bool may;
	uint32_t line, col; /* of what the loop reads; 0: no one place */
};

/* Reads only. f must be an entry of m. ret_wait may be NULL. */
void pass_classify(struct ptx_module *m, const struct ptx_func *f, struct pass_verdict *ret,
	struct pass_wait *ret_wait);

/* Rewrites entry `name` of m into its preemptible form, in place, under the same name, with
 * struct ctl_args appended (FLEP, section 4.1, figure 4 (c), on the design's control block).
 * Managed kernels become a worker loop; guard kernels look at the quota on entry.
 * Returns 0; -ENOTSUP with verdict->reason when it must run untouched; -EINVAL with diags (a bug).
 */
int pass_preempt(struct ptx_module *m, const char *name, struct diag_list *diags,
	struct pass_verdict *ret_verdict, struct pass_kernel_info *ret_info);

/* The same with choices that only a host that has compiled the plain form can make well. */
struct pass_record;
struct pass_options {
	bool no_pull_ahead;     /* CTL_PULL_AHEAD will do nothing; one register less */
	uint32_t max_registers; /* a bound for the assembler (.maxnreg), for keeping as many
				   blocks on an SM as the plain form has; 0: as many as the
				   kernel's largest block can be launched with */
	/* Of blocks. A kernel gets row order if its blocks may wait for lower ones, or if it does
	 * not read both x and y of %ctaid. */
	enum pass_order order;
	struct pass_record *record; /* filled, for who checks the result (verify.h); NULL: no */
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

/* A module with the entry CTL_CLOSER, which a host launches behind each guard grid (control.h). */
const char *pass_closer_ptx(void);

/* Parameter layout of an entry as the driver passes it. offsets may be NULL. */
int pass_param_layout(const struct ptx_func *f, uint32_t *ret_bytes, uint32_t *ret_offsets,
	uint32_t *ret_sizes, uint32_t max);

#endif
