/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Replies to command-line tools: lists of tenants and launches, kernel records, status. */
#include "model/rows.h"
#include "daemon.h"
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROWS    8192u
#define MAX_PROFILE ((size_t)4 << 20) /* maximum size of the reply in bytes */

static void add_packet(struct strbuf *out, const void *msg, size_t bytes)
{
	strbuf_add(out, msg, bytes);
}

static bool has_arrived(const struct sched_info *i)
{
	return !launch_is(i->state, LAUNCH_SUBMITTED);
}

static enum wire_row_state row_state(const struct sched_info *i)
{
	if (launch_is(i->state, LAUNCH_LEAVES))
		return WIRE_PREEMPTED;
	if (!i->n_sms)
		return i->preemptions ? WIRE_PREEMPTED : WIRE_HELD;
	return has_arrived(i) ? WIRE_RUNNING : WIRE_QUEUED;
}

static void fill_common(struct wire_row *r, const struct hd_tenant *t)
{
	wire_head_init(&r->head, WIRE_ROW, sizeof(*r));
	r->tenant = t->id;
	r->pid = (uint32_t)t->cred.pid;
	r->uid = t->cred.uid;
	r->priority = t->priority;
	r->weight = t->weight;
	memcpy(r->group, t->hello.group, sizeof(r->group));
	memcpy(r->device, t->hello.device, sizeof(r->device));
	memcpy(r->device_name, t->hello.device_name, sizeof(r->device_name));
}

static void add_launch(struct hd *d, const struct hd_slot *s, struct strbuf *out)
{
	struct wire_row r = {.kind = 1, .id = s->id, .total = s->total};
	struct sched_info i;

	sched_launch_state(s->tenant->device->sched, d->now_ns, s->launch, &i);
	fill_common(&r, s->tenant);
	r.state = row_state(&i);
	r.preemptions = s->preemptions;
	r.launches = 1;
	r.finished = i.finished;
	r.waited_ns = hd_slot_waited(s, &i);
	r.ran_ns = has_arrived(&i) ? hd_slot_ran(s, &i) : UINT64_MAX;
	r.predicted_ns = i.predicted_ns;
	r.remaining_ns = i.remaining_ns;
	/* Without a prediction, assumes the average rate of all finished blocks, including those
	 * that finished before heddled saw the launch. */
	if (i.predicted_ns == SCHED_UNKNOWN && i.finished && has_arrived(&i))
		r.remaining_ns = (uint64_t)((double)r.ran_ns * (double)(s->total - i.finished) /
					    (double)i.finished);
	memcpy(r.name, s->name, sizeof(r.name));
	add_packet(out, &r, sizeof(r));
}

/* Sums over all tenants of a device. */
struct shares {
	uint64_t weights, had;
};

static struct shares sum_shares(const struct hd_device *dev)
{
	struct shares sum = {0};

	for (const struct hd_tenant *t = dev->tenants; t; t = t->next) {
		sum.weights += t->weight;
		sum.had += sched_service(t->sched) - t->share_from_ns;
	}
	return sum;
}

static void fill_shares(
	const struct hd *d, const struct hd_tenant *t, const struct shares *sum, struct wire_row *r)
{
	uint64_t its = sched_service(t->sched) - t->share_from_ns;

	r->share_wanted = r->share_had = UINT32_MAX;
	if (!sched_policy_is(d->config.policy, HEDDLE_POLICY_BY_SHARES))
		return;
	r->share_wanted = (uint32_t)(1000 * (uint64_t)t->weight / MAX(sum->weights, 1u));
	if (sum->had)
		r->share_had = (uint32_t)(1000 * (double)its / (double)sum->had);
}

static void add_tenant(struct hd *d, struct hd_tenant *t, const struct shares *sum,
	struct strbuf *out, size_t *io_rows)
{
	struct wire_row r = {.kind = 0, .id = t->id, .state = WIRE_IDLE};

	fill_common(&r, t);
	r.preemptions = (uint32_t)MIN(t->preemptions, UINT32_MAX);
	r.launches = (uint32_t)MIN(t->launches, UINT32_MAX);
	memcpy(r.name, t->hello.name, sizeof(r.name));
	r.age_ns = d->now_ns - t->joined_ns;
	r.waited_ns = t->waited_ns;
	r.ran_ns = t->ran_ns;
	hd_launched(t, r.launched);
	fill_shares(d, t, sum, &r);
	if (t->opaque_active)
		r.state = WIRE_RUNNING;
	for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
		struct sched_info info;

