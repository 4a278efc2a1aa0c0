/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Teaches the model of durations: how long launches ran, how long preemptions took, and how fast
 * blocks finish. The speed depends on the number of blocks on an SM and on the kernel that runs
 * beside them. */
#include "events.h"

#include <string.h>

static uint32_t clamp_workers(uint64_t n)
{
	return (uint32_t)(n < 1 ? 1 : n > 32 ? 32 : n);
}

uint32_t sched_workers(const struct sched_options *o, const struct sched_launch_info *i)
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

struct sched_shape sched_shape_of(const struct sched *s, const struct sched_launch_info *i)
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

/* Returns the number of a grid's blocks on each SM, at most SCHED_PER_SM. n_sms SMs hold `workers`
 * workers together. */
static uint32_t blocks_on_sm(uint32_t workers, uint32_t n_sms, uint64_t total)
{
	uint64_t n = MIN((workers + n_sms - 1) / n_sms, (total + n_sms - 1) / n_sms);

	return (uint32_t)MIN(n, SCHED_PER_SM);
}

/* workers: the total number of workers on n_sms SMs. */
static void learn_curve(struct sched *s, const struct sched_shape *shape, uint32_t workers,
	uint32_t n_sms, uint64_t blocks, uint64_t sm_ns)
{
	if (!s->o.model->learn_curve || !n_sms || !workers || !blocks || !sm_ns)
		return;
	s->o.model->learn_curve(
		s->model_state, shape, blocks_on_sm(workers, n_sms, shape->total), blocks, sm_ns);
}

/* ---- pairs of launches ---- */

static uint32_t most_on_sm(const struct sched_launch *l)
{
	return MIN(MAX(l->k.workers_per_sm, 1u), SCHED_PER_SM);
}

/* Returns the number of the launch's blocks on each of its SMs. 0: it has no SM, or no worker on
 * its SMs. */
static uint32_t count_of(const struct sched_launch *l)
{
	uint32_t n_sms = quota_count(&l->allowed);

	return n_sms ? blocks_on_sm(
			       quota_workers(&l->allowed, l->k.workers_per_sm), n_sms, l->k.total)
		     : 0;
}

/* The first launches that have SMs, or are leaving them. Two others than a launch itself are enough to
 * say that it is beside several. */
struct company {
	const struct sched_launch *at[3];
	uint32_t len;
	bool unmanaged; /* there is also unmanaged work */
};

static struct company find_company(const struct sched *s)
{
	struct company c = {0};

	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		c.unmanaged |= t->launches.native.first || t->opaque_state == OPAQUE_RUNS;
		for (const struct sched_launch *o = t->launches.arrived.first;
			o && c.len < ARRAY_LEN(c.at); o = o->next) {
			if (!o->idle && launch_is(o->state, LAUNCH_HAS_SMS | LAUNCH_LEAVES))
				c.at[c.len++] = o;
		}
	}
	return c;
}

static struct sched_beside beside_of(const struct company *c, const struct sched_launch *l)
{
	struct sched_beside b = {.own_count = count_of(l), .several = c->unmanaged};

	for (uint32_t i = 0; i < c->len && !b.several; i++) {
		const struct sched_launch *o = c->at[i];

		if (o == l)
			continue;
		b.several |= b.count || launch_is(o->state, LAUNCH_LEAVES);
		b.kernel = o->k.kernel;
		b.count = MAX(count_of(o), 1);
		b.most = most_on_sm(o);
	}
	return b;
}

static bool is_same_company(const struct sched_beside *a, const struct sched_beside *b)
{
	return a->own_count == b->own_count && a->several == b->several &&
	       (a->several || (a->kernel == b->kernel && a->count == b->count));
}

void sched_learn_beside(struct sched *s)
{
	struct company company = s->pairs ? find_company(s) : (struct company){0};

	for (struct sched_tenant *t = s->tenants; t && s->pairs; t = t->next) {
		for (struct sched_launch *l = t->launches.arrived.first; l; l = l->next) {
			struct sched_beside b;

			if (!launch_is(l->state, LAUNCH_HAS_SMS))
				continue;
			b = beside_of(&company, l);
			l->shared |= b.count || b.several;
			if (is_same_company(&l->beside, &b))
				continue;
			sched_learn_spell(s, l);
			l->beside = b;
		}
	}
}

/* Teaches the model of pairs how fast the launch was beside one other launch in this spell (the
 * time since the model last learned from the launch). Returns false if the launch was alone or
 * beside several others, or if the model cannot use the spell; the caller then teaches the curve. A
 * spell in which fewer blocks finished than the launch runs at once consists mostly of begin and
 * end. Neither the model nor the curve learns from such a spell, so the function returns true. */
static bool learn_pair(struct sched *s, const struct sched_launch *l)
{
	uint64_t blocks = l->k.finished - l->spell.finished;
	struct sched_pair p = {.kernel = {l->k.kernel, l->beside.kernel},
		.count = {l->beside.own_count, l->beside.count},
		.most = {most_on_sm(l), l->beside.most}};

	if (!s->pairs || !s->o.model->learn_pair || !l->beside.count || l->beside.several)
		return false;
	if (blocks < MIN(l->spell.workers, l->k.total))
		return true;
	return s->o.model->learn_pair(s->model_state, &p, blocks, l->spell.sm_ns);
}

/* Teaches the model the time of a launch that had the whole device from start to end. */
static void learn_whole(
	struct sched *s, const struct sched_shape *shape, uint32_t per_sm, uint64_t ran_ns)
{
	uint64_t n_sms = MIN(s->o.n_sms, shape->total);

	if (ran_ns < UINT64_MAX / CTL_MAX_SMS)
		learn_curve(
			s, shape, per_sm * s->o.n_sms, s->o.n_sms, shape->total, ran_ns * n_sms);
}

void sched_learn_spell(struct sched *s, struct sched_launch *l)
{
	if (!learn_pair(s, l))
		learn_curve(s, &l->shape, l->spell.workers, l->spell.n_sms,
			l->k.finished - l->spell.finished, l->spell.sm_ns);
	l->spell = (struct sched_spell){.finished = l->k.finished};
}

/* Teaches the cost of a preemption: the time until other launches get the SMs, plus the time that
 * the launch needs to return. */
void sched_learn_way_out(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	if (!l->preempt_ns)
		return;
	s->o.model->learn_cost(
		s->model_state, l->k.kernel, now_ns - l->preempt_ns + s->o.resume_ns);
	l->k.cost_ns = s->o.model->cost(s->model_state, l->k.kernel, s->o.cost_ns);
	l->preempt_ns = 0;
}

void sched_learn_end(struct sched *s, struct sched_launch *l, uint64_t undisturbed_ns)
{
	s->o.model->learn(s->model_state, &l->shape, undisturbed_ns ? undisturbed_ns : l->ran_ns,
		!undisturbed_ns);
	if (undisturbed_ns && !l->shared)
		learn_whole(s, &l->shape, l->k.workers_per_sm, undisturbed_ns);
	else
		sched_learn_spell(s, l);
}

void engine_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns)
{
	struct sched_shape shape;

	if (info->total == 0)
		return;
	shape = sched_shape_of(s, info);
	s->o.model->learn(s->model_state, &shape, ran_ns, false);
	learn_whole(s, &shape, sched_workers(&s->o, info), ran_ns);
}
