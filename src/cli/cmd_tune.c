/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle tune: kernels together in every way there is (KernelMerge, section 3, sweeps the
 * partition), each checked against the kernels alone; the best is kept for `corun --how tuned`.
 * Rounds go through all ways before the next begins, so that a device that changes its clock while
 * this runs changes it for all. */
#include "cli/kernelspec.h"
#include "cli/progress.h"
#include "cli/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAYS_MAX  (3 * 4 * 64 + 8)
#define HOPELESS  4.0 /* a way this much slower than the best is not measured again */
#define FEW       2u  /* after so many rounds */
#define FINALISTS 4u
#define WORTH     0.99 /* of the better of those that change nothing */

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda", "where they run (auto: the GPU if there is one)"},
	{0, "rounds", "N", "measure each way N times (9)"},
	{0, "points", "N", "partitions of a kind to try, at most 64 (15)"},
	{0, "store", "FILE", "where what is measured is kept"},
	{0},
};

struct way {
	enum corun_how how;
	struct dev_merging merging;
	struct dev_merge_plan plan;
	char name[MODEL_WAY_MAX];
	const char *why; /* it is none; NULL */
	bool wrong, hopeless, chosen;
	double *ms;
	unsigned runs;
	double median, spread;
};

struct tune {
	struct cli *c;
	struct arena *arena;
	struct corun *x;
	unsigned n, rounds, points;
	struct way ways[WAYS_MAX];
	unsigned n_ways;
};

/* ---- which ways ---- */
static int add_way(struct tune *t, enum corun_how how, const struct dev_merging *m)
{
	struct way *w = &t->ways[t->n_ways];
	struct strbuf why = {0};
	int r;

	if (t->n_ways == WAYS_MAX)
		return CLI_OK;
	t->n_ways++;
	w->how = how;
	w->merging = *m;
	schedule_print(how, m, t->n, w->name, sizeof(w->name));
	w->ms = ARENA_ARRAY(t->arena, double, t->rounds);
	if (!w->ms)
		return cli_error(t->c, NULL, "out of memory");
	r = corun_prepare(t->x, how, &why);
	if (r == CLI_OK)
		r = corun_plan(t->x, how, &w->merging, &why, &w->plan);
	if (r != CLI_OK && why.len) {
		w->why = arena_strndup(t->arena, why.at, why.len);
		r = CLI_OK;
	}
	strbuf_finish(&why);
	return r;
}

/* A block at a time, and more: short blocks cost more to hand out than to run. */
static int add_claims(struct tune *t, struct dev_merging *m)
{
	static const uint32_t claims[] = {1, 8};
	int r = CLI_OK;

	for (size_t i = 0; i < ARRAY_LEN(claims) && r == CLI_OK; i++) {
		m->chunk = claims[i];
		r = add_way(t, CORUN_MERGE, m);
	}
	return r;
}

/* Of `of` things in all: so many for the first kernel, the rest in equal parts. */
static int add_shares(struct tune *t, enum ctl_order order, uint32_t of)
{
	uint32_t steps = of > 1 ? MIN(of - 1, t->points) : 0;
	int r = CLI_OK;

	for (uint32_t i = 1; i <= steps && r == CLI_OK; i++) {
		struct dev_merging m = {.order = order};
		uint32_t first = (uint32_t)(((uint64_t)of * i + (steps + 1) / 2) / (steps + 1));
		uint32_t rest = of - first;

		m.share[0] = first * (t->n - 1);
		for (unsigned k = 1; k < t->n; k++)
			m.share[k] = rest;
		for (int help = 0; help < 2 && r == CLI_OK && first && rest; help++) {
			m.help_others = help;
			r = add_claims(t, &m);
		}
	}
	return r;
}

static int add_ways(struct tune *t)
{
	struct dev_merging none = {.order = CTL_STEAL};
	const struct way *steal;
	int r = add_way(t, CORUN_SEQUENTIAL, &none);

	if (r == CLI_OK)
		r = add_way(t, CORUN_STREAMS, &none);
	if (r == CLI_OK)
		r = add_way(t, CORUN_VERTICAL, &none);
	if (r == CLI_OK)
		r = add_way(t, CORUN_HORIZONTAL, &none);
	if (r == CLI_OK)
		r = add_way(t, CORUN_MERGE, &none);
	steal = &t->ways[t->n_ways - 1];
	if (r != CLI_OK || steal->why)
		return r;
	for (none.chunk = 2; none.chunk <= 32 && r == CLI_OK; none.chunk *= 2)
		r = add_way(t, CORUN_MERGE, &none);
	if (r != CLI_OK || t->n < 2)
		return r;
	r = add_shares(t, CTL_MIXED, steal->plan.per_sm);
	if (r == CLI_OK)
		r = add_shares(t, CTL_PARTITION, t->points + 1);
	if (r == CLI_OK)
		r = add_shares(t, CTL_APART, corun_seen(t->x)->n_sms);
	return r;
}

/* ---- measuring ---- */
/* Memory is compared where that takes no time from what is measured: in the first run of each way,
 * and in its last. */
