/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads tenants' pages and turns the contents of launch slots into events for the scheduling
 * engine. A tenant can write anything at any time. So heddled copies the description of a launch
 * when it first sees the launch. It checks or bounds each value of the page before it uses the
 * value as an index or a size. */
#include "pages.h"
#include "apply.h"
#include "base/text.h"
#include "daemon.h"
#include "events.h"

#include <string.h>

#define INPUT_MAX 1e18f

_Static_assert(SCHED_INPUTS == WIRE_INPUTS, "copied one by one");

#define NEXT_FEW  8u       /* how many of a tenant's queued launches each scan reads */
#define LOOK_NS   40000u   /* all queued launches are read once in this many ns */
#define ASK_NS    1000000u /* wait after a request until heddled counts a launch's workers again */
#define ASK_SIZED 4u /* doublings of ASK_NS if the last request was for the missing workers only */
#define ASK_MAX   6u /* maximum number of doublings of ASK_NS; each request adds one */
/* from this request on, heddled asks for as many workers as fit on the device */
#define ASK_ALL 4u

static uint32_t load_word(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static uint64_t load_word64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void copy_name(char ret_name[64], const char *from)
{
	for (unsigned i = 0; i < 63; i++) {
		char c = __atomic_load_n(&from[i], __ATOMIC_RELAXED);

		ret_name[i] = c;
		if (!c)
			break;
	}
	ret_name[63] = 0;
	text_plain(ret_name, strlen(ret_name), "");
}

static uint64_t multiply_dims(const uint32_t dim[3], uint64_t max)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < 3; i++) {
		n *= dim[i];
		if (n > max)
			return max;
	}
	return n;
}

/* Returns the size, or 0 if it is not valid. The tenant can write any value here. */
static float read_input(const float *from)
{
	uint32_t bits = __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v > 0 && v <= INPUT_MAX ? v : 0;
}

/* Returns the numbers of blocks on an SM to which the guard form can be limited, as bits: bit i
 * stands for i blocks. The tenant can write anything into the page, so numbers that are not smaller
 * than the number that fits are dropped. Returns 0 for launches that do not have the guard form. */
static uint32_t read_counts(const struct wire_slot *w)
{
	uint32_t fit = MIN(load_word(&w->workers_per_sm), 32), counts = load_word(&w->counts);

	return load_word(&w->guard) && fit ? counts & (uint32_t)((1ull << fit) - 2) : 0;
}

/* Copies the description of the launch. The tenant itself says which kernel the launch runs, and
 * may be wrong. So each user has separate kernel records: a wrong kernel spoils only the records of
 * that user. */
static void copy_info(struct hd *d, const struct hd_tenant *t, const struct wire_slot *w,
	struct sched_launch_info *ret)
{
	uint32_t block[3];
	char name[64];

	copy_name(name, w->name);
	memcpy(block, w->block, sizeof(block));
	*ret = (struct sched_launch_info){
		.id = load_word64(&w->id),
		.kernel = durations_number(d->durations, &t->owner, load_word64(&w->kernel), name),
		.total = MIN(load_word64(&w->total), UINT64_MAX / 4),
		.threads = (uint32_t)multiply_dims(block, 1024),
		.regs = MIN(load_word(&w->regs), 255),
		.shared_bytes = MIN(load_word(&w->shared_bytes), 1 << 20),
		.workers_per_sm = MIN(load_word(&w->workers_per_sm), 32),
		.unranked = load_word(&w->guard) != 0,
		.counts = read_counts(w),
		.stream_priority = MIN(load_word(&w->priority), 15),
	};
	if (ret->threads == 0)
		ret->threads = 1;
	for (unsigned i = 0; i < SCHED_INPUTS; i++)
		ret->input[i] = read_input(&w->input[i]);
	durations_claim(d->durations, ret->kernel, load_word(&w->claim));
}

void hd_slot_index(const struct hd_slot *s)
{
	s->tenant->stage[s - s->tenant->slots] =
		!s->launch                                            ? HD_UNKNOWN
		: launch_is(sched_state(s->launch), LAUNCH_SUBMITTED) ? HD_SUBMITTED
								      : HD_ARRIVED;
}

