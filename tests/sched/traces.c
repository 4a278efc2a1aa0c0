/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: traces any|greedy|pairs|profile|ffs [--first SEED] [--count N]
 *        traces any|greedy|pairs|profile|ffs --print SEED
 * Runs random traces through the engine, under one of these policies: one that makes random plans
 * (any), greedy, greedy with pairs=on (pairs), profile, or ffs. Checks after each event:
 * - blocks on an SM fit it, and so do the bounded quotas of all launches together;
 * - an SM that holds more blocks of a launch than its quota gets no further one;
 * - quotas that have had time to reach the device equal the engine's. Under ffs no tenant with work
 * waits longer than wait_bound. At the end each launch of a tenant that stayed has run every block
 * exactly once. A failure prints the seed; --print SEED prints the trace. */
#include "named.h"
#include "repeat.h"
#include "sched/engine/planner.h"
#include "sched/engine/quota.h"
#include "sim/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENANTS  4
#define LAUNCHES 40 /* maximum per trace */

struct random {
	uint64_t seed, at;
};

/* Returns a number from 0 to n - 1. */
static uint32_t any_of(struct random *r, uint32_t n)
{
	return (uint32_t)(random_bits(r->seed, r->at++) % n);
}

static bool of_pairs; /* greedy with pairs=on */

/* ---- a trace ---- */

/* The properties of a trace from which wait_bound computes how long a tenant may wait. */
struct limits {
	uint32_t n_tenants, weight[TENANTS];
	uint64_t block_ns, relay_ns, relaunch_ns;
};

static void add_device(struct random *r, struct limits *lim, bool ffs, struct strbuf *b)
{
	lim->relay_ns = 1000 * any_of(r, 40);
	lim->relaunch_ns = 1000 * (1 + any_of(r, 40));
	strbuf_printf(b, "device sms=%u cost=20us mode=%s preempt=%s relay=%uns relaunch=%uns%s\n",
		1 + any_of(r, ffs ? 3 : 12), any_of(r, 3) ? "simultaneous" : "turns",
		any_of(r, 2) ? "spatial" : "temporal", (unsigned)lim->relay_ns,
		(unsigned)lim->relaunch_ns, !ffs && any_of(r, 4) == 0 ? " numbering=own" : "");
}

/* Under ffs a trace has much work and room for few blocks, so that a tenant that is not served
 * waits long. */
static void add_launch(struct random *r, struct limits *lim, bool ffs, uint32_t at_us,
	unsigned tenant, struct strbuf *b)
{
	uint32_t block_us = 1 + any_of(r, any_of(r, ffs ? 40 : 3) ? 100 : 1500);

	lim->block_ns = MAX(lim->block_ns, 1000ull * block_us);
	strbuf_printf(b, "at %uus launch t%u k%u blocks=%u block=%uus wps=%u stream=%u sprio=%u",
		at_us, tenant, any_of(r, 4), 1 + any_of(r, ffs ? 400 : 60), block_us,
		1 + any_of(r, ffs ? 2 : 8), any_of(r, 3), any_of(r, 2));
	if (of_pairs)
		strbuf_printf(b, " use=%u", any_of(r, 100));
	strbuf_printf(b, "\n");
}

/* Under ffs a tenant submits all its work when it joins, so that it never pauses. */
static void add_tenant(
	struct random *r, struct limits *lim, bool ffs, unsigned tenant, struct strbuf *b)
{
	uint32_t join_us = any_of(r, 3000), at_us = join_us;
	unsigned n = 1 + any_of(r, LAUNCHES / TENANTS);

	lim->weight[tenant] = 1 + any_of(r, 5);
	strbuf_printf(b, "at %uus join t%u prio=%u weight=%u\n", join_us, tenant, any_of(r, 3),
		lim->weight[tenant]);
	for (unsigned i = 0; i < n; i++) {
		at_us += ffs ? 0 : any_of(r, 2000);
		add_launch(r, lim, ffs, at_us, tenant, b);
	}
	if (!ffs && any_of(r, 4) == 0)
		strbuf_printf(b, "at %uus priority t%u %u\n", at_us, tenant, any_of(r, 3));
	if (any_of(r, 8) == 0)
		strbuf_printf(b, "at %uus leave t%u\n", at_us + 1 + any_of(r, 4000), tenant);
}

static struct limits make_trace(uint64_t seed, bool ffs, struct strbuf *b)
{
	struct random r = {.seed = seed};
	struct limits lim = {.n_tenants = 1 + any_of(&r, TENANTS)};

	add_device(&r, &lim, ffs, b);
	for (unsigned i = 0; i < lim.n_tenants; i++)
		add_tenant(&r, &lim, ffs, i, b);
	return lim;
}

/* ---- a policy of random plans ---- */

static struct random plans;

static uint8_t any_quota(void)
{
	uint32_t q = any_of(&plans, 3);

	return q == 0 ? 0 : q == 1 ? CTL_NO_QUOTA : (uint8_t)(1 + any_of(&plans, QUOTA_MAX));
}

