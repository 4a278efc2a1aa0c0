/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The split of an SM's memory into L1 cache and shared memory. An SM changes it only while no block
 * is on it. Left alone, the driver picks a split for each kernel, and kernels with different ones
 * never share an SM: the blocks of one wait until all of the other have left (seen on an H100: va
 * beside nb, 132 SMs each, ran one after the other). So where a policy lets tenants share SMs, all
 * managed kernels get one split: room for as many blocks of any one as an SM holds. Mixtures of
 * them need no more than that. */
#include "daemon.h"

#include "sched/planner.h"

#define BLOCK_RESERVED 1024u /* bytes of shared memory that the system takes for each block */

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
	if (n < 2 || !dev->shared_per_sm || !d->config.policy->shares_sms)
		return 0;
	return (uint32_t)MIN(100, 1 + (uint64_t)need * 100 / dev->shared_per_sm);
}

void hd_carveout_tell(const struct hd *d, struct hd_device *dev)
{
	uint32_t percent = percent_of(d, dev);

	for (struct hd_tenant *t = dev->tenants; t; t = t->next)
		__atomic_store_n(&t->page->carveout, percent, __ATOMIC_RELEASE);
}
