/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Events: what tenants and launches did. Each only changes the books (FLEP, section 5.1: predicted,
 * waited and remaining time, brought up to date at arrival, preemption and finish) and marks that
 * there is something to decide. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void set_default(uint64_t *v, uint64_t d)
{
	*v = *v ? *v : d;
}

static void set_default32(uint32_t *v, uint32_t d)
{
	*v = *v ? *v : d;
}

static void fill_options(struct sched_options *o)
{
	set_default32(&o->threads_per_sm, 2048);
	set_default32(&o->blocks_per_sm, 32);
	set_default32(&o->regs_per_sm, 65536);
	set_default32(&o->shared_per_sm, 228 << 10);
	set_default32(&o->max_launches, 256);
	set_default(&o->linger_max_ns, 1000000);
	set_default(&o->grace_ns, 2000000);
	set_default(&o->cost_ns, 100000);
	set_default(&o->resume_ns, 20000);
	set_default(&o->opaque_hold_ns, UINT64_MAX);
	set_default(&o->still_ns, 1000000000);
	set_default32(&o->overhead_permille, 100);
	o->model = o->model ? o->model : &sched_model_means;
}

/* What only the engine's own state needs: a caller's is left alone. */
static void free_model(struct sched *s)
{
	if (!s->o.model_state && s->model_state && s->o.model->destroy)
		s->o.model->destroy(s->model_state);
}

int sched_create(
	const struct sched_options *o, const struct sched_policy *policy, struct sched **ret)
{
	struct sched *s;

	if (o->n_sms == 0 || o->n_sms > CTL_MAX_SMS || !policy)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->o = *o;
	fill_options(&s->o);
	s->model_state = s->o.model_state ? s->o.model_state : s->o.model->create();
	s->policy_state = policy->create ? policy->create() : NULL;
	if (!s->model_state || (policy->create && !s->policy_state)) {
		free_model(s);
		free(s);
		return -ENOMEM;
	}
	s->policy = policy;
	s->deadline_ns = UINT64_MAX;
	for (uint32_t i = 0; i < o->n_sms; i++)
		sms_add(&s->all, i);
	*ret = s;
	return 0;
}

/* Without memory for another one's state the old one goes on. */
static void change_policy(struct sched *s, const struct sched_policy *p)
{
	void *state = NULL;

	if (p == s->policy)
		return;
	if (p->create && !(state = p->create()))
		return;
	if (s->policy->destroy)
		s->policy->destroy(s->policy_state);
	s->policy = p;
	s->policy_state = state;
	for (struct sched_tenant *t = s->tenants; t; t = t->next)
		t->share.held = false;
}

void sched_reconfigure(struct sched *s, const struct sched_options *o, const struct sched_policy *p)
{
	struct sched_options was = s->o;

	s->o = *o;
	s->o.n_sms = was.n_sms;
	s->o.threads_per_sm = was.threads_per_sm;
	s->o.blocks_per_sm = was.blocks_per_sm;
	s->o.regs_per_sm = was.regs_per_sm;
	s->o.shared_per_sm = was.shared_per_sm;
	s->o.max_launches = was.max_launches;
	s->o.simultaneous = was.simultaneous;
	s->o.renumbers = was.renumbers;
	s->o.model = was.model;
	s->o.model_state = was.model_state;
	fill_options(&s->o);
	s->dirty = true;
	change_policy(s, p);
}

void sched_destroy(struct sched *s)
{
	if (!s)
		return;
	while (s->tenants)
		sched_leave(s, 0, s->tenants);
	if (s->policy->destroy)
		s->policy->destroy(s->policy_state);
	VEC_FREE(&s->view);
	VEC_FREE(&s->shares);
	VEC_FREE(&s->actions);
	free_model(s);
	free(s);
}

