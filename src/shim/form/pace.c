/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the best claim size (the number of blocks that a worker claims at once). Each launch that
 * runs undisturbed measures one size:
 * - The first launch uses one block per claim. Its result shows how many blocks a worker completes
 *   within the target time.
 * - The next launch uses that number as its claim size.
 * - Then the next smaller and next larger sizes are measured, until the best size has slower ones
 *   on both sides.
 *
 * After that the kernel's second form is measured, starting from the first form's best size. With
 * one block per claim, the cost of claiming would distort the comparison of the two forms. */
#include "shim/form/pace.h"

#include "base/base.h"

#include <math.h>

#define TARGET_NS 24000
/* If a block takes more than this fraction of the target time, a worker claims one block at a time.
 * The cost of claiming is then less than 2 % of the block's time, while claims of two blocks would
 * double the time that a preempting tenant waits. */
#define ALONE 0.5
/* A claim of several blocks must take at most this part of the target time, because blocks differ
 * in length. STRETCH_NS is the exception. */
#define MARGIN 0.85
/* Exception to MARGIN: the next size after the best one may take up to STRETCH_NS longer than the
 * target time, if its blocks are cheaper than those of the best size by the fraction WORTH. For
 * example, the kernel pf takes 7.9 % more time than its original in claims of 13 us, and 4.9 % more
 * in claims of 26 us. */
#define STRETCH_NS 2500
#define WORTH      0.02
/* The penalty for making a preempting tenant wait. It makes large claims count as slower. If a
 * claim takes the whole target time, each of its blocks counts as taking longer by this fraction.
 * For a shorter claim the fraction is smaller in proportion. */
#define PRICE 0.0108
/* the second form gets no more trials if it is slower than the first by this factor */
#define HOPELESS 1.25
#define FORGETS  1.02 /* at each measurement, the shortest time so far first grows by this factor */
/* After this many launches, a claim size other than the best is tried again. */
#define RETRY_EVERY 256
/* The number of launches after which the form that seemed slower is tried again. The number doubles
 * with each retry. */
#define RETRY_FORM 64
/* The number of launches after which a kernel that is too short to manage is measured again. It
 * starts at REMEASURE_MIN and doubles each time up to REMEASURE_MAX. */
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

static bool is_tried(const struct pace *p, unsigned i)
{
	return p->ns[i] > 0;
}

/* Returns the index of the smallest size that was tried, or PACE_CHUNKS if none was. */
static unsigned least_tried(const struct pace *p)
{
	unsigned i = 0;

	while (i < PACE_CHUNKS && !is_tried(p, i))
		i++;
	return i;
}

static double best_of(const struct pace *p)
{
	double best = INFINITY;

	for (unsigned i = 0; i < PACE_CHUNKS; i++) {
		if (is_tried(p, i))
			best = MIN(best, p->ns[i]);
	}
	return best;
}

static double claim_ns(double ns, uint64_t workers, unsigned i)
{
	return ns * (double)workers * (double)(1u << i);
}

/* Returns the cost of a block with size i: its time, plus the penalty for the time that a
 * preempting tenant waits for such a claim. */
static double cost_of_size(const struct pace *p, uint64_t workers, double target, unsigned i)
{
	return p->ns[i] * (1 + PRICE * claim_ns(p->ns[i], workers, i) / target);
}

static bool size_fits(double ns, uint64_t workers, double target, unsigned i)
{
	return claim_ns(ns, workers, i) <= target * MARGIN;
}

/* Returns false if size i would be too long even with the best possible result of a trial. */
static bool may_fit(double ns, uint64_t workers, double target, unsigned i)
{
	return size_fits(ns, workers, target, i) ||
	       claim_ns(ns * (1 - WORTH), workers, i) <= target + STRETCH_NS;
}

/* Returns the best claim size among those that were measured and are within the target time. If
 * none is, returns the smallest size that was measured. The next larger size may exceed the target
 * time a little if it is clearly faster (STRETCH_NS, WORTH). */
static unsigned best_at(const struct pace *p, uint64_t workers, double target)
{
	unsigned at = least_tried(p);

	for (unsigned i = at + 1; i < PACE_CHUNKS; i++) {
		if (is_tried(p, i) && size_fits(p->ns[i], workers, target, i) &&
			cost_of_size(p, workers, target, i) < cost_of_size(p, workers, target, at))
			at = i;
	}
	if (at + 1 < PACE_CHUNKS && is_tried(p, at + 1) &&
		claim_ns(p->ns[at + 1], workers, at + 1) <= target + STRETCH_NS &&
		cost_of_size(p, workers, target, at + 1) <
			cost_of_size(p, workers, target, at) * (1 - WORTH))
		at++;
	return at;
}

