/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any order of events, plausible or not, must leave the engine consistent: no crash, bounded
 * lists, no decision that asks for the next one at once, and no SMs for a launch that is still
 * being preempted. Under hpf with whole-device preemption, no tenant of lower priority runs
 * beside one of higher priority. Under a policy that answers with arbitrary bytes, all quotas
 * are valid and fit an SM together. Each event takes two bytes. */
#include "sched/engine/planner.h"
#include "sched/engine/sched.h"

#include <stdlib.h>
#include <string.h>

#define TENANTS  5
#define LAUNCHES 6

struct world {
	struct sched *s;
	uint64_t now, next_id;
	uint32_t n_sms;
	struct sched_tenant *tenant[TENANTS];
	struct sched_launch *launch[TENANTS][LAUNCHES];
	bool arrived[TENANTS][LAUNCHES], leaving[TENANTS][LAUNCHES], exclusive;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A plan's bytes come from the input, starting where the last plan ended. */
static struct {
	const uint8_t *data;
	size_t len, at;
} plans;

static uint8_t plan_byte(void)
{
	return plans.data[plans.at++ % plans.len];
}

/* A policy that answers with bytes of the input. A kernel's quotas are arbitrary, or the same on
 * all SMs. */
static void any_plan(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	uint32_t n = in->device->n_sms;
	uint8_t how = plan_byte();

	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint8_t *row = heddle_policy_row(in, out, i), q = plan_byte();

		for (uint32_t sm = 0; sm < n; sm++)
			row[sm] = how & 1 ? plan_byte() : how & 2 ? q : q % 40;
	}
	for (uint32_t i = 0; i < in->n_tenants; i++)
		out->held[i] = plan_byte() < 50;
	if (how & 4)
		out->wake_ns = in->now_ns - 1000000 + 10000ull * plan_byte();
	if (how == 77)
		out->held[in->n_tenants] = how;
}

static const struct heddle_policy plan_table = {
	.size = sizeof(plan_table), .abi = HEDDLE_POLICY_ABI, .name = "any", .decide = any_plan};
static const struct sched_policy policy_any = {.name = "any", .table = &plan_table, .options = ""};

static void check(struct world *w)
{
	int highest = -1;

	for (unsigned t = 0; t < TENANTS; t++) {
		for (unsigned i = 0; i < LAUNCHES; i++) {
			struct sched_info info;

			if (!w->launch[t][i])
				continue;
			sched_launch_state(w->s, w->now, w->launch[t][i], &info);
			if (launch_is(info.state, LAUNCH_LEAVES) && info.n_sms)
				abort();
			if (info.finished > 100)
				abort();
			if (!w->exclusive || info.n_sms == 0 ||
				launch_is(info.state, LAUNCH_SUBMITTED))
				continue;
			if (highest >= 0 && highest != (int)t % 3)
				abort();
			highest = (int)t % 3;
		}
	}
}

/* Aborts unless the workers of all launches that have a quota fit an SM together. An SM has room
 * for 2048 threads, and a worker has 64, so the quotas of an SM add up to at most 32. */
static void check_quotas(struct world *w)
{
	uint32_t there[CTL_MAX_SMS] = {0};

	for (unsigned i = 0; i < TENANTS * LAUNCHES; i++) {
		const struct sched_launch *l = w->launch[i / LAUNCHES][i % LAUNCHES];
		uint8_t quota[CTL_MAX_SMS];

		if (!l || !launch_is(sched_state(l), LAUNCH_ARRIVED))
			continue;
		sched_quotas(w->s, l, quota);
		for (unsigned sm = 0; sm < w->n_sms; sm++) {
			if (quota[sm] > 31 && quota[sm] != CTL_NO_QUOTA)
				abort();
			there[sm] += quota[sm] == CTL_NO_QUOTA ? 0 : quota[sm];
			if (there[sm] > 32)
				abort();
		}
	}
}

