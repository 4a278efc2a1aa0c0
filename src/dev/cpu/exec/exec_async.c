/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Asynchronous copies, small and bulk, and mbarriers in shared memory. A copy may complete at any
 * time, so it is done at once, and waiting for a group of copies does nothing.
 *
 * An mbarrier is a 64-bit value that is opaque to programs. Here its bits are, from the lowest:
 * - 20 bits: pending arrivals
 * - 20 bits: expected arrivals
 * - 23 bits: pending bytes, plus TX_BIAS
 * - 1 bit: parity of the current phase */
#include "exec_ctl.h"

#include <string.h>

#define COUNT_MASK 0xfffffull
#define TX_BIAS    (1ull << 21)
#define TX_MASK    0x7fffffull
#define PHASE      (1ull << 63)

/* Executes cp.async. a is the destination address and b the source address (global memory). c is
 * the number of bytes to read, or VX_NONE for all. vec is the number of bytes to write; bytes that
 * are not read become zero. x and x + 1 are the range caches. */
const struct vinsn *vop_cp_async(struct vx *x, const struct vinsn *in)
{
	struct vinsn from = *in;
	void *to_p[LANES], *from_p[LANES];

	if (!x->mask)
		return in + 1;
	vx_weak_sync(x);
	from.a = in->b;
	from.imm = 0;
	from.space = PTX_GLOBAL;
	from.flags = 0;
	from.x = in->x + 1;
	if (!vx_addresses(x, in, in->vec, true, to_p))
		return NULL;
	if (in->c == VX_NONE && !vx_addresses(x, &from, in->vec, false, from_p))
		return NULL;
	x->w->progress = true;
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint32_t n = in->vec;

		if (in->c != VX_NONE) {
			n = MIN(VX_U32(x, in->c)[i], n);
			from.flags = VI_UNALIGNED;
			from_p[i] = n ? vx_resolve(x, &from, i, VX_U64(x, in->b)[i], n, false)
				      : to_p[i];
			if (!from_p[i])
				return NULL;
		}
		if (n)
			memmove(to_p[i], from_p[i], n);
		memset((char *)to_p[i] + n, 0, in->vec - n);
	}
	return in + 1;
}

static uint64_t make_word(uint64_t expected, uint64_t pending, uint64_t tx, uint64_t phase)
{
	return phase | (tx & TX_MASK) << 40 | (expected & COUNT_MASK) << 20 |
	       (pending & COUNT_MASK);
}

static uint64_t pending_of(uint64_t w)
{
	return w & COUNT_MASK;
}

static uint64_t expected_of(uint64_t w)
{
	return w >> 20 & COUNT_MASK;
}

static uint64_t tx_of(uint64_t w)
{
	return w >> 40 & TX_MASK;
}

/* Starts the next phase if no arrivals and no bytes are pending. */
static uint64_t settle_phase(uint64_t w)
{
	if (pending_of(w) || tx_of(w) != TX_BIAS)
		return w;
	return make_word(expected_of(w), expected_of(w), TX_BIAS, (w ^ PHASE) & PHASE);
}

/* Finds the host addresses of the active lanes' mbarriers, which the caller is about to change.
 * Returns false after a fault. */
static bool find_barriers(struct vx *x, const struct vinsn *in, void *ret_p[LANES])
{
	if (!x->mask)
		return true;
	if (!vx_addresses(x, in, 8, true, ret_p))
		return false;
	x->w->progress = true;
	return true;
}

/* Subtracts a lane's copied bytes from the pending bytes of its mbarrier. */
static bool complete_bytes(struct vx *x, const struct vinsn *in, unsigned lane, uint32_t bytes)
{
	struct vinsn at = *in;
	uint64_t *p, w;

	at.space = PTX_SHARED;
	at.flags = 0;
	p = vx_resolve(x, &at, lane, (uint32_t)VX_U64(x, in->table)[lane], 8, true);
	if (!p)
		return false;
	w = *p;
	*p = settle_phase(make_word(expected_of(w), pending_of(w), tx_of(w) - bytes, w & PHASE));
	return true;
}

/* Executes a bulk copy for each active lane; usually there is only one. */
const struct vinsn *vop_bulk(struct vx *x, const struct vinsn *in)
{
	vx_weak_sync(x);
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint32_t n = VX_U32(x, in->c)[i];
		struct vinsn from = *in, to = *in;
		void *dst, *src;

		if (n % 16)
			return vx_fault(x, in, VGPU_FAULT_ALIGN, i, 0,
				"a copy of %u bytes, which is not a multiple of 16", n);
		to.flags = from.flags = 0;
		from.space = in->op;
		from.x = in->x + 1;
		dst = n ? vx_resolve(x, &to, i, VX_U64(x, in->a)[i], n, true) : x;
		src = dst && n ? vx_resolve(x, &from, i, VX_U64(x, in->b)[i], n, false) : dst;
		if (!src)
			return NULL;
		if (n)
			memmove(dst, src, n);
		if (in->table != VX_NONE && !complete_bytes(x, in, i, n))
			return NULL;
		x->w->progress = true;
	}
	return in + 1;
}

