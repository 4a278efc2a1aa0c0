/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The library of heddle/policy_lanes.h: lists the kernels of a view, and assigns SMs to the
 * lanes into which the policy has put them. */
#include "lanes_inside.h"

#include <stdlib.h>
#include <string.h>

#define ROW_ONES      0x0101010101010101ull
#define ROWS_BY_WORDS (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Writes quotas: no bound on the SMs of the set, 0 on all others. */
static void sms_write(const struct sm_set *s, uint32_t n_sms, uint8_t *row)
{
	uint32_t sm = 0;

	/* Puts bit i of eight into byte i, then makes each byte that is not 0 all ones. */
	for (; sm + 8 <= n_sms && ROWS_BY_WORDS; sm += 8) {
		uint64_t eight = s->w[sm / 64] >> sm % 64 & 0xff;
		uint64_t bit = eight * ROW_ONES & 0x8040201008040201ull;
		uint64_t word = ((bit + 0x7f * ROW_ONES) >> 7 & ROW_ONES) * 0xff;

		memcpy(row + sm, &word, 8);
	}
	for (; sm < n_sms; sm++)
		row[sm] = sms_has(s, sm) ? HEDDLE_POLICY_UNBOUNDED : 0;
}

/* ---- choosing the SMs of each lane ---- */

struct claims {
	uint8_t known;
	/* lowest number of a lane that has reserved this SM so far */
	uint32_t lane[HEDDLE_POLICY_MAX_SMS];
	struct sm_set used;
};

struct choice {
	uint64_t key;
	uint32_t sm;
};

static int by_lane(const void *pa, const void *pb)
{
	const struct heddle_lane_kernel *a = pa, *b = pb;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

static int by_disturbance(const void *pa, const void *pb)
{
	const struct choice *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->sm > b->sm ? -1 : 1;
}

/* Does nothing if the claims are known. Most lanes get all SMs that are left, and need no claims. */
static void collect_claims(const struct heddle_lanes *s, struct claims *ret)
{
	if (ret->known)
		return;
	ret->known = 1;
	memset(&ret->used, 0, sizeof(ret->used));
	memset(ret->lane, 0xff, sizeof(ret->lane));
	for (uint32_t i = 0; i < s->len; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];

		if (!is_launch(k) || !k->kernel->running)
			continue;
		for (uint32_t sm = 0; sm < s->device.n_sms; sm++) {
			if (k->kernel->quota[sm])
				sms_add(&ret->used, sm);
			if (sms_has(&launch_of(k)->reserved, sm))
				ret->lane[sm] = LANES_MIN(ret->lane[sm], k->lane);
		}
	}
}

/* Picks up to `want` SMs of avail so that running launches are disturbed least: first SMs that the
 * lane already has, then unused SMs, then SMs of the least urgent lanes. Among these, SMs with
 * higher numbers come first. So less urgent lanes have mostly SMs with low numbers. That is useful
 * where programs number their SMs themselves, and heddled leaves an SM with a low number to a
 * launch that is to report its arrival. */
static struct sm_set pick_sms(const struct heddle_lanes *s, const struct sm_set *avail,
	const struct sm_set *own, struct claims *c, uint32_t want)
{
	struct choice at[HEDDLE_POLICY_MAX_SMS];
	struct sm_set got = {{0}};
	uint32_t n = 0;

	if (want >= sms_count(avail))
		return *avail;
	collect_claims(s, c);
	for (uint32_t sm = 0; sm < s->device.n_sms; sm++) {
		if (!sms_has(avail, sm))
			continue;
		at[n].sm = sm;
		at[n++].key = sms_has(own, sm)         ? 0
			      : !sms_has(&c->used, sm) ? 1
						       : 2ull + HEDDLE_NO_LANE - c->lane[sm];
	}
	qsort(at, n, sizeof(at[0]), by_disturbance);
	for (uint32_t i = 0; i < want; i++)
		sms_add(&got, at[i].sm);
	return got;
}

/* Assigns SMs to one lane, which has the members [from, to) of the list. Returns the SMs that the
 * lane reserves. row: the quotas of a lane with these SMs. */
static struct sm_set place_lane(const struct heddle_lanes *s, uint32_t from, uint32_t to,
	const struct sm_set *avail, struct claims *claims, const uint8_t *row,
	const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	struct sm_set before = {{0}}, reserved;
	uint64_t want = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];

		want += k->want_sms;
		if (is_launch(k))
			sms_unite(&before, &launch_of(k)->reserved);
		else if (k->kernel->kind == HEDDLE_POLICY_EXPECTED)
			sms_unite(&before, &tenant_of(k)->expected);
	}
	/* A lane keeps the SMs that it has reserved. Otherwise finished blocks would reduce its
	 * number of SMs with each decision. */
	want = LANES_MAX(want, sms_count(&before));
	reserved = pick_sms(s, avail, &before, claims, (uint32_t)LANES_MIN(want, s->device.n_sms));
	for (uint32_t i = from; i < to; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];
		uint8_t *quota = heddle_policy_row(in, out, k->index);

		if (!is_launch(k)) {
			sms_write(&reserved, s->device.n_sms, quota);
			continue;
		}
		if (!k->withheld)
			memcpy(quota, row, s->device.n_sms);
		launch_of(k)->reserved = reserved;
		if (!tenant_of(k)->best)
			tenant_of(k)->best = row;
	}
	return reserved;
}

