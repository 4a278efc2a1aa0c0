/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures a pair of launches in both orders of their ages (ages.h). Makes the older launch leave,
 * or the younger one wait, if that saves time. */
#include "ages.h"

#include <string.h>

/* delay between the time when both launches have blocks on SMs and the start of measuring */
#define SETTLE_NS 1000000u
#define WINDOW_NS 4000000u /* minimum length of a measurement */
/* maximum length of a measurement; it ends earlier once each SM has ended a block of both
 * launches */
#define LONGEST_NS 20000000u
/* time after which a launch that has got no SM is assumed to get none in this order of ages */
#define LATE_NS 5000000u
#define LOOK_NS 200000u /* interval between checks for such a launch */
/* minimum remaining time of both launches for which an unmeasured order is tried */
#define TRY_NS   20000000.0
#define TRY_PART 0.1  /* to try it, leaving may cost at most this part of the remaining time */
#define MARGIN   0.05 /* relative differences of rates below this are ignored */
#define MOVING   8u
/* number of times that a launch of a pair leaves, so both orders are measured */
#define SWAPS 2u
#define ANEW  32u /* after this many waits, both orders are measured again */

/* ---- ages ---- */

static bool is_same(const struct age_launch *a, const struct age_launch *b)
{
	return a->tenant == b->tenant && a->launch == b->launch;
}

static const struct age *find_age(const struct ages *a, const struct age_launch *l)
{
	for (uint32_t i = 0; i < a->len; i++)
		if (a->at[i].tenant == l->tenant && a->at[i].launch == l->launch)
			return &a->at[i];
	return NULL;
}

/* A launch without SMs counts as younger than all others. */
static uint64_t age_of(const struct ages *a, const struct age_launch *l)
{
	const struct age *age = find_age(a, l);

	return age ? age->seq : UINT64_MAX;
}

/* Updates the ages of launches. A launch is as old as its workers, so its age begins anew when the
 * launch returns after it left. */
static void note_ages(struct ages *a, const struct age_launch *at, uint32_t n)
{
	struct age next[AGES_LAUNCHES];
	uint32_t len = 0;

	for (uint32_t i = 0; i < n && len < AGES_LAUNCHES; i++) {
		const struct age *age = find_age(a, &at[i]);

		if (at[i].present && !at[i].leaving)
			next[len++] =
				(struct age){at[i].launch, age ? age->seq : ++a->seq, at[i].tenant};
	}
	memcpy(a->at, next, len * sizeof(next[0]));
	a->len = len;
}

/* ---- measured rates of pairs of kernels ---- */

static struct age_pair *find_pair(struct ages *a, uint64_t first, uint64_t second)
{
	struct age_pair *oldest = a->pairs;

