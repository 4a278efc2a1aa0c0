/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes views for a policy, and quotas from its plans. No policy can make a launch wait for ever:
 * - Every launch gets the device, as without heddle, if the policy writes beyond its arrays, if
 *   `create` failed, or if no launch has got an SM for PLANNER_EMPTY_NS.
 * - An invalid quota counts as no bound; other quotas are clipped to what fits on an SM.
 * - While a kernel has no SM or a tenant is held, the policy is asked again after
 *   HEDDLE_POLICY_MAX_WAKE.
 *
 * Each kind of fault is reported once. */
#include "planner.h"
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARY       0xc5
#define CANARY_BYTES 64u
#define SOON_MAX     8u /* wake-ups in a row that may be sooner than HEDDLE_POLICY_MIN_WAKE */

/* Bit numbers in sched_policy_watch.said. */
enum complaint {
	NOT_CREATED,
	WROTE_BEYOND,
	NO_QUOTA,
	CLIPPED,
	NO_ROOM,
	NOBODY,
	WAKES_SOON,
	NEVER_WAKES,
};

static bool is_reported(const struct sched *s, enum complaint which)
{
	return !s->policy->watch || s->policy->watch->said >> which & 1;
}

/* Where the text takes time to write, the caller asks is_reported first: a plan can have the same
 * fault on each SM for each launch. */
static void report_fault(const struct sched *s, enum complaint which, const char *what)
{
	struct sched_policy_watch *w = s->policy->watch;

	if (is_reported(s, which))
		return;
	w->said |= 1u << which;
	if (w->say)
		w->say(w->user, what);
}

static void enter_policy(const struct sched_policy *p, const char *call)
{
	if (p->watch && p->watch->enter)
		p->watch->enter(p->watch->user, call);
}

static void leave_policy(const struct sched_policy *p)
{
	if (p->watch && p->watch->leave)
		p->watch->leave(p->watch->user);
}

static struct heddle_policy_device describe_device(const struct sched *s)
{
	return (struct heddle_policy_device){
		.size = sizeof(struct heddle_policy_device),
		.n_sms = s->o.n_sms,
		.threads_per_sm = s->o.threads_per_sm,
		.blocks_per_sm = s->o.blocks_per_sm,
		.regs_per_sm = s->o.regs_per_sm,
		.shared_per_sm = s->o.shared_per_sm,
		.simultaneous = s->o.simultaneous,
		.spatial = s->o.spatial,
		.within_srt = s->o.within_srt,
		.overhead_permille = s->o.overhead_permille,
		.extra_sms = s->o.extra_sms,
		.still_ns = s->o.still_ns,
		.opaque_hold_ns = s->o.opaque_hold_ns,
		.opaque_free = s->o.opaque_free,
	};
}

void *planner_create(const struct sched *s, const struct sched_policy *p)
{
	struct heddle_policy_device device = describe_device(s);
	void *state = NULL;

	if (!p->table->create)
		return NULL;
	enter_policy(p, "create");
	state = p->table->create(&device, p->options ? p->options : s->policy_options);
	leave_policy(p);
	return state;
}

void planner_destroy(const struct sched_policy *p, void *state)
{
	/* state is NULL if create failed, or if the policy has no state. */
	if ((p->table->create && !state) || !p->table->destroy)
		return;
	enter_policy(p, "destroy");
	p->table->destroy(state);
	leave_policy(p);
}

void planner_free(struct planning *p)
{
	VEC_FREE(&p->kernels);
	VEC_FREE(&p->tenants);
	VEC_FREE(&p->begin);
	free(p->plan);
}

/* ---- the view ---- */