int sched_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret)
{
	struct sched_tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->id = tenant;
	t->priority = priority;
	t->weight = weight;
	t->user = user;
	t->idle_since_ns = now_ns;
	t->opaque = t->linger = (struct sched_kernel){
		.tenant = tenant,
		.priority = priority,
		.weight = weight,
		.remaining_ns = SCHED_UNKNOWN,
		.predicted_ns = SCHED_UNKNOWN,
		.need_sms = s->o.n_sms,
	};
	t->share = (struct sched_share){.tenant = tenant, .weight = weight, .priority = priority};
	t->begin = s->all;
	t->turn = sched_last_turn(s, priority);
	t->opaque.kind = SCHED_OPAQUE;
	t->linger.kind = SCHED_LINGER;
	t->next = s->tenants;
	if (t->next)
		t->next->prev = t;
	s->tenants = t;
	s->stats.tenants++;
	s->dirty = true;
	*ret = t;
	return 0;
}

void sched_set_priority(struct sched *s, struct sched_tenant *t, int priority)
{
	if (priority != t->priority) /* behind those that it comes to, as who joins */
		t->turn = sched_last_turn(s, priority);
	t->priority = t->opaque.priority = t->linger.priority = t->share.priority = priority;
	for (struct sched_launch *l = t->arrived.first; l; l = l->next)
		l->k.priority = priority;
	for (struct sched_launch *l = t->submitted.first; l; l = l->next)
		l->k.priority = priority;
	s->dirty = true;
}

void sched_set_weight(struct sched *s, struct sched_tenant *t, uint32_t weight)
{
	t->weight = t->opaque.weight = t->linger.weight = t->share.weight = weight;
	for (struct sched_launch *l = t->arrived.first; l; l = l->next)
		l->k.weight = weight;
	for (struct sched_launch *l = t->submitted.first; l; l = l->next)
		l->k.weight = weight;
	s->dirty = true;
}

uint64_t sched_service(const struct sched_tenant *t)
{
	return t->share.service_ns;
}

void sched_serve(struct sched *s, uint64_t now_ns)
{
	uint64_t passed = now_ns > s->served_ns ? now_ns - s->served_ns : 0;
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];

	for (struct sched_tenant *t = s->tenants; t && passed; t = t->next) {
		if (leaving ? t->n_leave > 0 : t->n_there || t->opaque_active)
			t->share.service_ns += passed;
	}
	s->served_ns = MAX(s->served_ns, now_ns);
}

static struct sched_launches *list_of(struct sched_launch *l)
{
	return launch_is(l->state, LAUNCH_SUBMITTED) ? &l->tenant->submitted
	       : launch_is(l->state, LAUNCH_ARRIVED) ? &l->tenant->arrived
	       : launch_is(l->state, LAUNCH_ASTRAY)  ? &l->tenant->native
						     : NULL;
}

/* In the order of ids. */
static void put_in(struct sched_launches *list, struct sched_launch *l)
{
	struct sched_launch *after = list->last;

	while (after && after->k.id > l->k.id)
		after = after->prev;
	l->prev = after;
	l->next = after ? after->next : list->first;
	*(l->next ? &l->next->prev : &list->last) = l;
	*(after ? &after->next : &list->first) = l;
}

static void take_out(struct sched_launches *list, struct sched_launch *l)
{
	*(l->prev ? &l->prev->next : &list->first) = l->next;
	*(l->next ? &l->next->prev : &list->last) = l->prev;
}

/* Nobody shall act on what was decided for it. */
static void withdraw_actions(struct sched *s, const struct sched_launch *l)
{
	for (size_t i = s->next_action; i < s->actions.len; i++) {
		if (s->actions.at[i].launch == l)
			s->actions.at[i].tenant = NULL;
	}
}

