/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fairness first (FLEP, section 5.2.2): weighted round robin. In each round a tenant with work has
 * the device for an epoch of T x its weight, where T is the smallest value for which
 *
 *     sum of O_i  /  (T x sum of W_i)  <=  max_overhead.
 *
 * W_i is the weight of tenant i. O_i is the time that a time slice of tenant i loses: at least the
 * cost of preempting tenant i's kernel, and at least the time of the change to the next tenant. A
 * time slice also loses time to cold caches. ffs measures that loss at the end of the time slice,
 * as the slice's length minus the predicted time of the work done in it. In the paper each priority
 * has a weight and each program one kernel. Here each tenant has a weight, priorities do not count,
 * and all launches of a tenant share its epoch.
 *
 * Epochs vary in length: begun blocks run to their end, draining takes time, and programs pause
 * between kernels. So ffs keeps a virtual time for each tenant, as in fair queueing (Goyal, Vin and
 * Cheng, 1996): the work done, divided by the weight. The tenant with the least virtual time gets
 * the next time slice. A time slice ends early when another tenant with work is an epoch behind. If
 * all tenants always have work, this gives the paper's rounds. A tenant that returns from a longer
 * absence is at most one epoch behind, because an idle tenant must not save up time. */
#include "base/base.h"
#include "base/map.h"
#include "heddle/policy.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_MIN_NS 100000u /* lower limit of the epoch T */
#define COST_MIN_NS  10000u  /* lower limit of the cost of a preemption */
/* Maximum number of epochs by which a tenant's virtual time can exceed the least one. Otherwise a
 * tenant whose work could not be stopped for long would never get a time slice again. */
#define AHEAD_MAX 64
#define LOST_MAX  4 /* the loss of a turn counts at most this many times its known costs */
#define LOST_PART 8 /* weight of one turn in the mean loss: 1/8 */

struct entry {
	uint32_t tenant, weight;
	uint64_t served_ns, worked_ns; /* service_ns and work_ns at the last decision */
	uint64_t service_ns, work_ns;  /* service_ns and work_ns now */
	uint64_t virtual_ns;           /* charged service, divided by the weight */
	/* The current turn; between turns, the last one. */
	uint64_t turn_ns;       /* total charged time */
	uint64_t turn_pause_ns; /* length of the pauses during which other tenants waited */
	uint64_t turn_time_ns, turn_work_ns, turn_charged_ns;
	uint64_t turn_began_ns, turn_ended_ns; /* turn_ended_ns is valid only between turns */
	bool turn_awaited;                     /* other tenants waited during the whole turn */
	/* moving mean of the loss of a turn; 0: none measured yet */
	uint64_t lost_ns;
	uint64_t cost_ns; /* O_i of the paper */
	bool here;        /* the current view has it */
	bool wants;       /* it has work */
	uint64_t away_ns; /* since when it has had no work; 0: it has work */
	/* it has returned after more than an epoch without work */
	bool is_back;
	/* it has no work now, but is expected to have some soon */
	bool expected;
};

struct ffs {
	VEC(struct entry) row;
	struct hash_map places; /* maps a tenant to the index of its entry in `row` plus one */
	uint32_t current;       /* the tenant whose turn it is, if `row` has it */
	bool waits;          /* `current` had no work at the last decision, and kept the device */
	uint64_t decided_ns; /* when the last decision was made */
};

static struct entry *find_entry(const struct ffs *f, uint32_t tenant)
{
	uintptr_t place = (uintptr_t)hash_map_get(&f->places, tenant);

	return place ? &f->row.at[place - 1] : NULL;
}

static bool set_place(struct ffs *f, uint32_t tenant, size_t place)
{
	return hash_map_put(&f->places, tenant, (void *)(uintptr_t)place);
}

/* Returns the entry that is appended, or NULL if memory is exhausted. */
static struct entry *append_entry(struct ffs *f, const struct entry *fresh)
{
	if (!VEC_PUSH(&f->row, *fresh))
		return NULL;
	if (!set_place(f, fresh->tenant, f->row.len)) {
		f->row.len--;
		return NULL;
	}
	return &f->row.at[f->row.len - 1];
}

