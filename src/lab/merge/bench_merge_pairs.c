/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures pairs of kernels in every way (KernelMerge, figures 4, 6 and 7), and then compares
 * each pair's chosen way with launches of the unmodified kernels. With a time limit, each pair
 * that is left gets an equal share of the remaining time. */
#include "base/text.h"
#include "lab/merge/bench_merge.h"

#include "front/progress.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEHIND 1.15
#define LOOKS  3
#define AGAIN  0.25 /* part of a pair's time that is kept for measuring the fastest ways again */

/* ---- one pair ---- */

static bool is_steal(const struct way *w)
{
	return w->merging.order == CTL_STEAL && !w->merging.own;
}

static bool is_paper_steal(const struct way *w)
{
	return is_steal(w) && w->merging.chunk == 1 && !w->merging.chunks[0];
}

static bool is_partition(const struct way *w)
{
	return w->merging.order == CTL_PARTITION && !w->merging.help_others;
}

/* The columns of the table of pairs. Each shows the gain of the best way of its kind. */
static const struct column {
	const char *head, *key; /* of the table; in JSON */
	int width;
	enum host_way way;              /* of its ways */
	bool (*is)(const struct way *); /* and what else is true of them; NULL: nothing */
	size_t at;                      /* in struct merge_pair: its milliseconds */
} columns[] = {
	{"streams", "streams", 7, HOST_WAY_STREAMS, NULL, offsetof(struct merge_pair, streams)},
	{"green", "green", 6, HOST_WAY_GREEN, NULL, offsetof(struct merge_pair, green)},
	{"vertic.", "vertical", 7, HOST_WAY_VERTICAL, NULL, offsetof(struct merge_pair, vertical)},
	{"horiz.", "horizontal", 7, HOST_WAY_HORIZONTAL, NULL,
		offsetof(struct merge_pair, horizontal)},
	{"steal", "steal", 6, HOST_WAY_MERGE, is_paper_steal, offsetof(struct merge_pair, steal)},
	{"steal*", "steal_best", 6, HOST_WAY_MERGE, is_steal,
		offsetof(struct merge_pair, steal_best)},
	{"part.", "partition", 6, HOST_WAY_MERGE, is_partition,
		offsetof(struct merge_pair, partition)},
};

static double *ms_at(struct merge_pair *p, const struct column *c)
{
	return (double *)((char *)p + c->at);
}

static double ms_of(const struct merge_pair *p, const struct column *c)
{
	return *(const double *)((const char *)p + c->at);
}

static double best_ms(const struct ways *t, enum host_way way, bool (*is)(const struct way *))
{
	const struct way *w = ways_best(t, way, is);

	return w ? w->main_ms : 0;
}

static int by_part(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

static void take_curve(const struct ways *t, struct merge_curve *ret)
{
	double points[MERGE_CURVE][2];
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_ways && n < MERGE_CURVE; i++) {
		const struct way *w = &t->at[i];

		if (w->way != HOST_WAY_MERGE || !is_partition(w) || !way_counts(w))
			continue;
		points[n][0] =
			(double)w->merging.share[0] / (w->merging.share[0] + w->merging.share[1]);
		points[n++][1] = w->main_ms;
	}
	qsort(points, n, sizeof(points[0]), by_part);
	for (unsigned i = 0; i < n; i++) {
		ret->part[i] = points[i][0];
		ret->ms[i] = points[i][1];
	}
	ret->n = n;
}

static void take_times(const struct ways *t, struct merge_pair *p)
{
	const struct way *part = ways_best(t, HOST_WAY_MERGE, is_partition);

	p->sequential = best_ms(t, HOST_WAY_SEQUENTIAL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		*ms_at(p, &columns[i]) = best_ms(t, columns[i].way, columns[i].is);
	snprintf(p->partition_name, sizeof(p->partition_name), "%s", part ? part->name : "");
	take_curve(t, &p->curve);
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		if (w->way == HOST_WAY_SEQUENTIAL)
			p->tuned_sequential = w->median;
		if (w->way == HOST_WAY_STREAMS)
			p->tuned_streams = w->median;
		if (!w->chosen)
			continue;
		p->tuned = w->median;
		snprintf(p->tuned_name, sizeof(p->tuned_name), "%s", w->name);
	}
	p->done = p->sequential > 0 && p->tuned > 0;
}

