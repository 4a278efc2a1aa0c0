/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels' bodies as tasks in one entry (tasks.h; emit_task.c has the code around the bodies). A
 * warp finds the ids, barrier, shared memory and parameters of its block in the block's record and
 * row. If a body reads some of these values, code before the body loads them into registers.
 *
 * If a block fills its last warp only in part, extra threads fill the rest of that warp and return
 * at once. These threads add early exits to kernels that had none. So the pass makes this form only
 * for tasks that need it (pass_task.partly).
 *
 * Each warp executes bar.warp.sync before each barrier of a body. The body is inside a loop that
 * polls a word in shared memory. Only whole warps leave that loop, but ptxas cannot know this, and
 * without bar.warp.sync would treat the lanes of a warp as possibly apart. */
#include "pass/analysis/tables.h"
#include "pass/task/emit_task.h"
#include "pass/verify/verify.h"
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions for tasks, in addition to those of fits.c ---- */

/* Returns the function's name in the user's module, without the prefix of kernel k. */
static const char *own_name(unsigned k, const char *name)
{
	char prefix[16];
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), PASS_KERNEL_PREFIX, k);

	return strncmp(name, prefix, len) ? name : name + len;
}

/* Each form that holds tasks has its own copy of each variable of the task's module, and adding a
 * kernel to the pool makes a new form with new copies. So a task may only use tables, variables
 * that no code writes (tables.h). */
static int check_variables(struct kernels *x, unsigned k, const struct ptx_func *f)
{
	struct pass_written found;
	int r = pass_find_written(x->m, f, &found);

	if (r < 0 || !found.sym)
		return r;
	if (found.why)
		r = kernels_refuse(x, k, "it uses the module variable '%s', %s",
			own_name(k, found.sym->name), found.why);
	else
		r = kernels_refuse(x, k, "%s may write the module variable '%s'", found.s->mn->text,
			own_name(k, found.sym->name));
	x->verdict.line = found.s->line & PTX_LINE_MASK;
	x->verdict.col = found.s->col;
	return r;
}

static int check_kernel(struct kernels *x, unsigned k)
{
	const struct pass_facts *facts = &x->of[k].facts;
	int r;

	if (facts->barrier_ids & ~1u)
		return kernels_refuse(x, k, "it uses barriers other than barrier 0");
	if (facts->counts)
		return kernels_refuse(x, k, "its barriers have a thread count");
	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct pass_callee *c = &facts->callees.at[i];

		r = check_variables(x, k, c->f);
		if (r < 0)
			return r;
		if (i > 0 && (c->barriers || c->shared))
			return kernels_refuse(x, k,
				"it calls %s, which has barriers or shared memory",
				own_name(k, c->f->sym->name));
	}
	return 0;
}

/* ---- describing the surroundings of a body (struct pass_place) ---- */
static void fill_place(struct kernels *x, unsigned k, const struct pass_task *kind)
{
	static const char *const ids[PASS_IDS] = {"%hd_x", "%hd_y", "%hd_z", "%hd_ux", "%hd_uy",
		"%hd_uz", "%hd_tx", "%hd_ty", "%hd_tz", "%hd_vx", "%hd_vy", "%hd_vz"};
	struct pass_place *at = &x->of[k].at;

	memcpy(at->id, ids, sizeof(ids));
	at->threads = 32; /* any nonzero value: `count` holds the real number */
	at->filled_up = kind->partly;
	at->shared = NULL;
	at->dynamic_bytes = "%hd_dyn";
	at->barrier = "%hd_bar";
	at->count = "%hd_count";
	at->slot = "%hd_words";
	at->base = "%hd_base";
	at->params = "%hd_given";
	at->params_anywhere = true;
	at->followed = at->whole_warps = true;
}

/* find_record loads the warp's entry of `go` (%hd_r0), and finds the warp's record (%hd_r1).
 * load_ids then loads the ids from that entry, the record and the row (%hd_r2). */
