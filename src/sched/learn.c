/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Teaches the model of durations: how long launches ran, how long preempting them took, and how
 * fast blocks finish, by how many share an SM. */
#include "engine.h"

#include <string.h>

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

/* workers: that these SMs hold. */
static void learn_curve(struct sched *s, const struct sched_shape *shape, uint32_t workers,
	uint32_t n_sms, uint64_t blocks, uint64_t sm_ns)
{
	uint64_t per_sm;

	if (!s->o.model->learn_curve || !n_sms || !workers || !blocks || !sm_ns)
		return;
	per_sm = MIN((workers + n_sms - 1) / n_sms, (shape->total + n_sms - 1) / n_sms);
	s->o.model->learn_curve(
		s->model_state, shape, (uint32_t)MIN(per_sm, SCHED_PER_SM), blocks, sm_ns);
}

/* A launch that had the whole device from its start to its end. */
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
	learn_curve(s, &l->shape, l->spell.workers, l->spell.n_sms,
		l->k.finished - l->spell.finished, l->spell.sm_ns);
	l->spell = (struct sched_spell){.finished = l->k.finished};
}

/* What others wait for when they are given its SMs, and what it takes to be back on them. */
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
	if (undisturbed_ns)
		learn_whole(s, &l->shape, l->k.workers_per_sm, undisturbed_ns);
	else
		sched_learn_spell(s, l);
}

void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns)
{
	struct sched_shape shape;

	if (info->total == 0)
		return;
	shape = sched_shape_of(s, info);
	s->o.model->learn(s->model_state, &shape, ran_ns, false);
	learn_whole(s, &shape, sched_workers(&s->o, info), ran_ns);
}