bool sched_to(struct sched *s, struct sched_launch *l, enum launch_state to)
{
	struct sched_launches *was = list_of(l), *list;
	struct sched_tenant *t = l->tenant;
	enum launch_state from = l->state;
	bool legal = launch_to(&l->state, s->n_in, to);

	list = list_of(l);
	if (was != list && was)
		take_out(was, l);
	if (was != list && list)
		put_in(list, l);
	t->n_submitted_of[l->stream_priority] += list == &t->submitted;
	t->n_submitted_of[l->stream_priority] -= was == &t->submitted;
	t->n_there += launch_is(l->state, LAUNCH_THERE);
	t->n_there -= launch_is(from, LAUNCH_THERE);
	t->n_leave += launch_is(l->state, LAUNCH_LEAVES);
	t->n_leave -= launch_is(from, LAUNCH_LEAVES);
	if (l->state == LAUNCH_NEXT)
		t->head = l;
	else if (t->head == l)
		t->head = NULL;
	if (!legal) {
		l->refused_from = from;
		l->refused_to = to;
		withdraw_actions(s, l);
		s->dirty = true;
	}
	return legal;
}

static void drop_launch(struct sched *s, struct sched_launch *l)
{
	sched_to(s, l, LAUNCH_NONE);
	l->tenant->n_launches--;
	s->stats.launches--;
	withdraw_actions(s, l);
	free(l);
}

static void drop_all(struct sched *s, struct sched_launches *list)
{
	while (list->first)
		drop_launch(s, list->first);
}

void sched_leave(struct sched *s, uint64_t now_ns, struct sched_tenant *t)
{
	sched_serve(s, now_ns);
	drop_all(s, &t->arrived);
	drop_all(s, &t->submitted);
	drop_all(s, &t->native);
	for (size_t i = s->next_action; i < s->actions.len; i++) {
		if (s->actions.at[i].tenant == t)
			s->actions.at[i].tenant = NULL;
	}
	*(t->prev ? &t->prev->next : &s->tenants) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	s->stats.tenants--;
	s->dirty = true;
	free(t);
}

static uint32_t clamp_workers(uint64_t n)
{
	return (uint32_t)(n < 1 ? 1 : n > 32 ? 32 : n);
}

/* How many blocks an SM holds at once. */
static uint32_t workers_per_sm(const struct sched_options *o, const struct sched_launch_info *i)
{
	uint64_t n = o->blocks_per_sm, regs = (uint64_t)i->regs * i->threads;

	if (i->workers_per_sm)
		return clamp_workers(i->workers_per_sm);
	if (i->threads)
		n = MIN(n, o->threads_per_sm / i->threads);
	if (regs)
		n = MIN(n, o->regs_per_sm / regs);
	if (i->shared_bytes)
		n = MIN(n, o->shared_per_sm / i->shared_bytes);
	return clamp_workers(n);
}

static struct sched_shape shape_of(const struct sched *s, const struct sched_launch_info *i)
{
	struct sched_shape shape = {
		.kernel = i->kernel,
		.total = i->total,
		.threads = i->threads,
		.shared_bytes = i->shared_bytes,
		.n_sms = s->o.n_sms,
	};

	memcpy(shape.input, i->input, sizeof(shape.input));
	return shape;
}

static bool is_known(const struct sched_launches *list, uint64_t id)
{
	for (const struct sched_launch *l = list->last; l && l->k.id >= id; l = l->prev) {
		if (l->k.id == id)
			return true;
	}
	return false;
}

int sched_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret)
{
	struct sched_launch *l;

	if (info->total == 0)
		return -EINVAL;
	if (t->n_launches >= s->o.max_launches)
		return -ENOSPC;
	if (is_known(&t->arrived, info->id) || is_known(&t->submitted, info->id) ||
		is_known(&t->native, info->id))
		return -EEXIST;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->tenant = t;
	l->user = info->user;
	l->device_sms = s->o.n_sms;
	l->shape = shape_of(s, info);
	l->stream_priority = MIN(info->stream_priority, SCHED_STREAM_RANKS - 1);
	l->submit_ns = l->since_ns = now_ns;
	l->k = (struct sched_kernel){
		.kind = SCHED_MANAGED,
		.tenant = t->id,
		.id = info->id,
		.order = s->order++,
		.priority = t->priority,
		.weight = t->weight,
		.kernel = info->kernel,
		.total = info->total,
		.threads = info->threads,
		.workers_per_sm = workers_per_sm(&s->o, info),
		.predicted_ns = s->o.model->predict(s->model_state, &l->shape),
		.cost_ns = s->o.model->cost(s->model_state, info->kernel, s->o.cost_ns),
	};
	l->k.remaining_ns = l->k.predicted_ns;
	sched_to(s, l, LAUNCH_QUEUED);
	t->n_launches++;
	s->stats.launches++;
	s->dirty = true;
	*ret = l;
	return 0;
}