/* Estimates the device's clock minus heddled's clock. A launch cannot begin before the program has
 * submitted it, so the device's time of the beginning minus heddled's time of the submission is an
 * upper bound. The bound is close if the device was idle. Clocks drift, so a later measurement also
 * replaces the bound if it is slightly larger: by less than 1/10000 of the time since the last
 * measurement. */
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

/* Returns how long the launch had already run when heddled first saw it, according to the launch's
 * own report; 0 if this is not known. */
static uint64_t ran_unseen(
	struct hd_device *dev, const struct hd_slot *s, const struct wire_slot *w, uint64_t now)
{
	uint64_t at = load_word64(&w->host.arrived_ns), began;

	compare_clocks(dev, at, s->submit_ns, now);
	if (!at || !dev->ahead_at)
		return 0;
	began = at - (uint64_t)dev->ahead_ns;
	return began >= s->submit_ns && began < now ? now - began : 0;
}

/* Returns when the launch ended: the device's time, converted to heddled's clock. Returns the
 * present time if the device's time is not known or not plausible. heddled may find the end seconds
 * later, because it does not poll a launch that runs alone. */
static uint64_t ended_ns(const struct hd *d, const struct hd_slot *s, const struct wire_slot *w)
{
	const struct hd_device *dev = s->tenant->device;
	uint64_t done = load_word64(&w->host.done_ns), at = done - (uint64_t)dev->ahead_ns;

	return done && dev->ahead_at && at >= s->submit_ns && at < d->now_ns ? at : d->now_ns;
}

uint64_t hd_slot_ran(const struct hd_slot *s, const struct sched_info *info)
{
	return info->ran_ns + s->unseen_ns;
}

uint64_t hd_slot_waited(const struct hd_slot *s, const struct sched_info *info)
{
	return info->waited_ns - MIN(info->waited_ns, s->both_ns);
}

/* The engine counts a submitted launch as waiting until heddled sees that it has arrived. Notes
 * how long it ran meanwhile. */
static void note_unseen(const struct hd *d, struct hd_slot *s, uint64_t ran_ns)
{
	struct sched_info info;

	sched_launch_state(s->tenant->device->sched, d->now_ns, s->launch, &info);
	s->unseen_ns = ran_ns;
	s->both_ns = MIN(ran_ns, info.waited_ns);
}

static void hd_slot_forget(struct hd *d, struct hd_slot *s, bool completed)
{
	struct hd_tenant *t = s->tenant;
	struct wire_slot *w = &t->page->slots[s - t->slots];
	struct sched_info info;
	uint64_t ran = 0, id = s->id;

	if (completed) {
		uint64_t from = load_word64(&w->host.arrived_ns),
			 to = load_word64(&w->host.done_ns);

		ran = from && to > from ? to - from : 0;
		if (launch_is(sched_state(s->launch), LAUNCH_SUBMITTED)) {
			compare_clocks(t->device, from, s->submit_ns, d->now_ns);
			note_unseen(d, s, ran);
		}
		sched_ended(t->device->sched, s->launch, ended_ns(d, s, w));
		sched_progress(t->device->sched, s->launch, s->total);
		t->device->freed_ns = d->now_ns;
		hd_event_launch(d, "finish", s, 0);
	} else {
		hd_event_launch(d, "drop", s, 0);
	}
	sched_launch_state(t->device->sched, d->now_ns, s->launch, &info);
	sched_end(t->device->sched, d->now_ns, s->launch, completed, ran);
	t->waited_ns += hd_slot_waited(s, &info);
	/* The launch's own report is the more exact, but includes the time without SMs. */
	t->ran_ns += ran && !s->preemptions && !s->stopped ? ran : hd_slot_ran(s, &info);
	s->launch = NULL;
	hd_slot_index(s);
	*s = (struct hd_slot){.last_id = id};
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
		waited += hd_slot_waited(&t->slots[i], &info);
		ran += hd_slot_ran(&t->slots[i], &info);
	}
	__atomic_store_n(&t->page->waited_ns, waited, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->ran_ns, ran, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->preempted, t->preemptions, __ATOMIC_RELAXED);
	__atomic_store_n(&t->page->left, left, __ATOMIC_RELEASE);
}

