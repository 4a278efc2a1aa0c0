/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Puts a body into a kernel that is made for it (harness.h). Each part exists only if the selected
 * changes need it. The parts in the order in which they run:
 *
 * - The first thread copies the parameters to global memory, and sets the count of threads to 0.
 * - One warp occupies the barrier numbers that the body had before.
 * - The first FIRST threads do not belong to the body and skip it.
 * - Ids: block i of the launch becomes block i - 1 of the grid; the first block exits.
 * - The body runs.
 * - All exits of the body lead to code that counts its threads.
 * - All threads meet at a barrier, and each checks the count. A missing thread is an error. */
#include "pass/fuse/kernels.h"
#include "pass/passes.h"
#include "pass/virtual/emit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST    64u   /* number of threads that precede the body's threads */
#define AHEAD    1024u /* bytes of shared memory that precede the body's variables */
#define TOO_MUCH 64u   /* bytes of dynamic shared memory allocated beyond the body's */

const char *const pass_field_names[] = {
#define FIELD(id, name, what) name,
	PASS_FIELDS(FIELD)
#undef FIELD
};

struct harness {
	struct kernels *x;
	struct kernel *g;
	const struct pass_kernel *from;
	uint32_t fields;
	struct pass_harness *form;
};

static bool has_field(const struct harness *h, enum pass_field field)
{
	return (h->fields & field) != 0;
}

/* ---- placement ---- */

/* Moves the body's barriers to the highest possible numbers if that change is selected. Chooses a
 * free number for the barrier of all threads. */
static int place_barriers(struct harness *h)
{
	uint16_t ids = h->g->facts.barrier_ids;
	unsigned n = ids ? 32 - (unsigned)__builtin_clz(ids) : 0, left;

	if (has_field(h, PASS_FIELD_BARRIERS) && n == 16)
		return kernels_refuse(h->x, 0, "it uses all 16 barriers");
	if (has_field(h, PASS_FIELD_BARRIERS))
		h->g->at.barrier_first = (uint8_t)(16 - MAX(n, 1u));
	left = (uint16_t) ~(ids << h->g->at.barrier_first);
	if (h->g->at.barrier_first == 0)
		left &= ~1u; /* barrier 0 is reserved for surrounding code */
	if (!left)
		return kernels_refuse(h->x, 0, "it uses all 16 barriers, and one more is needed");
	h->x->barrier = 31 - (unsigned)__builtin_clz(left);
	h->g->at.own_barrier = h->g->at.among_barrier = (uint8_t)h->x->barrier;
	return 0;
}

static int place_body(struct harness *h)
{
	struct pass_place *at = &h->g->at;
	int r;

	for (int d = 0; d < 6 && !has_field(h, PASS_FIELD_IDS); d++)
		at->id[d] = NULL;
	for (int d = 0; d < 3 && has_field(h, PASS_FIELD_IDS); d++)
		at->id[PASS_NCTAID + d] = arena_printf(&h->x->m->arena, "%u", h->from->grid[d]);
	if (!has_field(h, PASS_FIELD_COUNTS))
		at->threads = 0;
	if (!has_field(h, PASS_FIELD_SHARED))
		at->shared = NULL;
	if (!has_field(h, PASS_FIELD_SHARED) && !has_field(h, PASS_FIELD_DYNAMIC))
		at->dynamic_bytes = NULL;
	at->params = has_field(h, PASS_FIELD_PARAMS) ? "%hd_given" : NULL;
	at->real_exits = !has_field(h, PASS_FIELD_EXITS);
	r = place_barriers(h);
	return r < 0 ? r : kernels_fit(h->x, 0, h->from);
}

static void fill_form(struct harness *h)
{
	struct pass_harness *f = h->form;
	uint64_t total = (uint64_t)h->from->grid[0] * h->from->grid[1] * h->from->grid[2];

	f->fields = h->fields;
	memcpy(f->grid, h->from->grid, sizeof(f->grid));
	memcpy(f->block, h->from->block, sizeof(f->block));
	f->shared_bytes = h->from->dynamic_bytes;
	if (has_field(h, PASS_FIELD_IDS)) {
		f->grid[0] = (uint32_t)(total + 1);
		f->grid[1] = f->grid[2] = 1;
	}
	if (has_field(h, PASS_FIELD_THREADS)) {
		f->block[0] = h->x->threads;
		f->block[1] = f->block[2] = 1;
	}
	if (has_field(h, PASS_FIELD_SHARED))
		f->shared_bytes = h->g->shared_bytes;
	if (has_field(h, PASS_FIELD_DYNAMIC))
		f->shared_bytes += TOO_MUCH;
}