static uint64_t remaining(const struct sched_launch *l)
{
	uint64_t left = l->k.total - l->k.finished;
	double ns;

	/* From finished blocks, not from elapsed time. */
	if (l->k.predicted_ns != SCHED_UNKNOWN)
		ns = (double)l->k.predicted_ns * (double)left / (double)l->k.total;
	else if (l->k.finished)
		ns = (double)l->ran_ns * (double)left / (double)l->k.finished;
	else
		return SCHED_UNKNOWN;
	return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}

/* In time on the whole device: what passed on half of the SMs that it could use counts half. */
static uint64_t ran(const struct sched_launch *l, uint64_t passed)
{
	uint64_t can_use = (l->k.total + l->k.workers_per_sm - 1) / l->k.workers_per_sm;
	uint32_t has = sms_count(&l->allowed);

	if (launch_is(l->state, LAUNCH_LEAVES) || has >= MIN(can_use, l->device_sms))
		return passed;
	return (uint64_t)((double)passed * has / (double)MIN(can_use, l->device_sms));
}

static void add_time(struct sched_launch *l, uint64_t passed)
{
	l->ran_ns += ran(l, passed);
	/* A launch that is on its way out has its SMs until it is gone. */
	if (!launch_is(l->state, LAUNCH_LEAVES))
		l->spell.n_sms = sms_count(&l->allowed);
	l->spell.sm_ns += passed * MIN(l->spell.n_sms, l->k.total);
}

void sched_account(struct sched_launch *l, uint64_t now_ns)
{
	uint64_t passed = now_ns > l->since_ns ? now_ns - l->since_ns : 0;

	if (launch_is(l->state, LAUNCH_HAS_SMS | LAUNCH_LEAVES) || l->state == LAUNCH_NATIVE)
		add_time(l, passed);
	else if (l->state != LAUNCH_QUEUED)
		l->k.waited_ns += passed;
	l->since_ns = MAX(l->since_ns, now_ns);
	l->k.remaining_ns = remaining(l);
}

static bool is_there(const struct sched_tenant *t)
{
	for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
		if (l->state != LAUNCH_WAITING)
			return true;
	}
	return t->opaque_active || t->native.first;
}

void sched_number(const struct sched *s, struct sched_tenant *t)
{
	bool others = false;

	if (is_there(t))
		return;
	for (const struct sched_tenant *o = s->tenants; o; o = o->next)
		others |= o != t && is_there(o);
	t->renumbered = s->o.renumbers && others;
}

void sched_arrive(struct sched *s, uint64_t now_ns, struct sched_launch *l, enum sched_began began)
{
	sched_serve(s, now_ns);
	if (!launch_is(l->state, LAUNCH_SUBMITTED))
		return;
	sched_account(l, now_ns);
	sched_number(s, l->tenant);
	/* What was decided for it meanwhile is told now, where it is something else. */
	l->allowed = began == SCHED_BEGAN_FREE   ? s->all
		     : began == SCHED_BEGAN_TOLD ? l->tenant->begin
						 : (struct sms){0};
	sched_to(s, l,
		began == SCHED_BEGAN_UNKNOWN ? LAUNCH_UNSURE
		: sms_any(&l->allowed)       ? LAUNCH_RUNNING
					     : LAUNCH_HELD);
	l->tenant->late = false;
	s->dirty = true;
}

void sched_progress(struct sched *s, struct sched_launch *l, uint64_t finished)
{
	(void)s;
	l->k.finished = MAX(l->k.finished, MIN(finished, l->k.total));
}

void sched_idle(struct sched *s, uint64_t now_ns, struct sched_launch *l, bool idle)
{
	if (l->idle == idle)
		return;
	l->idle = idle;
	l->came_on_ns = now_ns;
	s->dirty = true;
}