static int measure(struct tune *t, struct way *w, bool warm)
{
	struct corun_times times;
	bool same;
	bool compares = warm || w->runs + 1 == t->rounds || w->runs + 1 == FEW;
	int r = corun_once(t->x, w->how, &w->merging, &w->plan, compares, &times, &same);

	if (r != CLI_OK)
		return r;
	w->wrong |= !same;
	if (!warm)
		w->ms[w->runs++] = times.ms;
	return CLI_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void judge(struct way *w)
{
	if (!w->runs)
		return;
	qsort(w->ms, w->runs, sizeof(*w->ms), by_value);
	w->median = w->ms[w->runs / 2];
	if (w->median > 0)
		w->spread = (w->ms[w->runs * 3 / 4] - w->ms[w->runs / 4]) / w->median;
}

static bool is_open(const struct way *w)
{
	return !w->why && !w->wrong;
}

/* Those that are far behind need no more than a figure. */
static void drop_hopeless(struct tune *t)
{
	double best = INFINITY;

	for (unsigned i = 0; i < t->n_ways; i++) {
		judge(&t->ways[i]);
		if (is_open(&t->ways[i]) && t->ways[i].runs)
			best = MIN(best, t->ways[i].median);
	}
	for (unsigned i = 0; i < t->n_ways; i++)
		t->ways[i].hopeless = t->ways[i].median > HOPELESS * best;
}

/* Of many ways the one that seems the fastest is so by luck, too: those in front are measured
 * again, beside those that change nothing, which stay unless one is worth it. */
static int choose(struct tune *t)
{
	struct way *first[2 + FINALISTS] = {0}, *best = NULL;
	unsigned n = 0;
	double plain = INFINITY;
	int r = CLI_OK;

	for (unsigned i = 0; i < t->n_ways; i++) {
		struct way *w = &t->ways[i];
		bool changes_nothing = w->how == CORUN_SEQUENTIAL || w->how == CORUN_STREAMS;

		if (is_open(w) && (changes_nothing || n < FINALISTS) && n < ARRAY_LEN(first))
			first[n++] = w;
	}
	for (unsigned i = 0; i < n; i++)
		first[i]->runs = 0;
	progress_begin(n * t->rounds);
	for (unsigned round = 0; round < t->rounds && r == CLI_OK; round++)
		for (unsigned i = 0; i < n && r == CLI_OK; i++) {
			progress_step("again: %s", first[i]->name);
			r = measure(t, first[i], false);
		}
	progress_clear();
	for (unsigned i = 0; i < n && r == CLI_OK; i++) {
		bool changes_nothing = first[i]->how <= CORUN_STREAMS;

		judge(first[i]);
		first[i]->hopeless = false;
		if (!is_open(first[i]))
			continue;
		if (!best || first[i]->median < best->median)
			best = first[i];
		if (changes_nothing)
			plain = MIN(plain, first[i]->median);
	}
	for (unsigned i = 0; i < n && best && best->median > WORTH * plain; i++)
		if (first[i]->how <= CORUN_STREAMS && first[i]->median <= plain)
			best = first[i];
	if (best)
		best->chosen = true;
	return r;
}

static bool goes_on(const struct way *w)
{
	return is_open(w) && !w->hopeless;
}

static unsigned count_going_on(const struct tune *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_ways; i++)
		n += goes_on(&t->ways[i]);
	return n;
}

static int measure_round(struct tune *t, const char *what, bool warm)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < t->n_ways && r == CLI_OK; i++) {
		if (!goes_on(&t->ways[i]))
			continue;
		progress_step("%s: %s", what, t->ways[i].name);
		r = measure(t, &t->ways[i], warm);
	}
	return r;
}

/* How many steps there are is known anew when the hopeless ones are dropped. */
static int measure_all(struct tune *t)
{
	unsigned few = MIN(FEW, t->rounds);
	int r;

	progress_begin(count_going_on(t) * (1 + few));
	r = measure_round(t, "first look", true);
	for (unsigned round = 0; round < few && r == CLI_OK; round++)
		r = measure_round(t, "first look", false);
	if (few == FEW)
		drop_hopeless(t);
	progress_begin(count_going_on(t) * (t->rounds - few));
	for (unsigned round = few; round < t->rounds && r == CLI_OK; round++)
		r = measure_round(t, "rounds", false);
	progress_clear();
	for (unsigned i = 0; i < t->n_ways; i++)
		judge(&t->ways[i]);
	return r;
}

/* ---- what came of it ---- */
static int by_median(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	bool ox = is_open(x), oy = is_open(y);

	if (ox != oy)
		return oy - ox;
	return (x->median > y->median) - (x->median < y->median);
}