static int measure_pair(struct merge_bench *b, struct merge_pair *p, struct ways *t, double part_ms)
{
	int r;

	t->rounds = b->rounds;
	t->points = b->points;
	t->looks = MIN(LOOKS, b->rounds);
	t->behind = BEHIND;
	t->n = 2;
	if (part_ms > 0)
		t->until_ms = clock_ms() + part_ms * (1 - AGAIN);
	r = ways_measure(t);
	if (part_ms > 0)
		t->until_ms = clock_ms() + part_ms * AGAIN;
	if (r == CLI_OK)
		r = ways_choose(t);
	if (r != CLI_OK)
		return r;
	take_times(t, p);
	corun_made(t->x, HOST_WAY_MERGE, &p->make_ms, &p->compile_ms);
	for (unsigned i = 0; i < t->n_ways; i++)
		b->wrong += t->at[i].wrong;
	return ways_keep(t, b->store);
}

/* ---- rows ---- */

static double ratio_of(double a, double b)
{
	return a > 0 && b > 0 ? a / b : 0;
}

static double plain_of(const struct merge_pair *p)
{
	return p->tuned_streams > 0 ? MIN(p->tuned_sequential, p->tuned_streams)
				    : p->tuned_sequential;
}

static void json_ways(struct merge_bench *b, const struct ways *t)
{
	json_begin_array(b->j, "ways");
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		json_begin_object(b->j, NULL);
		json_str(b->j, "way", w->name);
		if (w->why)
			json_str(b->j, "refused", w->why);
		if (w->wrong)
			json_bool(b->j, "wrong", true);
		if (way_counts(w)) {
			json_num(b->j, "ms", w->main_ms);
			json_num(b->j, "spread", w->spread);
			json_uint(b->j, "runs", w->runs);
		}
		if (w->chosen)
			json_bool(b->j, "chosen", true);
		json_end(b->j, '}');
	}
	json_end(b->j, ']');
}

static void json_pair(
	struct merge_bench *b, const struct merge_pair *p, const struct ways *t, double mhz)
{
	double s = p->sequential;

	json_num(b->j, "mhz", mhz);
	json_num(b->j, "sequential_ms", s);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		double ms = ms_of(p, &columns[i]);

		json_num(b->j, columns[i].key, ms > 0 ? ratio_of(s, ms) : NAN);
	}
	json_str(b->j, "partition_way", p->partition_name);
	json_str(b->j, "tuned_way", p->tuned_name);
	json_num(b->j, "tuned", ratio_of(p->tuned_sequential, p->tuned));
	json_num(b->j, "tuned_of_plain", ratio_of(plain_of(p), p->tuned));
	json_num(b->j, "make_ms", p->make_ms);
	json_num(b->j, "compile_ms", p->compile_ms);
	json_ways(b, t);
}

static void print_head(struct merge_bench *b)
{
	cli_show(b->c,
		"\ngains: how much longer one after the other takes (steal: a block a claim; "
		"steal*, "
		"partition: the best)\n%-27s %9s",
		"pair", "seq. ms");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		cli_show(b->c, " %*s", columns[i].width, columns[i].head);
	cli_show(b->c, " %6s  %s\n", "tuned", "way");
}

static void print_row(struct merge_bench *b, const struct merge_pair *p)
{
	char name[64];

	cli_show(b->c, "%-27s %9.4f", merge_pair_name(p, name, sizeof(name)), p->sequential);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		double ms = ms_of(p, &columns[i]);

		if (ms > 0)
			cli_show(b->c, " %*.3f", columns[i].width, ratio_of(p->sequential, ms));
		else
			cli_show(b->c, " %*s", columns[i].width, "-");
	}
	cli_show(b->c, " %6.3f  %s\n", ratio_of(p->tuned_sequential, p->tuned), p->tuned_name);
}

/* ---- what was not measured ---- */

/* Returns why column c has no result. Partitions are only tried if work stealing is possible, so
 * the reason for stealing counts for partitions too. */
static const char *why_none(const struct ways *t, const struct column *c)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < t->n_ways; i++) {
			bool (*is)(const struct way *) =
				pass && c->is == is_partition ? is_steal : c->is;
			const struct way *w = &t->at[i];

			if (w->way != c->way || (is && !is(w)) || way_counts(w))
				continue;
			return w->why     ? w->why
			       : w->wrong ? "it leaves other memory than the kernels alone"
					  : "it took no time";
		}
	return "none was tried";
}

/* Adds a note to be printed below the table. Pairs with the same reason in the same columns share
 * one note. */
static int add_note(struct merge_bench *b, const char *why, uint32_t of_columns, unsigned pair)
{
	struct merge_note **at = &b->notes, *n;

	while (*at && ((*at)->columns != of_columns || strcmp((*at)->why, why) != 0))
		at = &(*at)->next;
	n = *at;
	if (!n) {
		n = ARENA_NEW(&b->arena, struct merge_note);
		if (!n)
			return job_out_of_memory(b->c);
		*n = (struct merge_note){
			arena_strndup(&b->arena, why, strlen(why)), of_columns, 0, NULL};
		if (!n->why)
			return job_out_of_memory(b->c);
		*at = n;
	}
	n->pairs |= 1u << pair;
	return CLI_OK;
}

