/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a task fail alone. A launch that executes `trap` or calls __assertfail ends with an error,
 * and so does its context. The launch of a pool runs many tasks, and the failure of one of them
 * must not end the others. So a failing thread notes its failure in a register and exits early.
 * rounds.c and warps.c handle early exits at barriers and in member masks; where they cannot, the
 * kernel is rejected with the reason. The task ends when all its threads have ended.
 *
 * The other threads of the failed task must end, too. They must not use data that the failed thread
 * did not write: a pointer that was never written could crash all tasks.
 * - Barriers: no thread passes a barrier that a failed thread did not reach. A failing thread
 *   lowers `failed` in the block's record to its round, the number of barriers before it. After
 *   round n, all threads read `failed`: either they all read a value of at most n and exit, or none
 *   does, because later failures have numbers greater than n.
 * - Waiting loops: a loop with an atomic or volatile access polls a word of the row, which a
 *   failing thread sets first. All blocks of the task share the word, since blocks may wait for
 *   other blocks.
 *
 * Not covered: lanes that wait for a lane of their warp by plain accesses and masks only. On
 * hardware, too, the other lanes of a warp may run on for some time after a trap. */
#include "pass/analysis/callees.h"
#include "pass/task/emit_task.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SITES_MAX 0xffffu

static bool is_failure(const struct ptx_stmt *s)
{
	const struct ptx_func *f;

	if (s->kind != PTX_INSN)
		return false;
	if (s->mn->op == PTX_OP_trap)
		return true;
	f = s->mn->op == PTX_OP_call ? pass_call_target(s) : NULL;
	return f && !f->has_body && !strcmp(f->sym->name, "__assertfail");
}

const struct ptx_stmt *pass_task_site(const struct ptx_func *f, unsigned site)
{
	for (size_t i = 0; i < f->body.len; i++)
		if (is_failure(&f->body.at[i]) && --site == 0)
			return &f->body.at[i];
	return NULL;
}

struct rewriting {
	struct kernels *x;
	struct kernel *g;
	/* sites: number of traps and assertions found so far */
	unsigned k, sites;
	/* a callee observes other threads (volatile load or atomic) */
	bool observes;
	/* the kernel has loops that may wait for other threads */
	bool waits;
	/* for each basic block: whether such a loop begins there */
	bool *looks;
	VEC(const struct ptx_sym *) dropped; /* parameters of removed assertion calls */
};

/* ---- loops that wait ---- */

static bool observes(const struct rewriting *c, const struct ptx_stmt *s)
{
	const struct ptx_func *f;

	if (s->kind != PTX_INSN)
		return false;
	if (s->mn->flags & (PTX_F_VOLATILE | PTX_F_ATOMIC))
		return true;
	f = s->mn->op == PTX_OP_call ? pass_call_target(s) : NULL;
	return s->mn->op == PTX_OP_call && c->observes && (!f || f->has_body);
}

/* Marks the headers of loops that may wait for other threads. The header of the innermost loop is
 * enough, because each cycle through a block of that loop passes this header. */
static int find_loops(struct rewriting *c, const struct cfg *g)
{
	c->looks = calloc(g->n, sizeof(*c->looks));
	if (!c->looks)
		return -ENOMEM;
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = g->at[b].first; i < g->at[b].end; i++) {
			if (!observes(c, &g->f->body.at[i]))
				continue;
			if (g->irreducible || g->has_indirect)
				return kernels_refuse(c->x, c->k,
					"it may fail, and it waits for other threads in a loop "
					"with several entries");
			if (g->at[b].loop_header == CFG_NONE)
				continue;
			c->looks[g->at[b].loop_header] = true;
			c->waits = true;
		}
	return 0;
}

static bool has_loop(const struct cfg *g)
{
	bool found = g->irreducible || g->has_indirect;

	for (uint32_t b = 0; b < g->n; b++)
		found |= g->at[b].loop_header != CFG_NONE;
	return found;
}

