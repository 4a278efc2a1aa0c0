/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints the output of heddle profile -- PROG: a table for each kernel and launch shape, or
 * JSON. */
#include "base/text.h"
#include "cli/profile/measure_program.h"

#include "base/demangle.h"
#include "base/measure.h"
#include "sched/policy/curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GUARD_WHY                                                                             \
	"its blocks obey no bound: the kernel has the guard form alone, and cannot be given " \
	"more shared memory"

struct curve {
	double ns[SCHED_PER_SM + 1];
	bool kept[SCHED_PER_SM + 1];
};

static void curve_of(struct measured_kernel *k, struct curve *ret)
{
	measured_curve(k, ret->ns);
	curve_prune(ret->ns, k->most, ret->kept);
}

static const struct profile_elsewhere *elsewhere_of(
	const struct program_profile *p, const struct measured_kernel *k)
{
	for (size_t i = 0; i < p->elsewhere.len; i++)
		if (p->elsewhere.at[i].code == k->code)
			return &p->elsewhere.at[i];
	return NULL;
}

/* ---- printing JSON ---- */

/* Writes a time; ns 0 means not measured, and becomes null. */
static void json_ns(struct json *j, const char *key, double ns)
{
	if (ns > 0)
		json_uint(j, key, (uint64_t)ns);
	else
		json_num(j, key, 0.0 / 0.0);
}

