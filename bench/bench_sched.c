/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* bench_sched: what the engine takes to decide (policy hpf, 132 SMs) when a launch of high priority
 * comes, the running one has left, and the high one ends, while so many more launches of low
 * priority are queued, of one tenant or of several. Prints microseconds: the median over rounds,
 * and p99. The engine alone: reading pages and storing words is the daemon's. */
#include "sched/engine/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS  4000
#define TENANTS 4

enum step { COMES, LEFT, ENDS, N_STEPS };

static const char *const step_names[N_STEPS] = {
	[COMES] = "it comes", [LEFT] = "the other has left", [ENDS] = "it ends"};

struct bench {
	struct sched *s;
	struct sched_tenant *high, *low[TENANTS];
	struct sched_launch *running; /* of low[0] */
	uint64_t now, id, took[N_STEPS][ROUNDS];
	unsigned words;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_sched: %s\n", what);
	exit(1);
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void decide(struct bench *b, uint64_t *ret_took)
{
	uint64_t from = clock_ns();
	struct sched_action a;

	must(sched_decide(b->s, b->now) == 0, "no memory");
	while (sched_next(b->s, &a))
		b->words++;
	if (ret_took)
		*ret_took = clock_ns() - from;
}

static struct sched_launch *submit(struct bench *b, struct sched_tenant *t, uint64_t total)
{
	struct sched_launch_info info = {
		.id = ++b->id, .kernel = t == b->high, .total = total, .threads = 256, .regs = 32};
	struct sched_launch *l;

	must(sched_submit(b->s, b->now, t, &info, &l) == 0, "a launch is refused");
	return l;
}

/* queued: launches of low priority behind the one that runs, in all. */
static void open_bench(struct bench *b, unsigned queued, unsigned tenants)
{
	struct sched_options o = {.n_sms = 132};

	must(sched_create(&o, &sched_policy_hpf, &b->s) == 0, "no engine");
	b->now = 1000000;
	must(sched_join(b->s, b->now, 0, 2, 1, NULL, &b->high) == 0, "no tenant");
	for (unsigned i = 0; i < tenants; i++)
		must(sched_join(b->s, b->now, i + 1, 0, 1, NULL, &b->low[i]) == 0, "no tenant");
	b->running = submit(b, b->low[0], 1000000);
	sched_arrive(b->s, b->now, b->running, SCHED_BEGAN_FREE);
	for (unsigned i = 0; i < queued; i++)
		submit(b, b->low[i % tenants], 1000);
	decide(b, NULL);
}

/* The high launch comes, has its device, ends. */
static void one_round(struct bench *b, unsigned i)
{
	struct sched_launch *l;

	b->now += 2000000;
	l = submit(b, b->high, 132);
	decide(b, &b->took[COMES][i]);
	b->now += 50000;
	sched_drained(b->s, b->now, b->running);
	decide(b, &b->took[LEFT][i]);
	b->now += 150000;
	sched_arrive(b->s, b->now, l, SCHED_BEGAN_TOLD);
	decide(b, NULL);
	b->now += 30000;
	sched_end(b->s, b->now, l, true, 30000);
	decide(b, &b->took[ENDS][i]);
	/* Whatever is waited for before the other goes on. */
	b->now += 5000000;
	decide(b, NULL);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void measure(unsigned queued, unsigned tenants)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct sched_stats stats;

	must(b != NULL, "no memory");
	open_bench(b, queued, tenants);
	for (unsigned i = 0; i < ROUNDS; i++)
		one_round(b, i);
	sched_stats(b->s, &stats);
	must(stats.preemptions + stats.shrinks >= ROUNDS, "the running launch was not preempted");
	printf("%4u queued, %u tenants:", queued, tenants);
	for (int k = 0; k < N_STEPS; k++) {
		qsort(b->took[k], ROUNDS, sizeof(b->took[k][0]), by_value);
		printf("  %s %.2f, %.2f", step_names[k], 1e-3 * (double)b->took[k][ROUNDS / 2],
			1e-3 * (double)b->took[k][ROUNDS * 99 / 100]);
	}
	printf("  (%.1f words a round)\n", (double)b->words / ROUNDS);
	sched_destroy(b->s);
	free(b);
}

int main(void)
{
	printf("us to decide, median and p99\n");
	measure(0, 1);
	measure(16, 1);
	measure(128, 1);
	measure(255, 1);
	measure(800, TENANTS);
	return 0;
}
