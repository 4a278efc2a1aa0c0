/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Branches, calls and exits, where fragments (groups of lanes that execute together) split and
 * merge. Every block that a branch can reach begins with vop_join or vop_meet. A fragment that
 * executes one of these merges with the fragments that can run and are at the same instruction. */
#include "exec_ctl.h"

#include <string.h>

/* Merges fragments (groups of lanes) that are ready at this instruction into the running
 * fragment. */
const struct vinsn *vop_join(struct vx *x, const struct vinsn *in)
{
	struct vwarp *w = x->w;

	if (w->n == 1) {
		w->spin = 0;
		return in + 1;
	}
	for (uint32_t i = w->n; i-- > 0;) {
		struct vfrag *f = &w->frag[i];

		if (f == x->f || f->pc != in || f->state != VF_READY || f->frame != x->f->frame)
			continue;
		x->f->mask |= f->mask;
		vx_remove(x, f);
	}
	x->active = x->f->mask;
	return in + 1;
}

static const struct vinsn *branch_to(
	struct vx *x, const struct vinsn *from, const struct vinsn *target)
{
	if (x->w->n == 1)
		return target;
	if (target <= from)
		x->w->spin++;
	return vx_goto(x, target);
}

const struct vinsn *vop_bra(struct vx *x, const struct vinsn *in)
{
	uint32_t taken = x->mask;
	const struct vinsn *target = in->target;

	if (taken == x->active)
		return branch_to(x, in, target);
	if (!taken)
		return in + 1;
	if (target > in) {
		vx_split(x, taken, target);
		return in + 1;
	}
	/* At a backward branch, the lanes that take the branch continue at the earlier point of the
	 * code. The warp executes the lanes that are first in code order, so these lanes run before
	 * the others. */
	vx_split(x, x->active & ~taken, in + 1);
	return branch_to(x, in, target);
}

const struct vinsn *vop_brx(struct vx *x, const struct vinsn *in)
{
	const uint32_t *index = VX_PTR(x, in->a);
	const struct vinsn *const *targets = x->f->frame->fn->targets + in->x;
	uint32_t left = x->mask, other = x->active & ~x->mask;

	if (!left)
		return in + 1;
	if (other)
		vx_split(x, other, in + 1);
	for (;;) {
		unsigned lane = (unsigned)__builtin_ctz(left);
		uint32_t same = 0, at = index[lane];

		if (at >= in->imm)
			return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, lane, 0,
				"branch index %u of a table of %u", at, (unsigned)in->imm);
		for (uint32_t k = left; k; k &= k - 1)
			if (targets[index[__builtin_ctz(k)]] == targets[at])
				same |= k & -k;
		left &= ~same;
		if (!left)
			return branch_to(x, in, targets[at]);
		vx_split(x, same, targets[at]);
	}
}

/* ---- thread exit ---- */

static void vx_exit_lanes(struct vx *x, uint32_t lanes)
{
	struct vwarp *w = x->w;

	w->live &= ~lanes;
	w->spin = 0;
	w->progress = true;
	x->b->live_threads -= (uint32_t)__builtin_popcount(lanes);
	/* This happens before any frame is freed, because frames are reused. */
	for (uint32_t i = 0; i < w->n_conv; i++)
		w->conv[i].mask &= ~lanes;
	for (struct vframe *f = x->f->frame, *parent; f->parent; f = parent) {
		parent = f->parent;
		f->lanes &= ~lanes;
		if (f->lanes)
			continue;
		/* Only lanes that leave now were in this frame. No other fragment will return from
		 * it or use it, so it can be freed. */
		if (f == x->f->frame && x->f->mask & ~lanes)
			continue;
		x->f->frame = x->f->frame == f ? parent : x->f->frame;
		vx_frame_free(x->b, f);
	}
	x->f->mask &= ~lanes;
	x->active = x->f->mask;
	if (!x->f->mask)
		vx_remove(x, x->f);
	if (w->n_conv)
		vx_conv_check(x, w);
	if (w->waiting)
		vx_sync_check(x, w);
	x->b->barrier[VX_CLUSTER].arrived -= (uint32_t)__builtin_popcount(w->cluster & lanes);
	w->cluster &= ~lanes;
	for (unsigned id = 0; id <= VX_CLUSTER; id++)
		if (x->b->barrier[id].in_use)
			vx_barrier_check(x, id);
}

