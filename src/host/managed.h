/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The host side of managed launches, for a program that has the device to itself: `heddle exec`,
 * tests and benchmarks. It runs one launch at a time, and waits for each. (The shim runs many
 * launches of other programs at once: shim/managed.h.) */
#ifndef HEDDLE_HOST_MANAGED_H
#define HEDDLE_HOST_MANAGED_H

#include "dev/cu.h"
#include "pass/pass.h"

struct host_shape {
	uint32_t grid[3], block[3], shared_bytes;
};

struct host_steering {
	uint32_t chunk; /* blocks per claim; 0: 1 */
	bool pull_ahead;
	uint32_t yield_every;    /* all quotas drop to 0 after this many tickets; 0: never */
	uint32_t workers_per_sm; /* 0: as many as fit */
	uint32_t workers;        /* total number of workers; 0: as many as fit */
	uint64_t first;          /* earlier blocks count as already run; less than the total */
};

/* Statistics of a launch. */
struct host_managed_stats {
	uint32_t workers;  /* number of workers in a launch */
	uint32_t launches; /* number of worker launches: 1 plus the times it was resumed */
	uint64_t total;
	/* true: fewer workers, or yields, were requested, but the kernel keeps all its workers,
	 * because its blocks may wait for each other */
	bool together;
};

/* Fills the by-value arguments of a launch (ctl/control.h). `block` and `host` are device
 * addresses. */
void host_fill_args(const struct host_shape *shape, const struct pass_kernel_info *info,
	uint64_t block, uint64_t host, uint32_t gen, uint32_t workers,
	const struct host_steering *s, struct ctl_args *ret);
/* Returns ctl_args.shrink for this number of workers. */
unsigned host_shrink(uint32_t workers);
uint64_t host_total_blocks(const struct host_shape *shape);

/* Allocates a control block in device memory, in its initial state. */
CUresult host_control_create(const struct cu_api *cu, CUdeviceptr *ret_block);

/* Runs fn until its whole grid is complete. fn was made by pass_preempt, and `info` describes it.
 * *io_gen is the generation of the control block. `params` is the kernel's parameter buffer, with
 * info->param_bytes bytes; this function fills in the ctl_args in it. `closer` is the guard form's
 * second kernel; NULL for managed kernels. Returns a driver error, or CUDA_ERROR_UNKNOWN if a whole
 * launch ran no block. */
CUresult host_managed_run(const struct cu_api *cu, CUfunction fn, CUfunction closer,
	const struct pass_kernel_info *info, const struct host_shape *shape, void *params,
	const struct host_steering *s, CUdeviceptr block, uint32_t *io_gen,
	struct host_managed_stats *ret);

#endif