static int by_arrival(const void *pa, const void *pb)
{
	const struct sched_kernel *a = *(struct sched_kernel *const *)pa;
	const struct sched_kernel *b = *(struct sched_kernel *const *)pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Converts an SM's time for a block to the duration of the launch. Each SM runs an equal share of
 * the blocks. */
static uint64_t whole_launch(const struct sched *s, const struct sched_launch *l, double block_ns)
{
	double ns = block_ns * (double)l->k.total / (double)MIN(l->k.total, s->o.n_sms);

	return ns < 1e15 ? (uint64_t)ns : (uint64_t)1e15;
}

static void describe_curve(
	const struct sched *s, const struct sched_launch *l, struct heddle_policy_kernel *k)
{
	float block_ns[SCHED_PER_SM] = {0};

	for (unsigned i = 0; i < HEDDLE_POLICY_CURVE; i++)
		k->curve_ns[i] = HEDDLE_POLICY_UNKNOWN;
	if (s->o.model->curve)
		s->o.model->curve(s->model_state, l->k.kernel, block_ns);
	for (unsigned i = 0; i < SCHED_PER_SM; i++) {
		if (block_ns[i] > 0)
			k->curve_ns[i + 1] = whole_launch(s, l, (double)block_ns[i]);
	}
}

static void describe_kernel(
	const struct sched *s, struct sched_launch *l, struct heddle_policy_kernel *ret)
{
	*ret = (struct heddle_policy_kernel){
		.kind = HEDDLE_POLICY_MANAGED,
		.launch = l->k.id,
		.code = l->k.kernel,
		.order = l->k.order,
		.depth = l->k.depth,
		.threads = l->k.threads,
		.regs = l->regs,
		.shared_bytes = l->shape.shared_bytes,
		.blocks_per_sm = l->k.workers_per_sm,
		.running = l->k.running,
		.leaving = launch_is(l->state, LAUNCH_LEAVES),
		.idle = l->idle,
		.unranked = l->guard.is,
		.counts = l->guard.counts,
		.blocks = l->k.total,
		.started = MAX(l->started, l->k.finished),
		.finished = l->k.finished,
		.predicted_ns = l->k.predicted_ns,
		.waited_ns = l->k.waited_ns,
		.remaining_ns = l->k.remaining_ns,
		.cost_ns = l->k.cost_ns,
		.quota = l->allowed.at, /* stays the same until the policy has answered */
		.arrived = launch_is(l->state, LAUNCH_ARRIVED),
		.begun = l->k.begun,
		.attained_ns = l->ran_ns,
		.granted_ns = l->granted_ns,
		.own = l->own.at,
	};
	describe_curve(s, l, ret);
}

static uint64_t sm_time(const struct sched_tenant *t)
{
	uint64_t ns = t->account.sm_ns;

	for (const struct sched_launch *l = t->launches.arrived.first; l; l = l->next)
		ns += l->sm_ns;
	for (const struct sched_launch *l = t->launches.native.first; l; l = l->next)
		ns += l->sm_ns;
	return ns;
}

static uint32_t count_launches(const struct sched_tenant *t)
{
	uint32_t n = t->launches.head != NULL;

	for (const struct sched_launch *l = t->launches.arrived.first; l; l = l->next)
		n++;
	return n;
}

static struct heddle_policy_tenant describe_tenant(struct sched_tenant *t)
{
	return (struct heddle_policy_tenant){
		.id = t->id,
		.priority = t->priority,
		.weight = t->weight,
		.held = t->held,
		.opaque = t->opaque_state != OPAQUE_NONE,
		.busy = t->state == TENANT_BUSY,
		.service_ns = t->account.service_ns,
		.sm_ns = sm_time(t),
		.idle_since_ns = t->pauses.idle_since_ns,
		.pause_ns = t->pauses.n < 2 ? HEDDLE_POLICY_UNKNOWN : t->pauses.mean_ns,
		.work_ns = t->account.work_ns,
		.launches = count_launches(t),
		.began_ns = t->launches.began_ns,
		.burst_ns = t->pauses.burst_ns,
		.own = t->own.at,
	};
}

/* Makes the buffer large enough for the plan of this view. Returns false if out of memory. */
static bool make_room(struct planning *p, size_t n_sms)
{
	size_t rows = p->kernels.len * n_sms;
	size_t bytes = rows + p->tenants.len + 3 * CANARY_BYTES;
	uint8_t *plan = p->plan;

	if (p->plan_bytes < bytes) {
		plan = realloc(p->plan, bytes);
		p->plan = plan ? plan : p->plan;
		p->plan_bytes = plan ? bytes : p->plan_bytes;
	}
	return plan;
}

/* Returns a new element of the view, to be filled; NULL: out of memory. */
static struct heddle_policy_kernel *add_kernel(struct planning *p)
{
	if (p->kernels.len == p->kernels.cap && !vec_grow((void **)&p->kernels.at, &p->kernels.cap,
							p->kernels.len, sizeof(*p->kernels.at)))
		return NULL;
	return &p->kernels.at[p->kernels.len++];
}

static bool fill_view(struct sched *s, struct planning *p)
{
	static const struct quota none;

	p->kernels.len = p->tenants.len = p->begin.len = 0;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->index = (uint32_t)p->tenants.len;
		if (!VEC_PUSH(&p->tenants, describe_tenant(t)) || !VEC_PUSH(&p->begin, NULL))
			return false;
	}
	if (s->view.len > 1)
		qsort(s->view.at, s->view.len, sizeof(s->view.at[0]), by_arrival);
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);
		struct heddle_policy_kernel *k = add_kernel(p);

		if (!k)
			return false;
		if (l)
			describe_kernel(s, l, k);
		else
			*k = (struct heddle_policy_kernel){
				.kind = (uint32_t)s->view.at[i]->kind, .quota = none.at};
		k->tenant_index = sched_tenant_of(s->view.at[i])->index;
	}
	return make_room(p, s->o.n_sms);
}

