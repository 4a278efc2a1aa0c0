/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decisions: gathers what competes, asks the policy, picks the SMs, and tells what differs from
 * before. SMs are given away from the last one down, so that what lower lanes may use is mostly the
 * first so many (engine.h, renumbered). What holds whatever the policy says:
 * - a launch that was told to leave gets nothing back before its last worker has left;
 * - of a tenant's launches compete those that have arrived; while none has, the oldest submitted
 *   one counts as about to, for a while (no worker of it can say that it is there as long as
 *   others fill the device);
 * - those behind follow what their tenant's best one got. */
#include "engine.h"
#include "foreign.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Relays of those that are to make room for it stay where they are: the first blocks of their
 * grids, which the hardware puts on the last SMs of a device that is empty. In workers of this one.
 */
static uint64_t relays_below(const struct sched *s, const struct sched_launch *l)
{
	uint64_t n = 0;

	if (sms_any(&l->reserved))
		return 0; /* room was made for it before */
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		uint64_t most = 0;

		if (t->priority >= l->tenant->priority)
			continue;
		/* One a tenant: its launches follow one another as a rule, and the end of one is
		 * often seen after the next has come. */
		for (const struct sched_launch *o = t->arrived.first; o; o = o->next) {
			uint64_t relay = divide_up(l->k.workers_per_sm, o->k.workers_per_sm);

			if (quota_any(&o->allowed))
				most = MAX(most, relay);
		}
		n += most;
	}
	return n;
}

static uint32_t need_sms(const struct sched *s, const struct sched_launch *l)
{
	/* Its own relay takes a place, too. */
	uint64_t places = l->k.total - l->k.finished + 1 + relays_below(s, l), n;

	n = divide_up(places, l->k.workers_per_sm) + s->o.extra_sms;
	return (uint32_t)MIN(n, s->o.n_sms);
}

static bool add_kernel(struct sched *s, struct sched_kernel *k)
{
	k->lane = SCHED_NO_LANE;
	k->want_sms = 0;
	return VEC_PUSH(&s->view, k);
}

/* ---- who competes ---- */

/* The oldest launch, while none has arrived. */
static struct sched_launch *arriving(const struct sched_tenant *t)
{
	return t->arrived.first || t->late ? NULL : t->submitted.first;
}

/* It has come since the last decision. */
static bool is_new(const struct sched *s, const struct sched_launch *l)
{
	return l->k.order >= s->decided;
}

/* Its time counts from here on, and that of the one before no longer. */
static void change_head(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	struct sched_launch *head = arriving(t);

	if (t->head == head)
		return;
	if (t->head) {
		sched_account(t->head, now_ns);
		sched_to(s, t->head, LAUNCH_QUEUED);
	}
	if (head) {
		head->since_ns = MAX(head->since_ns, now_ns);
		head->allowed = is_new(s, head) ? (struct quota){0} : t->begin;
		head->grace_ns = 0;
		sched_to(s, head, LAUNCH_NEXT);
	}
}

static bool gather_launch(struct sched *s, struct sched_launch *l, uint32_t depth, uint64_t now_ns)
{
	sched_account(l, now_ns);
	if (sched_stays_away(s, l, now_ns)) {
		l->had_lane = false;
		l->next_allowed = (struct quota){0};
		return true;
	}
	l->k.depth = depth;
	l->k.running = quota_any(&l->allowed);
	l->k.need_sms = need_sms(s, l);
	return add_kernel(s, &l->k);
}

static int64_t submitted_priority(const struct sched_tenant *t)
{
	int64_t p = SCHED_STREAM_RANKS - 1;

	while (p >= 0 && !t->n_submitted_of[p])
		p--;
	return p;
}

/* Copies are not the engine's to grant; but where tenants take turns each copy that follows a
 * launch soon, as that of its results does, costs the device two more changes between them (H200:
 * 140 us each), unless whoever stands below is let wait that long. */
#define COPY_NS       30000u
#define ALL_COPIES_NS 150000u /* one behind the other, at most */
#define COPIES_ENOUGH 2u
#define COPIES_MAX    8u

static void learn_copies(struct sched_tenant *t)
{
	if (t->copied_ns > t->busy_since_ns && t->copied_ns < t->idle_since_ns + COPY_NS)
		t->copies = MIN(t->copies + 1, COPIES_MAX);
	else if (t->copies)
		t->copies--;
}