static const char find_record[] = "mov.u32 %hd_r0, %tid.x;\n"
				  "shr.u32 %hd_r0, %hd_r0, 5;\n"
				  "shl.b32 %hd_r0, %hd_r0, 2;\n"
				  "mov.u32 %hd_r3, hd_own;\n"
				  "add.u32 %hd_r0, %hd_r0, %hd_r3;\n"
				  "ld.volatile.shared.u32 %hd_r0, [%hd_r0" Q_GO ";\n"
				  "bfe.u32 %hd_r1, %hd_r0, 8, 8;\n"
				  "shl.b32 %hd_r1, %hd_r1, 6;\n"
				  "add.u32 %hd_r1, %hd_r1, %hd_r3;\n";

static const char load_ids[] =
	"ld.shared.u32 %hd_x, [%hd_r1" V_X ";\n"
	"ld.shared.u32 %hd_y, [%hd_r1" V_Y ";\n"
	"ld.shared.u32 %hd_z, [%hd_r1" V_Z ";\n"
	"ld.shared.u32 %hd_base, [%hd_r1" V_BASE ";\n"
	"ld.shared.u32 %hd_bar, [%hd_r1" V_BARRIER ";\n"
	"ld.shared.u64 %hd_given, [%hd_r1" V_PARAMS ";\n"
	"ld.shared.u32 %hd_dyn, [%hd_r2" D_DYNAMIC ";\n"
	"ld.shared.u32 %hd_ux, [%hd_r2" D_GRID_X ";\n"
	"ld.shared.u16 %hd_uy, [%hd_r2" D_GRID_Y ";\n"
	"ld.shared.u16 %hd_uz, [%hd_r2" D_GRID_Z ";\n"
	"ld.shared.u32 %hd_r3, [%hd_r2" D_BLOCK ";\n"
	"bfe.u32 %hd_vx, %hd_r3, 0, 10;\n"
	"bfe.u32 %hd_vy, %hd_r3, 10, 10;\n"
	"bfe.u32 %hd_vz, %hd_r3, 20, 10;\n"
	"add.u32 %hd_vx, %hd_vx, 1;\n"
	"add.u32 %hd_vy, %hd_vy, 1;\n"
	"add.u32 %hd_vz, %hd_vz, 1;\n"
	"mul.lo.u32 %hd_count, %hd_vx, %hd_vy;\n"
	"mad.lo.u32 %hd_count, %hd_count, %hd_vz, 31;\n"
	"and.b32 %hd_count, %hd_count, -32;\n"
	/* an extra thread, after the block's last one, gets a z that is not in the block */
	"and.b32 %hd_r0, %hd_r0, 255;\n"
	"shl.b32 %hd_r0, %hd_r0, 5;\n"
	"mov.u32 %hd_tx, %laneid;\n"
	"add.u32 %hd_tx, %hd_tx, %hd_r0;\n"
	"mov.u32 %hd_ty, 0;\n"
	"mov.u32 %hd_tz, 0;\n"
	"setp.lt.u32 %hd_p0, %hd_r3, 1024;\n"
	"@%hd_p0 bra $hd_ids;\n"
	"div.u32 %hd_ty, %hd_tx, %hd_vx;\n"
	"mul.lo.u32 %hd_r0, %hd_ty, %hd_vx;\n"
	"sub.u32 %hd_tx, %hd_tx, %hd_r0;\n"
	"div.u32 %hd_tz, %hd_ty, %hd_vy;\n"
	"mul.lo.u32 %hd_r0, %hd_tz, %hd_vy;\n"
	"sub.u32 %hd_ty, %hd_ty, %hd_r0;\n"
	"$hd_ids:\n";

/* Computes the address of the word that is not 0 if a thread of this row's task has failed
 * (task_fail.c). */
static const char find_failed[] = ".reg .b32 %hd_fail;\n"
				  "ld.shared.u32 %hd_fail, [%hd_r1" V_ROW ";\n"
				  "shl.b32 %hd_fail, %hd_fail, 2;\n"
				  "add.u32 %hd_fail, %hd_fail, %hd_r3;\n";

