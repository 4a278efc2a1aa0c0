/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches are the experiments: sizes of a claim that a worker ends within CLAIM_NS are tried one
 * after the other, at one launch each, first of the one form and then of the other, as long as they
 * are not much slower. */
#include "shim/pace.h"

#include "base/base.h"

#define CLAIM_NS 24000 /* what one claim of several blocks may take */
/* So long a block is claimed by itself: that costs less than 2 % of it, and two would double what
 * whoever preempts it has to wait. */
#define BLOCK_NS (CLAIM_NS / 2)
#define PRICE    0.00045 /* of a claim's length, a us: preempting waits for it */
#define HOPELESS 1.25    /* what is so much slower is not tried further */
#define FORGETS  1.02    /* the best seen counts, forgotten slowly */
/* Launches until another size than the best is tried again. */
#define RETRY_EVERY 256
/* After so many, and twice, four times … as many, the form that seemed slower is tried again. */
#define RETRY_FORM 64
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

static double claim_ns(double ns, uint64_t workers, unsigned i)
{
	return ns * (double)workers * (double)(1u << i);
}

/* What a block costs, all told. */
static double cost(const struct pace *p, uint64_t workers, unsigned i)
{
	return p->ns[i] * (1 + PRICE * claim_ns(p->ns[i], workers, i) / 1000);
}

uint32_t pace_chunk(const struct pace *p, uint64_t workers, bool *ret_settled)
{
	double best = best_of(p);
	unsigned tried = 0, at = 0;

	while (tried < PACE_CHUNKS && p->ns[tried] > 0)
		tried++;
	if (claim_ns(p->ns[0], workers, 0) >= BLOCK_NS) {
		*ret_settled = true;
		return 1;
	}
	*ret_settled =
		tried == PACE_CHUNKS || (tried && (claim_ns(best, workers, tried) > CLAIM_NS ||
							  p->ns[tried - 1] > best * HOPELESS));
	if (!*ret_settled)
		return 1u << tried;
	for (unsigned i = 1; i < tried; i++) {
		if (cost(p, workers, i) < cost(p, workers, at))
			at = i;
	}
	if (p->launches % RETRY_EVERY == RETRY_EVERY - 1)
		at = retry(p, at, tried);
	return 1u << at;
}

uint32_t pace_form_retry(const struct pace *first, const struct pace *second)
{
	uint32_t n = first->launches + second->launches;
	bool both = first->ns[0] > 0 && second->ns[0] > 0;

	return both && n >= RETRY_FORM && (n & (n - 1)) == 0 ? n : 0;
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