/* Pauses within a burst say nothing of those between bursts. */
static void came_back(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t gap = now_ns - t->idle_since_ns;

	if (t->continues && gap <= s->o.linger_max_ns)
		return;
	t->burst_ns = now_ns;
	if (!t->idle_since_ns || !t->worked)
		return;
	learn_copies(t);
	/* One long pause is soon forgotten: the mean moves by a quarter, and no sample counts more
	 * than four times what matters. */
	gap = MIN(gap, 4 * s->o.linger_max_ns);
	t->gap_ns = t->gaps ? (3 * t->gap_ns + gap) / 4 : gap;
	t->gaps += t->gaps < 1000;
}

static bool gather_tenant(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint32_t top = 0;
	bool busy;

	change_head(s, t, now_ns);
	busy = t->opaque_active || t->head || t->arrived.first || t->native.first;
	t->best = NULL;
	t->submitted_priority = submitted_priority(t);
	for (struct sched_launch *l = t->arrived.first; l; l = l->next)
		top = MAX(top, l->stream_priority);
	for (struct sched_launch *l = t->arrived.first; l; l = l->next) {
		if (!gather_launch(s, l, top - l->stream_priority, now_ns))
			return false;
	}
	if (t->head && !gather_launch(s, t->head, 0, now_ns))
		return false;
	if (t->opaque_active && !add_kernel(s, &t->opaque))
		return false;
	if (busy && !t->busy)
		came_back(s, t, now_ns);
	else if (!busy && t->busy)
		t->idle_since_ns = now_ns;
	if (busy && !t->busy)
		t->busy_since_ns = now_ns;
	t->busy = busy;
	t->worked |= busy;
	return true;
}

/* Resuming the lower ones pays when the tenant stays away longer than taking the device from them
 * again would cost. Whoever comes back sooner as a rule is waited for, twice its usual pause at
 * most; whoever does not, is not waited for at all. So pauses that could have been used are at most
 * as long as what using them would have cost. A program that did not wait for the end of its work
 * is about to launch more. 0: not waited for. */
static uint64_t comes_back_until(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t bounce = 0;

	if (!t->continues && (t->gaps < 2 || t->gap_ns > s->o.linger_max_ns))
		return 0;
	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_kernel *k = s->view.at[i];

		if (s->policy->by_shares ? k->tenant == t->id : k->priority >= t->priority)
			continue;
		if (k->kind == SCHED_MANAGED)
			bounce = MAX(bounce, 2 * k->cost_ns);
		else if (k->kind == SCHED_OPAQUE)
			bounce = MAX(bounce, s->o.opaque_ns);
	}
	bounce = MIN(bounce, s->o.linger_max_ns);
	if (t->continues)
		return t->idle_since_ns + bounce;
	return t->gap_ns > bounce ? 0 : t->idle_since_ns + MIN(2 * t->gap_ns, bounce);
}

static uint64_t copies_until(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t from = MAX(t->idle_since_ns, t->last_copy_ns);
	bool lower = false;

	for (size_t i = 0; i < s->view.len; i++)
		lower |= s->view.at[i]->priority < t->priority;
	if (!lower || s->o.simultaneous || t->copies < COPIES_ENOUGH)
		return 0;
	return MIN(from + COPY_NS, t->idle_since_ns + ALL_COPIES_NS);
}

static bool gather_linger(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t until;

	if (t->busy || !t->worked)
		return true;
	until = MAX(comes_back_until(s, t), copies_until(s, t));
	if (now_ns >= until)
		return true;
	if (t->linger_until_ns != until) {
		t->linger_until_ns = until;
		s->stats.lingers++;
	}
	t->linger.need_sms = MAX(sms_count(&t->linger_sms), 1);
	s->deadline_ns = MIN(s->deadline_ns, until);
	return add_kernel(s, &t->linger);
}

