/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernel slicing (Zhong and He, Kernelet, 2014; FLEP compares with it in section 6.5). A host
 * replaces a launch by several consecutive launches (slices), each with some of the grid's blocks.
 * Other programs get the device between two slices. The rewritten kernel is launched with
 * one-dimensional grids; an added parameter has the number of the slice's first block, and the size
 * of the whole grid. Requires an entry with a body. The rewritten kernel has the kernel's name. */
#include "pass/passes.h"
#include "pass/worker/worker.h"
#include "ptx/graft.h"

#include <errno.h>

#define SLICE_FIRST "[" PASS_SLICE_PARAM "]"
#define SLICE_X     "[" PASS_SLICE_PARAM "+4]"
#define SLICE_Y     "[" PASS_SLICE_PARAM "+8]"
#define SLICE_Z     "[" PASS_SLICE_PARAM "+12]"

/* Computes %hd_x, %hd_y and %hd_z from the block's number. In the first row the number is x itself,
 * so there is no division. */
static void emit_ids(struct pass_writer *w)
{
	pass_virtual_regs(w);
	pass_put(w, ".reg .b32 %hd_x; .reg .b32 %hd_y; .reg .b32 %hd_z; .reg .b32 %hd_r<2>;\n"
		    ".reg .pred %hd_p1;\n"
		    "mov.u32 %hd_x, %ctaid.x;\n"
		    "ld.param.u32 %hd_r0, " SLICE_FIRST ";\n"
		    "add.u32 %hd_x, %hd_x, %hd_r0;\n"
		    "mov.u32 %hd_y, 0;\n"
		    "mov.u32 %hd_z, 0;\n"
		    "ld.param.u32 %hd_r0, " SLICE_X ";\n"
		    "setp.lt.u32 %hd_p1, %hd_x, %hd_r0;\n"
		    "@%hd_p1 bra $hd_row;\n"
		    "div.u32 %hd_y, %hd_x, %hd_r0;\n"
		    "mul.lo.u32 %hd_r1, %hd_y, %hd_r0;\n"
		    "sub.u32 %hd_x, %hd_x, %hd_r1;\n"
		    "ld.param.u32 %hd_r0, " SLICE_Y ";\n"
		    "div.u32 %hd_z, %hd_y, %hd_r0;\n"
		    "mul.lo.u32 %hd_r1, %hd_z, %hd_r0;\n"
		    "sub.u32 %hd_y, %hd_y, %hd_r1;\n"
		    "$hd_row:\n");
}

static int rewrite_entry(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags,
	const struct pass_place *at)
{
	struct pass_writer w = {.m = m, .f = f, .diags = diags};

	if (!ptx_add_param(m, f, diags, ".param .align 4 .b8 " PASS_SLICE_PARAM "[16]"))
		return -EINVAL;
	emit_ids(&w);
	pass_put_body(&w, f, at);
	return pass_writer_into(&w);
}

int pass_run_slice(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record)
{
	struct ptx_module *m = rq->in;
	struct ptx_func *f = ptx_find_func(m, rq->kernels[0].name);
	struct pass_wait wait;
	struct pass_facts facts;
	struct pass_place at = {.facts = &facts,
		.id = {"%hd_x", "%hd_y", "%hd_z", SLICE_X, SLICE_Y, SLICE_Z},
		.real_exits = true};
	uint32_t bytes = 0;
	int r;

	(void)record;
	ret->m = m;
	ret->entry = rq->kernels[0].name;
	if (!f || !f->is_entry || !f->has_body)
		return -ENOENT;
	pass_classify(m, f, &ret->verdict, &wait);
	if (ret->verdict.tier == PASS_HELD)
		return -ENOTSUP;
	if (wait.may) {
		ret->verdict = (struct pass_verdict){PASS_HELD,
			"a block may wait for another block, which may be in a later slice",
			wait.line, wait.col};
		return -ENOTSUP;
	}
	pass_param_layout(f, &bytes, NULL, NULL, 0);
	ret->info = (struct pass_kernel_info){.tier = ret->verdict.tier,
		.n_params = (uint32_t)f->params.len,
		.arg_offset = (uint32_t)round_up(bytes, 4),
		.param_bytes = (uint32_t)round_up(bytes, 4) + PASS_SLICE_BYTES};
	r = pass_facts_find(m, f, &facts);
	if (r == 0)
		r = rewrite_entry(m, f, diags, &at);
	pass_facts_finish(&facts);
	return r;
}
