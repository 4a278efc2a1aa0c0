/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants and devices, and one pass of the loop. After each pass, heddled chooses when to scan the
 * pages again:
 * - while a preempted or shrinking launch is leaving: after 50 us (virtual GPU: 200 us), for up to
 *   100 ms
 * - if tenants compete otherwise: after an eighth of the shortest expected remaining time, at most
 *   500 us
 * - if no tenants compete: rarely, for example at a deadline or when a tenant wakes heddled */
#include "apply.h"
#include "daemon.h"
#include "events.h"
#include "pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MIN_NS 50000ull
#define TICK_MAX_NS 500000ull
/* minimum interval on the virtual GPU, which is slower and runs on the same CPUs */
#define TICK_CPU_NS   200000ull
#define ALIVE_TICK_NS 100000000ull
#define LOOK_AGAIN_NS 1000000000ull
#define LEAVES_NS     100000000ull
/* after its last work, the time for which the page of an idle tenant is still read for its copies */
#define COPIES_NS 10000000ull
/* a tenant that had work within this time may launch at any time */
#define ACTIVE_NS 60000000000ull

uint64_t hd_clock(struct hd *d)
{
	d->now_ns = d->io.now_ns(d->io.user);
	return d->now_ns;
}

int hd_create(const struct hd_config *c, const struct hd_io *io, struct hd **ret)
{
	struct hd *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->config = *c;
	d->io = *io;
	d->started_ns = hd_clock(d);
	r = durations_create(&d->durations);
	if (r == 0 && c->events[0])
		r = hd_events_open(c->events, &d->events);
	if (r < 0) {
		durations_destroy(d->durations);
		free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void hd_say_end(struct hd *d)
{
	d->ends = true;
	if (d->n_tenants)
		hd_log_at(HD_LOG_INFO, "ends; %u %s without it", d->n_tenants,
			d->n_tenants == 1 ? "tenant goes on" : "tenants go on");
}

void hd_destroy(struct hd *d)
{
	if (!d)
		return;
	while (d->devices)
		hd_tenant_remove(d, d->devices->tenants);
	hd_events_close(d->events);
	durations_destroy(d->durations);
	free(d);
}

/* Returns the engine's options, without the limits of the device. */
static struct sched_options options_for(const struct hd *d, bool is_cpu)
{
	const struct hd_config *c = &d->config;
	struct sched_options o = {
		.simultaneous = c->mps || is_cpu,
		.renumbers = c->mps && !is_cpu,
		.tells_started = true,
		.spatial = !c->temporal,
		.within_srt = c->within_srt,
		.extra_sms = c->extra_sms,
		.linger_max_ns = c->linger_max_ns,
		.opaque_ns = c->opaque_ns,
		.opaque_hold_ns = c->opaque_hold_ns,
		.grace_ns = c->grace_ns,
		.still_ns = c->still_ns,
		.overhead_permille = c->overhead_permille,
		.model = &model_durations,
		.model_state = d->durations,
		.journal = hd_events_journal(d->events),
		.policy_options = c->policy_options,
	};

	o.opaque_free = !o.opaque_ns || (c->opaque_auto && !o.simultaneous);
	if (is_cpu) {
		/* On the virtual GPU everything takes longer, including the arrival of workers. So
		 * the defaults are longer times there. */
		o.grace_ns = o.grace_ns ? o.grace_ns : 20000000;
		o.linger_max_ns = o.linger_max_ns ? o.linger_max_ns : 5000000;
	}
	return o;
}

void hd_reconfigure(struct hd *d, const struct hd_config *c)
{
	hd_clock(d);
	d->config = *c;
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		struct sched_options o = options_for(d, dev->is_cpu);

		sched_reconfigure(dev->sched, &o, c->policy);
		hd_watch(d, dev);
	}
}

static int find_device(struct hd *d, const struct wire_hello *h, uid_t uid, struct hd_device **ret)
{
	struct sched_options o = options_for(d, h->is_cpu_device);
	struct hd_device *dev;
	unsigned n = 0;
	int r;

	for (dev = d->devices; dev; dev = dev->next, n++) {
		if (strcmp(dev->name, h->device) == 0 && dev->n_sms == h->n_sms &&
			dev->is_cpu == !!h->is_cpu_device) {
			*ret = dev;
			return 0;
		}
	}
	if (n >= HD_DEVICES)
		return -ENOSPC;
	if (!hd_user_may_add_device(d, uid))
		return -EDQUOT;
	o.n_sms = h->n_sms;
	o.threads_per_sm = h->threads_per_sm;
	o.blocks_per_sm = h->blocks_per_sm;
	o.regs_per_sm = h->regs_per_sm;
	o.shared_per_sm = h->shared_per_sm;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	r = sched_create(&o, d->config.policy, &dev->sched);
	if (r < 0) {
		free(dev);
		return r;
	}
	memcpy(dev->name, h->device, sizeof(dev->name));
	dev->n_sms = h->n_sms;
	dev->is_cpu = h->is_cpu_device;
	dev->uid = uid;
	dev->next = d->devices;
	d->devices = dev;
	*ret = dev;
	return 0;
}

static void drop_device(struct hd *d, struct hd_device *dev)
{
	struct sched_stats st;

	for (struct hd_device **p = &d->devices; *p; p = &(*p)->next) {
		if (*p == dev) {
			*p = dev->next;
			break;
		}
	}
	sched_stats(dev->sched, &st);
	d->ended_decisions += st.decisions;
	d->ended_grants += st.grants;
	d->ended_preemptions += st.preemptions + st.shrinks;
	sched_destroy(dev->sched);
	VEC_FREE(&dev->ranks);
	free(dev);
}

/* Restarts the measurement of the tenants' shares of GPU time. heddled measures shares from the
 * last time that a tenant of the device joined, left, or got another priority or weight. */
static void count_shares_anew(struct hd_device *dev)
{
	for (struct hd_tenant *t = dev->tenants; t; t = t->next)
		t->share_from_ns = sched_service(t->sched);
}

int hd_tenant_add(struct hd *d, const struct ucred *cred, const struct wire_hello *hello,
	int priority, uint32_t weight, struct wire_page *page, void *user, struct hd_tenant **ret)
{
	uint64_t now = hd_clock(d);
	struct hd_device *dev;
	struct hd_tenant *t;
	int r;

	if (d->n_tenants >= d->config.max_tenants)
		return -EUSERS;
	if (!hd_user_may_join(d, cred->uid))
		return -EDQUOT;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->slots = calloc(WIRE_SLOTS, sizeof(t->slots[0]));
	r = t->slots ? find_device(d, hello, cred->uid, &dev) : -ENOMEM;
	if (r < 0)
		goto fail;
	t->hello = *hello;
	t->cred = *cred;
	t->priority = priority;
	t->weight = weight;
	t->page = page;
	t->user = user;
	t->device = dev;
	t->joined_ns = now;
	t->carveout = UINT32_MAX; /* not a percentage: the page's carveout is not written yet */
	t->owner = (struct duration_owner){.uid = cred->uid, .n_sms = hello->n_sms};
	memcpy(t->owner.device, hello->device_name, sizeof(t->owner.device));
	memcpy(t->owner.driver, hello->driver, sizeof(t->owner.driver));
	hd_tenant_recall(d, t);
	r = sched_join(dev->sched, now, t->id, priority, weight, t, &t->sched);
	if (r < 0) {
		if (!dev->tenants)
			drop_device(d, dev);
		goto fail;
	}
	d->n_tenants++;
	t->next = dev->tenants;
	if (t->next)
		t->next->prev = t;
	dev->tenants = t;
	dev->n_tenants++;
	count_shares_anew(dev);
	page->alive_ms = (uint32_t)(now / 1000000);
	page->tenant = t->id;
	page->priority = (uint32_t)priority;
	page->weight = weight;
	hd_let_pass(t);
	hd_event_tenant(d, "join", t);
	t->is_logged = hd_log_may(&d->joins, now, HD_LOG_INFO, "tenants:");
	if (t->is_logged)
		hd_log_at(HD_LOG_INFO,
			"tenant %u %s: %s, pid %d, uid %u, priority %s, weight %u, on %s", t->id,
			t->again ? "is back" : "joins", hello->name, (int)cred->pid,
			(unsigned)cred->uid, hd_priority_name(priority, (char[16]){0}), weight,
			hello->device);
	hd_watch(d, dev);
	hd_look_at_pin(d, t);
	if (t->again)
		hd_scan_tenant(d, t, true);
	*ret = t;
	return 0;
fail:
	free(t->slots);
	free(t);
	return r;
}

void hd_launched(const struct hd_tenant *t, uint64_t ret[WIRE_REASONS])
{
	for (unsigned i = 0; i < WIRE_REASONS; i++)
		ret[i] = __atomic_load_n(&t->page->launched[i], __ATOMIC_RELAXED);
}

static uint64_t launches_of(const struct hd_tenant *t)
{
	uint64_t by_reason[WIRE_REASONS], by_outcome[WIRE_OUTCOMES];

	hd_launched(t, by_reason);
	return wire_outcomes(by_reason, by_outcome);
}

void hd_tenant_remove(struct hd *d, struct hd_tenant *t)
{
	struct hd_device *dev = t->device;
	uint64_t now = hd_clock(d);

	hd_scan_last(d, t);
	hd_event_tenant(d, "leave", t);
	d->killed += !dev->is_cpu && !__atomic_load_n(&t->page->ends, __ATOMIC_ACQUIRE);
	hd_tell_figures(d, t, true);
	if (t->is_logged && !d->ends)
		hd_log_at(HD_LOG_INFO,
			"tenant %u leaves: %s, pid %d: %llu launch%s, preempted %llu time%s, "
			"waited %llu ms%s",
			t->id, t->hello.name, (int)t->cred.pid, (unsigned long long)launches_of(t),
			PLURAL(launches_of(t), "es"), (unsigned long long)t->preemptions,
			PLURAL(t->preemptions, "s"),
			(unsigned long long)(t->page->waited_ns / 1000000),
			t->n_known ? "; it ended with launches unfinished" : "");
	sched_leave(dev->sched, now, t->sched);
	*(t->prev ? &t->prev->next : &dev->tenants) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	dev->n_tenants--;
	d->n_tenants--;
	free(t->slots);
	free(t);
	hd_carveout_tell(d, dev);
	count_shares_anew(dev);
	if (!dev->tenants)
		drop_device(d, dev);
	else
		hd_watch(d, dev);
}

struct hd_tenant *hd_tenant_find(struct hd *d, uint32_t id)
{
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
			if (t->id == id)
				return t;
		}
	}
	return NULL;
}

