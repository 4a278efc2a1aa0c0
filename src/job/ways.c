/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lists, measures and chooses ways of running kernels together. With work stealing, each worker
 * claims blocks of all kernels alternately. This is measured for several numbers of blocks for each
 * claim. The fastest number is then used for all ways that divide the workers. */
#include "job/ways.h"

#include "front/progress.h"
#include "model/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAYS_MAX  (3 * 2 * 64 + 32 + 5 * CORUN_MAX + 2 * 7 + 1)
#define FINALISTS 4u
#define EVEN_MAX  512u /* maximum number of blocks for each claim */
/* A way with rewritten kernels is chosen only if its time is at most this fraction of the best time
 * with unmodified kernels. */
#define WORTH 0.99

bool way_counts(const struct way *w)
{
	return !w->why && !w->wrong && w->median > 0;
}

/* Returns whether the way runs unmodified kernels. */
static bool way_changes_nothing(const struct way *w)
{
	return w->way == HOST_WAY_SEQUENTIAL || w->way == HOST_WAY_STREAMS;
}

const struct way *ways_best(const struct ways *w, enum host_way way, bool (*is)(const struct way *))
{
	const struct way *best = NULL;

	for (unsigned i = 0; i < w->n_ways; i++)
		if (way_counts(&w->at[i]) && (way == HOST_WAYS || w->at[i].way == way) &&
			(!is || is(&w->at[i])) && (!best || w->at[i].main_ms < best->main_ms))
			best = &w->at[i];
	return best;
}

/* ---- listing the ways ---- */
static int add_way(struct ways *t, enum host_way way, const struct host_merging *m)
{
	struct way *w = &t->at[t->n_ways];
	struct strbuf why = {0};
	int r;

	if (t->n_ways == WAYS_MAX)
		return CLI_OK;
	t->n_ways++;
	w->way = way;
	w->merging = *m;
	host_way_print(way, m, t->n, w->name, sizeof(w->name));
	w->ms = ARENA_ARRAY(t->arena, double, MAX(t->rounds, t->looks));
	if (!w->ms)
		return cli_error(t->c, NULL, "out of memory");
	r = corun_prepare(t->x, way, m, &why);
	if (r == CLI_OK)
		r = corun_plan(t->x, way, &w->merging, &why, &w->plan);
	if (r != CLI_OK && why.len) {
		w->why = arena_strndup(t->arena, why.at, why.len);
		r = CLI_OK;
	}
	strbuf_finish(&why);
	return r;
}

/* Adds ways that divide `of` units, such as workers or SMs, among the kernels. From one way
 * to the next, the first kernel's part grows by the same step; the other kernels share the rest
 * equally. Adds each way twice: without and with help, where workers whose kernel has no blocks
 * left claim blocks of the other kernels. */
static int add_shares(struct ways *t, enum ctl_order order, uint32_t of, uint32_t chunk)
{
	uint32_t steps = of > 1 ? MIN(of - 1, t->points) : 0;
	int r = CLI_OK;

	for (uint32_t i = 1; i <= steps && r == CLI_OK; i++) {
		struct host_merging m = {.order = order, .chunk = chunk};
		uint32_t first = (uint32_t)(((uint64_t)of * i + (steps + 1) / 2) / (steps + 1));
		uint32_t rest = of - first;

		m.share[0] = first * (t->n - 1);
		for (unsigned k = 1; k < t->n; k++)
			m.share[k] = rest;
		for (int help = 0; help < 2 && r == CLI_OK && first && rest; help++) {
			m.help_others = help;
			r = add_way(t, HOST_WAY_MERGE, &m);
		}
	}
	return r;
}

/* Adds ways that divide the SMs by green contexts. A row of parts has the share of the first kernel
 * and the share of each other kernel. */
static int add_greens(struct ways *t)
{
	static const uint32_t parts[][2] = {{1, 3}, {1, 1}, {3, 1}};
	int r = CLI_OK;

	for (size_t i = 0; i < ARRAY_LEN(parts) && r == CLI_OK && t->n > 1; i++) {
		struct host_merging m = {.share = {parts[i][0] * (t->n - 1)}};

		for (unsigned k = 1; k < t->n; k++)
			m.share[k] = parts[i][1];
		r = add_way(t, HOST_WAY_GREEN, &m);
	}
	return r;
}

