/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Atomic operations, executed one lane after another. Blocks run in several threads and processes,
 * so each operation has to be atomic on the host. It is a compare-and-exchange loop around the new
 * value, which works for every operation and every type of up to 64 bits. (lock128 guards those of
 * 128 bits.) These loops are sequentially consistent, which is more than PTX requires. */
#include "exec_ctl.h"

#include "half.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

static float f32_of(uint64_t v)
{
	uint32_t u = (uint32_t)v;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint64_t of_f32(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return f == f ? u : 0x7fffffffu;
}

static uint64_t add_f64(uint64_t a, uint64_t b)
{
	double x, y;

	memcpy(&x, &a, 8);
	memcpy(&y, &b, 8);
	x += y;
	memcpy(&a, &x, 8);
	return x == x ? a : 0xfff8000000000000ull;
}

static uint64_t add_halves(uint64_t a, uint64_t b, unsigned type)
{
	bool bf = type == PTX_BF16 || type == PTX_BF16X2;
	unsigned n = type == PTX_F16X2 || type == PTX_BF16X2 ? 2 : 1;
	uint64_t r = 0;

	for (unsigned k = 0; k < n; k++) {
		uint16_t p = (uint16_t)(a >> 16 * k), q = (uint16_t)(b >> 16 * k);
		uint16_t s = bf ? half_from_f64(half_to_f32(p, HALF_BF16) +
							(double)half_to_f32(q, HALF_BF16),
					  HALF_BF16, VR_RN)
				: half_from_f64(half_to_f32(p, HALF_F16) +
							(double)half_to_f32(q, HALF_F16),
					  HALF_F16, VR_RN);

		r |= (uint64_t)s << 16 * k;
	}
	return r;
}

static uint64_t add_values(const struct vinsn *in, uint64_t old, uint64_t b)
{
	switch (in->round) {
	case PTX_F32:
		return of_f32(f32_of(old) + f32_of(b));
	case PTX_F64:
		return add_f64(old, b);
	case PTX_F16:
	case PTX_F16X2:
	case PTX_BF16:
	case PTX_BF16X2:
		return add_halves(old, b, in->round);
	default:
		return old + b;
	}
}

static bool is_less(unsigned type, uint64_t a, uint64_t b)
{
	switch (type) {
	case PTX_S32:
		return (int32_t)a < (int32_t)b;
	case PTX_S64:
		return (int64_t)a < (int64_t)b;
	case PTX_U32:
		return (uint32_t)a < (uint32_t)b;
	default:
		return a < b;
	}
}

static uint64_t next_value(const struct vinsn *in, uint64_t old, uint64_t b, uint64_t c)
{
	switch (in->op) {
	case VA_ADD:
		return add_values(in, old, b);
	case VA_MIN:
		return is_less(in->round, b, old) ? b : old;
	case VA_MAX:
		return is_less(in->round, old, b) ? b : old;
	case VA_INC:
		return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
	case VA_DEC:
		return !old || (uint32_t)old > (uint32_t)b ? b : old - 1;
	case VA_AND:
		return old & b;
	case VA_OR:
		return old | b;
	case VA_XOR:
		return old ^ b;
	case VA_CAS:
		return old == b ? c : old;
	default:
		return b;
	}
}

#define UPDATE(name, T)                                                                    \
	static uint64_t name(                                                              \
		const struct vinsn *in, void *p, uint64_t b, uint64_t c, bool *io_changed) \
	{                                                                                  \
		T old = __atomic_load_n((T *)p, __ATOMIC_RELAXED), v;                      \
                                                                                           \
		do                                                                         \
			v = (T)next_value(in, old, (T)b, (T)c);                            \
		while (!__atomic_compare_exchange_n(                                       \
			(T *)p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));      \
		*io_changed |= v != old;                                                   \
		return old;                                                                \
	}
UPDATE(update16, uint16_t)
UPDATE(update32, uint32_t)
UPDATE(update64, uint64_t)

/* A lock for 128-bit exchange and compare-and-swap, because not all hosts have such an instruction.
 * It covers only this process. */
static int lock128;

static void update128(struct vx *x, const struct vinsn *in, unsigned i, void *p, bool *io_changed)
{
	uint64_t old[2], *to = p;
	const uint64_t *b = VX_U64(x, in->b), *c = in->op == VA_CAS ? VX_U64(x, in->c) : b;

	while (__atomic_exchange_n(&lock128, 1, __ATOMIC_ACQUIRE))
		;
	memcpy(old, to, 16);
	if (in->op == VA_EXCH || (old[0] == b[i] && old[1] == b[LANES + i])) {
		to[0] = c[i];
		to[1] = c[LANES + i];
		*io_changed |= true;
	}
	__atomic_store_n(&lock128, 0, __ATOMIC_RELEASE);
	if (in->d != VX_NONE) {
		VX_U64(x, in->d)[i] = old[0];
		VX_U64(x, in->d)[LANES + i] = old[1];
	}
}

const struct vinsn *vop_atom(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];
	bool wide = in->size > 4, changed = false;
	uint64_t hash = (uint64_t)(uintptr_t)in;

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, in->size, true, p))
		return NULL;
	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t b, c = 0, old;

		if (in->size == 16) {
			update128(x, in, i, p[i], &changed);
			continue;
		}
		b = wide ? VX_U64(x, in->b)[i] : VX_U32(x, in->b)[i];
		if (in->op == VA_CAS)
			c = wide ? VX_U64(x, in->c)[i] : VX_U32(x, in->c)[i];
		old = in->size == 8   ? update64(in, p[i], b, c, &changed)
		      : in->size == 4 ? update32(in, p[i], b, c, &changed)
				      : update16(in, p[i], b, c, &changed);
		hash = (hash ^ old ^ (uint64_t)(uintptr_t)p[i]) * 0x9e3779b97f4a7c15ull;
		if (in->d == VX_NONE)
			continue;
		if (wide)
			VX_U64(x, in->d)[i] = old;
		else
			VX_U32(x, in->d)[i] = (uint32_t)old;
	}
	if (changed)
		x->w->progress = true;
	else
		vx_poll(x, hash);
	return in + 1;
}
