/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Part of the library of heddle/policy_lanes.h: the tenants of each priority, and the SMs that
 * kernels need. */
#include "lanes_inside.h"

#include <stdlib.h>
#include <string.h>

/* Returns the level of this priority, or where it has to be inserted. */
static uint32_t find_level(const struct heddle_lanes *s, int32_t priority)
{
	uint32_t from = 0, to = s->n_levels;

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (s->levels[middle].priority > priority)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int add_level(struct heddle_lanes *s, int32_t priority)
{
	uint32_t at = find_level(s, priority);

	if (at == s->n_levels || s->levels[at].priority != priority) {
		if (s->n_levels == s->cap_levels) {
			uint32_t cap = 2 * s->cap_levels + 4;
			void *more = realloc(s->levels, cap * sizeof(*s->levels));

			if (!more)
				return 0;
			s->levels = more;
			s->cap_levels = cap;
		}
		memmove(s->levels + at + 1, s->levels + at,
			(s->n_levels - at) * sizeof(*s->levels));
		s->n_levels++;
		memset(&s->levels[at], 0, sizeof(s->levels[at]));
		s->levels[at].priority = priority;
	}
	s->levels[at].n_tenants++;
	return 1;
}

int lanes_find_levels(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_levels; i++)
		s->levels[i].n_tenants = 0;
	for (uint32_t i = 0; i < in->n_tenants; i++)
		if (!add_level(s, heddle_policy_tenant_at(in, i)->priority))
			return 0;
	for (uint32_t i = 0; i < s->n_levels; i++) {
		if (!s->levels[i].n_tenants)
			continue;
		s->levels[kept] = (struct lanes_level){
			.priority = s->levels[i].priority, .n_tenants = s->levels[i].n_tenants};
		kept++;
	}
	s->n_levels = kept;
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		const struct heddle_policy_tenant *t = heddle_policy_tenant_at(in, i);
		struct own_tenant *own = t->own;

		own->level = &s->levels[find_level(s, t->priority)];
		if (own->known && own->priority == t->priority)
			own->level->last_turn = LANES_MAX(own->level->last_turn, own->turn);
	}
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		const struct heddle_policy_tenant *t = heddle_policy_tenant_at(in, i);
		struct own_tenant *own = t->own;

		if (!own->known || own->priority != t->priority)
			own->turn = s->turns ? own->level->last_turn : 0;
		own->known = 1;
		own->priority = t->priority;
	}
	return 1;
}

/* ---- number of SMs that a kernel needs ---- */

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint32_t blocks_per_sm(const struct heddle_lane_kernel *k)
{
	return LANES_MIN(LANES_MAX(k->kernel->blocks_per_sm, 1u), PER_SM);
}

static uint64_t blocks_left(const struct heddle_lane_kernel *k)
{
	return k->kernel->blocks - k->kernel->finished;
}

/* Counts the tenants whose relays take room. A relay is the block of a launch that reads quotas. It
 * stays on the device after a preemption. It is the first block of its grid, and the hardware puts
 * it on the last SMs of an empty device.
 *
 * Counts one relay for each tenant, the one that takes most room. A tenant's launches usually run
 * one after another, and heddled often sees the end of one after the arrival of the next. */
static void count_relays(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	for (uint32_t i = 0; i < s->len; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];
		struct own_tenant *t = tenant_of(k);
		uint8_t n = (uint8_t)blocks_per_sm(k);

		if (!is_launch(k) || !k->kernel->arrived || !k->kernel->running)
			continue;
		t->relay = t->relay ? LANES_MIN(t->relay, n) : n;
		if (blocks_left(k) >= (uint64_t)s->device.n_sms * n)
			t->relay_full = t->relay_full ? LANES_MIN(t->relay_full, n) : n;
	}
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		struct own_tenant *t = own_of(in, i);

		t->level->relays[t->relay]++;
		t->level->relays_full[t->relay_full]++;
	}
	for (uint32_t i = s->n_levels; i-- > 1;) {
		struct lanes_level *v = &s->levels[i], *above = v - 1;

		for (unsigned n = 0; n <= PER_SM; n++)
			above->relays_below[n] = v->relays[n] + v->relays_below[n];
	}
}

/* Returns how much room the relays of other tenants with the same or a lower priority take, counted
 * in blocks of k. Of tenants of the same priority, only the relays of launches that fill the device
 * count, because smaller launches may leave room. */
static uint64_t relays_below(const struct heddle_lane_kernel *k)
{
	const struct own_tenant *t = tenant_of(k);
	const struct lanes_level *v = t->level;
	uint64_t n = 0;

	if (sms_count(&launch_of(k)->reserved))
		return 0; /* an earlier decision already made room for it */
	for (uint32_t i = 1; i <= PER_SM; i++) {
		uint32_t others = v->relays_below[i] + v->relays_full[i] - (t->relay_full == i);

		n += others ? others * divide_up(blocks_per_sm(k), i) : 0;
	}
	return n;
}

static uint32_t need_sms(const struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	uint64_t n;

	if (k->kernel->kind == HEDDLE_POLICY_OPAQUE)
		return s->device.n_sms;
	if (k->kernel->kind == HEDDLE_POLICY_EXPECTED)
		return LANES_MAX(sms_count(&tenant_of(k)->expected), 1u);
	/* The 1 counts the launch's own relay, which also takes room on an SM. */
	n = divide_up(blocks_left(k) + 1 + relays_below(k), blocks_per_sm(k));
	return (uint32_t)LANES_MIN(n + s->device.extra_sms, s->device.n_sms);
}

void lanes_find_needs(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	count_relays(s, in);
	for (uint32_t i = 0; i < s->len; i++)
		s->at[i].need_sms = need_sms(s, &s->at[i]);
}