static int note_refusals(struct merge_bench *b, const struct ways *t, unsigned pair)
{
	const char *why[ARRAY_LEN(columns)] = {0};
	int r = CLI_OK;

	for (unsigned i = 0; i < ARRAY_LEN(columns); i++)
		if (ms_of(&b->pairs[pair], &columns[i]) <= 0)
			why[i] = why_none(t, &columns[i]);
	for (unsigned i = 0; i < ARRAY_LEN(columns) && r == CLI_OK; i++) {
		const char *this = why[i];
		uint32_t of_columns = 0;

		for (unsigned k = i; this && k < ARRAY_LEN(columns); k++)
			if (why[k] && !strcmp(why[k], this)) {
				of_columns |= 1u << k;
				why[k] = NULL;
			}
		if (this)
			r = add_note(b, this, of_columns, pair);
	}
	return r;
}

static void say_notes(struct merge_bench *b)
{
	for (const struct merge_note *n = b->notes; n; n = n->next) {
		const char *between = "-: ";
		char name[64];

		for (unsigned i = 0; i < ARRAY_LEN(columns); i++)
			if (n->columns >> i & 1) {
				cli_show(b->c, "%s%s", between, columns[i].head);
				between = ", ";
			}
		between = " of ";
		if ((unsigned)__builtin_popcount(n->pairs) == b->n_pairs)
			cli_show(b->c, " of all pairs");
		else
			for (unsigned i = 0; i < b->n_pairs; i++) {
				if (!(n->pairs >> i & 1))
					continue;
				cli_show(b->c, "%s%s", between,
					merge_pair_name(&b->pairs[i], name, sizeof(name)));
				between = ", ";
			}
		cli_show(b->c, ": %s", n->why);
		cli_show(b->c, "\n");
	}
}

static void begin_pair(struct merge_bench *b, const struct merge_pair *p)
{
	json_begin_object(b->j, NULL);
	json_str(b->j, "first", merge_rows[p->a].name);
	json_str(b->j, "second", merge_rows[p->b].name);
}

static void run_pair(struct merge_bench *b, struct merge_pair *p, double part_ms)
{
	char name[64];
	struct arena arena;
	struct ways t = {.c = b->c, .arena = &arena};
	double mhz = 0;
	int r;

	arena_init(&arena, 0);
	t.label = merge_pair_name(p, name, sizeof(name));
	begin_pair(b, p);
	r = merge_open(b, &arena, p, &t.x);
	if (r == CLI_OK)
		r = measure_pair(b, p, &t, part_ms);
	gauge_mhz(&b->device.d.cu, &b->device.gauge, &mhz);
	progress_clear();
	if (p->done) {
		print_row(b, p);
		json_pair(b, p, &t, mhz);
		r = note_refusals(b, &t, (unsigned)(p - b->pairs));
	}
	b->failures += r != CLI_OK;
	json_end(b->j, '}');
	corun_close(t.x);
	arena_finish(&arena);
}

/* ---- all of them ---- */

static void print_summary(struct merge_bench *b, const char *key)
{
	double logs = 0, best = 0, worst = INFINITY, steal = 0, least = INFINITY;
	unsigned n = 0, better = 0, merged = 0, parted = 0;

	for (unsigned i = 0; i < b->n_pairs; i++) {
		const struct merge_pair *p = &b->pairs[i];
		double gain = ratio_of(p->tuned_sequential, p->tuned);

		if (!p->done)
			continue;
		n++;
		logs += log(gain);
		best = MAX(best, gain);
		worst = MIN(worst, gain);
		better += gain > 1.05;
		merged += gain > 1.05 && !strncmp(p->tuned_name, "merge", 5);
		least = MIN(least, ratio_of(plain_of(p), p->tuned));
		if (p->steal_best > 0 && p->partition > 0) {
			steal += p->steal_best / p->partition;
			parted++;
		}
	}
	if (!n)
		return;
	json_begin_object(b->j, key);
	json_uint(b->j, "pairs", n);
	json_uint(b->j, "better", better);
	json_uint(b->j, "better_merged", merged);
	json_num(b->j, "geomean", exp(logs / n));
	json_num(b->j, "best", best);
	json_num(b->j, "worst", worst);
	json_num(b->j, "least_of_plain", least);
	if (parted)
		json_num(b->j, "steal_of_partition", steal / parted);
	json_end(b->j, '}');
	cli_show(b->c,
		"%s: gain of what was chosen %.3f (geometric mean; %.3f to %.3f), over 1.05 "
		"in %u, %u of them merged; least of the better of sequential and streams %.3f\n",
		COUNTED(n, "pair"), exp(logs / n), worst, best, better, merged, least);
	if (parted)
		cli_show(b->c, "stealing takes %.3f times as long as the best partition (mean)\n",
			steal / parted);
}