/* Adds work stealing where a claim takes a different number of blocks from each kernel, in
 * proportion to the kernel's grid. All kernels then end at about the same time. Adds nothing unless
 * the largest grid has at least twice as many blocks as the smallest. */
static int add_even(struct ways *t)
{
	static const uint32_t least[] = {1, 4};
	const uint64_t *blocks = corun_seen(t->x)->blocks;
	uint64_t fewest = UINT64_MAX, most = 0;
	int r = CLI_OK;

	for (unsigned k = 0; k < t->n; k++) {
		fewest = MIN(fewest, blocks[k]);
		most = MAX(most, blocks[k]);
	}
	if (most < 2 * fewest)
		return CLI_OK;
	for (size_t i = 0; i < ARRAY_LEN(least) && r == CLI_OK; i++) {
		struct host_merging m = {.order = CTL_STEAL};

		for (unsigned k = 0; k < t->n; k++)
			m.chunks[k] = (uint32_t)MIN(
				least[i] * ((blocks[k] + fewest / 2) / fewest), EVEN_MAX);
		r = add_way(t, HOST_WAY_MERGE, &m);
	}
	return r;
}

/* ---- listing the woven ways ---- */
/* Marks the way that was added last as impossible. The text is the reason. */
static int HD_PRINTF(2, 3) refuse_last(struct ways *t, const char *fmt, ...)
{
	struct way *w = &t->at[t->n_ways - 1];
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->why = arena_strndup(t->arena, text, strlen(text));
	return w->why ? CLI_OK : cli_error(t->c, NULL, "out of memory");
}

/* Adds a way that weaves two kernels (interleaves their instructions). If the woven code equals
 * that of `seen`, the first woven way, the new way is marked as impossible. seen may be
 * NULL. */
static int add_woven(struct ways *t, const struct host_merging *m, const struct corun_woven *seen,
	struct corun_woven *ret)
{
	struct strbuf text = {0};
	int r = add_way(t, HOST_WAY_WEAVE, m);

	if (r != CLI_OK || t->at[t->n_ways - 1].why)
		return r;
	corun_look_at_woven(t->x, m, ret);
	if (ret->form->form.woven.why.reason) {
		host_explain_woven(
			&ret->form->form.woven, ret->name, ret->form->form.woven.which + 1, &text);
		r = refuse_last(t, "%s", text.at ? text.at : "");
		strbuf_finish(&text);
		return r;
	}
	if (seen && !memcmp(seen->form->digest, ret->form->digest, 32))
		return refuse_last(t, m->branches
					      ? "no short region has a branch: the same as without"
					      : "no block is long enough to be cut: the same as "
						"sliced");
	return CLI_OK;
}

/* Returns for how many blocks an SM's registers suffice if each thread uses `bound` registers. */
static uint32_t fit_by_registers(const struct ways *t, const struct corun_woven *w, uint32_t bound)
{
	return corun_seen(t->x)->registers /
	       (uint32_t)(w->warps * round_up((uint64_t)bound * 32, 256));
}

/* Adds woven ways whose registers per thread are bounded (GoPTX, section III-D). Bounds that
 * cannot help are left out: a bound that is not below the register count of the unbounded form
 * changes nothing, and a lower bound pays off only if more blocks then fit on an SM. */
static int add_bounds(struct ways *t, struct host_merging m, const struct corun_woven *free)
{
	static const uint32_t bounds[] = {128, 80, 64, 48, 40, 32};
	uint32_t per_sm = free->form->per_sm;
	struct corun_woven w;
	int r = CLI_OK;

	/* Return if something other than registers limits the number of blocks on an SM. */
	if (fit_by_registers(t, free, free->form->registers) > per_sm)
		return CLI_OK;
	for (size_t i = 0; i < ARRAY_LEN(bounds) && r == CLI_OK; i++) {
		m.registers = bounds[i];
		if (bounds[i] >= free->form->registers ||
			fit_by_registers(t, free, bounds[i]) <= per_sm)
			continue;
		r = add_woven(t, &m, NULL, &w);
		if (r != CLI_OK || t->at[t->n_ways - 1].why)
			continue;
		if (w.form->per_sm <= per_sm)
			r = refuse_last(t,
				"no more blocks fit an SM than without so low a bound: %" PRIu32,
				per_sm);
		else
			per_sm = w.form->per_sm;
	}
	return r;
}