/* ---- the plan ---- */

static bool is_canary_intact(const uint8_t *canary)
{
	/* Compares the first byte with CANARY, and each further byte with its predecessor. */
	return canary[0] == CANARY && memcmp(canary, canary + 1, CANARY_BYTES - 1) == 0;
}

/* The plan that the policy must fill, and the engine that asks for it. */
struct asked {
	struct heddle_policy_plan plan;
	struct sched *s;
};

/* Implements heddle_policy_plan.ask. */
static int ask_pair(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
	const uint8_t quota[2], uint64_t ret_ns[2])
{
	struct sched *s = CONTAINER_OF(plan, const struct asked, plan)->s;
	const struct sched_launch *l[2];
	struct sched_pair p;
	float block_ns[2];
	int r;

	for (unsigned i = 0; i < 2; i++) {
		l[i] = kernel[i] < s->view.len ? sched_launch_of(s->view.at[kernel[i]]) : NULL;
		if (!l[i] || !quota[i])
			return -ENOENT;
		p.kernel[i] = l[i]->k.kernel;
		p.most[i] = MIN(MAX(l[i]->k.workers_per_sm, 1u), SCHED_PER_SM);
		p.count[i] = MIN(quota[i], p.most[i]);
	}
	s->pairs = true;
	r = s->o.model->pair(s->model_state, &p, block_ns);
	for (unsigned i = 0; r == 0 && i < 2; i++)
		ret_ns[i] = whole_launch(s, l[i], (double)block_ns[i]);
	return r;
}

/* Returns false if the policy gave no valid answer. */
static bool ask_policy(
	struct sched *s, struct planning *p, uint64_t now_ns, struct heddle_policy_plan *out)
{
	struct asked asked = {.s = s};
	const struct heddle_policy *table = s->policy->table;
	struct heddle_policy_device device = describe_device(s);
	struct heddle_policy_view in = {
		.size = sizeof(in),
		.abi = HEDDLE_POLICY_ABI,
		.kernel_size = sizeof(struct heddle_policy_kernel),
		.tenant_size = sizeof(struct heddle_policy_tenant),
		.now_ns = now_ns,
		.device = &device,
		.kernels = p->kernels.at,
		.tenants = p->tenants.at,
		.n_kernels = (uint32_t)p->kernels.len,
		.n_tenants = (uint32_t)p->tenants.len,
		.change_ns = s->change_ns,
		.left_ns = s->left_ns,
	};
	size_t rows = p->kernels.len * s->o.n_sms;
	uint8_t *quota = p->plan + CANARY_BYTES, *held = quota + rows + CANARY_BYTES;