/* `seq` is the control word that made the last grid of a guard-form launch exit. Returns true if
 * heddled has changed the launch's block count, and this word already contained the last change. */
static bool is_resized(const struct hd_slot *s, uint32_t seq)
{
	return s->resizes && (int32_t)(seq - s->resizes) >= 0;
}

static void note_drain(struct hd *d, struct hd_slot *s, uint32_t seq)
{
	struct hd_device *dev = s->tenant->device;
	bool resized = is_resized(s, seq);

	if (sched_state(s->launch) == LAUNCH_DRAINING || resized) {
		/* Read the clock again. This same pass of the loop may have stored the control
		 * word, and then d->now_ns, the time at which the pass began, is earlier than the
		 * store. */
		s->handover_ns = hd_clock(d) - s->store_ns;
		d->handover_ns[d->n_handovers++ % HD_HANDOVERS] =
			(uint32_t)MIN(s->handover_ns, UINT32_MAX);
	}
	hd_event_launch(d, "drained", s, 0);
	s->handover_ns = 0;
	if (s->resizes && !resized)
		return; /* the workers left because of an earlier control word */
	s->resizes = 0;
	dev->freed_ns = d->now_ns;
	sched_drained(dev->sched, d->now_ns, s->launch);
}

/* Records that the launch has arrived. A launch without quotas of its own begins with the quotas in
 * page->begin, which apply to the whole tenant, and reports their sequence number. From this number
 * the engine learns whether the launch began with the present quotas or with earlier ones. */
static void note_arrival(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct hd_tenant *t = s->tenant;
	uint32_t began = load_word(&w->host.began);
	/* If the launch has a control word already, an earlier heddled wrote it. */
	enum sched_began how = s->seq              ? SCHED_BEGAN_UNKNOWN
			       : !began            ? SCHED_BEGAN_FREE
			       : began == t->begin ? SCHED_BEGAN_TOLD
						   : SCHED_BEGAN_UNKNOWN;
	uint8_t quota[CTL_MAX_SMS];
	bool held;

	s->asked_ns = d->now_ns;
	note_unseen(d, s, ran_unseen(t->device, s, w, s->asked_ns));
	sched_arrive(t->device->sched, d->now_ns, s->launch, how);
	hd_slot_index(s);
	sched_quotas(t->device->sched, s->launch, quota);
	hd_note_count(s, quota);
	held = sched_state(s->launch) == LAUNCH_HELD;
	s->stopped = sched_state(s->launch) != LAUNCH_RUNNING;
	if (held)
		s->unseen_ns = s->both_ns = 0; /* none of its blocks has begun */
	__atomic_store_n(&w->granted, !held, __ATOMIC_RELEASE);
	if (held &&
		/* The tenant must poll for its grant, as after a preemption. */
		hd_look_out(d, t->device))
		d->io.wake(d->io.user, t, false);
	hd_event_launch(d, "arrive", s, 0);
}

/* Returns true if all quotas of the launch are 0. */
static bool is_stopped(const struct hd_slot *s)
{
	return launch_is(sched_state(s->launch), LAUNCH_STOPPED);
}

/* Requests more workers for a launch that may run but has too few. (The guard form has no workers.)
 * New workers start on any SM that has room, and exit if the launch may not use that SM. A request
 * can fail while old workers still leave the SMs that the launch has lost: all blocks of the new
 * grid may then start and exit one after another on one SM that has room but belongs to another
 * launch. In this case, the launch needs one more grid of workers.
 *
 * How many workers are too few:
 * - If the quotas are equal on all SMs after a growth, and were equal before (s->sized), heddled
 *   requests exactly the missing workers.
 * - Otherwise more workers must be missing than two plus an eighth of those wanted, because relays
 *   use the room of workers, too. A launch that began with the whole device and still has it is
 *   left out. */
