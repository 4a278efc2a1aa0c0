/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fairness first (FLEP, section 5.2.2): weighted rounds. In each round a tenant with work has the
 * device for an epoch of T x its weight, where T is the smallest for which
 *
 *	sum of O_i  /  (T x sum of W_i)  <=  max_overhead,
 *
 * O_i being what preempting tenant i's kernel costs. The paper has a weight for each priority and a
 * kernel for each program; here a tenant has a weight of its own, priorities do not count, and all
 * launches of a tenant share its epoch.
 *
 * Epochs do not end on time: a block that was begun is ended, and draining takes its while. So each
 * tenant has a credit, as in deficit round robin (Shreedhar and Varghese, 1995): a turn adds T x W,
 * what it had of the device is taken off, and who overdrew waits a round for each epoch that it is
 * short of. What a tenant does not use of its turn it loses, and so it saves nothing while it has
 * nothing to do. Alone, a tenant has the device without turns. */
#include "policy.h"

#include <limits.h>
#include <stdlib.h>

#define EPOCH_MIN_NS 100000u /* T at least */
#define COST_MIN_NS  10000u  /* what a preemption is taken to cost at least */
#define DEBT_MAX     64      /* epochs: a tenant that cannot be stopped is not barred for good */

struct entry {
	uint32_t tenant, weight;
	uint64_t served_ns; /* of struct sched_share, when it was charged last */
	int64_t credit_ns;
	uint64_t cost_ns; /* of preempting what it has now */
	bool here, wants; /* in this view: it is there; it has something to do */
	bool expected;    /* nothing now, but more is about to come */
	struct sched_share *share;
};

struct ffs {
	VEC(struct entry) row; /* in the order of turns */
	uint32_t current;      /* the tenant whose turn it is; meaningful if it is in the row */
	bool waits; /* that one had nothing to do at the last decision, and kept its turn */
	uint64_t decided_ns; /* when that was */
};

static struct entry *find(struct ffs *f, uint32_t tenant)
{
	for (size_t i = 0; i < f->row.len; i++) {
		if (f->row.at[i].tenant == tenant)
			return &f->row.at[i];
	}
	return NULL;
}

/* The row gets newcomers at its end, and loses who is gone. */
static bool look_at_tenants(struct ffs *f, const struct sched_view *v)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->row.len; i++)
		f->row.at[i].here = false;
	for (size_t i = 0; i < v->n_tenants; i++) {
		struct sched_share *s = v->tenants[i];
		struct entry *e = find(f, s->tenant);
		struct entry fresh = {.tenant = s->tenant, .served_ns = s->service_ns};

		if (!e && !VEC_PUSH(&f->row, fresh))
			return false;
		e = e ? e : &f->row.at[f->row.len - 1];
		e->here = true;
		e->wants = e->expected = false;
		e->cost_ns = COST_MIN_NS;
		e->weight = MAX(s->weight, 1u);
		e->share = s;
	}
	for (size_t i = 0; i < f->row.len; i++) {
		if (f->row.at[i].here)
			f->row.at[kept++] = f->row.at[i];
	}
	f->row.len = kept;
	return true;
}

static void look_at_kernels(struct ffs *f, const struct sched_view *v)
{
	for (size_t i = 0; i < v->len; i++) {
		const struct sched_kernel *k = v->at[i];
		struct entry *e = find(f, k->tenant);

		if (!e || k->turn == SCHED_NO_TURN)
			continue;
		e->expected |= k->kind == SCHED_LINGER;
		e->wants |= k->kind != SCHED_LINGER;
		e->cost_ns = MAX(e->cost_ns, k->cost_ns);
	}
}

static uint64_t epoch_of(const struct ffs *f, uint32_t overhead_permille)
{
	uint64_t cost = 0, weight = 0, per = MAX(overhead_permille, 1u);

	for (size_t i = 0; i < f->row.len; i++) {
		if (!f->row.at[i].wants)
			continue;
		cost += f->row.at[i].cost_ns;
		weight += f->row.at[i].weight;
	}
	return weight ? MAX(cost * 1000 / (per * weight), EPOCH_MIN_NS) : EPOCH_MIN_NS;
}