	if (table->create && !s->policy_state) {
		report_fault(
			s, NOT_CREATED, "create returned NULL: every launch gets the whole device");
		return false;
	}
	memset(p->plan, CANARY, rows + p->tenants.len + 3 * CANARY_BYTES);
	memset(quota, 0, rows);
	memset(held, 0, p->tenants.len);
	asked.plan = (struct heddle_policy_plan){
		.size = sizeof(*out),
		.abi = HEDDLE_POLICY_ABI,
		.quota = quota,
		.held = held,
		.wake_ns = HEDDLE_POLICY_UNKNOWN,
		.ask = s->o.model->pair ? ask_pair : NULL,
		.begin = p->begin.at,
	};
	enter_policy(s->policy, "decide");
	table->decide(s->policy_state, &in, &asked.plan);
	leave_policy(s->policy);
	*out = asked.plan;
	out->quota = quota;
	out->held = held;
	out->begin = p->begin.at;
	if (is_canary_intact(p->plan) && is_canary_intact(quota + rows) &&
		is_canary_intact(held + p->tenants.len))
		return true;
	report_fault(s, WROTE_BEYOND,
		"decide wrote beyond the arrays of its plan: every launch gets the whole device");
	return false;
}

/* The resources of an SM that the kernels placed so far leave free. Only kernels with bounds
 * count. */
struct room {
	uint32_t threads, blocks, regs, shared;
};

static uint32_t blocks_that_fit(const struct room *r, const struct sched_launch *l)
{
	uint32_t n = MIN(r->blocks, l->k.workers_per_sm), regs = l->regs * l->k.threads;

	if (l->k.threads)
		n = MIN(n, r->threads / l->k.threads);
	if (regs)
		n = MIN(n, r->regs / regs);
	if (l->shape.shared_bytes)
		n = MIN(n, r->shared / l->shape.shared_bytes);
	return n;
}

static void take_room(struct room *r, const struct sched_launch *l, uint32_t n)
{
	r->blocks -= MIN(r->blocks, n);
	r->threads -= MIN(r->threads, n * l->k.threads);
	r->regs -= MIN(r->regs, n * l->regs * l->k.threads);
	r->shared -= MIN(r->shared, n * l->shape.shared_bytes);
}

static void report_quota(const struct sched *s, uint8_t q)
{
	char what[160];

	if (is_reported(s, NO_QUOTA))
		return;
	snprintf(what, sizeof(what),
		"a quota of %u blocks: 0 to %u are possible, or %u for no bound; taken as no bound",
		q, QUOTA_MAX, CTL_NO_QUOTA);
	report_fault(s, NO_QUOTA, what);
}

static void report_clip(
	const struct sched *s, const struct sched_launch *l, uint8_t q, uint32_t fit)
{
	char what[160];

	if (is_reported(s, CLIPPED) || (!fit && is_reported(s, NO_ROOM)))
		return;
	snprintf(what, sizeof(what),
		"a quota of %u blocks of %u threads on an SM: beside the quotas of earlier kernels "
		"%u fit; clipped",
		q, l->k.threads, fit);
	report_fault(s, CLIPPED, what);
}

/* Returns the quota that the policy wrote, limited to valid values. */
static uint8_t checked_quota(
	const struct sched *s, const struct sched_launch *l, uint8_t q, struct room *r)
{
	uint32_t fit;

	if (q == 0 || q == CTL_NO_QUOTA)
		return q;
	if (q > QUOTA_MAX) {
		report_quota(s, q);
		return CTL_NO_QUOTA;
	}
	fit = blocks_that_fit(r, l);
	/* Assume that at least one block fits on an empty SM, even if the block's resources, as the
	 * tenant stated them, say otherwise. */
	if (!fit && r->blocks == s->o.blocks_per_sm)
		fit = 1;
	if (q > fit) {
		report_clip(s, l, q, fit);
		q = (uint8_t)fit;
	}
	take_room(r, l, q);
	return q;
}

/* The room of all SMs. Most policies treat all SMs alike: then they all have the same room. */
struct rooms {
	bool alike; /* at[0] applies to all SMs */
	struct room at[CTL_MAX_SMS];
};

