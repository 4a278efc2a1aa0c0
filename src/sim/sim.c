/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The simulated device: the dispatcher of blocks, the workers, and the tenants' replies to the
 * engine. If a simulation fails, its status keeps the first error, and the simulation stops before
 * the next event. */
#include "inside.h"

#include "base/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_init(struct sim *s)
{
	*s = (struct sim){
		.policy = &sched_policy_hpf,
		.o = {.n_sms = 4, .simultaneous = true, .spatial = true},
		.relay_ns = 5000,
		.relaunch_ns = 10000,
	};
	/* In a trace, a program can queue any number of launches. */
	s->o.max_launches = UINT32_MAX;
	s->o.threads_per_sm = SIM_THREADS;
	s->o.shared_per_sm = SIM_CAPACITY;
	s->end = UINT64_MAX;
	s->last = &s->launches;
	s->last_tenant = &s->tenants;
	for (unsigned i = 0; i < CTL_MAX_SMS; i++)
		s->free[i] = SIM_CAPACITY;
}

static void streams_free(struct sim_tenant *t)
{
	for (struct sim_stream *q = t->streams, *next; q; q = next) {
		next = q->next;
		free(q);
	}
	t->streams = NULL;
}

void sim_finish(struct sim *s)
{
	sched_destroy(s->sched);
	durations_destroy(s->durations);
	for (struct sim_launch *l = s->launches, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	for (struct sim_tenant *t = s->tenants, *next; t; t = next) {
		next = t->next;
		streams_free(t);
		VEC_FREE(&t->stays);
		free(t);
	}
	for (size_t i = 0; i < s->events.len; i++)
		free(s->events.at[i].quota);
	VEC_FREE(&s->events);
	VEC_FREE(&s->planned);
	VEC_FREE(&s->rounds);
	strbuf_finish(&s->trace);
}

void sim_fail(struct sim *s, int status)
{
	if (status < 0 && !s->status)
		s->status = status;
}

static void HD_PRINTF(2, 3) trace_line(struct sim *s, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	strbuf_printf(&s->trace, "%9.3f  %s\n", (double)s->now / 1e6, line);
}

void sim_sms_text(const uint8_t *sms, uint32_t n, char *ret, size_t max)
{
	size_t at = 0;

	ret[0] = 0;
	for (uint32_t i = 0; i < n && at < max; i++) {
		uint32_t from = i;

		if (!sms[i])
			continue;
		while (i + 1 < n && sms[i + 1])
			i++;
		at += (size_t)snprintf(
			ret + at, max - at, i == from ? "%s%u" : "%s%u-%u", at ? "," : "", from, i);
	}
	if (!at)
		snprintf(ret, max, "none");
}

/* ---- names ---- */

struct sim_tenant *sim_tenant(struct sim *s, const char *name)
{
	for (struct sim_tenant *t = s->tenants; t; t = t->next) {
		if (strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}

struct sim_launch *sim_launch(struct sim *s, struct sim_tenant *t, const char *name)
{
	for (struct sim_launch *l = s->launches; l; l = l->next) {
		if (l->tenant == t && strcmp(l->name, name) == 0)
			return l;
	}
	return NULL;
}

struct sim_tenant *sim_new_tenant(struct sim *s, const char *name)
{
	struct sim_tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->next_id = 1;
	*s->last_tenant = t;
	s->last_tenant = &t->next;
	return t;
}

struct sim_launch *sim_new_launch(struct sim *s, struct sim_tenant *t, const char *name)
{
	struct sim_launch *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->tenant = t;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->kernel = hash_bytes(name, strcspn(name, "#"), 1);
	*s->last = l;
	s->last = &l->next;
	return l;
}

/* ---- carrying out the engine's actions ---- */

static void place_workers(struct sim *s);

static void launch_workers(struct sim *s, const struct sim_event *e)
{
	struct sim_round r = {e->l, e->n};

	if (e->l->done || e->l->tenant->gone)
		return;
	if (e->l->answering && e->value) {
		e->l->answering = false;
		/* The engine has revoked the grant after it was sent. Launch no workers now. Count
		 * the last drain as not answered, so that the next grant launches workers. */
		if (!e->l->granted) {
			e->l->answered = e->l->drains - 1;
			return;
		}
	}
	if (!VEC_PUSH(&s->rounds, r))
		sim_fail(s, -ENOMEM);
	place_workers(s);
}

static uint32_t allowed_workers(const struct sim *s, const struct sim_launch *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->o.n_sms; i++)
		n += MIN(l->quota[i], l->wps);
	return (uint32_t)MIN(n, l->total - l->finished);
}

/* Launches workers for a launch that has SMs again: one grid of workers for each drain. */
static void answer_grant(struct sim *s, struct sim_launch *l)
{
	struct sim_event e = {.fn = launch_workers, .l = l, .value = 1};

	if (!l->granted || l->done || l->drains == l->answered || l->answering)
		return;
	l->answered = l->drains;
	l->answering = true;
	e.n = allowed_workers(s, l);
	sim_at(s, s->now + s->relaunch_ns, e);
}

/* New quotas reach the launch's workers. A worker reads its quota before it claims its next ticket.
 * Quotas that arrive after newer quotas are ignored. */
static void quotas_arrive(struct sim *s, const struct sim_event *e)
{
	(void)s;
	if (e->value > e->l->applied) {
		memcpy(e->l->quota, e->quota, sizeof(e->l->quota));
		e->l->applied = e->value;
	}
	free(e->quota);
}

/* Sends a control word. Workers see it after the relay's delay. */
static void send_quotas(struct sim *s, struct sim_launch *l, const uint8_t quota[CTL_MAX_SMS])
{
	struct sim_event e = {.fn = quotas_arrive, .l = l, .value = l->word};

	e.quota = malloc(CTL_MAX_SMS);
	if (!e.quota) {
		sim_fail(s, -ENOMEM);
		return;
	}
	memcpy(e.quota, quota, CTL_MAX_SMS);
	sim_at(s, s->now + s->relay_ns, e);
}

/* Sends a control word. Without workers, it takes effect at once. */
static void tell_quotas(struct sim *s, struct sim_launch *l, const uint8_t quota[CTL_MAX_SMS])
{
	l->word++;
	if (l->present) {
		send_quotas(s, l, quota);
		return;
	}
	memcpy(l->quota, quota, sizeof(l->quota));
	l->applied = l->word;
}

/* Launches additional workers: as many as the new quotas allow beyond the old quotas. */
static void launch_more_workers(
	struct sim *s, struct sim_launch *l, const uint8_t quota[CTL_MAX_SMS])
{
	struct sim_event e = {.fn = launch_workers, .l = l};

	for (uint32_t i = 0; i < s->o.n_sms; i++) {
		uint32_t may = MIN(quota[i], l->wps), might = MIN(l->quota[i], l->wps);

		e.n += may > might ? may - might : 0;
	}
	sim_at(s, s->now + s->relaunch_ns, e);
}

static void apply_to_tenant(struct sim *s, const struct sched_action *a, const char *what)
{
	struct sim_tenant *t = sched_tenant_user(a->tenant);
	char sms[128];

	if (a->type != SCHED_BEGIN) {
		t->hold = a->type == SCHED_HOLD;
		trace_line(s, "  -> %s %s", what, t->name);
		return;
	}
	sched_begin_quotas(s->sched, t->handle, t->begin);
	t->n_begin = a->n_sms;
	sim_sms_text(t->begin, s->o.n_sms, sms, sizeof(sms));
	trace_line(s, "  -> begin %s: SMs %s", t->name, sms);
}

static void apply_action(struct sim *s, const struct sched_action *a)
{
	static const char *const names[] = {
		"begin", "preempt", "shrink", "grant", "grow", "native", "hold", "release"};
	uint8_t quota[CTL_MAX_SMS];
	struct sim_launch *l;
	char sms[128];

	if (!a->launch) {
		apply_to_tenant(s, a, names[a->type]);
		return;
	}
	s->words++;
	l = sched_launch_user(a->launch);
	sched_quotas(s->sched, a->launch, quota);
	sim_sms_text(quota, s->o.n_sms, sms, sizeof(sms));
	trace_line(s, "  -> %s %s %s: SMs %s%s", names[a->type], l->tenant->name, l->name, sms,
		a->first ? " (first)" : "");
	if (a->type == SCHED_PREEMPT && !a->first)
		l->preemptions++;
	l->granted = a->type != SCHED_PREEMPT;
	if (a->type == SCHED_PREEMPT && l->drains && l->present == 0)
		sched_absent(s->sched, a->launch);
	if (a->type == SCHED_GROW)
		launch_more_workers(s, l, quota);
	tell_quotas(s, l, quota);
	answer_grant(s, l);
}

static void decide_and_apply(struct sim *s)
{
	struct sched_action a;

	for (struct sim_tenant *t = s->tenants; t; t = t->next) {
		for (struct sim_stream *q = t->streams; q; q = q->next) {
			if (!q->first)
				continue;
			sched_progress(s->sched, q->first->handle, q->first->finished);
			sched_started(s->sched, s->now, q->first->handle, q->first->ticket);
		}
	}
	sim_fail(s, sched_decide(s->sched, s->now));
	while (sched_next(s->sched, &a))
		apply_action(s, &a);
}

/* ---- workers ---- */

static void next_ticket(struct sim *s, const struct sim_event *e);

static void stream_leave(const struct sim_launch *l);
static void start_next(struct sim *s, const struct sim_launch *prev);

/* Submits the same launch again after the pause. */
static void repeat_launch(struct sim *s, struct sim_launch *l)
{
	struct sim_event e = {.fn = sim_submit, .line = l->line};
	char name[sizeof(l->name)];
	size_t stem = strcspn(l->name, "#");
	struct number n = {0};

	if (l->count <= 1)
		return;
	if (l->name[stem])
		n = number_digits(l->name + stem + 1, SIZE_MAX, 10);
	snprintf(name, sizeof(name), "%.*s#%llu", (int)stem, l->name,
		(unsigned long long)n.value + 1);
	e.l = l->again = sim_new_launch(s, l->tenant, name);
	if (!e.l) {
		sim_fail(s, -ENOMEM);
		return;
	}
	e.l->total = l->total;
	e.l->block_ns = l->block_ns;
	e.l->wps = l->wps;
	e.l->use = l->use;
	e.l->stream = l->stream;
	e.l->stream_priority = l->stream_priority;
	e.l->count = l->count - 1;
	e.l->gap_ns = l->gap_ns;
	e.l->line = l->line;
	e.l->repeated = true;
	sim_at(s, s->now + l->gap_ns, e);
}

static void finish_launch(struct sim *s, struct sim_launch *l)
{
	struct sched_launch *h = l->handle;

	l->done = true;
	l->done_ns = s->now;
	stream_leave(l);
	l->handle = NULL;
	trace_line(s, "%s %s done after %.3f ms", l->tenant->name, l->name,
		(double)(s->now - l->submit_ns) / 1e6);
	sched_end(s->sched, s->now, h, true, 0);
	decide_and_apply(s);
	start_next(s, l);
	repeat_launch(s, l);
}

static void give_number(struct sim_tenant *t, uint32_t sm)
{
	if (!t->number[sm])
		t->number[sm] = ++t->n_numbers;
}

/* Gives the tenant's numbers to SMs when one of its workers starts on SM `sm`. If the tenant had no
 * workers on the device, its old numbers are dropped first, and SMs get new numbers: all SMs, or
 * with numbering=own only those that have room for one of the tenant's workers. An SM without a
 * number gets one when a worker of the tenant starts there. */
static void number_sms(struct sim *s, struct sim_launch *l, uint32_t sm)
{
	struct sim_tenant *t = l->tenant;

	if (t->present++ == 0) {
		memset(t->number, 0, sizeof(t->number));
		t->n_numbers = 0;
		for (uint32_t i = 0; i < s->o.n_sms; i++) {
			if (!s->o.renumbers || s->free[i] >= SIM_CAPACITY / l->wps)
				give_number(t, i);
		}
	}
	give_number(t, sm);
}

/* Sets the number of a tenant's workers on an SM. */
static void set_on_sm(struct sim *s, struct sim_tenant *t, uint32_t sm, uint32_t count)
{
	struct sim_stay stay = {.t = s->now};
	size_t n = t->stays.len;

	t->sms += (count != 0) - (t->on_sm[sm] != 0);
	t->on_sm[sm] = count;
	stay.sms = t->sms;
	if (!s->keeps_stays || (n && t->stays.at[n - 1].sms == t->sms))
		return;
	if (n && t->stays.at[n - 1].t == s->now)
		t->stays.at[n - 1] = stay;
	else if (!VEC_PUSH(&t->stays, stay))
		sim_fail(s, -ENOMEM);
}

static void worker_exit(struct sim *s, struct sim_launch *l, uint32_t sm)
{
	s->free[sm] += SIM_CAPACITY / l->wps;
	s->occupied -= SIM_CAPACITY / l->wps;
	l->on_sm[sm]--;
	set_on_sm(s, l->tenant, sm, l->tenant->on_sm[sm] - 1);
	l->tenant->present--;
	if (--l->present)
		return;
	l->wait_since_ns = s->now;
	if (l->finished == l->total) {
		finish_launch(s, l);
		return;
	}
	/* If all quotas are 0 and workers start one after another, each of them is the last worker
	 * when it exits, and so drains the launch. Write only one line of the trace for all these
	 * drains. */
	if (l->drains++ == 0 || l->finished != l->said)
		trace_line(s, "%s %s drained at %llu of %llu", l->tenant->name, l->name,
			(unsigned long long)l->finished, (unsigned long long)l->total);
	l->said = l->finished;
	sched_progress(s->sched, l->handle, l->finished);
	sched_drained(s->sched, s->now, l->handle);
	decide_and_apply(s);
	answer_grant(s, l);
}

/* Returns how long a block that begins now on SM `sm` takes. If the blocks on an SM together need
 * more than 100 percent of the SM, all of them are slower by the same factor. The duration of a
 * block is not changed after the block has begun. */
static uint64_t block_time(const struct sim *s, const struct sim_launch *l, uint32_t sm)
{
	uint64_t percent = 0;

	for (const struct sim_launch *o = l->use ? s->launches : NULL; o; o = o->next)
		percent += (uint64_t)o->on_sm[sm] * o->use;
	return percent > 100 ? l->block_ns * percent / 100 : l->block_ns;
}

static void run_worker(struct sim *s, struct sim_launch *l, uint32_t sm)
{
	struct sim_event e = {.fn = next_ticket, .l = l, .sm = sm};

	if (l->on_sm[sm] > l->quota[l->tenant->number[sm] - 1] || l->ticket >= l->total) {
		worker_exit(s, l, sm);
		return;
	}
	l->ticket++;
	l->used_sm[sm] = 1;
	sim_at(s, s->now + block_time(s, l, sm), e);
}

static void next_ticket(struct sim *s, const struct sim_event *e)
{
	if (e->l->tenant->gone)
		return;
	e->l->finished++;
	run_worker(s, e->l, e->sm);
	place_workers(s);
}

/* Returns the SM with the most free capacity. The search begins after the last SM that was used. So
 * if several SMs are equally free, a worker that exits at once is not placed on the same SM
 * again. */
static int find_roomiest_sm(const struct sim *s, uint32_t need)
{
	int best = -1;

	for (uint32_t k = 0; k < s->o.n_sms; k++) {
		uint32_t i = (s->next_sm + k) % s->o.n_sms;

		if (s->free[i] >= need && (best < 0 || s->free[i] > s->free[best]))
			best = (int)i;
	}
	return best;
}

static void place_worker(struct sim *s, struct sim_launch *l, uint32_t sm)
{
	number_sms(s, l, sm);
	s->free[sm] -= SIM_CAPACITY / l->wps;
	s->occupied += SIM_CAPACITY / l->wps;
	l->on_sm[sm]++;
	set_on_sm(s, l->tenant, sm, l->tenant->on_sm[sm] + 1);
	if (l->present++ == 0)
		l->waited_ns += s->now - l->wait_since_ns;
	if (!l->arrived) {
		l->arrived = true;
		trace_line(s, "%s %s arrives", l->tenant->name, l->name);
		memcpy(l->quota, l->tenant->begin, sizeof(l->quota));
		l->granted = l->tenant->n_begin > 0;
		sched_arrive(s->sched, s->now, l->handle, SCHED_BEGAN_TOLD);
		decide_and_apply(s);
	}
	run_worker(s, l, sm);
}

static bool round_is_over(const struct sim_round *r)
{
	return !r->workers || r->l->done || r->l->tenant->gone;
}

/* Returns the first of the waiting grids of workers with the highest priority, or NULL if there is
 * none. Removes grids whose workers are all placed, or whose launch or tenant has ended. */
static struct sim_round *next_round(struct sim *s)
{
	struct sim_round *best = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->rounds.len; i++) {
		struct sim_round *r = &s->rounds.at[n];

		if (round_is_over(&s->rounds.at[i]))
			continue;
		*r = s->rounds.at[i];
		n++;
		if (!best || r->l->tenant->priority > best->l->tenant->priority)
			best = r;
	}
	s->rounds.len = n;
	return best;
}

/* The dispatcher. Grids are ordered by priority, then by arrival. It places all workers of the
 * first grid, and only then those of the next. */
static void place_workers(struct sim *s)
{
	struct sim_round *r;

	while ((r = next_round(s))) {
		struct sim_launch *l = r->l;
		int sm = find_roomiest_sm(s, SIM_CAPACITY / l->wps);

		if (sm < 0)
			return;
		r->workers--;
		s->next_sm = (uint32_t)sm + 1;
		place_worker(s, l, (uint32_t)sm);
	}
}

/* ---- tenants ---- */

static struct sim_stream *stream_of(const struct sim_launch *l)
{
	struct sim_stream *q = l->tenant->streams;

	while (q && q->id != l->stream)
		q = q->next;
	return q;
}

/* Appends the launch to its stream, and creates the stream if necessary. Returns 0 or -ENOMEM. */
static int stream_enter(struct sim_launch *l)
{
	struct sim_stream *q = stream_of(l);

	if (!q) {
		q = calloc(1, sizeof(*q));
		if (!q)
			return -ENOMEM;
		q->id = l->stream;
		q->next = l->tenant->streams;
		l->tenant->streams = q;
	}
	if (q->last)
		q->last->behind = l;
	else
		q->first = l;
	q->last = l;
	return 0;
}

/* Removes a launch that is done from its stream. It is always the first one, because only the first
 * launch of a stream runs. */
static void stream_leave(const struct sim_launch *l)
{
	struct sim_stream *q = stream_of(l);

	q->first = l->behind;
	if (!q->first)
		q->last = NULL;
}

static void start_launch(struct sim *s, struct sim_launch *l)
{
	struct sim_event e = {.fn = launch_workers, .l = l};

	l->started = true;
	e.n = (uint32_t)MIN(l->total, (uint64_t)s->o.n_sms * l->wps);
	sim_at(s, s->now + 5000 + l->before_ns, e);
}

static void start_next(struct sim *s, const struct sim_launch *prev)
{
	struct sim_launch *next = stream_of(prev)->first;

	if (next && !next->started)
		start_launch(s, next);
}

/* Returns true if the tenant exists at the time of the event. An event after the tenant has left is
 * ignored. An event before the tenant has joined is an error in the file. */
static bool has_joined(struct sim *s, const struct sim_event *e, const struct sim_tenant *t)
{
	if (t->handle)
		return true;
	if (!t->gone && !s->status) {
		snprintf(s->error, sizeof(s->error), "%s has not joined by then", t->name);
		s->error_line = e->line;
		sim_fail(s, -EINVAL);
	}
	return false;
}

static int engine_create(struct sim *s)
{
	int r = durations_create(&s->durations);

	s->o.policy_options = s->policy_options;
	s->o.model = &model_durations;
	s->o.model_state = s->durations;
	return r == 0 ? sched_create(&s->o, s->policy, &s->sched) : r;
}

/* Returns the model's number of the launch's kernel. Kernels of one name are one kernel, whichever
 * tenant launches them. */
static uint64_t kernel_number(const struct sim *s, const struct sim_launch *l)
{
	const struct duration_owner owner = {.n_sms = s->o.n_sms, .device = "sim"};
	char name[sizeof(l->name)];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(l->name, "#"), l->name);
	return durations_number(s->durations, &owner, l->kernel, name);
}

