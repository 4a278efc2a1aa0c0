/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches are the experiments: sizes of a claim that keep a worker under LATENCY_NS are tried one
 * after the other, at one launch each, first of the one form and then of the other. Whatever is not
 * faster than what is known stops its line of tries. */
#include "shim/pace.h"

#include "base/base.h"

#define LATENCY_NS 30000 /* what one claim of a worker may take */
#define WORTH      1.01  /* how much slower the smaller claim may be: it is the quicker to leave */
#define HOPELESS   1.25  /* a form so much slower is not tried further */
#define FORGETS    1.02  /* the best seen counts, forgotten slowly */
/* Launches until another size than the best is tried again. */
#define RETRY_EVERY 64
/* Launches of a kernel that was too short until it is measured again; doubles each time. */
#define REMEASURE_MIN 64
#define REMEASURE_MAX 8192

bool pace_is_short(const struct pace *p, uint64_t total, uint64_t min_ns)
{
	return p->total_seen &&
	       (double)p->grid_ns * (double)total / (double)p->total_seen < (double)min_ns;
}

bool pace_remeasures(struct pace *p)
{
	return p->skipped++ >= MAX(p->patience, REMEASURE_MIN);
}

void pace_learn_spell(struct pace *p, uint32_t chunk, uint64_t took_ns, uint64_t ran)
{
	unsigned i = (unsigned)__builtin_ctz(chunk);
	double ns = (double)took_ns / (double)ran;

	p->launches++;
	if (i < PACE_CHUNKS)
		p->ns[i] = p->ns[i] > 0 ? MIN(ns, p->ns[i] * FORGETS) : ns;
}

void pace_learn(struct pace *p, uint32_t chunk, uint64_t took_ns, uint64_t total, uint64_t min_ns)
{
	p->grid_ns = took_ns;
	p->total_seen = total;
	pace_learn_spell(p, chunk, took_ns, total);
	p->skipped = 0;
	if (pace_is_short(p, total, min_ns))
		p->patience = MIN(MAX(p->patience * 2, REMEASURE_MIN), REMEASURE_MAX);
	else
		p->patience = 0;
}

static double best_of(const struct pace *p)
{
	double best = p->ns[0];

	for (unsigned i = 1; i < PACE_CHUNKS && p->ns[i] > 0; i++)
		best = MIN(best, p->ns[i]);
	return best;
}

/* A neighbour of the best size, whose one try something may have disturbed. */
static unsigned retry(const struct pace *p, unsigned best, unsigned tried)
{
	bool up = p->launches / RETRY_EVERY % 2;

	return up && best + 1 < tried ? best + 1 : !up && best > 0 ? best - 1 : best;
}

uint32_t pace_chunk(const struct pace *p, uint64_t workers, bool *ret_settled)
{
	double best = best_of(p);
	unsigned tried = 0, i = 0;

	while (tried < PACE_CHUNKS && p->ns[tried] > 0)
		tried++;
	*ret_settled = tried == PACE_CHUNKS ||
		       (tried && best * (double)workers * (double)(1u << tried) > LATENCY_NS);
	if (!*ret_settled)
		return 1u << tried;
	while (p->ns[i] > best * WORTH)
		i++;
	if (p->launches % RETRY_EVERY == RETRY_EVERY - 1)
		i = retry(p, i, tried);
	return 1u << i;
}

bool pace_prefers_second(const struct pace *first, uint64_t first_workers,
	const struct pace *second, uint64_t second_workers)
{
	double one = best_of(first), two = best_of(second);
	bool settled;

	pace_chunk(first, first_workers, &settled);
	if (!settled)
		return false;
	if (second->ns[0] > first->ns[0] * HOPELESS)
		return false;
	pace_chunk(second, second_workers, &settled);
	return !settled || two < one;
}