static int gather(struct sched *s, uint64_t now_ns)
{
	s->view.len = s->shares.len = 0;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->share.held = false;
		if (!VEC_PUSH(&s->shares, &t->share))
			return -ENOMEM;
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!gather_tenant(s, t, now_ns))
			return -ENOMEM;
	}
	/* A policy of other people's sees since when a tenant has nothing, and decides itself. */
	for (struct sched_tenant *t = s->tenants; t && !s->policy->foreign; t = t->next) {
		if (!gather_linger(s, t, now_ns))
			return -ENOMEM;
	}
	return 0;
}

/* ---- which SMs ---- */

static int by_lane(const void *pa, const void *pb)
{
	const struct sched_kernel *a = *(struct sched_kernel *const *)pa;
	const struct sched_kernel *b = *(struct sched_kernel *const *)pb;

	return a->lane < b->lane ? -1 : a->lane > b->lane;
}

struct claims {
	uint32_t lane[CTL_MAX_SMS]; /* the lowest that had it reserved so far */
	struct sms used;
};

struct choice {
	uint64_t key;
	uint32_t sm;
};

static int by_key(const void *pa, const void *pb)
{
	const struct choice *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->sm > b->sm ? -1 : 1;
}

/* Up to want SMs of avail, those first that it disturbs least to take: the lane's own, then those
 * that nobody uses, then those of the lanes that come last; of equals the last. */
static struct sms pick(
	const struct sms *avail, const struct sms *own, const struct claims *c, uint32_t want)
{
	struct choice at[CTL_MAX_SMS];
	struct sms got = {0};
	uint32_t n = 0;

	if (want >= sms_count(avail))
		return *avail;
	for (uint32_t sm = 0; sm < CTL_MAX_SMS; sm++) {
		if (!sms_has(avail, sm))
			continue;
		at[n++] = (struct choice){sms_has(own, sm) ? 0
					  : !sms_has(&c->used, sm)
						  ? 1
						  : 2ull + SCHED_NO_LANE - c->lane[sm],
			sm};
	}
	qsort(at, n, sizeof(at[0]), by_key);
	for (uint32_t i = 0; i < want; i++)
		sms_add(&got, at[i].sm);
	return got;
}

static void find_claims(const struct sched *s, struct claims *ret)
{
	memset(ret->lane, 0xff, sizeof(ret->lane));
	ret->used = (struct sms){0};
	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_launch *l = sched_launch_of(s->view.at[i]);
		struct sms has;

		if (!l || !l->k.running)
			continue;
		has = quota_sms(&l->allowed);
		ret->used = sms_plus(ret->used, &has);
		for (uint32_t sm = 0; sm < s->o.n_sms; sm++) {
			if (sms_has(&l->reserved, sm))
				ret->lane[sm] = MIN(ret->lane[sm], l->k.lane);
		}
	}
}

/* While a tenant's submitted launch does not arrive, others leave one SM free on which its first
 * worker can say that it does: the one that is given away last. */
#define DOOR 0u

void sched_doors_find(struct sched *s)
{
	s->door[0] = s->door[1] = NULL;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!t->late || (!t->arrived.first && !t->submitted.first))
			continue;
		if (!s->door[0] || t->priority > s->door[0]->priority) {
			s->door[1] = s->door[0];
			s->door[0] = t;
		} else if (!s->door[1] || t->priority > s->door[1]->priority) {
			s->door[1] = t;
		}
	}
}

void sched_door_leave(const struct sched *s, const struct sched_launch *l, struct quota *io_allowed)
{
	const struct sched_tenant *t = s->door[s->door[0] == l->tenant];
	bool for_other = t && t->priority >= l->tenant->priority && s->o.simultaneous;
	/* Its own tenant's more urgent stream: no worker of that comes in either. */
	bool for_own = l->tenant->submitted_priority > (int64_t)l->stream_priority ||
		       (s->o.within_srt && launch_is(l->state, LAUNCH_ARRIVED) &&
			       l->tenant->submitted_priority >= 0);

	if ((for_other || for_own) && s->o.n_sms > 1)
		io_allowed->at[DOOR] = 0;
}

void sched_begin_place(struct sched *s, struct sched_tenant *t, bool held, struct quota left)
{
	const struct sched_tenant *door = s->door[s->door[0] == t];
	bool competes = t->arrived.first || t->head;

	t->next_begin = t->best ? t->best_avail : (struct quota){0};
	if (t->pinned || (!competes && !held))
		t->next_begin = s->everywhere;
	else if (!competes && s->o.simultaneous)
		t->next_begin = left;
	if (door && door->priority >= t->priority && s->o.simultaneous && s->o.n_sms > 1)
		t->next_begin.at[DOOR] = 0;
}