const struct vinsn *vop_mapa(struct vx *x, const struct vinsn *in)
{
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (VX_U32(x, in->b)[i])
			return vx_fault(x, in, VGPU_FAULT_ADDRESS, i, 0,
				"there is no block %u in a cluster of one", VX_U32(x, in->b)[i]);
		if (in->flags & VI_WIDE)
			VX_U64(x, in->d)[i] = VX_U64(x, in->a)[i];
		else
			VX_U32(x, in->d)[i] = VX_U32(x, in->a)[i];
	}
	return in + 1;
}

const struct vinsn *vop_mbar_init(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];

	if (!find_barriers(x, in, p))
		return NULL;
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t n = VX_U32(x, in->b)[i];

		*(uint64_t *)p[i] = make_word(n, n, TX_BIAS, 0);
	}
	return in + 1;
}

const struct vinsn *vop_mbar_inval(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, 8, true, p))
		return NULL;
	for (uint32_t m = x->mask; m; m &= m - 1)
		*(uint64_t *)p[__builtin_ctz(m)] = 0;
	return in + 1;
}

/* Arrives at an mbarrier. Bits of in->op:
 * - 0: there are in->b arrivals, and the pending count decreases by this number.
 * - 1 set: the expected count of later phases decreases by the number of arrivals, too.
 * - 2 set: there is one arrival, and in->b is the number of bytes that the barrier expects in
 *   addition. */
const struct vinsn *vop_mbar_arrive(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];

	if (!find_barriers(x, in, p))
		return NULL;
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t w = *(uint64_t *)p[i], n = VX_U32(x, in->b)[i], tx = tx_of(w);
		uint64_t arrive = in->op & 2 ? 1 : n;

		if (in->d != VX_NONE)
			VX_U64(x, in->d)[i] = w;
		if (in->op & 2)
			tx += n;
		if (arrive > pending_of(w))
			return vx_fault(x, in, VGPU_FAULT_TRAP, i, 0,
				"%u threads arrive at a barrier in memory that awaits %u",
				(unsigned)arrive, (unsigned)pending_of(w));
		*(uint64_t *)p[i] =
			settle_phase(make_word(expected_of(w) - (in->op & 1 ? arrive : 0),
				pending_of(w) - arrive, tx, w & PHASE));
	}
	return in + 1;
}

/* Changes the pending bytes by b: more bytes are expected (op 0) or complete (op 1). */
const struct vinsn *vop_mbar_expect(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];

	if (!find_barriers(x, in, p))
		return NULL;
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t w = *(uint64_t *)p[i], n = VX_U32(x, in->b)[i];

		*(uint64_t *)p[i] = settle_phase(make_word(expected_of(w), pending_of(w),
			in->op ? tx_of(w) - n : tx_of(w) + n, w & PHASE));
	}
	return in + 1;
}

/* Tests whether a phase of an mbarrier has completed, and sets predicate d. b is the state that the
 * arrival returned, or a phase parity if op is 1. */
const struct vinsn *vop_mbar_wait(struct vx *x, const struct vinsn *in)
{
	uint32_t m = x->mask, done = 0;
	uint64_t hash = (uint64_t)(uintptr_t)in;
	void *p[LANES];

	if (!m)
		return in + 1;
	if (!vx_addresses(x, in, 8, false, p))
		return NULL;
	for (uint32_t k = m; k; k &= k - 1) {
		unsigned i = (unsigned)__builtin_ctz(k);
		uint64_t w = *(uint64_t *)p[i], old;

		old = in->op ? (uint64_t)(VX_U32(x, in->b)[i] & 1) << 63 : VX_U64(x, in->b)[i];
		done |= (uint32_t)((w ^ old) >> 63) << i;
		hash = (hash ^ w) * 0x9e3779b97f4a7c15ull;
	}
	VX_PRED(x, in->d) = (VX_PRED(x, in->d) & ~m) | done;
	if (done != m)
		vx_poll(x, hash);
	return in + 1;
}

const struct vinsn *vop_mbar_pending(struct vx *x, const struct vinsn *in)
{
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		VX_U32(x, in->d)[i] = (uint32_t)pending_of(VX_U64(x, in->a)[i]);
	}
	return in + 1;
}