void hd_tenant_set(struct hd *d, struct hd_tenant *t, int priority, uint32_t weight)
{
	if (hd_log_may(&d->sets, hd_clock(d), HD_LOG_INFO, "priorities: set"))
		hd_log_at(HD_LOG_INFO,
			"tenant %u: %s, pid %d: priority %s, was %s; weight %u, was %u", t->id,
			t->hello.name, (int)t->cred.pid, hd_priority_name(priority, (char[16]){0}),
			hd_priority_name(t->priority, (char[16]){0}), weight, t->weight);
	t->priority = priority;
	t->weight = weight;
	__atomic_store_n(&t->page->priority, (uint32_t)priority, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->weight, weight, __ATOMIC_RELAXED);
	sched_set_priority(t->device->sched, t->sched, priority);
	sched_set_weight(t->device->sched, t->sched, weight);
	count_shares_anew(t->device);
	hd_scan_tenant(d, t, true);
	hd_watch(d, t->device);
}

/* Reads from the tenant's page what a decision needs besides its launches (hd_look_at_pin). A tenant
 * without work does not pin, and wakes heddled when it does; its copies matter only shortly after its
 * work. So a decision does not read the pages of tenants that have been idle for long. */
static void look_at_tenant(struct hd *d, struct hd_tenant *t)
{
	if (t->n_known || t->opaque_active || t->pin & 1 ||
		(t->active_ns && d->now_ns - t->active_ns < COPIES_NS))
		hd_look_at_pin(d, t);
}

