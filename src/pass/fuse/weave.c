/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Weaving (GoPTX): interleaves the instructions of two kernels, so that one kernel proceeds while
 * the other waits for a result. The same threads run a block of each kernel, as in vertical fusion,
 * but neither kernel comes first. Each kernel has its own shared memory and barriers. Kernels that
 * cannot be woven are fused vertically, and struct pass_woven says why. */
#include "pass/fuse/weave.h"
#include "pass/fuse/fuse.h"
#include "pass/passes.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <string.h>

static int begin(struct kernels *x, unsigned k)
{
	if (k)
		x->of[k].shared_at = x->of[k - 1].shared_bytes;
	x->which = k;
	return ptx_flatten(x->m, x->of[k].f, x->diags);
}

/* Assigns separate barrier numbers to the two kernels. */
static int place_woven(struct kernels *x, const struct pass_kernel *from)
{
	unsigned next = 0;
	int r = 0;

	for (unsigned k = 0; k < x->n && r == 0; k++) {
		uint16_t ids = x->of[k].facts.barrier_ids;

		/* weaving itself separates whole warps from diverged ones */
		x->of[k].facts.parting = PASS_NO_PARTING;
		x->of[k].at.barrier_first = (uint8_t)next;
		x->of[k].at.followed = true;
		next += ids ? 32 - (unsigned)__builtin_clz(ids) : 0;
		r = kernels_fit(x, k, &from[k]);
		if (r == 0 && next > 16)
			r = kernels_refuse(
				x, k, "it and the other kernels have more than 16 barriers");
	}
	return r;
}

/* ---- conflicts between the two kernels ---- */
/* Returns the kernel's first instruction with one of these flags. */
static const struct ptx_stmt *find_flag(const struct weave_flow *f, uint32_t flags)
{
	const ptx_body *body = &f->g->f->body;

	for (uint32_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_INSN && body->at[i].mn->flags & flags &&
			weave_plain(f, i))
			return weave_plain(f, i);
	return NULL;
}

static int refuse_at(struct kernels *x, unsigned k, const struct ptx_stmt *s, const char *why)
{
	int r = kernels_refuse(x, k, "%s", why);

	x->verdict.line = s ? s->line : 0;
	x->verdict.col = s ? s->col : 0;
	return r;
}

static bool spins(const struct weave_flow *f)
{
	return f->g->facts.spins || f->g->facts.calls_spin;
}

/* Finds the first instruction that can make a loop wait for other threads. */
static const struct ptx_stmt *find_waiting(const struct weave_flow *f)
{
	return find_flag(f, PTX_F_ATOMIC | PTX_F_VOLATILE);
}

/* Rejects a kernel if a thread of its loops may wait for a thread that, in the woven code, might
 * never run. There are two cases:
 * - A loop may wait for another thread of the same warp. In the woven code lanes wait for their
 *   warp at each vote and at each reconvergence, so that thread might wait for the loop.
 * - A loop may wait for any other thread, and the other kernel may wait as well. In the woven code
 *   whole warps wait for code of the other kernel. */
static int check_waits(struct kernels *x, const struct weave_flow f[2])
{
	for (unsigned k = 0; k < 2; k++) {
		if (f[k].g->facts.waits)
			return refuse_at(x, k, find_waiting(&f[k]),
				"one of its loops may wait for another thread of the same warp; "
				"woven with another kernel, that thread would wait for this loop");
		if (spins(&f[k]) && (spins(&f[!k]) || weave_has_sync(&f[!k])))
			return refuse_at(x, k, find_waiting(&f[k]),
				"one of its loops may wait for other threads, and the other kernel "
				"may wait, too");
	}
	return 0;
}

static int check_conflicts(struct kernels *x, const struct weave_flow f[2])
{
	const struct ptx_stmt *async = find_flag(&f[1], PTX_F_ASYNC);
	const struct pass_finding *reserved = &f[1].g->facts.found[PASS_USES_RESERVED];
	int r;

	if (async && find_flag(&f[0], PTX_F_ASYNC))
		return refuse_at(x, 1, async,
			"both kernels have asynchronous copies, and a thread cannot wait for those "
			"of one kernel alone");
	if (reserved->reason && pass_has(&f[0].g->facts, PASS_USES_RESERVED)) {
		r = kernels_refuse(x, 1,
			"both kernels use reserved shared memory (%%reserved_smem_offset_1), which "
			"exists once for each block");
		x->verdict.line = reserved->line & PTX_LINE_MASK;
		x->verdict.col = reserved->col;
		return r;
	}
	return check_waits(x, f);
}