const struct vinsn *vop_exit(struct vx *x, const struct vinsn *in)
{
	if (!x->mask)
		return in + 1;
	if (x->mask == x->active) {
		vx_exit_lanes(x, x->mask);
		return NULL;
	}
	vx_exit_lanes(x, x->mask);
	return in + 1;
}

const struct vinsn *vop_trap(struct vx *x, const struct vinsn *in)
{
	if (!x->mask)
		return in + 1;
	return vx_fault(x, in, VGPU_FAULT_TRAP, (unsigned)__builtin_ctz(x->mask), 0, "trap");
}

const struct vinsn *vop_unknown(struct vx *x, const struct vinsn *in)
{
	if (!x->mask)
		return in + 1;
	return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(x->mask), 0,
		"this instruction is not known to the virtual GPU");
}

/* ---- calls ---- */

static bool launches_kernels(const char *name)
{
	static const char *const starts[] = {"__cudaCDP2", "cudaLaunchDevice",
		"cudaGetParameterBuffer", "cudaDeviceSynchronize"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* A call of a function that neither the module nor the virtual GPU has. */
const struct vinsn *vop_missing(struct vx *x, const struct vinsn *in)
{
	if (!x->mask)
		return in + 1;
	const char *name = x->f->frame->fn->calls[in->x].name;
	return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(x->mask), 0,
		launches_kernels(name) ? "kernels that launch kernels (%.100s) run on a GPU only, "
					 "not on the virtual GPU"
				       : "the module has no function %.100s, and the virtual GPU "
					 "does not know it",
		name);
}

static void copy_lane(struct vframe *from, uint32_t at, bool from_reg, struct vframe *to,
	uint32_t to_at, bool to_reg, uint32_t bytes, unsigned lane)
{
	const char *src;
	char *dst;
	uint64_t v = 0;

	if (from_reg)
		src = (at & 1 ? (const char *)from->fn->consts - 1 : from->regs) + at +
		      lane * (bytes > 4 ? 8 : 4);
	else
		src = from->local + (size_t)lane * from->fn->local_bytes + at;
	if (to_reg) {
		dst = to->regs + to_at + lane * (bytes > 4 ? 8 : 4);
		memcpy(&v, src, MIN(bytes, 8u));
		memcpy(dst, &v, bytes > 4 ? 8 : 4);
	} else {
		dst = to->local + (size_t)lane * to->fn->local_bytes + to_at;
		memcpy(dst, src, bytes);
	}
}

static void copy_pred(
	struct vframe *from, uint32_t at, struct vframe *to, uint32_t to_at, uint32_t lanes)
{
	uint32_t *dst = (uint32_t *)(to->regs + to_at), src;

	memcpy(&src, (at & 1 ? (const char *)from->fn->consts - 1 : from->regs) + at, sizeof(src));
	*dst = (*dst & ~lanes) | (src & lanes);
}

/* Returns true if the function has at least as many parameters and results as the call passes, and
 * the same of them are predicates. */
static bool same_kinds(const struct vcall *c, const struct vfunc *fn)
{
	if (fn->n_params < c->n_args || fn->n_rets < c->n_rets)
		return false;
	for (uint32_t k = 0; k < c->n_args; k++)
		if (c->args[k].is_pred != fn->params[k].is_pred)
			return false;
	for (uint32_t k = 0; k < c->n_rets; k++)
		if (c->rets[k].is_pred != fn->rets[k].is_pred)
			return false;
	return true;
}

/* Returns the function of this program at an address, or NULL if there is none. */
static const struct vfunc *func_at(struct vx *x, uint64_t addr)
{
	const struct vprogram *p = x->b->program;
	const struct vgpu_module *mod = x->b->launch->kernel->mod;

	for (uint32_t i = 1; i < p->n_funcs; i++)
		if (vgpu_func_addr(mod, p->funcs[i].ptx) == addr)
			return &p->funcs[i];
	return NULL;
}

static const struct vinsn *enter_function(struct vx *x, const struct vinsn *in,
	const struct vcall *c, const struct vfunc *fn, uint32_t lanes)
{
	struct vframe *from = x->f->frame, *to;

	if (!same_kinds(c, fn))
		return vx_fault(x, in, VGPU_FAULT_INSTRUCTION, (unsigned)__builtin_ctz(lanes), 0,
			"call of %.60s with other parameters than it has", fn->name);
	to = from->depth < MAX_DEPTH &&
			     from->local_start + from->fn->local_bytes + fn->local_bytes <=
				     MAX_STACK
		     ? vx_frame_new(x->b, fn)
		     : NULL;
	if (!to)
		return vx_fault(x, in, VGPU_FAULT_STACK, (unsigned)__builtin_ctz(lanes), 0,
			"calls nested too deeply (%u, with %u bytes of stack)", from->depth,
			from->local_start + from->fn->local_bytes);
	to->parent = from;
	to->call = in;
	to->lanes = lanes;
	to->depth = from->depth + 1;
	to->local_start = from->local_start + from->fn->local_bytes;
	for (uint32_t k = 0; k < c->n_args; k++) {
		const struct vcopy *a = &c->args[k];
		const struct vformal *p = &fn->params[k];

		if (a->is_pred)
			copy_pred(from, a->from, to, p->at, lanes);
		for (uint32_t l = a->is_pred ? 0 : lanes; l; l &= l - 1)
			copy_lane(from, a->from, a->from_reg, to, p->at, p->is_reg,
				MIN(a->bytes, p->bytes), (unsigned)__builtin_ctz(l));
	}
	x->f->frame = to;
	x->f->pc = fn->code;
	vx_load(x, x->f);
	return vx_goto(x, fn->code);
}

const struct vinsn *vop_call(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];
	const uint64_t *addr = VX_PTR(x, in->a);
	uint32_t lanes = x->mask, same = 0;
	const struct vfunc *fn = c->callee;
	unsigned first;

	if (!lanes)
		return in + 1;
	if (x->active & ~lanes)
		vx_split(x, x->active & ~lanes, in + 1);
	if (fn)
		return enter_function(x, in, c, fn, lanes);
	first = (unsigned)__builtin_ctz(lanes);
	fn = func_at(x, addr[first]);
	if (!fn)
		return vx_fault(x, in, VGPU_FAULT_PC, first, addr[first],
			"call of 0x%llx, which is no function of its module",
			(unsigned long long)addr[first]);
	for (uint32_t l = lanes; l; l &= l - 1)
		if (addr[__builtin_ctz(l)] == addr[first])
			same |= l & -l;
	/* Lanes that call another function execute this instruction again later. */
	if (lanes & ~same)
		vx_split(x, lanes & ~same, in);
	return enter_function(x, in, c, fn, same);
}

