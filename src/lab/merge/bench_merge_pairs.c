/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures pairs of kernels in every way (KernelMerge, figures 4, 6 and 7), and then compares
 * each pair's chosen way with launches of the unmodified kernels. */
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
#define AGAIN  0.25 /* fraction of a pair's time in which the fastest ways are measured again */

/* ---- measuring a pair ---- */

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
	const char *head, *key;         /* the column's head in the text; its key in JSON */
	enum host_way way;              /* the kind of way that the column shows */
	bool (*is)(const struct way *); /* further condition for the column's ways; NULL: none */
	/* offset of the column's milliseconds in struct merge_pair */
	size_t at;
} columns[] = {
	{"streams", "streams", HOST_WAY_STREAMS, NULL, offsetof(struct merge_pair, streams)},
	{"green", "green", HOST_WAY_GREEN, NULL, offsetof(struct merge_pair, green)},
	{"vertical", "vertical", HOST_WAY_VERTICAL, NULL, offsetof(struct merge_pair, vertical)},
	{"horizontal", "horizontal", HOST_WAY_HORIZONTAL, NULL,
		offsetof(struct merge_pair, horizontal)},
	{"steal", "steal", HOST_WAY_MERGE, is_paper_steal, offsetof(struct merge_pair, steal)},
	{"best steal", "steal_best", HOST_WAY_MERGE, is_steal,
		offsetof(struct merge_pair, steal_best)},
	{"partition", "partition", HOST_WAY_MERGE, is_partition,
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

/* ---- packing and unpacking samples ---- */

enum { WRONG = 1, CHOSEN = 2 };

/* Packs a row of samples. These have one value for each way: "way" (its name), "why" (the reason
 * why it is impossible, else empty), "main_ms", "median_ms", "spread" and "flags". "ms N" are the
 * times of way N's runs. The pair as a whole has "mhz", "make_ms" and "compile_ms". */
static json_t *pack(const struct ways *t, double mhz, double make_ms, double compile_ms)
{
	json_t *way = json_array(), *why = json_array(), *main_ms = json_array();
	json_t *median = json_array(), *spread = json_array(), *flags = json_array(), *o;
	char name[24];

	o = json_pack("{so so so so so so so so so}", "way", way, "why", why, "main_ms", main_ms,
		"median_ms", median, "spread", spread, "flags", flags, "mhz", samples_number(mhz),
		"make_ms", samples_number(make_ms), "compile_ms", samples_number(compile_ms));
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		json_array_append_new(way, json_string(w->name));
		json_array_append_new(why, json_string(w->why ? w->why : ""));
		json_array_append_new(main_ms, json_real(w->main_ms));
		json_array_append_new(median, json_real(w->median));
		json_array_append_new(spread, json_real(isfinite(w->spread) ? w->spread : 0));
		json_array_append_new(
			flags, json_integer((w->wrong ? WRONG : 0) | (w->chosen ? CHOSEN : 0)));
		snprintf(name, sizeof(name), "ms %u", i);
		if (w->runs)
			json_object_set_new(o, name, samples_numbers(w->ms, w->runs));
	}
	return o;
}

static const char *text_at(const json_t *row, const char *name, unsigned i)
{
	const char *text = json_string_value(json_array_get(json_object_get(row, name), i));

	return text ? text : "";
}

static double number_at(const json_t *row, const char *name, unsigned i)
{
	return json_number_value(json_array_get(json_object_get(row, name), i));
}

/* Restores the ways of a row into t, whose arena is set. Skips names that are not a way. */
static int unpack(const json_t *row, struct ways *t)
{
	unsigned n = samples_count(row, "way");
	char name[24];

	t->n = 2;
	t->at = ARENA_ARRAY(t->arena, struct way, n);
	if (n && !t->at)
		return job_out_of_memory(t->c);
	for (unsigned i = 0; i < n; i++) {
		struct way *w = &t->at[t->n_ways];
		unsigned flags = (unsigned)number_at(row, "flags", i);
		const char *why = text_at(row, "why", i);

		*w = (struct way){.why = *why ? why : NULL,
			.wrong = flags & WRONG,
			.chosen = flags & CHOSEN,
			.main_ms = number_at(row, "main_ms", i),
			.median = number_at(row, "median_ms", i),
			.spread = number_at(row, "spread", i)};
		snprintf(w->name, sizeof(w->name), "%s", text_at(row, "way", i));
		snprintf(name, sizeof(name), "ms %u", i);
		w->ms = samples_values(row, name, t->arena, &w->runs);
		t->n_ways += !host_way_parse(t->arena, w->name, 2, &w->way, &w->merging);
	}
	return CLI_OK;
}

static int measure_pair(struct merge_bench *b, struct ways *t, const char *key, double part_ms)
{
	double mhz = 0, make_ms, compile_ms;
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
	corun_made(t->x, HOST_WAY_MERGE, &make_ms, &compile_ms);
	gauge_mhz(&b->device.d.cu, &b->device.gauge, &mhz);
	samples_add(&b->samples, key, pack(t, mhz, make_ms, compile_ms));
	return ways_keep(t, b->store);
}

/* ---- rows of the table ---- */

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

static void show_row(struct merge_bench *b, struct sheet *s, const struct merge_pair *p,
	const struct ways *t, double mhz)
{
	sheet_row(s);
	sheet_str(s, "first", merge_rows[p->a].name);
	sheet_str(s, "second", merge_rows[p->b].name);
	json_num(s->j, "mhz", mhz);
	sheet_num(s, "sequential_ms", p->sequential, 1, 4, "");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		double ms = ms_of(p, &columns[i]);

		sheet_num(s, columns[i].key, ms > 0 ? ratio_of(p->sequential, ms) : NAN, 1, 3, "");
	}
	json_str(s->j, "partition_way", p->partition_name);
	sheet_num(s, "tuned", ratio_of(p->tuned_sequential, p->tuned), 1, 3, "");
	sheet_str(s, "tuned_way", p->tuned_name);
	json_num(s->j, "tuned_of_plain", ratio_of(plain_of(p), p->tuned));
	json_num(s->j, "make_ms", p->make_ms);
	json_num(s->j, "compile_ms", p->compile_ms);
	json_ways(b, t);
	json_begin_object(s->j, "curve");
	json_begin_array(s->j, "part");
	for (unsigned i = 0; i < p->curve.n; i++)
		json_num(s->j, NULL, p->curve.part[i]);
	json_end(s->j, ']');
	json_begin_array(s->j, "ms");
	for (unsigned i = 0; i < p->curve.n; i++)
		json_num(s->j, NULL, p->curve.ms[i]);
	json_end(s->j, ']');
	json_end(s->j, '}');
	sheet_row_end(s);
}

