/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Quotas that differ by SM ("Adaptive Simultaneous Multi-tenancy for GPUs", sections 3.8 and 6,
 * which leave them as future work). Two sides share the device, and an option says how:
 *     whole=P   the first side has P percent of the SMs, the second side the others
 *     mixed=P   on even SMs each kernel of the first side may have P percent of the blocks that an
 *               SM holds of it, and each kernel of the second side the rest of 100 percent; on odd
 *               SMs the percentages are exchanged
 *
 * The tenants of the highest priority with work are the first side, and all others the second. If
 * all have the same priority, the tenant whose launch came first is the first side. A side alone
 * has the whole device. A kernel whose last block has begun needs no more space, as in policy
 * greedy. If tenants cannot run side by side, only the tenant whose launch came first gets the
 * device. */
#include "base/base.h"
#include "heddle/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERCENT 50u

struct split {
	bool mixed;
	uint32_t percent; /* 1 to 99 */
};

/* ---- sides ---- */

/* Returns true if some blocks of the kernel have not begun. */
static bool is_competing(const struct heddle_policy_kernel *k)
{
	return k->kind == HEDDLE_POLICY_MANAGED && !k->idle && k->started < k->blocks;
}

static int priority_of(const struct heddle_policy_view *v, const struct heddle_policy_kernel *k)
{
	const void *t = (const char *)v->tenants + (size_t)k->tenant_index * v->tenant_size;

	return ((const struct heddle_policy_tenant *)t)->priority;
}

/* The rule that decides which kernels are on the first side. */
struct side {
	/* true: the first side is the kernels of tenants with this priority; false: the kernels of
	 * this tenant */
	bool by_priority;
	int priority;
	uint32_t tenant;
	bool alone; /* the second side has no kernels */
};

static bool is_first(const struct heddle_policy_view *v, const struct side *s,
	const struct heddle_policy_kernel *k)
{
	return s->by_priority ? priority_of(v, k) == s->priority : k->tenant_index == s->tenant;
}

/* The view lists launches in order of arrival. */
static struct side find_first_side(const struct heddle_policy_view *v)
{
	struct side s = {.tenant = UINT32_MAX, .alone = true};

	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);
		int priority;

		if (!is_competing(k))
			continue;
		priority = priority_of(v, k);
		if (s.tenant == UINT32_MAX) {
			s.tenant = k->tenant_index;
			s.priority = priority;
			continue;
		}
		s.by_priority |= priority != s.priority;
		s.priority = MAX(s.priority, priority);
	}
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		s.alone &= !is_competing(k) || is_first(v, &s, k);
	}
	return s;
}

/* ---- plans ---- */

/* Returns this percentage of the blocks that an SM holds, but at least one block. */
static uint8_t part_of(const struct heddle_policy_kernel *k, uint32_t percent)
{
	uint32_t blocks = k->blocks_per_sm * percent / 100;

	return (uint8_t)MIN(MAX(blocks, 1u), HEDDLE_POLICY_MAX_QUOTA);
}

static void fill_row(const struct split *p, const struct heddle_policy_kernel *k, bool first,
	uint32_t n, uint8_t *row)
{
	uint32_t own = (n * p->percent + 50) / 100;
	uint8_t part[2] = {part_of(k, 100 - p->percent), part_of(k, p->percent)};

	if (!p->mixed) {
		own = MIN(MAX(own, 1u), n - 1);
		memset(row, first ? HEDDLE_POLICY_UNBOUNDED : 0, own);
		memset(row + own, first ? 0 : HEDDLE_POLICY_UNBOUNDED, n - own);
		return;
	}
	for (uint32_t sm = 0; sm < n; sm++)
		row[sm] = part[first == (sm % 2 == 0)];
}

/* Returns the tenant of the launch that arrived first. */
static uint32_t first_tenant(const struct heddle_policy_view *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind == HEDDLE_POLICY_MANAGED && !k->idle)
			return k->tenant_index;
	}
	return UINT32_MAX;
}

static void split_decide(
	void *state, const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	const struct split *p = state;
	struct side s = find_first_side(v);
	uint32_t n = v->device->n_sms,
		 only = v->device->simultaneous ? UINT32_MAX : first_tenant(v);

	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);
		uint8_t *row = heddle_policy_row(v, out, i);

		if (k->kind != HEDDLE_POLICY_MANAGED ||
			(only != UINT32_MAX && k->tenant_index != only))
			continue;
		memset(row, HEDDLE_POLICY_UNBOUNDED, n);
		if (is_competing(k) && !s.alone && only == UINT32_MAX && n > 1)
			fill_row(p, k, is_first(v, &s, k), n, row);
	}
}

/* ---- options ---- */

static int split_read_options(struct split *p, const char *options, char *ret_why, size_t size)
{
	const char *value = strchr(options, '=');
	unsigned long percent;
	char *end;

	*p = (struct split){.percent = DEFAULT_PERCENT};
	if (!*options)
		return 0;
	p->mixed = strncmp(options, "mixed=", 6) == 0;
	if (!p->mixed && strncmp(options, "whole=", 6) != 0) {
		snprintf(ret_why, size,
			"policy split has no option '%.40s'; there are whole=PERCENT and "
			"mixed=PERCENT",
			options);
		return -EINVAL;
	}
	percent = strtoul(++value, &end, 10);
	if (*value < '0' || *value > '9' || *end || percent < 1 || percent > 99) {
		snprintf(ret_why, size, "%.5s: '%.40s' is not a whole number from 1 to 99", options,
			value);
		return -EINVAL;
	}
	p->percent = (uint32_t)percent;
	return 0;
}

static int split_check(const char *options, char *ret_why, size_t size)
{
	struct split p;

	return split_read_options(&p, options, ret_why, size);
}

static void *split_create(const struct heddle_policy_device *device, const char *options)
{
	struct split *p = calloc(1, sizeof(*p));
	char why[128];

	(void)device;
	if (p && split_read_options(p, options, why, sizeof(why)) == 0)
		return p;
	free(p);
	return NULL;
}

static const struct heddle_policy table = {.size = sizeof(table),
	.abi = HEDDLE_POLICY_ABI,
	.name = "split",
	.create = split_create,
	.destroy = free,
	.decide = split_decide,
	.flags = HEDDLE_POLICY_SIDE_BY_SIDE,
	.check = split_check};

const struct heddle_policy *heddle_policy(void)
{
	return &table;
}