static void learn_curve(struct sched *s, const struct sched_shape *shape, uint32_t workers,
	uint32_t n_sms, uint64_t blocks, uint64_t sm_ns)
{
	uint64_t per_sm;

	if (!s->o.model->learn_curve || !n_sms || !blocks || !sm_ns)
		return;
	per_sm = MIN(workers, (shape->total + n_sms - 1) / n_sms);
	s->o.model->learn_curve(
		s->model_state, shape, (uint32_t)MIN(per_sm, SCHED_PER_SM), blocks, sm_ns);
}

/* A launch that had the whole device from its start to its end. */
static void learn_whole(
	struct sched *s, const struct sched_shape *shape, uint32_t workers, uint64_t ran_ns)
{
	uint64_t n_sms = MIN(s->o.n_sms, shape->total);

	if (ran_ns < UINT64_MAX / CTL_MAX_SMS)
		learn_curve(s, shape, workers, s->o.n_sms, shape->total, ran_ns * n_sms);
}

/* What finished since the launch last came to SMs. */
static void learn_spell(struct sched *s, struct sched_launch *l)
{
	learn_curve(s, &l->shape, l->k.workers_per_sm, l->spell.n_sms,
		l->k.finished - l->spell.finished, l->spell.sm_ns);
	l->spell = (struct sched_spell){.finished = l->k.finished};
}

/* What others wait for when they are given its SMs, and what it takes to be back on them. */
static void learn_cost(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	if (!l->preempt_ns)
		return;
	s->o.model->learn_cost(
		s->model_state, l->k.kernel, now_ns - l->preempt_ns + s->o.resume_ns);
	l->k.cost_ns = s->o.model->cost(s->model_state, l->k.kernel, s->o.cost_ns);
	l->preempt_ns = 0;
}

void sched_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	sched_serve(s, now_ns);
	sched_account(l, now_ns);
	if (!launch_is(l->state, LAUNCH_LEAVES))
		return;
	sched_to(s, l, LAUNCH_WAITING);
	s->left_ns = now_ns;
	s->dirty = true;
	learn_cost(s, now_ns, l);
	learn_spell(s, l);
}

void sched_shrunk(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	if (l->state != LAUNCH_SHRINKING)
		return;
	sched_to(s, l, LAUNCH_RUNNING);
	learn_cost(s, now_ns, l);
}

void sched_absent(struct sched *s, struct sched_launch *l)
{
	bool leaves = launch_is(l->state, LAUNCH_LEAVES);

	if (!leaves && l->state != LAUNCH_SHRINKING)
		return;
	sched_to(s, l, leaves ? LAUNCH_WAITING : LAUNCH_RUNNING);
	l->preempt_ns = 0;
	s->dirty |= leaves;
}

void sched_end(
	struct sched *s, uint64_t now_ns, struct sched_launch *l, bool completed, uint64_t ran_ns)
{
	sched_serve(s, now_ns);
	sched_account(l, now_ns);
	if (completed) {
		bool undisturbed = ran_ns && !l->preemptions;
		uint64_t ns = undisturbed ? ran_ns : l->ran_ns;

		s->o.model->learn(s->model_state, &l->shape, ns);
		if (undisturbed)
			learn_whole(s, &l->shape, l->k.workers_per_sm, ns);
		else
			learn_spell(s, l);
		/* A completed launch proves that its tenant's streams move. */
		l->tenant->late = false;
	}
	l->tenant->starved = false;
	l->tenant->linger_sms = l->reserved;
	drop_launch(s, l);
	s->dirty = true;
}

void sched_pin(struct sched *s, struct sched_tenant *t, bool pinned)
{
	s->dirty |= t->pinned != pinned;
	t->pinned = pinned;
}

void sched_keep(struct sched *s, struct sched_tenant *t, bool kept)
{
	s->dirty |= t->kept != kept;
	t->kept = kept;
}