/* ---- notes about ways that were not measured ---- */

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

/* Returns the key of a pair's row in part pairs, or with `tuned` in part tuned. */
static const char *row_key(const struct merge_pair *p, bool tuned, char *buf, size_t size)
{
	char name[64];

	snprintf(buf, size, "%s %s", tuned ? "tuned" : "pair",
		merge_pair_name(p, name, sizeof(name)));
	return buf;
}

static int run_pair(struct merge_bench *b, struct merge_pair *p, const char *key, double part_ms)
{
	char name[64];
	struct arena arena;
	struct ways t = {.c = b->c, .arena = &arena};
	int r;

	arena_init(&arena, 0);
	t.label = merge_pair_name(p, name, sizeof(name));
	r = merge_open(b, &arena, p, &t.x);
	if (r == CLI_OK)
		r = measure_pair(b, &t, key, part_ms);
	progress_clear();
	corun_close(t.x);
	arena_finish(&arena);
	return r;
}

static int show_pair(struct merge_bench *b, struct sheet *s, struct merge_pair *p)
{
	struct ways t = {.c = b->c, .arena = &b->arena};
	char key[80];
	const json_t *row = samples_row(&b->samples, row_key(p, false, key, sizeof(key)));
	int r = row ? unpack(row, &t) : CLI_OK;

	if (!row || r != CLI_OK)
		return r;
	p->make_ms = samples_first(row, "make_ms");
	p->compile_ms = samples_first(row, "compile_ms");
	take_times(&t, p);
	for (unsigned i = 0; i < t.n_ways; i++)
		b->wrong += t.at[i].wrong;
	if (!p->done)
		return CLI_OK;
	show_row(b, s, p, &t, samples_first(row, "mhz"));
	return note_refusals(b, &t, (unsigned)(p - b->pairs));
}

/* ---- measuring and showing all pairs ---- */

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

/* Measures each pair that has no row yet. With a time limit, the remaining time is divided equally
 * among the remaining pairs. A failure is counted, and the other pairs continue. */
static void measure_pairs(struct merge_bench *b, bool tuned,
	int (*run)(struct merge_bench *b, struct merge_pair *p, const char *key, double part_ms))
{
	unsigned open = 0;
	char key[80];

	for (unsigned i = 0; i < b->n_pairs; i++)
		open += !samples_row(&b->samples, row_key(&b->pairs[i], tuned, key, sizeof(key)));
	for (unsigned i = 0; i < b->n_pairs; i++) {
		struct merge_pair *p = &b->pairs[i];
		double until = b->samples.until_ms;

		if (samples_row(&b->samples, row_key(p, tuned, key, sizeof(key))) ||
			!samples_may_begin(&b->samples))
			continue;
		b->failures +=
			run(b, p, key, until > 0 ? MAX((until - clock_ms()) / open, 1) : 0) !=
			CLI_OK;
		open--;
	}
}

