/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernels in one worker (merge.h). The guests are imported into one module; each becomes
 * the pieces of a worker (worker.h) in terms of its own function, and these are grafted into the
 * one entry around which emit_merge.c writes what chooses among them.
 *
 * A worker has as many threads as the widest block. Warps that a block does not have go past its
 * body to the next barrier of all; the others count themselves at the block's own. A block that
 * fills its last warp in part is one whose other threads return at once: what early returns need
 * (rounds, tails) is found and done as for any kernel. So blocks of any sizes go together, with
 * barriers too (section 2.4 of the paper has them deadlock).
 *
 * Variables in shared memory are laid over each other: a worker needs the most that one of them
 * needs, not the sum. */
#include "pass/emit_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL "hd_pool" /* all shared memory of all guests */

static uint32_t threads_of(const uint32_t block[3])
{
	return block[0] * block[1] * block[2];
}

static bool are_alike(const struct pass_guest *guests, unsigned n)
{
	for (unsigned k = 1; k < n; k++)
		if (memcmp(guests[k].block, guests[0].block, sizeof(guests[0].block)) != 0)
			return false;
	return true;
}

/* ---- the module ---- */
static const char head[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			   ".extern .shared .align 16 .b8 " POOL "[];\n"
			   ".visible .entry " CTL_MERGE_ENTRY "()\n{\n}\n";

static int import_all(struct merge *x, const struct pass_guest *guests)
{
	int r = ptx_parse(head, sizeof(head) - 1, 0, x->diags, &x->m);

	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		char prefix[16];

		snprintf(prefix, sizeof(prefix), "k%u_", k);
		x->which = k;
		r = ptx_import(x->m, guests[k].m, guests[k].name, prefix, x->diags, &x->of[k].f);
	}
	if (r < 0)
		return r;
	x->host = ptx_find_func(x->m, CTL_MERGE_ENTRY);
	x->pool = ptx_find_global(x->m, POOL);
	return x->host && x->pool ? 0 : -EINVAL;
}

/* ---- blocks of other sizes than the worker's ---- */

/* The threads that fill up the last warp return at once. */
static int add_early_return(struct merge *x, struct ptx_func *f, const uint32_t block[3])
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
		block[1], block[0], threads_of(block));
	for (size_t i = 0; i < f->body.len; i++)
		pass_copy(&w, &f->body.at[i]);
	if (w.error) {
		VEC_FREE(&w.out);
		return w.error;
	}
	VEC_FREE(&f->body);
	f->body = w.out;
	return 0;
}

/* ---- shared memory ---- */
struct layout {
	struct merge *x;
	struct merge_guest *g;
	int error;
};

static bool is_moved(const struct merge_guest *g, const struct ptx_sym *sym)
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

/* Its variables one behind the other, and what its launch adds behind them. */
static int lay_out_guest(struct merge *x, struct merge_guest *g, uint32_t dynamic_bytes)
{
	struct layout l = {x, g, 0};
	struct pass_move last = {.from = x->pool};

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
	last.at = (uint32_t)round_up(g->shared_bytes, 16);
	g->shared_bytes = last.at + dynamic_bytes;
	if (l.error || !VEC_PUSH(&g->moves, last))
		return -ENOMEM;
	return 0;
}

/* ---- what cannot be merged ---- */
struct objecting {
	struct merge *x;
	struct merge_guest *g;
	const struct ptx_stmt *s;
};

static void object_to_operand(void *user, struct ptx_opd *o)
{
	struct objecting *b = user;

	if (o->kind == PTX_OPD_SPECIAL && strstr(o->name, "total_smem_size"))
		pass_object(b->x->m, &b->g->facts, PASS_GUARD, b->s,
			"reads %s, which is another where kernels are merged", o->name);
}