/* Returns the largest claim size within the target time, estimated from claims of single blocks. */
static unsigned largest_size(const struct pace *p, uint64_t workers, double target)
{
	unsigned i = 0;

	while (i + 1 < PACE_CHUNKS && size_fits(p->ns[0], workers, target, i + 1))
		i++;
	return i;
}

static bool only_single(const struct pace *p)
{
	for (unsigned i = 1; i < PACE_CHUNKS; i++) {
		if (is_tried(p, i))
			return false;
	}
	return is_tried(p, 0);
}

/* Returns the claim size to measure next if `at` is the best so far, or PACE_CHUNKS if there is
 * none. */
static unsigned to_try(const struct pace *p, uint64_t workers, double target, unsigned at)
{
	unsigned jump = largest_size(p, workers, target);

	if (jump > 0 && only_single(p))
		return jump;
	if (at + 1 < PACE_CHUNKS && !is_tried(p, at + 1) &&
		may_fit(p->ns[at], workers, target, at + 1))
		return at + 1;
	return at > 0 && !is_tried(p, at - 1) ? at - 1 : PACE_CHUNKS;
}

/* Returns a neighbour of the best size to measure again, because its only measurement may have been
 * disturbed: by turns the next larger and the next smaller size. Returns the best size itself if
 * that neighbour was never measured. */
static unsigned size_to_retry(const struct pace *p, unsigned best)
{
	bool up = p->launches / RETRY_EVERY % 2;

	if (up)
		return best + 1 < PACE_CHUNKS && is_tried(p, best + 1) ? best + 1 : best;
	return best > 0 && is_tried(p, best - 1) ? best - 1 : best;
}

uint32_t pace_chunk(const struct pace *p, uint64_t workers, uint64_t target_ns, bool *ret_settled)
{
	double target = (double)(target_ns ? target_ns : TARGET_NS);
	unsigned at, next;

	*ret_settled = is_tried(p, 0) && claim_ns(p->ns[0], workers, 0) >= target * ALONE;
	if (*ret_settled)
		return 1;
	if (least_tried(p) == PACE_CHUNKS)
		return 1u << p->begins;
	at = best_at(p, workers, target);
	next = to_try(p, workers, target, at);
	*ret_settled = next == PACE_CHUNKS;
	if (!*ret_settled)
		return 1u << next;
	if (p->launches % RETRY_EVERY == RETRY_EVERY - 1)
		at = size_to_retry(p, at);
	return 1u << at;
}

uint32_t pace_form_retry(const struct pace *first, const struct pace *second)
{
	uint32_t n = first->launches + second->launches;
	bool both = least_tried(first) < PACE_CHUNKS && least_tried(second) < PACE_CHUNKS;

	return both && n >= RETRY_FORM && (n & (n - 1)) == 0 ? n : 0;
}

void pace_begin_second(struct pace *second, uint64_t second_workers, const struct pace *first,
	uint64_t first_workers, uint64_t target_ns)
{
	double target = (double)(target_ns ? target_ns : TARGET_NS);
	unsigned i = best_at(first, first_workers, target);
	double ns = i < PACE_CHUNKS ? first->ns[i] : 0;

	if (i == PACE_CHUNKS)
		return;
	while (i > 0 && claim_ns(ns, second_workers, i) > target + STRETCH_NS)
		i--;
	second->begins = i;
}

/* Returns true if the second form need not be tried further: at some claim size that was measured
 * with both forms, it is so much slower that no other size can make up for it. */
static bool is_hopeless(const struct pace *first, const struct pace *second)
{
	for (unsigned i = 0; i < PACE_CHUNKS; i++) {
		if (is_tried(first, i) && second->ns[i] > first->ns[i] * HOPELESS)
			return true;
	}
	return false;
}

bool pace_prefers_second(const struct pace *first, uint64_t first_workers,
	const struct pace *second, uint64_t second_workers, uint64_t target_ns)
{
	double one = best_of(first), two = best_of(second);
	bool settled;

	pace_chunk(first, first_workers, target_ns, &settled);
	if (!settled)
		return false;
	if (is_hopeless(first, second))
		return false;
	pace_chunk(second, second_workers, target_ns, &settled);
	return !settled || two < one;
}
