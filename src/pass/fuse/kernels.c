/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Puts several kernels' bodies into one entry (kernels.h). The kernels are imported into one
 * module. Each kernel is rewritten within its own function, and the result is grafted into the
 * entry.
 *
 * A block of the entry has as many threads as the widest block of a kernel, or, if kernels run side
 * by side, as the blocks of all kernels together. So blocks of any sizes fit together, also with
 * barriers (KernelMerge, section 2.4, reports a deadlock there):
 * - If the entry's block has more warps than a kernel's block, the caller keeps the surplus warps
 *   out of that kernel, and the kernel's barriers count only its own warps.
 * - If a kernel's block fills its last warp only in part, extra threads fill the rest and return at
 *   once. The passes handle such early returns as in any kernel (rounds.c, emit_tails.c). */
#include "pass/fuse/kernels.h"
#include "cfg/contract.h"
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"
#include "ptx/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POOL "hd_pool" /* array that holds the shared memory of all kernels */

uint32_t pass_threads(const uint32_t block[3])
{
	return block[0] * block[1] * block[2];
}

/* ---- creating the module ---- */
static const char head[] = ".version 6.0\n.target %s\n.address_size 64\n"
			   ".extern .shared .align 16 .b8 " POOL "[];\n"
			   ".visible .entry %s()\n{\n}\n";

static int refuse_target(
	struct kernels *x, unsigned k, const struct pass_kernel *from, unsigned other)
{
	const struct ptx_target t[] = {ptx_target_of(from[k].m), ptx_target_of(from[other].m)};
	const char *file = from[other].file, *name = from[other].name;
	char *own = ptx_target_print(x->diags->arena, &t[0]);
	char *its = ptx_target_print(x->diags->arena, &t[1]);
	unsigned odd = t[0].options ^ t[1].options;

	if (!own || !its)
		return -ENOMEM;
	if (odd)
		return kernels_refuse(x, k,
			"its target is %s, that of kernel '%s'%s%s %s: both or neither need %s",
			own, name, file ? " of " : "", file ? file : "", its,
			ptx_target_options[__builtin_ctz(odd)]);
	return kernels_refuse(x, k,
		"its target is %s, that of kernel '%s'%s%s %s: no GPU runs both", own, name,
		file ? " of " : "", file ? file : "", its);
}

/* Computes the lowest target that can run all kernels, at least sm_70. */
static int join_targets(struct kernels *x, const struct pass_kernel *from, struct ptx_target *ret)
{
	struct ptx_target t = {.sm = 70, .options = ptx_target_of(from[0].m).options};

	for (unsigned k = 0; k < x->n; k++) {
		struct ptx_target own = ptx_target_of(from[k].m), both;
		unsigned other = 0;

		if (ptx_target_join(&t, &own, &t))
			continue;
		while (other + 1 < k) {
			struct ptx_target its = ptx_target_of(from[other].m);

			if (!ptx_target_join(&its, &own, &both))
				break;
			other++;
		}
		return refuse_target(x, k, from, other);
	}
	*ret = t;
	return 0;
}

/* Makes the module that the kernels are imported into. The module has an empty entry and the pool,
 * an array for the shared memory of all kernels. */
static int make_module(struct kernels *x, const struct pass_kernel *from, const char *entry)
{
	struct ptx_target t;
	char *target, *text;
	int r = join_targets(x, from, &t);

	if (r < 0)
		return r;
	target = ptx_target_print(x->diags->arena, &t);
	text = target ? arena_printf(x->diags->arena, head, target, entry) : NULL;
	return text ? ptx_parse(text, strlen(text), 0, x->diags, &x->m) : -ENOMEM;
}

/* Adds the kernel's number to the line numbers of the functions imported with it. The text of the
 * merged kernel keeps these line numbers for reports of faults (ptx_lines). A single kernel needs
 * no number. */
