/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Creates, changes and destroys the engine, its policy and its tenants. An event only updates the
 * state; most events also request a decision. */
#include "events.h"
#include "sched/model/durations.h"

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
	o->model = o->model ? o->model : &model_durations;
}

/* Frees the model's state if the engine created it. A state that the caller supplied stays. */
static void free_model(struct sched *s)
{
	if (!s->o.model_state && s->model_state && s->o.model->destroy)
		s->o.model->destroy(s->model_state);
}

/* Returns false if the options are too long; s is then unchanged. */
static bool copy_options(struct sched *s, const char *options)
{
	size_t n = options ? strlen(options) : 0;

	if (n >= sizeof(s->policy_options))
		return false;
	memcpy(s->policy_options, options ? options : "", n + 1);
	s->o.policy_options = s->policy_options;
	return true;
}

static void clear_own(const struct sched_launches *list)
{
	for (struct sched_launch *l = list->first; l; l = l->next)
		l->own = (struct sched_own){0};
}

/* Replaces the policy. Creates the new policy's state before it destroys the old one, because both
 * may use the same shared object, which then stays loaded. */
static void change_policy(struct sched *s, const struct sched_policy *p)
{
	void *state = planner_create(s, p);

	if (s->policy)
		planner_destroy(s->policy, s->policy_state);
	s->policy = p;
	s->policy_state = state;
	s->planning.empty_ns = s->planning.ask_ns = 0;
	s->pairs = false;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->next_held = false;
		t->own = (struct sched_own){0};
		clear_own(&t->launches.arrived);
		clear_own(&t->launches.submitted);
	}
}

int engine_create(
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
	if (!copy_options(s, o->policy_options)) {
		free(s);
		return -EINVAL;
	}
	s->model_state = s->o.model_state ? s->o.model_state : s->o.model->create();
	if (!s->model_state) {
		free(s);
		return -ENOMEM;
	}
	change_policy(s, policy);
	s->deadline_ns = UINT64_MAX;
	for (uint32_t i = 0; i < o->n_sms; i++)
		sms_add(&s->all, i);
	s->everywhere = quota_of(&s->all);
	*ret = s;
	return 0;
}

void engine_reconfigure(
	struct sched *s, const struct sched_options *o, const struct sched_policy *p)
{
	const char *options = o->policy_options ? o->policy_options : "";
	bool same = p == s->policy && (p->options || strcmp(options, s->policy_options) == 0);
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
	s->o.journal = was.journal;
	s->o.policy_options = s->policy_options;
	fill_options(&s->o);
	s->dirty = true;
	if (copy_options(s, options) && !same)
		change_policy(s, p);
}

static struct sched_level *pop_level(struct sched_level **list)
{
	struct sched_level *v = *list;

	*list = v->next;
	return v;
}

static void push_level(struct sched_level **list, struct sched_level *v)
{
	v->next = *list;
	*list = v;
}

/* Adds the tenant to the level of its priority. There is a free level if no tenant has this
 * priority. */
static void level_enter(struct sched *s, struct sched_tenant *t)
{
	struct sched_level **at = &s->levels;

	while (*at && (*at)->priority > t->priority)
		at = &(*at)->next;
	if (!*at || (*at)->priority != t->priority) {
		struct sched_level *v = pop_level(&s->free_levels);

		*v = (struct sched_level){.priority = t->priority};
		push_level(at, v);
	}
	(*at)->n_tenants++;
	t->level = *at;
}

static void level_leave(struct sched *s, struct sched_tenant *t)
{
	struct sched_level **at = &s->levels;

	if (--t->level->n_tenants == 0) {
		while (*at != t->level)
			at = &(*at)->next;
		push_level(&s->free_levels, pop_level(at));
	}
	t->level = NULL;
}

void engine_destroy(struct sched *s)
{
	if (!s)
		return;
	while (s->tenants)
		engine_leave(s, 0, s->tenants);
	planner_destroy(s->policy, s->policy_state);
	planner_free(&s->planning);
	VEC_FREE(&s->view);
	VEC_FREE(&s->actions);
	free_model(s);
	free(s);
}

int engine_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret)
{
	struct sched_tenant *t = calloc(1, sizeof(*t));
	struct sched_level *v = calloc(1, sizeof(*v));

	if (!t || !v) {
		free(t);
		free(v);
		return -ENOMEM;
	}
	push_level(&s->free_levels, v);
	t->id = tenant;
	t->priority = priority;
	t->weight = weight;
	t->user = user;
	t->pauses.idle_since_ns = now_ns;
	t->opaque = t->expected = (struct sched_kernel){
		.tenant = tenant,
		.remaining_ns = SCHED_UNKNOWN,
		.predicted_ns = SCHED_UNKNOWN,
	};
	t->begin.now = s->everywhere;
	tenant_to(&t->state, s->n_tenants_in, TENANT_NEW);
	level_enter(s, t);
	t->opaque.kind = HEDDLE_POLICY_OPAQUE;
	t->expected.kind = HEDDLE_POLICY_EXPECTED;
	t->next = s->tenants;
	if (t->next)
		t->next->prev = t;
	s->tenants = t;
	s->stats.tenants++;
	s->dirty = true;
	*ret = t;
	return 0;
}

void engine_leave(struct sched *s, uint64_t now_ns, struct sched_tenant *t)
{
	sched_serve(s, now_ns);
	sched_drop_all(s, &t->launches.arrived);
	sched_drop_all(s, &t->launches.submitted);
	sched_drop_all(s, &t->launches.native);
	for (size_t i = s->next_action; i < s->actions.len; i++) {
		if (s->actions.at[i].tenant == t)
			s->actions.at[i].tenant = NULL;
	}
	*(t->prev ? &t->prev->next : &s->tenants) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	tenant_to(&t->state, s->n_tenants_in, TENANT_NONE);
	level_leave(s, t);
	free(pop_level(&s->free_levels));
	s->stats.tenants--;
	s->dirty = true;
	free(t);
}

void engine_set_priority(struct sched *s, struct sched_tenant *t, int priority)
{
	if (priority != t->priority) {
		level_leave(s, t);
		t->priority = priority;
		level_enter(s, t);
	}
	s->dirty = true;
}

void engine_set_weight(struct sched *s, struct sched_tenant *t, uint32_t weight)
{
	t->weight = weight;
	s->dirty = true;
}

void engine_pin(struct sched *s, struct sched_tenant *t, bool pinned)
{
	s->dirty |= t->pinned != pinned;
	t->pinned = pinned;
}

void engine_keep(struct sched *s, struct sched_tenant *t, bool kept)
{
	s->dirty |= t->kept != kept;
	t->kept = kept;
}

void engine_opaque(
	struct sched *s, uint64_t now_ns, struct sched_tenant *t, bool active, bool waited)
{
	if ((t->opaque_state != OPAQUE_NONE) == active)
		return;
	sched_serve(s, now_ns);
	tenant_opaque_to(&t->opaque_state, !active   ? OPAQUE_NONE
					   : t->held ? OPAQUE_WAITS
						     : OPAQUE_RUNS);
	if (!active)
		t->pauses.continues = !waited;
	s->dirty = true;
}

void engine_copied(struct sched *s, struct sched_tenant *t, uint64_t first_ns, uint64_t last_ns)
{
	(void)s;
	t->pauses.copied_ns = first_ns;
	t->pauses.last_copy_ns = last_ns;
}