/* Calls run for each pair, with the pair's time limit in milliseconds (0: no limit). */
static void for_each_pair(struct merge_bench *b,
	void (*run)(struct merge_bench *b, struct merge_pair *p, double part_ms))
{
	char name[64];

	for (unsigned i = 0; i < b->n_pairs; i++) {
		struct merge_pair *p = &b->pairs[i];
		double part = b->until_ms > 0 ? (b->until_ms - clock_ms()) / (b->n_pairs - i) : 0;

		if (!merge_is_late(b)) {
			run(b, p, part);
			continue;
		}
		begin_pair(b, p);
		json_bool(b->j, "left_out", true);
		json_end(b->j, '}');
		cli_show(b->c, "%-27s left out: no time\n", merge_pair_name(p, name, sizeof(name)));
	}
}

int merge_pairs(struct merge_bench *b)
{
	print_head(b);
	json_begin_array(b->j, "pairs");
	for_each_pair(b, run_pair);
	json_end(b->j, ']');
	say_notes(b);
	print_summary(b, "summary");
	return CLI_OK;
}

/* ---- what was kept ---- */

/* Measures three ways of running the pair: one kernel after the other, both in streams, and the
 * way that heddle tune has stored. Each round runs the three in turn, and the first round is not
 * counted. */
static int run_three(struct merge_bench *b, struct ways *t, struct merge_pair *p)
{
	enum host_way ways[] = {HOST_WAY_SEQUENTIAL, HOST_WAY_STREAMS, 0};
	struct host_merging m[ARRAY_LEN(ways)] = {{0}};
	int r = corun_look_up(t->x, b->store, &ways[2], &m[2]);

	t->n = 2;
	t->rounds = b->rounds;
	if (r == CLI_OK)
		r = ways_measure_these(t, ways, m, ARRAY_LEN(ways));
	if (r == CLI_OK && t->at[2].why)
		r = cli_error(b->c, NULL, "%s", t->at[2].why);
	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; i < t->n_ways; i++)
		b->wrong += t->at[i].wrong;
	p->sequential = p->tuned_sequential = t->at[0].median;
	p->tuned_streams = t->at[1].median;
	p->tuned = t->at[2].median;
	snprintf(p->tuned_name, sizeof(p->tuned_name), "%s", t->at[2].name);
	p->done = true;
	return CLI_OK;
}

static void tuned_pair(struct merge_bench *b, struct merge_pair *p, double part_ms)
{
	char name[64];
	struct arena arena;
	struct ways t = {.c = b->c, .arena = &arena};
	int r;

	arena_init(&arena, 0);
	*p = (struct merge_pair){.a = p->a, .b = p->b};
	t.label = merge_pair_name(p, name, sizeof(name));
	begin_pair(b, p);
	r = merge_open(b, &arena, p, &t.x);
	if (part_ms > 0)
		t.until_ms = clock_ms() + part_ms;
	if (r == CLI_OK)
		r = run_three(b, &t, p);
	progress_clear();
	if (r == CLI_OK) {
		json_str(b->j, "way", p->tuned_name);
		json_num(b->j, "sequential_ms", p->tuned_sequential);
		json_num(b->j, "streams_ms", p->tuned_streams);
		json_num(b->j, "ms", p->tuned);
		json_num(b->j, "gain", ratio_of(p->tuned_sequential, p->tuned));
		json_num(b->j, "of_plain", ratio_of(plain_of(p), p->tuned));
		cli_show(b->c, "%-27s %9.4f %9.4f %9.4f %6.3f %6.3f  %s\n", name,
			p->tuned_sequential, p->tuned_streams, p->tuned,
			ratio_of(p->tuned_sequential, p->tuned), ratio_of(plain_of(p), p->tuned),
			p->tuned_name);
	}
	b->failures += r != CLI_OK;
	json_end(b->j, '}');
	corun_close(t.x);
	arena_finish(&arena);
}

int merge_tuned(struct merge_bench *b)
{
	cli_show(b->c, "\n%-27s %9s %9s %9s %6s %6s  %s\n", "as chosen before", "seq. ms",
		"streams", "ms", "gain", "plain", "way");
	json_begin_array(b->j, "tuned");
	for_each_pair(b, tuned_pair);
	json_end(b->j, ']');
	print_summary(b, "tuned_summary");
	return CLI_OK;
}