static void number_lines(struct kernels *x, unsigned k)
{
	for (size_t i = 0; x->n > 1 && i < x->m->items.len; i++) {
		const struct ptx_item *it = &x->m->items.at[i];

		for (size_t s = 0; it->kind == PTX_ITEM_FUNC && s < it->func->body.len; s++) {
			uint32_t *line = &it->func->body.at[s].line;

			if (*line && *line <= PTX_LINE_MASK)
				*line |= (k + 1) << PTX_LINE_BITS;
		}
	}
}

int kernels_import(struct kernels *x, const struct pass_kernel *from, const char *entry)
{
	int r = make_module(x, from, entry);

	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		const struct ptx_func *f = ptx_find_func(from[k].m, from[k].name);
		const char *large = f ? pass_too_large(x->diags->arena, from[k].m, f) : NULL;

		if (large)
			r = kernels_refuse(x, k, "%s", large);
	}
	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		char prefix[16];

		snprintf(prefix, sizeof(prefix), PASS_KERNEL_PREFIX, k);
		x->which = k;
		r = ptx_import(x->m, from[k].m, from[k].name, prefix, x->diags, &x->of[k].f);
		if (r == 0)
			r = pass_free_names(x->m, x->of[k].f, x->diags);
		if (r == 0)
			number_lines(x, k);
		else if (r == -ENOTSUP && x->diags->len)
			r = kernels_refuse(x, k, "%s", x->diags->at[x->diags->len - 1].message);
	}
	if (r < 0)
		return r;
	x->host = ptx_find_func(x->m, entry);
	x->pool = ptx_find_global(x->m, POOL);
	if (!x->host || !x->pool)
		return -EINVAL;
	if (x->record && !VEC_PUSH(&x->record->funcs, (struct pass_recorded){.f = x->host}))
		return -ENOMEM;
	return 0;
}

int kernels_settle(struct kernels *x)
{
	size_t n = 0;
	int r = 0;

	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = contract_settle(x->m, x->of[k].f, x->diags, &n);
	return r;
}

/* ---- blocks that are smaller than the worker's blocks ---- */

/* Makes threads beyond the kernel's block, in its last warp, return at once. */
static int add_early_return(struct kernels *x, struct ptx_func *f, const uint32_t block[3])
{
	struct pass_writer w = {.m = x->m, .f = f, .diags = x->diags};

	pass_emit(&w,
		".reg .b32 %%hd_la; .reg .b32 %%hd_lb; .reg .pred %%hd_lp;\n"
		"mov.u32 %%hd_la, %%tid.z;\n"
		"mov.u32 %%hd_lb, %%tid.y;\n"
		"mad.lo.u32 %%hd_la, %%hd_la, %u, %%hd_lb;\n"
		"mov.u32 %%hd_lb, %%tid.x;\n"
		"mad.lo.u32 %%hd_la, %%hd_la, %u, %%hd_lb;\n"
		"setp.ge.u32 %%hd_lp, %%hd_la, %u;\n"
		"@%%hd_lp ret;\n",
		block[1], block[0], pass_threads(block));
	return pass_ahead(&w);
}

/* ---- shared memory ---- */
struct layout {
	struct kernels *x;
	struct kernel *g;
	int error;
};

static bool is_moved(const struct kernel *g, const struct ptx_sym *sym)
{
	for (size_t i = 0; i < g->moves.len; i++)
		if (g->moves.at[i].from == sym)
			return true;
	return false;
}

static void lay_out(struct layout *l, struct ptx_sym *sym)
{
	uint32_t align = MAX(sym->align, 16u);
	struct pass_move move = {.from = sym};

	if (sym->space != PTX_SHARED || sym == l->x->pool || is_moved(l->g, sym))
		return;
	l->x->pool_align = MAX(l->x->pool_align, align);
	move.at = (uint32_t)round_up(l->g->shared_bytes, align);
	l->g->shared_bytes = move.at + (uint32_t)sym->bytes;
	if (!VEC_PUSH(&l->g->moves, move))
		l->error = -ENOMEM;
}

static void lay_out_operand(void *user, struct ptx_opd *o)
{
	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_VAR)
		lay_out(user, o->sym);
}

