/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Special registers, packing of small values into large ones, address spaces, fences and time. The
 * clock is the SM's virtual clock. nanosleep ends the warp's turn until the block's next step; the
 * time in between counts as sleep. This satisfies the PTX definition (a sleep of 0 to 2 times the
 * given time). */
#include "exec_ctl.h"

#include <string.h>
#include <time.h>

#include "dev/cpu/fence.h"

static uint64_t timer_ns(const struct vx *x)
{
	const struct vgpu_launch *l = x->b->launch;
	struct timespec ts;

	if (l->timer_ns)
		return l->timer_ns(l->user);
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the value of a special register that is the same in all lanes. */
static uint64_t uniform_value(const struct vx *x, const struct vinsn *in)
{
	unsigned sr = in->op;
	const struct vgpu_block *b = x->b;
	const struct vgpu_launch *l = b->launch;

	switch (sr) {
	case PTX_SR_NTID_X:
	case PTX_SR_NTID_Y:
	case PTX_SR_NTID_Z:
		return l->block[sr - PTX_SR_NTID_X];
	case PTX_SR_CTAID_X:
	case PTX_SR_CTAID_Y:
	case PTX_SR_CTAID_Z:
		return b->ctaid[sr - PTX_SR_CTAID_X];
	case PTX_SR_NCTAID_X:
	case PTX_SR_NCTAID_Y:
	case PTX_SR_NCTAID_Z:
		return l->grid[sr - PTX_SR_NCTAID_X];
	case PTX_SR_WARPID:
		return b->slot * b->n_warps + x->w->index;
	case PTX_SR_NWARPID:
		return 64;
	case PTX_SR_SMID:
		return b->smid;
	case PTX_SR_NSMID:
		return l->n_sms;
	case PTX_SR_GRIDID:
		return l->grid_id;
	case PTX_SR_CLOCK:
	case PTX_SR_CLOCK64:
		return x->cycles;
	case PTX_SR_CLOCK_HI:
		return x->cycles >> 32;
	case PTX_SR_GLOBALTIMER:
	case PTX_SR_GLOBALTIMER_LO:
		return timer_ns(x);
	case PTX_SR_GLOBALTIMER_HI:
		return timer_ns(x) >> 32;
	case PTX_SR_DYNAMIC_SMEM:
		return l->dynamic_shared_bytes;
	case PTX_SR_TOTAL_SMEM:
		return b->own_shared_bytes;
	case PTX_SR_AGGR_SMEM:
		return b->own_shared_bytes + VGPU_SHARED_RESERVED;
	/* %envreg1 and %envreg2 are the workspace's address, as cooperative_groups expects */
	case PTX_SR_ENVREG:
		return in->imm == 1   ? l->workspace >> 32
		       : in->imm == 2 ? (uint32_t)l->workspace
				      : 0;
	case PTX_SR_RESERVED_SMEM:
		return in->imm;
	default:
		return 0;
	}
}

static uint32_t lane_value(const struct vx *x, unsigned sr, unsigned i)
{
	switch (sr) {
	case PTX_SR_TID_X:
	case PTX_SR_TID_Y:
	case PTX_SR_TID_Z:
		return x->w->tid[sr - PTX_SR_TID_X][i];
	case PTX_SR_LANEID:
		return i;
	case PTX_SR_LANEMASK_EQ:
		return 1u << i;
	case PTX_SR_LANEMASK_LT:
		return (1u << i) - 1;
	case PTX_SR_LANEMASK_LE:
		return ~0u >> (31 - i);
	case PTX_SR_LANEMASK_GT:
		return ~(~0u >> (31 - i));
	default:
		return ~((1u << i) - 1);
	}
}

static bool per_lane(unsigned sr)
{
	return sr == PTX_SR_TID_X || sr == PTX_SR_TID_Y || sr == PTX_SR_TID_Z ||
	       sr == PTX_SR_LANEID || (sr >= PTX_SR_LANEMASK_EQ && sr <= PTX_SR_LANEMASK_GE);
}

const struct vinsn *vop_special(struct vx *x, const struct vinsn *in)
{
	uint32_t *d32 = VX_U32(x, in->d), m = x->mask;
	uint64_t *d64 = VX_U64(x, in->d), v;
	bool lanes = per_lane(in->op);

	if (!m)
		return in + 1;
	v = lanes ? 0 : uniform_value(x, in);
	/* A loop that reads the time usually waits, so it counts as polling. */
	if (in->op >= PTX_SR_GLOBALTIMER && in->op <= PTX_SR_GLOBALTIMER_HI)
		vx_poll(x, 0);
	for (unsigned i = 0; i < LANES; i++) {
		if (!(m >> i & 1))
			continue;
		if (lanes)
			v = lane_value(x, in->op, i);
		if (in->flags & VI_WIDE)
			d64[i] = v;
		else
			d32[i] = (uint32_t)v;
	}
	return in + 1;
}

/* Ends the warp's turn. The unused instructions of the turn do not count as executed. */
static void vx_yield(struct vx *x)
{
	x->unused += x->left;
	x->left = 0;
}

/* Ends the warp's turn if the warp does nothing but read the same values again and again. Stores,
 * synchronization and changed values count as progress. A warp that was resting before needs only
 * one more round through all of its polled values without a change, so that thousands of waiting
 * warps cost little. */
void vx_poll(struct vx *x, uint64_t hash)
{
	struct vwarp *w = x->w;

	struct vpolls *p = &w->polls;
	uint64_t now = p->issued + x->quantum - x->left;

	if (w->n > 1)
		w->spin += VX_SPIN_POLL;
	for (unsigned k = 0; k < VX_WATCHED; k++) {
		if (p->hash[k] != hash)
			continue;
		bool round = p->vain && k == p->first;
		if (!p->vain++) {
			p->since = now;
			p->first = k;
		}
		if (p->vain < VX_POLLS && (!round || !p->resting || w->progress))
			return;
		p->resting = !w->progress && now - p->since <= p->vain * VX_POLL_INSNS;
		p->vain = 0;
		w->progress = false;
		if (!p->resting)
			return;
		w->asleep = true;
		w->sleep_ns = VX_POLL_CYCLES;
		vx_yield(x);
		return;
	}
	/* A new value replaces the oldest entry, so that a warp that polls several addresses in
	 * turn also rests. */
	p->hash[p->misses++ % VX_WATCHED] = hash;
	w->progress = true;
	p->resting = false;
}

const struct vinsn *vop_nanosleep(struct vx *x, const struct vinsn *in)
{
	const uint32_t *t = VX_U32(x, in->a);

	if (!x->mask)
		return in + 1;
	x->w->sleep_ns = MIN(t[__builtin_ctz(x->mask)], 1000000u);
	x->w->asleep = true;
	if (x->w->n > 1)
		x->w->spin += VX_SPIN_POLL;
	vx_yield(x);
	return in + 1;
}

#if defined(__SANITIZE_THREAD__)
uint32_t vgpu_fenced;
#endif

const struct vinsn *vop_fence(struct vx *x, const struct vinsn *in)
{
	if (x->mask)
		vgpu_fence(__ATOMIC_SEQ_CST);
	return in + 1;
}

const struct vinsn *vop_nop(struct vx *x, const struct vinsn *in)
{
	(void)x;
	return in + 1;
}

/* ---- mov between one wide register and several narrow ones ----
 *
 * Fields of the instruction:
 * - in->vec: the number of parts (narrow registers)
 * - in->size: the number of bytes of a part
 * - in->x: index in func->ext of the parts' offsets
 *
 * The wide value has 4 or 8 bytes per lane, or 16 bytes in two adjacent registers of 8 bytes. */
static char *wide_at(struct vx *x, uint32_t off, unsigned total, unsigned lane, unsigned byte)
{
	if (total <= 4)
		return (char *)VX_PTR(x, off) + lane * 4 + byte;
	return (char *)VX_PTR(x, off) + byte / 8 * (LANES * 8) + lane * 8 + byte % 8;
}

const struct vinsn *vop_pack(struct vx *x, const struct vinsn *in)
{
	const uint32_t *part = x->f->frame->fn->ext + in->x;
	unsigned total = in->size * in->vec;
	char tmp[LANES][16] = {0};

	for (unsigned k = 0; k < in->vec; k++) {
		const char *p = VX_PTR(x, part[k]);

		for (unsigned i = 0; i < LANES; i++)
			memcpy(tmp[i] + k * in->size, p + i * (in->size > 4 ? 8u : 4u), in->size);
	}
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		for (unsigned k = 0; k < total; k += MIN(total, 8u))
			memcpy(wide_at(x, in->d, total, i, k), tmp[i] + k, MIN(total, 8u));
	}
	return in + 1;
}