void sim_join(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	int r = 0;

	trace_line(s, "%s joins", t->name);
	if (!s->sched)
		r = engine_create(s);
	if (r == 0)
		r = sched_join(s->sched, s->now, e->n, t->priority, t->weight, t, &t->handle);
	if (r < 0) {
		sim_fail(s, r);
		return;
	}
	memset(t->begin, CTL_NO_QUOTA, sizeof(t->begin));
	t->n_begin = s->o.n_sms;
	decide_and_apply(s);
}

void sim_submit(struct sim *s, const struct sim_event *e)
{
	struct sim_launch *l = e->l;
	struct sim_tenant *t = l->tenant;
	struct sched_launch_info info = {.id = t->next_id++,
		.total = l->total,
		.threads = SIM_THREADS / l->wps,
		.shared_bytes = SIM_CAPACITY / l->wps,
		.workers_per_sm = l->wps,
		.stream_priority = l->stream_priority,
		.user = l};
	int r;

	if (!has_joined(s, e, t))
		return;
	trace_line(s, "%s %s submitted", t->name, l->name);
	info.kernel = kernel_number(s, l);
	l->id = info.id;
	l->submit_ns = l->wait_since_ns = s->now;
	r = sched_submit(s->sched, s->now, t->handle, &info, &l->handle);
	if (r == 0)
		r = stream_enter(l);
	if (r < 0) {
		sim_fail(s, r);
		return;
	}
	if (stream_of(l)->first == l)
		start_launch(s, l);
	decide_and_apply(s);
}