/* Appends new tenants to the array, and removes tenants that are gone. */
static bool update_tenants(struct ffs *f, const struct heddle_policy_view *v)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->row.len; i++)
		f->row.at[i].here = false;
	for (uint32_t i = 0; i < v->n_tenants; i++) {
		const struct heddle_policy_tenant *t = heddle_policy_tenant_at(v, i);
		struct entry *e = find_entry(f, t->id);
		struct entry fresh = {.tenant = t->id,
			.served_ns = t->service_ns,
			.worked_ns = t->work_ns,
			.away_ns = 1};

		e = e ? e : append_entry(f, &fresh);
		if (!e)
			return false;
		e->here = true;
		e->wants = e->expected = false;
		e->cost_ns = MAX(COST_MIN_NS, v->change_ns);
		e->weight = MAX(t->weight, 1u);
		e->service_ns = t->service_ns;
		e->work_ns = t->work_ns;
	}
	for (size_t i = 0; i < f->row.len; i++) {
		bool here = f->row.at[i].here;

		if (here)
			f->row.at[kept++] = f->row.at[i];
		if (!here || kept != i + 1) /* cannot fail: the map already has this tenant */
			set_place(f, f->row.at[i].tenant, here ? kept : 0);
	}
	f->row.len = kept;
	return true;
}

static uint32_t owner_of(const struct heddle_policy_view *v, uint32_t i)
{
	return heddle_policy_tenant_at(v, heddle_policy_kernel_at(v, i)->tenant_index)->id;
}

static void update_wants(struct ffs *f, const struct heddle_policy_view *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);
		struct entry *e = find_entry(f, owner_of(v, i));

		if (!e || k->idle)
			continue;
		e->expected |= k->kind == HEDDLE_POLICY_EXPECTED;
		e->wants |= k->kind != HEDDLE_POLICY_EXPECTED;
		e->cost_ns = MAX(e->cost_ns, k->cost_ns);
	}
	for (size_t i = 0; i < f->row.len; i++) {
		struct entry *e = &f->row.at[i];

		e->cost_ns = MAX(e->cost_ns, MIN(e->lost_ns, LOST_MAX * e->cost_ns));
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

static void add_service(struct entry *e, uint64_t ns)
{
	e->turn_ns += ns;
	e->virtual_ns += ns / e->weight;
}

/* Charges a tenant for its work: the predicted time of the blocks that finished in this time slice.
 * So no tenant pays for changes between tenants. Because predictions can be wrong, the charge is at
 * least half of the tenant's time on the device in this slice, and at most all of it. */
static void add_work(struct entry *e)
{
	uint64_t charged;

	e->turn_time_ns += e->service_ns - e->served_ns;
	e->turn_work_ns += e->work_ns - e->worked_ns;
	e->served_ns = e->service_ns;
	e->worked_ns = e->work_ns;
	charged = MAX(MIN(e->turn_work_ns, e->turn_time_ns), e->turn_time_ns / 2);
	add_service(e, charged - e->turn_charged_ns);
	e->turn_charged_ns = charged;
}

/* Begins a time slice. All blocks of the tenant's last time slice have finished by now. So the time
 * that the last slice lost is known now. */
static void begin_turn(struct entry *e, uint64_t now_ns)
{
	uint64_t lasted = e->turn_ended_ns - e->turn_began_ns;
	uint64_t done = e->turn_pause_ns + MIN(e->turn_work_ns, e->turn_time_ns);
	uint64_t lost = lasted - MIN(lasted, done);

	if (e->turn_awaited)
		e->lost_ns =
			e->lost_ns ? e->lost_ns - e->lost_ns / LOST_PART + lost / LOST_PART : lost;
	e->turn_ns = e->turn_pause_ns = 0;
	e->turn_time_ns = e->turn_work_ns = e->turn_charged_ns = 0;
	e->turn_began_ns = now_ns;
	e->turn_awaited = true;
}

/* Charges each tenant for its service since the last decision. */
static void charge_tenants(struct ffs *f, const struct heddle_policy_view *v)
{
	struct entry *now = find_entry(f, f->current);

	/* The tenant paused in its time slice and kept the device, while other tenants waited. The
	 * pause counts as service of the tenant. */
	if (now && f->waits) {
		add_service(now, v->now_ns - f->decided_ns);
		now->turn_pause_ns += v->now_ns - f->decided_ns;
	}
	for (size_t i = 0; i < f->row.len; i++)
		add_work(&f->row.at[i]);
}

/* Returns the tenant with work that has had the least service for its weight (the least virtual
 * time). Of several equal ones, returns the first after `last` in the array, so that time slices
 * rotate. NULL: no tenant has work. */
static struct entry *find_least_served(struct ffs *f, const struct entry *last)
{
	size_t from = last ? (size_t)(last - f->row.at) + 1 : 0;
	struct entry *least = NULL;

	for (size_t i = 0; i < f->row.len; i++) {
		struct entry *e = &f->row.at[(from + i) % f->row.len];

		if (e->wants && (!least || e->virtual_ns < least->virtual_ns))
			least = e;
	}
	return least;
}

static void note_away(struct entry *e, uint64_t now_ns, uint64_t epoch_ns)
{
	e->is_back = e->wants && e->away_ns && now_ns - e->away_ns > epoch_ns;
	if (e->wants)
		e->away_ns = 0;
	else if (!e->away_ns)
		e->away_ns = MAX(now_ns, 1);
}

/* Bounds the virtual times (service divided by weight):
 * - A new tenant, or one that returns from an absence, is at most one epoch behind the others.
 * - No tenant is more than AHEAD_MAX epochs ahead.
 *
 * A pause between two kernels does not count as an absence. Otherwise each pause would cancel the
 * time that the tenant is owed. */
static void bound_virtual_times(struct ffs *f, uint64_t now_ns, uint64_t epoch_ns)
{
	uint64_t there = UINT64_MAX;

	for (size_t i = 0; i < f->row.len; i++) {
		struct entry *e = &f->row.at[i];

		note_away(e, now_ns, epoch_ns);
		if (e->wants && !e->is_back)
			there = MIN(there, e->virtual_ns);
	}
	for (size_t i = 0; i < f->row.len && there != UINT64_MAX; i++) {
		struct entry *e = &f->row.at[i];

		if (e->is_back && e->virtual_ns + epoch_ns < there)
			e->virtual_ns = there - epoch_ns;
		e->virtual_ns = MIN(e->virtual_ns, there + AHEAD_MAX * epoch_ns);
	}
}

/* Returns the remaining time of the turn; 0: the turn is over. */
static uint64_t turn_left(const struct ffs *f, const struct entry *e, uint64_t epoch_ns)
{
	uint64_t all = epoch_ns * e->weight, left = all - MIN(e->turn_ns, all);

	for (size_t i = 0; i < f->row.len; i++) {
		const struct entry *o = &f->row.at[i];
		uint64_t until = o->virtual_ns + epoch_ns;

		if (o != e && o->wants)
			left = MIN(left,
				until > e->virtual_ns ? (until - e->virtual_ns) * e->weight : 0);
	}
	return left;
}

static unsigned count_wanting(const struct ffs *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->row.len; i++)
		n += f->row.at[i].wants;
	return n;
}