static void request_missing_workers(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct hd_device *dev = s->tenant->device;
	uint64_t left, present, want, wait_ns, missing = 0;
	struct sched_info info;

	if (is_stopped(s) || s->guard)
		return;
	/* The tenant has launched the requested workers only now, so the wait begins now. */
	if (s->sized && s->awaited && load_word(&w->launches) != s->awaited) {
		s->awaited = 0;
		s->asked_ns = d->now_ns;
	}
	wait_ns = (uint64_t)ASK_NS << MIN(s->asked + s->sized * ASK_SIZED, ASK_MAX);
	/* If another launch has ended or left since the request, there may be new room. */
	if (dev->freed_ns > s->asked_ns)
		wait_ns = dev->freed_ns - s->asked_ns + ASK_NS;
	if ((s->sized && s->awaited) || d->now_ns - s->asked_ns < wait_ns)
		return;
	left = s->total - MIN(load_word64(&w->host.ticket), s->total);
	present = load_word(&w->host.present);
	sched_launch_state(dev->sched, d->now_ns, s->launch, &info);
	want = MIN((uint64_t)info.workers, present + left);
	if (s->sized)
		missing = MIN(hd_missing_workers(s, w, info.workers), left);
	else if ((info.workers < dev->n_sms * s->workers_per_sm || s->is_few) &&
		 present + 2 + want / 8 < want)
		missing = want - present;
	if (!missing)
		return;
	if (!s->seq) /* the launch needs quotas of its own before it gets more workers */
		hd_store_quotas(d, s);
	s->asked += s->asked < ASK_MAX;
	s->asked_ns = d->now_ns;
	/* After a few requests for the missing workers only, heddled requests as many workers as
	 * fit on the whole device. Then some start on the SMs that lack workers. */
	hd_ask_workers(s, w, s->sized && s->asked < ASK_ALL ? (uint32_t)missing : 0);
	hd_event_launch(d, "ask", s, info.n_sms);
	d->io.wake(d->io.user, s->tenant, false);
}

/* Ends a change of the block count of a guard-form launch if the tenant's latest grid already has
 * the new count. This happens if heddled changed the count when the tenant was about to launch that
 * grid: the tenant then used the new count. */
static void check_padding(struct hd_slot *s, const struct wire_slot *w)
{
	if (!s->resizes || load_word(&w->padded) != s->count)
		return;
	s->resizes = 0;
	sched_absent(s->tenant->device->sched, s->launch);
}

/* Reads what the device reports about a known launch. Returns false if the launch has ended. */
static bool read_reports(struct hd *d, struct hd_slot *s, struct wire_slot *w)
{
	struct sched *sched = s->tenant->device->sched;
	uint32_t drains, seq;

	if (load_word(&w->host.done) == s->gen + 1) {
		hd_slot_forget(d, s, true);
		return false;
	}
	drains = load_word(&w->host.drains);
	if (launch_is(sched_state(s->launch), LAUNCH_SUBMITTED)) {
		if (load_word(&w->host.arrived) != s->gen + 1)
			return true;
		note_arrival(d, s, w);
	}
	sched_idle(sched, d->now_ns, s->launch, load_word(&w->idle) != 0);
	sched_progress(sched, s->launch, MIN(load_word64(&w->host.finished), s->total));
	sched_started(sched, d->now_ns, s->launch, load_word64(&w->host.ticket));
	if (sched_state(s->launch) == LAUNCH_SHRINKING && !s->resizes &&
		load_word(&w->host.present) <= s->may_stay)
		sched_shrunk(sched, d->now_ns, s->launch);
	request_missing_workers(d, s, w);
	if (drains != s->drains) {
		s->drains = drains;
		s->rounds = MIN(load_word(&w->host.rounds), INT32_MAX);
		seq = load_word(&w->host.drained_seq);
		/* The other workers have left, but a grid that the tenant had launched had not
		 * begun yet and did not leave with them. Then the launch has not left the device
		 * completely, and this is no drain. The exception is a change of the block count:
		 * the grid that has not begun is then the next grid, which the tenant launched by
		 * itself, so this is a drain. */
		if (load_word(&w->launches) <= s->rounds + 1 || is_resized(s, seq))
			note_drain(d, s, seq);
		/* The workers left because of the tenant's quotas (page->begin): the launch has no
		 * quotas of its own. The tenant launches new workers only if heddled has stored
		 * quotas for the launch itself, so store them. */
		if (!is_stopped(s) && !s->seq)
			hd_store_quotas(d, s);
		if (!is_stopped(s))
			d->io.wake(d->io.user, s->tenant, false);
	}
	check_padding(s, w);
	return true;
}