/* One lane, members [from, to) of the view. Returns what it reserves. */
static struct sms place_lane(
	struct sched *s, size_t from, size_t to, struct sms avail, const struct claims *claims)
{
	struct sms before = {0}, reserved;
	uint64_t want = 0;

	for (size_t i = from; i < to; i++) {
		struct sched_kernel *k = s->view.at[i];
		struct sched_launch *l = sched_launch_of(k);
		struct sched_tenant *t = CONTAINER_OF(k, struct sched_tenant, linger);

		want += k->want_sms;
		if (l)
			before = sms_plus(before, &l->reserved);
		else if (k->kind == SCHED_LINGER)
			before = sms_plus(before, &t->linger_sms);
	}
	/* What is reserved stays so while the lane lasts: blocks that finish do not make it
	 * narrower with each decision. */
	want = MAX(want, sms_count(&before));
	reserved = pick(&avail, &before, claims, (uint32_t)MIN(want, s->o.n_sms));
	for (size_t i = from; i < to; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		l->next_allowed = quota_of(&avail);
		l->reserved = reserved;
		sched_door_leave(s, l, &l->next_allowed);
		if (!l->tenant->best) {
			l->tenant->best = l;
			l->tenant->best_avail = quota_of(&avail);
		}
	}
	return reserved;
}

static void place(struct sched *s, int hold_below)
{
	struct sms avail = s->all;
	struct claims claims;
	size_t to;

	sched_doors_find(s);
	find_claims(s, &claims);
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		l->next_allowed = (struct quota){0};
		if (l->k.lane == SCHED_NO_LANE)
			l->reserved = (struct sms){0};
	}
	if (s->view.len > 1)
		qsort(s->view.at, s->view.len, sizeof(s->view.at[0]), by_lane);
	for (size_t i = 0; i < s->view.len && s->view.at[i]->lane != SCHED_NO_LANE; i = to) {
		struct sms reserved;

		for (to = i; to < s->view.len && s->view.at[to]->lane == s->view.at[i]->lane;)
			to++;
		reserved = place_lane(s, i, to, avail, &claims);
		avail = sms_minus(avail, &reserved);
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next)
		sched_begin_place(
			s, t, t->priority < hold_below || t->share.held, quota_of(&avail));
}

static void keep(const struct sched *s, struct sched_launch *l)
{
	if (l->state == LAUNCH_UNSURE || (l->state == LAUNCH_NEXT && is_new(s, l)))
		l->next_allowed = s->everywhere;
	else if (quota_any(&l->allowed))
		l->next_allowed = l->allowed;
}

/* Others may be given the same SMs, and share them as they would without us. */
static void keep_pinned(struct sched *s)
{
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!t->pinned && !t->kept)
			continue;
		for (struct sched_launch *l = t->arrived.first; l; l = l->next)
			keep(s, l);
		if (t->head)
			keep(s, t->head);
		if (t->kept && quota_any(&t->begin))
			t->next_begin = t->begin;
	}
}

/* ---- what is told ---- */

static bool act(struct sched *s, enum sched_action_type type, bool first, struct sched_tenant *t,
	struct sched_launch *l)
{
	struct sched_action a = {.type = type, .first = first, .tenant = t, .launch = l};

	if (l) {
		a.n_sms = quota_count(&l->next_allowed);
		a.workers = quota_workers(&l->next_allowed, l->k.workers_per_sm);
	}

	return VEC_PUSH(&s->actions, a);
}

static int by_urgency(const void *pa, const void *pb)
{
	const struct sched_action *a = pa, *b = pb;

	return (a->type > b->type) - (a->type < b->type);
}

static bool tell_launch(struct sched *s, struct sched_launch *l)
{
	bool lost = quota_less(&l->next_allowed, &l->allowed);
	bool gained = quota_less(&l->allowed, &l->next_allowed);
	bool first = l->state == LAUNCH_UNSURE;
	enum sched_action_type type;

	if (launch_is(l->state, LAUNCH_LEAVES) && quota_any(&l->next_allowed))
		return true; /* again when it has drained */
	if (!first && !lost && !gained)
		return true;
	if (!quota_any(&l->next_allowed))
		type = SCHED_PREEMPT;
	else if (!quota_any(&l->allowed))
		type = SCHED_GRANT;
	else
		type = gained ? SCHED_GROW : SCHED_SHRINK;
	return act(s, type, first, l->tenant, l);
}