/* Makes a decision at once, from what heddled knows already. A new launch, or unmanaged (opaque)
 * work that begins or ends, must not wait until the pages of the other tenants are scanned. Those
 * pages may contain hundreds of launches. */
static void decide_at_once(struct hd *d, struct hd_device *dev)
{
	for (struct hd_tenant *t = dev->tenants; t; t = t->next)
		look_at_tenant(d, t);
	if (sched_decide(dev->sched, d->now_ns) == 0)
		hd_apply(d, dev);
}

/* Returns true if unmanaged (opaque) work of the tenant has begun or ended. */
static bool note_opaque(struct hd *d, struct hd_tenant *t)
{
	if (!hd_look_at_opaque(d, t))
		return false;
	t->active_ns = d->now_ns;
	return true;
}

void hd_kicked(struct hd *d, struct hd_tenant *t)
{
	uint64_t before = t->launches;

	hd_clock(d);
	hd_look_at_pin(d, t);
	if (note_opaque(d, t))
		decide_at_once(d, t->device);
	hd_scan_tenant(d, t, true);
	if (t->launches == before)
		return;
	/* heddled does not poll a launch that runs alone. So heddled's knowledge of the other
	 * tenants' progress may be out of date here. Update it before the decision. */
	for (struct hd_tenant *o = t->device->tenants; o; o = o->next) {
		if (o != t)
			hd_scan_known(d, o);
	}
	decide_at_once(d, t->device);
}