static void leave_function(struct vx *x, struct vfrag *f)
{
	struct vframe *from = f->frame, *to = from->parent;
	const struct vcall *c = &to->fn->calls[from->call->x];

	for (uint32_t k = 0; k < c->n_rets; k++) {
		const struct vcopy *r = &c->rets[k];
		const struct vformal *p = &from->fn->rets[k];

		if (r->is_pred)
			copy_pred(from, p->at, to, r->to, f->mask);
		for (uint32_t l = r->is_pred ? 0 : f->mask; l; l &= l - 1)
			copy_lane(from, p->at, p->is_reg, to, r->to, r->to_reg,
				MIN(r->bytes, p->bytes), (unsigned)__builtin_ctz(l));
	}
	from->lanes &= ~f->mask;
	f->frame = to;
	f->pc = from->call + 1;
	if (from->lanes)
		return;
	for (uint32_t i = x->w->n_conv; i-- > 0;)
		if (x->w->conv[i].frame == from)
			x->w->conv[i] = x->w->conv[--x->w->n_conv];
	vx_frame_free(x->b, from);
}

const struct vinsn *vop_ret(struct vx *x, const struct vinsn *in)
{
	struct vfrag *f = x->f;

	if (!x->f->frame->parent)
		return vop_exit(x, in);
	if (!x->mask)
		return in + 1;
	if (x->mask != x->active) {
		leave_function(x, vx_split(x, x->mask, in));
		return in + 1;
	}
	leave_function(x, f);
	vx_load(x, f);
	return vx_goto(x, f->pc);
}