/* Launches of which nothing is known for sure: with every SM they cannot go wrong. */
static bool tell_strays(struct sched *s, struct sched_tenant *t)
{
	for (struct sched_launch *l = t->native.first; l; l = l->next) {
		l->next_allowed = s->everywhere;
		if (l->state == LAUNCH_STRAY && !act(s, SCHED_NATIVE, true, t, l))
			return false;
	}
	return true;
}

static void commit(
	struct sched *s, struct sched_launch *l, const struct sched_action *a, uint64_t now_ns)
{
	enum launch_state to = LAUNCH_RUNNING;

	if (a->type == SCHED_PREEMPT) {
		to = LAUNCH_DRAINING;
		l->grace_ns = 0;
		s->stats.preemptions += !a->first;
	} else if (a->type == SCHED_SHRINK) {
		to = LAUNCH_SHRINKING;
		s->stats.shrinks++;
	} else if (a->type == SCHED_GRANT) {
		s->stats.grants++;
		sched_number(s, l->tenant);
	} else if (a->type == SCHED_GROW) {
		l->preempt_ns = 0; /* given back before it had left */
	} else {
		to = LAUNCH_NATIVE;
		s->stats.natives++;
	}
	/* A first word takes nothing from a launch that is known to run. */
	if (to != LAUNCH_RUNNING && to != LAUNCH_NATIVE && !a->first) {
		l->preempt_ns = now_ns;
		l->preemptions++;
	}
	l->allowed = l->next_allowed;
	sched_to(s, l, to);
}

/* What has not arrived costs no word: it begins with its tenant's. */
static void commit_quietly(struct sched_launch *head)
{
	if (!quota_any(&head->next_allowed))
		head->grace_ns = 0;
	head->allowed = head->next_allowed;
}

static bool tell_begin(struct sched *s, struct sched_tenant *t)
{
	struct sched_action a = {
		.type = SCHED_BEGIN, .tenant = t, .n_sms = quota_count(&t->next_begin)};

	if (memcmp(&t->begin, &t->next_begin, sizeof(t->begin)) == 0)
		return true;
	return VEC_PUSH(&s->actions, a);
}

/* Who stands below this starts no opaque work. */
static int hold_opaque_below(struct sched *s, uint64_t now_ns, int hold_below)
{
	int below = INT_MIN;

	if (s->o.opaque_hold_ns == UINT64_MAX && !s->o.opaque_free)
		return hold_below;
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		uint64_t until = t->burst_ns + s->o.opaque_hold_ns;
		bool steered = t->arrived.first || t->head;

		if (steered) {
			below = MAX(below, t->priority);
		} else if (!s->o.opaque_free && now_ns < until) {
			below = MAX(below, t->priority);
			s->deadline_ns = MIN(s->deadline_ns, until);
		}
	}
	return MIN(below, hold_below);
}

static int tell(struct sched *s, uint64_t now_ns, int hold_below)
{
	size_t from = s->actions.len;

	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		bool held = t->priority < hold_below || t->share.held;

		if (!tell_begin(s, t))
			goto nomem;
		for (struct sched_launch *l = t->arrived.first; l; l = l->next) {
			if (!tell_launch(s, l))
				goto nomem;
		}
		if (!tell_strays(s, t))
			goto nomem;
		if (held != t->held && !act(s, held ? SCHED_HOLD : SCHED_RELEASE, false, t, NULL))
			goto nomem;
	}
	if (s->actions.len - from > 1)
		qsort(s->actions.at + from, s->actions.len - from, sizeof(s->actions.at[0]),
			by_urgency);
	for (size_t i = from; i < s->actions.len; i++) {
		struct sched_action *a = &s->actions.at[i];

		if (a->launch) {
			commit(s, a->launch, a, now_ns);
		} else if (a->type != SCHED_BEGIN) {
			a->tenant->held = a->type == SCHED_HOLD;
			s->stats.holds += a->tenant->held;
		}
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->begin = t->next_begin;
		if (t->head)
			commit_quietly(t->head);
	}
	s->decided = s->order;
	return 0;
