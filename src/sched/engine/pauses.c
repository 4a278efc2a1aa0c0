/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Pauses between a program's work: how long they usually are, and whether heddled should keep the
 * device free until the program continues. Policies see this time as a pseudo launch
 * (HEDDLE_POLICY_EXPECTED). */
#include "engine.h"

/* heddled does not schedule copies. But if tenants share the device by time slices, a copy shortly
 * after a launch costs two more changes between tenants (H200: 140 us each). An example is the copy
 * of the launch's results. Some tenants usually copy after their work. For such a tenant, heddled
 * keeps the device for COPY_NS after the work, if work of lower priority waits. */
#define COPY_NS       30000u
#define ALL_COPIES_NS 150000u /* limit for a series of copies */
#define COPIES_ENOUGH 2u
#define COPIES_MAX    8u

static bool is_by_priority(const struct sched *s)
{
	return sched_policy_is(s->policy, HEDDLE_POLICY_BY_PRIORITY);
}

static void learn_copies(struct sched_tenant *t)
{
	if (t->pauses.copied_ns > t->pauses.busy_since_ns &&
		t->pauses.copied_ns < t->pauses.idle_since_ns + COPY_NS)
		t->pauses.copies = MIN(t->pauses.copies + 1, COPIES_MAX);
	else if (t->pauses.copies)
		t->pauses.copies--;
}

/* Learns from the pauses between bursts of the tenant's work, and ignores pauses within a burst. */
static void learn_pause(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t gap = now_ns - t->pauses.idle_since_ns;

	if (t->pauses.continues && gap <= s->o.linger_max_ns)
		return;
	t->pauses.burst_ns = now_ns;
	if (!t->pauses.idle_since_ns || t->state == TENANT_NEW)
		return;
	learn_copies(t);
	/* Update the moving mean of the tenant's pauses. A sample moves the mean by a quarter, and
	 * is bounded by four times linger_max_ns, so that one long pause has little effect.
	 *
	 * If other tenants had the device during the pause, the program may only have waited for
	 * them (without MPS even a memset does). Such a sample must not make the mean longer;
	 * otherwise heddled would never keep the device for this tenant again. So here it lowers
	 * the mean. Under a policy by priority, every sample counts in full. */
	gap = MIN(gap, 4 * s->o.linger_max_ns);
	if (!is_by_priority(s) && t->pauses.n && t->pauses.until_ns <= t->pauses.idle_since_ns &&
		s->n_tenants_in[TENANT_BUSY] > 0)
		gap = MIN(gap, t->pauses.mean_ns / 2);
	t->pauses.mean_ns = t->pauses.n ? (3 * t->pauses.mean_ns + gap) / 4 : gap;
	t->pauses.n += t->pauses.n < 1000;
}

void sched_set_busy(struct sched *s, struct sched_tenant *t, bool busy, uint64_t now_ns)
{
	if (busy == (t->state == TENANT_BUSY))
		return;
	if (busy) {
		learn_pause(s, t, now_ns);
		t->pauses.busy_since_ns = now_ns;
	} else {
		t->pauses.idle_since_ns = now_ns;
	}
	tenant_to(&t->state, s->n_tenants_in, busy ? TENANT_BUSY : TENANT_IDLE);
}

/* Returns the cost of switching to this kernel of the view. */
static uint64_t bounce_of(const struct sched *s, const struct sched_kernel *k)
{
	return k->kind == HEDDLE_POLICY_MANAGED  ? 2 * k->cost_ns
	       : k->kind == HEDDLE_POLICY_OPAQUE ? s->o.opaque_ns
						 : 0;
}

/* Finds the costs for switch_cost: the greatest cost below each priority, the greatest one of all,
 * and the greatest one of another tenant. The levels are in descending order. */
