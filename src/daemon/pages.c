/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reading tenants' pages: what the slots say becomes events of the engine. A tenant may write
 * anything at any time, so each word is read once, what was published with a slot is copied once,
 * and nothing that comes back is used as an index or a size without a bound. */
#include "daemon.h"

#include <string.h>

#define INPUT_MAX 1e18f

_Static_assert(SCHED_INPUTS == WIRE_INPUTS, "copied one by one");

#define NEXT_FEW  8u       /* of a tenant's launches that have not arrived: looked at each time, */
#define LOOK_NS   40000u   /* and the rest of them when so much time has passed */
#define ASK_NS    1000000u /* a launch gets so much time until its workers are counted, */
#define ASK_SIZED 4u       /* sixteen times that if the round had as many as were missing */
#define ASK_MAX   6u       /* and twice as much each time that more are asked for, so often */
#define ASK_ALL   4u       /* from then on each asks for a grid that fills every place */

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void copy_name(char ret_name[64], const char *from)
{
	for (unsigned i = 0; i < 63; i++) {
		char c = __atomic_load_n(&from[i], __ATOMIC_RELAXED);

		ret_name[i] = c;
		if (!c)
			return;
	}
	ret_name[63] = 0;
}

static uint64_t product(const uint32_t dim[3], uint64_t max)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < 3; i++) {
		n *= dim[i];
		if (n > max)
			return max;
	}
	return n;
}

/* A size, or 0: anything may be written there. */
static float input_of(const float *from)
{
	uint32_t bits = __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v > 0 && v <= INPUT_MAX ? v : 0;
}

/* Of the guard form: counts below what fits an SM. Anything may be written there. */
static uint32_t counts_of(const struct wire_slot *w)
{
	uint32_t fit = MIN(load(&w->workers_per_sm), 32), counts = load(&w->counts);

	return load(&w->guard) && fit ? counts & (uint32_t)((1ull << fit) - 2) : 0;
}

/* What was published with the launch. A tenant says by itself which kernel it is that took so long:
 * the kernel's number is the user's own, and nobody else's kernel is judged by it. */
static void copy_info(struct hd *d, const struct hd_tenant *t, const struct wire_slot *w,
	struct sched_launch_info *ret)
{
	uint32_t block[3];
	char name[64];

	copy_name(name, w->name);
	memcpy(block, w->block, sizeof(block));
	*ret = (struct sched_launch_info){
		.id = load64(&w->id),
		.kernel = durations_number(d->durations, &t->owner, load64(&w->kernel), name),
		.total = MIN(load64(&w->total), UINT64_MAX / 4),
		.threads = (uint32_t)product(block, 1024),
		.regs = MIN(load(&w->regs), 255),
		.shared_bytes = MIN(load(&w->shared_bytes), 1 << 20),
		.workers_per_sm = MIN(load(&w->workers_per_sm), 32),
		.unranked = load(&w->guard) != 0,
		.counts = counts_of(w),
		.stream_priority = MIN(load(&w->priority), 15),
	};
	if (ret->threads == 0)
		ret->threads = 1;
	for (unsigned i = 0; i < SCHED_INPUTS; i++)
		ret->input[i] = input_of(&w->input[i]);
	durations_claim(d->durations, ret->kernel, load(&w->claim));
}

void hd_slot_index(const struct hd_slot *s)
{
	s->tenant->stage[s - s->tenant->slots] =
		!s->launch                                            ? HD_UNKNOWN
		: launch_is(sched_state(s->launch), LAUNCH_SUBMITTED) ? HD_SUBMITTED
								      : HD_ARRIVED;
}

/* When the launch ended by the device's clock, converted to the daemon's; if that is not known,
 * now. The daemon may look seconds later, because it does not watch a launch that has no
 * competitor. */
static uint64_t ended_ns(const struct hd *d, const struct hd_slot *s, const struct wire_slot *w)
{
	const struct hd_device *dev = s->tenant->device;
	uint64_t done = load64(&w->host.done_ns), at = done - (uint64_t)dev->ahead_ns;

	return done && dev->ahead_at && at >= s->submit_ns && at < d->now_ns ? at : d->now_ns;
}