/* Lays out the kernel's shared variables one after another, and then its dynamic shared memory. */
static int lay_out_kernel(struct kernels *x, struct kernel *g, uint32_t dynamic_bytes)
{
	struct layout l = {x, g, 0};
	struct pass_move last = {.from = x->pool};

	g->shared_bytes = g->shared_at;
	for (size_t i = 0; i < g->facts.callees.len; i++) {
		const struct ptx_func *f = g->facts.callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			struct ptx_stmt s = f->body.at[k];

			if (s.kind == PTX_DECL)
				lay_out(&l, s.sym);
			ptx_visit_opds(&s, lay_out_operand, &l);
		}
	}
	g->dynamic_bytes = dynamic_bytes;
	last.at = (uint32_t)round_up(g->shared_bytes, MAX(x->pool->align, 16u));
	g->shared_bytes = last.at + dynamic_bytes;
	if (l.error || !VEC_PUSH(&g->moves, last))
		return -ENOMEM;
	return 0;
}

/* ---- fitting a kernel into its place ---- */
int pass_refuse(struct arena *a, struct pass_verdict *ret, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	*ret = (struct pass_verdict){PASS_HELD, arena_strndup(a, text, strlen(text)), 0, 0};
	return ret->reason ? -ENOTSUP : -ENOMEM;
}

int kernels_refuse(struct kernels *x, unsigned k, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = pass_refuse(x->diags->arena, &x->verdict, fmt, ap);
	va_end(ap);
	x->which = k;
	return r;
}

static void fill_place(struct kernels *x, struct kernel *g)
{
	static const char *const tid[] = {"%hd_tx", "%hd_ty", "%hd_tz"};
	static const char *const claimed[PASS_IDS] = PASS_CLAIMED_IDS;
	struct pass_place *at = &g->at;

	at->facts = &g->facts;
	memcpy(at->id, claimed, sizeof(at->id));
	for (int d = 0; d < 3 && !x->as_is; d++) {
		snprintf(g->size[d], sizeof(g->size[d]), "%u", g->block[d]);
		at->id[PASS_TID + d] = tid[d];
		at->id[PASS_NTID + d] = g->size[d];
	}
	at->threads = !x->as_is && g->threads < x->threads ? g->threads : 0;
	at->filled_up = !x->as_is && pass_threads(g->block) % 32;
	snprintf(g->dynamic, sizeof(g->dynamic), "%u", g->dynamic_bytes);
	at->dynamic_bytes = g->dynamic;
	at->shared = x->pool;
	at->moves = g->moves.at;
	at->n_moves = g->moves.len;
}

int kernels_look(struct kernels *x, unsigned k, const struct pass_kernel *from)
{
	struct kernel *g = &x->of[k];
	uint32_t threads = pass_threads(from->block);
	bool partly = !x->as_is && threads % 32;
	size_t plain = g->f->body.len;
	int r;

	x->which = k;
	/* The new module is for sm_70 or newer, where code that was written for older targets has
	 * another meaning. */
	if (from->m->sm < 70)
		return kernels_refuse(x, k, "written for sm_%u: sm_70 is needed", from->m->sm);
	if (pass_form_param(g->f))
		return kernels_refuse(x, k, PASS_FORM_REASON, pass_form_param(g->f)->name);
	r = partly ? add_early_return(x, g->f, from->block) : 0;
	for (size_t i = 0; r == 0 && i < g->f->body.len - plain; i++)
		g->added += g->f->body.at[i].kind == PTX_INSN;
	memcpy(g->block, from->block, sizeof(g->block));
	g->threads = (uint32_t)round_up(threads, 32);
	g->n_params = g->f->params.len;
	if (r == 0)
		r = pass_param_layout(g->f, &g->own_bytes, NULL, NULL, 0);
	if (r == 0)
		r = pass_facts_find(x->m, g->f, &g->facts);
	g->found = true;
	if (r == 0)
		r = lay_out_kernel(x, g, from->dynamic_bytes);
	if (r == 0)
		fill_place(x, g);
	return r;
}

