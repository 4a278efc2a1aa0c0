/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the amount of additional shared memory (padding) that limits a guard grid to a given number
 * of blocks per SM. Only the driver knows exactly how many blocks fit: it adds the static shared
 * memory, the system's reserve for each block, and the program's preferred split of the SM's
 * memory. The number of blocks falls as shared memory grows. So a binary search finds the least
 * padding for each number of blocks. The least padding is best, because it leaves the most memory
 * for other programs and for the L1 cache. */
#include "shim/form/padding.h"

#include "shim/form/kernel.h"

/* granularity in bytes, or a multiple of it, in which shared memory is allocated */
#define UNIT 128u

/* Returns the number of blocks per SM; 0: none fits, or the driver reports none. */
static uint32_t occupancy(const struct form *f, uint32_t threads, uint32_t shared)
{
	int n = 0;

	if (cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f->on.fn, (int)threads, shared) !=
			CUDA_SUCCESS ||
		n < 0)
		return 0;
	return (uint32_t)n;
}

/* Raises the form's limit of dynamic shared memory as far as the device allows. Returns the limit
 * in bytes, or 0 if the driver does not report it. Call under the form's lock. */
static uint32_t raise_limit(struct session *session, struct form *f)
{
	CUfunction_attribute which = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	int most = 0, now = 0, fixed = 0;

	if (f->raised)
		return f->raised;
	if (cu.cuFuncGetAttribute(&now, which, f->on.fn) != CUDA_SUCCESS ||
		cu.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->on.fn) !=
			CUDA_SUCCESS ||
		cu.cuDeviceGetAttribute(&most,
			CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
			session->dev) != CUDA_SUCCESS)
		return 0;
	most -= fixed;
	if (most > now && cu.cuFuncSetAttribute(f->on.fn, which, most) == CUDA_SUCCESS)
		now = most;
	f->raised = now > 0 ? (uint32_t)now : 0;
	return f->raised;
}

/* Finds the smallest amount of dynamic shared memory, from *io_shared to the limit, with which at
 * most n blocks fit on an SM. Returns false if more than n blocks fit even at the limit. */
static bool find_pad(
	const struct form *f, uint32_t threads, uint32_t n, uint32_t limit, uint32_t *io_shared)
{
	uint32_t low = *io_shared, high = limit;

	if (occupancy(f, threads, limit) > n)
		return false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2 / UNIT * UNIT;

		if (occupancy(f, threads, middle) > n)
			low = middle + UNIT;
		else
			high = middle;
	}
	*io_shared = high;
	return true;
}

void pads_find(struct session *session, struct form *f, uint32_t threads, uint32_t shared,
	struct pads *ret)
{
	uint32_t limit = raise_limit(session, f), pad = shared;

	*ret = (struct pads){.fit = occupancy(f, threads, shared)};
	if (limit <= shared)
		return;
	for (uint32_t n = MIN(ret->fit, PADS_MAX + 1); n-- > 1;) {
		if (!find_pad(f, threads, n, limit, &pad))
			break;
		if (occupancy(f, threads, pad) != n)
			continue;
		ret->counts |= 1u << n;
		ret->shared[n] = pad;
	}
}
