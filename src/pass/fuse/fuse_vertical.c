/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Vertical fusion: the same threads run a block of one kernel, then a block of the next. The
 * kernels' shared memory overlaps, so a barrier of all threads separates two kernels. The kernels
 * are independent, so any of them may run last. */
#include "pass/fuse/fuse.h"
#include "pass/passes.h"
#include "pass/virtual/emit.h"

#include <errno.h>

static int begin(struct kernels *x, unsigned k)
{
	(void)x;
	(void)k;
	return 0;
}

/* Places the kernel that runs last. Its threads may really exit, and it may leave behind state that
 * ends with the block. No other kernel runs in the block at that time, so the last kernel's
 * barriers need no thread counts. */
static int place_last(struct kernels *x, unsigned k, const struct pass_kernel *from)
{
	struct kernel *g = &x->of[k];
	int r;

	g->at.followed = false;
	r = kernels_fit(x, k, &from[k]);
	if (r != -ENOTSUP)
		return r;
	g->at.threads = 0;
	return fuse_fit(x, k, from);
}

/* Chooses the kernel that runs last in each block. If exactly one kernel can run in no other place
 * than the last, chooses that kernel. Returns -ENOTSUP if several kernels can run in no other
 * place, or if a kernel cannot be fused at all. */
static int place_in_turn(struct kernels *x, const struct pass_kernel *from)
{
	unsigned last = x->n;

	for (unsigned k = 0; k < x->n; k++) {
		int r;

		x->of[k].at.followed = true;
		r = kernels_fit(x, k, &from[k]);
		if (r == -ENOTSUP && last == x->n) {
			r = place_last(x, k, from);
			last = k;
		}
		if (r < 0)
			return r;
	}
	x->last = last < x->n ? last : x->n - 1;
	return kernels_barrier(x);
}

static void write_one(struct kernels *x, struct pass_writer *w, unsigned k)
{
	if (x->of[k].threads < x->threads)
		fuse_skip(w, x->of[k].threads, "$hd_behind", k);
	fuse_put(x, w, k);
	pass_emit(w, "$hd_behind%u:\n", k);
	if (k != x->last)
		kernels_put_barrier(x, w);
}

static void write_all(struct kernels *x, struct pass_writer *w)
{
	for (unsigned k = 0; k < x->n; k++)
		if (k != x->last)
			write_one(x, w, k);
	write_one(x, w, x->last);
}

static const struct fuse_way way = {begin, place_in_turn, write_all};

int pass_fuse_vertical(const struct pass_kernel *kernels, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record)
{
	struct fuse_call call = {.way = &way};

	for (unsigned k = 0; k < n && k < CTL_MAX_MERGED; k++)
		call.threads =
			MAX(call.threads, (uint32_t)round_up(pass_threads(kernels[k].block), 32));
	return pass_fuse(&call, kernels, n, diags, ret_m, ret, ret_verdict, ret_which, record);
}

int pass_run_fuse_vertical(const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret, struct pass_record *record)
{
	ret->entry = CTL_MERGE_ENTRY;
	return pass_fuse_vertical(rq->kernels, rq->n, diags, &ret->m, &ret->merged, &ret->verdict,
		&ret->which, record);
}