static void hd_slot_forget(struct hd *d, struct hd_slot *s, bool completed)
{
	struct hd_tenant *t = s->tenant;
	struct wire_slot *w = &t->page->slots[s - t->slots];
	struct sched_info info;
	uint64_t ran = 0;

	if (completed) {
		uint64_t from = load64(&w->host.arrived_ns), to = load64(&w->host.done_ns);

		ran = from && to > from ? to - from : 0;
		sched_ended(s->launch, ended_ns(d, s, w));
		sched_progress(t->device->sched, s->launch, s->total);
		t->device->freed_ns = d->now_ns;
		hd_event_launch(d, "finish", s, 0);
	} else {
		hd_event_launch(d, "drop", s, 0);
	}
	sched_launch_state(t->device->sched, d->now_ns, s->launch, &info);
	sched_end(t->device->sched, d->now_ns, s->launch, completed, ran);
	t->waited_ns += info.waited_ns;
	t->ran_ns += ran && !s->preemptions ? ran : info.ran_ns;
	s->launch = NULL;
	hd_slot_index(s);
	memset(s, 0, sizeof(*s));
	t->n_known--;
	hd_tell_figures(d, t, false);
}

void hd_tell_figures(struct hd *d, struct hd_tenant *t, bool left)
{
	uint64_t waited = t->waited_ns, ran = t->ran_ns;

	for (uint32_t i = 0; left && i < WIRE_SLOTS; i++) {
		struct sched_info info;

		if (!t->slots[i].launch)
			continue;
		sched_launch_state(t->device->sched, d->now_ns, t->slots[i].launch, &info);
		waited += info.waited_ns;
		ran += info.ran_ns;
	}
	__atomic_store_n(&t->page->waited_ns, waited, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->ran_ns, ran, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->preempted, t->preemptions, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->left, left, __ATOMIC_RELEASE);
}

/* A guard grid that left at this word left because of the last change of its count. */
static bool is_resized(const struct hd_slot *s, uint32_t seq)
{
	return s->resizes && (int32_t)(seq - s->resizes) >= 0;
}

static void saw_drained(struct hd *d, struct hd_slot *s, uint32_t seq)
{
	struct hd_device *dev = s->tenant->device;
	bool resized = is_resized(s, seq);

	if (sched_state(s->launch) == LAUNCH_DRAINING || resized) {
		/* Exact, as the store was: the turn may have stored it, too. */
		s->handover_ns = hd_clock(d) - s->store_ns;
		d->handover_ns[d->n_handovers++ % HD_HANDOVERS] =
			(uint32_t)MIN(s->handover_ns, UINT32_MAX);
	}
	hd_event_launch(d, "drained", s, 0);
	s->handover_ns = 0;
	if (s->resizes && !resized)
		return; /* because of an earlier word */
	s->resizes = 0;
	dev->freed_ns = d->now_ns;
	sched_drained(dev->sched, d->now_ns, s->launch);
}

/* How far the device's clock is ahead of ours: no launch begins before the program asked for it,
 * and on an idle device it begins right then. Forgotten slowly: clocks drift. */
static void compare_clocks(
	struct hd_device *dev, uint64_t arrived_ns, uint64_t submit_ns, uint64_t now)
{
	int64_t ahead = (int64_t)(arrived_ns - submit_ns);
	int64_t grown = dev->ahead_at ? ((int64_t)now - dev->ahead_at) / 10000 : 0;

	if (!arrived_ns || !submit_ns || submit_ns > now ||
		(dev->ahead_at && ahead >= dev->ahead_ns + grown))
		return;
	dev->ahead_ns = ahead;
	dev->ahead_at = (int64_t)now;
}

/* How long it had been running when it was first looked at, by its own report. */
static uint64_t ran_unseen(
	struct hd_device *dev, const struct hd_slot *s, const struct wire_slot *w, uint64_t now)
{
	uint64_t at = load64(&w->host.arrived_ns), began;

	compare_clocks(dev, at, s->submit_ns, now);
	if (!at || !dev->ahead_at)
		return 0;
	began = at - (uint64_t)dev->ahead_ns;
	return began >= s->submit_ns && began < now ? now - began : 0;
}