bool hd_look_out(const struct hd *d, const struct hd_device *dev)
{
	/* On the virtual GPU, polling would use the CPUs that execute the kernels. */
	return d->slow_wake && !dev->is_cpu;
}

/* Stores the present time in each tenant's page, as heddled's heartbeat: a tenant that is held or
 * preempted assumes that heddled is dead if this time does not advance. Also stores in each page
 * whether the tenant should poll instead of sleeping. */
static void store_alive_time(struct hd *d, uint64_t now)
{
	uint32_t ms = (uint32_t)(now / 1000000);

	d->last_alive_ns = now;
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
			__atomic_store_n(&t->page->alive_ms, ms, __ATOMIC_RELAXED);
			__atomic_store_n(
				&t->page->slow_wake, hd_look_out(d, dev), __ATOMIC_RELAXED);
		}
	}
}

/* Returns true until LEAVES_NS have passed since the last preemption or shrink on the device.
 * Workers that have not left by then may never leave, so heddled polls for them less often. */
static bool may_leave_soon(const struct hd_device *dev, uint64_t now)
{
	return now < dev->told_ns + LEAVES_NS;
}

/* Returns true if a preempted launch has not left the device yet. A launch that began with all
 * quotas 0 does not count, because no other launch waits for it to leave. */
static bool is_in_handover(const struct hd_device *dev)
{
	return sched_count(dev->sched, LAUNCH_DRAINING) != 0;
}

/* Returns the time until the next poll: an eighth of the shortest expected remaining time, within
 * limits. While a preempted or shrinking launch is leaving, returns the lower limit. */
static uint64_t poll_interval_ns(struct hd_device *dev, uint64_t now)
{
	uint64_t least = TICK_MAX_NS * 8, floor = dev->is_cpu ? TICK_CPU_NS : TICK_MIN_NS;

	if ((is_in_handover(dev) || sched_count(dev->sched, LAUNCH_SHRINKING)) &&
		may_leave_soon(dev, now))
		return floor;
	least = MIN(least, sched_soonest(dev->sched, now));
	return MAX(floor, MIN(least / 8, TICK_MAX_NS));
}

/* When a tenant becomes the only one on its device, heddled normally clears the page's `watch`
 * field: the tenant need no longer wake heddled for each launch. Just before that, one of the
 * tenant's launches may have begun with all quotas 0. If heddled does not know this launch, nobody
 * would grant it SMs. So this function scans the tenant's page a few more times in the second after
 * the change of `watch`. (page.h requires the tenant to wake heddled for such a launch as well.)
 * Returns the time until the next scan. */
static uint64_t rescan_after_release(struct hd *d, struct hd_device *dev)
{
	uint64_t since = d->now_ns - dev->unwatched_ns;

	if (dev->n_tenants != 1 || !dev->unwatched_ns || since > LOOK_AGAIN_NS)
		return UINT64_MAX;
	hd_scan_tenant(d, dev->tenants, true);
	return since < LOOK_AGAIN_NS / 10 ? LOOK_AGAIN_NS / 100 : LOOK_AGAIN_NS / 4;
}