/* Each launch has the same random quota on all SMs, or a random quota for each SM. */
static void any_plan(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		bool same = any_of(&plans, 2);
		uint8_t *row = heddle_policy_row(in, out, i), q = any_quota();

		for (uint32_t sm = 0; sm < in->device->n_sms; sm++)
			row[sm] = same ? q : any_quota();
	}
	for (uint32_t i = 0; i < in->n_tenants; i++)
		out->held[i] = any_of(&plans, 5) == 0;
	if (any_of(&plans, 2))
		out->wake_ns = in->now_ns + 100000 + 1000 * any_of(&plans, 3000);
}

static const struct heddle_policy any_table = {
	.size = sizeof(any_table), .abi = HEDDLE_POLICY_ABI, .name = "any", .decide = any_plan};
static const struct sched_policy policy_any = {.name = "any", .table = &any_table, .options = ""};

/* ---- properties that always hold ---- */

struct checker {
	uint64_t seed, bound_ns, longest_ns; /* bound_ns: UINT64_MAX for none */
	uint64_t told_ns[LAUNCHES], word[LAUNCHES];
	uint8_t on_sm[LAUNCHES][CTL_MAX_SMS];
	uint64_t waits_since_ns[TENANTS];
	bool waits[TENANTS];
	unsigned failures;
};

static void HD_PRINTF(3, 4)
	checker_fail(struct checker *c, const struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (c->failures++)
		return; /* report only the first failure of a trace */
	fprintf(stderr, "seed %llu at %.3f ms: ", (unsigned long long)c->seed,
		(double)s->now / 1e6);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void check_launch(struct checker *c, const struct sim *s, const struct sim_launch *l,
	unsigned i, uint64_t used[CTL_MAX_SMS], uint64_t bounded[CTL_MAX_SMS])
{
	uint8_t engine[CTL_MAX_SMS];

	if (c->word[i] != l->word)
		c->told_ns[i] = s->now;
	c->word[i] = l->word;
	sched_quotas(s->sched, l->handle, engine);
	for (uint32_t sm = 0; sm < s->o.n_sms; sm++) {
		uint32_t number = l->tenant->number[sm], q = number ? l->quota[number - 1] : 0;

		if (l->on_sm[sm] > q && l->on_sm[sm] > c->on_sm[i][sm])
			checker_fail(c, s, "%s: SM %u gets a block beyond its quota", l->name, sm);
		c->on_sm[i][sm] = l->on_sm[sm];
		used[sm] += (uint64_t)l->on_sm[sm] * (SIM_CAPACITY / l->wps);
		if (engine[sm] != CTL_NO_QUOTA)
			bounded[sm] += (uint64_t)engine[sm] * (SIM_CAPACITY / l->wps);
		/* not if programs number SMs independently: the same number then means another
		 * SM */
		if (!s->o.renumbers && s->now > c->told_ns[i] + s->relay_ns &&
			l->quota[sm] != engine[sm])
			checker_fail(c, s, "%s: SM %u has quota %u, the engine gave %u", l->name,
				sm, l->quota[sm], engine[sm]);
	}
}

static void check_waits(struct checker *c, const struct sim *s)
{
	unsigned i = 0;

	for (const struct sim_tenant *t = s->tenants; t; t = t->next, i++) {
		bool waits = false;

		for (const struct sim_stream *q = t->streams; q && !t->present; q = q->next)
			waits |= q->first != NULL;
		if (waits && !c->waits[i])
			c->waits_since_ns[i] = s->now;
		c->waits[i] = waits;
		if (!waits)
			continue;
		c->longest_ns = MAX(c->longest_ns, s->now - c->waits_since_ns[i]);
		if (s->now - c->waits_since_ns[i] > c->bound_ns)
			checker_fail(c, s, "%s has waited for more than %.3f ms", t->name,
				(double)c->bound_ns / 1e6);
	}
}

static void check_event(const struct sim *s, void *user)
{
	struct checker *c = user;
	uint64_t used[CTL_MAX_SMS] = {0}, bounded[CTL_MAX_SMS] = {0};
	unsigned i = 0;

	for (const struct sim_launch *l = s->launches; l; l = l->next, i++) {
		if (l->handle && l->arrived)
			check_launch(c, s, l, i, used, bounded);
	}
	for (uint32_t sm = 0; sm < s->o.n_sms; sm++) {
		if (used[sm] > SIM_CAPACITY || s->free[sm] != SIM_CAPACITY - used[sm])
			checker_fail(c, s, "SM %u holds more than it can", sm);
		if (bounded[sm] > SIM_CAPACITY && !s->o.renumbers)
			checker_fail(c, s, "the quotas of SM %u do not fit it", sm);
	}
	check_waits(c, s);
}

static void check_end(struct checker *c, const struct sim *s)
{
	for (const struct sim_launch *l = s->launches; l; l = l->next) {
		if (!l->done && !l->tenant->gone)
			checker_fail(c, s, "%s %s is lost at block %llu of %llu", l->tenant->name,
				l->name, (unsigned long long)l->finished,
				(unsigned long long)l->total);
		if (l->done && (l->ticket != l->total || l->finished != l->total))
			checker_fail(c, s, "%s %s ran %llu blocks of %llu", l->tenant->name,
				l->name, (unsigned long long)l->finished,
				(unsigned long long)l->total);
	}
}

/* Returns the longest time that a tenant with work may wait for its next block under ffs, in ns.
 *
 * D: the most that a turn can overrun: the word's delay, the longest block, and the launch of the
 * next one.
 * C: the highest cost of a change as the engine sees it: its default (20 us), or D.
 * T: the longest epoch. For an overhead of 10 % it is 10 times the sum of the costs divided by the
 * sum of the weights, so at most 10 C divided by the least weight; and never less than 100 us.
 *
 * A turn ends at most D after its tenant is an epoch ahead of another one with work: no tenant is
 * more than T + D ahead (in virtual time), and a new one is at most T behind. So before a waiting
 * tenant is the one with the least time, each other tenant, of weight W, gets at most W (2 T + D),
 * and one more turn of W T; and D more because the turn ends in the middle of a block. */
static uint64_t wait_bound(const struct limits *lim)
{
	uint64_t d = lim->relay_ns + lim->block_ns + lim->relaunch_ns + 25000, bound = d, t;
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < lim->n_tenants; i++)
		least = MIN(least, lim->weight[i]);
	t = MAX(10 * d / least, 100000);
	for (unsigned i = 0; i < lim->n_tenants; i++)
		bound += lim->weight[i] * (3 * t + d) + d;
	return bound;
}