static void actions(struct world *w)
{
	struct sched_action a;
	unsigned n = 0;

	while (sched_next(w->s, &a)) {
		uint8_t quota[CTL_MAX_SMS];
		unsigned allowed = 0;

		if (++n > 2 * TENANTS * (LAUNCHES + 1))
			abort();
		if (!a.launch)
			continue;
		sched_quotas(w->s, a.launch, quota);
		for (unsigned i = 0; i < w->n_sms; i++)
			allowed += quota[i] != 0;
		if (allowed != a.n_sms || (a.type == SCHED_PREEMPT) != (allowed == 0))
			abort();
	}
}

static void tenant_event(struct world *w, unsigned t, unsigned what)
{
	if (w->tenant[t] && what == 0) {
		sched_leave(w->s, w->now, w->tenant[t]);
		w->tenant[t] = NULL;
		memset(w->launch[t], 0, sizeof(w->launch[t]));
	} else if (!w->tenant[t]) {
		if (sched_join(w->s, w->now, t, (int)t % 3, 1, NULL, &w->tenant[t]) < 0)
			abort();
	} else if (what >= 6) { /* the tenant's page may contain anything */
		sched_copied(w->s, w->tenant[t], what & 1 ? UINT64_MAX - w->now : w->now, w->now);
	} else {
		sched_opaque(w->s, w->now, w->tenant[t], what & 1, what & 2);
	}
}

static void launch_event(struct world *w, unsigned t, unsigned i, unsigned what)
{
	struct sched_launch **l = &w->launch[t][i];
	struct sched_launch_info info = {.kernel = i, .total = 1 + what * 12, .threads = 64};

	if (!*l) {
		info.id = ++w->next_id;
		info.stream_priority = what & 1;
		if (sched_submit(w->s, w->now, w->tenant[t], &info, l) < 0)
			abort();
		return;
	}
	switch (what) {
	case 0:
	case 1:
		sched_arrive(w->s, w->now, *l, (enum sched_began)(w->now % 3));
		break;
	case 2:
		sched_progress(w->s, *l, w->now % 200);
		break;
	case 3:
		sched_drained(w->s, w->now, *l);
		break;
	case 4:
		if (w->now & 8)
			sched_idle(w->s, w->now, *l, w->now & 16);
		sched_absent(w->s, *l);
		break;
	default:
		sched_end(w->s, w->now, *l, what & 1, what == 5 ? w->now : 0);
		*l = NULL;
	}
}

static const struct sched_policy *policy_of(uint8_t byte)
{
	if (byte & 32)
		return byte & 16 ? &sched_policy_ffs : &policy_any;
	return byte & 16 ? &sched_policy_none : &sched_policy_hpf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sched_options o = {.n_sms = 4, .still_ns = 400000};
	struct world w = {0};

	if (len < 1)
		return 0;
	plans.data = data;
	plans.len = len;
	plans.at = len / 2;
	o.simultaneous = data[0] & 1;
	o.spatial = data[0] & 2;
	o.within_srt = data[0] & 4;
	o.n_sms = w.n_sms = data[0] & 8 ? 256 : 4;
	w.exclusive = !o.spatial && policy_of(data[0]) == &sched_policy_hpf;
	if (sched_create(&o, policy_of(data[0]), &w.s) < 0)
		abort();
	for (size_t i = 1; i + 1 < len && i < 4000; i += 2) {
		unsigned t = data[i] % TENANTS, what = data[i + 1] & 7;

		w.now += (uint64_t)(data[i + 1] >> 3) * 9000;
		if (data[i] >= 200 || !w.tenant[t])
			tenant_event(&w, t, what);
		else
			launch_event(&w, t, data[i] / TENANTS % LAUNCHES, what);
		if (data[i] & 64)
			continue; /* no decision yet: the next one is for a burst of events */
		if (sched_decide(w.s, w.now) < 0)
			abort();
		/* A deadline that is already due would be due again forever. */
		if (sched_deadline(w.s) <= w.now)
			abort();
		actions(&w);
		check(&w);
		check_quotas(&w);
	}
	sched_destroy(w.s);
	return 0;
}