int merge_pairs(struct merge_bench *b)
{
	int r = CLI_OK;
	struct sheet s;

	measure_pairs(b, false, run_pair);
	sheet_begin(&s, b->c, b->j, "pairs", "<first|<second|sequential ms",
		"gains: how much longer one after the other takes (steal: a block a claim; "
		"partition: the best)");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		sheet_column(&s, columns[i].head);
	sheet_column(&s, "tuned");
	sheet_column(&s, "<way");
	for (unsigned i = 0; i < b->n_pairs && r == CLI_OK; i++)
		r = show_pair(b, &s, &b->pairs[i]);
	sheet_end(&s);
	say_notes(b);
	print_summary(b, "summary");
	return r;
}

/* ---- measuring the stored ways ---- */

/* Measures three ways of running the pair: one kernel after the other, both in streams, and the way
 * that heddle tune has stored. Each round runs the three in turn, and the first round is not
 * counted. The row's samples are "way", "wrong", and the times of the three ways. */
static int run_three(struct merge_bench *b, struct ways *t, const char *key)
{
	static const char *const names[] = {"sequential_ms", "streams_ms", "ms"};
	enum host_way ways[] = {HOST_WAY_SEQUENTIAL, HOST_WAY_STREAMS, 0};
	struct host_merging m[ARRAY_LEN(ways)] = {{0}};
	int r = corun_look_up(t->x, b->store, &ways[2], &m[2]);
	unsigned wrong = 0;
	json_t *row;

	t->n = 2;
	t->rounds = b->rounds;
	if (r == CLI_OK)
		r = ways_measure_these(t, ways, m, ARRAY_LEN(ways));
	if (r == CLI_OK && t->at[2].why)
		r = cli_error(b->c, NULL, "%s", t->at[2].why);
	if (r != CLI_OK)
		return r;
	row = json_pack("{s[s]}", "way", t->at[2].name);
	for (unsigned i = 0; i < t->n_ways; i++) {
		json_object_set_new(row, names[i], samples_numbers(t->at[i].ms, t->at[i].runs));
		wrong += t->at[i].wrong;
	}
	json_object_set_new(row, "wrong", samples_number(wrong));
	samples_add(&b->samples, key, row);
	return CLI_OK;
}

static int tuned_pair(struct merge_bench *b, struct merge_pair *p, const char *key, double part_ms)
{
	char name[64];
	struct arena arena;
	struct ways t = {.c = b->c, .arena = &arena};
	int r;

	arena_init(&arena, 0);
	t.label = merge_pair_name(p, name, sizeof(name));
	r = merge_open(b, &arena, p, &t.x);
	if (part_ms > 0)
		t.until_ms = clock_ms() + part_ms;
	if (r == CLI_OK)
		r = run_three(b, &t, key);
	progress_clear();
	corun_close(t.x);
	arena_finish(&arena);
	return r;
}

static void show_tuned(struct merge_bench *b, struct sheet *s, struct merge_pair *p)
{
	char key[80];
	const json_t *row = samples_row(&b->samples, row_key(p, true, key, sizeof(key)));

	*p = (struct merge_pair){.a = p->a, .b = p->b};
	if (!row)
		return;
	b->wrong += (unsigned)samples_first(row, "wrong");
	p->sequential = p->tuned_sequential = samples_median(row, "sequential_ms");
	p->tuned_streams = samples_median(row, "streams_ms");
	p->tuned = samples_median(row, "ms");
	p->done = true;
	snprintf(p->tuned_name, sizeof(p->tuned_name), "%s", text_at(row, "way", 0));
	sheet_row(s);
	sheet_str(s, "first", merge_rows[p->a].name);
	sheet_str(s, "second", merge_rows[p->b].name);
	sheet_num(s, "sequential_ms", p->tuned_sequential, 1, 4, "");
	sheet_num(s, "streams_ms", p->tuned_streams, 1, 4, "");
	sheet_num(s, "ms", p->tuned, 1, 4, "");
	sheet_num(s, "gain", ratio_of(p->tuned_sequential, p->tuned), 1, 3, "");
	sheet_num(s, "of_plain", ratio_of(plain_of(p), p->tuned), 1, 3, "");
	sheet_str(s, "way", p->tuned_name);
	sheet_row_end(s);
}

int merge_tuned(struct merge_bench *b)
{
	struct sheet s;

	measure_pairs(b, true, tuned_pair);
	sheet_begin(&s, b->c, b->j, "tuned",
		"<first|<second|sequential ms|streams ms|ms|gain|of plain|<way",
		"as chosen before");
	for (unsigned i = 0; i < b->n_pairs; i++)
		show_tuned(b, &s, &b->pairs[i]);
	sheet_end(&s);
	print_summary(b, "tuned_summary");
	return CLI_OK;
}
