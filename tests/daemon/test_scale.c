/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that the core's time for a join, a leave, a pass over all tenants, a kick and a list is
 * linear in the number of tenants, and that with 1,024 tenants a join and a kick take at most a few
 * ms, under each policy. See tests/sched/test_scale.c for how times are compared. */
#include "sanitized.h"
#include "unit.h"

#include "../sched/named.h"
#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FEW        128u
#define MANY       512u
#define MOST       1024u
#define TIME_MAX_S 0.005
#define TRIES      30

struct fleet {
	struct hd *d;
	struct fake f[MOST];
	struct wire_slot *w[MOST];
	uint32_t n;
};

static const struct sched_policy *policy;

static void many_tenants(struct hd_config *c)
{
	c->max_tenants = c->user_tenants = MOST + 1;
	c->log_level = HD_LOG_ERROR;
	c->policy = policy;
}

static struct fleet fleet_make(uint32_t n)
{
	struct fleet f = {.d = make(many_tenants), .n = n};

	hd_log_set_level(HD_LOG_ERROR);
	for (uint32_t i = 0; i < n; i++)
		f.f[i] = join(f.d, (int)i % 3, i % 2);
	for (uint32_t i = 0; i < n; i += 4)
		f.w[i] = submit(f.d, &f.f[i], 0, 800);
	hd_run(f.d);
	return f;
}

static void fleet_free(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		leave(f->d, &f->f[i]);
	hd_destroy(f->d);
}

static void joins_and_leaves(struct fleet *f)
{
	struct fake one = join(f->d, 2, false);

	hd_run(f->d);
	leave(f->d, &one);
	hd_run(f->d);
}

static void passes(struct fleet *f)
{
	now += MS;
	hd_run(f->d);
}

static void kicks(struct fleet *f)
{
	now += MS;
	hd_kicked(f->d, f->f[0].t);
	hd_run(f->d);
}

static void lists(struct fleet *f)
{
	struct strbuf out = {0};
	struct wire_status status;

	hd_list(f->d, &out);
	hd_status(f->d, &status);
	strbuf_finish(&out);
}

static double measure(struct fleet *f, void (*does)(struct fleet *))
{
	struct timespec a, b;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (unsigned i = 0; i < 3; i++)
		does(f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void linear(void **state)
{
	static struct fleet few, many;
	static const struct {
		const char *name;
		void (*does)(struct fleet *);
		double most;
	} rows[] = {
		{"join and leave", joins_and_leaves, 10},
		{"pass", passes, 10},
		{"kick", kicks, 10},
		/* A list reads each tenant's whole page; many pages do not fit in the caches.
		 * Factors up to 10 were measured. */
		{"list and status", lists, 13},
	};

	policy = &sched_policy_ffs; /* policy ffs also keeps lists of shares */
	few = fleet_make(FEW);
	many = fleet_make(MANY);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double least[2] = {1e9, 1e9}, ratio = 0;

		for (unsigned k = 0; k < TRIES && (k < 3 || ratio >= rows[i].most); k++) {
			least[0] = MIN(least[0], measure(&few, rows[i].does));
			least[1] = MIN(least[1], measure(&many, rows[i].does));
			ratio = least[1] / least[0];
		}
		printf("%-16s %8.1f us %8.1f us  ratio %.1f\n", rows[i].name, least[0] * 1e6 / 3,
			least[1] * 1e6 / 3, ratio);
		if (ratio >= rows[i].most)
			fail_msg("%s: four times the tenants take %.1f times as long", rows[i].name,
				ratio);
	}
	fleet_free(&few);
	fleet_free(&many);
}

static void check_time(const struct sched_policy *p)
{
	static struct fleet f;
	double join_s = 1e9, kick_s = 1e9;

	policy = p;
	f = fleet_make(MOST);
	for (unsigned k = 0; k < TRIES && (k < 3 || MAX(join_s, kick_s) >= TIME_MAX_S); k++) {
		join_s = MIN(join_s, measure(&f, joins_and_leaves) / 3);
		kick_s = MIN(kick_s, measure(&f, kicks) / 3);
	}
	printf("%-8s join and leave %8.1f us, kick %8.1f us\n", p->name, join_s * 1e6,
		kick_s * 1e6);
	fleet_free(&f);
	if (!SANITIZED && MAX(join_s, kick_s) >= TIME_MAX_S)
		fail_msg("policy %s: too long for %u tenants", p->name, MOST);
}

static void quick(void **state)
{
	static const char *const names[] = {
#define POLICY(id, text)      #id,
#define POLICY_FILE(id, text) #id,
#include "sched/policy/policies.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		check_time(policy_named(NULL, names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(linear), cmocka_unit_test(quick)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