/* It says with which word of its tenant's it began. */
static void arrived(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct hd_tenant *t = s->tenant;
	uint32_t began = load(&w->host.began);
	enum sched_began how = s->seq              ? SCHED_BEGAN_UNKNOWN /* another's word */
			       : !began            ? SCHED_BEGAN_FREE
			       : began == t->begin ? SCHED_BEGAN_TOLD
						   : SCHED_BEGAN_UNKNOWN;
	uint8_t quota[CTL_MAX_SMS];
	bool held;

	s->asked_ns = d->now_ns;
	s->unseen_ns = ran_unseen(t->device, s, w, s->asked_ns);
	sched_arrive(t->device->sched, d->now_ns, s->launch, how);
	hd_slot_index(s);
	sched_quotas(t->device->sched, s->launch, quota);
	hd_note_count(s, quota);
	held = sched_state(s->launch) == LAUNCH_HELD;
	__atomic_store_n(&w->granted, !held, __ATOMIC_RELEASE);
	if (held &&
		hd_look_out(d, t->device)) /* as after a preemption: it must poll for its grant */
		d->io.wake(d->io.user, t, false);
	hd_event_launch(d, "arrive", s, 0);
}

/* Its quotas are all 0. */
static bool is_stopped(const struct hd_slot *s)
{
	return launch_is(sched_state(s->launch), LAUNCH_STOPPED);
}

/* Workers come where there is room, and leave where they may not be: while those that are to give
 * up SMs are still busy there, a place that is free on somebody else's eats up the whole grid. Then
 * the launch wants one more round. (Relays keep a few places.) */
static void count_workers(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct hd_device *dev = s->tenant->device;
	uint64_t left, present, want, wait_ns, missing = 0;
	struct sched_info info;

	if (is_stopped(s) || s->guard)
		return;
	/* The tenant has not launched that round before now. */
	if (s->sized && s->awaited && load(&w->launches) != s->awaited) {
		s->awaited = 0;
		s->asked_ns = d->now_ns;
	}
	wait_ns = (uint64_t)ASK_NS << MIN(s->asked + s->sized * ASK_SIZED, ASK_MAX);
	/* As another launch ended or left there may be room on SMs where there was none. */
	if (dev->freed_ns > s->asked_ns)
		wait_ns = dev->freed_ns - s->asked_ns + ASK_NS;
	if ((s->sized && s->awaited) || d->now_ns - s->asked_ns < wait_ns)
		return;
	left = s->total - MIN(load64(&w->host.ticket), s->total);
	present = load(&w->host.present);
	sched_launch_state(dev->sched, d->now_ns, s->launch, &info);
	want = MIN((uint64_t)info.workers, present + left);
	if (s->sized)
		missing = MIN(hd_missing_workers(s, w, info.workers), left);
	else if ((info.workers < dev->n_sms * s->workers_per_sm || s->is_few) &&
		 present + 2 + want / 8 < want)
		missing = want - present;
	if (!missing)
		return;
	if (!s->seq) /* rounds answer words of its own */
		hd_store_quotas(d, s);
	s->asked += s->asked < ASK_MAX;
	s->asked_ns = d->now_ns;
	/* Later ones fill every place, wherever the missing ones are. */
	hd_ask_workers(s, w, s->sized && s->asked < ASK_ALL ? (uint32_t)missing : 0);
	hd_event_launch(d, "ask", s, info.n_sms);
	d->io.wake(d->io.user, s->tenant, false);
}

/* The launch of the guard form was about to come again when it was told another count, and comes
 * with that. */
static void look_at_padding(struct hd_slot *s, const struct wire_slot *w)
{
	if (!s->resizes || load(&w->padded) != s->count)
		return;
	s->resizes = 0;
	sched_absent(s->tenant->device->sched, s->launch);
}