void sim_priority(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	if (!has_joined(s, e, t))
		return;
	trace_line(s, "%s has priority %u", t->name, (unsigned)e->n);
	t->priority = (int)e->n;
	sched_set_priority(s->sched, t->handle, t->priority);
	decide_and_apply(s);
}

void sim_weight(struct sim *s, const struct sim_event *e)
{
	if (!has_joined(s, e, e->tenant))
		return;
	trace_line(s, "%s has weight %u", e->tenant->name, (unsigned)e->n);
	e->tenant->weight = e->n;
	sched_set_weight(s->sched, e->tenant->handle, e->n);
	decide_and_apply(s);
}

double sim_work(const struct sim *s, const struct sim_tenant *t)
{
	double work = 0;

	for (const struct sim_launch *l = s->launches; l; l = l->next)
		if (l->tenant == t)
			work += (double)l->finished * (double)l->block_ns / l->wps;
	return work;
}

/* Removes a launch and its workers when its program leaves. */
static void cut_off_launch(struct sim *s, struct sim_launch *l)
{
	l->handle = NULL;
	l->done_ns = s->now;
	if (!l->present)
		l->waited_ns += s->now - l->wait_since_ns;
	for (uint32_t i = 0; i < s->o.n_sms; i++) {
		s->free[i] += l->on_sm[i] * (SIM_CAPACITY / l->wps);
		s->occupied -= l->on_sm[i] * (SIM_CAPACITY / l->wps);
	}
}