		if (!t->slots[i].launch)
			continue;
		sched_launch_state(t->device->sched, d->now_ns, t->slots[i].launch, &info);
		/* A row shows one state for all launches of a tenant. A running launch decides the
		 * state. A queued launch decides it only if there is no launch in another state.
		 * Otherwise the state is that of the last preempted or held launch of this loop. */
		if (r.state != WIRE_RUNNING &&
			(r.state == WIRE_IDLE || row_state(&info) != WIRE_QUEUED))
			r.state = row_state(&info);
		if (has_arrived(&info))
			r.ran_ns += hd_slot_ran(&t->slots[i], &info);
		r.waited_ns += hd_slot_waited(&t->slots[i], &info);
	}
	if (t->hold && r.state == WIRE_IDLE)
		r.state = WIRE_HELD;
	if (!r.launched[WIRE_WHY_WORKERS] && !r.launched[WIRE_WHY_GUARD_FORM] && !t->n_known)
		r.ran_ns = UINT64_MAX; /* unknown: unmanaged launches report no times */
	add_packet(out, &r, sizeof(r));
	++*io_rows;
	for (uint32_t i = 0; i < WIRE_SLOTS && *io_rows < MAX_ROWS; i++) {
		if (!t->slots[i].launch)
			continue;
		add_launch(d, &t->slots[i], out);
		++*io_rows;
	}
}

void hd_list(struct hd *d, struct strbuf *out)
{
	struct wire_head end;
	size_t rows = 0;

	hd_clock(d);
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		struct shares sum;

		for (struct hd_tenant *t = dev->tenants; t; t = t->next)
			hd_scan_tenant(d, t, true);
		sum = sum_shares(dev);
		for (struct hd_tenant *t = dev->tenants; t && rows < MAX_ROWS; t = t->next)
			add_tenant(d, t, &sum, out, &rows);
	}
	wire_head_init(&end, WIRE_END, sizeof(end));
	add_packet(out, &end, sizeof(end));
}

/* Returns true if the record contains something to show. A profiled kernel has curves but perhaps
 * no launches. */
static bool is_learnt(const struct duration_kernel *k)
{
	bool any = k->launches > 0;

	for (unsigned i = 0; i < SCHED_PER_SM && !any; i++)
		any = k->curve_n[i] > 0;
	return any;
}

static void add_kernel(void *user, const struct duration_kernel *k)
{
	struct strbuf *out = user;
	struct wire_kernel row;
	struct wire_shape shape;

	if (!is_learnt(k) || out->len > MAX_PROFILE)
		return;
	rows_of_kernel(k, &row);
	add_packet(out, &row, sizeof(row));
	for (unsigned i = 0; i < k->n_shapes; i++) {
		rows_of_shape(&k->shape[i], &shape);
		add_packet(out, &shape, sizeof(shape));
	}
}

void hd_profile(struct hd *d, uint32_t uid, struct strbuf *out)
{
	struct wire_head end;

	hd_clock(d);
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		for (struct hd_tenant *t = dev->tenants; t; t = t->next)
			hd_scan_tenant(d, t, true); /* learns from launches that have ended */
	}
	durations_each(d->durations, uid, add_kernel, out);
	wire_head_init(&end, WIRE_END, sizeof(end));
	add_packet(out, &end, sizeof(end));
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void hd_status(struct hd *d, struct wire_status *ret)
{
	uint32_t n = (uint32_t)MIN(d->n_handovers, HD_HANDOVERS), sorted[HD_HANDOVERS];
	struct wire_status s = {
		.pid = (uint32_t)getpid(),
		.uptime_s = (uint32_t)((hd_clock(d) - d->started_ns) / 1000000000),
		.tenants = d->n_tenants,
		.grants = d->ended_grants,
		.preemptions = d->ended_preemptions,
		.decisions = d->ended_decisions,
		.refused = d->refused,
		.bad_messages = d->bad_messages,
	};

	wire_head_init(&s.head, WIRE_STATUS, sizeof(s));
	for (struct hd_device *dev = d->devices; dev; dev = dev->next) {
		struct sched_stats st;

		sched_stats(dev->sched, &st);
		s.launches += st.launches;
		s.grants += st.grants;
		s.preemptions += st.preemptions + st.shrinks;
		s.decisions += st.decisions;
	}
	if (n) {
		memcpy(sorted, d->handover_ns, n * sizeof(sorted[0]));
		qsort(sorted, n, sizeof(sorted[0]), by_value);
		s.handover_p50_ns = sorted[n / 2];
		s.handover_p99_ns = sorted[MIN(n - 1, n * 99 / 100)];
	}
	snprintf(s.policy, sizeof(s.policy), "%s", d->config.policy->name);
	snprintf(s.version, sizeof(s.version), "%s", HEDDLE_VERSION);
	snprintf(s.socket, sizeof(s.socket), "%s", d->config.socket);
	snprintf(s.mps, sizeof(s.mps), "%s",
		!d->config.mps  ? "off"
		: d->mps_silent ? WIRE_MPS_SILENT
				: "on");
	*ret = s;
}