static int add_weaves(struct ways *t)
{
	struct host_merging m = {0};
	struct corun_woven sliced, other;
	bool both;
	int r = add_woven(t, &m, NULL, &sliced);

	if (r != CLI_OK || t->at[t->n_ways - 1].why)
		return r;
	r = add_bounds(t, m, &sliced);
	m.unsliced = true;
	if (r == CLI_OK)
		r = add_woven(t, &m, &sliced, &other);
	both = r == CLI_OK && !t->at[t->n_ways - 1].why;
	if (both)
		r = add_bounds(t, m, &other);
	m = (struct host_merging){.branches = true};
	return r == CLI_OK ? add_woven(t, &m, &sliced, &other) : r;
}

/* Adds the ways that do not divide the workers among the kernels. */
static int add_simple(struct ways *t)
{
	static const enum host_way ways[] = {
		HOST_WAY_SEQUENTIAL, HOST_WAY_STREAMS, HOST_WAY_VERTICAL, HOST_WAY_HORIZONTAL};
	struct host_merging m = {.order = CTL_STEAL};
	int r = CLI_OK;

	for (size_t i = 0; i < ARRAY_LEN(ways) && r == CLI_OK; i++)
		r = add_way(t, ways[i], &m);
	if (r == CLI_OK && t->weave && t->n == 2)
		r = add_weaves(t);
	if (r == CLI_OK)
		r = add_greens(t);
	for (m.chunk = 1; m.chunk <= 32 && r == CLI_OK; m.chunk *= 2) {
		r = add_way(t, HOST_WAY_MERGE, &m);
		if (t->at[t->n_ways - 1].why)
			return r;
	}
	return r == CLI_OK && t->n > 1 ? add_even(t) : r;
}

static bool is_stealing(const struct way *w)
{
	return w->merging.order == CTL_STEAL && !w->merging.chunks[0] && !w->merging.own;
}

/* Adds ways that launch one kernel separately and merge the others. Only kernels that can gain
 * from this are tried: those of which an SM holds, without the others, at least 10 % more blocks
 * than the merged launch has workers on an SM. */
static int add_own(struct ways *t, const struct way *steal)
{
	static const struct {
		enum ctl_order order;
		uint32_t first, rest;
	} some[] = {{CTL_STEAL, 1, 1}, {CTL_MIXED, 1, 1}, {CTL_APART, 1, 3}, {CTL_APART, 1, 1},
		{CTL_APART, 3, 1}};
	const struct corun_result *seen = corun_seen(t->x);
	int r = CLI_OK;

	for (unsigned k = 0; k < t->n; k++) {
		if (seen->fit[k] * 10 < steal->plan.per_sm * 11)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(some) && r == CLI_OK; i++) {
			struct host_merging m = {.order = some[i].order,
				.chunk = steal->merging.chunk,
				.own = 1u << k};

			for (unsigned other = 0; other < t->n; other++)
				m.share[other] =
					other == k ? some[i].first * (t->n - 1) : some[i].rest;
			r = add_way(t, HOST_WAY_MERGE, &m);
		}
	}
	return r;
}

static int add_partitions(struct ways *t)
{
	const struct way *steal = ways_best(t, HOST_WAY_MERGE, is_stealing);
	uint32_t chunk, per_sm;
	int r;

	if (t->n < 2 || !steal)
		return CLI_OK;
	chunk = steal->merging.chunk;
	per_sm = steal->plan.per_sm;
	r = add_shares(t, CTL_MIXED, per_sm, chunk);
	if (r == CLI_OK)
		r = add_shares(t, CTL_PARTITION, t->points + 1, chunk);
	if (r == CLI_OK)
		r = add_shares(t, CTL_APART, corun_seen(t->x)->n_sms, chunk);
	if (r == CLI_OK)
		r = add_own(t, steal);
	return r;
}

/* ---- measuring the ways ---- */
static int measure_way(struct ways *t, struct way *w, bool warm)
{
	struct host_times times;
	bool same;
	int r = corun_once(t->x, w->way, &w->merging, &w->plan, false, &times, &same);

	if (r != CLI_OK)
		return r;
	w->wrong |= !same;
	if (!warm)
		w->ms[w->runs++] = times.ms;
	return CLI_OK;
}

