/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: waits [--first SEED] [--count N]
 *        waits --print SEED
 * Runs random traces under policy hpf, with several tenants of one priority. Each launches back to
 * back, with pauses, or one long kernel. Checks that these properties always hold:
 * - first: while a launch of unknown duration gets no SM, no launch of equal priority has any,
 * unless that launch is overdue, is of unknown duration, too, or ends sooner than it could be
 * preempted;
 * - waits: no launch waits behind equals for longer than HEDDLE_LANES_WAIT_MAX_NS until a block of
 * it starts, or a block of another launch of its program, which may fill the device;
 * - vain: no launch loses its SMs to equals before a block of it has ended more often than
 * HEDDLE_LANES_VAIN_MAX times in a second.
 * At the end each launch has run every block exactly once. A failure prints the seed; --print SEED
 * prints the trace. */
#include "sched/policy/policy_hpf.c"
#include "sim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENANTS 10
#define STREAMS 2

struct random {
	uint64_t seed, at;
};

/* Returns a number from 0 to n - 1. */
static uint32_t any_of(struct random *r, uint32_t n)
{
	return (uint32_t)(random_bits(r->seed, r->at++) % n);
}

/* ---- a trace ---- */

static void add_launches(
	struct random *r, unsigned tenant, unsigned stream, uint32_t sms, struct strbuf *b)
{
	static const char *const gaps[] = {"0us", "5us", "50us", "300us", "2ms"};
	static const uint32_t block_us[] = {10, 10, 50, 200, 1000};
	uint32_t block = block_us[any_of(r, ARRAY_LEN(block_us))], wps = 1 + any_of(r, 3);
	uint32_t long_ms = any_of(r, 3) ? 1 + any_of(r, 4) : 20 + any_of(r, 400);
	uint32_t blocks = MAX(1000 * long_ms * sms * wps / block, 1);
	uint32_t count = 1 + any_of(r, MAX(600 / long_ms, 1));

	strbuf_printf(b,
		"at %uus launch t%u k%u~%u blocks=%u block=%uus wps=%u count=%u gap=%s "
		"stream=%u sprio=%u\n",
		1000 * any_of(r, 300), tenant, any_of(r, 6), 10 * tenant + stream, blocks, block,
		wps, count, gaps[any_of(r, ARRAY_LEN(gaps))], stream, any_of(r, 2));
}

static void make_trace(uint64_t seed, struct strbuf *b)
{
	struct random r = {.seed = seed};
	uint32_t sms = 1 + any_of(&r, 3), n = 2 + any_of(&r, TENANTS - 1);

	strbuf_printf(b, "device sms=%u cost=20us mode=%s preempt=%s relay=%uus relaunch=%uus\n",
		sms, any_of(&r, 3) ? "simultaneous" : "turns",
		any_of(&r, 2) ? "spatial" : "temporal", any_of(&r, 40), 1 + any_of(&r, 40));
	for (unsigned t = 0; t < n; t++) {
		strbuf_printf(b, "at 0us join t%u prio=%u\n", t, any_of(&r, 5) ? 1 : 2);
		for (unsigned q = 0; q <= any_of(&r, STREAMS); q++)
			add_launches(&r, t, q, sms, b);
	}
}

/* ---- properties ---- */

struct slot {
	const struct sim_launch *l;
	uint64_t behind_ns, finished, granted_finished;
	uint64_t vain_ns[HEDDLE_LANES_VAIN_MAX];
	uint32_t n_vain;
	bool behind, granted, taken;
};

static struct checker {
	uint64_t seed, now_ns, longest_ns;
	uint32_t most_vain;
	bool has_lane[3]; /* a launch of this priority has a lane, that is, may run now */
	struct slot slots[TENANTS][STREAMS];
	unsigned failures;
} check;

static void checker_fail(const char *what, const char *tenant, const char *launch)
{
	if (check.failures++)
		return; /* report only the first failure */
	fprintf(stderr, "seed %llu at %.3f ms: %s: %s %s\n", (unsigned long long)check.seed,
		(double)check.now_ns / 1e6, what, tenant, launch);
}