static bool is_even_row(const uint8_t *row, uint32_t n)
{
	return memcmp(row, row + 1, n - 1) == 0;
}

static bool is_same_room(const struct room *a, const struct room *b)
{
	return a->threads == b->threads && a->blocks == b->blocks && a->regs == b->regs &&
	       a->shared == b->shared;
}

/* Sets quotas that differ by SM. Two SMs with the same quota and the same room get the same result,
 * so `known` keeps the last result for each bounded quota. */
static void set_uneven_row(
	struct sched *s, struct sched_launch *l, const uint8_t *row, struct room *io_room)
{
	struct {
		uint8_t quota;
		struct room before, after;
	} known[QUOTA_MAX + 1], *k;
	uint32_t are_known = 0; /* bit mask */

	for (uint32_t sm = 0; sm < s->o.n_sms; sm++) {
		uint8_t q = row[sm];

		l->next_allowed.at[sm] = q;
		if (q == 0 || q == CTL_NO_QUOTA)
			continue;
		if (q > QUOTA_MAX) {
			l->next_allowed.at[sm] = checked_quota(s, l, q, &io_room[sm]);
			continue;
		}
		k = &known[q];
		if (!(are_known >> q & 1) || !is_same_room(&k->before, &io_room[sm])) {
			are_known |= 1u << q;
			k->before = k->after = io_room[sm];
			k->quota = checked_quota(s, l, q, &k->after);
		}
		io_room[sm] = k->after;
		l->next_allowed.at[sm] = k->quota;
	}
}

static void set_row(struct sched *s, struct sched_launch *l, const uint8_t *row, struct rooms *io)
{
	uint32_t n = s->o.n_sms;
	bool even = is_even_row(row, n);

	/* Most rows give the launch either the whole device or nothing. */
	if (even && (io->alike || row[0] == 0 || row[0] == CTL_NO_QUOTA)) {
		memset(l->next_allowed.at, checked_quota(s, l, row[0], &io->at[0]), n);
		return;
	}
	for (uint32_t sm = 1; sm < n && io->alike; sm++)
		io->at[sm] = io->at[0];
	io->alike = false;
	set_uneven_row(s, l, row, io->at);
}

/* Checks whether one block of each launch that the plan lets run on this SM fits there. If not,
 * reports the first launch without space and returns false. */
static bool check_room_of_sm(const struct sched *s, const uint8_t *plan, uint32_t sm)
{
	struct room room = {
		s->o.threads_per_sm, s->o.blocks_per_sm, s->o.regs_per_sm, s->o.shared_per_sm};
	char what[192];

	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l || l->idle || !plan[i * s->o.n_sms + sm])
			continue;
		if (!blocks_that_fit(&room, l) && room.blocks < s->o.blocks_per_sm) {
			snprintf(what, sizeof(what),
				"a block of %u threads, %u registers a thread and %u bytes of "
				"shared memory does not fit on an SM beside one block of each "
				"other "
				"launch: some launches wait until others end",
				l->k.threads, l->regs, l->shape.shared_bytes);
			report_fault(s, NO_ROOM, what);
			return false;
		}
		take_room(&room, l, 1);
	}
	return true;
}

/* Sets ret[sm] if other launches may run on this SM than on the one before it. */
static void find_changes(const struct sched *s, const uint8_t *plan, bool ret[CTL_MAX_SMS])
{
	uint32_t n = s->o.n_sms;

	memset(ret, 0, CTL_MAX_SMS * sizeof(ret[0]));
	for (size_t i = 0; i < s->view.len; i++) {
		const uint8_t *row = plan + i * n;

		if (is_even_row(row, n))
			continue;
		for (uint32_t sm = 1; sm < n; sm++)
			ret[sm] |= !row[sm] != !row[sm - 1];
	}
}

/* Reports a plan that lets more launches run on an SM than fit there with one block each. A launch
 * then waits until another one ends: either the hardware has no space for its block, or the engine
 * has clipped its quota. The fault is reported once, so later plans are not checked. */
