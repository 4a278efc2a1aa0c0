/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Memory as executing code sees it: ranges with exact bounds. A range that was looked up stays
 * valid as long as the generation number does not change. */
#ifndef HEDDLE_VGPU_MEM_H
#define HEDDLE_VGPU_MEM_H

#include "vgpu.h"

#include <stdatomic.h>

struct vgpu_range {
	uint64_t base, end; /* accesses to [base, end) are allowed */
	uint64_t generation;
	bool read_only;
	uint8_t device; /* device whose memory it is */
};

#define VGPU_ANY_DEVICE UINT8_MAX

/* Returns true if a kernel with this vgpu_launch.reach can access the range. */
static inline bool vgpu_range_reached(const struct vgpu_range *r, uint32_t reach)
{
	return !reach || r->device == VGPU_ANY_DEVICE || (reach >> r->device & 1);
}

/* Returns the current generation, which increases whenever memory is freed. */
static inline uint64_t vgpu_mem_generation(const struct vgpu_mem *m)
{
	return atomic_load_explicit((const _Atomic uint64_t *)m, memory_order_acquire);
}

/* vgpu_mem_range finds the range that contains addr. vgpu_mem_below serves fault reports. It finds
 * a recently freed range that contains addr (*ret_freed is then true), or else the allocation with
 * the greatest base that is not above addr. Both return false if there is none. Both are thread
 * safe. */
bool vgpu_mem_range(struct vgpu_mem *m, uint64_t addr, struct vgpu_range *ret);
bool vgpu_mem_below(struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes,
	bool *ret_freed);
/* Allocates storage for a module's .const variables, which kernels can only read. */
int vgpu_mem_alloc_const(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr);

#endif