static void find_costs(struct sched *s)
{
	struct sched_costs *c = &s->costs;
	struct sched_level *above = NULL;

	*c = (struct sched_costs){0};
	for (struct sched_level *v = s->levels; v; v = v->next) {
		v->bounce = v->bounce_below = 0;
		v->works = v->works_below = false;
	}
	for (size_t i = 0; i < s->view.len; i++) {
		const struct sched_kernel *k = s->view.at[i];
		struct sched_level *v = sched_tenant_of(s->view.at[i])->level;
		uint64_t ns = bounce_of(s, k);

		v->bounce = MAX(v->bounce, ns);
		v->works = true;
		if (k->tenant == c->tenant || ns <= c->most) {
			c->others = k->tenant == c->tenant ? c->others : MAX(c->others, ns);
			c->most = MAX(c->most, ns);
		} else {
			c->others = c->most;
			c->most = ns;
			c->tenant = k->tenant;
		}
	}
	/* From the lowest level up: the list is walked once, each level looks at those below it by
	 * way of the one that was reversed before. */
	for (struct sched_level *v = s->levels, *next; v; v = next) {
		next = v->next;
		v->above = above;
		above = v;
	}
	for (struct sched_level *v = above; v && v->above; v = v->above) {
		v->above->bounce_below = MAX(v->bounce, v->bounce_below);
		v->above->works_below = v->works || v->works_below;
	}
}

/* Returns what it costs to give the device to other work: under a policy by priority, to work of a
 * lower priority, else to that of other tenants. */
static uint64_t switch_cost(const struct sched *s, const struct sched_tenant *t)
{
	if (is_by_priority(s))
		return t->level->bounce_below;
	return s->costs.tenant == t->id ? s->costs.others : s->costs.most;
}

/* Returns until when to wait for the tenant's next work; 0: do not wait. Let the switch cost be the
 * time to give the device to other work and take it back. Waiting pays if the tenant returns sooner
 * than that. So:
 * - If the tenant's usual pause is longer than the switch cost, the engine does not wait.
 * - Otherwise it waits for twice the usual pause, but not longer than the switch cost.
 * - A tenant that did not wait for the end of its work will soon launch more. For it the engine
 *   waits as long as the switch cost, whatever its usual pause is. */
static uint64_t comes_back_until(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t bounce = switch_cost(s, t), twice;

	if (!t->pauses.continues && (t->pauses.n < 2 || t->pauses.mean_ns > s->o.linger_max_ns))
		return 0;
	bounce = MIN(bounce, s->o.linger_max_ns);
	if (t->pauses.continues)
		return t->pauses.idle_since_ns + bounce;
	if (t->pauses.mean_ns > bounce)
		return 0;
	/* Policies by priority wait for a tenant that comes back within the same microsecond, too. */
	twice = is_by_priority(s) ? MAX(2 * t->pauses.mean_ns, 1000) : 2 * t->pauses.mean_ns;
	return t->pauses.idle_since_ns + MIN(twice, bounce);
}

static uint64_t copies_until(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t from = MAX(t->pauses.idle_since_ns, t->pauses.last_copy_ns);

	if (!t->level->works_below || s->o.simultaneous || t->pauses.copies < COPIES_ENOUGH)
		return 0;
	return MIN(from + COPY_NS, t->pauses.idle_since_ns + ALL_COPIES_NS);
}

static bool linger(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t until;

	if (t->state != TENANT_IDLE && t->state != TENANT_EXPECTED)
		return true;
	until = MAX(comes_back_until(s, t), copies_until(s, t));
	if (now_ns >= until) {
		if (t->state == TENANT_EXPECTED)
			tenant_to(&t->state, s->n_tenants_in, TENANT_IDLE);
		return true;
	}
	tenant_to(&t->state, s->n_tenants_in, TENANT_EXPECTED);
	if (t->pauses.until_ns != until) {
		t->pauses.until_ns = until;
		s->stats.lingers++;
	}
	s->deadline_ns = MIN(s->deadline_ns, until);
	return VEC_PUSH(&s->view, &t->expected);
}

bool sched_linger(struct sched *s, uint64_t now_ns)
{
	find_costs(s);
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!linger(s, t, now_ns))
			return false;
	}
	return true;
}