static void object_to_code(struct merge *x, struct merge_guest *g)
{
	for (size_t i = 0; i < g->facts.callees.len; i++) {
		const struct ptx_func *f = g->facts.callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			struct ptx_stmt s = f->body.at[k];
			struct objecting b = {x, g, &f->body.at[k]};

			ptx_visit_opds(&s, object_to_operand, &b);
		}
	}
}

static int look_at_guest(struct merge *x, unsigned k, const struct pass_guest *guest)
{
	struct merge_guest *g = &x->of[k];
	uint32_t threads = threads_of(guest->block);
	bool partly = !x->alike && threads % 32;
	int r = partly ? add_early_return(x, g->f, guest->block) : 0;

	x->which = k;
	if (r == 0)
		r = pass_facts_find(x->m, g->f, &g->facts);
	g->found = true;
	if (r < 0)
		return r;
	object_to_code(x, g);
	if (g->facts.one_dimensional && (guest->block[1] > 1 || guest->block[2] > 1))
		pass_object(x->m, &g->facts, PASS_GUARD, NULL,
			"it can be a worker with blocks of one dimension only");
	g->facts.merged = true;
	g->threads = (uint32_t)round_up(threads, 32);
	if (!x->alike && g->threads < x->threads)
		g->facts.threads = g->threads;
	return g->facts.verdict.tier == PASS_MANAGED ? lay_out_guest(x, g, guest->dynamic_bytes)
						      : -ENOTSUP;
}

/* One barrier for all threads of a worker, and where blocks are of different sizes one for those
 * that a block has. */
static int choose_barriers(struct merge *x)
{
	uint16_t used = 0, left;
	bool own = false, counts = false;

	for (unsigned k = 0; k < x->n; k++) {
		used |= x->of[k].facts.barrier_ids;
		own |= x->of[k].facts.own_barrier != 0;
		counts |= x->of[k].facts.threads != 0;
	}
	left = (uint16_t)~used;
	x->barrier = own || counts ? 31 - (unsigned)__builtin_clz(left | 1u) : 0;
	left &= (uint16_t)~(1u << x->barrier);
	if ((own || counts) && (used == UINT16_MAX || (counts && !left))) {
		pass_object(x->m, &x->of[x->which].facts, PASS_GUARD, NULL,
			"its barriers and those of the others leave none free");
		return -ENOTSUP;
	}
	for (unsigned k = 0; k < x->n; k++) {
		x->of[k].facts.own_barrier = (uint8_t)x->barrier;
		x->of[k].facts.among_barrier = (uint8_t)(31 - __builtin_clz(left | 1u));
	}
	return 0;
}

/* ---- parameters ---- */

/* A parameter of the guest as one of the host, under a name of its own. */
static struct ptx_sym *add_param(struct merge *x, const struct ptx_sym *p, unsigned k, size_t i)
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

/* ctl_args first, aligned so that what follows lies as in the guest's own buffer. */
static int add_params(struct merge *x, unsigned k)
{
	struct merge_guest *g = &x->of[k];
	char decl[80];
	uint32_t align = 16;

	for (size_t i = 0; i < g->n_params; i++)
		align = MAX(align, g->f->params.at[i]->align);
	snprintf(decl, sizeof(decl), ".param .align %u .b8 hd_args%u[%zu]", align, k,
		(size_t)round_up(sizeof(struct ctl_args), align));
	g->args = ptx_add_param(x->m, x->host, x->diags, decl);
	if (!g->args)
		return -EINVAL;
	for (size_t i = 0; i < g->n_params; i++)
		if (!g->f->params.at[i]->decl || !g->f->params.at[i]->name_at ||
			!VEC_PUSH(&g->params, add_param(x, g->f->params.at[i], k, i)) ||
			!g->params.at[i])
			return -EINVAL;
	return 0;
}

static int tell_params(struct merge *x, struct pass_merged *ret)
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
	ret->merge_offset = offsets[at];
	ret->param_bytes = bytes;
	return bytes <= (x->m->version >= 81 ? 32764u : 4096u) ? 0 : -E2BIG;
}

