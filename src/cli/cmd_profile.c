/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle profile prints what heddled has learnt about kernels. The data comes from heddled, or from
 * its file if heddled is not running. With a program after "--", the command measures that
 * program's kernels (profile/measure_program.c). */
#include "cli/profile/measure_program.h"
#include "front/ask.h"
#include "front/cli.h"
#include "model/kept.h"
#include "model/rows.h"
#include "sched/policy/curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNKNOWN (0.0 / 0.0) /* printed as null in JSON and as a dash in text */

struct profile {
	const char *part; /* only kernels whose name contains this string; NULL: all */
	bool wanted;      /* the kernel that profile_add received last is one of these */
	bool failed;
	char from[4096]; /* path of the file; "": heddled itself replied */
	VEC(struct wire_kernel) kernels;
	/* the shapes of kernels.at[i] are shapes.at[first[i]] to shapes.at[first[i+1] - 1] */
	VEC(size_t) first;
	VEC(struct wire_shape) shapes;
};

/* ---- collecting the kernels ---- */

static void profile_add(void *user, const struct wire_kernel *k, const struct wire_shape *s)
{
	struct profile *p = user;

	if (k)
		p->wanted = !p->part || strstr(k->name, p->part);
	if (!p->wanted)
		return;
	if (k && (!VEC_PUSH(&p->kernels, *k) || !VEC_PUSH(&p->first, p->shapes.len)))
		p->failed = true;
	if (s && !VEC_PUSH(&p->shapes, *s))
		p->failed = true;
}

static void profile_add_kept(void *user, const struct duration_kernel *k)
{
	struct wire_kernel kernel;
	struct wire_shape shape;

	rows_of_kernel(k, &kernel);
	profile_add(user, &kernel, NULL);
	for (unsigned i = 0; i < k->n_shapes; i++) {
		rows_of_shape(&k->shape[i], &shape);
		profile_add(user, NULL, &shape);
	}
}

/* Finds the path of heddled's file: the given path, this user's file, or the system's file. Returns
 * 0 or a negative errno. */
static int find_store(const char *given, char *ret, size_t size)
{
	struct stat st;
	int r = 0;

	if (given)
		return snprintf(ret, size, "%s", given) < (int)size ? 0 : -ENAMETOOLONG;
	r = kept_default_path(ret, size);
	if (r < 0 || stat(ret, &st) < 0)
		r = snprintf(ret, size, KEPT_SYSTEM_FOLDER "/heddled.db") < (int)size
			    ? 0
			    : -ENAMETOOLONG;
	return r;
}

/* Reads the kernels from heddled's file. Returns 0, CLI_FAILED after it reports an error, or
 * -ENOENT if there is no such file. */
static int read_store(struct cli *c, struct profile *p)
{
	uint32_t uid = geteuid() ? geteuid() : DURATION_ANY;
	struct model_store *s = NULL;
	int r = find_store(cli_value(c, "store"), p->from, sizeof(p->from));

	if (r == 0)
		r = model_store_open(p->from, false, &s);
	if (r == 0)
		r = kept_each(s, uid, profile_add_kept, p);
	model_store_close(s);
	if (r == -ENOENT && !cli_has(c, "store"))
		return r;
	return r < 0 ? cli_error(c, NULL, "%s", model_store_why()) : 0;
}

static int collect_profile(struct cli *c, struct profile *p)
{
	const char *socket = cli_value(c, "socket");
	int r = cli_has(c, "store") ? -ENOENT : ask_profile(socket, profile_add, p), kept;

	if (!socket && (r == -ENOENT || r == -ECONNREFUSED)) {
		kept = read_store(c, p);
		if (kept != -ENOENT)
			return kept;
	}
	return r < 0 ? ask_failed(c, socket, r) : 0;
}

static void profile_finish(struct profile *p)
{
	VEC_FREE(&p->kernels);
	VEC_FREE(&p->first);
	VEC_FREE(&p->shapes);
}

/* Returns the index after the last shape of kernel i. */
static size_t shapes_end(const struct profile *p, size_t i)
{
	return i + 1 < p->first.len ? p->first.at[i + 1] : p->shapes.len;
}

static double shape_error(const struct wire_shape *s)
{
	if (s->predicted_ns == UINT64_MAX || !s->first_ns)
		return UNKNOWN;
	return fabs((double)s->predicted_ns - (double)s->first_ns) / (double)s->first_ns;
}

/* ---- printing JSON ---- */

