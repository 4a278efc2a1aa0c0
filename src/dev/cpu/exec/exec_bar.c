/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Barriers of a block, and of a cluster (a single block on the virtual GPU). Arrivals are counted
 * in threads. A barrier without a count waits for all threads that have not exited. A barrier with
 * a count waits for that many threads. For such a barrier, a warp whose live lanes have all
 * arrived, at once or in several steps, counts as 32 threads. This holds even if the warp has fewer
 * lanes or some have exited. */
#include "exec_ctl.h"

/* Returns how many threads are to be added to the barrier's count for the lanes that arrive now.
 * This depends on which lanes of the warp wait at the barrier already: a warp whose live lanes have
 * all arrived can count as 32 threads. */
static uint32_t count_arrivals(const struct vwarp *w, uint32_t lanes, unsigned id, bool counted)
{
	uint32_t n = (uint32_t)__builtin_popcount(lanes), all = lanes;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == VF_BARRIER && w->frag[i].barrier == id)
			all |= w->frag[i].mask;
	return counted && all == w->live ? n + LANES - (uint32_t)__builtin_popcount(all) : n;
}

static uint32_t red_value(const struct vbarrier *bar, const struct vinsn *in)
{
	switch (in->op) {
	case VBAR_POPC:
		return bar->popc;
	case VBAR_AND:
		return bar->and_all ? ~0u : 0;
	default:
		return bar->or_any ? ~0u : 0;
	}
}

static void store_result(struct vfrag *f, const struct vinsn *in, uint32_t v)
{
	uint32_t *d = (uint32_t *)(f->frame->regs + in->d);

	if (in->op == VBAR_POPC) {
		for (unsigned i = 0; i < LANES; i++)
			if (f->mask >> i & 1)
				d[i] = v;
	} else {
		*d = (*d & ~f->mask) | (v & f->mask);
	}
}

static void release_barrier(struct vx *x, unsigned id)
{
	struct vgpu_block *b = x->b;
	struct vbarrier *bar = &b->barrier[id];

	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct vwarp *w = &b->warps[k];
		bool any = false;

		for (uint32_t i = 0; i < w->n; i++) {
			struct vfrag *f = &w->frag[i];

			if (f->state != VF_BARRIER || f->barrier != id)
				continue;
			if (f->pc->op >= VBAR_POPC)
				store_result(f, f->pc, red_value(bar, f->pc));
			f->state = VF_READY;
			f->pc++;
			any = true;
		}
		w->cluster = id == VX_CLUSTER ? 0 : w->cluster;
		if (any && w->n > 1)
			vx_merge_equal(w, w == x->w && x->f ? &x->f : NULL);
		if (any) {
			w->progress = true;
			w->spin = 0;
		}
	}
	*bar = (struct vbarrier){0};
}

void vx_barrier_check(struct vx *x, unsigned id)
{
	const struct vbarrier *bar = &x->b->barrier[id];

	if (bar->arrived >= (bar->expected ? bar->expected : x->b->live_threads))
		release_barrier(x, id);
}

static uint32_t lanes_in(const struct vwarp *w, enum vfrag_state state)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == state)
			lanes |= w->frag[i].mask;
	return lanes;
}

/* Releases aligned barriers without a thread count that only wait for lanes held at a convergence
 * point. If some lanes of a warp reach an aligned barrier, the whole warp counts as arrived,
 * including its held lanes. This was seen on an H200: clang's pt_nested of kernels/forms (the
 * original kernel) ends, although some lanes are at a BSYNC while the others execute WARPSYNC.ALL
 * and BAR.SYNC. */
bool vx_barriers_take_held(struct vx *x)
{
	struct vgpu_block *b = x->b;
	bool any = false;

	for (unsigned id = 0; id < VGPU_BARRIERS; id++) {
		uint32_t held = 0;

		if (!b->barrier[id].in_use || !b->barrier[id].aligned || b->barrier[id].expected)
			continue;
		for (uint32_t k = 0; k < b->n_warps; k++)
			if (lanes_in(&b->warps[k], VF_BARRIER))
				held += (uint32_t)__builtin_popcount(
					lanes_in(&b->warps[k], VF_CONVERGE));
		if (!held || b->barrier[id].arrived + held < b->live_threads)
			continue;
		release_barrier(x, id);
		any = true;
	}
	return any;
}