nomem:
	s->actions.len = from;
	return -ENOMEM;
}

/* ---- the time ---- */

/* Submitted launches that were let go and still do not arrive lose their claim. Nobody's time runs
 * while somebody is still on the way out. */
static void check_grace(struct sched *s, uint64_t now_ns)
{
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];
	bool others = s->tenants && s->tenants->next;

	for (struct sched_tenant *t = s->tenants; t && others && !leaving; t = t->next) {
		struct sched_launch *l = arriving(t);

		if (!l || !quota_any(&l->allowed))
			continue;
		l->grace_ns = l->grace_ns ? l->grace_ns : now_ns + s->o.grace_ns;
		if (now_ns >= l->grace_ns) {
			t->late = true;
			s->stats.late++;
		} else {
			s->deadline_ns = MIN(s->deadline_ns, l->grace_ns);
		}
	}
}

static void look_for_contention(struct sched *s)
{
	s->contended = false;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		s->contended |= t->held || quota_less(&t->begin, &s->everywhere);
		for (struct sched_launch *l = t->arrived.first; l; l = l->next)
			s->contended |= quota_less(&l->allowed, &s->everywhere);
		s->contended |= t->head && quota_less(&t->head->allowed, &s->everywhere);
	}
}

#define WAKE_MIN_NS 100000u /* a policy that asks to be asked sooner is asked then */

/* Asks a policy of the engine's own, and picks the SMs. Returns hold_below. */
static int decide_lanes(struct sched *s, uint64_t now_ns)
{
	struct sched_view v = {.n_sms = s->o.n_sms,
		.simultaneous = s->o.simultaneous,
		.spatial = s->o.spatial,
		.within_srt = s->o.within_srt,
		.now_ns = now_ns,
		.overhead_permille = s->o.overhead_permille,
		.wake_ns = SCHED_UNKNOWN,
		.hold_below = INT_MIN};

	sched_turns(s, now_ns);
	v.at = s->view.at;
	v.len = s->view.len;
	v.tenants = s->shares.at;
	v.n_tenants = s->shares.len;
	s->policy->decide(s->policy_state, &v);
	if (v.wake_ns != SCHED_UNKNOWN)
		s->deadline_ns = MIN(s->deadline_ns, MAX(v.wake_ns, now_ns + WAKE_MIN_NS));
	sched_turns_note(s, now_ns);
	place(s, v.hold_below);
	return v.hold_below;
}

static int decide_once(struct sched *s, uint64_t now_ns)
{
	int r, hold_below = INT_MIN;

	sched_serve(s, now_ns);
	check_grace(s, now_ns);
	s->deadline_ns = UINT64_MAX;
	r = gather(s, now_ns);
	if (r < 0)
		return r;
	if (s->policy->foreign) {
		r = foreign_decide(s, now_ns);
		if (r < 0)
			return r;
	} else {
		hold_below = decide_lanes(s, now_ns);
	}
	keep_pinned(s);
	return tell(s, now_ns, hold_opaque_below(s, now_ns, hold_below));
}

int sched_decide(struct sched *s, uint64_t now_ns)
{
	int r = 0;

	/* What has been decided must be told before more is. */
	if ((!s->dirty && now_ns < s->deadline_ns) || s->next_action < s->actions.len)
		return 0;
	s->next_action = s->actions.len = 0;
	s->stats.decisions++;
	r = decide_once(s, now_ns);
	s->dirty = r < 0 || s->n_in[LAUNCH_STRAY];
	if (r < 0)
		return r;
	check_grace(s, now_ns); /* for those let go just now */
	look_for_contention(s);
	return 0;
}

bool sched_next(struct sched *s, struct sched_action *ret)
{
	while (s->next_action < s->actions.len) {
		const struct sched_action *a = &s->actions.at[s->next_action++];

		if (!a->tenant)
			continue; /* gone meanwhile */
		*ret = *a;
		return true;
	}
	return false;
}

uint64_t sched_deadline(const struct sched *s)
{
	return s->dirty ? 0 : s->deadline_ns;
}