/* ---- building the product ---- */
/* An additional limit of the length of a run, in cycles. The threshold of GoPTX's equation 1 is an
 * average over basic blocks, and one long block makes it large. A short block of the other kernel
 * would then be woven with all of the long block, and nothing would be left for the blocks after
 * the short one.
 *
 * With this limit, at least half of the executed instructions were woven in 25 of 28 pairs of
 * kernels on the virtual GPU (tests/exec/woven_share.sh). With a limit of 1024 and full latencies
 * (no SLICE_UNIT) this was so in 14 pairs, and with the average alone in 13. */
#define SLICE_MAX 128 /* cycles */

struct weaving {
	const struct pass_weave_options *o;
	const struct pass_kernel *from;
	struct pass_woven *ret;
};

static int weave_with(struct kernels *x, struct pass_writer *w, struct weave_flow f[2],
	enum weave_reach reach, uint64_t threshold)
{
	const struct weaving *how = x->user;
	bool sync_alone = weave_has_sync(&f[0]) && weave_has_sync(&f[1]);
	int r = 0;

	how->ret->reach = reach;
	for (unsigned k = 0; k < 2 && r == 0; k++)
		r = weave_flow_nodes(&f[k], reach, threshold, sync_alone);
	return r == 0 ? weave_product(x, w, f, how->o, how->ret) : r;
}

static int weave_as_far_as_fits(struct kernels *x, struct pass_writer *w, struct weave_flow f[2])
{
	const struct weaving *how = x->user;
	int r = -E2BIG;

	for (enum weave_reach reach = how->o->unsliced ? WEAVE_UNSLICED : WEAVE_SLICED;
		r == -E2BIG && reach < WEAVE_REACHES; reach++) {
		bool sliced =
			reach == WEAVE_SLICED || (reach == WEAVE_STRAIGHT && !how->o->unsliced);
		uint64_t threshold = sliced ? weave_threshold(f) : 0;

		if (threshold > SLICE_MAX)
			r = weave_with(x, w, f, reach, SLICE_MAX);
		if (r == -E2BIG)
			r = weave_with(x, w, f, reach, threshold);
	}
	return r == -E2BIG ? kernels_refuse(x, 0, "the woven code would be too large") : r;
}

static void write_woven(struct kernels *x, struct pass_writer *w)
{
	const struct weaving *how = x->user;
	struct weave_flow f[2] = {0};
	struct pass_verdict why = {0};
	struct arena a;
	int r = w->error;

	arena_init(&a, 0);
	for (unsigned k = 0; k < 2 && r == 0; k++) {
		r = weave_flow_find(&a, x, k, &how->from[k], &f[k], &why);
		if (r == -ENOTSUP) {
			r = kernels_refuse(x, k, "%s", why.reason);
			x->verdict.line = why.line;
			x->verdict.col = why.col;
		}
	}
	pass_put(w, ".reg .pred %hd_wv;\n");
	if (r == 0)
		r = check_conflicts(x, f);
	if (r == 0)
		r = weave_as_far_as_fits(x, w, f);
	w->error = w->error ? w->error : r;
	weave_flow_finish(&f[0]);
	weave_flow_finish(&f[1]);
	arena_finish(&a);
}

static const struct fuse_way way = {begin, place_woven, write_woven};

int pass_weave(const struct pass_kernel *kernels, unsigned n, const struct pass_weave_options *o,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record)
{
	struct pass_woven woven = {0};
	struct weaving how = {o, kernels, &woven};
	struct fuse_call call = {.way = &way, .user = &how, .max_registers = o->max_registers};
	struct pass_verdict why;
	int r;

	for (unsigned k = 0; k < n && k < CTL_MAX_MERGED; k++)
		call.threads =
			MAX(call.threads, (uint32_t)round_up(pass_threads(kernels[k].block), 32));
	r = pass_fuse(&call, kernels, n, diags, ret_m, ret, ret_verdict, ret_which, record);
	if (r == 0)
		ret->woven = woven;
	if (r != -ENOTSUP || !ret_verdict->reason)
		return r;
	why = *ret_verdict;
	woven = (struct pass_woven){.why = why, .which = *ret_which};
	if (record)
		pass_record_finish(record);
	r = pass_fuse_vertical(kernels, n, diags, ret_m, ret, ret_verdict, ret_which, record);
	ret->woven = woven;
	return r;
}

int pass_run_weave(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record)
{
	ret->entry = CTL_MERGE_ENTRY;
	return pass_weave(rq->kernels, rq->n, &rq->weave, diags, &ret->m, &ret->merged,
		&ret->verdict, &ret->which, record);
}
