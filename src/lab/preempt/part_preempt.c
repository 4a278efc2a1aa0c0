/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench preempt measures FLEP's evaluation on this device. Each part of it is a file:
 * - co-runs of pairs and triplets (bench_corun.c)
 * - the cost of the preemptible form alone (section 6.5, figure 17; bench_overhead.c)
 * - spatial preemption (section 6.4, figures 15 and 16; bench_spatial.c, bench_extra.c)
 * - weighted fairness (section 6.3.3, figures 13 and 14; bench_shares.c)
 * - predictions of durations (section 6.2, figure 7; bench_predict.c)
 * - kernel slicing (section 6.5, figure 17; bench_slicing.c), and orders of blocks (bench_orders.c)
 *
 * One call of the command measures with and without heddle, and compares every kernel's result with
 * the one computed on the host. */
#include "base/text.h"
#include "front/progress.h"
#include "lab/bench.h"
#include "lab/lab.h"

#include <stdio.h>
#include <string.h>

/* The parts, in the order in which they run. The parts of bench_corun.c are measured together, when
 * the first of them that --part names is reached. */
static const struct part {
	const char *name;
	unsigned corun; /* for parts of bench_corun.c: the part's BENCH_... bit */
	unsigned (*steps)(const struct bench *b);
	int (*run)(struct bench *b);
} parts[] = {
	{"overhead", 0, bench_overhead_steps, bench_overhead},
	{"pairs", BENCH_PAIRS, NULL, NULL},
	{"delay", BENCH_DELAY, NULL, NULL},
	{"equal", BENCH_EQUAL, NULL, NULL},
	{"triplets", BENCH_TRIPLETS, NULL, NULL},
	{"spatial", 0, bench_spatial_steps, bench_spatial},
	{"extra", 0, bench_extra_steps, bench_extra},
	{"shares", 0, bench_shares_steps, bench_shares},
	{"slicing", 0, bench_slicing_steps, bench_slicing},
	{"orders", 0, bench_orders_steps, bench_orders},
	{"predict", 0, bench_predict_steps, bench_predict},
};

/* Returns whether the list of --part contains this part. */
static bool is_wanted(const struct bench *b, const char *part)
{
	const char *at = cli_value(b->c, "part");
	size_t len = strlen(part);

	if (!at || !strcmp(at, "all"))
		return true;
	for (; at; at = strchr(at, ','), at += at != NULL)
		if (!strncmp(at, part, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

static int check_parts(struct bench *b)
{
	const char *given = cli_value(b->c, "part");

	for (const char *at = given; at && strcmp(given, "all") != 0;) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < ARRAY_LEN(parts) &&
			(strlen(parts[i].name) != len || strncmp(parts[i].name, at, len) != 0))
			i++;
		if (i == ARRAY_LEN(parts))
			return cli_usage(b->c,
				"--part is all, or a list of pairs, delay, equal, triplets, "
				"overhead, spatial, extra, shares, predict, slicing, orders, not "
				"'%.*s'",
				(int)len, at);
		at = at[len] ? at + len + 1 : NULL;
	}
	return CLI_OK;
}

static unsigned corun_parts(const struct bench *b)
{
	unsigned wanted = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		wanted |= is_wanted(b, parts[i].name) ? parts[i].corun : 0;
	return wanted;
}

static unsigned count_steps(const struct bench *b)
{
	unsigned n = bench_corun_steps(b, corun_parts(b));

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].steps && is_wanted(b, parts[i].name))
			n += parts[i].steps(b);
	return n;
}

static int run_parts(struct bench *b)
{
	unsigned corun = corun_parts(b);
	int r = CLI_OK;

	progress_begin(count_steps(b));
	for (size_t i = 0; r == CLI_OK && i < ARRAY_LEN(parts); i++) {
		if (!is_wanted(b, parts[i].name))
			continue;
		if (parts[i].run) {
			r = parts[i].run(b);
		} else if (corun) {
			r = bench_corun(b, corun);
			corun = 0;
		}
	}
	return r;
}

static void begin_json(struct bench *b, struct json *j)
{
	cli_json_open(b->c, j, 2);
	json_str(j, "device", b->device_name);
	json_uint(j, "rounds", b->rounds);
	json_uint(j, "warm_rounds", b->device == DEV_CPU ? 0 : STAGE_SEARCH_ROUNDS);
	json_str(j, "programs", b->runtime ? "runtime" : "driver");
	b->j = j;
	cli_show(b->c, "device: %s; %s each, medians; %s API\n", b->device_name,
		COUNTED(b->rounds, "round"), b->runtime ? "runtime" : "driver");
}

static int read_options(struct bench *b)
{
	const char *api = cli_value(b->c, "programs");
	uint64_t rounds = b->quick ? 2 : 10;
	int r = cli_number(b->c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK)
		r = check_parts(b);
	if (r == CLI_OK)
		r = samples_check(b->c);
	b->runtime = api && !strcmp(api, "runtime");
	b->rounds = (unsigned)rounds;
	snprintf(b->options, sizeof(b->options), "%s%s, %s API", COUNTED(rounds, "round"),
		b->quick ? ", quick" : "", b->runtime ? "runtime" : "driver");
	return r;
}

int lab_preempt(struct cli *c)
{
	struct bench b = {.c = c, .quick = cli_has(c, "quick")};
	struct json j;
	int r = read_options(&b);

	arena_init(&b.arena, 0);
	child_catch_signals();
	cli_make_folder("reference", b.reference);
	if (r == CLI_OK)
		r = stage_device(c, cli_value(c, "device"), &b.device, b.device_name, &b.sms);
	if (r == CLI_OK)
		r = samples_open(&b.samples, c, b.device_name, b.options);
	if (r == CLI_OK) {
		begin_json(&b, &j);
		r = run_parts(&b);
	}
	if (r == CLI_OK) {
		samples_finish(&b.samples, &j);
		json_uint(&j, "failures", b.failures);
		json_end(&j, '}');
	}
	samples_close(&b.samples);
	if (b.reference[0])
		cli_remove_folder(b.reference);
	arena_finish(&b.arena);
	return r == CLI_OK && b.failures ? CLI_FAILED : r;
}
