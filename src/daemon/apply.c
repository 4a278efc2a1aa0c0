/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Carries out the scheduling engine's actions by storing control words in the tenants' pages.
 * Waking a tenant takes a system call, and launches of every tenant wait for the stores. So
 * hd_apply first stores the words of all actions, and only then wakes tenants. */
#include "apply.h"
#include "daemon.h"
#include "events.h"
#include "pages.h"

#include <string.h>

/* a tenant that had work less than 1 s ago is expected to launch again */
#define EXPECTED_NS 1000000000ull

static void store_word(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

void hd_note_count(struct hd_slot *s, const uint8_t quota[CTL_MAX_SMS])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < CTL_MAX_SMS && !count; i++)
		count = quota[i];
	if (!count)
		s->resizes = 0;
	else if (s->count && count != s->count)
		s->resizes = s->seq;
	s->count = count;
}

void hd_store_quotas(struct hd *d, struct hd_slot *s)
{
	struct wire_slot *w = &s->tenant->page->slots[s - s->tenant->slots];
	uint8_t quota[CTL_MAX_SMS];

	sched_quotas(s->tenant->device->sched, s->launch, quota);
	/* Read the clock again, because the duration of the hand-over is measured from this store.
	 * The time in d->now_ns is too old: it was read when the pass began, and one pass of the
	 * loop can store many control words. */
	s->store_ns = s->asked_ns = hd_clock(d);
	s->asked = 0;
	s->sized = false;
	__atomic_store_n(&w->host.store_ns, s->store_ns, __ATOMIC_RELAXED);
	s->seq = s->seq + 1 ? s->seq + 1 : 1;
	if (s->guard)
		hd_note_count(s, quota);
	ctl_tell(w->host.quota, &w->host.word, s->seq, quota);
}

/* Returns true if no worker of the launch is on the device, as far as heddled knows: all workers
 * have left, and the tenant has launched no new ones since. The tenant may be launching some at
 * this moment. If all quotas are 0, those workers exit and report a drain, but no other launch
 * waits for that drain. */
static bool has_no_workers(const struct hd_slot *s, const struct wire_slot *w)
{
	return s->drains && __atomic_load_n(&w->launches, __ATOMIC_ACQUIRE) <= s->rounds + 1;
}

/* Drops a change of the block count of a guard-form launch that has exited and has not been
 * launched again. The launch's next grid starts with the new count, so the launch need not exit
 * again. Returns true if it dropped a change.
 *
 * The tenant may at this moment be launching a grid with the old count. That grid exits once more,
 * but no other launch waits for the exit. */
static bool drop_resize(struct hd_slot *s, const struct wire_slot *w)
{
	if (!s->resizes || !has_no_workers(s, w))
		return false;
	s->resizes = 0;
	sched_absent(s->tenant->device->sched, s->launch);
	return true;
}

void hd_ask_workers(struct hd_slot *s, struct wire_slot *w, uint32_t n)
{
	s->awaited = __atomic_load_n(&w->launches, __ATOMIC_ACQUIRE);
	store_word(&w->newcomers, n);
	store_word(&w->grow, ++s->grow);
}

uint32_t hd_missing_workers(const struct hd_slot *s, const struct wire_slot *w, uint32_t workers)
{
	uint32_t room = s->tenant->device->n_sms * s->workers_per_sm;
	uint32_t present = __atomic_load_n(&w->host.present, __ATOMIC_ACQUIRE);
	/* The 1 is for the relay, which also takes a place on an SM. */
	uint32_t want = MIN(workers + 1, room);

	return want > present ? want - present : 0;
}

/* Returns true if some block of the launch has not begun. If all blocks have begun, additional
 * workers are useless: they find no block to execute, but their grid still delays the stream until
 * an SM has room for it. */
static bool has_tickets(const struct hd_slot *s, const struct wire_slot *w)
{
	return __atomic_load_n(&w->host.ticket, __ATOMIC_ACQUIRE) < s->total;
}

/* Adds workers to a running launch. The hardware puts new workers on any SM with room.
 * - If the quotas were equal on all SMs before and are so again, the launch requests only its
 *   missing workers; more would find full SMs and exit. Workers that have not yet seen an earlier
 *   shrink count as present and can stay under the new quota. If they exit after all,
 *   request_missing_workers requests more.
 * - Otherwise the launch requests as many workers as fit on the device. */