/* ---- rewriting the body in its own function ---- */
enum { PIECE_DECLARE, PIECE_RUN, PIECES };

/* Computes %hd_x, %hd_y and %hd_z with constants, because the code is made for one grid. */
static void put_ids(struct harness *h, struct pass_writer *w)
{
	const uint32_t *grid = h->from->grid;

	pass_put(w, "mov.u32 %hd_x, %ctaid.x;\n"
		    "setp.eq.u32 %hd_p1, %hd_x, 0;\n"
		    "@%hd_p1 bra $hd_out;\n"
		    "sub.u32 %hd_x, %hd_x, 1;\n");
	pass_emit(w,
		"div.u32 %%hd_y, %%hd_x, %u;\n"
		"mul.lo.u32 %%hd_r0, %%hd_y, %u;\n"
		"sub.u32 %%hd_x, %%hd_x, %%hd_r0;\n"
		"div.u32 %%hd_z, %%hd_y, %u;\n"
		"mul.lo.u32 %%hd_r0, %%hd_z, %u;\n"
		"sub.u32 %%hd_y, %%hd_y, %%hd_r0;\n",
		grid[0], grid[0], grid[1], grid[1]);
}

static int make_pieces(struct harness *h)
{
	static const char *const names[] = {"$hd_out"};
	struct kernel *g = h->g;
	struct pass_writer w = {.m = h->x->m, .f = g->f, .diags = h->x->diags};
	int r = kernels_begin(h->x, 0, &w);

	if (r < 0)
		return r;
	if (g->at.params)
		pass_put(&w, ".reg .b64 %hd_given;\nmov.u64 %hd_given, hd_given;\n");
	g->from[PIECE_RUN] = w.out.len;
	if (has_field(h, PASS_FIELD_IDS))
		put_ids(h, &w);
	kernels_rounds_ready(g, &w);
	kernels_put_body(h->x, 0, &w);
	if (!g->at.real_exits)
		pass_emit_block_end(&w, &g->at);
	g->from[PIECES] = w.out.len;
	kernels_put_exits(g, &w, names, 1);
	g->to[0] = ptx_new_label(h->x->m, h->x->host, "out");
	w.error = w.error || g->to[0] ? w.error : -ENOMEM;
	return kernels_graft(h->x, 0, &w, 1);
}

/* ---- code around the body ---- */

/* Emits code with which the first thread copies the kernel's parameters to the place where the body
 * reads them. */
static void put_copy(struct harness *h, struct pass_writer *w)
{
	uint32_t offsets[512], sizes[512], bytes, n = (uint32_t)h->g->n_params;

	if (n > ARRAY_LEN(offsets) ||
		pass_param_layout(h->g->f, &bytes, offsets, sizes, ARRAY_LEN(offsets)) < 0) {
		w->error = -E2BIG;
		return;
	}
	pass_put(w, "mov.u64 %hd_md0, hd_given;\n");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t step = (offsets[i] | sizes[i]) % 4 ? 1 : 4;

		for (uint32_t k = 0; k < sizes[i]; k += step)
			pass_emit(w,
				"ld.param.u%u %%hd_mr1, [%s+%u];\n"
				"st.global.u%u [%%hd_md0+%u], %%hd_mr1;\n",
				8 * step, h->g->params.at[i]->name, k, 8 * step, offsets[i] + k);
	}
}

static void put_ready(struct harness *h, struct pass_writer *w)
{
	if (!has_field(h, PASS_FIELD_PARAMS) && !has_field(h, PASS_FIELD_EXITS))
		return;
	pass_put(w, "mov.u32 %hd_mr0, %tid.x;\n"
		    "mov.u32 %hd_mr1, %tid.y;\n"
		    "or.b32 %hd_mr0, %hd_mr0, %hd_mr1;\n"
		    "mov.u32 %hd_mr1, %tid.z;\n"
		    "or.b32 %hd_mr0, %hd_mr0, %hd_mr1;\n"
		    "setp.ne.u32 %hd_mp0, %hd_mr0, 0;\n"
		    "@%hd_mp0 bra $hd_copied;\n");
	if (has_field(h, PASS_FIELD_PARAMS))
		put_copy(h, w);
	if (has_field(h, PASS_FIELD_EXITS))
		pass_put(w, "mov.u32 %hd_mr1, 0;\nst.shared.u32 [hd_came], %hd_mr1;\n");
	pass_put(w, "$hd_copied:\n" WHOLE_WARP "barrier.sync 0;\n");
}