/* Checks whether unmanaged (opaque) work has ended. Tenants do not wake heddled each time such work
 * ends. */
static void check_opaque_ends(struct hd *d, struct hd_device *dev)
{
	bool changed = false;

	for (struct hd_tenant *t = dev->tenants; t; t = t->next)
		changed |= t->opaque_active && note_opaque(d, t);
	if (changed)
		decide_at_once(d, dev);
}

static uint64_t run_device(struct hd *d, struct hd_device *dev)
{
	uint64_t next = rescan_after_release(d, dev), deadline;

	check_opaque_ends(d, dev);
	for (struct hd_tenant *t = dev->tenants; t; t = t->next) {
		if (t->n_known || t->opaque_active) {
			hd_scan_tenant(d, t, false);
			t->active_ns = d->now_ns;
			if (t->n_known)
				t->steered_ns = t->active_ns;
		}
		look_at_tenant(d, t);
		next = MIN(next, hd_bounce_look(d, t));
	}
	next = MIN(next, hd_set_bounds(d, dev));
	if (sched_decide(dev->sched, d->now_ns) < 0)
		return TICK_MAX_NS;
	hd_apply(d, dev);
	deadline = sched_deadline(dev->sched);
	if (deadline != UINT64_MAX)
		next = MIN(next, deadline > d->now_ns ? deadline - d->now_ns : 0);
	if (sched_contended(dev->sched))
		next = MIN(next, poll_interval_ns(dev, d->now_ns));
	return next;
}

/* Returns true if a tenant on the device waits for a control word of heddled. */
static bool is_device_awaited(const struct hd_device *dev)
{
	if (sched_contended(dev->sched))
		return true;
	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		if (__atomic_load_n(&t->page->opaque_waiting, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

uint64_t hd_run(struct hd *d)
{
	uint64_t next = UINT64_MAX, now = hd_clock(d);
	bool waited_for = false;

	/* Store the time before any tenant is held. A held tenant that saw an old alive_ms would
	 * assume that heddled is dead. */
	if (now - d->last_alive_ns >= ALIVE_TICK_NS / 2)
		store_alive_time(d, now);
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		next = MIN(next, run_device(d, dev));
		waited_for |= is_device_awaited(dev);
	}
	return waited_for ? MIN(next, ALIVE_TICK_NS) : next;
}

static uint64_t tenant_progress(const struct hd_tenant *t)
{
	uint64_t sum = t->launches + __atomic_load_n(&t->page->opaque_submitted, __ATOMIC_RELAXED) +
		       __atomic_load_n(&t->page->opaque_completed, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < WIRE_SLOTS && t->n_known; i++) {
		const struct ctl_host *h = &t->page->slots[i].host;

		if (t->slots[i].launch)
			sum += __atomic_load_n(&h->ticket, __ATOMIC_RELAXED) +
			       __atomic_load_n(&h->finished, __ATOMIC_RELAXED) +
			       __atomic_load_n(&h->drains, __ATOMIC_RELAXED);
	}
	return sum;
}

uint64_t hd_progress(const struct hd *d)
{
	uint64_t sum = 0;

	for (const struct hd_device *dev = d->devices; dev; dev = dev->next) {
		for (const struct hd_tenant *t = dev->tenants; t && !dev->is_cpu; t = t->next)
			sum += tenant_progress(t);
	}
	return sum;
}

bool hd_in_handover(const struct hd *d)
{
	for (const struct hd_device *dev = d->devices; dev; dev = dev->next) {
		if (is_in_handover(dev) && !dev->is_cpu && may_leave_soon(dev, d->now_ns))
			return true;
	}
	return false;
}

bool hd_may_preempt(const struct hd *d)
{
	if (sched_policy_is(d->config.policy, HEDDLE_POLICY_TAKES_NOTHING))
		return false;
	for (const struct hd_device *dev = d->devices; dev; dev = dev->next) {
		unsigned active = 0;

		for (const struct hd_tenant *t = dev->tenants; t && !dev->is_cpu; t = t->next) {
			active += t->active_ns && d->now_ns - t->active_ns < ACTIVE_NS;
			if (t->priority != dev->tenants->priority || active > 1)
				return true;
		}
	}
	return false;
}