/* What each has had since the last decision is taken off its credit; nothing of it where nobody
 * else wanted the device. */
static void charge(struct ffs *f, const struct sched_view *v, uint64_t epoch_ns, bool contested)
{
	struct entry *now = find(f, f->current);

	/* A pause in which others waited for it was part of its turn. */
	if (now && f->waits)
		now->credit_ns -= (int64_t)(v->now_ns - f->decided_ns);
	for (size_t i = 0; i < f->row.len; i++) {
		struct entry *e = &f->row.at[i];
		int64_t had =
			(int64_t)MIN(e->share->service_ns - e->served_ns, (uint64_t)INT64_MAX / 2);

		e->served_ns = e->share->service_ns;
		e->credit_ns = contested ? MAX(e->credit_ns - had,
						   -(int64_t)(DEBT_MAX * epoch_ns * e->weight))
					 : 0;
	}
}

static bool has_turn(const struct entry *e)
{
	return e && e->credit_ns > 0 && (e->wants || e->expected);
}

/* The next in the row that wants the device and has credit, each that is passed getting its epoch.
 * One does: somebody wants it. */
static struct entry *next_turn(struct ffs *f, const struct entry *last, uint64_t epoch_ns)
{
	size_t at = last ? (size_t)(last - f->row.at) : f->row.len - 1;

	for (;;) {
		struct entry *e;

		at = (at + 1) % f->row.len;
		e = &f->row.at[at];
		if (!e->wants) {
			e->credit_ns = MIN(e->credit_ns, 0);
			continue;
		}
		e->credit_ns += (int64_t)(epoch_ns * e->weight);
		if (e->credit_ns > 0)
			return e;
	}
}

static unsigned count_wanting(const struct ffs *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->row.len; i++)
		n += f->row.at[i].wants;
	return n;
}

static void give(struct sched_view *v, const struct entry *to, bool others_wait)
{
	for (size_t i = 0; i < v->len; i++) {
		struct sched_kernel *k = v->at[i];

		if (k->tenant == to->tenant || k->turn == SCHED_NO_TURN) {
			k->lane = k->tenant == to->tenant ? 0 : 1;
			k->want_sms = k->tenant == to->tenant ? v->n_sms : 0;
		}
	}
	for (size_t i = 0; i < v->n_tenants; i++)
		v->tenants[i]->held = others_wait && v->tenants[i]->tenant != to->tenant;
}

/* Everybody, as natively. */
static void give_all(struct sched_view *v)
{
	for (size_t i = 0; i < v->len; i++) {
		v->at[i]->lane = 0;
		v->at[i]->want_sms = v->n_sms;
	}
}

static void decide(void *state, struct sched_view *v)
{
	struct ffs *f = state;
	struct entry *now;
	uint64_t epoch_ns;
	unsigned wanting;

	v->hold_below = INT_MIN;
	if (!look_at_tenants(f, v)) {
		give_all(v);
		return;
	}
	look_at_kernels(f, v);
	wanting = count_wanting(f);
	now = find(f, f->current);
	epoch_ns = epoch_of(f, v->overhead_permille);
	charge(f, v, epoch_ns, wanting > 1 || (wanting && now && !now->wants && now->expected));
	f->decided_ns = v->now_ns;
	f->waits = false;
	if (!wanting) {
		give_all(v);
		return;
	}
	if (!has_turn(now))
		now = next_turn(f, now, epoch_ns);
	f->current = now->tenant;
	f->waits = !now->wants;
	give(v, now, wanting > now->wants);
	if (wanting > now->wants)
		v->wake_ns = v->now_ns + (uint64_t)now->credit_ns;
}

static void *create(void)
{
	return calloc(1, sizeof(struct ffs));
}

static void destroy(void *state)
{
	struct ffs *f = state;

	VEC_FREE(&f->row);
	free(f);
}

const struct sched_policy sched_policy_ffs = {
	.name = "ffs", .by_shares = true, .create = create, .destroy = destroy, .decide = decide};
