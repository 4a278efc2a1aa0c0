/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The default model. For each kernel and shape it keeps a mean duration, which becomes a moving
 * mean after eight launches. For each kernel and block shape it keeps the time of one block, for
 * grids that were never launched before. Both are in one bounded table under different keys. If a
 * set of the table is full, a new entry replaces the least recently used one. Curves of kernels are
 * moving means in a separate table. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#define SETS 1024u
#define WAYS 8u
/* the cost of a preemption is the mean of the last samples, at most this many, as in the paper */
#define SAMPLES       50u
#define LEARN_EIGHTHS 8u
#define CURVES        256u
#define CURVE_MOVING  32u

struct profile_shape {
	uint64_t key, used;
	uint64_t mean_ns; /* of the whole launch; key 0 with mean 0: the entry is free */
	uint32_t n;
};

struct profile_cost {
	uint64_t key, used, sum_ns;
	uint32_t n, next;
	uint32_t ns[SAMPLES];
};

/* The curve of a kernel. A new kernel replaces another one at the same index. n[i] is the number of
 * samples of ns[i]. */
struct profile_curve {
	uint64_t kernel;
	float ns[SCHED_PER_SM];
	uint32_t n[SCHED_PER_SM];
};

struct profile {
	uint64_t clock;
	struct profile_curve curves[CURVES];
	struct pair_ratios pairs;
	struct profile_shape shapes[SETS][WAYS];
	struct profile_cost costs[SETS / 8][WAYS];
};

static void *profile_create(void)
{
	return calloc(1, sizeof(struct profile));
}

static uint64_t key_of(uint64_t kernel, uint64_t total, uint32_t threads, uint32_t shared)
{
	uint64_t parts[4] = {kernel, total, threads, shared};
	uint64_t h = hash_bytes(parts, sizeof(parts), 0x73686170);

	return h ? h : 1;
}

static struct profile_shape *find_shape(struct profile *p, uint64_t key, bool make)
{
	struct profile_shape *set = p->shapes[key % SETS], *oldest = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].key == key) {
			set[i].used = ++p->clock;
			return &set[i];
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	if (!make)
		return NULL;
	*oldest = (struct profile_shape){.key = key, .used = ++p->clock};
	return oldest;
}

static void add_sample(struct profile_shape *s, uint64_t sample)
{
	int64_t away = (int64_t)sample - (int64_t)s->mean_ns;

	if (s->n < LEARN_EIGHTHS)
		s->n++;
	s->mean_ns = (uint64_t)((int64_t)s->mean_ns + away / (int64_t)s->n);
}

/* Returns the time per block in thousandths of a nanosecond, so that short blocks of large grids
 * differ. */
static uint64_t time_per_block(uint64_t ran_ns, uint64_t total)
{
	return ran_ns / total > UINT64_MAX / 2000
		       ? ran_ns / total * 1000
		       : (uint64_t)((double)ran_ns * 1000 / (double)total);
}

static uint64_t profile_predict(void *state, const struct sched_shape *shape)
{
	struct profile *p = state;
	const struct profile_shape *s = find_shape(
		p, key_of(shape->kernel, shape->total, shape->threads, shape->shared_bytes), false);
	double ns;

	if (s)
		return s->mean_ns;
	s = find_shape(p, key_of(shape->kernel, 0, shape->threads, shape->shared_bytes), false);
	if (!s)
		return SCHED_UNKNOWN;
	ns = (double)s->mean_ns * (double)shape->total / 1000;
	return ns < 1e15 ? (uint64_t)ns : (uint64_t)1e15;
}

static void profile_learn(void *state, const struct sched_shape *s, uint64_t ran_ns, bool disturbed)
{
	struct profile *p = state;

	(void)disturbed;
	/* A duration of more than eleven days comes from a wrong clock, so it is ignored. */
	if (s->total == 0 || ran_ns == 0 || ran_ns > (uint64_t)1e15)
		return;
	add_sample(find_shape(p, key_of(s->kernel, s->total, s->threads, s->shared_bytes), true),
		ran_ns);
	add_sample(find_shape(p, key_of(s->kernel, 0, s->threads, s->shared_bytes), true),
		time_per_block(ran_ns, s->total));
}

static struct profile_cost *find_cost(struct profile *p, uint64_t kernel, bool make)
{
	uint64_t key = key_of(kernel, 0, 0, 0);
	struct profile_cost *set = p->costs[key % ARRAY_LEN(p->costs)], *oldest = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].key == key) {
			set[i].used = ++p->clock;
			return &set[i];
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	if (!make)
		return NULL;
	*oldest = (struct profile_cost){.key = key, .used = ++p->clock};
	return oldest;
}

static uint64_t profile_cost(void *state, uint64_t kernel, uint64_t otherwise)
{
	const struct profile_cost *c = find_cost(state, kernel, false);

	return c && c->n ? c->sum_ns / c->n : otherwise;
}

static void profile_learn_cost(void *state, uint64_t kernel, uint64_t cost_ns)
{
	struct profile_cost *c = find_cost(state, kernel, true);
	uint32_t ns = (uint32_t)MIN(cost_ns, UINT32_MAX);

	c->sum_ns += ns;
	c->sum_ns -= c->ns[c->next];
	c->ns[c->next] = ns;
	c->next = (c->next + 1) % SAMPLES;
	if (c->n < SAMPLES)
		c->n++;
}

static void profile_learn_curve(
	void *state, const struct sched_shape *s, uint32_t per_sm, uint64_t blocks, uint64_t sm_ns)
{
	struct profile *p = state;
	struct profile_curve *c = &p->curves[s->kernel % CURVES];

	if (per_sm < 1 || per_sm > SCHED_PER_SM || !blocks || !sm_ns)
		return;
	if (c->kernel != s->kernel)
		*c = (struct profile_curve){.kernel = s->kernel};
	c->n[per_sm - 1] = MIN(c->n[per_sm - 1] + 1, CURVE_MOVING);
	c->ns[per_sm - 1] += ((float)((double)sm_ns / (double)blocks) - c->ns[per_sm - 1]) /
			     (float)c->n[per_sm - 1];
}

static void profile_curve(void *state, uint64_t kernel, float ret_ns[SCHED_PER_SM])
{
	const struct profile *p = state;
	const struct profile_curve *c = &p->curves[kernel % CURVES];

	memset(ret_ns, 0, SCHED_PER_SM * sizeof(*ret_ns));
	if (c->kernel == kernel)
		memcpy(ret_ns, c->ns, sizeof(c->ns));
}

static int profile_pair(void *state, const struct sched_pair *p, float ret_ns[2])
{
	const struct profile *f = state;
	float curve[2][SCHED_PER_SM];

	for (unsigned i = 0; i < 2; i++)
		profile_curve(state, p->kernel[i], curve[i]);
	return pair_ask(&f->pairs, p, curve, ret_ns);
}

static bool profile_learn_pair(
	void *state, const struct sched_pair *p, uint64_t blocks, uint64_t sm_ns)
{
	struct profile *f = state;
	float curve[2][SCHED_PER_SM];

	for (unsigned i = 0; i < 2; i++)
		profile_curve(state, p->kernel[i], curve[i]);
	return pair_teach(&f->pairs, p, curve, blocks, sm_ns);
}

const struct sched_model sched_model_means = {
	.name = "means",
	.create = profile_create,
	.destroy = free,
	.predict = profile_predict,
	.learn = profile_learn,
	.cost = profile_cost,
	.learn_cost = profile_learn_cost,
	.learn_curve = profile_learn_curve,
	.curve = profile_curve,
	.pair = profile_pair,
	.learn_pair = profile_learn_pair,
};
