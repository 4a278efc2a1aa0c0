/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Horizontal fusion: kernels run side by side in one block. Each kernel has its own warps, its own
 * part of shared memory, and its own barrier numbers. So a kernel's threads may really exit, as in
 * the original kernel, unless a later barrier counts the threads that exited. */
#include "pass/fuse/fuse.h"
#include "pass/passes.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <inttypes.h>

static int begin(struct kernels *x, unsigned k)
{
	struct kernel *before = k ? &x->of[k - 1] : NULL;

	if (x->threads > PASS_MAX_THREADS)
		return kernels_refuse(x, k,
			"side by side, the blocks need %" PRIu32 " threads: at most %u", x->threads,
			PASS_MAX_THREADS);
	if (!before)
		return 0;
	x->of[k].at.first_thread = before->at.first_thread + before->threads;
	x->of[k].shared_at = before->shared_bytes;
	return 0;
}

/* Gives each kernel the barrier numbers that follow those of the previous kernels. */
static int place_side_by_side(struct kernels *x, const struct pass_kernel *from)
{
	unsigned next = 0;
	int r = 0;

	for (unsigned k = 0; k < x->n && r == 0; k++) {
		uint16_t ids = x->of[k].facts.barrier_ids;

		x->of[k].at.barrier_first = (uint8_t)next;
		next += ids ? 32 - (unsigned)__builtin_clz(ids) : 0;
		r = fuse_fit(x, k, from);
		if (r == 0 && next > 16)
			r = kernels_refuse(
				x, k, "it and the other kernels have more than 16 barriers");
	}
	return r;
}

static void write_all(struct kernels *x, struct pass_writer *w)
{
	for (unsigned k = 0; k < x->n; k++) {
		if (k + 1 < x->n)
			fuse_skip(w, x->of[k + 1].at.first_thread, "$hd_next_kernel", k);
		fuse_put(x, w, k);
		pass_put(w, "ret;\n");
		if (k + 1 < x->n)
			pass_emit(w, "$hd_next_kernel%u:\n", k);
	}
}

static const struct fuse_way way = {begin, place_side_by_side, write_all};

int pass_fuse_horizontal(const struct pass_kernel *kernels, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record)
{
	struct fuse_call call = {.way = &way};

	for (unsigned k = 0; k < n && k < CTL_MAX_MERGED; k++)
		call.threads += (uint32_t)round_up(pass_threads(kernels[k].block), 32);
	return pass_fuse(&call, kernels, n, diags, ret_m, ret, ret_verdict, ret_which, record);
}

int pass_run_fuse_horizontal(const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret, struct pass_record *record)
{
	ret->entry = CTL_MERGE_ENTRY;
	return pass_fuse_horizontal(rq->kernels, rq->n, diags, &ret->m, &ret->merged, &ret->verdict,
		&ret->which, record);
}