/* Makes room for the rows of quotas: none, all, left, and one for each lane. */
static int make_rows(struct heddle_lanes *s)
{
	size_t n = 3;

	for (uint32_t i = 0; i < s->len && s->at[i].lane != HEDDLE_NO_LANE; i++)
		n += !i || s->at[i].lane != s->at[i - 1].lane;
	if (n > s->cap_rows) {
		void *more = realloc(s->rows, n * s->device.n_sms);

		if (!more)
			return 0;
		s->rows = more;
		s->cap_rows = n;
	}
	return 1;
}

/* Says with which SMs new launches begin. A tenant that has no launch, and a lower priority than
 * hold_below, gets the SMs that are left. */
static void place_new_launches(const struct heddle_lanes *s, const struct heddle_policy_view *in,
	struct heddle_policy_plan *out, int32_t hold_below)
{
	uint32_t n = s->device.n_sms;
	const uint8_t *none = s->rows, *all = none + n, *left = all + n;

	for (uint32_t i = 0; i < in->n_tenants; i++) {
		const struct heddle_policy_tenant *t = heddle_policy_tenant_at(in, i);
		const struct own_tenant *own = t->own;

		if (!t->launches && t->priority >= hold_below)
			out->begin[i] = all;
		else if (!t->launches && s->device.simultaneous)
			out->begin[i] = left;
		else
			out->begin[i] = own->best ? own->best : none;
	}
}

/* Returns a priority: tenants with a lower priority must not start opaque work. */
static int32_t hold_opaque_below(
	struct heddle_lanes *s, const struct heddle_policy_view *in, int32_t hold_below)
{
	uint64_t hold_ns = s->device.opaque_hold_ns;
	int32_t below = HEDDLE_HOLD_NONE;

	if (hold_ns == UINT64_MAX && !s->device.opaque_free)
		return hold_below;
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		const struct heddle_policy_tenant *t = heddle_policy_tenant_at(in, i);
		uint64_t until = t->burst_ns + hold_ns;

		if (t->launches) {
			below = LANES_MAX(below, t->priority);
		} else if (!s->device.opaque_free && s->now_ns < until) {
			below = LANES_MAX(below, t->priority);
			wake_at(s, until);
		}
	}
	return LANES_MIN(below, hold_below);
}

static void place_lanes(struct heddle_lanes *s, const struct heddle_policy_view *in,
	struct heddle_policy_plan *out, int32_t hold_below)
{
	uint32_t n = s->device.n_sms, to;
	struct sm_set avail = sms_all(n);
	struct claims claims;
	uint8_t *row = s->rows + 3 * (size_t)n;

	claims.known = 0;
	memset(s->rows, 0, n);
	memset(s->rows + n, (int)HEDDLE_POLICY_UNBOUNDED, n);
	for (uint32_t i = 0; i < s->len && s->at[i].lane != HEDDLE_NO_LANE; i = to, row += n) {
		struct sm_set reserved;

		for (to = i; to < s->len && s->at[to].lane == s->at[i].lane;)
			to++;
		sms_write(&avail, n, row);
		reserved = place_lane(s, i, to, &avail, &claims, row, in, out);
		sms_subtract(&avail, &reserved);
	}
	sms_write(&avail, n, s->rows + 2 * (size_t)n);
	place_new_launches(s, in, out, hold_below);
}

/* ---- decisions ---- */

struct heddle_lanes *heddle_lanes_create(const struct heddle_policy_device *device)
{
	if (device->size < sizeof(*device) || device->n_sms > HEDDLE_POLICY_MAX_SMS)
		return NULL;
	return calloc(1, sizeof(struct heddle_lanes));
}

void heddle_lanes_destroy(struct heddle_lanes *s)
{
	if (!s)
		return;
	free(s->at);
	free(s->levels);
	free(s->rows);
	free(s);
}

static int make_list(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	if (s->cap < in->n_kernels) {
		void *more = realloc(s->at, in->n_kernels * sizeof(*s->at));

		if (!more)
			return 0;
		s->at = more;
		s->cap = in->n_kernels;
	}
	s->len = in->n_kernels;
	for (uint32_t i = 0; i < s->len; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(in, i);

		s->at[i] = (struct heddle_lane_kernel){.kernel = k,
			.tenant = heddle_policy_tenant_at(in, k->tenant_index),
			.index = i,
			.lane = HEDDLE_NO_LANE};
	}
	return 1;
}