/* The device's reports of a known launch. False when it is over. */
static bool look(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct sched *sched = s->tenant->device->sched;
	uint32_t drains, seq;

	if (load(&w->host.done) == s->gen + 1) {
		hd_slot_forget(d, s, true);
		return false;
	}
	drains = load(&w->host.drains);
	if (launch_is(sched_state(s->launch), LAUNCH_SUBMITTED)) {
		if (load(&w->host.arrived) != s->gen + 1)
			return true;
		arrived(d, s, w);
	}
	sched_idle(sched, d->now_ns, s->launch, load(&w->idle) != 0);
	sched_progress(sched, s->launch, MIN(load64(&w->host.finished), s->total));
	sched_started(sched, d->now_ns, s->launch, load64(&w->host.ticket));
	if (sched_state(s->launch) == LAUNCH_SHRINKING && !s->resizes &&
		load(&w->host.present) <= s->may_stay)
		sched_shrunk(sched, d->now_ns, s->launch);
	count_workers(d, s, w);
	if (drains != s->drains) {
		s->drains = drains;
		s->rounds = MIN(load(&w->host.rounds), INT32_MAX);
		seq = load(&w->host.drained_seq);
		/* A round that is still to come has not left with the others. The tenant answers a
		 * change of the count by itself: the next grid may be launched by now. */
		if (load(&w->launches) <= s->rounds + 1 || is_resized(s, seq))
			saw_drained(d, s, seq);
		/* All of it left on what its tenant was told: rounds answer words of its own. */
		if (!is_stopped(s) && !s->seq)
			hd_store_quotas(d, s);
		if (!is_stopped(s))
			d->io.wake(d->io.user, s->tenant, false);
	}
	look_at_padding(s, w);
	return true;
}

static void submitted(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	struct sched_launch_info info;

	copy_info(d, t, w, &info);
	*s = (struct hd_slot){
		.tenant = t,
		.id = info.id,
		.total = info.total,
		.kernel = load64(&w->kernel),
		.threads = info.threads,
		.shared_bytes = info.shared_bytes,
		.workers_per_sm = info.workers_per_sm,
		.submit_ns = load64(&w->submit_ns),
		.gen = load(&w->gen),
		.seq = load(&w->host.seq),
		.guard = load(&w->guard),
		.is_few = info.workers_per_sm && load(&w->hardware_blocks) &&
			  load(&w->hardware_blocks) - 1 <
				  MIN(info.total, t->device->n_sms * info.workers_per_sm - 1),
		.counts = info.counts,
		.grow = load(&w->grow), /* goes on from the slot's last launch */
	};
	copy_name(s->name, w->name);
	info.user = s;
	__atomic_store_n(&w->preemptions, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->granted, 1, __ATOMIC_RELEASE);
	if (sched_submit(t->device->sched, d->now_ns, t->sched, &info, &s->launch) < 0) {
		/* Nonsense (no blocks, an id twice): it runs unmanaged. */
		s->launch = NULL;
		return;
	}
	t->n_known++;
	t->launches++;
	hd_carveout_need(t, s);
	hd_carveout_tell(d, t->device);
	hd_slot_index(s);
	hd_event_launch(d, "submit", s, 0);
	look(d, s, w);
}

/* It came and went while nobody looked. If no word of its own held it up, it still tells how long
 * it took. */
static void unseen(struct hd *d, struct hd_tenant *t, const struct wire_slot *w)
{
	uint64_t from = load64(&w->host.arrived_ns), to = load64(&w->host.done_ns);
	struct sched_launch_info info;

	if (load(&w->host.seq) != 0 || load(&w->host.drains) != 0)
		return;
	copy_info(d, t, w, &info);
	if (from && to > from) {
		sched_learn(t->device->sched, &info, to - from);
		compare_clocks(t->device, from, load64(&w->submit_ns), d->now_ns);
		t->ran_ns += to - from;
		hd_tell_figures(d, t, false);
	}
	t->launches++;
}