static void put_ready(struct pass_writer *w, bool fails)
{
	pass_put(w, ".reg .b32 %hd_ux; .reg .b32 %hd_uy; .reg .b32 %hd_uz;\n"
		    ".reg .b32 %hd_tx; .reg .b32 %hd_ty; .reg .b32 %hd_tz;\n"
		    ".reg .b32 %hd_vx; .reg .b32 %hd_vy; .reg .b32 %hd_vz;\n"
		    ".reg .b32 %hd_bar; .reg .b32 %hd_count; .reg .b32 %hd_words;\n"
		    ".reg .b32 %hd_base; .reg .b32 %hd_dyn; .reg .b64 %hd_given;\n"
		    ".reg .b32 %hd_sa; .reg .b64 %hd_sb;\n");
	pass_put(w, find_record);
	pass_emit(w,
		"add.u32 %%hd_r1, %%hd_r1, %d;\n"
		"sub.u32 %%hd_words, %%hd_r1, 56;\n"
		"ld.shared.u32 %%hd_r2, [%%hd_r1" V_ROW ";\n"
		"shl.b32 %%hd_r2, %%hd_r2, 6;\n"
		"add.u32 %%hd_r2, %%hd_r2, %%hd_r3;\n"
		"add.u32 %%hd_r2, %%hd_r2, %d;\n",
		N_RECORD, N_ROW);
	if (fails) {
		pass_put(w, find_failed);
		pass_emit(w, "add.u32 %%hd_fail, %%hd_fail, %d;\n", N_FAILED);
	}
	pass_put(w, load_ids);
}

/* Emits a kernel's body. Its rounds are counted from the body's beginning. */
static int put_body(struct kernels *x, unsigned k)
{
	struct kernel *g = &x->of[k];
	struct pass_writer w = {.m = x->m, .f = g->f, .diags = x->diags};
	int r = kernels_own_args(x, k);

	if (r < 0)
		return r;
	pass_emit_regs(&w);
	put_ready(&w, g->at.failure != NULL);
	pass_rounds_declare(&w, &g->at);
	kernels_put_body(x, k, &w);
	pass_emit_block_end(&w, &g->at);
	if (g->at.failure)
		pass_put_failed(&w, find_record);
	g->from[1] = w.out.len;
	g->args = x->of[0].args;
	for (size_t i = 0; i < g->n_params; i++) /* the rewritten body names no parameter */
		if (!VEC_PUSH(&g->params, g->args))
			w.error = -ENOMEM;
	return kernels_graft(x, k, &w, 0);
}

/* ---- extra threads in a block's last warp return at once ---- */
static int fill_up(struct kernels *x, struct ptx_func *f)
{
	struct pass_writer w = {.m = x->m, .f = f, .diags = x->diags};

	pass_put(&w, ".reg .b32 %hd_la; .reg .b32 %hd_lb; .reg .b32 %hd_lc; .reg .pred %hd_lp;\n"
		     "mov.u32 %hd_la, %tid.z;\n"
		     "mov.u32 %hd_lb, %tid.y;\n"
		     "mov.u32 %hd_lc, %ntid.y;\n"
		     "mad.lo.u32 %hd_la, %hd_la, %hd_lc, %hd_lb;\n"
		     "mov.u32 %hd_lb, %tid.x;\n"
		     "mov.u32 %hd_lc, %ntid.x;\n"
		     "mad.lo.u32 %hd_la, %hd_la, %hd_lc, %hd_lb;\n"
		     "mov.u32 %hd_lb, %ntid.y;\n"
		     "mul.lo.u32 %hd_lc, %hd_lc, %hd_lb;\n"
		     "mov.u32 %hd_lb, %ntid.z;\n"
		     "mul.lo.u32 %hd_lc, %hd_lc, %hd_lb;\n"
		     "setp.ge.u32 %hd_lp, %hd_la, %hd_lc;\n"
		     "@%hd_lp ret;\n");
	return pass_ahead(&w);
}

/* ---- building the module ---- */
static int prepare_kernel(struct kernels *x, unsigned k, const struct pass_kernel *from,
	struct pass_task *kind, struct ptx_sym *own)
{
	struct kernel *g = &x->of[k];
	int r = kind->partly ? fill_up(x, g->f) : 0;