/* Checks that a callee neither fails nor waits, because a callee cannot jump to the task's end. */
static int check_callee(struct rewriting *c, const struct ptx_func *f, bool entry_fails)
{
	struct arena a;
	struct cfg *g;
	bool any = false;
	int r = 0;

	if (pass_task_site(f, 1))
		return kernels_refuse(c->x, c->k,
			"it calls %s, which may trap or fail an assertion", f->sym->name);
	for (size_t i = 0; i < f->body.len && entry_fails; i++)
		any |= f->body.at[i].kind == PTX_INSN &&
		       f->body.at[i].mn->flags & (PTX_F_VOLATILE | PTX_F_ATOMIC);
	c->observes |= any;
	if (!any)
		return 0;
	arena_init(&a, 0);
	r = cfg_build(&a, f, &g);
	if (r == 0 && has_loop(g))
		r = kernels_refuse(c->x, c->k,
			"it may fail, and it calls %s, which may wait for other threads",
			f->sym->name);
	arena_finish(&a);
	return r;
}

static int check_callees(struct rewriting *c, bool entry_fails)
{
	ptx_func_list funcs = {0};
	int r = ptx_reached(c->x->m, c->g->f, &funcs);

	for (size_t i = 0; r == 0 && i < funcs.len; i++)
		if (funcs.at[i] != c->g->f && funcs.at[i]->has_body)
			r = check_callee(c, funcs.at[i], entry_fails);
	VEC_FREE(&funcs);
	return r;
}

/* ---- rewriting the body ---- */

static void drop_arguments(struct rewriting *c, struct pass_writer *w, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct ptx_opd *o = &s->opd[i];

		for (uint32_t k = 0; o->kind == PTX_OPD_TUPLE && k < o->n; k++)
			if (o->list[k].kind == PTX_OPD_SYM &&
				!VEC_PUSH(&c->dropped, o->list[k].sym))
				w->error = -ENOMEM;
	}
}

/* Returns whether s stores an argument of a removed call. */
static bool is_dropped(const struct rewriting *c, const struct ptx_stmt *s)
{
	if (s->kind != PTX_INSN || s->mn->op != PTX_OP_st || s->mn->space != PTX_PARAM ||
		s->n < 1 || s->opd[0].kind != PTX_OPD_ADDR || !s->opd[0].n)
		return false;
	for (size_t i = 0; i < c->dropped.len; i++)
		if (s->opd[0].list[0].kind == PTX_OPD_SYM &&
			s->opd[0].list[0].sym == c->dropped.at[i])
			return true;
	return false;
}

static void put_failure(struct rewriting *c, struct pass_writer *w, const struct ptx_stmt *s)
{
	size_t from = w->out.len;

	pass_emit(w, "mov.u32 %%hd_fate, %u;\n", ++c->sites);
	if (c->waits)
		pass_put(w, "st.volatile.shared.u32 [" TASK_OWN "], %hd_fate;\n");
	pass_put(w, "ret;\n");
	pass_guard_since(w, from, s);
}

static void rewrite_body(struct rewriting *c, struct pass_writer *w, const struct cfg *g)
{
	const struct ptx_func *f = c->g->f;
	bool looks = false;

	for (size_t i = 0; i < f->body.len; i++)
		if (is_failure(&f->body.at[i]))
			drop_arguments(c, w, &f->body.at[i]);
	pass_put(w, ".reg .b32 %hd_fate;\nmov.u32 %hd_fate, 0;\n");
	if (c->waits)
		pass_put(w, ".reg .b32 %hd_fa; .reg .pred %hd_fp;\n");
	for (size_t i = 0; i < f->body.len && w->error == 0; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		looks |= i == g->at[g->block_of[i]].first && c->looks[g->block_of[i]];
		if (looks && s->kind != PTX_LABEL) {
			pass_put(w, "ld.volatile.shared.u32 %hd_fa, [" TASK_OWN "];\n"
				    "setp.ne.u32 %hd_fp, %hd_fa, 0;\n@%hd_fp ret;\n");
			looks = false;
		}
		if (is_failure(s))
			put_failure(c, w, s);
		else if (!is_dropped(c, s))
			pass_copy(w, s);
	}
}

/* In the body, makes TASK_OWN refer to the failure word of the task's row. */
static int move_word(struct rewriting *c, struct ptx_sym *own)
{
	const struct pass_move move = {.from = own, .base = "%hd_fail"};

	return VEC_PUSH(&c->g->moves, move) ? 0 : -ENOMEM;
}