void sim_leave(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	if (!has_joined(s, e, t))
		return;
	trace_line(s, "%s is gone", t->name);
	t->gone = true;
	for (struct sim_stream *q = t->streams; q; q = q->next) {
		for (struct sim_launch *l = q->first; l; l = l->behind)
			cut_off_launch(s, l);
	}
	for (uint32_t i = 0; i < s->o.n_sms; i++)
		set_on_sm(s, t, i, 0);
	streams_free(t);
	sched_leave(s->sched, s->now, t->handle);
	t->handle = NULL;
	decide_and_apply(s);
	place_workers(s);
}

/* Begins or ends opaque (unmanaged) work. Values of n: 1: it begins; 0: it ends; 2: it ends, and
 * the program does not wait for the end. */
void sim_opaque(struct sim *s, const struct sim_event *e)
{
	if (!has_joined(s, e, e->tenant))
		return;
	trace_line(s, "%s opaque work %s%s", e->tenant->name, e->n & 1 ? "begins" : "ends",
		e->n & 2 ? ", not waited for" : "");
	sched_opaque(s->sched, s->now, e->tenant->handle, e->n & 1, !(e->n & 2));
	decide_and_apply(s);
}

void sim_copied(struct sim *s, const struct sim_event *e)
{
	if (has_joined(s, e, e->tenant))
		sched_copied(s->sched, e->tenant->handle, s->now, s->now);
}

