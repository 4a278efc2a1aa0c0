/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants that outlived their daemon, and bring the page of that time: their launches report into
 * it for as long as they last. What it says of them is read as that of any tenant, and each launch
 * that has had a word of its own, whoever wrote that, is told a new one (pages.c, arrived). Until
 * it is welcome the tenant has nothing held or preempted; so nothing here may stop anything. */
#include "daemon.h"

#define MAX_ID (1u << 31)

static void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

void hd_page_renew(struct wire_page *page)
{
	/* A daemon that died in the middle may have left any of them. */
	store(&page->begin.seq, 0);
	store(&page->watch, 0);
	store(&page->hold, 0);
	store(&page->follow, 0);
	store(&page->gates, 0);
	store(&page->bound_us, 0);
	store(&page->slow_wake, 0);
	store(&page->pinned, 0);
	store(&page->left, 0);
}

static uint32_t free_id(struct hd *d, uint32_t wanted)
{
	if (wanted && wanted < MAX_ID && !hd_tenant_find(d, wanted))
		return wanted;
	do
		d->next_id = d->next_id % MAX_ID + 1;
	while (hd_tenant_find(d, d->next_id));
	return d->next_id;
}

void hd_tenant_recall(struct hd *d, struct hd_tenant *t)
{
	struct wire_page *p = t->page;
	uint64_t joined = load64(&p->joined_ns), now = t->joined_ns;

	t->id = free_id(d, __atomic_load_n(&p->tenant, __ATOMIC_RELAXED));
	if (!joined || joined > now) {
		__atomic_store_n(&p->joined_ns, now, __ATOMIC_RELAXED);
		return;
	}
	t->again = true;
	t->joined_ns = joined;
	t->waited_ns = load64(&p->waited_ns);
	t->ran_ns = load64(&p->ran_ns);
	t->preemptions = load64(&p->preempted);
	t->launches =
		load64(&p->launched[WIRE_WHY_WORKERS]) + load64(&p->launched[WIRE_WHY_GUARD_FORM]);
	/* Launches that began with a word of the daemon before show none of ours. */
	t->begins = (uint32_t)(now / 1000);
}