void sched_opaque(
	struct sched *s, uint64_t now_ns, struct sched_tenant *t, bool active, bool waited)
{
	if (t->opaque_active == active)
		return;
	sched_serve(s, now_ns);
	t->opaque_active = active;
	if (!active) {
		t->continues = !waited;
		t->linger_sms = s->all;
	}
	s->dirty = true;
}

void sched_copied(struct sched_tenant *t, uint64_t first_ns, uint64_t last_ns)
{
	t->copied_ns = first_ns;
	t->last_copy_ns = last_ns;
}

void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns)
{
	struct sched_shape shape;

	if (info->total == 0)
		return;
	shape = shape_of(s, info);
	s->o.model->learn(s->model_state, &shape, ran_ns);
	learn_whole(s, &shape, workers_per_sm(&s->o, info), ran_ns);
}

void *sched_tenant_user(const struct sched_tenant *t)
{
	return t->user;
}

void *sched_launch_user(const struct sched_launch *l)
{
	return l->user;
}

static void quotas_of(const struct sched *s, const struct sms *sms, bool renumbered,
	uint8_t ret_quota[CTL_MAX_SMS])
{
	uint32_t count = sms_count(sms);
	bool all = count == s->o.n_sms;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++) {
		bool may = i >= s->o.n_sms ? all : renumbered ? i < count : sms_has(sms, i);

		ret_quota[i] = may ? CTL_NO_QUOTA : 0;
	}
}

/* What it may use; of one that is only submitted: what it would begin with. */
static const struct sms *sched_allowed(const struct sched_launch *l)
{
	return l->state == LAUNCH_QUEUED ? &l->tenant->begin : &l->allowed;
}

void sched_quotas(
	const struct sched *s, const struct sched_launch *l, uint8_t ret_quota[CTL_MAX_SMS])
{
	quotas_of(s, sched_allowed(l), l->tenant->renumbered, ret_quota);
}

void sched_begin_quotas(
	const struct sched *s, const struct sched_tenant *t, uint8_t ret_quota[CTL_MAX_SMS])
{
	/* By then nothing is left of the launch before, as a rule (streams side by side: it is),
	 * and SMs are numbered anew. */
	quotas_of(s, &t->begin, s->o.renumbers, ret_quota);
}

enum launch_state sched_state(const struct sched_launch *l)
{
	return l->state;
}

void sched_refused(
	const struct sched_launch *l, enum launch_state *ret_from, enum launch_state *ret_to)
{
	*ret_from = l->refused_from;
	*ret_to = l->refused_to;
}

uint32_t sched_count(const struct sched *s, enum launch_state state)
{
	return s->n_in[state];
}

void sched_launch_state(
	struct sched *s, uint64_t now_ns, const struct sched_launch *l, struct sched_info *ret)
{
	struct sched_launch now = *l; /* looking changes nothing */
	const struct sms *allowed = sched_allowed(l);

	(void)s;
	sched_account(&now, now_ns);
	*ret = (struct sched_info){
		.state = l->state,
		.preemptions = l->preemptions,
		.n_sms = sms_count(allowed),
		.predicted_ns = now.k.predicted_ns,
		.waited_ns = now.k.waited_ns,
		.remaining_ns = now.k.remaining_ns,
		.ran_ns = now.ran_ns,
		.cost_ns = now.k.cost_ns,
		.finished = now.k.finished,
	};
}

void sched_stats(const struct sched *s, struct sched_stats *ret)
{
	*ret = s->stats;
}

static uint64_t soonest(uint64_t least, uint64_t now_ns, const struct sched_launch *l)
{
	struct sched_launch now = *l;

	if (!sms_any(&l->allowed))
		return least;
	sched_account(&now, now_ns);
	return MIN(least, now.k.remaining_ns);
}

uint64_t sched_soonest(const struct sched *s, uint64_t now_ns)
{
	uint64_t least = SCHED_UNKNOWN;

	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		for (const struct sched_launch *l = t->arrived.first; l; l = l->next)
			least = soonest(least, now_ns, l);
		if (t->head)
			least = soonest(least, now_ns, t->head);
	}
	return least;
}

bool sched_contended(const struct sched *s)
{
	return s->contended;
}