/* Brings the library's own memory of the tenants and launches up to date. */
static void update_own(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		struct own_tenant *t = own_of(in, i);
		uint8_t opaque = heddle_policy_tenant_at(in, i)->opaque != 0;

		if (t->opaque && !opaque)
			t->expected = sms_all(s->device.n_sms);
		t->opaque = opaque;
		t->best = NULL;
		t->n_listed = t->relay = t->relay_full = 0;
	}
	for (uint32_t i = 0; i < s->len; i++) {
		struct own_launch *l = launch_of(&s->at[i]);

		if (!is_launch(&s->at[i]))
			continue;
		tenant_of(&s->at[i])->n_listed++;
		l->had_lane &= l->round + 1 == s->round;
		l->round = s->round;
		if (l->idle != (s->at[i].kernel->idle != 0))
			l->progress_ns = s->now_ns;
		l->idle = s->at[i].kernel->idle != 0;
	}
}

struct heddle_lane_kernel *heddle_lanes_list(
	struct heddle_lanes *s, const struct heddle_policy_view *in, uint32_t *ret_n)
{
	static struct heddle_lane_kernel nothing;

	memcpy(&s->device, in->device, sizeof(s->device));
	if (!make_list(s, in) || !lanes_find_levels(s, in))
		return NULL;
	s->passed_ns = s->round && in->now_ns > s->now_ns ? in->now_ns - s->now_ns : 0;
	s->now_ns = LANES_MAX(in->now_ns, s->now_ns);
	s->left_ns = in->left_ns;
	s->wake_ns = HEDDLE_POLICY_UNKNOWN;
	s->round++;
	update_own(s, in);
	lanes_find_needs(s, in);
	lanes_assign_turns(s, in);
	lanes_update_waits(s);
	*ret_n = s->len;
	return s->len ? s->at : &nothing;
}

void heddle_lanes_enter(
	struct heddle_lanes *s, struct heddle_lane_kernel *k, uint32_t lane, uint32_t want_sms)
{
	struct own_launch *l = launch_of(k);

	k->lane = lane;
	k->want_sms = want_sms;
	if (!is_launch(k) || k->kernel->running || !l->pause_ns)
		return;
	if (!l->free_ns)
		l->free_ns = LANES_MAX(s->now_ns, 1);
	k->withheld = s->now_ns < l->free_ns + l->pause_ns;
}

/* Remembers the SMs that the tenants' work has reserved, for the time when they have no work. */
static void remember_reserved(struct heddle_lanes *s)
{
	for (uint32_t i = 0; i < s->len; i++) {
		struct own_tenant *t = tenant_of(&s->at[i]);

		if (!is_launch(&s->at[i]))
			continue;
		if (s->at[i].lane == HEDDLE_NO_LANE)
			memset(&launch_of(&s->at[i])->reserved, 0, sizeof(t->expected));
		if (t->n_listed) /* this is the tenant's first launch in the list */
			memset(&t->expected, 0, sizeof(t->expected));
		t->n_listed = 0;
		sms_unite(&t->expected, &launch_of(&s->at[i])->reserved);
	}
}

void heddle_lanes_plan(struct heddle_lanes *s, const struct heddle_policy_view *in,
	struct heddle_policy_plan *out, int32_t hold_below)
{
	uint8_t waits = 0;
	int32_t below;

	for (uint32_t i = 0; i < s->len; i++)
		s->at[i].position = i;
	lanes_note_turns(s, in);
	lanes_note_waits(s);
	if (s->len > 1)
		qsort(s->at, s->len, sizeof(s->at[0]), by_lane);
	if (!make_rows(s)) {
		memset(out->quota, (int)HEDDLE_POLICY_UNBOUNDED,
			(size_t)in->n_kernels * s->device.n_sms);
		return;
	}
	place_lanes(s, in, out, hold_below);
	remember_reserved(s);
	below = hold_opaque_below(s, in, hold_below);
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		out->held[i] = heddle_policy_tenant_at(in, i)->priority < below;
		waits |= out->held[i];
	}
	for (uint32_t i = 0; i < s->len; i++)
		waits |= is_launch(&s->at[i]) &&
			 (s->at[i].lane == HEDDLE_NO_LANE || s->at[i].withheld);
	if (waits)
		wake_at(s, s->now_ns + HEDDLE_POLICY_MAX_WAKE);
	if (s->wake_ns != HEDDLE_POLICY_UNKNOWN)
		out->wake_ns = LANES_MAX(s->wake_ns, in->now_ns + 1);
}