/* Repeats the check with the original kernel, if possible, so that the verdict has the original
 * positions and names. */
static void find_own_verdict(struct kernels *x, const struct kernel *g,
	const struct pass_kernel *from, struct pass_verdict *v)
{
	const struct ptx_func *f = ptx_find_func(from->m, from->name);
	struct pass_place at = g->at;
	struct pass_facts facts;
	struct pass_verdict own;

	if (pass_facts_find(from->m, f, &facts) == 0) {
		at.facts = &facts;
		if (!pass_fits(&at, &own))
			*v = own;
	}
	if (v->reason)
		v->reason = arena_strndup(x->diags->arena, v->reason, strlen(v->reason));
	pass_facts_finish(&facts);
}

int kernels_fit(struct kernels *x, unsigned k, const struct pass_kernel *from)
{
	const struct kernel *g = &x->of[k];
	struct pass_verdict v = {0};

	if (!g->at.real_exits && g->facts.one_dimensional &&
		(from->block[1] > 1 || from->block[2] > 1))
		return kernels_refuse(
			x, k, "heddle's analysis of it is only valid for one-dimensional blocks");
	if (pass_fits(&g->at, &v))
		return 0;
	x->which = k;
	v.line &= PTX_LINE_MASK;
	find_own_verdict(x, g, from, &v);
	x->verdict = v;
	return v.reason ? -ENOTSUP : -ENOMEM;
}

/* ---- barriers ---- */

/* Takes the lowest barrier that is free, but not barrier 0, which ptxas uses for bar.sync without a
 * number. The lowest, because the highest number decides how many barriers a block takes, and an SM
 * has 64 for all its blocks (Hopper): with barrier 15, only 4 blocks fit. Returns 0 if none is
 * free. */
static unsigned take_barrier(uint16_t *io_used)
{
	unsigned free = (uint16_t) ~(*io_used | 1u);
	unsigned which = free ? (unsigned)__builtin_ctz(free) : 0;

	*io_used |= (uint16_t)(1u << which);
	return which;
}

int kernels_barrier(struct kernels *x)
{
	uint16_t used = 0;
	unsigned among;
	bool own = false, counts = false;

	for (unsigned k = 0; k < x->n; k++) {
		used |= x->of[k].facts.barrier_ids;
		own |= x->of[k].facts.keeps_barrier_0 && x->of[k].facts.barriers == PASS_BAR_NONE;
		counts |= x->of[k].at.threads != 0;
	}
	x->barrier = own || counts ? take_barrier(&used) : 0;
	among = counts ? take_barrier(&used) : 0;
	if (((own || counts) && !x->barrier) || (counts && !among))
		return kernels_refuse(x, x->which,
			"it and the other kernels use all 16 barriers, and one more is needed");
	for (struct kernel *g = x->of; g < x->of + MIN(x->n, KERNELS_MAX); g++) {
		g->at.own_barrier = (uint8_t)x->barrier;
		g->at.among_barrier = (uint8_t)among;
	}
	return 0;
}

/* Emits a barrier of all threads. If ptxas cannot prove that warps are whole, bar.warp.sync
 * precedes the barrier, as in rounds.c. */
void kernels_put_barrier(struct kernels *x, struct pass_writer *w)
{
	bool gathers = false, unseen = false;

	for (unsigned k = 0; k < x->n; k++) {
		const struct pass_facts *facts = &x->of[k].facts;

		unseen |= facts->calls_spin;
		gathers |= facts->spins || facts->tails.len;
	}
	if (unseen)
		pass_emit(w,
			"ld.param.u32 %%hd_n, [hd_args0+%zu];\nsub.u32 %%hd_n, %%hd_n, 1;\n"
			"bar.warp.sync %%hd_n;\n",
			offsetof(struct ctl_args, never));
	else if (gathers)
		pass_put(w, WHOLE_WARP);
	pass_emit(w, "barrier.sync %u;\n", x->barrier);
}