static void judge_way(struct way *w)
{
	if (!w->runs)
		return;
	sort_values(w->ms, w->runs);
	w->median = w->ms[w->runs / 2];
	if (w->median > 0)
		w->spread = (w->ms[w->runs * 3 / 4] - w->ms[w->runs / 4]) / w->median;
}

static bool are_akin(const struct way *a, const struct way *b)
{
	if (a->way != b->way)
		return false;
	if (a->way == HOST_WAY_WEAVE)
		return a->merging.unsliced == b->merging.unsliced &&
		       a->merging.branches == b->merging.branches &&
		       !a->merging.registers == !b->merging.registers;
	return a->way != HOST_WAY_MERGE ||
	       (a->merging.order == b->merging.order &&
		       a->merging.help_others == b->merging.help_others &&
		       a->merging.own == b->merging.own &&
		       a->merging.chunks[0] == b->merging.chunks[0] &&
		       (a->merging.chunk == 1) == (b->merging.chunk == 1));
}

/* Drops ways that are far slower than the best, because their first measurements are enough. The
 * best way of each kind is kept. */
static void drop_far(struct ways *t)
{
	const struct way *best = ways_best(t, HOST_WAYS, NULL);

	for (unsigned i = 0; i < t->n_ways && best; i++) {
		struct way *w = &t->at[i];
		bool leads = true;

		for (unsigned k = 0; k < t->n_ways; k++)
			leads &= !(way_counts(&t->at[k]) && are_akin(w, &t->at[k]) &&
				   t->at[k].main_ms < w->main_ms);
		w->dropped = !leads && w->main_ms > t->behind * best->main_ms;
	}
}

static bool goes_on(const struct way *w)
{
	return !w->why && !w->wrong && !w->dropped;
}

static unsigned count_going_on(const struct ways *t, unsigned from)
{
	unsigned n = 0;

	for (unsigned i = from; i < t->n_ways; i++)
		n += goes_on(&t->at[i]);
	return n;
}

static void show_step(const struct ways *t, const char *what, const struct way *w)
{
	progress_step("%s%s%s: %s", t->label ? t->label : "", t->label ? ", " : "", what, w->name);
}

static bool stops(const struct ways *t)
{
	return t->stops && t->stops();
}

/* Measures each remaining way from index `from` on once. warm: the run is not counted. anew:
 * earlier runs are discarded. */
static int measure_round(struct ways *t, unsigned from, const char *what, bool warm, bool anew)
{
	int r = CLI_OK;

	for (unsigned i = from; i < t->n_ways && r == CLI_OK && !stops(t); i++) {
		if (!goes_on(&t->at[i]))
			continue;
		t->at[i].runs = anew ? 0 : t->at[i].runs;
		show_step(t, what, &t->at[i]);
		r = measure_way(t, &t->at[i], warm);
	}
	return r;
}

static bool is_late(const struct ways *t)
{
	return t->until_ms > 0 && clock_ms() > t->until_ms;
}

static void judge_all(struct ways *t)
{
	for (unsigned i = 0; i < t->n_ways; i++) {
		judge_way(&t->at[i]);
		t->at[i].main_ms = t->at[i].median;
	}
}

/* Measures the ways from index `from` on, after one uncounted run of each. */
static int measure_from(struct ways *t, unsigned from)
{
	int r;

	progress_begin(count_going_on(t, from) * (1 + t->looks));
	r = measure_round(t, from, "first look", true, false);
	for (unsigned i = 0; i < t->looks && r == CLI_OK; i++)
		r = measure_round(t, from, "first look", false, false);
	judge_all(t);
	return r;
}

/* Runs all rounds. The first round runs even if the time is up. */
static int go_through(struct ways *t)
{
	int r = CLI_OK;

	progress_begin(count_going_on(t, 0) * t->rounds);
	for (unsigned round = 0; round < t->rounds && r == CLI_OK; round++)
		if (!round || !is_late(t))
			r = measure_round(t, 0, "rounds", false, !round);
	progress_clear();
	judge_all(t);
	return r;
}

static int begin_ways(struct ways *t)
{
	t->n_ways = 0;
	t->at = ARENA_ARRAY(t->arena, struct way, WAYS_MAX);
	return t->at ? CLI_OK : cli_error(t->c, NULL, "out of memory");
}

