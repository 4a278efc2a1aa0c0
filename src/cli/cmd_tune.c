/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle tune runs kernels together in every way (in streams, merged, and so on), and tries
 * several ways to divide the workers among the kernels (KernelMerge, section 3). Each result is
 * compared with the result of the same kernels alone. The fastest way is stored for `corun --how
 * tuned`. A round measures all ways before the next round begins, so that clock changes of the
 * device affect all ways. */
#include "base/text.h"
#include "job/kernelspec.h"
#include "job/ways.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda",
		"where they run: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "rounds", "N", "measure each way N times (default: 9)"},
	{0, "points", "N", "partitions of each kind to try, at most 64 (default: 15)"},
	{0, "compile-s", "N", "compile timeout of a way in seconds (default: 300)"},
	{0, "store", "FILE", "keep the results there (default: see below)"},
	{0},
};

#define BEHIND 4.0

static void report_table(struct ways *t, double sequential)
{
	static const char *const heads[] = {"way", "ms", "spread", "gain"};
	struct strbuf *out = &t->c->out;
	struct table table = {0};

	strbuf_printf(out, "%s, %u SMs; medians of %s\n", corun_seen(t->x)->device_name,
		corun_seen(t->x)->n_sms, COUNTED(t->rounds, "run"));
	for (unsigned i = 0; i < ARRAY_LEN(heads); i++)
		table_column(&table, i ? 9 : -36, heads[i]);
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		table_row(&table);
		table_cell(&table, "%s", w->name);
		if (w->why || w->wrong) {
			table_note(&table,
				w->wrong ? "leaves other memory than the kernels alone" : w->why);
		} else if (!w->runs) {
			table_note(&table, "not measured");
		} else {
			table_number(&table, 4, w->median, "");
			table_number(&table, 1, w->spread * 100, " %");
			table_number(&table, 3, w->median > 0 ? sequential / w->median : 0, "");
			table_note(&table, w->chosen ? "*" : w->dropped ? "(a look)" : "");
		}
	}
	table_print(&table, out);
	table_finish(&table);
}

static void report_json(struct ways *t, double sequential)
{
	struct json j;

	cli_json_open(t->c, &j, 1);
	json_str(&j, "device", corun_seen(t->x)->device_name);
	json_uint(&j, "sms", corun_seen(t->x)->n_sms);
	json_num(&j, "sequential_ms", sequential);
	json_begin_array(&j, "ways");
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		json_begin_object(&j, NULL);
		json_str(&j, "way", w->name);
		json_str(&j, "refused", w->why);
		json_bool(&j, "wrong", w->wrong);
		if (way_counts(w)) {
			json_num(&j, "ms", w->median);
			json_num(&j, "spread", w->spread);
			json_uint(&j, "runs", w->runs);
			json_bool(&j, "chosen", w->chosen);
		}
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
}

static int read_options(struct ways *t, unsigned *ret_compile_s)
{
	uint64_t rounds = 9, points = 15, compile_s = ASSEMBLER_LIMIT_S;
	int r = cli_number(t->c, "rounds", 1, 10000, &rounds);

	if (r == CLI_OK)
		r = cli_number(t->c, "points", 1, 64, &points);
	if (r == CLI_OK)
		r = cli_number(t->c, "compile-s", 1, 86400, &compile_s);
	*ret_compile_s = (unsigned)compile_s;
	t->rounds = (unsigned)rounds;
	t->points = (unsigned)points;
	t->looks = MIN(t->rounds, 2);
	t->behind = BEHIND;
	t->weave = true;
	return r;
}

static volatile sig_atomic_t interrupted; /* number of the caught signal; 0: none */

/* Restores the default action, so that a second signal ends the process. */
static void on_interrupt(int number)
{
	interrupted = number;
	signal(number, SIG_DFL);
}

static bool is_interrupted(void)
{
	return interrupted != 0;
}

/* After Ctrl-C, measuring stops, and the results so far are shown and stored. */
static void catch_interrupt(void)
{
	struct sigaction act = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static int tune_ways(struct ways *t)
{
	double sequential = 0;
	bool wrong = false;
	int r = ways_measure(t);

	if (r == CLI_OK)
		r = ways_choose(t);
	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; i < t->n_ways; i++) {
		if (t->at[i].way == HOST_WAY_SEQUENTIAL)
			sequential = t->at[i].median;
		wrong |= t->at[i].wrong;
	}
	(t->c->json ? report_json : report_table)(t, sequential);
	if (!t->c->json)
		cli_emit(t->c); /* show the results even if they cannot be stored */
	r = ways_keep(t, cli_value(t->c, "store"));
	if (is_interrupted())
		r = cli_error(t->c, NULL, "interrupted: ways that were not measured are missing");
	return r == CLI_OK && wrong ? CLI_FAILED : r;
}

static int run_tune(struct cli *c)
{
	struct spec specs[CORUN_MAX];
	struct arena arena;
	struct ways t = {.c = c, .arena = &arena};
	unsigned compile_s;
	int r;

	arena_init(&arena, 0);
	r = kernelspec_read_all(c, &arena, CORUN_MAX, false, specs, &t.n);
	if (r == CLI_OK)
		r = read_options(&t, &compile_s);
	if (r == CLI_OK)
		r = ways_will_keep(c, cli_value(c, "store"));
	if (r == CLI_OK) {
		r = corun_open_specs(c, &arena, specs, t.n, job_device_kind(c), true, &t.x);
		if (r == CLI_OK) {
			corun_limit(t.x, compile_s);
			catch_interrupt();
			t.stops = is_interrupted;
			r = tune_ways(&t);
		}
		corun_close(t.x);
	}
	arena_finish(&arena);
	return r;
}

const struct cli_verb cli_verb_tune = {
	.name = "tune",
	.operands = "-- KERNELSPEC [+ KERNELSPEC...]",
	.summary = "measure every way of running kernels together, and keep the best",
	.details =
		"KERNELSPEC is as for heddle corun. Two kernels are also woven: cut, unsliced and "
		"with branches, and with each register limit that brings more blocks onto an SM. "
		"heddle runs each way on the same data, compares its memory with that of the "
		"kernels alone, and times it. Ctrl-C ends that, and what was measured is shown and "
		"kept. "
		"The chosen way (*) is the fastest of the leading "
		"ways, measured once more, if it takes less than 0.99 of the time in sequence or "
		"in streams; else the better of these two. heddle corun --how tuned runs the same "
		"kernels with the same launches in the chosen way. gain is the time in sequence "
		"over the time of the way. The results are kept in FILE (default: "
		"$XDG_STATE_HOME/heddle/measured.db, or ~/.local/state/heddle/measured.db).",
	.json = "device, sms, sequential_ms; ways, an array, the fastest first, of way, refused "
		"(why this way is impossible; null), wrong (its memory differed), and ms, spread "
		"(of the middle half of the runs, relative to ms), runs, chosen.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = run_tune,
};