static void check_room(const struct sched *s, const uint8_t *plan)
{
	bool fits = !is_reported(s, NO_ROOM), changes[CTL_MAX_SMS];

	fits &= !sched_policy_is(s->policy, HEDDLE_POLICY_OVERCOMMITS);

	if (fits)
		find_changes(s, plan, changes);
	for (uint32_t sm = 0; sm < s->o.n_sms && fits; sm++)
		if (!sm || changes[sm])
			fits = check_room_of_sm(s, plan, sm);
}

/* Sets the quotas of every launch from the plan. If plan is NULL, every launch gets every SM. */
static void set_quotas(struct sched *s, struct planning *p, const uint8_t *plan)
{
	struct rooms rooms;

	rooms.alike = true;
	rooms.at[0] = (struct room){
		s->o.threads_per_sm, s->o.blocks_per_sm, s->o.regs_per_sm, s->o.shared_per_sm};
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);
		const uint8_t *row = plan ? plan + i * s->o.n_sms : NULL;

		/* Waiting for expected work is bounded, so others may have no SM meanwhile. */
		if (!l && row && s->view.at[i]->kind == HEDDLE_POLICY_EXPECTED)
			p->any |= row[0] || !is_even_row(row, s->o.n_sms);
		if (!l)
			continue;
		l->next_allowed = row ? (struct quota){0} : s->everywhere;
		if (row)
			set_row(s, l, row, &rooms);
		p->any |= quota_any(&l->next_allowed);
		p->waits |= !l->idle && !quota_any(&l->next_allowed);
	}
}

static void set_held(struct sched *s, struct planning *p, const uint8_t *held)
{
	size_t i = 0;

	for (struct sched_tenant *t = s->tenants; t; t = t->next, i++) {
		t->next_held = held && held[i];
		p->any |= t->opaque_state != OPAQUE_NONE && !t->next_held;
		p->waits |= t->next_held;
	}
}

static bool has_work(const struct sched *s)
{
	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (l ? !l->idle : s->view.at[i]->kind == HEDDLE_POLICY_OPAQUE)
			return true;
	}
	return false;
}

static void set_quotas_and_holds(
	struct sched *s, struct planning *p, const struct heddle_policy_plan *plan)
{
	p->any = p->waits = false;
	if (plan)
		check_room(s, plan->quota);
	set_quotas(s, p, plan ? plan->quota : NULL);
	set_held(s, p, plan ? plan->held : NULL);
}

/* Returns false if no launch has had an SM for too long a time. */
static bool is_any_launch_running(struct sched *s, struct planning *p, uint64_t now_ns)
{
	if (p->any || !has_work(s)) {
		p->empty_ns = 0;
		return true;
	}
	p->empty_ns = p->empty_ns ? p->empty_ns : MAX(now_ns, 1);
	if (now_ns - p->empty_ns < PLANNER_EMPTY_NS) {
		s->deadline_ns = MIN(s->deadline_ns, p->empty_ns + PLANNER_EMPTY_NS);
		return true;
	}
	report_fault(s, NOBODY,
		"no launch got an SM for 100 ms although there is work: every launch gets the "
		"whole device");
	return false;
}

/* Returns when to ask the policy again. A few times in a row that may be sooner than
 * HEDDLE_POLICY_MIN_WAKE from now. */
static uint64_t find_wake(struct sched *s, struct planning *p, uint64_t now_ns, uint64_t wake_ns)
{
	uint64_t soonest = now_ns + HEDDLE_POLICY_MIN_WAKE;
	uint64_t limit = now_ns + SOON_MAX * HEDDLE_POLICY_MIN_WAKE;
	bool spent = p->spent_ns >= limit;

	if (wake_ns >= soonest || (wake_ns > now_ns && wake_ns == p->soon_ns))
		return wake_ns;
	p->spent_ns = MIN(MAX(p->spent_ns, now_ns), limit) + HEDDLE_POLICY_MIN_WAKE;
	if (spent || wake_ns <= now_ns) {
		report_fault(s, WAKES_SOON,
			"wake_ns is less than 100 us from now; it is asked after 100 us");
		return soonest;
	}
	p->soon_ns = wake_ns;
	return wake_ns;
}