static void json_points(struct json *j, const struct measured_kernel *k, const struct curve *curve)
{
	json_begin_array(j, "points");
	for (uint32_t n = 1; n <= k->most; n++) {
		bool any = k->ns[n].len > 0;

		if (!measured_can_have(k, n))
			continue;
		json_begin_object(j, NULL);
		json_uint(j, "per_sm", n);
		json_uint(j, "launches", k->ns[n].len);
		json_ns(j, "median_ns", any ? curve->ns[n] : 0);
		json_ns(j, "least_ns", any ? k->ns[n].at[0] : 0);
		json_bool(j, "pruned", any && !curve->kept[n]);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void json_kernel(struct json *j, const struct program_profile *p, struct measured_kernel *k)
{
	const struct profile_elsewhere *e = elsewhere_of(p, k);
	struct curve curve;
	char code[24];

	curve_of(k, &curve);
	snprintf(code, sizeof(code), "%016" PRIx64, k->code);
	json_begin_object(j, NULL);
	json_str(j, "name", k->name);
	json_str(j, "code", code);
	json_uint(j, "blocks", k->blocks);
	json_uint(j, "threads", k->threads);
	json_uint(j, "shared_bytes", k->shared_bytes);
	json_uint(j, "sms", k->n_sms);
	json_uint(j, "fit", k->fit);
	json_bool(j, "current", measured_is_current(&p->measured, k));
	json_uint(j, "launches", k->launches);
	json_uint(j, "disturbed", k->disturbed);
	json_str(j, "unbounded", k->guard && !k->counts ? GUARD_WHY : NULL);
	json_bool(j, "kept", measured_is_main(&p->measured, k));
	json_str(j, "only_on", e ? e->device : NULL);
	json_points(j, k, &curve);
	json_end(j, '}');
}

static void show_json(struct cli *c, struct program_profile *p)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_str(&j, "program", p->program);
	json_str(&j, "device", p->device);
	json_str(&j, "file", p->store);
	json_uint(&j, "runs", p->runs);
	json_bool(&j, "out_of_time", p->out_of_time);
	json_uint(&j, "unmeasured", p->unmeasured);
	json_uint(&j, "missing", p->missing);
	wire_reasons_json(p->measured.launched, &j);
	json_begin_array(&j, "kernels");
	for (size_t i = 0; i < p->measured.kernels.len; i++)
		json_kernel(&j, p, &p->measured.kernels.at[i]);
	json_end(&j, ']');
	json_end(&j, '}');
}

/* ---- printing text ---- */

/* Returns the largest number of blocks below n that the pruned curve keeps. It is also the fastest
 * one below n. */
static uint32_t fastest_before(const struct curve *curve, uint32_t n)
{
	uint32_t best = n - 1;

	while (best > 1 && !curve->kept[best])
		best--;
	return best;
}

static void show_points(struct cli *c, const struct measured_kernel *k, const struct curve *curve)
{
	static const char *const heads[] = {"BLOCKS/SM", "LAUNCHES", "MEDIAN(ms)", "LEAST(ms)"};
	struct table t = {.margin = 2};
	char note[48];

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_column(&t, i < 2 ? 0 : 12, heads[i]);
	for (uint32_t n = 1; n <= k->most; n++) {
		if (!measured_can_have(k, n))
			continue;
		table_row(&t);
		table_cell(&t, "%u", n);
		table_cell(&t, "%zu", k->ns[n].len);
		table_number(&t, 3, k->ns[n].len ? curve->ns[n] / 1e6 : NAN, "");
		table_number(&t, 3, k->ns[n].len ? k->ns[n].at[0] / 1e6 : NAN, "");
		if (k->ns[n].len && !curve->kept[n]) {
			snprintf(note, sizeof(note), " pruned: no faster than %u",
				fastest_before(curve, n));
			table_note(&t, note);
		}
	}
	cli_show_table(c, &t);
}

static void show_kernel(struct cli *c, const struct program_profile *p, struct measured_kernel *k)
{
	const struct profile_elsewhere *e = elsewhere_of(p, k);
	struct curve curve;
	char name[300];

	curve_of(k, &curve);
	demangle_name(k->name[0] ? k->name : "(no name)", name, sizeof(name));
	cli_plain(name, strlen(name));
	cli_show(c,
		"%s: %s of %s, %u bytes of shared memory; an SM holds "
		"%u\n",
		name, COUNTED(k->blocks, "block"), COUNTED(k->threads, "thread"), k->shared_bytes,
		k->fit);
	if (k->guard && !k->counts)
		cli_show(c, "  one point: " GUARD_WHY "\n");
	else if (k->most == 1)
		cli_show(c, "  one point: %s\n",
			k->fit == 1 ? "an SM holds one block"
				    : "the grid has no more blocks than the device has SMs");
	if (e)
		cli_show(c, "  the store had it for another device only: %s, %u SMs, driver %s\n",
			e->device, e->n_sms, e->driver);
	if (k->disturbed)
		cli_show(c, "  disturbed, and not measured: %" PRIu64 " of %s\n", k->disturbed,
			COUNTED(k->launches, "launch"));
	show_points(c, k, &curve);
	if (!measured_is_current(&p->measured, k))
		cli_show(c, "  not kept: most launches had another form\n");
	else if (!measured_is_main(&p->measured, k))
		cli_show(c, "  not kept: the curve of its largest grid is\n");
}

static void show_unmanaged(struct cli *c, const struct measured *m)
{
	for (unsigned i = 0; i < WIRE_REASONS; i++)
		if (m->launched[i] && wire_reason_rows[i].outcome > WIRE_GUARD)
			cli_show(c, "not managed: %" PRIu64 " launch%s: %s\n", m->launched[i],
				PLURAL(m->launched[i], "es"), wire_reason_rows[i].text);
}

static void show_text(struct cli *c, struct program_profile *p)
{
	cli_show(c, "%s on %s, %u run%s, kept in %s\n", p->program, p->device, p->runs,
		PLURAL(p->runs, "s"), p->store);
	for (size_t i = 0; i < p->measured.kernels.len; i++)
		show_kernel(c, p, &p->measured.kernels.at[i]);
	show_unmanaged(c, &p->measured);
	if (p->unmeasured)
		cli_show(c, "counts of blocks left without a launch: %u%s\n", p->unmeasured,
			p->out_of_time ? ": --budget-s is over" : ": more --runs may reach them");
	else if (p->missing)
		cli_show(c, "some counts have fewer than %u launch%s%s\n", p->rounds,
			PLURAL(p->rounds, "es"), p->out_of_time ? ": --budget-s is over" : "");
}

void profile_program_show(struct cli *c, struct program_profile *p)
{
	if (c->json)
		show_json(c, p);
	else
		show_text(c, p);
}
