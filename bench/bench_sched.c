/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* bench_sched: measures how long the engine takes to decide (policy hpf, 132 SMs) when a
 * high-priority launch arrives, when the running launch has left, and when the high-priority launch
 * ends, while a given number of low-priority launches are queued, from one tenant or several.
 * Prints the median over the rounds and p99, in microseconds. Only the engine is measured, not the
 * daemon's reading of pages and storing of words. Then measures the same with a journal of all
 * inputs (heddled --events), whose text is written between the decisions. */
#include "sched/engine/journal.h"
#include "sched/engine/sched.h"
#include "sched/model/durations.h"

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
	struct durations *model;
	struct sched_journal *journal; /* may be NULL */
	struct strbuf text;
	size_t text_bytes;
	struct sched_tenant *high, *low[TENANTS];
	struct sched_launch *running; /* the running launch of low[0] */
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

static void write_journal(void *user)
{
	struct bench *b = user;

	if (!b->journal)
		return;
	b->text.len = 0;
	sched_journal_write(b->journal, false, &b->text);
	b->text_bytes += b->text.len;
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
	write_journal(b);
}

static struct sched_launch *submit(struct bench *b, struct sched_tenant *t, uint64_t total)
{
	struct sched_launch_info info = {
		.id = ++b->id, .kernel = t == b->high, .total = total, .threads = 256, .regs = 32};
	struct sched_launch *l;

	must(sched_submit(b->s, b->now, t, &info, &l) == 0, "a launch is refused");
	return l;
}

/* queued: total number of low-priority launches that wait behind the running one. */
static void open_bench(struct bench *b, unsigned queued, unsigned tenants, bool journaled)
{
	struct sched_options o = {.n_sms = 132, .model = &model_durations};

	must(durations_create(&b->model) == 0, "no memory");
	must(!journaled || sched_journal_create(write_journal, b, &b->journal) == 0, "no memory");
	o.model_state = b->model;
	o.journal = b->journal;

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

/* A high-priority launch arrives, gets the device and ends. */
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
	/* Long enough for every wait of the engine to expire before the low-priority launch
	 * continues. */
	b->now += 5000000;
	decide(b, NULL);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void measure(unsigned queued, unsigned tenants, bool journaled)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct sched_stats stats;

	must(b != NULL, "no memory");
	open_bench(b, queued, tenants, journaled);
	for (unsigned i = 0; i < ROUNDS; i++)
		one_round(b, i);
	sched_stats(b->s, &stats);
	/* With several low-priority tenants, which take turns, another tenant may be running. */
	must(tenants > 1 || stats.preemptions + stats.shrinks >= ROUNDS,
		"the running launch was not preempted");
	printf("%4u queued, %u tenants:", queued, tenants);
	for (int k = 0; k < N_STEPS; k++) {
		qsort(b->took[k], ROUNDS, sizeof(b->took[k][0]), by_value);
		printf("  %s %.2f, %.2f", step_names[k], 1e-3 * (double)b->took[k][ROUNDS / 2],
			1e-3 * (double)b->took[k][ROUNDS * 99 / 100]);
	}
	printf("  (%.1f words a round", (double)b->words / ROUNDS);
	printf(journaled ? ", %.0f bytes of journal)\n" : ")\n", (double)b->text_bytes / ROUNDS);
	sched_destroy(b->s);
	sched_journal_destroy(b->journal);
	durations_destroy(b->model);
	strbuf_finish(&b->text);
	free(b);
}

int main(void)
{
	for (int journaled = 0; journaled < 2; journaled++) {
		printf("us to decide, median and p99%s\n", journaled ? ", with a journal" : "");
		measure(0, 1, journaled);
		measure(16, 1, journaled);
		measure(128, 1, journaled);
		measure(255, 1, journaled);
		measure(800, TENANTS, journaled);
	}
	return 0;
}