static void submit_launch(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	struct sched_launch_info info;

	copy_info(d, t, w, &info);
	*s = (struct hd_slot){
		.tenant = t,
		.id = info.id,
		.total = info.total,
		.kernel = load_word64(&w->kernel),
		.threads = info.threads,
		.shared_bytes = info.shared_bytes,
		.workers_per_sm = info.workers_per_sm,
		.submit_ns = load_word64(&w->submit_ns),
		.gen = load_word(&w->gen),
		.seq = load_word(&w->host.seq),
		.guard = load_word(&w->guard),
		.is_few = info.workers_per_sm && load_word(&w->hardware_blocks) &&
			  load_word(&w->hardware_blocks) - 1 <
				  MIN(info.total, t->device->n_sms * info.workers_per_sm - 1),
		.counts = info.counts,
		/* the counter goes on from the previous launch in this slot */
		.grow = load_word(&w->grow),
	};
	copy_name(s->name, w->name);
	info.user = s;
	__atomic_store_n(&w->preemptions, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->granted, 1, __ATOMIC_RELEASE);
	if (sched_submit(t->device->sched, d->now_ns, t->sched, &info, &s->launch) < 0) {
		/* The engine does not accept the launch: for example, it has no blocks, its id is
		 * in use, or the tenant has too many launches. heddled does not steer it. */
		s->launch = NULL;
		return;
	}
	t->n_known++;
	t->launches++;
	hd_carveout_need(t, s);
	hd_carveout_tell(d, t->device);
	hd_slot_index(s);
	hd_event_launch(d, "submit", s, 0);
	read_reports(d, s, w);
}

/* Learns the duration of a launch that came and ended between two scans. Ignores the launch if
 * heddled had stored quotas for it, or if it was preempted on the way. Ignores it, too, if heddled
 * saw it end, but the tenant had not closed its slot then. */
static void learn_unseen_launch(struct hd *d, struct hd_tenant *t, const struct wire_slot *w)
{
	uint64_t from = load_word64(&w->host.arrived_ns), to = load_word64(&w->host.done_ns);
	struct sched_launch_info info;

	if (load_word(&w->host.seq) != 0 || load_word(&w->host.drains) != 0 ||
		load_word64(&w->id) == t->slots[w - t->page->slots].last_id)
		return;
	copy_info(d, t, w, &info);
	if (from && to > from) {
		sched_learn(t->device->sched, &info, to - from);
		compare_clocks(t->device, from, load_word64(&w->submit_ns), d->now_ns);
		t->ran_ns += to - from;
		hd_tell_figures(d, t, false);
	}
	t->launches++;
}