static int add_all_params(struct merge *x)
{
	int r = 0;

	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = add_params(x, k);
	if (r == 0 && !ptx_add_param(x->m, x->host, x->diags, MERGE_PARAM))
		r = -EINVAL;
	return r;
}

/* ---- pieces ---- */

/* Where a thread is in its block, from where it is among the worker's threads. */
static void put_tid(struct merge *x, struct pass_writer *w, const uint32_t block[3])
{
	if (x->alike)
		return;
	pass_put(w, ".reg .b32 %hd_tx; .reg .b32 %hd_ty; .reg .b32 %hd_tz;\n"
		    "mov.u32 %hd_tx, %tid.x;\nmov.u32 %hd_ty, 0;\nmov.u32 %hd_tz, 0;\n");
	if (block[1] > 1 || block[2] > 1 || threads_of(block) % 32)
		pass_emit(w,
			"div.u32 %%hd_ty, %%hd_tx, %u;\n"
			"mul.lo.u32 %%hd_n, %%hd_ty, %u;\n"
			"sub.u32 %%hd_tx, %%hd_tx, %%hd_n;\n",
			block[0], block[0]);
	if (block[2] > 1 || threads_of(block) % 32)
		pass_emit(w,
			"div.u32 %%hd_tz, %%hd_ty, %u;\n"
			"mul.lo.u32 %%hd_n, %%hd_tz, %u;\n"
			"sub.u32 %%hd_ty, %%hd_ty, %%hd_n;\n",
			block[1], block[1]);
}

static void put_body(struct merge *x, struct merge_guest *g, struct pass_writer *w,
	const uint32_t block[3])
{
	char size[3][16], dynamic[16];
	struct pass_virtual v = {
		.id = PASS_CLAIMED_IDS,
		.end_label = ptx_new_label(x->m, g->f, "end"),
		.shared = x->pool,
		.moves = g->moves.at,
		.n_moves = g->moves.len,
		.dynamic_bytes = dynamic,
	};

	if (!v.end_label) {
		w->error = -ENOMEM;
		return;
	}
	snprintf(dynamic, sizeof(dynamic), "%u", g->dynamic_bytes);
	for (int d = 0; d < 3 && !x->alike; d++) {
		static const char *const tid[] = {"%hd_tx", "%hd_ty", "%hd_tz"};

		snprintf(size[d], sizeof(size[d]), "%u", block[d]);
		v.id[PASS_TID + d] = tid[d];
		v.id[PASS_NTID + d] = size[d];
	}
	put_tid(x, w, block);
	pass_virtual_body(w, g->f, &g->facts, &v);
	pass_emit(w, "%s:", v.end_label->name);
}

/* Labels outside of the pieces; the statements are the guest's last ones and are not copied. */
static void put_exits(struct merge_guest *g, struct pass_writer *w)
{
	static const char *const names[] = MERGE_EXITS;

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		pass_emit(w, "%s:\n", names[i]);
		g->exits[i] = w->error ? NULL : pass_last(w)->sym;
	}
}

static int make_pieces(struct merge *x, unsigned k, const uint32_t block[3])
{
	struct merge_guest *g = &x->of[k];
	struct pass_writer w = {.m = x->m, .f = g->f, .diags = x->diags};
	char decl[64];

	snprintf(decl, sizeof(decl), ".param .align 8 .b8 %s[%zu]", CTL_PARAM,
		sizeof(struct ctl_args));
	g->own_args = ptx_add_param(x->m, g->f, x->diags, decl);
	if (!g->own_args)
		return -EINVAL;
	for (unsigned p = 0; p < MERGE_PIECES; p++) {
		g->from[p] = w.out.len;
		switch ((enum merge_piece)p) {
		case MERGE_DECLARE:
			pass_part_declare(&w, &g->facts);
			break;
		case MERGE_ENTER:
			pass_part_enter(&w, &g->facts);
			break;
		case MERGE_CLAIM:
			pass_part_claim(&w, &g->facts);
			break;
		case MERGE_COUNT:
			pass_part_count(&w, &g->facts);
			break;
		case MERGE_LEAVE:
			pass_part_leave(&w);
			break;
		case MERGE_RUN:
			pass_part_take(&w, &g->facts);
			put_body(x, g, &w, block);
			pass_part_again(&w, &g->facts);
			break;
		case MERGE_PIECES:
			break;
		}
	}
	g->from[MERGE_PIECES] = w.out.len;
	put_exits(g, &w);
	VEC_FREE(&g->f->body);
	g->f->body = w.out;
	return w.error;
}

