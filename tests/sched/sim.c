/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The simulated device. */
#include "sim.h"

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
	s->last = &s->launches;
	for (unsigned i = 0; i < CTL_MAX_SMS; i++)
		s->free[i] = SIM_CAPACITY;
}

void sim_finish(struct sim *s)
{
	sched_destroy(s->sched);
	for (struct sim_launch *l = s->launches, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	for (struct sim_tenant *t = s->tenants, *next; t; t = next) {
		next = t->next;
		free(t);
	}
	VEC_FREE(&s->events);
	VEC_FREE(&s->rounds);
	strbuf_finish(&s->trace);
}

static void HD_PRINTF(2, 3) say(struct sim *s, const char *fmt, ...)
{
	char line[256];
	va_list ap;

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

/* ---- events: a heap by time and order of making ---- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->t != b->t ? a->t < b->t : a->order < b->order;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
	struct sim_event x = *a;

	*a = *b;
	*b = x;
}

void sim_at(struct sim *s, uint64_t t, struct sim_event e)
{
	struct sim_event *h;
	size_t i;

	e.t = t;
	e.order = s->order++;
	if (!VEC_PUSH(&s->events, e))
		abort();
	h = s->events.at;
	for (i = s->events.len - 1; i && before(&h[i], &h[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&h[i], &h[(i - 1) / 2]);
}

static struct sim_event pop(struct sim *s)
{
	struct sim_event *h = s->events.at, e = h[0];
	size_t n = --s->events.len, i = 0;

	h[0] = h[n];
	for (;;) {
		size_t c = 2 * i + 1;

		if (c + 1 < n && before(&h[c + 1], &h[c]))
			c++;
		if (c >= n || !before(&h[c], &h[i]))
			return e;
		swap(&h[c], &h[i]);
		i = c;
	}
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

struct sim_launch *sim_new_launch(struct sim *s, struct sim_tenant *t, const char *name)
{
	struct sim_launch *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	l->tenant = t;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->kernel = hash_bytes(name, strcspn(name, "#"), 1);
	*s->last = l;
	s->last = &l->next;
	return l;
}

/* ---- the engine's answers ---- */

static void place(struct sim *s);

static void launch_workers(struct sim *s, const struct sim_event *e)
{
	struct sim_round r = {e->l, e->n};

	if (e->l->done || e->l->tenant->gone)
		return;
	if (e->l->answering && e->value) {
		e->l->answering = false;
		/* Withdrawn meanwhile: the answer stays owed. */
		if (!e->l->granted) {
			e->l->answered = e->l->drains - 1;
			return;
		}
	}
	if (!VEC_PUSH(&s->rounds, r))
		abort();
	place(s);
}

static uint32_t allowed_workers(const struct sim *s, const struct sim_launch *l)
{
	uint32_t sms = 0;

	for (uint32_t i = 0; i < s->o.n_sms; i++)
		sms += l->quota[i] != 0;
	return (uint32_t)MIN((uint64_t)sms * l->wps, l->total - l->finished);
}

/* What the tenant owes: one round of workers for each time that all had left. */
static void answer(struct sim *s, struct sim_launch *l)
{
	struct sim_event e = {.fn = launch_workers, .l = l, .value = 1};

	if (!l->granted || l->done || l->drains == l->answered || l->answering)
		return;
	l->answered = l->drains;
	l->answering = true;
	e.n = allowed_workers(s, l);
	sim_at(s, s->now + s->relaunch_ns, e);
}

static void quotas_arrive(struct sim *s, const struct sim_event *e)
{
	memcpy(e->l->quota, e->quota, sizeof(e->quota));
	/* Workers look at their next ticket. */
	(void)s;
}

static void apply(struct sim *s, const struct sched_action *a)
{
	static const char *const names[] = {
		"begin", "preempt", "shrink", "grant", "grow", "native", "hold", "release"};
	struct sim_tenant *t = sched_tenant_user(a->tenant);
	struct sim_event e = {.fn = quotas_arrive};
	char sms[128];

	if (a->type == SCHED_BEGIN) {
		sched_begin_quotas(s->sched, t->handle, t->begin);
		t->n_begin = a->n_sms;
		sim_sms_text(t->begin, s->o.n_sms, sms, sizeof(sms));
		say(s, "  -> begin %s: SMs %s", t->name, sms);
		return;
	}
	if (!a->launch) {
		t->hold = a->type == SCHED_HOLD;
		say(s, "  -> %s %s", names[a->type], t->name);
		return;
	}
	s->words++;
	e.l = sched_launch_user(a->launch);
	sched_quotas(s->sched, a->launch, e.quota);
	sim_sms_text(e.quota, s->o.n_sms, sms, sizeof(sms));
	say(s, "  -> %s %s %s: SMs %s%s", names[a->type], t->name, e.l->name, sms,
		a->first ? " (first)" : "");
	if (a->type == SCHED_PREEMPT && !a->first)
		e.l->preemptions++;
	e.l->granted = a->type != SCHED_PREEMPT;
	if (a->type == SCHED_PREEMPT && e.l->drains && e.l->present == 0)
		sched_absent(s->sched, a->launch);
	if (e.l->present == 0)
		memcpy(e.l->quota, e.quota, sizeof(e.quota)); /* in place before any worker */
	else
		sim_at(s, s->now + s->relay_ns, e);
	if (a->type == SCHED_GROW) {
		uint32_t gained = 0;

		for (uint32_t i = 0; i < s->o.n_sms; i++)
			gained += e.quota[i] && !e.l->quota[i];
		e.fn = launch_workers;
		e.n = gained * e.l->wps;
		sim_at(s, s->now + s->relaunch_ns, e);
	}
	answer(s, e.l);
}

static void decide(struct sim *s)
{
	struct sched_action a;

	for (struct sim_launch *l = s->launches; l; l = l->next) {
		if (l->handle)
			sched_progress(s->sched, l->handle, l->finished);
	}
	if (sched_decide(s->sched, s->now) < 0)
		abort();
	while (sched_next(s->sched, &a))
		apply(s, &a);
}

/* ---- workers ---- */

static void next_ticket(struct sim *s, const struct sim_event *e);

static void start_next(struct sim *s, struct sim_launch *prev);

static void finish_launch(struct sim *s, struct sim_launch *l)
{
	struct sched_launch *h = l->handle;

	l->done = true;
	l->done_ns = s->now;
	l->handle = NULL;
	say(s, "%s %s done after %.3f ms", l->tenant->name, l->name,
		(double)(s->now - l->submit_ns) / 1e6);
	sched_end(s->sched, s->now, h, true, 0);
	decide(s);
	start_next(s, l);
	if (l->count > 1) {
		struct sim_event e = {.fn = sim_submit};
		char name[32];
		const char *hash = strchr(l->name, '#');

		snprintf(name, sizeof(name), "%.*s#%d", (int)strcspn(l->name, "#"), l->name,
			hash ? atoi(hash + 1) + 1 : 1);
		e.l = sim_new_launch(s, l->tenant, name);
		e.l->total = l->total;
		e.l->block_ns = l->block_ns;
		e.l->wps = l->wps;
		e.l->stream = l->stream;
		e.l->stream_priority = l->stream_priority;
		e.l->count = l->count - 1;
		e.l->gap_ns = l->gap_ns;
		sim_at(s, s->now + l->gap_ns, e);
	}
}

static void give_number(struct sim_tenant *t, uint32_t sm)
{
	if (!t->number[sm])
		t->number[sm] = ++t->n_numbers;
}

/* Who comes with nothing there numbers all SMs that have room for it; others as it comes to them.
 */
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

static void worker_exit(struct sim *s, struct sim_launch *l, uint32_t sm)
{
	s->free[sm] += SIM_CAPACITY / l->wps;
	l->on_sm[sm]--;
	l->tenant->present--;
	if (--l->present)
		return;
	if (l->finished == l->total) {
		finish_launch(s, l);
		return;
	}
	/* A round that meets zeros drains with each of its workers: one line will do. */
	if (l->drains++ == 0 || l->finished != l->said)
		say(s, "%s %s drained at %llu of %llu", l->tenant->name, l->name,
			(unsigned long long)l->finished, (unsigned long long)l->total);
	l->said = l->finished;
	sched_drained(s->sched, s->now, l->handle);
	decide(s);
	answer(s, l);
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
	sim_at(s, s->now + l->block_ns, e);
}

static void next_ticket(struct sim *s, const struct sim_event *e)
{
	if (e->l->tenant->gone)
		return;
	e->l->finished++;
	run_worker(s, e->l, e->sm);
	place(s);
}

/* Of equals the next one round, so that who leaves at once does not come there again while others
 * are free. */
static int roomiest(const struct sim *s, uint32_t need)
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
	l->on_sm[sm]++;
	l->present++;
	if (!l->arrived) {
		l->arrived = true;
		say(s, "%s %s arrives", l->tenant->name, l->name);
		memcpy(l->quota, l->tenant->begin, sizeof(l->quota));
		l->granted = l->tenant->n_begin > 0;
		sched_arrive(s->sched, s->now, l->handle,
			l->tenant->n_begin == s->o.n_sms ? SCHED_BEGAN_FREE : SCHED_BEGAN_TOLD);
		decide(s);
	}
	run_worker(s, l, sm);
}

/* The dispatcher: the first round of the highest priority, whole, before the next. */
static void place(struct sim *s)
{
	for (;;) {
		size_t best = s->rounds.len;
		struct sim_launch *l;
		int sm;

		for (size_t i = 0; i < s->rounds.len; i++) {
			struct sim_round *r = &s->rounds.at[i];

			if (r->workers && !r->l->done && !r->l->tenant->gone &&
				(best == s->rounds.len ||
					r->l->tenant->priority >
						s->rounds.at[best].l->tenant->priority))
				best = i;
		}
		if (best == s->rounds.len) {
			s->rounds.len = 0;
			return;
		}
		l = s->rounds.at[best].l;
		sm = roomiest(s, SIM_CAPACITY / l->wps);
		if (sm < 0)
			return;
		s->rounds.at[best].workers--;
		s->next_sm = (uint32_t)sm + 1;
		place_worker(s, l, (uint32_t)sm);
	}
}

/* ---- tenants ---- */

static bool stream_is_free(const struct sim *s, const struct sim_launch *l)
{
	for (const struct sim_launch *o = s->launches; o; o = o->next) {
		if (o != l && o->tenant == l->tenant && o->stream == l->stream && o->handle &&
			o->id < l->id)
			return false;
	}
	return true;
}

static void start(struct sim *s, struct sim_launch *l)
{
	struct sim_event e = {.fn = launch_workers, .l = l};

	l->started = true;
	e.n = (uint32_t)MIN(l->total, (uint64_t)s->o.n_sms * l->wps);
	sim_at(s, s->now + 5000 + l->before_ns, e);
}

static void start_next(struct sim *s, struct sim_launch *prev)
{
	for (struct sim_launch *l = s->launches; l; l = l->next) {
		if (l->handle && !l->started && l->tenant == prev->tenant && stream_is_free(s, l))
			start(s, l);
	}
}

void sim_join(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	say(s, "%s joins", t->name);
	if (!s->sched && sched_create(&s->o, s->policy, &s->sched) < 0)
		abort();
	if (sched_join(s->sched, s->now, e->n, t->priority, t->weight, t, &t->handle) < 0)
		abort();
	memset(t->begin, CTL_NO_QUOTA, sizeof(t->begin));
	t->n_begin = s->o.n_sms;
	decide(s);
}

void sim_submit(struct sim *s, const struct sim_event *e)
{
	struct sim_launch *l = e->l;
	struct sim_tenant *t = l->tenant;
	struct sched_launch_info info = {.id = t->next_id++,
		.kernel = l->kernel,
		.total = l->total,
		.threads = 256,
		.workers_per_sm = l->wps,
		.stream_priority = l->stream_priority,
		.user = l};

	if (t->gone)
		return;
	if (!t->handle) {
		snprintf(s->error, sizeof(s->error), "%s has not joined", t->name);
		return;
	}
	say(s, "%s %s submitted", t->name, l->name);
	l->id = info.id;
	l->submit_ns = s->now;
	if (sched_submit(s->sched, s->now, t->handle, &info, &l->handle) < 0)
		abort();
	if (stream_is_free(s, l))
		start(s, l);
	decide(s);
}

void sim_priority(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	if (!t->handle)
		return;
	say(s, "%s has priority %u", t->name, (unsigned)e->n);
	t->priority = (int)e->n;
	sched_set_priority(s->sched, t->handle, t->priority);
	decide(s);
}

void sim_weight(struct sim *s, const struct sim_event *e)
{
	if (!e->tenant->handle)
		return;
	say(s, "%s has weight %u", e->tenant->name, (unsigned)e->n);
	sched_set_weight(s->sched, e->tenant->handle, e->n);
	decide(s);
}

double sim_work(const struct sim *s, const struct sim_tenant *t)
{
	double work = 0;

	for (const struct sim_launch *l = s->launches; l; l = l->next)
		if (l->tenant == t)
			work += (double)l->finished * (double)l->block_ns / l->wps;
	return work;
}

void sim_leave(struct sim *s, const struct sim_event *e)
{
	struct sim_tenant *t = e->tenant;

	say(s, "%s is gone", t->name);
	t->gone = true;
	for (struct sim_launch *l = s->launches; l; l = l->next) {
		if (l->tenant != t)
			continue;
		l->handle = NULL;
		for (uint32_t i = 0; i < s->o.n_sms; i++)
			s->free[i] += l->on_sm[i] * (SIM_CAPACITY / l->wps);
	}
	sched_leave(s->sched, s->now, t->handle);
	t->handle = NULL;
	decide(s);
	place(s);
}

/* value: how many more bursts of n ns with pauses of value2 ns; see runner.c. */
void sim_opaque(struct sim *s, const struct sim_event *e)
{
	if (e->tenant->gone)
		return;
	say(s, "%s opaque work %s%s", e->tenant->name, e->n & 1 ? "begins" : "ends",
		e->n & 2 ? ", not waited for" : "");
	sched_opaque(s->sched, s->now, e->tenant->handle, e->n & 1, !(e->n & 2));
	decide(s);
}

void sim_copied(struct sim *s, const struct sim_event *e)
{
	if (!e->tenant->gone)
		sched_copied(e->tenant->handle, s->now, s->now);
}

void sim_pin(struct sim *s, const struct sim_event *e)
{
	if (e->tenant->gone)
		return;
	say(s, "%s %s", e->tenant->name, e->n ? "pins what it runs" : "unpins");
	sched_pin(s->sched, e->tenant->handle, e->n != 0);
	decide(s);
}

void sim_idle(struct sim *s, const struct sim_event *e)
{
	if (e->tenant->gone || !e->l->handle)
		return;
	say(s, "%s %s has %s", e->tenant->name, e->l->name, e->n ? "no tasks" : "tasks");
	sched_idle(s->sched, s->now, e->l->handle, e->n != 0);
	decide(s);
}

static void tick(struct sim *s, const struct sim_event *e)
{
	(void)e;
	decide(s);
}

void sim_run(struct sim *s)
{
	while (!s->error[0]) {
		uint64_t deadline = s->sched ? sched_deadline(s->sched) : UINT64_MAX;
		struct sim_event e;

		if (deadline < (s->events.len ? s->events.at[0].t : UINT64_MAX)) {
			struct sim_event t = {.fn = tick};

			sim_at(s, MAX(deadline, s->now), t);
		}
		if (!s->events.len)
			return;
		e = pop(s);
		if (e.t > s->end)
			return;
		s->now = e.t;
		e.fn(s, &e);
	}
}
