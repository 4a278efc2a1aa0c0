/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Accesses to memory that may be global, when memory is weak (weak.h). The decoder then uses these
 * handlers instead of the normal ones. Shared, local and parameter memory stay strong. */
#include "exec_ctl.h"

#include <string.h>

#include "dev/cpu/fence.h"
#include "weak.h"

/* Returns the lanes that access global memory: there, the host address equals the address in the
 * register. Call this before a load, because the load can overwrite its address register. */
static uint32_t global_lanes(struct vx *x, const struct vinsn *in, void *const p[LANES])
{
	uint32_t lanes = 0;

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t a = in->flags & VI_ADDR32 ? VX_U32(x, in->a)[i] : VX_U64(x, in->a)[i];

		lanes |= (uint32_t)((uint64_t)(uintptr_t)p[i] == a + in->imm) << i;
	}
	return lanes;
}

static uint32_t reg_of(struct vx *x, const struct vinsn *in, unsigned k)
{
	return in->vec == 1 ? in->d : x->f->frame->fn->ext[in->c + k];
}

static void put_lane(struct vx *x, const struct vinsn *in, uint32_t off, unsigned i, uint64_t v)
{
	unsigned unused = 64 - 8 * in->size;

	if (in->flags & VI_SIGNED)
		v = (uint64_t)((int64_t)(v << unused) >> unused);
	if (in->flags & VI_WIDE)
		VX_U64(x, off)[i] = v;
	else
		VX_U32(x, off)[i] = (uint32_t)v;
}

static uint64_t load_direct(const void *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

const struct vinsn *vop_ld_weak(struct vx *x, const struct vinsn *in)
{
	uint64_t hash = (uint64_t)(uintptr_t)in;
	bool strong = in->flags & VI_STRONG;
	uint32_t global;
	void *p[LANES];

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, (uint32_t)in->size * in->vec, false, p))
		return NULL;
	global = global_lanes(x, in, p);
	for (unsigned k = 0; k < in->vec; k++) {
		uint32_t off = reg_of(x, in, k);

		for (uint32_t m = x->mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);
			const char *at = (const char *)p[i] + k * in->size;
			uint64_t v = global >> i & 1 ? weak_load(x->b->weak, at, in->size, strong)
						     : load_direct(at, in->size);

			hash = (hash ^ v ^ (uint64_t)(uintptr_t)p[i]) * 0x9e3779b97f4a7c15ull;
			if (off != VX_NONE)
				put_lane(x, in, off, i, v);
		}
	}
	if (in->flags & VI_ACQUIRE)
		weak_acquire(x->b->weak);
	if (strong)
		vx_poll(x, hash);
	return in + 1;
}

const struct vinsn *vop_st_weak(struct vx *x, const struct vinsn *in)
{
	uint32_t global;
	void *p[LANES];

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, (uint32_t)in->size * in->vec, true, p))
		return NULL;
	global = global_lanes(x, in, p);
	if (in->flags & VI_RELEASE)
		weak_release(x->b->weak);
	x->w->progress = true;
	for (unsigned k = 0; k < in->vec; k++) {
		uint32_t off = reg_of(x, in, k);

		for (uint32_t m = x->mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);
			char *at = (char *)p[i] + k * in->size;
			uint64_t v = in->flags & VI_WIDE ? VX_U64(x, off)[i] : VX_U32(x, off)[i];

			if (global >> i & 1)
				weak_store(x->b->weak, at, in->size, v);
			else
				memcpy(at, &v, in->size);
		}
	}
	return in + 1;
}

const struct vinsn *vop_atom_weak(struct vx *x, const struct vinsn *in)
{
	const struct vinsn *next;
	uint32_t global;
	void *p[LANES];
	bool acquire = x->mask && in->flags & VI_ACQUIRE;

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, in->size, true, p))
		return NULL;
	global = global_lanes(x, in, p);
	if (in->flags & VI_RELEASE)
		weak_release(x->b->weak);
	for (uint32_t m = x->mask & global; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		weak_atomic(x->b->weak, p[i], in->size);
	}
	next = vop_atom(x, in);
	if (acquire)
		weak_acquire(x->b->weak);
	return next;
}

const struct vinsn *vop_fence_weak(struct vx *x, const struct vinsn *in)
{
	if (x->mask && in->flags & VI_RELEASE)
		weak_release(x->b->weak);
	if (x->mask && in->flags & VI_ACQUIRE)
		weak_acquire(x->b->weak);
	return in + 1;
}

void vx_weak_all(struct vx *x)
{
	weak_release(x->b->weak);
	weak_acquire(x->b->weak);
}
