/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes lanes wait for each other where their diverged paths meet (converge.c finds these points).
 * When a branch splits a fragment (a group of lanes that execute together), a record of the
 * fragment's lanes is made for each convergence point of the branch. A lane that arrives at such a
 * point looks at the point's records that contain this lane. It waits until the other lanes in
 * these records have arrived or exited. */
#include "exec_ctl.h"

#include <stdlib.h>

/* Returns the lanes that are waiting at a convergence point. */
static uint32_t waiting_at(const struct vwarp *w, const struct vconv *c)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == VF_CONVERGE && w->frag[i].pc == c->at &&
			w->frag[i].frame == c->frame)
			lanes |= w->frag[i].mask;
	return lanes;
}

static uint32_t held_at(const struct vwarp *w, const struct vinsn *at, const struct vframe *frame)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < w->n_conv; i++)
		if (w->conv[i].at == at && w->conv[i].frame == frame)
			lanes |= w->conv[i].mask;
	return lanes;
}

/* If all lanes of the warp wait for each other, at convergence points that they cannot all reach,
 * drops one of their records, so that some lanes go on. Returns true if it dropped a record. */
static bool break_circle(struct vwarp *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct vfrag *f = &w->frag[i];

		if (f->state != VF_CONVERGE || f->mask & ~held_at(w, f->pc, f->frame))
			return false;
	}
	for (uint32_t i = 0; i < w->n_conv; i++) {
		if (!(waiting_at(w, &w->conv[i]) & w->conv[i].mask))
			continue;
		w->conv[i] = w->conv[--w->n_conv];
		return true;
	}
	return false;
}

void vx_conv_check(struct vx *x, struct vwarp *w)
{
	bool any = false;

	do {
		for (uint32_t i = w->n_conv; i-- > 0;)
			if (!(w->conv[i].mask & ~waiting_at(w, &w->conv[i])))
				w->conv[i] = w->conv[--w->n_conv];
	} while (break_circle(w));
	for (uint32_t i = 0, n = w->n; i < n; i++) {
		struct vfrag *f = &w->frag[i];
		uint32_t held;

		if (f->state != VF_CONVERGE)
			continue;
		held = held_at(w, f->pc, f->frame) & f->mask;
		if (held == f->mask)
			continue;
		any = true;
		if (held) {
			w->frag[w->n] = *f;
			w->frag[w->n++].mask = held;
			f->mask &= ~held;
		}
		f->state = VF_READY;
	}
	if (!any)
		return;
	w->spin = 0;
	w->progress = true;
	vx_merge_equal(w, x->f ? &x->f : NULL);
}

static bool note_lanes(struct vx *x, const struct vinsn *at)
{
	struct vwarp *w = x->w;

	for (uint32_t i = 0; i < w->n_conv; i++)
		if (w->conv[i].at == at && w->conv[i].frame == x->f->frame &&
			!(x->active & ~w->conv[i].mask))
			return true;
	if (w->n_conv == w->cap_conv) {
		uint32_t cap = w->cap_conv ? w->cap_conv * 2 : 16;
		struct vconv *more = realloc(w->conv, cap * sizeof(*more));

		if (!more)
			return false;
		w->conv = more;
		w->cap_conv = cap;
	}
	w->conv[w->n_conv++] = (struct vconv){at, x->f->frame, x->active};
	return true;
}

static const struct vinsn *no_memory(struct vx *x, const struct vinsn *in)
{
	return vx_fault(x, in, VGPU_FAULT_STACK, (unsigned)__builtin_ctz(x->active), 0,
		"no memory for lanes that wait for each other");
}

/* Records the active lanes for all convergence points of this branch. in->table is the index of a
 * NULL-terminated list of them. */
static bool note_all(struct vx *x, const struct vinsn *in)
{
	const struct vinsn *const *at = x->f->frame->fn->waits + in->table;

	for (; *at; at++)
		if (!note_lanes(x, *at))
			return false;
	return true;
}

const struct vinsn *vop_part_bra(struct vx *x, const struct vinsn *in)
{
	if (x->mask && x->mask != x->active && !note_all(x, in))
		return no_memory(x, in);
	return vop_bra(x, in);
}

const struct vinsn *vop_part_brx(struct vx *x, const struct vinsn *in)
{
	const uint32_t *index = VX_PTR(x, in->a);
	bool parts = x->mask != x->active;

	for (uint32_t m = x->mask; m; m &= m - 1)
		parts |= index[__builtin_ctz(m)] != index[__builtin_ctz(x->mask)];
	if (x->mask && parts && !note_all(x, in))
		return no_memory(x, in);
	return vop_brx(x, in);
}

/* Executes a call. If the lanes call different functions, or some do not call, they meet after the
 * call. */
const struct vinsn *vop_part_call(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];
	const uint64_t *addr = VX_PTR(x, in->a);
	bool parts = x->mask != x->active;

	for (uint32_t m = c->callee ? 0 : x->mask; m; m &= m - 1)
		parts |= addr[__builtin_ctz(m)] != addr[__builtin_ctz(x->mask)];
	if (x->mask && parts && !note_lanes(x, in + 1))
		return no_memory(x, in);
	return vop_call(x, in);
}

const struct vinsn *vop_meet(struct vx *x, const struct vinsn *in)
{
	struct vwarp *w = x->w;
	uint32_t held;

	/* Other ready lanes at this instruction join the running lanes first. They are then held,
	 * or continue, together. */
	vop_join(x, in);
	held = w->n_conv ? held_at(w, in, x->f->frame) & x->active : 0;
	if (!held)
		return in + 1;
	if (held != x->active) {
		vx_split(x, held, in)->state = VF_CONVERGE;
		vx_conv_check(x, w);
		return in + 1;
	}
	x->f->pc = in;
	x->f->state = VF_CONVERGE;
	x->f = NULL;
	vx_conv_check(x, w);
	return NULL;
}