static int rewrite_all(struct rewriting *c, struct ptx_sym *own)
{
	struct ptx_func *f = c->g->f;
	struct pass_writer w = {.m = c->x->m, .f = f, .diags = c->x->diags};
	struct arena a;
	struct cfg *g;
	int r;

	arena_init(&a, 0);
	r = cfg_build(&a, f, &g);
	if (r == 0)
		r = find_loops(c, g);
	if (r == 0 && c->waits)
		r = move_word(c, own);
	if (r == 0) {
		rewrite_body(c, &w, g);
		r = w.error;
	}
	if (r == 0 && c->sites > SITES_MAX)
		r = kernels_refuse(
			c->x, c->k, "it has more than %u traps and assertions", SITES_MAX);
	if (r == 0) {
		VEC_FREE(&f->body);
		f->body = w.out;
	} else {
		VEC_FREE(&w.out);
	}
	arena_finish(&a);
	return r;
}

int pass_fail_alone(struct kernels *x, unsigned k, struct ptx_sym *own)
{
	struct rewriting c = {.x = x, .g = &x->of[k], .k = k};
	bool any = pass_task_site(c.g->f, 1) != NULL;
	int r = check_callees(&c, any);

	if (r == 0 && any) {
		r = rewrite_all(&c, own);
		c.g->at.failure = "%hd_fate";
	}
	free(c.looks);
	VEC_FREE(&c.dropped);
	return r;
}

/* ---- code after the body ---- */

void pass_put_failed(struct pass_writer *w, const char *find_record)
{
	pass_put(w, "setp.eq.u32 %hd_p0, %hd_fate, 0;\n@%hd_p0 bra $hd_well;\n");
	pass_put(w, find_record);
	pass_emit(w,
		"add.u32 %%hd_r1, %%hd_r1, %d;\n"
		"ld.shared.u32 %%hd_r2, [%%hd_r1" V_ROW ";\n"
		"ld.shared.u64 %%hd_d1, [%%hd_r3" Q_COLUMN ";\n"
		"mad.wide.u32 %%hd_d1, %%hd_r2, 8, %%hd_d1;\n"
		"shl.b32 %%hd_r2, %%hd_r2, 6;\n"
		"add.u32 %%hd_r2, %%hd_r2, %%hd_r3;\n"
		"add.u32 %%hd_r2, %%hd_r2, %d;\n",
		N_RECORD, N_ROW);
	/* number of the block: x + grid_x * (y + grid_y * z) */
	pass_put(w, "ld.shared.u16 %hd_r4, [%hd_r2" D_GRID_Y ";\n"
		    "ld.shared.u32 %hd_r5, [%hd_r1" V_Z ";\n"
		    "ld.shared.u32 %hd_r6, [%hd_r1" V_Y ";\n"
		    "mad.lo.u32 %hd_r4, %hd_r4, %hd_r5, %hd_r6;\n"
		    "ld.shared.u32 %hd_r5, [%hd_r2" D_GRID_X ";\n"
		    "ld.shared.u32 %hd_r6, [%hd_r1" V_X ";\n"
		    "mad.lo.u32 %hd_r4, %hd_r4, %hd_r5, %hd_r6;\n"
		    "mul.wide.u32 %hd_d0, %hd_r4, 1024;\n");
	/* number of the thread, and of the site in the kernel */
	pass_put(w, "and.b32 %hd_r0, %hd_r0, 255;\n"
		    "shl.b32 %hd_r0, %hd_r0, 5;\n"
		    "mov.u32 %hd_r4, %laneid;\n"
		    "add.u32 %hd_r0, %hd_r0, %hd_r4;\n"
		    "shl.b32 %hd_r4, %hd_fate, 16;\n"
		    "cvt.u64.u32 %hd_d2, %hd_r0;\n"
		    "or.b64 %hd_d0, %hd_d0, %hd_d2;\n"
		    "cvt.u64.u32 %hd_d2, %hd_r4;\n"
		    "shl.b64 %hd_d2, %hd_d2, 32;\n"
		    "or.b64 %hd_d0, %hd_d0, %hd_d2;\n"
		    "st.relaxed.sys.global.u64 [%hd_d1" C_WHY ", %hd_d0;\n"
		    "ld.shared.u64 %hd_d1, [%hd_r3" Q_COLUMN ";\n"
		    "mov.u32 %hd_r4, 1;\n"
		    "st.relaxed.sys.global.u8 [%hd_d1" C_FAILED ", %hd_r4;\n"
		    "$hd_well:\n");
	_Static_assert(TASK_WHY_SITE == 48 && TASK_WHY_BLOCK == 10, "as written here");
}
