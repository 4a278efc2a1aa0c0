/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A join, a leave, a pass, a kick and a list take the daemon's core time linear in the number of
 * tenants. tests/sched/test_scale.c says how times are compared. */
#include "unit.h"

#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FEW   128u
#define MANY  512u
#define TRIES 30

struct fleet {
	struct hd *d;
	struct fake f[MANY];
	struct wire_slot *w[MANY];
	uint32_t n;
};

static void many_tenants(struct hd_config *c)
{
	c->max_tenants = c->user_tenants = MANY + 1;
	c->log_level = HD_LOG_ERROR;
	c->policy = &sched_policy_ffs; /* its lists have shares */
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
		{"join and leave", joins_and_leaves, 6},
		{"pass", passes, 6},
		{"kick", kicks, 6},
		/* It reads each tenant's whole page, which many tenants drive out of the caches. */
		{"list and status", lists, 10},
	};

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(linear)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