void sim_pin(struct sim *s, const struct sim_event *e)
{
	if (!has_joined(s, e, e->tenant))
		return;
	trace_line(s, "%s %s", e->tenant->name, e->n ? "pins what it runs" : "unpins");
	sched_pin(s->sched, e->tenant->handle, e->n != 0);
	decide_and_apply(s);
}

void sim_idle(struct sim *s, const struct sim_event *e)
{
	if (!has_joined(s, e, e->tenant) || !e->l->handle)
		return;
	trace_line(s, "%s %s has %s", e->tenant->name, e->l->name, e->n ? "no tasks" : "tasks");
	sched_idle(s->sched, s->now, e->l->handle, e->n != 0);
	decide_and_apply(s);
}

static void handle_deadline(struct sim *s, const struct sim_event *e)
{
	(void)e;
	decide_and_apply(s);
}

/* Advances the time, and adds the occupied SM time to busy_ns. */
static void pass_time(struct sim *s, uint64_t until)
{
	s->busy_ns += (double)s->occupied / SIM_CAPACITY * (double)(until - s->now);
	s->now = until;
}

/* Adds an event at the engine's deadline, unless another event comes earlier. */
static void plan_tick(struct sim *s)
{
	uint64_t deadline = s->sched ? sched_deadline(s->sched) : UINT64_MAX;
	const struct sim_event *next = sim_next(s);
	struct sim_event e = {.fn = handle_deadline};

	if (deadline < (next ? next->t : UINT64_MAX))
		sim_at(s, MAX(deadline, s->now), e);
}

int sim_run(struct sim *s)
{
	s->running = true;
	sim_sort_planned(s);
	while (!s->status) {
		const struct sim_event *next;
		struct sim_event e;

		plan_tick(s);
		next = sim_next(s);
		if (!next)
			break;
		if (next->t > s->end) {
			pass_time(s, s->end);
			break;
		}
		e = sim_pop(s);
		pass_time(s, e.t);
		e.fn(s, &e);
		if (s->watch)
			s->watch(s, s->watch_user);
	}
	if (!s->quiet && s->trace.failed)
		sim_fail(s, -ENOMEM);
	return s->status;
}