static void json_shape(struct json *j, const struct wire_shape *s)
{
	json_begin_object(j, NULL);
	json_uint(j, "blocks", s->total);
	json_uint(j, "threads", s->threads);
	json_uint(j, "shared_bytes", s->shared_bytes);
	json_begin_array(j, "inputs");
	for (unsigned i = 0; i < WIRE_INPUTS; i++)
		json_num(j, NULL, s->input[i]);
	json_end(j, ']');
	json_uint(j, "launches", s->launches);
	json_uint(j, "mean_ns", s->mean_ns);
	json_uint(j, "moving_ns", s->moving_ns);
	json_num(j, "predicted_ns",
		s->predicted_ns == UINT64_MAX ? UNKNOWN : (double)s->predicted_ns);
	json_uint(j, "measured_ns", s->first_ns);
	json_num(j, "error", shape_error(s));
	json_end(j, '}');
}

/* Marks the block counts that policy greedy keeps after pruning. Pruning drops a count if a smaller
 * count is at least as fast. At each count, a launch's duration is proportional to an SM's time for
 * one block, so these times are compared. */
static void prune_counts(const struct wire_kernel *k, bool ret_kept[WIRE_PER_SM + 1])
{
	double ns[WIRE_PER_SM + 1] = {0};

	for (unsigned i = 0; i < WIRE_PER_SM; i++)
		ns[i + 1] = (double)k->curve_ns[i];
	curve_prune(ns, WIRE_PER_SM, ret_kept);
}

static void json_curve(struct json *j, const struct wire_kernel *k)
{
	bool kept[WIRE_PER_SM + 1];

	prune_counts(k, kept);
	json_begin_array(j, "curve");
	for (unsigned i = 0; i < WIRE_PER_SM; i++) {
		if (!(k->curve_ns[i] > 0))
			continue;
		json_begin_object(j, NULL);
		json_uint(j, "per_sm", i + 1);
		json_num(j, "block_ns", k->curve_ns[i]);
		json_bool(j, "pruned", !kept[i + 1]);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void json_kernel(struct json *j, const struct profile *p, size_t i)
{
	const struct wire_kernel *k = &p->kernels.at[i];
	char code[24];

	snprintf(code, sizeof(code), "%016llx", (unsigned long long)k->code);
	json_begin_object(j, NULL);
	json_str(j, "name", k->name);
	json_str(j, "code", code);
	json_uint(j, "uid", k->uid);
	json_str(j, "device", k->device);
	json_uint(j, "sms", k->n_sms);
	json_str(j, "driver", k->driver);
	json_uint(j, "launches", k->launches);
	json_num(j, "claim", k->claim ? k->claim : UNKNOWN);
	json_uint(j, "preemptions", k->n_costs);
	json_num(j, "cost_ns", k->n_costs ? (double)k->cost_ns : UNKNOWN);
	json_uint(j, "predictions", k->n_errors);
	json_num(j, "error_mean", k->n_errors ? k->error_mean : UNKNOWN);
	json_num(j, "error_worst", k->n_errors ? k->error_worst : UNKNOWN);
	json_curve(j, k);
	json_begin_array(j, "shapes");
	for (size_t s = p->first.at[i]; s < shapes_end(p, i); s++)
		json_shape(j, &p->shapes.at[s]);
	json_end(j, ']');
	json_end(j, '}');
}

static void json_profile(struct cli *c, const struct profile *p)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_str(&j, "file", p->from[0] ? p->from : NULL);
	json_begin_array(&j, "kernels");
	for (size_t i = 0; i < p->kernels.len; i++)
		json_kernel(&j, p, i);
	json_end(&j, ']');
	json_end(&j, '}');
}

/* ---- printing text ---- */

static void show_shapes(struct cli *c, const struct profile *p, size_t i)
{
	static const char *const heads[] = {"BLOCKS", "THREADS", "SHARED", "LAUNCHES", "MEAN(ms)",
		"PREDICTED(ms)", "MEASURED(ms)", "ERROR(%)"};
	struct table t = {.margin = 2};

	for (size_t k = 0; k < ARRAY_LEN(heads); k++)
		table_column(&t, 10, heads[k]);
	for (size_t at = p->first.at[i]; at < shapes_end(p, i); at++) {
		const struct wire_shape *s = &p->shapes.at[at];
		bool any = s->predicted_ns != UINT64_MAX;

		table_row(&t);
		table_cell(&t, "%llu", (unsigned long long)s->total);
		table_cell(&t, "%u", s->threads);
		table_cell(&t, "%u", s->shared_bytes);
		table_cell(&t, "%llu", (unsigned long long)s->launches);
		table_number(&t, 3, (double)s->mean_ns / 1e6, "");
		table_number(&t, 3, any ? (double)s->predicted_ns / 1e6 : UNKNOWN, "");
		table_number(&t, 3, (double)s->first_ns / 1e6, "");
		table_number(&t, 1, 100 * shape_error(s), "");
	}
	cli_show_table(c, &t);
}

static void show_curve(struct cli *c, const struct wire_kernel *k)
{
	bool any = false, kept[WIRE_PER_SM + 1];

	prune_counts(k, kept);
	for (unsigned i = 0; i < WIRE_PER_SM; i++) {
		if (!(k->curve_ns[i] > 0))
			continue;
		cli_show(c, "%s %u: %.3f us%s",
			any ? "," : "  an SM's time for a block, by blocks on it:", i + 1,
			(double)k->curve_ns[i] / 1e3, kept[i + 1] ? "" : " (pruned)");
		any = true;
	}
	if (any)
		cli_show(c, "\n");
}

static void begin_kernels(struct table *t)
{
	static const char *const heads[] = {
		"KERNEL", "LAUNCHES", "SHAPES", "COST(us)", "CLAIM", "ERROR(%)", "WORST(%)"};

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_column(t, i ? 8 : -24, heads[i]);
}

static void add_kernel(struct table *t, const struct wire_kernel *k)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", k->name[0] ? k->name : "(no name)");
	cli_plain(name, strlen(name));
	table_row(t);
	table_cell(t, "%s", name);
	table_cell(t, "%llu", (unsigned long long)k->launches);
	table_cell(t, "%u", k->n_shapes);
	table_number(t, 1, k->n_costs ? (double)k->cost_ns / 1e3 : UNKNOWN, "");
	table_number(t, 0, k->claim ? k->claim : UNKNOWN, "");
	table_number(t, 1, k->n_errors ? 100 * (double)k->error_mean : UNKNOWN, "");
	table_number(t, 1, k->n_errors ? 100 * (double)k->error_worst : UNKNOWN, "");
}