/* Occupies the barrier numbers that the body had before: one warp arrives at each of these
 * barriers, and no other thread ever does. A body that still used such a number would wait there
 * with another thread count than this warp, so a test would notice. */
static void put_others(struct harness *h, struct pass_writer *w)
{
	const uint32_t *b = h->form->block;
	uint32_t taken = h->g->facts.barrier_ids & ~(1u << h->x->barrier) &
			 ((1u << h->g->at.barrier_first) - 1);
	uint32_t threads = (uint32_t)round_up(pass_threads(b), 32);

	if (!taken)
		return;
	pass_emit(w,
		"mov.u32 %%hd_mr0, %%tid.z;\n"
		"mov.u32 %%hd_mr1, %%tid.y;\n"
		"mad.lo.u32 %%hd_mr0, %%hd_mr0, %u, %%hd_mr1;\n"
		"mov.u32 %%hd_mr1, %%tid.x;\n"
		"mad.lo.u32 %%hd_mr0, %%hd_mr0, %u, %%hd_mr1;\n"
		"setp.ge.u32 %%hd_mp0, %%hd_mr0, 32;\n"
		"vote.sync.any.pred %%hd_mp0, %%hd_mp0, -1;\n"
		"@%%hd_mp0 bra $hd_taken;\n",
		b[1], b[0]);
	for (unsigned i = 0; i < 16; i++)
		if (taken & 1u << i)
			pass_emit(w, "barrier.arrive %u, %u;\n", i, MAX(threads, 64u));
	pass_put(w, "$hd_taken:\n" WHOLE_WARP);
}

/* Emits the code after the body: all threads of the body meet at a barrier. With thread counts, the
 * threads that skipped the body meet there, too. */
static void put_count(struct harness *h, struct pass_writer *w)
{
	const uint32_t *b = h->form->block;
	uint32_t all = has_field(h, PASS_FIELD_THREADS) ? h->g->threads : b[0] * b[1] * b[2];

	pass_put(w, "red.shared.add.u32 [hd_came], 1;\n");
	if (has_field(h, PASS_FIELD_COUNTS))
		pass_put(w, "$hd_meet:\n");
	kernels_put_barrier(h->x, w);
	pass_emit(w,
		"ld.volatile.shared.u32 %%hd_mr1, [hd_came];\n"
		"setp.eq.u32 %%hd_mp0, %%hd_mr1, %u;\n"
		"@%%hd_mp0 ret;\n"
		"trap;\n",
		all);
}

static void put_all(struct harness *h, struct pass_writer *w)
{
	pass_put(w, ".reg .b32 %hd_mr<2>; .reg .pred %hd_mp<2>; .reg .b64 %hd_md<1>;\n"
		    ".reg .b32 %hd_n;\n");
	if (has_field(h, PASS_FIELD_EXITS))
		pass_put(w, ".shared .align 4 .b32 hd_came;\n");
	put_ready(h, w);
	put_others(h, w);
	if (has_field(h, PASS_FIELD_THREADS)) {
		pass_emit(w,
			"mov.u32 %%hd_mr0, %%tid.x;\n"
			"setp.lt.u32 %%hd_mp1, %%hd_mr0, %u;\n"
			"vote.sync.any.pred %%hd_mp1, %%hd_mp1, -1;\n",
			FIRST);
		pass_put(w, has_field(h, PASS_FIELD_COUNTS) ? "@%hd_mp1 bra $hd_past;\n"
							    : "@%hd_mp1 ret;\n");
	}
	kernels_put_piece(h->x, w, 0, PIECE_DECLARE);
	kernels_put_piece(h->x, w, 0, PIECE_RUN);
	if (has_field(h, PASS_FIELD_EXITS))
		put_count(h, w);
	pass_emit(w, "ret;\n%s:\nret;\n", h->g->to[0]->name);
	/* Threads that skipped the body go to the barrier after the body. With PASS_FIELD_IDS,
	 * hardware block 0 runs no block of the kernel's grid. So in hardware block 0 no thread
	 * runs the body, and none would come from the body to that barrier. There the threads that
	 * skipped the body return instead. */
	if (has_field(h, PASS_FIELD_COUNTS))
		pass_put(w, "$hd_past:\n");
	if (has_field(h, PASS_FIELD_COUNTS) && has_field(h, PASS_FIELD_IDS))
		pass_put(w, "mov.u32 %hd_mr0, %ctaid.x;\n"
			    "setp.eq.u32 %hd_mp0, %hd_mr0, 0;\n"
			    "@%hd_mp0 ret;\n");
	if (has_field(h, PASS_FIELD_COUNTS))
		pass_put(w, "bra $hd_meet;\n");
}

