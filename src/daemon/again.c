/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants that outlive their daemon return with its page: their launches report into this page
 * as long as they last. The new daemon reads the page like that of any tenant. It sends a new
 * word to each launch that had a word of its own, whichever daemon wrote that (pages.c:
 * note_arrival). Before the welcome nothing of the tenant is held or preempted, so this file
 * must not stop anything. */
#include "daemon.h"

#define MAX_ID (1u << 31)

static void store_word(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static uint64_t load_word64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

void hd_page_renew(struct wire_page *page)
{
	/* An earlier daemon may have died at any point and left any value here. */
	store_word(&page->begin.seq, 0);
	store_word(&page->watch, 0);
	store_word(&page->hold, 0);
	store_word(&page->follow, 0);
	store_word(&page->gates, 0);
	store_word(&page->bound_us, 0);
	store_word(&page->slow_wake, 0);
	store_word(&page->pinned, 0);
	store_word(&page->left, 0);
}

static uint32_t choose_id(struct hd *d, uint32_t wanted)
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
	uint64_t joined = load_word64(&p->joined_ns), now = t->joined_ns;

	t->id = choose_id(d, __atomic_load_n(&p->tenant, __ATOMIC_RELAXED));
	if (!joined || joined > now) {
		__atomic_store_n(&p->joined_ns, now, __ATOMIC_RELAXED);
		return;
	}
	t->again = true;
	t->joined_ns = joined;
	t->waited_ns = load_word64(&p->waited_ns);
	t->ran_ns = load_word64(&p->ran_ns);
	t->preemptions = load_word64(&p->preempted);
	t->launches = load_word64(&p->launched[WIRE_WHY_WORKERS]) +
		      load_word64(&p->launched[WIRE_WHY_GUARD_FORM]);
	/* Continues at a number that no earlier daemon used, so no running launch reports a word
	 * of this daemon. */
	t->begins = (uint32_t)(now / 1000);
}
