/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Code shared by all kinds of fusion (fuse.h). It maps the launch's block number to the ids of a
 * kernel's block and runs the kernel's body with these ids. There is no scheduler and no control
 * block. The fused kernel reads only total, grid, inverse and never of struct ctl_args. (A launch
 * has fewer than 2^31 blocks, so there always is an inverse.) Other code surrounds a body. So the
 * exits of a body lead to the body's end, and its barriers count only the body's threads, unless
 * the threads may really exit. */
#include "pass/fuse/fuse.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <stdlib.h>

enum { FUSE_DECLARE, FUSE_RUN, FUSE_PIECES };
enum { FUSE_OUT, FUSE_EXITS };

/* Computes %hd_x, %hd_y and %hd_z from the launch's block number. Goes to $hd_out if the kernel has
 * no block with this number. */
static const char ids[] = "mov.u32 %hd_x, %ctaid.x;\n"
			  "mov.u32 %hd_y, 0;\nmov.u32 %hd_z, 0;\n"
			  "ld.param.u64 %hd_d0, " A_TOTAL ";\n"
			  "cvt.u64.u32 %hd_d1, %hd_x;\n"
			  "setp.ge.u64 %hd_p1, %hd_d1, %hd_d0;\n"
			  "@%hd_p1 bra $hd_out;\n"
			  "ld.param.u32 %hd_r1, " A_INVERSE_X ";\n";

static int make_pieces(struct kernels *x, unsigned k)
{
	static const char *const names[] = {"$hd_out"};
	struct kernel *g = &x->of[k];
	struct pass_writer w = {.m = x->m, .f = g->f, .diags = x->diags, .record = x->record};
	int r = kernels_begin(x, k, &w);

	if (r < 0)
		return r;
	g->from[FUSE_RUN] = w.out.len;
	pass_put(&w, ids);
	pass_emit_multiply(&w, g->facts.callees.at[0].reads + PASS_CTAID);
	kernels_rounds_ready(g, &w);
	kernels_put_body(x, k, &w);
	if (!g->at.real_exits)
		pass_emit_block_end(&w, &g->at);
	g->from[FUSE_PIECES] = w.out.len;
	kernels_put_exits(g, &w, names, FUSE_EXITS);
	g->to[FUSE_OUT] = ptx_new_label(x->m, x->host, "out");
	if (!g->to[FUSE_OUT])
		w.error = -ENOMEM;
	return kernels_graft(x, k, &w, FUSE_EXITS);
}

void fuse_put(struct kernels *x, struct pass_writer *w, unsigned k)
{
	kernels_put_piece(x, w, k, FUSE_DECLARE);
	kernels_put_piece(x, w, k, FUSE_RUN);
	pass_emit(w, "%s:\n", x->of[k].to[FUSE_OUT]->name);
}

/* Skips code for threads from number `from` on. The vote shows ptxas that warps stay whole. */
void fuse_skip(struct pass_writer *w, uint32_t from, const char *label, unsigned number)
{
	pass_emit(w,
		"mov.u32 %%hd_mr0, %%tid.x;\n"
		"setp.ge.u32 %%hd_mp1, %%hd_mr0, %u;\n"
		"vote.sync.any.pred %%hd_mp1, %%hd_mp1, -1;\n"
		"@%%hd_mp1 bra %s%u;\n",
		from, label, number);
}

int fuse_fit(struct kernels *x, unsigned k, const struct pass_kernel *from)
{
	struct pass_verdict why;
	int r = kernels_fit(x, k, &from[k]);

	if (r != -ENOTSUP)
		return r;
	why = x->verdict;
	x->of[k].at.real_exits = true;
	r = kernels_fit(x, k, &from[k]);
	if (r == -ENOTSUP)
		x->verdict = why;
	return r;
}

static int make_fused(const struct fuse_way *way, struct kernels *x, const struct pass_kernel *from,
	struct pass_merged *ret)
{
	struct pass_writer w = {.diags = x->diags};
	int r = kernels_import(x, from, CTL_MERGE_ENTRY);

	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		r = way->begin(x, k);
		if (r == 0)
			r = kernels_look(x, k, &from[k]);
		ret->shared_bytes = MAX(ret->shared_bytes, x->of[k].shared_bytes);
	}
	if (r == 0)
		r = way->place(x, from);
	if (r == 0)
		r = kernels_params(x, NULL, ret);
	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = make_pieces(x, k);
	if (r < 0)
		return r;
	w.m = x->m;
	w.f = x->host;
	pass_put(&w, ".reg .b32 %hd_mr<2>; .reg .pred %hd_mp<2>; .reg .b32 %hd_n;\n");
	way->write(x, &w);
	pass_put(&w, "ret;\n");
	return kernels_seal(x, &w, ret->block);
}

int pass_fuse(const struct fuse_call *call, const struct pass_kernel *from, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record)
{
	struct kernels *x = n < 1 || n > CTL_MAX_MERGED ? NULL : calloc(1, sizeof(*x));
	int r;

	if (!x)
		return n < 1 || n > CTL_MAX_MERGED ? -EINVAL : -ENOMEM;
	x->n = n;
	x->diags = diags;
	x->record = record;
	x->threads = call->threads;
	x->max_registers = call->max_registers;
	x->user = call->user;
	*ret = (struct pass_merged){.block = {call->threads, 1, 1}};
	r = make_fused(call->way, x, from, ret);
	*ret_which = x->which;
	kernels_finish(x, r, ret_verdict);
	*ret_m = x->m;
	free(x);
	return r;
}