static void grow_launch(struct hd *d, struct hd_slot *s, struct wire_slot *w, uint32_t workers)
{
	bool same = __atomic_load_n(&w->host.same, __ATOMIC_ACQUIRE) && !s->guard;
	uint32_t missing = 0;

	hd_store_quotas(d, s);
	drop_resize(s, w);
	s->sized = same && __atomic_load_n(&w->host.same, __ATOMIC_ACQUIRE);
	if (s->sized)
		missing = hd_missing_workers(s, w, workers);
	if ((!s->sized || missing) && (s->guard || has_tickets(s, w)))
		hd_ask_workers(s, w, missing);
}

/* Shrinks a running launch. The shrink is complete when the workers above the quota have exited:
 * the number of present workers has then fallen to may_stay. If no more than may_stay workers are
 * present at the start, such as near the launch's end, none has to exit. heddled then reports at
 * once to the engine that there is nothing to wait for (sched_absent). */
static void shrink_launch(struct hd *d, struct hd_slot *s, struct wire_slot *w, uint32_t workers)
{
	uint32_t may_stay = workers + 1; /* The 1 is for the relay, which may stay on any SM. */

	s->may_stay = may_stay;
	hd_store_quotas(d, s);
	if (!drop_resize(s, w) && !s->resizes &&
		(!s->workers_per_sm ||
			__atomic_load_n(&w->host.present, __ATOMIC_ACQUIRE) <= may_stay))
		sched_absent(s->tenant->device->sched, s->launch);
	s->tenant->device->told_ns = s->store_ns;
	store_word(&w->preemptions, ++s->preemptions);
	s->tenant->preemptions++;
}

static void preempt_launch(struct hd *d, struct hd_slot *s, struct wire_slot *w, bool first)
{
	bool absent;

	store_word(&w->granted, 0);
	absent = has_no_workers(s, w);
	if (absent)
		sched_absent(s->tenant->device->sched, s->launch);
	hd_store_quotas(d, s);
	if (!absent)
		s->tenant->device->told_ns = s->store_ns;
	if (first)
		return;
	hd_bounce_taken(s);
	store_word(&w->preemptions, ++s->preemptions);
	s->tenant->preemptions++;
}

static void log_native_launch(struct hd *d, const struct hd_slot *s)
{
	enum launch_state from, to;

	if (!hd_log_may(&d->natives, d->now_ns, HD_LOG_WARNING, "native launches:"))
		return;
	sched_refused(s->launch, &from, &to);
	hd_log("launch %llu of tenant %u (%s): illegal transition from %s to %s: it runs natively, "
	       "on all SMs, from now on; please report this",
		(unsigned long long)s->id, s->tenant->id, s->name, launch_state_name(from),
		launch_state_name(to));
}

static void apply_launch(struct hd *d, const struct sched_action *a)
{
	static const char *const names[] = {
		"begin", "preempt", "shrink", "grant", "grow", "native"};
	struct hd_slot *s = sched_launch_user(a->launch);
	struct hd_tenant *t = s->tenant;
	struct wire_slot *w = &t->page->slots[s - t->slots];

	switch (a->type) {
	case SCHED_PREEMPT:
		preempt_launch(d, s, w, a->first);
		break;
	case SCHED_SHRINK:
		shrink_launch(d, s, w, a->workers);
		break;
	case SCHED_GRANT:
		/* Unless all workers are known to have exited, some may have read quotas of 0 and
		 * exited while others stayed. Then the launch never drains, and would go on with
		 * too few workers. So request more. */
		if (a->first || !has_no_workers(s, w))
			hd_ask_workers(s, w, 0);
		hd_bounce_granted(d, s);
		hd_store_quotas(d, s);
		store_word(&w->granted, 1);
		break;
	case SCHED_GROW:
		hd_slot_index(s);
		grow_launch(d, s, w, a->workers);
		store_word(&w->granted, 1);
		break;
	default:
		log_native_launch(d, s);
		hd_slot_index(s);
		hd_store_quotas(d, s);
		drop_resize(s, w);
		hd_ask_workers(s, w, 0);
		store_word(&w->granted, 1);
	}
	hd_event_launch(
		d, a->first && a->type == SCHED_PREEMPT ? "wait" : names[a->type], s, a->n_sms);
}

