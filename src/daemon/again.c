/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant that outlives its daemon reconnects to the next daemon and brings its page along. The
 * tenant's running launches continue to report into this page. The new daemon reads the page like
 * that of any other tenant.
 *
 * Some launches still obey quotas that the earlier daemon stored. The new daemon does not know
 * which launches do, so its next decision stores new quotas for every launch that it finds
 * (pages.c: note_arrival).
 *
 * Until the new daemon has sent its welcome message, it neither holds nor preempts the tenant. So
 * nothing in this file may stop a launch of the tenant. */
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
	/* The earlier daemon may have died between any two stores, so these fields can have any
	 * value. */
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

/* Ids above highest_id have never been given to a tenant. */
static bool is_taken(struct hd *d, uint32_t id)
{
	return id <= d->highest_id && hd_tenant_find(d, id);
}

static uint32_t choose_id(struct hd *d, uint32_t wanted)
{
	uint32_t id = wanted;

	if (!wanted || wanted >= MAX_ID || is_taken(d, wanted)) {
		do
			d->next_id = d->next_id % MAX_ID + 1;
		while (is_taken(d, d->next_id));
		id = d->next_id;
	}
	d->highest_id = MAX(d->highest_id, id);
	return id;
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
	/* A running launch reports the sequence number of the last control word that it has seen.
	 * An earlier daemon may have sent that word, and its number must not equal a number of this
	 * daemon. So this daemon's numbers begin with the present time in us, near which an earlier
	 * daemon has hardly used any. */
	t->begins = (uint32_t)(now / 1000);
}