/* ---- parameters ---- */

/* Adds a kernel's parameter to the entry under a new unique name. */
static struct ptx_sym *add_param(struct kernels *x, const struct ptx_sym *p, unsigned k, size_t i)
{
	struct strbuf text = {0};
	struct ptx_sym *sym;

	strbuf_add(&text, p->decl, p->name_at);
	strbuf_printf(&text, "hd_k%u_%zu", k, i);
	strbuf_puts(&text, p->decl + p->name_at + p->decl_name_len);
	sym = text.failed ? NULL : ptx_add_param(x->m, x->host, x->diags, text.at);
	strbuf_finish(&text);
	return sym;
}

static int add_own_params(struct kernels *x, unsigned k)
{
	struct kernel *g = &x->of[k];

	for (size_t i = 0; i < g->n_params; i++)
		if (!g->f->params.at[i]->decl || !g->f->params.at[i]->name_at ||
			!VEC_PUSH(&g->params, add_param(x, g->f->params.at[i], k, i)) ||
			!g->params.at[i])
			return -EINVAL;
	return 0;
}

/* Adds a kernel's parameters to the entry. struct ctl_args comes first, aligned so that the
 * parameters keep their layout after it. */
static int add_params(struct kernels *x, unsigned k)
{
	struct kernel *g = &x->of[k];
	char decl[80];
	uint32_t align = 16;

	for (size_t i = 0; i < g->n_params; i++)
		align = MAX(align, g->f->params.at[i]->align);
	snprintf(decl, sizeof(decl), ".param .align %u .b8 hd_args%u[%zu]", align, k,
		(size_t)round_up(sizeof(struct ctl_args), align));
	g->args = ptx_add_param(x->m, x->host, x->diags, decl);
	return g->args ? add_own_params(x, k) : -EINVAL;
}

int kernels_harness_params(struct kernels *x)
{
	char decl[64];
	int r = add_own_params(x, 0);

	snprintf(decl, sizeof(decl), ".param .align 8 .b8 hd_args0[%zu]", sizeof(struct ctl_args));
	if (r == 0)
		x->of[0].args = ptx_add_param(x->m, x->host, x->diags, decl);
	return r == 0 && !x->of[0].args ? -EINVAL : r;
}

static int fill_param_offsets(struct kernels *x, struct pass_merged *ret)
{
	uint32_t offsets[512], bytes;
	size_t at = 0;
	int r = pass_param_layout(x->host, &bytes, offsets, NULL, ARRAY_LEN(offsets));

	if (r < 0 || x->host->params.len > ARRAY_LEN(offsets))
		return -E2BIG;
	for (unsigned k = 0; k < x->n; k++) {
		ret->of[k].arg_offset = offsets[at++];
		ret->of[k].param_offset = x->of[k].n_params ? offsets[at] : 0;
		ret->of[k].own_bytes = x->of[k].own_bytes;
		ret->of[k].rising_order = x->of[k].facts.rising_order;
		at += x->of[k].n_params;
	}
	ret->merge_offset = at < x->host->params.len ? offsets[at] : 0;
	ret->param_bytes = bytes;
	return 0;
}

int kernels_params(struct kernels *x, const char *last, struct pass_merged *ret)
{
	uint32_t limit = x->m->version >= 81 ? 32764u : 4096u;
	int r = 0;

	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = add_params(x, k);
	if (r == 0 && last && !ptx_add_param(x->m, x->host, x->diags, last))
		r = -EINVAL;
	if (r == 0)
		r = fill_param_offsets(x, ret);
	if (r == 0 && ret->param_bytes <= limit)
		return 0;
	if (r == 0 || r == -E2BIG)
		r = kernels_refuse(
			x, x->which, "all parameters together are more than %u bytes", limit);
	return r;
}