/* Returns whether, by the paper's rule, a launch of unknown duration may preempt this one. */
static bool may_be_preempted(const struct heddle_lane_kernel *k)
{
	uint64_t left = k->kernel->remaining_ns;
	uint64_t ns = k->kernel->predicted_ns == HEDDLE_POLICY_UNKNOWN ? left / 2 : left;

	return left != HEDDLE_POLICY_UNKNOWN && !k->overdue &&
	       (!k->kernel->running || !k->kernel->begun || ns > k->kernel->cost_ns);
}

/* Returns whether every kernel of the lane may be preempted. A single one that may not protects the
 * others. */
static bool lane_may_be_preempted(const struct filling *f, uint32_t lane)
{
	for (uint32_t i = 0; i < f->len; i++) {
		if (f->at[i].lane == lane && !may_be_preempted(&f->at[i]))
			return false;
	}
	return true;
}

static bool is_unknown_and_waits(const struct heddle_lane_kernel *k)
{
	return k->kernel->kind == HEDDLE_POLICY_MANAGED &&
	       k->kernel->remaining_ns == HEDDLE_POLICY_UNKNOWN && !k->kernel->attained_ns &&
	       !k->kernel->depth && !k->withheld && k->lane == HEDDLE_NO_LANE;
}

static void check_unknown(const struct filling *f, const struct heddle_lane_kernel *u)
{
	for (uint32_t i = 0; i < f->len; i++) {
		const struct heddle_lane_kernel *k = &f->at[i];

		if (k->kernel->kind == HEDDLE_POLICY_MANAGED && k->lane != HEDDLE_NO_LANE &&
			k->tenant != u->tenant && k->tenant->priority == u->tenant->priority &&
			k->turn >= u->turn && lane_may_be_preempted(f, k->lane))
			checker_fail("a launch of unknown duration waits", "", "");
	}
}

static void checked_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	struct filling f;

	if (!hpf_order(&f, state, in))
		exit(1);
	memset(check.has_lane, 0, sizeof(check.has_lane));
	for (uint32_t i = 0; i < f.len; i++) {
		const struct heddle_lane_kernel *k = &f.at[i];

		check.has_lane[k->tenant->priority] |=
			k->kernel->kind == HEDDLE_POLICY_MANAGED && k->lane != HEDDLE_NO_LANE;
		if (is_unknown_and_waits(k))
			check_unknown(&f, k);
	}
	heddle_lanes_plan(f.lanes, in, out, hold_below(&f));
}

static struct heddle_policy checked_table;
static const struct sched_policy checked_hpf = {.name = "hpf", .table = &checked_table};

static void check_vain(struct slot *w, const struct sim_launch *l)
{
	if (w->taken && (l->granted || l->done)) { /* the launch has left since */
		w->taken = false;
		if (l->finished == w->granted_finished) {
			uint64_t *at = &w->vain_ns[w->n_vain++ % HEDDLE_LANES_VAIN_MAX];

			if (w->n_vain > HEDDLE_LANES_VAIN_MAX && check.now_ns - *at < 1000000000)
				checker_fail("gets SMs in vain", l->tenant->name, l->name);
			*at = check.now_ns;
			check.most_vain = MAX(check.most_vain, w->n_vain);
		}
	}
	if (l->granted && !w->granted)
		w->granted_finished = l->finished;
	/* It does not count if a higher priority took the SMs. */
	w->taken |= !l->granted && w->granted && l->handle && check.has_lane[l->tenant->priority];
	w->granted = l->granted;
}

static bool has_workers(const struct sim_tenant *t)
{
	for (const struct sim_stream *q = t->streams; q; q = q->next) {
		if (q->first && q->first->present)
			return true;
	}
	return false;
}

/* Returns whether another launch of the same program has a higher stream priority. */
static bool is_below_own(const struct sim_launch *l)
{
	for (const struct sim_stream *q = l->tenant->streams; q; q = q->next) {
		if (q->first && q->first->stream_priority > l->stream_priority)
			return true;
	}
	return false;
}