static void free_closed_slot(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	uint32_t expected = WIRE_SLOT_CLOSED;

	if (s->launch)
		hd_slot_forget(d, s, load_word(&w->host.done) == s->gen + 1);
	else if (load_word(&w->host.done) == load_word(&w->gen) + 1)
		learn_unseen_launch(d, t, w);
	__atomic_store_n(&w->granted, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(
		&w->state, &expected, WIRE_SLOT_FREE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void scan_slot(struct hd *d, struct hd_tenant *t, uint32_t i)
{
	struct wire_slot *w = &t->page->slots[i];
	struct hd_slot *s = &t->slots[i];
	uint32_t state = load_word(&w->state);

	/* Since the last scan, the tenant freed the slot, and may have reused it. */
	if (s->launch && (state == WIRE_SLOT_FREE || load_word64(&w->id) != s->id))
		hd_slot_forget(d, s, false);
	if (state == WIRE_SLOT_CLOSED)
		free_closed_slot(d, t, i);
	else if (state == WIRE_SLOT_SUBMITTED && s->launch)
		read_reports(d, s, w);
	else if (state == WIRE_SLOT_SUBMITTED && load_word(&w->host.done) != load_word(&w->gen) + 1)
		submit_launch(d, t, i);
}

void hd_scan_last(struct hd *d, struct hd_tenant *t)
{
	for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
		struct wire_slot *w = &t->page->slots[i];
		uint32_t state = load_word(&w->state);

		if (t->slots[i].launch || state == WIRE_SLOT_CLOSED)
			scan_slot(d, t, i);
		else if (state == WIRE_SLOT_SUBMITTED &&
			 load_word(&w->host.done) == load_word(&w->gen) + 1)
			learn_unseen_launch(d, t, w);
	}
}

/* Sets how many unmanaged (opaque) launches may pass the gates in their streams. Without a hold,
 * all launches may pass. During a hold, none may, with one exception: if launches wait at a gate,
 * and none has ended since the tenant was last held, one may pass. So a tenant makes progress even
 * if it is released only for short moments. */
void hd_let_pass(struct hd_tenant *t)
{
	uint32_t ended = load_word(&t->page->opaque_completed);
	uint32_t submitted = load_word(&t->page->opaque_submitted);
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
	uint32_t flying =
		load_word(&t->page->opaque_submitted) - load_word(&t->page->opaque_completed);
	bool active =
		(t->follow && flying && flying < 1u << 31) || load_word(&t->page->opaque_waiting);

	if (!t->hold &&
		(int32_t)(load_word(&t->page->allowed) - load_word(&t->page->opaque_submitted)) <
			(int32_t)(WIRE_FAR_AHEAD / 2))
		hd_let_pass(t);
	if (active == t->opaque_active)
		return false;
	t->opaque_active = active;
	sched_opaque(t->device->sched, d->now_ns, t->sched, active,
		load_word(&t->page->opaque_waited) == load_word(&t->page->opaque_submitted));
	hd_event_tenant(d, active ? "opaque" : "opaque-end", t);
	return true;
}

void hd_look_at_pin(struct hd *d, struct hd_tenant *t)
{
	uint32_t pin = load_word(&t->page->pin);

	sched_copied(t->device->sched, t->sched, load_word64(&t->page->copied_ns),
		load_word64(&t->page->last_copy_ns));
	if (pin == t->pin)
		return;
	t->pin = pin;
	sched_pin(t->device->sched, t->sched, pin & 1);
	hd_event_tenant(d, pin & 1 ? "pin" : "unpin", t);
	__atomic_store_n(&t->page->pinned, pin, __ATOMIC_RELEASE);
}

/* Scans the slots of a tenant. few: how many queued launches to scan at most. unknown: also scan
 * slots without a known launch. */
static void scan_slots(struct hd *d, struct hd_tenant *t, bool unknown, uint32_t few)
{
	uint32_t first = t->next_slot, seen = 0;

	for (uint32_t k = 0; k < WIRE_SLOTS; k++) {
		uint32_t i = (first + k) % WIRE_SLOTS;
		bool queued = t->stage[i] == HD_SUBMITTED;

		if ((!unknown && t->stage[i] == HD_UNKNOWN) || (queued && seen == few))
			continue;
		if (queued && seen++ == 0)
			t->next_slot = i;
		scan_slot(d, t, i);
	}
}

/* Scans the launch slots of a tenant's page. whole: scans all slots. Otherwise heddled scans the
 * slots whose launches can arrive next, because the tenant uses its slots in order; it scans the
 * remaining slots only now and then. Scanning hundreds of slots each time would delay a tenant that
 * waits for SMs. */
void hd_scan_tenant(struct hd *d, struct hd_tenant *t, bool whole)
{
	uint32_t few = whole || d->now_ns - t->looked_ns >= LOOK_NS ? WIRE_SLOTS : NEXT_FEW;

	hd_look_at_opaque(d, t);
	if (few == WIRE_SLOTS)
		t->looked_ns = d->now_ns;
	scan_slots(d, t, whole, few);
}

void hd_scan_known(struct hd *d, struct hd_tenant *t)
{
	if (t->n_known)
		scan_slots(d, t, false, 1);
}