static int declare_param_copy(struct harness *h)
{
	char text[96];

	if (!has_field(h, PASS_FIELD_PARAMS))
		return 0;
	snprintf(text, sizeof(text), ".global .align 64 .b8 hd_given[%u];",
		MAX(h->g->own_bytes, 1u));
	return ptx_add_var(h->x->m, h->x->diags, text) ? 0 : -EINVAL;
}

static int make_harness(struct harness *h)
{
	struct kernels *x = h->x;
	struct pass_writer w = {.diags = x->diags};
	int r = kernels_import(x, h->from, PASS_HARNESS_ENTRY);

	if (r == 0)
		r = kernels_settle(x);
	if (r == 0 && has_field(h, PASS_FIELD_THREADS) && x->threads > PASS_MAX_THREADS)
		return kernels_refuse(x, 0,
			"its block and %u more threads exceed the limit of %u threads", FIRST,
			PASS_MAX_THREADS);
	h->g->at.first_thread = has_field(h, PASS_FIELD_THREADS) ? FIRST : 0;
	h->g->shared_at = has_field(h, PASS_FIELD_SHARED) ? AHEAD : 0;
	if (r == 0)
		r = kernels_look(x, 0, h->from);
	/* After a recursive call, lanes may return from the call separately. A bar.warp.sync after
	 * the call does not help, because ptxas removes it if the whole entry is uniform. So
	 * kernels with recursive calls are rejected. */
	if (r == 0 && has_field(h, PASS_FIELD_EXITS) && pass_has(&h->g->facts, PASS_RECURS))
		return kernels_refuse(x, 0, "%s", h->g->facts.found[PASS_RECURS].reason);
	if (r == 0)
		r = place_body(h);
	if (r == 0)
		r = declare_param_copy(h);
	if (r == 0)
		r = kernels_harness_params(x);
	if (r == 0)
		r = make_pieces(h);
	if (r < 0)
		return r;
	fill_form(h);
	w.m = x->m;
	w.f = x->host;
	put_all(h, &w);
	return kernels_seal(x, &w, h->form->block);
}

/* Adds the fields that the requested ones need. With PASS_FIELD_EXITS, threads that exit stay in
 * the block and are counted (rounds.c). If, in addition, only some threads of the block belong to
 * the body (PASS_FIELD_THREADS), the body's barriers need thread counts. */
static uint32_t add_needed_fields(uint32_t fields)
{
	if (fields & PASS_FIELD_THREADS && fields & PASS_FIELD_EXITS)
		fields |= PASS_FIELD_COUNTS;
	if (fields & PASS_FIELD_COUNTS)
		fields |= PASS_FIELD_THREADS | PASS_FIELD_EXITS;
	return fields;
}

int pass_run_virtual(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record)
{
	const struct pass_kernel *kernel = rq->kernels;
	struct kernels *x = calloc(1, sizeof(*x));
	struct harness h = {
		x, x ? &x->of[0] : NULL, kernel, add_needed_fields(rq->fields), &ret->harness};
	int r;

	(void)record;
	if (!x)
		return -ENOMEM;
	ret->entry = PASS_HARNESS_ENTRY;
	x->n = 1;
	x->diags = diags;
	x->as_is = !(h.fields & PASS_FIELD_THREADS);
	x->threads = (uint32_t)round_up(pass_threads(kernel->block), 32) + (x->as_is ? 0 : FIRST);
	r = make_harness(&h);
	kernels_finish(x, r, &ret->verdict);
	ret->m = x->m;
	free(x);
	return r;
}
