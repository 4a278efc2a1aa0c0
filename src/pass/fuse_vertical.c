/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Vertical fusion: the same threads run a block of one kernel, then a block of the next. Shared
 * memory is laid over itself, with a barrier of all threads between two kernels. */
#include "pass/emit.h"
#include "pass/fuse.h"
#include "pass/verify.h"

static void begin(struct guests *x, unsigned k)
{
	(void)x;
	(void)k;
}

static int place(struct guests *x)
{
	return guests_barrier(x);
}

static void write_all(struct guests *x, struct pass_writer *w)
{
	for (unsigned k = 0; k < x->n; k++) {
		if (x->of[k].threads < x->threads)
			fuse_skip(w, x->of[k].threads, "$hd_behind", k);
		fuse_put(x, w, k);
		pass_emit(w, "$hd_behind%u:\n", k);
		if (k + 1 < x->n)
			guests_put_barrier(x, w);
	}
}

static const struct fuse_way way = {begin, place, write_all};

int pass_fuse_vertical_recorded(const struct pass_guest *guests, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record)
{
	uint32_t threads = 0;

	for (unsigned k = 0; k < n && k < CTL_MAX_MERGED; k++)
		threads = MAX(threads, (uint32_t)round_up(pass_threads(guests[k].block), 32));
	return pass_fuse(
		&way, guests, n, threads, diags, ret_m, ret, ret_verdict, ret_which, record);
}