static bool same_device(const struct wire_kernel *a, const struct wire_kernel *b)
{
	return !strcmp(a->device, b->device) && !strcmp(a->driver, b->driver) &&
	       a->n_sms == b->n_sms;
}

static void show_profile(struct cli *c, const struct profile *p)
{
	const struct wire_kernel *before = NULL;
	struct table t = {0};

	if (p->from[0])
		cli_show(c, "no heddled was asked: from %s\n", p->from);
	if (!p->kernels.len)
		cli_show(c, "nothing is known%s%s\n", p->part ? " of kernels named " : "",
			p->part ? p->part : "");
	for (size_t i = 0; i < p->kernels.len; i++) {
		const struct wire_kernel *k = &p->kernels.at[i];
		char head[128];

		if (!before || !same_device(before, k)) {
			snprintf(head, sizeof(head), "on %s, %u SMs, driver %s", k->device,
				k->n_sms, k->driver);
			cli_plain(head, strlen(head));
			cli_show_table(c, &t);
			cli_show(c, "%s\n", head);
		}
		if (!t.columns.len)
			begin_kernels(&t);
		before = k;
		add_kernel(&t, k);
		if (p->part) {
			cli_show_table(c, &t);
			show_curve(c, k);
			show_shapes(c, p, i);
		}
	}
	cli_show_table(c, &t);
}

/* Rejects options that are only for a command with a program. */
static int check_list(struct cli *c)
{
	static const char *const only[] = {"device", "runs", "rounds", "budget-s"};

	for (unsigned i = 0; i < ARRAY_LEN(only); i++)
		if (cli_has(c, only[i]))
			return cli_misuse(c, "--%s is for a program: -- PROG [ARG...]", only[i]);
	return c->n_operands > 1 ? cli_misuse(c, "unexpected: '%s'", c->operands[1]) : CLI_OK;
}

static int list_profile(struct cli *c)
{
	struct profile p = {.part = c->operands[0]};
	int r = check_list(c);

	if (r == CLI_OK)
		r = collect_profile(c, &p);

	if (r == 0 && p.failed)
		r = cli_error(c, NULL, "out of memory");
	if (r == 0 && c->json)
		json_profile(c, &p);
	else if (r == 0)
		show_profile(c, &p);
	profile_finish(&p);
	return r;
}