static void give_device(const struct heddle_policy_view *v, struct heddle_policy_plan *out,
	const struct entry *to, bool others_wait)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		if (owner_of(v, i) == to->tenant)
			memset(heddle_policy_row(v, out, i), HEDDLE_POLICY_UNBOUNDED,
				v->device->n_sms);
	}
	for (uint32_t i = 0; i < v->n_tenants; i++)
		out->held[i] = others_wait && heddle_policy_tenant_at(v, i)->id != to->tenant;
}

/* Lets every launch use the whole device, as without heddle. */
static void give_device_to_all(const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	memset(out->quota, HEDDLE_POLICY_UNBOUNDED, (size_t)v->n_kernels * v->device->n_sms);
}

static void ffs_decide(
	void *state, const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	struct ffs *f = state;
	struct entry *now;
	uint64_t epoch_ns;
	unsigned wanting;
	bool others;

	if (!update_tenants(f, v)) {
		give_device_to_all(v, out);
		return;
	}
	update_wants(f, v);
	charge_tenants(f, v);
	wanting = count_wanting(f);
	now = find_entry(f, f->current);
	epoch_ns = epoch_of(f, v->device->overhead_permille);
	bound_virtual_times(f, v->now_ns, epoch_ns);
	f->decided_ns = v->now_ns;
	f->waits = false;
	others = wanting > (now && now->wants);
	if (now)
		now->turn_awaited &= others;
	if (!wanting) {
		give_device_to_all(v, out);
		return;
	}
	if (!now || (!now->wants && !now->expected) ||
		(others && turn_left(f, now, epoch_ns) == 0)) {
		if (now)
			now->turn_ended_ns = v->now_ns;
		now = find_least_served(f, now);
		begin_turn(now, v->now_ns);
		others = wanting > 1;
	}
	f->current = now->tenant;
	f->waits = !now->wants;
	give_device(v, out, now, others);
	if (others)
		out->wake_ns = v->now_ns + MAX(turn_left(f, now, epoch_ns), HEDDLE_POLICY_MIN_WAKE);
}

static void *ffs_create(const struct heddle_policy_device *device, const char *options)
{
	(void)device;
	(void)options;
	return calloc(1, sizeof(struct ffs));
}

static void ffs_destroy(void *state)
{
	struct ffs *f = state;

	VEC_FREE(&f->row);
	hash_map_free(&f->places);
	free(f);
}

const struct heddle_policy policy_ffs = {
	.size = sizeof(policy_ffs),
	.abi = HEDDLE_POLICY_ABI,
	.name = "ffs",
	.flags = HEDDLE_POLICY_BY_SHARES | HEDDLE_POLICY_ANY_SPLIT,
	.create = ffs_create,
	.destroy = ffs_destroy,
	.decide = ffs_decide,
};