/* ---- running ---- */

/* policy_any, or the greedy or profile policy */
static const struct sched_policy *of_any = &policy_any;

static bool run_trace(uint64_t seed, bool ffs, uint64_t *io_events, double *io_longest)
{
	struct checker c = {.seed = seed, .bound_ns = UINT64_MAX};
	struct strbuf text = {0};
	struct limits lim = make_trace(seed, ffs, &text);
	struct diag_list diags;
	struct arena arena;
	struct sim s;
	struct sim_reader r = {.sim = &s, .diags = &diags};
	const struct sched_policy *policy;
	struct repeat repeat;
	char name[32];
	int status;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "trace", NULL, 0);
	plans = (struct random){.seed = ~seed};
	sim_init(&s);
	repeat_begin(&repeat, &s);
	status = sim_read(&r, text.at, text.len);
	s.quiet = true;
	s.policy = ffs ? &sched_policy_ffs : of_any;
	if (of_pairs)
		strcpy(s.policy_options, "pairs=on");
	s.end = 60000000000;
	s.watch = check_event;
	s.watch_user = &c;
	c.bound_ns = ffs ? wait_bound(&lim) : UINT64_MAX;
	status = status < 0 ? status : sim_run(&s);
	if (status < 0)
		checker_fail(&c, &s, "it does not run: %s %s", strerror(-status), s.error);
	check_end(&c, &s);
	*io_events += s.order;
	*io_longest = MAX(*io_longest, (double)c.longest_ns / (double)c.bound_ns);
	policy = s.policy;
	plans = (struct random){.seed = ~seed};
	sim_finish(&s);
	snprintf(name, sizeof(name), "trace %llu", (unsigned long long)seed);
	c.failures += !repeat_end(&repeat, name, policy);
	strbuf_finish(&text);
	arena_finish(&arena);
	return c.failures == 0;
}

static int print_trace(uint64_t seed, bool ffs)
{
	struct strbuf text = {0};

	make_trace(seed, ffs, &text);
	fputs(text.at, stdout);
	strbuf_finish(&text);
	return 0;
}

int main(int argc, char **argv)
{
	bool ffs = argc > 1 && strcmp(argv[1], "ffs") == 0;
	uint64_t first = 0, count = 200, failed = 0, events = 0;
	double longest = 0;

	of_pairs = argc > 1 && strcmp(argv[1], "pairs") == 0;
	if (argc > 1 && (of_pairs || strcmp(argv[1], "greedy") == 0))
		of_any = &sched_policy_greedy;
	if (argc > 1 && strcmp(argv[1], "profile") == 0)
		of_any = policy_named(NULL, "profile");
	for (int i = 2; i + 1 < argc; i += 2) {
		uint64_t v = strtoull(argv[i + 1], NULL, 10);

		if (strcmp(argv[i], "--print") == 0)
			return print_trace(v, ffs);
		first = strcmp(argv[i], "--first") == 0 ? v : first;
		count = strcmp(argv[i], "--count") == 0 ? v : count;
	}
	for (uint64_t i = 0; i < count; i++)
		failed += !run_trace(first + i, ffs, &events, &longest);
	printf("%llu traces, %llu events, %llu failures\n", (unsigned long long)count,
		(unsigned long long)events, (unsigned long long)failed);
	if (ffs)
		printf("longest wait: %.1f %% of the bound\n", 100 * longest);
	return failed > 0;
}
