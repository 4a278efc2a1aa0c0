/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Chooses how kernels ask an SM to split its memory into L1 cache and shared memory. An SM can
 * change the split only while no block runs on it. So a kernel that needs more shared memory cannot
 * start beside one that needs less: on an H100, example nb started only after va had ended. Some
 * policies promise a number of blocks on each SM, whatever the order in which kernels arrive. Under
 * these policies, all managed kernels ask for the same split, the largest share of shared memory,
 * if two conditions hold:
 * - several tenants on the device have launched managed kernels
 * - a kernel of one of them needs more than 32 KiB on an SM
 *
 * A smaller percentage does not work, because the driver rounds it differently for each kernel. On
 * an H100, a kernel with 8 KiB a block started beside one with 128 bytes a block if both asked for
 * 100 percent, but not for 12, 25, 50, 60 or 75 percent. Up to 32 KiB the driver chooses the same
 * split for both anyway.
 *
 * The price is a small L1 cache: the example pl takes three times as long. Policy greedy therefore
 * leaves the split to the driver, and measures which kernel should start first
 * (sched/policy/ages.h). */
#include "apply.h"
#include "daemon.h"

#define BLOCK_RESERVED 1024u /* shared memory that CUDA reserves for each block, in bytes */
/* up to this need per SM, the driver chooses the same split for all kernels */
#define ALIKE_BYTES   (32u << 10)
#define WHOLE_PERCENT 100u

void hd_carveout_need(struct hd_tenant *t, const struct hd_slot *s)
{
	uint64_t need = (uint64_t)(s->shared_bytes + BLOCK_RESERVED) * s->workers_per_sm;

	t->shared_need = MAX(t->shared_need, (uint32_t)MIN(need, UINT32_MAX));
}

/* Returns the share to ask for, in percent of the shared memory that an SM can have, or 0 to let
 * the driver decide for each kernel. */
static uint32_t percent_of(const struct hd *d, const struct hd_device *dev)
{
	uint32_t need = 0, n = 0;

	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		need = MAX(need, t->shared_need);
		n += t->shared_need > 0;
	}
	if (n < 2 || need <= ALIKE_BYTES)
		return 0;
	return sched_policy_is(d->config.policy, HEDDLE_POLICY_ANY_SPLIT) ? 0 : WHOLE_PERCENT;
}

void hd_carveout_tell(const struct hd *d, struct hd_device *dev)
{
	uint32_t percent = percent_of(d, dev);

	for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
		if (t->carveout == percent)
			continue;
		t->carveout = percent;
		__atomic_store_n(&t->page->carveout, percent, __ATOMIC_RELEASE);
	}
}