/* Returns true if no SM has a bound. */
static bool is_free(const uint8_t quota[CTL_MAX_SMS])
{
	return quota[0] == CTL_NO_QUOTA && memcmp(quota, quota + 1, CTL_MAX_SMS - 1) == 0;
}

/* Stores one control word, for all launches that arrive from now on. */
static void apply_begin(struct hd *d, struct hd_tenant *t)
{
	struct ctl_tenant *b = &t->page->begin;
	uint8_t quota[CTL_MAX_SMS];

	sched_begin_quotas(t->device->sched, t->sched, quota);
	t->begin = is_free(quota) ? 0 : ++t->begins ? t->begins : ++t->begins;
	ctl_tell(b->quota, &b->word, t->begin, quota);
	hd_event_tenant(d, "begin", t);
}

static void apply_tenant(struct hd *d, const struct sched_action *a)
{
	struct hd_tenant *t = sched_tenant_user(a->tenant);

	t->hold = a->type == SCHED_HOLD;
	hd_let_pass(t);
	store_word(&t->page->hold, t->hold);
	hd_event_tenant(d, t->hold ? "hold" : "release", t);
}

/* Returns the reasons to wake a tenant, as bits of hd_tenant.seq:
 * - 1: a control word has changed
 * - 2: the tenant must act on a control word, or poll for one
 * - 4: a thread of the tenant may be sleeping until heddled no longer holds the tenant */
static uint32_t wake_bits_of(
	const struct hd *d, const struct hd_device *dev, enum sched_action_type type)
{
	switch (type) {
	case SCHED_GRANT:
	case SCHED_GROW:
	case SCHED_NATIVE:
		return 3;
	case SCHED_PREEMPT:
		return hd_look_out(d, dev) ? 3 : 1;
	case SCHED_RELEASE:
		return 7;
	default:
		return 1;
	}
}

void hd_apply(struct hd *d, struct hd_device *dev)
{
	struct sched_action a;
	bool any = false;

	while (sched_next(dev->sched, &a)) {
		struct hd_tenant *t = sched_tenant_user(a.tenant);

		any = true;
		t->seq |= wake_bits_of(d, dev, a.type);
		if (a.type == SCHED_BEGIN)
			apply_begin(d, t);
		else if (a.launch)
			apply_launch(d, &a);
		else
			apply_tenant(d, &a);
	}
	if (!any)
		return;
	for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
		if (!t->seq)
			continue;
		__atomic_fetch_add(&t->page->seq, 1, __ATOMIC_RELEASE);
		if (t->seq & 2)
			d->io.wake(d->io.user, t, t->seq & 4);
		t->seq = 0;
	}
}

static bool tenants_take_turns(const struct hd *d, const struct hd_device *dev)
{
	return !d->config.mps && !dev->is_cpu;
}

/* Returns true if t's unmanaged launches need gates: gates are configured, the tenants of the
 * device use it in time slices, and another tenant has a higher priority than t. */
static bool wants_gates(const struct hd *d, const struct hd_tenant *t)
{
	return t->device->highest > t->priority && d->config.gates &&
	       tenants_take_turns(d, t->device);
}

static bool has_lower(const struct hd_tenant *t)
{
	return t->device->lowest < t->priority;
}

/* Makes the tenant report when its unmanaged (opaque) work ends. This is needed in three cases: a
 * tenant of lower priority waits for the end of that work, the tenant uses gates, or heddled bounds
 * the amount of such work. */
static void set_follow(struct hd *d, struct hd_tenant *t)
{
	uint32_t follow = has_lower(t) || wants_gates(d, t) || t->bound_us;

	if (t->follow == follow)
		return;
	t->follow = follow;
	__atomic_store_n(&t->page->follow, follow, __ATOMIC_SEQ_CST);
	if (follow) /* wakes the tenant, which then finds out which of its earlier work has ended */
		d->io.wake(d->io.user, t, false);
	hd_look_at_opaque(d, t);
}