const struct vinsn *vop_unpack(struct vx *x, const struct vinsn *in)
{
	const uint32_t *part = x->f->frame->fn->ext + in->x;
	unsigned total = in->size * in->vec;

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		char tmp[16];

		for (unsigned k = 0; k < total; k += MIN(total, 8u))
			memcpy(tmp + k, wide_at(x, in->a, total, i, k), MIN(total, 8u));
		for (unsigned k = 0; k < in->vec; k++) {
			uint64_t v = 0;

			if (part[k] == VX_NONE)
				continue;
			memcpy(&v, tmp + k * in->size, in->size);
			if (in->size > 4)
				VX_U64(x, part[k])[i] = v;
			else
				VX_U32(x, part[k])[i] = (uint32_t)v;
		}
	}
	return in + 1;
}

/* ---- address space conversions ---- */

const struct vinsn *vop_isspacep(struct vx *x, const struct vinsn *in)
{
	const uint64_t *a64 = VX_U64(x, in->a);
	const uint32_t *a32 = VX_U32(x, in->a);
	uint32_t r = 0, m = x->mask;

	for (unsigned i = 0; i < LANES; i++) {
		uint64_t a = in->flags & VI_ADDR32 ? a32[i] : a64[i];
		unsigned space = a < VGPU_SHARED_BASE  ? PTX_GLOBAL
				 : a < VGPU_LOCAL_BASE ? PTX_SHARED
				 : a < VGPU_PARAM_BASE ? PTX_LOCAL
						       : PTX_PARAM;

		if (in->space == PTX_CONST && (m >> i & 1)) {
			struct vgpu_range range;

			space = vgpu_mem_range(x->b->mem, a, &range) && range.read_only
					? PTX_CONST
					: PTX_GENERIC;
		}
		r |= (uint32_t)(space == in->space) << i;
	}
	VX_PRED(x, in->d) = (VX_PRED(x, in->d) & ~m) | (r & m);
	return in + 1;
}