int kernels_own_args(struct kernels *x, unsigned k)
{
	char decl[64];

	snprintf(decl, sizeof(decl), ".param .align 8 .b8 %s[%zu]", CTL_PARAM,
		sizeof(struct ctl_args));
	x->of[k].own_args = ptx_add_param(x->m, x->of[k].f, x->diags, decl);
	return x->of[k].own_args ? 0 : -EINVAL;
}

int kernels_begin(struct kernels *x, unsigned k, struct pass_writer *w)
{
	int r = kernels_own_args(x, k);

	if (r < 0)
		return r;
	if (pass_has_rounds(&x->of[k].at))
		pass_put(w, SLOT_DECL);
	pass_emit_regs(w);
	pass_rounds_declare(w, &x->of[k].at);
	return 0;
}

/* ---- the body ---- */
/* Computes the thread's id in its kernel's block from its id in the entry's block. */
static void put_tid(struct kernels *x, const struct kernel *g, struct pass_writer *w)
{
	bool partly = pass_threads(g->block) % 32 != 0;

	if (x->as_is)
		return;
	pass_put(w, ".reg .b32 %hd_tx; .reg .b32 %hd_ty; .reg .b32 %hd_tz;\n"
		    "mov.u32 %hd_tx, %tid.x;\nmov.u32 %hd_ty, 0;\nmov.u32 %hd_tz, 0;\n");
	if (g->at.first_thread)
		pass_emit(w, "sub.u32 %%hd_tx, %%hd_tx, %u;\n", g->at.first_thread);
	if (g->block[1] > 1 || g->block[2] > 1 || partly)
		pass_emit(w,
			"div.u32 %%hd_ty, %%hd_tx, %u;\n"
			"mul.lo.u32 %%hd_n, %%hd_ty, %u;\n"
			"sub.u32 %%hd_tx, %%hd_tx, %%hd_n;\n",
			g->block[0], g->block[0]);
	if (g->block[2] > 1 || partly)
		pass_emit(w,
			"div.u32 %%hd_tz, %%hd_ty, %u;\n"
			"mul.lo.u32 %%hd_n, %%hd_tz, %u;\n"
			"sub.u32 %%hd_ty, %%hd_ty, %%hd_n;\n",
			g->block[1], g->block[1]);
}

void kernels_put_body(struct kernels *x, unsigned k, struct pass_writer *w)
{
	struct kernel *g = &x->of[k];

	if (!g->at.real_exits) {
		g->at.end = ptx_new_label(x->m, g->f, "end");
		w->error = w->error || g->at.end ? w->error : -ENOMEM;
	}
	put_tid(x, g, w);
	if (w->record) {
		w->record->kernel = k;
		w->record->ignored = g->added;
	}
	pass_put_body(w, g->f, &g->at);
	if (w->error == 0 && g->at.end)
		pass_emit(w, "%s:", g->at.end->name);
}

void kernels_rounds_ready(const struct kernel *g, struct pass_writer *w)
{
	if (!pass_has_rounds(&g->at))
		return;
	pass_emit(w,
		"mov.u32 %%hd_r0, %%tid.x;\nmov.u32 %%hd_r1, %%tid.y;\nmov.u32 %%hd_r2, %%tid.z;\n"
		"sub.u32 %%hd_r0, %%hd_r0, %u;\n"
		"or.b32 %%hd_r0, %%hd_r0, %%hd_r1;\nor.b32 %%hd_r0, %%hd_r0, %%hd_r2;\n"
		"setp.ne.u32 %%hd_p0, %%hd_r0, 0;\n@%%hd_p0 bra $hd_ready;\n",
		g->at.first_thread);
	pass_rounds_clear(w, &g->at);
	pass_put(w, "$hd_ready:\n");
	pass_gather(w, &g->at);
	pass_barrier_0(w, &g->at);
}

void kernels_put_exits(
	struct kernel *g, struct pass_writer *w, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pass_emit(w, "%s:\n", names[i]);
		g->exits[i] = w->error ? NULL : pass_last(w)->sym;
	}
}