static bool waits_behind_equal(const struct sim *s, const struct sim_launch *l)
{
	if (l->present || is_below_own(l))
		return false;
	for (const struct sim_tenant *t = s->tenants; t; t = t->next) {
		if (t->priority > l->tenant->priority && has_workers(t))
			return false;
	}
	for (const struct sim_tenant *t = s->tenants; t; t = t->next) {
		if (t != l->tenant && t->priority == l->tenant->priority && has_workers(t))
			return true;
	}
	return false;
}

static void check_slot(
	const struct sim *s, struct slot *w, const struct sim_launch *l, uint64_t passed)
{
	if (w->l != l)
		*w = (struct slot){.l = l};
	if (!l)
		return;
	w->behind_ns = w->finished == l->finished ? w->behind_ns + w->behind * passed : 0;
	w->finished = l->finished;
	w->behind = waits_behind_equal(s, l);
	w->behind_ns = has_workers(l->tenant) ? 0 : w->behind_ns;
	check.longest_ns = MAX(check.longest_ns, w->behind_ns);
	if (w->behind_ns > HEDDLE_LANES_WAIT_MAX_NS)
		checker_fail("waits too long", l->tenant->name, l->name);
	check_vain(w, l);
}

static void check_event(const struct sim *s, void *user)
{
	uint64_t passed = s->now - check.now_ns;
	unsigned i = 0;

	(void)user;
	check.now_ns = s->now;
	for (const struct sim_tenant *t = s->tenants; t; t = t->next, i++) {
		for (const struct sim_stream *q = t->streams; q; q = q->next)
			check_slot(s, &check.slots[i][q->id], q->first, passed);
	}
}

static void check_end(const struct sim *s)
{
	for (const struct sim_launch *l = s->launches; l; l = l->next) {
		if (!l->done || l->ticket != l->total || l->finished != l->total)
			checker_fail("blocks are lost", l->tenant->name, l->name);
	}
}

/* ---- running ---- */

static bool run_trace(uint64_t seed)
{
	struct strbuf text = {0};
	struct diag_list diags;
	struct arena arena;
	struct sim s;
	struct sim_reader r = {.sim = &s, .diags = &diags};

	memset(check.slots, 0, sizeof(check.slots));
	check.seed = seed;
	check.now_ns = check.failures = 0;
	make_trace(seed, &text);
	arena_init(&arena, 0);
	diag_init(&diags, &arena, "trace", NULL, 0);
	sim_init(&s);
	if (sim_read(&r, text.at, text.len) < 0)
		checker_fail("the trace is refused", "", "");
	s.quiet = true;
	s.policy = &checked_hpf;
	s.watch = check_event;
	if (!check.failures && sim_run(&s) < 0)
		checker_fail("it does not run", s.error, "");
	check_end(&s);
	sim_finish(&s);
	strbuf_finish(&text);
	arena_finish(&arena);
	return check.failures == 0;
}

int main(int argc, char **argv)
{
	uint64_t first = 0, count = 30, failed = 0;

	checked_table = policy_hpf;
	checked_table.decide = checked_decide;
	for (int i = 1; i + 1 < argc; i += 2) {
		uint64_t v = strtoull(argv[i + 1], NULL, 10);

		if (strcmp(argv[i], "--print") == 0) {
			struct strbuf text = {0};

			make_trace(v, &text);
			fputs(text.at, stdout);
			strbuf_finish(&text);
			return 0;
		}
		first = strcmp(argv[i], "--first") == 0 ? v : first;
		count = strcmp(argv[i], "--count") == 0 ? v : count;
	}
	for (uint64_t i = 0; i < count; i++)
		failed += !run_trace(first + i);
	printf("%llu traces, %llu failures; longest wait %.1f ms, SMs in vain %u times\n",
		(unsigned long long)count, (unsigned long long)failed,
		(double)check.longest_ns / 1e6, check.most_vain);
	return failed > 0;
}