static void set_deadline(struct sched *s, struct planning *p, uint64_t now_ns, uint64_t wake_ns)
{
	bool never = wake_ns == HEDDLE_POLICY_UNKNOWN;

	if (!never)
		s->deadline_ns = MIN(s->deadline_ns, find_wake(s, p, now_ns, wake_ns));
	/* Reports a policy that left a launch waiting but set no time at which it wants to be asked
	 * again. No event has come since the last plan. Without the planner's own time limit, the
	 * launch would still be waiting. */
	if (never && p->waits && p->ask_ns && now_ns >= p->ask_ns && !s->dirty)
		report_fault(s, NEVER_WAKES,
			"wake_ns is UNKNOWN although a launch waits; it is asked every second");
	p->ask_ns = p->waits && never ? now_ns + HEDDLE_POLICY_MAX_WAKE : 0;
	if (p->waits)
		s->deadline_ns = MIN(s->deadline_ns, now_ns + HEDDLE_POLICY_MAX_WAKE);
}

/* Returns the quotas that the policy chose for new launches of a tenant. */
static struct quota quota_of_row(const struct sched *s, const uint8_t *row)
{
	struct quota q = {0};

	memcpy(q.at, row, s->o.n_sms);
	for (uint32_t i = 0; i < QUOTA_WORDS && 8 * i < s->o.n_sms; i++) {
		uint64_t word = quota_word(&q, i);

		for (uint32_t sm = 8 * i; sm < 8 * i + 8 && word && word != UINT64_MAX; sm++) {
			if (q.at[sm] <= QUOTA_MAX || q.at[sm] == CTL_NO_QUOTA)
				continue;
			report_quota(s, q.at[sm]);
			q.at[sm] = CTL_NO_QUOTA;
		}
	}
	return q;
}

/* Sets the quotas with which new launches of each tenant begin: those that the policy chose, or
 * else the quotas of the tenant's oldest launch that has an SM, and no SM if the tenant is held.
 * sched_begin_place sets those of tenants without a launch. */
static void place_new_launches(
	struct sched *s, struct planning *p, const struct heddle_policy_plan *plan)
{
	const uint8_t *last = NULL;
	struct quota chosen;
	size_t i;

	sched_find_late_tenants(s);
	for (i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l || !quota_any(&l->next_allowed))
			continue;
		if (!l->tenant->begin.best && !l->tenant->next_held) {
			l->tenant->begin.best = l;
			l->tenant->begin.best_quota = l->next_allowed;
		}
		sched_leave_arrival_sm(s, l, &l->next_allowed);
		/* Without that SM, the launch may have none left. */
		p->waits |= !l->idle && !quota_any(&l->next_allowed);
	}
	i = 0;
	for (struct sched_tenant *t = s->tenants; t; t = t->next, i++) {
		const uint8_t *row = plan ? plan->begin[i] : NULL;

		/* Usually all tenants have the same row, so the result is reused. */
		if (row && row != last)
			chosen = quota_of_row(s, row);
		last = row ? row : last;
		sched_begin_place(s, t, row ? &chosen : NULL);
	}
}

int planner_decide(struct sched *s, uint64_t now_ns)
{
	struct planning *p = &s->planning;
	uint64_t wake_ns = HEDDLE_POLICY_UNKNOWN;
	struct heddle_policy_plan plan;
	bool taken;

	if (!sched_linger(s, now_ns))
		return -ENOMEM;
	if (!fill_view(s, p))
		return -ENOMEM;
	taken = ask_policy(s, p, now_ns, &plan);
	if (taken) {
		wake_ns = plan.wake_ns;
		set_quotas_and_holds(s, p, &plan);
		taken = is_any_launch_running(s, p, now_ns);
	}
	if (!taken)
		set_quotas_and_holds(s, p, NULL);
	place_new_launches(s, p, taken ? &plan : NULL);
	set_deadline(s, p, now_ns, wake_ns);
	return 0;
}