	if (r == 0)
		r = pass_fail_alone(x, k, own);
	if (r == 0)
		r = kernels_look(x, k, from);
	if (r == 0)
		r = check_kernel(x, k);
	if (r < 0)
		return r;
	fill_place(x, k, kind);
	kind->arg_bytes = g->own_bytes;
	kind->arg_align = 1;
	for (size_t i = 0; i < g->n_params; i++) {
		const struct ptx_sym *p = g->f->params.at[i];

		kind->arg_align = MAX(kind->arg_align, p->align);
		kind->arg_align = MAX(kind->arg_align, MIN(ptx_type_bytes(p->type.base), 8u));
	}
	kind->static_bytes = g->shared_bytes;
	kind->barriers = g->facts.has_barriers;
	kind->one_dimensional = g->facts.one_dimensional;
	kind->rising = g->facts.rising_order;
	return kernels_fit(x, k, from);
}

static int add_params(struct kernels *x)
{
	char text[96];

	snprintf(text, sizeof(text), ".param .align 8 .b8 " TASK_PARAM "[%zu]",
		sizeof(struct task_args));
	if (!ptx_add_param(x->m, x->host, x->diags, text))
		return -EINVAL;
	/* The bodies read only one field of the workers' arguments: `never`, which is 0. */
	snprintf(text, sizeof(text), ".param .align 8 .b8 hd_args0[%zu]", sizeof(struct ctl_args));
	x->of[0].args = ptx_add_param(x->m, x->host, x->diags, text);
	return x->of[0].args ? 0 : -EINVAL;
}

static struct ptx_sym *add_own(struct kernels *x)
{
	char text[96];

	snprintf(text, sizeof(text), ".shared .align 128 .b8 " TASK_OWN "[%zu];",
		sizeof(struct task_shared));
	return ptx_add_var(x->m, x->diags, text);
}

static int set_registers(struct kernels *x, uint32_t max)
{
	return max ? ptx_bounds_lower_maxnreg(x->m, x->host, max) : 0;
}

static int make_tasks(struct kernels *x, const struct pass_kernel *from, struct pass_task *kinds,
	const struct pass_pool *pool)
{
	static const struct pass_left all = {
		{true, true, true, true, true, true, true, true, true, true, true, true}, true};
	const uint32_t block[3] = {pool->threads, 1, 1};
	struct pass_writer w = {.diags = x->diags};
	struct ptx_sym *own = NULL;
	int r = kernels_import(x, from, TASK_ENTRY);

	if (r == 0)
		r = kernels_settle(x);
	if (r == 0 && !(own = add_own(x)))
		r = -EINVAL;
	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = prepare_kernel(x, k, &from[k], &kinds[k], own);
	if (r == 0)
		r = add_params(x);
	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = put_body(x, k);
	if (r < 0)
		return r;
	w.m = x->m;
	w.f = x->host;
	x->pool_align = MAX(x->pool_align, 128u);
	pass_emit_tasks(x, &w, pool);
	r = kernels_seal(x, &w, block);
	if (r == 0 && cfg_const_bytes(x->m) > CFG_CONST_LIMIT)
		r = kernels_refuse(x, x->n - 1,
			"with it the tasks use modules with %llu bytes of constants: one module "
			"may have at most %d",
			(unsigned long long)cfg_const_bytes(x->m), CFG_CONST_LIMIT);
	if (r == 0 && !pass_verify_left(x->m, x->host, &all, 1, x->diags))
		r = -EINVAL;
	return r == 0 ? set_registers(x, pool->registers) : r;
}

int pass_tasks(struct pass_task *kinds, unsigned n, const struct pass_pool *pool,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_verdict *ret_verdict,
	unsigned *ret_which)
{
	struct kernels *x = n < 1 || n > TASK_KINDS ? NULL : calloc(1, sizeof(*x));
	struct pass_kernel from[TASK_KINDS];
	int r;

	if (!x)
		return n < 1 || n > TASK_KINDS ? -EINVAL : -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		from[k] = (struct pass_kernel){
			.m = kinds[k].m, .name = kinds[k].name, .block = {32, 1, 1}};
	x->n = n;
	x->diags = diags;
	x->as_is = true; /* each warp computes its own thread ids */
	x->threads = pool->threads;
	x->per_sm = pool->per_sm;
	r = make_tasks(x, from, kinds, pool);
	*ret_which = x->which;
	kernels_finish(x, r, ret_verdict);
	*ret_m = x->m;
	free(x);
	return r;
}
