/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the host address of an access. Every byte is checked against the exact bounds of its
 * allocation, the block's shared memory, the frame's local memory, or the parameters. In most cases
 * all lanes access the range that this instruction accessed last time, and a few vector operations
 * check that. All other cases are handled lane by lane. */
#include "exec.h"

#include <inttypes.h>

static void *fault_address(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write, const char *where, uint64_t size)
{
	vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
		"%s of %u bytes at 0x%" PRIx64 ", outside %s of %" PRIu64 " bytes",
		write ? "write" : "read", bytes, addr, where, size);
	return NULL;
}

static void *in_local(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write)
{
	struct vframe *f = x->f->frame;

	while (f->parent && addr < f->local_start)
		f = f->parent;
	if (addr < f->local_start || addr - f->local_start > f->fn->local_bytes ||
		bytes > f->fn->local_bytes - (addr - f->local_start))
		return fault_address(x, in, lane, addr, bytes, write, "the thread's local memory",
			x->f->frame->local_start + (uint64_t)x->f->frame->fn->local_bytes);
	return f->local + (size_t)lane * f->fn->local_bytes + (addr - f->local_start);
}

static void *in_params(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write)
{
	uint64_t size = x->b->launch->kernel->info.param_bytes;

	if (write || addr > size || bytes > size - addr)
		return fault_address(
			x, in, lane, addr, bytes, write, "the kernel's parameters", size);
	return (char *)(uintptr_t)x->b->launch->params + addr;
}

static void *in_shared(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write)
{
	if (addr > x->b->shared_bytes || bytes > x->b->shared_bytes - addr)
		return fault_address(x, in, lane, addr, bytes, write, "the block's shared memory",
			x->b->shared_bytes);
	return x->b->shared + addr;
}

static void *in_global(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write)
{
	struct vgpu_range *cache = &x->b->ranges[in->x], r;
	uint64_t base, size;
	bool freed;

	if (vgpu_mem_range(x->b->mem, addr, &r) && bytes <= r.end - addr &&
		!(write && r.read_only)) {
		if (!vgpu_range_reached(&r, x->b->launch->reach)) {
			vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
				"%s of %u bytes at 0x%" PRIx64 ", in memory of device %u, to which "
				"this context has no peer access (cuCtxEnablePeerAccess)",
				write ? "write" : "read", bytes, addr, r.device);
			return NULL;
		}
		*cache = r;
		return (void *)(uintptr_t)addr;
	}
	if (!vgpu_mem_below(x->b->mem, addr, &base, &size, &freed))
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
			"%s of %u bytes at 0x%" PRIx64 ", where nothing is allocated",
			write ? "write" : "read", bytes, addr);
	else if (freed)
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
			"%s of %u bytes at 0x%" PRIx64 ", in %" PRIu64 " bytes at 0x%" PRIx64
			" that were freed",
			write ? "write" : "read", bytes, addr, size, base);
	else if (addr - base < size && bytes <= size - (addr - base))
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
			"write of %u bytes at 0x%" PRIx64 ", in constant memory", bytes, addr);
	else
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
			"%s of %u bytes at 0x%" PRIx64 ", %" PRIu64
			" bytes past the start of an allocation of %" PRIu64 " at 0x%" PRIx64,
			write ? "write" : "read", bytes, addr, addr - base, size, base);
	return NULL;
}

static void *in_space(struct vx *x, const struct vinsn *in, unsigned lane, unsigned space,
	uint64_t addr, uint32_t bytes, bool write)
{
	switch (space) {
	case PTX_SHARED:
		return in_shared(x, in, lane, addr, bytes, write);
	case PTX_LOCAL:
		return in_local(x, in, lane, addr, bytes, write);
	case PTX_PARAM:
		return in_params(x, in, lane, addr, bytes, write);
	default:
		return in_global(x, in, lane, addr, bytes, write);
	}
}

void *vx_resolve(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr, uint32_t bytes,
	bool write)
{
	unsigned space = in->space;

	if (addr & (MIN(bytes, 16u) - 1) && !(in->flags & VI_UNALIGNED)) {
		vx_fault(x, in, VGPU_FAULT_ALIGN, lane, addr,
			"%s of %u bytes at 0x%" PRIx64 ", which is not a multiple of %u",
			write ? "write" : "read", bytes, addr, MIN(bytes, 16u));
		return NULL;
	}
	if (space == PTX_GENERIC && addr >= VGPU_SHARED_BASE && addr < VGPU_FUNC_BASE) {
		space = addr >= VGPU_PARAM_BASE   ? PTX_PARAM
			: addr >= VGPU_LOCAL_BASE ? PTX_LOCAL
						  : PTX_SHARED;
		addr &= VGPU_WINDOW - 1;
	}
	return in_space(x, in, lane, space, addr, bytes, write);
}

bool vx_addresses(
	struct vx *x, const struct vinsn *in, uint32_t bytes, bool write, void *ret_p[LANES])
{
	const uint32_t *a32 = VX_PTR(x, in->a);
	const uint64_t *a64 = VX_PTR(x, in->a);
	struct vgpu_range *r = &x->b->ranges[in->x];
	uint64_t align = MIN(bytes, 16u) - 1;
	bool fast = in->space == PTX_GLOBAL || in->space == PTX_GENERIC || in->space == PTX_CONST;

	fast &= r->generation == vgpu_mem_generation(x->b->mem);
	for (uint32_t left = x->mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		uint64_t addr = (in->flags & VI_ADDR32 ? a32[i] : a64[i]) + in->imm;

		if (in->flags & VI_ADDR32 && in->space != PTX_GENERIC)
			addr = (uint32_t)addr;
		if (in->flags & VI_FRAME)
			addr += x->f->frame->local_start;
		if (fast && addr - r->base < r->end - r->base && bytes <= r->end - addr &&
			!(addr & align)) {
			ret_p[i] = (void *)(uintptr_t)addr;
			continue;
		}
		ret_p[i] = vx_resolve(x, in, i, addr, bytes, write);
		if (!ret_p[i])
			return false;
		fast = r->generation == vgpu_mem_generation(x->b->mem) && in->space != PTX_SHARED &&
		       in->space != PTX_LOCAL && in->space != PTX_PARAM;
	}
	return true;
}