	for (uint32_t i = 0; i < AGES_PAIRS; i++) {
		struct age_pair *p = &a->pairs[i];

		if (p->used && p->code[0] == first && p->code[1] == second) {
			p->used = ++a->used;
			return p;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	*oldest = (struct age_pair){.code = {first, second}, .used = ++a->used};
	return oldest;
}

static void learn_rate(struct age_pair *p, uint32_t older, bool swapped, double rate)
{
	uint32_t *n = &p->n[older][swapped];

	*n = MIN(*n + 1, MOVING);
	p->rate[older][swapped] += (rate - p->rate[older][swapped]) / *n;
}

/* Returns the rate of the order in which launch `older` is the older one, preferably as measured
 * after a swap of the two launches; a negative value if the rate is not known. */
static double swapped_rate(const struct age_pair *p, uint32_t older)
{
	return p->n[older][1] ? p->rate[older][1] : p->n[older][0] ? p->rate[older][0] : -1;
}

/* ---- two launches ---- */

static void begin_pair(struct ages *a, const struct age_launch *const l[2])
{
	a->from[0] = *l[0];
	a->from[1] = *l[1];
	a->from_ns = a->settled_ns = a->late_ns = 0;
	a->swaps = 0;
	a->measured = a->leaves = a->waits = false;
}

static bool is_steering(const struct age_launch *at, uint32_t n)
{
	return n == 2 && at[0].code != at[1].code && !at[0].steady && !at[1].steady &&
	       at[0].alone_ns > 0 && at[1].alone_ns > 0;
}

/* Returns whether at least half of the blocks that the launch may have at a time are on SMs. */
static bool is_on_sms(const struct age_launch *l, uint32_t n_sms)
{
	uint64_t on = l->started - MIN(l->finished, l->started);
	uint64_t may = MIN((uint64_t)l->count * n_sms, l->blocks - MIN(l->finished, l->blocks));

	return l->present && !l->leaving && 2 * on >= MAX(may, 1u);
}

/* Returns the fraction of launch i's blocks that have ended since the measurement began. */
static double part_done(const struct ages *a, const struct age_launch *const l[2], uint32_t i)
{
	return (double)(l[i]->finished - a->from[i].finished) / (double)MAX(l[i]->blocks, 1u);
}

static void wake_at(uint64_t *io_wake_ns, uint64_t ns)
{
	*io_wake_ns = MIN(*io_wake_ns, ns);
}

/* Begins a measurement of the pair when both launches have run undisturbed for a while. Begins the
 * measurement again if a launch's count of blocks on an SM has changed. */
static void begin_measuring(
	struct ages *a, uint64_t now_ns, const struct age_launch *const l[2], uint64_t *io_wake_ns)
{
	bool same =
		a->settled_ns && l[0]->count == a->from[0].count && l[1]->count == a->from[1].count;

	a->from[0] = *l[0];
	a->from[1] = *l[1];
	if (!same)
		a->settled_ns = now_ns + SETTLE_NS;
	a->from_ns = now_ns >= a->settled_ns ? now_ns : 0;
	wake_at(io_wake_ns, a->from_ns ? now_ns + WINDOW_NS : a->settled_ns);
}

/* Measures the present order, once for these two launches. `late` is true if one of the launches is
 * still not on its SMs after LATE_NS. */
static void measure_order(struct ages *a, struct age_pair *p, uint64_t now_ns, uint32_t n_sms,
	const struct age_launch *const l[2], uint32_t older, bool late, uint64_t *io_wake_ns)
{
	uint64_t since = now_ns - a->from_ns;
	double rate = 0;
	bool few = false, changed = a->from_ns == 0;

	if (a->measured)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		changed |= l[i]->count != a->from[i].count;
		few |= !late && l[i]->finished < a->from[i].finished + n_sms;
		rate += part_done(a, l, i) * l[i]->alone_ns;
	}
	if (changed) {
		begin_measuring(a, now_ns, l, io_wake_ns);
		return;
	}
	if (since < WINDOW_NS || (few && since < LONGEST_NS)) {
		wake_at(io_wake_ns,
			since < WINDOW_NS ? a->from_ns + WINDOW_NS : now_ns + WINDOW_NS / 2);
		return;
	}
	learn_rate(p, older, a->swaps > 0, rate / (double)since);
	a->measured = true;
}

/* Returns the time until the first of the two launches ends, at their present pace. */
static double time_until_end(
	const struct ages *a, uint64_t now_ns, const struct age_launch *const l[2])
{
	double ns = MIN(l[0]->left_ns, l[1]->left_ns);

	for (uint32_t i = 0; i < 2 && a->measured; i++) {
		double part = part_done(a, l, i);
		double left = 1 - (double)l[i]->finished / (double)MAX(l[i]->blocks, 1u);

		if (part > 0)
			ns = MIN(ns, left / part * (double)(now_ns - a->from_ns));
	}
	return ns;
}

static void forget_rates(struct age_pair *p)
{
	p->apart = 0;
	memset(p->n, 0, sizeof(p->n));
}

enum way { AS_NOW, OTHER_ORDER, APART };

/* Returns the time that a better rate saves until the first of the two launches ends, minus the
 * cost of the swaps. */
static double compute_saving(double both, double now, double rate, double cost_ns)
{
	return rate > now * (1 + MARGIN) ? both * (1 - now / rate) - cost_ns : 0;
}

/* Chooses the alternative that saves most time until the first launch ends: the present order, the
 * other order, or one launch after the other. If a launch has to leave to change the order, the
 * cost counts twice: for leaving and for returning.
 *
 * After two swaps, in which each launch leaves once, the order is the present one again. The
 * younger launch has then got its place on empty SMs. That may be faster than both orders without
 * swaps, so it is an alternative, too. */
static enum way best_way(const struct ages *a, const struct age_pair *p,
	const struct age_launch *const l[2], uint32_t older, double both)
{
	bool swapped = a->swaps > 0, can_change = a->swaps < SWAPS;
	double now = p->rate[older][swapped], other = swapped_rate(p, !older);
	double saved = 0, apart = 0;
	double cost_ns = l[older]->cost_ns, wait_ns = l[!older]->present ? l[!older]->cost_ns : 0;

	if (!p->n[older][swapped])
		return AS_NOW;
	if (can_change && other < 0 && both >= TRY_NS && cost_ns <= both * TRY_PART)
		return OTHER_ORDER;
	if (can_change)
		saved = compute_saving(both, now, other, 2 * cost_ns);
	if (!swapped && p->n[older][1])
		saved = MAX(saved, compute_saving(both, now, p->rate[older][1],
					   2 * (cost_ns + l[!older]->cost_ns)));
	apart = compute_saving(both, now, 1, 2 * wait_ns);
	if (saved <= 0 && apart <= 0)
		return AS_NOW;
	return saved >= apart ? OTHER_ORDER : APART;
}

/* Returns true if a launch is not on its SMs yet, and LATE_NS has not passed. */
static bool is_arrival_pending(
	struct ages *a, uint64_t now_ns, const struct age_launch *const l[2], uint64_t *io_wake_ns)
{
	if (!a->late_ns)
		a->late_ns = now_ns + LATE_NS;
	if (now_ns >= a->late_ns && (l[0]->present || l[1]->present))
		return false;
	a->from_ns = a->settled_ns = 0;
	wake_at(io_wake_ns, now_ns + SETTLE_NS);
	return true;
}

/* Call this after the launch that had to leave has left. That launch must return as soon as the
 * other launch is on its SMs. Returns true while the return has to wait: the other launch is not on
 * its SMs yet, and LATE_NS has not passed. An SM changes its division of memory only when it has no
 * block, so the launch whose blocks come first, even by microseconds, decides the division. */
static bool is_return_pending(struct ages *a, uint64_t now_ns, uint32_t n_sms,
	const struct age_launch *other, uint64_t *io_wake_ns)
{
	if (!a->late_ns)
		a->late_ns = now_ns + LATE_NS;
	if (is_on_sms(other, n_sms) || now_ns >= a->late_ns)
		return false;
	wake_at(io_wake_ns, MIN(a->late_ns, now_ns + LOOK_NS));
	return true;
}

/* Returns the index in l of the launch that gets no SM, or AGES_NOBODY. */
static uint32_t choose_way_for_pair(struct ages *a, uint64_t now_ns, uint32_t n_sms,
	const struct age_launch *const l[2], uint64_t *io_wake_ns)
{
	struct age_pair *p = find_pair(a, l[0]->code, l[1]->code);
	uint32_t older = age_of(a, l[0]) > age_of(a, l[1]);
	bool there = is_on_sms(l[0], n_sms) && is_on_sms(l[1], n_sms);
	bool long_enough = a->from_ns || MIN(l[0]->left_ns, l[1]->left_ns) >= TRY_NS;
	enum way way;

	if (there)
		a->late_ns = 0;
	if (long_enough && (there || !is_arrival_pending(a, now_ns, l, io_wake_ns)))
		measure_order(a, p, now_ns, n_sms, l, older, !there, io_wake_ns);
	way = best_way(a, p, l, older, time_until_end(a, now_ns, l));
	if (way == AS_NOW)
		return AGES_NOBODY;
	a->leaves = true;
	a->late_ns = 0;
	a->waits = way == APART;
	a->leaver = a->waits ? !older : older;
	a->swaps += !a->waits;
	if (a->waits && ++p->apart > ANEW)
		forget_rates(p);
	return a->leaver;
}

uint32_t ages_decide(struct ages *a, uint64_t now_ns, uint32_t n_sms, const struct age_launch *at,
	uint32_t n, uint64_t *io_wake_ns)
{
	const struct age_launch *l[2];
	uint32_t swap, leaver;

	note_ages(a, at, n);
	if (!is_steering(at, n)) {
		memset(a->from, 0, sizeof(a->from));
		a->from_ns = a->settled_ns = a->late_ns = 0;
		a->leaves = false;
		return AGES_NOBODY;
	}
	swap = at[0].code > at[1].code;
	l[0] = &at[swap];
	l[1] = &at[!swap];
	if (!is_same(l[0], &a->from[0]) || !is_same(l[1], &a->from[1]))
		begin_pair(a, l);
	if (a->leaves) {
		if (a->waits || l[a->leaver]->present || l[a->leaver]->leaving)
			return a->leaver ^ swap;
		if (is_return_pending(a, now_ns, n_sms, l[!a->leaver], io_wake_ns))
			return a->leaver ^ swap;
		a->leaves = a->measured = false;
		a->from_ns = a->settled_ns = a->late_ns = 0;
	}
	leaver = choose_way_for_pair(a, now_ns, n_sms, l, io_wake_ns);
	return leaver == AGES_NOBODY ? AGES_NOBODY : leaver ^ swap;
}

bool ages_knows(const struct ages *a, uint64_t code, uint64_t other)
{
	for (uint32_t i = 0; i < AGES_PAIRS; i++) {
		const struct age_pair *p = &a->pairs[i];

		if (p->used && p->code[0] == MIN(code, other) && p->code[1] == MAX(code, other))
			return p->n[0][0] || p->n[0][1] || p->n[1][0] || p->n[1][1];
	}
	return false;
}

uint32_t ages_count(const struct ages *a, uint32_t tenant, uint64_t launch)
{
	for (uint32_t i = 0; i < 2 && (a->leaves || (a->settled_ns && !a->measured)); i++)
		if (a->from[i].tenant == tenant && a->from[i].launch == launch)
			return a->from[i].count;
	return 0;
}