static void closed(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	uint32_t expected = WIRE_SLOT_CLOSED;

	if (s->launch)
		hd_slot_forget(d, s, load(&w->host.done) == s->gen + 1);
	else if (load(&w->host.done) == load(&w->gen) + 1)
		unseen(d, t, w);
	__atomic_store_n(&w->granted, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(
		&w->state, &expected, WIRE_SLOT_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void look_at_slot(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	uint32_t state = load(&w->state);

	/* The slot was given up and taken again since. */
	if (s->launch && (state == WIRE_SLOT_FREE || load64(&w->id) != s->id))
		hd_slot_forget(d, s, false);
	if (state == WIRE_SLOT_CLOSED)
		closed(d, t, i);
	else if (state == WIRE_SLOT_SUBMITTED && s->launch)
		look(d, s, w);
	else if (state == WIRE_SLOT_SUBMITTED && load(&w->host.done) != load(&w->gen) + 1)
		submitted(d, t, i);
}

void hd_scan_last(struct hd *d, struct hd_tenant *t)
{
	for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
		struct wire_slot *w = &t->page->slots[i];
		uint32_t state = load(&w->state);

		if (t->slots[i].launch || state == WIRE_SLOT_CLOSED)
			look_at_slot(d, t, i);
		else if (state == WIRE_SLOT_SUBMITTED && load(&w->host.done) == load(&w->gen) + 1)
			unseen(d, t, w);
	}
}

/* None of those that are held back begins; but one does where some were waiting the last time, too,
 * and none has ended since: who is let go on for a moment only, over and over, gets on. */
void hd_let_pass(struct hd_tenant *t)
{
	uint32_t ended = load(&t->page->opaque_completed);
	uint32_t submitted = load(&t->page->opaque_submitted);
	uint32_t up_to = submitted + WIRE_FAR_AHEAD;

	if (t->hold) {
		up_to = ended == t->ended && submitted != ended ? ended + 1
								: ended - WIRE_FAR_AHEAD;
		t->ended = ended;
	}
	__atomic_store_n(&t->page->allowed, up_to, __ATOMIC_RELEASE);
}

bool hd_look_at_opaque(struct hd *d, struct hd_tenant *t)
{
	uint32_t flying = load(&t->page->opaque_submitted) - load(&t->page->opaque_completed);
	bool active = (t->follow && flying && flying < 1u << 31) || load(&t->page->opaque_waiting);

	if (!t->hold && (int32_t)(load(&t->page->allowed) - load(&t->page->opaque_submitted)) <
				(int32_t)(WIRE_FAR_AHEAD / 2))
		hd_let_pass(t);
	if (active == t->opaque_active)
		return false;
	t->opaque_active = active;
	sched_opaque(t->device->sched, d->now_ns, t->sched, active,
		load(&t->page->opaque_waited) == load(&t->page->opaque_submitted));
	hd_event_tenant(d, active ? "opaque" : "opaque-end", t);
	return true;
}

void hd_look_at_pin(struct hd *d, struct hd_tenant *t)
{
	uint32_t pin = load(&t->page->pin);

	sched_copied(t->sched, load64(&t->page->copied_ns), load64(&t->page->last_copy_ns));
	if (pin == t->pin)
		return;
	t->pin = pin;
	sched_pin(t->device->sched, t->sched, pin & 1);
	hd_event_tenant(d, pin & 1 ? "pin" : "unpin", t);
	__atomic_store_n(&t->page->pinned, pin, __ATOMIC_RELEASE);
}

/* few: limit of launches that have not arrived. unknown: free slots, too. */
static void scan(struct hd *d, struct hd_tenant *t, bool unknown, uint32_t few)
{
	uint32_t first = t->next_slot, seen = 0;

	for (uint32_t k = 0; k < WIRE_SLOTS; k++) {
		uint32_t i = (first + k) % WIRE_SLOTS;
		bool queued = t->stage[i] == HD_SUBMITTED;

		if ((!unknown && t->stage[i] == HD_UNKNOWN) || (queued && seen == few))
			continue;
		if (queued && seen++ == 0)
			t->next_slot = i;
		look_at_slot(d, t, i);
	}
}

/* In a long queue the next few launches arrive first, because slots are used in turn. The rest are
 * scanned only now and then: hundreds of slots at each scan would delay the waiting tenant. */
void hd_scan_tenant(struct hd *d, struct hd_tenant *t, bool whole)
{
	uint32_t few = whole || d->now_ns - t->looked_ns >= LOOK_NS ? WIRE_SLOTS : NEXT_FEW;

	hd_look_at_opaque(d, t);
	if (few == WIRE_SLOTS)
		t->looked_ns = d->now_ns;
	scan(d, t, whole, few);
}

void hd_scan_known(struct hd *d, struct hd_tenant *t)
{
	if (t->n_known)
		scan(d, t, false, 1);
}