static int run_profile(struct cli *c)
{
	if (!c->behind)
		return list_profile(c);
	if (!c->n_operands)
		return cli_misuse(c, "what is missing: a program after --");
#ifdef HEDDLE_RECORDED
	return profile_program(c);
#else
	return cli_error(
		c, "build heddle with jansson", "this heddle cannot read heddled's events");
#endif
}

static const struct cli_option options[] = {
	{0, "socket", "PATH", "the daemon's socket"},
	{0, "store", "FILE",
		"read this file of a heddled, and ask no heddled; with a program: keep the profile "
		"there (default: the file of this user's heddled)"},
	{0, "device", "cpu|cuda|auto",
		"with a program: the virtual GPU, or the GPU (default); cuda:1: the second one"},
	{0, "runs", "N", "run the program at most N times (default: 33)"},
	{0, "rounds", "N", "measure each count N times (default: 3)"},
	{0, "budget-s", "N", "end after N seconds, with the results so far (default: no limit)"},
	{0},
};

const struct cli_verb cli_verb_profile = {
	.name = "profile",
	.operands = "[KERNEL | -- PROG [ARG...]]",
	.summary = "list heddled's records of kernels, or measure a program's kernels",
	.details =
		"One line for each of your kernels that heddled has seen on a device, the last "
		"used first (root sees those of all users): managed launches that ended, shapes "
		"(grid, block, shared memory and input), COST of a preemption, and CLAIM, the "
		"blocks that a worker takes at a time. ERROR is the mean error of predicted "
		"durations and WORST the greatest, over the last 64 launches of shapes that had "
		"never run. With KERNEL, a part of the name, also how long an SM takes for a "
		"block, by the number of blocks on it, and a line for each shape: how long its "
		"launches took, the prediction before the first launch, and the time of that "
		"launch. A dash is an unknown value. If no heddled runs, and no socket is named, "
		"heddle reads the file: this user's, or the system's if this user may read "
		"it.\nWith a program after --, heddle runs it under a heddled of its own, and "
		"measures the duration of each launch against the number of its blocks that may "
		"stay on each SM: all that fit, one, and then those between, in turns. The program "
		"runs again until each count of each kernel has three launches (--rounds), or "
		"until two runs in a row add none. Its standard output is discarded. recorded:PROG "
		"[KERNEL] instead of the program is a launch that heddle record wrote. No other "
		"program should use the device at the same time. The table has the median and the "
		"least duration of each count. A count is pruned if it is no faster than one with "
		"fewer blocks; policy greedy does not consider it. A kernel of several shapes has "
		"a table for each. The curve of the largest grid goes into the store, where "
		"heddled finds it when it starts, and refines it; a heddled whose configuration "
		"names another state folder needs --store FOLDER/heddled.db. Launches run one at a "
		"time: a program whose kernels wait for each other needs --budget-s. Exit status "
		"1: nothing was measured, or the program failed.",
	.json = "Without a program: file (null: from heddled), kernels: an array of name, code (a "
		"hash), uid, device, "
		"sms, driver, launches, claim, preemptions (of which cost_ns is the mean), "
		"predictions (of which error_mean and error_worst are, relative), curve: an array "
		"of per_sm, block_ns and pruned, and shapes: an array of blocks, threads, "
		"shared_bytes, "
		"inputs (in the order of the parameters: bytes of the allocation a pointer leads "
		"into, or an integer; 0: neither), launches, mean_ns, moving_ns (of the last "
		"eight or so), predicted_ns, measured_ns and error (of the first launch, "
		"relative). Values that heddled does not know are null. With a program: program, "
		"device, file (the store), runs, out_of_time, unmeasured (counts without a "
		"launch), missing (launches that counts lack to have --rounds), reasons (of all "
		"launches: an array of reason, outcome, launches), kernels: an array of name, "
		"code, blocks, threads, shared_bytes, sms, fit (blocks that an SM holds), current "
		"(most launches of the "
		"last run had this form), launches, disturbed (launches that "
		"measure nothing), unbounded (why it has one point; null: it has all), kept "
		"(whether its curve goes into the store), only_on (the device that the store had "
		"it for before; null: none, or this one), points: an array of per_sm, launches, "
		"median_ns, least_ns (null: not measured) and pruned.",
	.options = options,
	.max_operands = -1,
	.run = run_profile,
};