/* Finds the place of the priority among the device's ranks, which are in descending order. */
static size_t find_rank(const struct hd_device *dev, int priority)
{
	size_t from = 0, to = dev->ranks.len;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (dev->ranks.at[mid].priority > priority)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Returns the rank of this priority, or NULL if out of memory. */
static struct hd_rank *add_rank(struct hd_device *dev, int priority)
{
	size_t at = find_rank(dev, priority);
	struct hd_rank fresh = {.priority = priority}, *r;

	if (at < dev->ranks.len && dev->ranks.at[at].priority == priority)
		return &dev->ranks.at[at];
	if (!VEC_PUSH(&dev->ranks, fresh))
		return NULL;
	r = &dev->ranks.at[at];
	memmove(r + 1, r, (dev->ranks.len - 1 - at) * sizeof(*r));
	*r = fresh;
	return r;
}

/* Notes for each priority when a tenant of this or a higher one last had work that bounds the work of
 * lower ones. If opaque_auto is set and the tenants use the device in time slices, only managed work
 * counts. For unmanaged work of the higher tenant, the device's own time slices are as good and slow
 * others less (doc/notebook.md, PyTorch). */
static void rank_tenants(const struct hd *d, struct hd_device *dev)
{
	bool steered = d->config.opaque_auto && tenants_take_turns(d, dev);

	dev->ranks.len = 0;
	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		struct hd_rank *r = add_rank(dev, t->priority);

		if (r)
			r->last_ns = MAX(r->last_ns, steered ? t->steered_ns : t->active_ns);
	}
	for (size_t i = 1; i < dev->ranks.len; i++)
		dev->ranks.at[i].last_ns =
			MAX(dev->ranks.at[i].last_ns, dev->ranks.at[i - 1].last_ns);
}

/* Returns the time until which the amount of t's unmanaged (opaque) work in flight is bounded:
 * EXPECTED_NS after a tenant of higher priority last had work; 0: no bound. */
static uint64_t bound_until(const struct hd_tenant *t)
{
	size_t at = find_rank(t->device, t->priority);
	uint64_t last = at ? t->device->ranks.at[at - 1].last_ns : 0;

	return last ? last + EXPECTED_NS : 0;
}

uint64_t hd_set_bounds(struct hd *d, struct hd_device *dev)
{
	bool bounds = d->config.opaque_ns &&
		      !sched_policy_is(d->config.policy, HEDDLE_POLICY_TAKES_NOTHING);
	uint64_t next = UINT64_MAX;

	bounds &= dev->lowest < dev->highest;
	if (!bounds && !dev->bounds)
		return UINT64_MAX;
	if (bounds)
		rank_tenants(d, dev);
	dev->bounds = false;
	for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
		uint64_t until = bounds ? bound_until(t) : 0;
		uint32_t us = d->now_ns < until ? (uint32_t)(d->config.opaque_ns / 1000) : 0;

		if (us)
			next = MIN(next, until - d->now_ns);
		dev->bounds |= us > 0;
		if (t->bound_us == us)
			continue;
		t->bound_us = us;
		store_word(&t->page->bound_us, us);
		set_follow(d, t);
		hd_event_tenant(d, us ? "bound" : "unbound", t);
	}
	return next;
}

static void set_gates(const struct hd *d, struct hd_tenant *t)
{
	uint32_t gates = wants_gates(d, t);

	if (t->gates == gates)
		return;
	t->gates = gates;
	store_word(&t->page->gates, gates);
}

/* Makes tenants report each launch if several tenants share the device, or if the policy also
 * steers a tenant that is alone. */
void hd_watch(struct hd *d, struct hd_device *dev)
{
	bool shared =
		dev->n_tenants > 1 || sched_policy_is(d->config.policy, HEDDLE_POLICY_STEERS_ONE);

	dev->lowest = INT32_MAX;
	dev->highest = INT32_MIN;
	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		dev->lowest = MIN(dev->lowest, t->priority);
		dev->highest = MAX(dev->highest, t->priority);
	}
	for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
		set_gates(d, t);
		set_follow(d, t);
		if (t->watch == shared)
			continue;
		t->watch = shared;
		dev->unwatched_ns = d->now_ns;
		__atomic_store_n(&t->page->watch, shared, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		/* The scan finds earlier launches, and launches that the tenant submitted just
		 * before it saw the new value of `watch`. */
		hd_scan_tenant(d, t, true);
	}
}
