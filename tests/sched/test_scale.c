/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A decision takes time linear in the number of tenants, or a little more: for each policy, with
 * tenants whose launches wait, tenants that are idle after work, and tenants of many priorities.
 * Each case compares the CPU time at FEW and at MANY tenants, four times as many. The minimum of
 * several measurements counts; they are repeated until the ratio is below the bound or TRIES is
 * reached. Other work on the machine slows some of them, and many tenants do not fit in the caches,
 * which sometimes makes the ratio 6. But quadratic time has a ratio of 16.
 *
 * With SOME tenants a decision should take less than 1 ms (measured: at most 0.8 ms), and must take
 * less than TIME_MAX_S, also on as many SMs as an H100 has, which reveals work per SM per launch.
 * There is no bound with sanitizers, which slow all code. Prints the times. */
#include "../sanitized.h"
#include "named.h"
#include "sched/engine/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEW        512u
#define SOME       1024u
#define MANY       2048u
#define RATIO_MAX  10.0
#define TIME_MAX_S 0.005
#define TRIES      30
#define DECISIONS  4

struct fleet {
	struct sched *s;
	struct sched_tenant *t[MANY];
	struct sched_launch *l[MANY];
	uint64_t now, next_id;
	uint32_t n;
};

static void check(int r)
{
	if (r == 0)
		return;
	fprintf(stderr, "failed: %s\n", strerror(-r));
	exit(1);
}

static void decide(struct fleet *f)
{
	struct sched_action a;

	check(sched_decide(f->s, f->now));
	while (sched_next(f->s, &a))
		continue;
}

static void submit(struct fleet *f, uint32_t i)
{
	struct sched_launch_info info = {.id = f->next_id++,
		.kernel = 1 + i % 7,
		.total = 4000,
		.threads = 256,
		.workers_per_sm = 2};

	check(sched_submit(f->s, f->now, f->t[i], &info, &f->l[i]));
	sched_arrive(f->s, f->now, f->l[i], SCHED_BEGAN_TOLD);
}

static void end(struct fleet *f, uint32_t i)
{
	sched_end(f->s, f->now, f->l[i], true, 100000);
	f->l[i] = NULL;
}

struct scale_case {
	const char *policy, *options;
	uint32_t n_sms;
	bool simultaneous;
	bool idle;       /* all have had work, but only one still has */
	bool priorities; /* a priority per tenant */
};

static void fleet_make(struct fleet *f, const struct scale_case *c, uint32_t n)
{
	struct sched_options o = {.n_sms = c->n_sms,
		.simultaneous = c->simultaneous,
		.spatial = true,
		.tells_started = true,
		.renumbers = c->simultaneous,
		.policy_options = c->options};

	memset(f, 0, sizeof(*f));
	f->n = n;
	f->now = 1000000000;
	f->next_id = 1;
	check(sched_create(&o, policy_named(NULL, c->policy), &f->s));
	for (uint32_t i = 0; i < n; i++) {
		check(sched_join(
			f->s, f->now, i + 1, c->priorities ? (int)i : 1, 1, NULL, &f->t[i]));
	}
	/* Several rounds, so that the engine knows how long each tenant pauses. */
	for (unsigned round = 0; round < 3 && c->idle; round++) {
		for (uint32_t i = 0; i < n; i++)
			submit(f, i);
		decide(f);
		for (uint32_t i = 0; i < n; i++)
			end(f, i);
		f->now += 1000;
		decide(f);
		f->now += 20000;
	}
	for (uint32_t i = 0; i < (c->idle ? 1 : n); i++)
		submit(f, i);
	decide(f);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns the CPU time of a decision after a launch has ended and another has arrived. */
static double measure(struct fleet *f)
{
	double began = cpu_s();

	for (unsigned k = 0; k < DECISIONS; k++) {
		f->now += 1000;
		end(f, 0);
		submit(f, 0);
		decide(f);
	}
	return (cpu_s() - began) / DECISIONS;
}

static void describe(const struct scale_case *c)
{
	printf("%-8s %-9s %3u SMs %-13s %-7s %-10s", c->policy, c->options, c->n_sms,
		c->simultaneous ? "simultaneous" : "turns", c->idle ? "idle" : "waiting",
		c->priorities ? "priorities" : "");
}

static bool check_ratio(const struct scale_case *c)
{
	static struct fleet few, many;
	double least[2] = {1e9, 1e9}, ratio = 0;

	fleet_make(&few, c, FEW);
	fleet_make(&many, c, MANY);
	for (unsigned i = 0; i < TRIES && (i < 3 || ratio >= RATIO_MAX); i++) {
		double a = measure(&few), b = measure(&many);

		least[0] = MIN(least[0], a);
		least[1] = MIN(least[1], b);
		ratio = least[1] / least[0];
	}
	sched_destroy(few.s);
	sched_destroy(many.s);
	describe(c);
	printf(" %7.1f us %7.1f us  ratio %.1f%s\n", least[0] * 1e6, least[1] * 1e6, ratio,
		ratio < RATIO_MAX ? "" : " TOO MUCH");
	return ratio < RATIO_MAX;
}

static bool check_time(const struct scale_case *c)
{
	static struct fleet some;
	double least = 1e9;
	bool fine;

	fleet_make(&some, c, SOME);
	for (unsigned i = 0; i < TRIES && (i < 3 || least >= TIME_MAX_S); i++)
		least = MIN(least, measure(&some));
	sched_destroy(some.s);
	fine = SANITIZED || least < TIME_MAX_S;
	describe(c);
	printf(" %7.1f us%s\n", least * 1e6, fine ? "" : " TOO MUCH");
	return fine;
}

int main(void)
{
	static const struct {
		const char *policy, *options;
	} policies[] = {
#define POLICY(id, text)      {#id, ""},
#define POLICY_FILE(id, text) {#id, ""},
#include "sched/policy/policies.def"
		{"greedy", "pairs=on"}, {"split", "mixed=30"}};
	static const uint32_t n_sms[] = {16, 132};
	int failed = 0;

	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		for (unsigned k = 0; k < 16; k++) {
			struct scale_case c = {.policy = policies[i].policy,
				.options = policies[i].options,
				.n_sms = n_sms[k & 1],
				.simultaneous = k & 2,
				.idle = k & 4,
				.priorities = k & 8};

			failed += !c.idle && !check_time(&c);
			failed += c.n_sms == n_sms[0] && !check_ratio(&c);
		}
	}
	return failed > 0;
}
