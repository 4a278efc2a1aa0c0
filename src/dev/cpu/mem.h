/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Memory as executed code sees it: ranges with exact bounds. A range stays valid while the
 * generation is unchanged. */
#ifndef HEDDLE_VGPU_MEM_H
#define HEDDLE_VGPU_MEM_H

#include "vgpu.h"

#include <stdatomic.h>

struct vgpu_range {
	uint64_t base, end; /* [base, end) may be accessed */
	uint64_t generation;
	bool read_only;
	uint8_t device; /* whose memory it is */
};

#define VGPU_ANY_DEVICE UINT8_MAX

/* Whether a kernel with this vgpu_launch.reach may access it. */
static inline bool vgpu_range_reached(const struct vgpu_range *r, uint32_t reach)
{
	return !reach || r->device == VGPU_ANY_DEVICE || (reach >> r->device & 1);
}

/* The present generation: grows whenever memory goes away. */
static inline uint64_t vgpu_mem_generation(const struct vgpu_mem *m)
{
	return atomic_load_explicit((const _Atomic uint64_t *)m, memory_order_acquire);
}

/* The range that holds addr. vgpu_mem_below: the nearest range below (bytes 0: none), for the
 * report. Thread safe. */
bool vgpu_mem_range(struct vgpu_mem *m, uint64_t addr, struct vgpu_range *ret);
bool vgpu_mem_below(struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes,
	bool *ret_freed);
/* Storage of a module's .const variables, which kernels may only read. */
int vgpu_mem_alloc_const(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr);

#endif