int ways_measure_these(
	struct ways *t, const enum host_way *ways, const struct host_merging *merging, unsigned n)
{
	int r = begin_ways(t);

	for (unsigned i = 0; r == CLI_OK && i < n; i++)
		r = add_way(t, ways[i], &merging[i]);
	if (r == CLI_OK)
		r = measure_from(t, 0);
	return r == CLI_OK ? go_through(t) : r;
}

int ways_measure(struct ways *t)
{
	unsigned n;
	int r = begin_ways(t);

	if (r == CLI_OK)
		r = add_simple(t);
	if (r == CLI_OK)
		r = measure_from(t, 0);
	n = t->n_ways;
	if (r == CLI_OK)
		r = add_partitions(t);
	if (r == CLI_OK)
		r = measure_from(t, n);
	drop_far(t);
	return r == CLI_OK ? go_through(t) : r;
}

/* ---- choosing the best way ---- */
static int by_median(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	bool cx = way_counts(x), cy = way_counts(y);

	if (cx != cy)
		return cy - cx;
	return (x->median > y->median) - (x->median < y->median);
}

static struct way *pick_way(struct way **first, unsigned n)
{
	struct way *best = NULL, *plain = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct way *w = first[i];

		judge_way(w);
		if (!way_counts(w))
			continue;
		if (!best || w->median < best->median)
			best = w;
		if (way_changes_nothing(w) && (!plain || w->median < plain->median))
			plain = w;
	}
	return plain && best->median > WORTH * plain->median ? plain : best;
}

int ways_choose(struct ways *t)
{
	struct way *first[2 + FINALISTS] = {0}, *best;
	unsigned n = 0;
	int r = CLI_OK;

	qsort(t->at, t->n_ways, sizeof(t->at[0]), by_median);
	for (unsigned i = 0, others = 0; i < t->n_ways; i++) {
		struct way *w = &t->at[i];

		if (!goes_on(w))
			continue;
		if (way_changes_nothing(w) || others < FINALISTS)
			first[n++] = w;
		others += !way_changes_nothing(w);
	}
	progress_begin(n * t->rounds);
	for (unsigned round = 0; round < t->rounds && r == CLI_OK; round++)
		for (unsigned i = 0; i < n && r == CLI_OK && (!round || !is_late(t)) && !stops(t);
			i++) {
			first[i]->runs = round ? first[i]->runs : 0;
			show_step(t, "again", first[i]);
			r = measure_way(t, first[i], false);
		}
	progress_clear();
	if (r != CLI_OK)
		return r;
	best = pick_way(first, n);
	if (best)
		best->chosen = true;
	/* The last measurement has changed the medians of the leaders. */
	qsort(t->at, t->n_ways, sizeof(t->at[0]), by_median);
	return CLI_OK;
}

int ways_will_keep(const struct cli *c, const char *path)
{
	struct model_store *store;
	int r = model_store_open(path, true, &store);

	if (r == 0) {
		r = model_store_can_write(store);
		model_store_close(store);
	}
	return r < 0 ? cli_error(c, "name another file: --store FILE", "%s", model_store_why())
		     : CLI_OK;
}

int ways_keep(const struct ways *t, const char *path)
{
	struct model_way *ways = ARENA_ARRAY(t->arena, struct model_way, t->n_ways);
	struct model_together what;
	struct model_store *store;
	char file[4096] = "";
	unsigned n = 0;
	int r;

	if (!ways)
		return cli_error(t->c, NULL, "out of memory");
	corun_identify(t->x, &what);
	for (unsigned i = 0; i < t->n_ways; i++) {
		const struct way *w = &t->at[i];

		if (!way_counts(w))
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
	if (r < 0)
		return cli_error(t->c, "what was measured is above, and is not kept", "%s",
			model_store_why());
	r = model_plain_path(path, &what, file, sizeof(file));
	for (unsigned i = 0; i < n && r == 0; i++)
		if (ways[i].chosen)
			r = model_plain_put(file, ways[i].name);
	return r < 0 ? cli_error(t->c, "libheddle does not find what was chosen; heddle does",
			       "%s: %s", file, strerror(-r))
		     : CLI_OK;
}
