/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Merges several kernels into one worker (merge.h). Each kernel becomes the code sequences of a
 * worker (worker.h), and emit_merge.c writes the code that chooses among the kernels. Shared
 * variables of the kernels overlap, so a worker needs the maximum of their shared memory, not the
 * sum. Only the slot, the worker's own array in shared memory (emit.h), exists once for each
 * kernel. */
#include "pass/fuse/emit_merge.h"
#include "pass/passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put_piece(struct kernels *x, unsigned k, struct pass_writer *w, enum merge_piece piece)
{
	const struct pass_place *at = &x->of[k].at;

	switch (piece) {
	case MERGE_DECLARE:
		pass_part_declare(w, at);
		break;
	case MERGE_ENTER:
		pass_part_enter(w, at);
		break;
	case MERGE_CLAIM:
		pass_part_claim(w, at);
		break;
	case MERGE_AHEAD:
		pass_part_ahead(w);
		break;
	case MERGE_COUNT:
		pass_part_count(w, at);
		break;
	case MERGE_LEAVE:
		pass_part_leave(w);
		break;
	case MERGE_RUN:
		pass_part_take(w, at);
		kernels_put_body(x, k, w);
		pass_part_again(w, at);
		break;
	case MERGE_PIECES:
		break;
	}
}

static bool find_register(const struct ptx_func *f, const char *name, uint32_t *ret)
{
	for (size_t i = 0; i < f->regs.len; i++)
		if (!strcmp(f->regs.at[i].sym->name, name)) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

/* Makes all kernels use the same registers for the values that live through the bodies. */
static int share_registers(struct kernels *x, unsigned k)
{
	static const char *const names[] = {WORKER_SHARED};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(names); i++) {
		uint32_t here, first;

		if (!find_register(x->of[k].f, names[i], &here) ||
			!find_register(x->of[0].f, names[i], &first))
			return -EINVAL;
		r = ptx_graft_map_reg(x->of[k].graft, here, ptx_graft_reg(x->of[0].graft, first));
	}
	return r;
}

static bool name_register(struct kernels *x, const char *name, char *buf, size_t size)
{
	const struct kernel *g = &x->of[0];
	uint32_t reg;

	return find_register(g->f, name, &reg) &&
	       ptx_reg_name(x->host, ptx_graft_reg(g->graft, reg), buf, size);
}

static int name_shared(struct kernels *x)
{
	static const char *const names[] = {WORKER_SHARED};
	struct kernel *g = &x->of[0];

	return name_register(x, names[0], g->slot, sizeof(g->slot)) &&
			       name_register(x, names[1], g->ticket, sizeof(g->ticket))
		       ? 0
		       : -EINVAL;
}

/* Makes the code pieces of a kernel, and a label in the merged entry for each exit of a piece. */
static int make_pieces(struct kernels *x, unsigned k)
{
	static const char *const names[] = {
		"$hd_special", "$hd_ok", "$hd_none", "$hd_ret", "$hd_top"};
	static const char *const hints[] = {"late", "ok", "none", "left", "pick"};
	struct kernel *g = &x->of[k];
	struct pass_writer w = {.m = x->m, .f = g->f, .diags = x->diags, .record = x->record};
	int r = kernels_own_args(x, k);

	_Static_assert(
		ARRAY_LEN(names) == MERGE_EXITS && ARRAY_LEN(hints) == MERGE_EXITS, "one each");
	_Static_assert(
		MERGE_PIECES <= KERNELS_MAX_PIECES && MERGE_EXITS <= KERNELS_MAX_EXITS, "room");
	if (r < 0)
		return r;
	for (unsigned p = 0; p <= MERGE_PIECES; p++) {
		g->from[p] = w.out.len;
		put_piece(x, k, &w, (enum merge_piece)p);
	}
	kernels_put_exits(g, &w, names, MERGE_EXITS);
	for (unsigned i = 0; i < MERGE_EXITS; i++) {
		g->to[i] = i == MERGE_TOP && k > 0 ? x->of[0].to[i]
						   : ptx_new_label(x->m, x->host, hints[i]);
		if (!g->to[i])
			w.error = -ENOMEM;
	}
	r = kernels_graft(x, k, &w, MERGE_EXITS);
	if (r == 0 && k > 0)
		return share_registers(x, k);
	return r == 0 ? name_shared(x) : r;
}

static int make_merged(
	struct kernels *x, const struct pass_kernel *kernels, struct pass_merged *ret)
{
	struct pass_writer w = {.diags = x->diags};
	int r = kernels_import(x, kernels, CTL_MERGE_ENTRY);

	for (unsigned k = 0; r == 0 && k < x->n; k++) {
		r = kernels_look(x, k, &kernels[k]);
		x->of[k].at.merged = x->of[k].at.followed = true;
		if (r == 0)
			r = kernels_fit(x, k, &kernels[k]);
		ret->shared_bytes = MAX(ret->shared_bytes, x->of[k].shared_bytes);
	}
	if (r == 0)
		r = kernels_barrier(x);
	if (r == 0)
		r = kernels_params(x, MERGE_PARAM, ret);
	for (unsigned k = 0; r == 0 && k < x->n; k++)
		r = make_pieces(x, k);
	if (r < 0)
		return r;
	w.m = x->m;
	w.f = x->host;
	pass_emit_merged(x, &w);
	return kernels_seal(x, &w, ret->block);
}

/* Returns how many of the entry's blocks must fit on an SM. With that number, an SM holds as many
 * threads of the entry as it holds of the kernel with the lowest occupancy. 0: the occupancy of
 * some kernel is unknown. */
static uint32_t least_per_sm(const struct pass_kernel *kernels, unsigned n, uint32_t threads)
{
	uint32_t least = UINT32_MAX;

	for (unsigned k = 0; k < n; k++) {
		uint64_t own = round_up(pass_threads(kernels[k].block), 32);

		least = (uint32_t)MIN(least, kernels[k].fits * own);
	}
	return least / threads;
}

static bool have_same_block(const struct pass_kernel *kernels, unsigned n)
{
	for (unsigned k = 1; k < n; k++)
		if (memcmp(kernels[k].block, kernels[0].block, sizeof(kernels[0].block)) != 0)
			return false;
	return true;
}

int pass_merge(const struct pass_kernel *kernels, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record)
{
	struct kernels *x = calloc(1, sizeof(*x));
	int r;

	if (!x || n < 1 || n > CTL_MAX_MERGED) {
		free(x);
		return n < 1 || n > CTL_MAX_MERGED ? -EINVAL : -ENOMEM;
	}
	x->n = n;
	x->diags = diags;
	x->record = record;
	x->as_is = have_same_block(kernels, n);
	*ret = (struct pass_merged){.block = {0, 1, 1}};
	for (unsigned k = 0; k < n; k++)
		x->threads =
			MAX(x->threads, (uint32_t)round_up(pass_threads(kernels[k].block), 32));
	ret->block[0] = x->threads;
	if (x->as_is)
		memcpy(ret->block, kernels[0].block, sizeof(ret->block));
	x->per_sm = x->threads ? least_per_sm(kernels, n, x->threads) : 0;
	r = make_merged(x, kernels, ret);
	*ret_which = x->which;
	kernels_finish(x, r, ret_verdict);
	*ret_m = x->m;
	free(x);
	return r;
}

int pass_run_merge(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record)
{
	ret->entry = CTL_MERGE_ENTRY;
	return pass_merge(rq->kernels, rq->n, diags, &ret->m, &ret->merged, &ret->verdict,
		&ret->which, record);
}