/* Returns true, with the value in *ret, if all lanes of the mask have the same value. */
static bool is_uniform(struct vx *x, uint32_t off, uint32_t *ret)
{
	const uint32_t *v = VX_U32(x, off);
	unsigned first = (unsigned)__builtin_ctz(x->mask);

	*ret = v[first];
	for (uint32_t m = x->mask; m; m &= m - 1)
		if (v[__builtin_ctz(m)] != *ret)
			return false;
	return true;
}

/* Moves the lanes whose barrier id or count differs from that of the first lane into a separate
 * fragment (a group of lanes that execute together). */
static void keep_alike(struct vx *x, const struct vinsn *in, uint32_t id, uint32_t count)
{
	const uint32_t *ids = VX_U32(x, in->a);
	const uint32_t *counts = in->b != VX_NONE ? VX_U32(x, in->b) : NULL;
	uint32_t other = 0;

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (ids[i] != id || (counts && counts[i] != count))
			other |= 1u << i;
	}
	vx_split(x, other, in);
	x->mask &= ~other;
}

static const struct vinsn *arrive_at(
	struct vx *x, const struct vinsn *in, struct vbarrier *bar, unsigned id, uint32_t count)
{
	uint32_t lanes = x->mask, p = in->c != VX_NONE ? VX_PRED(x, in->c) : 0;

	if (in->imm & 1)
		p = ~p;
	if (!bar->in_use) {
		*bar = (struct vbarrier){
			.in_use = true, .aligned = true, .expected = count, .and_all = 1};
	} else if (bar->expected != count) {
		return vx_fault(x, in, VGPU_FAULT_DEADLOCK, (unsigned)__builtin_ctz(lanes), 0,
			"barrier %u is waited for by %u threads here and by %u elsewhere", id,
			count, bar->expected);
	}
	bar->aligned &= !!(in->imm & 2);
	bar->arrived += count_arrivals(x->w, lanes, id, count != 0);
	bar->popc += (uint32_t)__builtin_popcount(lanes & p);
	bar->and_all &= !(lanes & ~p);
	bar->or_any |= !!(lanes & p);
	if (in->op == VBAR_ARRIVE) {
		vx_barrier_check(x, id);
		return in + 1;
	}
	if (x->active & ~lanes)
		vx_split(x, x->active & ~lanes, in + 1);
	x->f->pc = in;
	x->f->state = VF_BARRIER;
	x->f->barrier = (uint8_t)id;
	vx_barrier_check(x, id);
	return NULL;
}

const struct vinsn *vop_bar(struct vx *x, const struct vinsn *in)
{
	uint32_t id, count = 0;
	bool alike;
	unsigned lane;

	if (!x->mask)
		return in + 1;
	alike = is_uniform(x, in->a, &id);
	if (in->b != VX_NONE)
		alike &= is_uniform(x, in->b, &count);
	if (!alike)
		keep_alike(x, in, id, count);
	lane = (unsigned)__builtin_ctz(x->mask);
	if (id >= VGPU_BARRIERS || count % LANES || (in->b != VX_NONE && !count))
		return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, lane, 0,
			"barrier %u with %u threads: ids go to 15, counts are multiples of 32", id,
			count);
	return arrive_at(x, in, &x->b->barrier[id], id, count);
}

/* ---- cluster barrier: arrival and wait are separate instructions ---- */

const struct vinsn *vop_cluster_arrive(struct vx *x, const struct vinsn *in)
{
	struct vbarrier *bar = &x->b->barrier[VX_CLUSTER];
	uint32_t again = x->mask & x->w->cluster;

	if (!x->mask)
		return in + 1;
	if (again)
		return vx_fault(x, in, VGPU_FAULT_DEADLOCK, (unsigned)__builtin_ctz(again), 0,
			"arrives at the cluster's barrier again before it has waited there");
	x->w->cluster |= x->mask;
	x->w->progress = true;
	bar->in_use = true;
	bar->arrived += (uint32_t)__builtin_popcount(x->mask);
	vx_barrier_check(x, VX_CLUSTER);
	return in + 1;
}

/* Waits at the cluster barrier. A lane whose arrival is no longer recorded has been released
 * already and does not wait. release_barrier makes the waiting lanes continue after this
 * instruction. */
const struct vinsn *vop_cluster_wait(struct vx *x, const struct vinsn *in)
{
	uint32_t lanes = x->mask & x->w->cluster;

	if (!lanes)
		return in + 1;
	if (x->active & ~lanes)
		vx_split(x, x->active & ~lanes, in + 1);
	x->f->pc = in;
	x->f->state = VF_BARRIER;
	x->f->barrier = VX_CLUSTER;
	return NULL;
}
