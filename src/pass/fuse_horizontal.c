/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Horizontal fusion: kernels side by side in one block. Each has warps of its own, shared memory
 * behind that of those before it, and barriers with numbers of its own. */
#include "pass/emit.h"
#include "pass/fuse.h"
#include "pass/verify.h"

#include <errno.h>

static void begin(struct guests *x, unsigned k)
{
	struct guest *before = k ? &x->of[k - 1] : NULL;

	if (!before)
		return;
	x->of[k].first_thread = before->first_thread + before->threads;
	x->of[k].shared_at = before->shared_bytes;
}

/* Each kernel's numbers behind those of the kernels before it. */
static int place(struct guests *x)
{
	unsigned next = 0;

	for (unsigned k = 0; k < x->n; k++) {
		struct pass_facts *facts = &x->of[k].facts;
		unsigned n =
			facts->barrier_ids ? 32 - (unsigned)__builtin_clz(facts->barrier_ids) : 0;

		facts->barrier_first = (uint8_t)next;
		next += n;
		if (next <= 16)
			continue;
		x->which = k;
		pass_object(x->m, facts, PASS_GUARD, NULL,
			"its barriers and those of the others are more than 16");
		return -ENOTSUP;
	}
	return 0;
}

static void write_all(struct guests *x, struct pass_writer *w)
{
	for (unsigned k = 0; k < x->n; k++) {
		if (k + 1 < x->n)
			fuse_skip(w, x->of[k + 1].first_thread, "$hd_next_kernel", k);
		fuse_put(x, w, k);
		pass_put(w, "ret;\n");
		if (k + 1 < x->n)
			pass_emit(w, "$hd_next_kernel%u:\n", k);
	}
}

static const struct fuse_way way = {begin, place, write_all};

int pass_fuse_horizontal_recorded(const struct pass_guest *guests, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record)
{
	uint32_t threads = 0;

	for (unsigned k = 0; k < n && k < CTL_MAX_MERGED; k++)
		threads += (uint32_t)round_up(pass_threads(guests[k].block), 32);
	return pass_fuse(
		&way, guests, n, threads, diags, ret_m, ret, ret_verdict, ret_which, record);
}
