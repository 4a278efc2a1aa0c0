/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The split of an SM's memory into L1 cache and shared memory. An SM changes it only while no block
 * is on it, so blocks that need more shared memory than those that are there wait until all of them
 * have left (on an H100, nb behind va ran when va had ended). A policy that wants quotas to hold in
 * any order therefore has one split for all managed kernels, as long as one of them needs much.
 * That is the largest: at a percentage that just suffices, the driver makes less of it for the
 * kernel that needs less. On an H100, behind a kernel with 128 bytes a block, one with 8 KiB came
 * in at 100 percent, and at none of 12, 25, 50, 60 and 75. Up to 32 KiB on an SM the driver's own
 * choices agree. What is left of L1 is little: path finding took three times as long (pl). So
 * policy greedy does without, and measures the order in which launches come (sched/ages.h). */
#include "daemon.h"

#include "sched/planner.h"

#define BLOCK_RESERVED 1024u       /* bytes of shared memory that the system takes for each block */
#define ALIKE_BYTES    (32u << 10) /* on an SM, up to which the driver's choices agree */
#define WHOLE_PERCENT  100u

void hd_carveout_need(struct hd_tenant *t, const struct hd_slot *s)
{
	uint64_t need = (uint64_t)(s->shared_bytes + BLOCK_RESERVED) * s->workers_per_sm;

	t->shared_need = MAX(t->shared_need, (uint32_t)MIN(need, UINT32_MAX));
}

/* In percent of the shared memory that an SM can have; 0: each kernel as the driver likes. */
static uint32_t percent_of(const struct hd *d, const struct hd_device *dev)
{
	uint32_t need = 0, n = 0;

	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		need = MAX(need, t->shared_need);
		n += t->shared_need > 0;
	}
	return n > 1 && need > ALIKE_BYTES && d->config.policy->one_split ? WHOLE_PERCENT : 0;
}

void hd_carveout_tell(const struct hd *d, struct hd_device *dev)
{
	uint32_t percent = percent_of(d, dev);

	for (struct hd_tenant *t = dev->tenants; t; t = t->next)
		__atomic_store_n(&t->page->carveout, percent, __ATOMIC_RELEASE);
}