/* Converts an address between a state space and the generic space by adding in->imm, the base of
 * the space's window or its negative. 32-bit addresses are extended. */
const struct vinsn *vop_cvta(struct vx *x, const struct vinsn *in)
{
	const uint64_t *a64 = VX_U64(x, in->a);
	const uint32_t *a32 = VX_U32(x, in->a);
	uint64_t *d64 = VX_U64(x, in->d);
	uint32_t *d32 = VX_U32(x, in->d), m = x->mask;

	for (unsigned i = 0; i < LANES; i++) {
		uint64_t a = (in->flags & VI_ADDR32 ? a32[i] : a64[i]) + in->imm;

		if (!(m >> i & 1))
			continue;
		if (in->flags & VI_WIDE)
			d64[i] = a;
		else
			d32[i] = (uint32_t)a;
	}
	return in + 1;
}

/* Finds the n-th set bit from bit `base`: upwards if n > 0, downwards if n < 0; if n is 0, the bit
 * at base itself if it is set. As on the hardware, a base above 31 finds nothing, and n = INT32_MIN
 * returns bit 0, set or not. */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n)
{
	int step = n < 0 ? -1 : 1;
	uint32_t left = n < 0 ? 0 - (uint32_t)n : (uint32_t)n;

	if (n == INT32_MIN)
		return 0;
	if (base >= 32)
		return ~0u;
	if (!n)
		return mask >> base & 1 ? base : ~0u;
	for (int at = (int)base; at >= 0 && at < 32; at += step)
		if (mask >> at & 1 && !--left)
			return (uint32_t)at;
	return ~0u;
}

const struct vinsn *vop_fns(struct vx *x, const struct vinsn *in)
{
	const uint32_t *a = VX_U32(x, in->a), *b = VX_U32(x, in->b), *c = VX_U32(x, in->c);
	uint32_t *d = VX_U32(x, in->d);

	for (unsigned i = 0; i < LANES; i++)
		if (x->mask >> i & 1)
			d[i] = find_nth(a[i], b[i], (int32_t)c[i]);
	return in + 1;
}