static int keep(struct tune *t, const char *path)
{
	struct model_way *ways = ARENA_ARRAY(t->arena, struct model_way, t->n_ways);
	struct model_together what;
	struct model_store *store;
	unsigned n = 0;
	int r = ways ? corun_identify(t->x, &what) : cli_error(t->c, NULL, "out of memory");

	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->ways[i];

		if (!is_open(w) || !w->runs)
			continue;
		memcpy(ways[n].name, w->name, sizeof(w->name));
		ways[n].ms = w->median;
		ways[n].spread = w->spread;
		ways[n].chosen = w->chosen;
		ways[n++].runs = w->runs;
	}
	r = model_store_open(path, true, &store);
	if (r == 0) {
		r = model_ways_put(store, &what, ways, n);
		model_store_close(store);
	}
	return r < 0 ? cli_error(t->c, "what was measured is above, and is not kept", "%s",
			       model_store_why())
		     : CLI_OK;
}

static void report_table(struct tune *t, double sequential)
{
	struct strbuf *out = &t->c->out;

	strbuf_printf(out, "%s, %u SMs; medians of %u runs\n", corun_seen(t->x)->device_name,
		corun_seen(t->x)->n_sms, t->rounds);
	strbuf_printf(out, "%-36s %12s %8s %10s\n", "way", "ms", "spread", "gain");
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->ways[i];

		if (w->why || w->wrong)
			strbuf_printf(out, "%-36s %s\n", w->name,
				w->wrong ? "leaves other memory than the kernels alone" : w->why);
		else
			strbuf_printf(out, "%-36s %12.4f %6.1f %% %10.3f%s\n", w->name, w->median,
				w->spread * 100, w->median > 0 ? sequential / w->median : 0,
				w->chosen     ? "  *"
				: w->hopeless ? "  (two runs)"
					      : "");
	}
}

static void report_json(struct tune *t, double sequential)
{
	struct json j;

	cli_json_open(t->c, &j, 1);
	json_str(&j, "device", corun_seen(t->x)->device_name);
	json_uint(&j, "sms", corun_seen(t->x)->n_sms);
	json_num(&j, "sequential_ms", sequential);
	json_begin_array(&j, "ways");
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->ways[i];

		json_begin_object(&j, NULL);
		json_str(&j, "way", w->name);
		json_str(&j, "refused", w->why);
		json_bool(&j, "wrong", w->wrong);
		if (is_open(w)) {
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

static int read_options(struct tune *t)
{
	uint64_t rounds = 9, points = 15;
	int r = cli_number(t->c, "rounds", 1, 10000, &rounds);

	if (r == CLI_OK)
		r = cli_number(t->c, "points", 1, 64, &points);
	t->rounds = (unsigned)rounds;
	t->points = (unsigned)points;
	return r;
}

static int tune(struct tune *t)
{
	double sequential = 0;
	bool wrong = false;
	int r = add_ways(t);

	if (r == CLI_OK)
		r = measure_all(t);
	if (r != CLI_OK)
		return r;
	qsort(t->ways, t->n_ways, sizeof(t->ways[0]), by_median);
	r = choose(t);
	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; i < t->n_ways; i++)
		if (t->ways[i].how == CORUN_SEQUENTIAL)
			sequential = t->ways[i].median;
	for (unsigned i = 0; i < t->n_ways; i++)
		wrong |= t->ways[i].wrong;
	(t->c->json ? report_json : report_table)(t, sequential);
	if (!t->c->json)
		cli_emit(t->c); /* whatever becomes of the store */
	r = keep(t, cli_value(t->c, "store"));
	return r == CLI_OK && wrong ? CLI_FAILED : r;
}

static int run(struct cli *c)
{
	struct spec specs[CORUN_MAX];
	struct tune *t = calloc(1, sizeof(*t));
	const char *device = cli_value(c, "device");
	struct arena arena;
	int r;

	if (!t)
		return cli_error(c, NULL, "out of memory");
	arena_init(&arena, 0);
	t->c = c;
	t->arena = &arena;
	r = kernelspec_read_all(c, &arena, CORUN_MAX, specs, &t->n);
	if (r == CLI_OK)
		r = read_options(t);
	if (r == CLI_OK) {
		enum dev_kind kind = DEV_AUTO;

		if (device)
			dev_kind_parse(device, &kind);
		r = corun_open(c, &arena, specs, t->n, kind, true, &t->x);
		if (r == CLI_OK)
			r = tune(t);
		corun_close(t->x);
	}
	arena_finish(&arena);
	free(t);
	return r;
}

const struct cli_verb cli_verb_tune = {
	.name = "tune",
	.operands = "-- KERNELSPEC [+ KERNELSPEC...]",
	.summary = "measure every way of running kernels together, and keep the best",
	.details =
		"KERNELSPEC as for heddle corun. Each way is run on the same data, its memory "
		"compared with what the kernels leave alone, and timed; heddle corun --how tuned "
		"runs these kernels, launched so, in the way that was chosen (*): the fastest of "
		"those in front, measured once more, if it takes less than 0.99 of what they take "
		"one after the other or in streams, else the better of these. gain is how much "
		"longer they take one after the other. What is measured is kept in FILE, or "
		"$XDG_STATE_HOME/heddle/measured.db (~/.local/state without that).",
	.json = "device, sms, sequential_ms; ways, an array, the fastest first, of way, refused "
		"(why it cannot be; null), wrong (it left other memory), and ms, spread (of the "
		"middle half of the runs, relative to ms), runs, chosen.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = run,
};