int kernels_graft(struct kernels *x, unsigned k, struct pass_writer *w, unsigned n_exits)
{
	struct kernel *g = &x->of[k];
	int r;

	VEC_FREE(&g->f->body);
	g->f->body = w->out;
	g->numbers = w->numbers;
	w->numbers = (pass_numbers){0};
	pass_writer_finish(w);
	if (w->error)
		return w->error;
	r = ptx_graft_new(x->m, x->host, g->f, x->diags, &g->graft);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < n_exits; i++)
		ptx_graft_map(g->graft, g->exits[i], g->to[i]);
	ptx_graft_map(g->graft, g->own_args, g->args);
	for (size_t i = 0; i < g->n_params; i++)
		ptx_graft_map(g->graft, g->f->params.at[i], g->params.at[i]);
	return ptx_graft_error(g->graft);
}

void kernels_note(struct kernels *x, struct pass_writer *w, unsigned k, uint32_t number)
{
	struct pass_origin ours = {PASS_OURS, PASS_OURS}, of = {k, number};
	struct pass_recorded *host = x->record ? &x->record->funcs.at[0] : NULL;

	if (!host || number == PASS_OURS || w->error)
		return;
	while (host->of.len < w->out.len)
		if (!VEC_PUSH(&host->of, ours))
			break;
	if (host->of.len < w->out.len || !VEC_PUSH(&host->of, of))
		w->error = -ENOMEM;
}

void kernels_put_piece(struct kernels *x, struct pass_writer *w, unsigned k, unsigned piece)
{
	struct kernel *g = &x->of[k];

	for (size_t i = g->from[piece]; i < g->from[piece + 1] && w->error == 0; i++) {
		struct ptx_stmt s = ptx_graft_stmt(g->graft, &g->f->body.at[i]);

		kernels_note(x, w, k, i < g->numbers.len ? g->numbers.at[i] : PASS_OURS);
		pass_copy(w, &s);
		w->error = w->error ? w->error : ptx_graft_error(g->graft);
	}
}

/* ---- finishing the entry ---- */

/* Moves f to the end of the module, after the functions that it calls. */
static void move_to_end(struct ptx_module *m, const struct ptx_func *f)
{
	for (size_t i = 0; i + 1 < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func == f) {
			struct ptx_item next = m->items.at[i + 1];

			m->items.at[i + 1] = m->items.at[i];
			m->items.at[i] = next;
		}
}

int kernels_seal(struct kernels *x, struct pass_writer *w, const uint32_t block[3])
{
	struct ptx_bounds bounds = {.minnctapersm = x->per_sm, .maxnreg = x->max_registers};
	int r = w->error;

	if (r < 0) {
		VEC_FREE(&w->out);
		return r;
	}
	VEC_FREE(&x->host->body);
	x->host->body = w->out;
	for (unsigned k = 0; k < x->n; k++)
		ptx_drop_func(x->m, x->of[k].f); /* the kernel's code is now part of the entry */
	move_to_end(x->m, x->host);
	memcpy(bounds.maxntid, block, sizeof(bounds.maxntid));
	r = ptx_raise_align(x->m, x->pool, x->pool_align);
	if (r == 0)
		r = ptx_bounds_set(x->m, x->host, &bounds);
	if (r == 0)
		r = ptx_bounds_state_registers(x->m, x->host);
	return r == 0 && ptx_validate(x->m, x->diags) ? -EINVAL : r;
}

void kernels_finish(struct kernels *x, int r, struct pass_verdict *ret_verdict)
{
	*ret_verdict = r == -ENOTSUP ? x->verdict : (struct pass_verdict){.tier = PASS_MANAGED};
	for (unsigned k = 0; k < x->n; k++) {
		struct kernel *g = &x->of[k];

		if (g->found)
			pass_facts_finish(&g->facts);
		ptx_graft_free(g->graft);
		VEC_FREE(&g->moves);
		VEC_FREE(&g->params);
		VEC_FREE(&g->numbers);
	}
	if (r < 0 && x->m) {
		ptx_module_free(x->m);
		x->m = NULL;
	}
}
