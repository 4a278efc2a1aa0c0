/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures the two orders of a pair of launches, and tells the older one to leave where that pays.
 */
#include "ages.h"

#include <string.h>

#define SETTLE_NS  1000000u   /* since both have blocks on SMs, before they are measured */
#define WINDOW_NS  4000000u   /* an order is measured for so long, */
#define LONGEST_NS 20000000u  /* or up to this, until each SM has ended a block of both */
#define TRY_NS     20000000.0 /* both must have so much left before an unknown order is tried, */
#define TRY_PART   0.1        /* and leaving must cost no more than this part of it */
#define MARGIN     0.05       /* a difference of rates below this part is none */
#define MOVING     8u
#define SWAPS      2u /* of a pair of launches: there, and back */

/* ---- ages ---- */

static bool is_same(const struct age_launch *a, const struct age_launch *b)
{
	return a->tenant == b->tenant && a->launch == b->launch;
}

static uint64_t age_of(const struct ages *a, const struct age_launch *l)
{
	for (uint32_t i = 0; i < a->len; i++)
		if (a->at[i].tenant == l->tenant && a->at[i].launch == l->launch)
			return a->at[i].seq;
	return 0;
}

/* A launch is as old as its workers: it begins anew whenever it comes again. */
static void note_ages(struct ages *a, const struct age_launch *at, uint32_t n)
{
	struct age next[AGES_LAUNCHES];
	uint32_t len = 0;

	for (uint32_t i = 0; i < n && len < AGES_LAUNCHES; i++) {
		uint64_t seq = age_of(a, &at[i]);

		if (at[i].present && !at[i].leaving)
			next[len++] =
				(struct age){at[i].launch, seq ? seq : ++a->seq, at[i].tenant};
	}
	memcpy(a->at, next, len * sizeof(next[0]));
	a->len = len;
}

/* ---- what is known of two kernels ---- */

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

static void learn(struct age_pair *p, uint32_t older, double rate)
{
	p->n[older] = MIN(p->n[older] + 1, MOVING);
	p->rate[older] += (rate - p->rate[older]) / p->n[older];
}

/* ---- two launches ---- */

static void begin_pair(struct ages *a, const struct age_launch *const l[2])
{
	a->from[0] = *l[0];
	a->from[1] = *l[1];
	a->from_ns = a->settled_ns = 0;
	a->swaps = 0;
	a->measured = a->leaves = false;
}

static bool is_steering(const struct age_launch *at, uint32_t n)
{
	return n == 2 && at[0].code != at[1].code && !at[0].steady && !at[1].steady &&
	       at[0].alone_ns > 0 && at[1].alone_ns > 0;
}

/* At least half of the blocks that it may have are on SMs. One that waits for room, or came beside
 * another with a few of them only, says nothing of an order. */
static bool is_there(const struct age_launch *l, uint32_t n_sms)
{
	uint64_t on = l->started - MIN(l->finished, l->started);
	uint64_t may = MIN((uint64_t)l->count * n_sms, l->blocks - MIN(l->finished, l->blocks));

	return l->present && !l->leaving && 2 * on >= MAX(may, 1u);
}

/* The part of its blocks that it has ended since measuring began. */
static double part_done(const struct ages *a, const struct age_launch *const l[2], uint32_t i)
{
	return (double)(l[i]->finished - a->from[i].finished) / (double)MAX(l[i]->blocks, 1u);
}

static void wake_at(uint64_t *io_wake_ns, uint64_t ns)
{
	*io_wake_ns = MIN(*io_wake_ns, ns);
}

/* Measuring begins, again if a count has changed, once the launches have settled. */
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

/* The order of now, once for these two launches. */
static void measure(struct ages *a, struct age_pair *p, uint64_t now_ns, uint32_t n_sms,
	const struct age_launch *const l[2], uint32_t older, uint64_t *io_wake_ns)
{
	uint64_t since = now_ns - a->from_ns;
	double rate = 0;
	bool few = false, changed = a->from_ns == 0;

	if (a->measured)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		changed |= l[i]->count != a->from[i].count;
		few |= l[i]->finished < a->from[i].finished + n_sms;
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
	learn(p, older, rate / (double)since);
	a->measured = true;
}

/* Until the first of both ends, if they go on as now. */
static double both_ns(const struct ages *a, uint64_t now_ns, const struct age_launch *const l[2])
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

/* Whether the other order is worth it that the older one leaves. */
static bool is_worth(const struct age_pair *p, uint32_t older, double both, double cost_ns)
{
	double now = p->rate[older], other = p->rate[!older];

	if (!p->n[older])
		return false;
	if (!p->n[!older])
		return both >= TRY_NS && cost_ns <= both * TRY_PART;
	return other > now * (1 + MARGIN) && both * (1 - now / other) > 2 * cost_ns;
}

uint32_t ages_decide(struct ages *a, uint64_t now_ns, uint32_t n_sms, const struct age_launch *at,
	uint32_t n, uint64_t *io_wake_ns)
{
	const struct age_launch *l[2];
	struct age_pair *p;
	uint32_t older, swap;

	note_ages(a, at, n);
	if (!is_steering(at, n)) {
		memset(a->from, 0, sizeof(a->from));
		a->from_ns = a->settled_ns = 0;
		a->leaves = false;
		return AGES_NOBODY;
	}
	swap = at[0].code > at[1].code;
	l[0] = &at[swap];
	l[1] = &at[!swap];
	if (!is_same(l[0], &a->from[0]) || !is_same(l[1], &a->from[1]))
		begin_pair(a, l);
	if (a->leaves) {
		const struct age_launch *leaver = l[a->leaver];

		if (leaver->present || leaver->leaving)
			return a->leaver ^ swap;
		a->leaves = a->measured = false;
		a->from_ns = a->settled_ns = 0;
	}
	if (!is_there(l[0], n_sms) || !is_there(l[1], n_sms)) {
		a->from_ns = a->settled_ns = 0;
		if (MIN(l[0]->left_ns, l[1]->left_ns) >= TRY_NS)
			wake_at(io_wake_ns, now_ns + SETTLE_NS);
		return AGES_NOBODY;
	}
	older = age_of(a, l[0]) > age_of(a, l[1]);
	p = find_pair(a, l[0]->code, l[1]->code);
	if (a->from_ns || MIN(l[0]->left_ns, l[1]->left_ns) >= TRY_NS)
		measure(a, p, now_ns, n_sms, l, older, io_wake_ns);
	if (a->swaps >= SWAPS || !is_worth(p, older, both_ns(a, now_ns, l), l[older]->cost_ns))
		return AGES_NOBODY;
	a->swaps++;
	a->leaves = true;
	a->leaver = older;
	return older ^ swap;
}

uint32_t ages_count(const struct ages *a, uint32_t tenant, uint64_t launch)
{
	for (uint32_t i = 0; i < 2 && (a->leaves || (a->settled_ns && !a->measured)); i++)
		if (a->from[i].tenant == tenant && a->from[i].launch == launch)
			return a->from[i].count;
	return 0;
}