/* ---- all of it ---- */

/* Behind what it calls. */
static void come_last(struct ptx_module *m, const struct ptx_func *f)
{
	for (size_t i = 0; i + 1 < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func == f) {
			struct ptx_item next = m->items.at[i + 1];

			m->items.at[i + 1] = m->items.at[i];
			m->items.at[i] = next;
		}
}

static int make(struct merge *x, const struct pass_guest *guests, struct pass_merged *ret)
{
	struct ptx_bounds bounds = {0};
	int r = import_all(x, guests);

	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		x->of[k].n_params = x->of[k].f->params.len;
		r = pass_param_layout(x->of[k].f, &x->of[k].own_bytes, NULL, NULL, 0);
		if (r == 0)
			r = look_at_guest(x, k, &guests[k]);
		ret->shared_bytes = MAX(ret->shared_bytes, x->of[k].shared_bytes);
	}
	if (r == 0)
		r = choose_barriers(x);
	if (r == 0)
		r = ptx_raise_align(x->m, x->pool, x->pool_align);
	if (r == 0)
		r = add_all_params(x);
	if (r == 0)
		r = tell_params(x, ret);
	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = make_pieces(x, k, guests[k].block);
	if (r == 0)
		r = pass_emit_merged(x);
	if (r < 0)
		return r;
	for (unsigned k = 0; k < x->n; k++)
		ptx_drop_func(x->m, x->of[k].f); /* the host's code now */
	come_last(x->m, x->host);
	for (int d = 0; d < 3; d++)
		bounds.maxntid[d] = ret->block[d];
	r = ptx_bounds_set(x->m, x->host, &bounds);
	if (r == 0 && ptx_validate(x->m, x->diags))
		r = -EINVAL;
	return r;
}

static void finish(struct merge *x)
{
	for (unsigned k = 0; k < x->n; k++) {
		struct merge_guest *g = &x->of[k];

		if (g->found)
			pass_facts_finish(&g->facts);
		ptx_graft_free(g->graft);
		VEC_FREE(&g->moves);
		VEC_FREE(&g->params);
	}
}

int pass_merge(const struct pass_guest *guests, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which)
{
	struct merge *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->n = n;
	x->diags = diags;
	x->alike = are_alike(guests, n);
	x->pool_align = 16;
	*ret = (struct pass_merged){.block = {0, 1, 1}};
	for (unsigned k = 0; k < n; k++)
		x->threads = MAX(x->threads, (uint32_t)round_up(threads_of(guests[k].block), 32));
	ret->block[0] = x->threads;
	if (x->alike)
		memcpy(ret->block, guests[0].block, sizeof(ret->block));
	*ret_verdict = (struct pass_verdict){.tier = PASS_MANAGED};
	r = make(x, guests, ret);
	*ret_which = x->which;
	if (r == -ENOTSUP && x->of[x->which].found) {
		*ret_verdict = x->of[x->which].facts.verdict;
		if (ret_verdict->reason) /* the module goes */
			ret_verdict->reason = arena_strndup(
				diags->arena, ret_verdict->reason, strlen(ret_verdict->reason));
	}
	finish(x);
	if (r == 0)
		*ret_m = x->m;
	else if (x->m)
		ptx_module_free(x->m);
	free(x);
	return r;
}
