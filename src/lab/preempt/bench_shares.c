/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures weighted fairness (FLEP, section 6.3.3, figures 13 and 14). Pairs and triplets of
 * programs launch the same kernels endlessly. They run under policy ffs, which shares the GPU by
 * weights, and for comparison time-sliced by the device itself.
 *
 * Each program counts its own rounds. Its share and the lost throughput are computed from these
 * rounds, compared with those of the same program alone in the same arrangement. The shares that
 * heddled measures are printed beside the computed ones. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "front/progress.h"
#include "lab/bench.h"
#include "lab/preempt/shares.h"
#include "stage/crowd.h"
#include "stage/figures.h"

#define LOWS     4 /* the first four programs run the large input, as in bench_preempt's pairs */
#define MAX_SETS 64

/* The virtual GPU has no MPS, so it runs only the first two. */
enum { BY_WEIGHT, SLICED, BY_WEIGHT_MPS, ARRANGEMENTS };

struct ratio {
	const char *name;
	unsigned n, weight[SHARES_MAX];
	unsigned sets; /* that are measured */
};
enum { ONE_TO_ONE, TWO_TO_ONE, FIVE_TO_ONE, TRIPLET, RATIOS };
static const struct ratio ratios[RATIOS] = {
	{"1:1", 2, {1, 1}, 4},
	{"2:1", 2, {2, 1}, LOWS *(PROGRAMS - 1)},
	{"5:1", 2, {5, 1}, 4},
	{"3:2:1", 3, {3, 2, 1}, 3},
};

/* A pair or triplet of programs. The last program has the smallest weight and runs the large
 * input. */
struct share_set {
	const struct ratio *ratio;
	unsigned program[SHARES_MAX];
	bool ran;
	struct shares of[ARRANGEMENTS];
	double alone_per_s[ARRANGEMENTS][SHARES_MAX], had[SHARES_MAX];
	unsigned checked, wrong;
};

struct share_bench {
	struct bench *b;
	struct stage stage[ARRANGEMENTS];
	unsigned arrangements;
	struct share_set set[MAX_SETS];
	/* only the first n_run sets run if the time budget does not suffice for all */
	unsigned n, n_run;
	/* start time of this part of the benchmark, start time of the current set of programs, and
	 * the duration of the longest set so far */
	double began_s, set_began_s, longest_s;
	double alone_per_s[ARRANGEMENTS][PROGRAMS][2]; /* by large; 0: not yet; below 0: failed */
};

/* ---- what is measured ---- */

/* Adds set k of a ratio. Each low-priority program is in exactly one of the ratio's first four
 * sets. */
static void add_set(struct share_bench *sb, unsigned ratio, unsigned k)
{
	struct share_set *s = &sb->set[sb->n++];
	unsigned low = k % LOWS;

	*s = (struct share_set){
		.ratio = &ratios[ratio], .program = {(low + 5 * (k / LOWS + 1)) % PROGRAMS, low}};
	if (s->ratio->n == 3) {
		s->program[1] = (low + 3) % PROGRAMS;
		s->program[2] = low;
	}
}

/* Lists all sets. One set of each ratio comes first, because the time budget may end the
 * measurement anywhere in the list. */
static void list_sets(struct share_bench *sb)
{
	static const unsigned order[RATIOS] = {ONE_TO_ONE, FIVE_TO_ONE, TRIPLET, TWO_TO_ONE};

	for (unsigned i = 0; i < RATIOS; i++)
		add_set(sb, order[i], 0);
	for (unsigned i = 0; !sb->b->quick && i < RATIOS; i++)
		for (unsigned k = 1; k < ratios[order[i]].sets; k++)
			add_set(sb, order[i], k);
}

static bool is_large(const struct share_set *s, unsigned i)
{
	return i + 1 == s->ratio->n;
}

/* The virtual GPU's large inputs take longer than a window. */
static const char *size_of(const struct bench *b, bool large)
{
	return large && b->device != DEV_CPU ? "large" : "small";
}

/* Returns true if a program's time alone is measured only once. On the virtual GPU, speed depends
 * on other load of the machine. So there each program runs alone again just before each set of
 * programs in which it takes part. */
static bool alone_is_kept(const struct bench *b)
{
	return b->device != DEV_CPU;
}

static unsigned arrangements_of(const struct bench *b)
{
	return b->device == DEV_CPU ? BY_WEIGHT_MPS : ARRANGEMENTS;
}

/* Runs of the first n sets. */
static unsigned count_steps(const struct share_bench *sb, unsigned n)
{
	bool seen[PROGRAMS][2] = {{false}};
	unsigned alone = 0;

	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; i < sb->set[k].ratio->n; i++) {
			bool *at = &seen[sb->set[k].program[i]][is_large(&sb->set[k], i)];

			alone += !*at || !alone_is_kept(sb->b);
			*at = true;
		}
	return sb->arrangements * (n + alone);
}

unsigned bench_shares_steps(const struct bench *b)
{
	struct share_bench sb = {.b = (struct bench *)b, .arrangements = arrangements_of(b)};

	list_sets(&sb);
	return count_steps(&sb, sb.n);
}

/* ---- measuring ---- */

static uint64_t window_of(const struct bench *b)
{
	return b->device == DEV_CPU ? 2000000000 : 300000000;
}

/* Runs all programs of the set s together, or only program `only` if that is not negative. If
 * programs fail, this is reported and counted, and the result is CLI_OK. Returns CLI_FAILED if a
 * signal has interrupted the benchmark. */
static int run_members(struct share_bench *sb, unsigned arrangement, const struct share_set *s,
	int only, struct crowd_result *ret)
{
	struct bench *b = sb->b;
	struct stage_run how = bench_run(b, NULL, NULL);
	struct crowd_run run = {.run = &how,
		.warm_rounds = b->device == DEV_CPU ? 1 : STAGE_SEARCH_ROUNDS,
		.window_ns = b->rounds * window_of(b)};

	/* Comparing after each launch would leave the device idle. */
	how.check = how.check ? how.check : "last";
	for (unsigned i = 0; i < s->ratio->n; i++) {
		if (only >= 0 && (unsigned)only != i)
			continue;
		run.program[run.n].name = bench_programs[s->program[i]];
		run.program[run.n].size = size_of(b, is_large(s, i));
		run.weight[run.n++] = s->ratio->weight[i];
	}
	progress_step("%s, %s: %s%s%s", sb->stage[arrangement].spec.name,
		only < 0 ? s->ratio->name : "alone", run.program[0].name, run.n > 1 ? " + " : "",
		run.n > 1 ? run.program[1].name : "");
	if (crowd_run(&sb->stage[arrangement], &b->arena, &run, ret) != CLI_OK)
		b->failures++;
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}

static int measure_alone(
	struct share_bench *sb, unsigned arrangement, struct share_set *s, unsigned i)
{
	struct bench *b = sb->b;
	double *at = &sb->alone_per_s[arrangement][s->program[i]][is_large(s, i)];
	struct crowd_result res = {0};
	int r = CLI_OK;

	if (*at == 0 || !alone_is_kept(b)) {
		r = run_members(sb, arrangement, s, (int)i, &res);
		*at = shares_rate(
			res.of[0].done_ns, res.of[0].n, res.from_ns, window_of(b), b->rounds);
		*at = *at > 0 ? *at : -1;
	}
	s->alone_per_s[arrangement][i] = *at;
	return r;
}

/* True: its shares are in s. */
static bool sum_up(struct share_bench *sb, unsigned arrangement, struct share_set *s,
	const struct crowd_result *res)
{
	struct shares_input in = {.n = s->ratio->n,
		.from_ns = res->from_ns,
		.window_ns = window_of(sb->b),
		.windows = sb->b->rounds};

	for (unsigned i = 0; i < in.n; i++) {
		in.weight[i] = s->ratio->weight[i];
		in.alone_per_s[i] = s->alone_per_s[arrangement][i];
		in.done_ns[i] = res->of[i].done_ns;
		in.rounds[i] = res->of[i].n;
		if (in.alone_per_s[i] <= 0 || !in.rounds[i])
			return false;
		if (arrangement == BY_WEIGHT)
			s->had[i] = res->share_had[i];
	}
	s->checked += res->checked;
	s->wrong += res->wrong;
	return shares_sum_up(&in, &s->of[arrangement]) == 0;
}

/* Call this before the last run of set i; run_s is the estimated duration of that run. If the time
 * budget then has no time for another set, set i becomes the last of the list. The check comes
 * before that run so that the progress display already shows the final number of steps during the
 * run. */
static void keep_budget(struct share_bench *sb, unsigned i, double run_s)
{
	double end_s = clock_ms() / 1e3 + run_s, budget = (double)sb->b->budget_s;

	sb->longest_s = MAX(sb->longest_s, end_s - sb->set_began_s);
	if (budget <= 0 || end_s + sb->longest_s <= sb->began_s + budget)
		return;
	progress_more((int)count_steps(sb, i + 1) - (int)count_steps(sb, sb->n));
	sb->n_run = i + 1;
}

static int measure_set(struct share_bench *sb, unsigned i)
{
	struct share_set *s = &sb->set[i];
	double run_s = 0;
	bool ran = true;

	sb->set_began_s = clock_ms() / 1e3;
	for (unsigned k = 0; k < sb->arrangements; k++) {
		struct crowd_result res = {0};
		double from_s;
		int r = CLI_OK;

		for (unsigned m = 0; r == CLI_OK && m < s->ratio->n; m++)
			r = measure_alone(sb, k, s, m);
		if (k + 1 == sb->arrangements)
			keep_budget(sb, i, run_s);
		from_s = clock_ms() / 1e3;
		if (r == CLI_OK)
			r = run_members(sb, k, s, -1, &res);
		if (r != CLI_OK)
			return r;
		run_s = clock_ms() / 1e3 - from_s;
		ran = sum_up(sb, k, s, &res) && ran;
	}
	s->ran = ran;
	return CLI_OK;
}

static int measure_sets(struct share_bench *sb)
{
	int r = CLI_OK;

	sb->began_s = clock_ms() / 1e3;
	sb->n_run = sb->n;
	for (unsigned i = 0; r == CLI_OK && i < sb->n_run; i++)
		r = measure_set(sb, i);
	return r;
}

/* ---- showing ---- */

static const char *set_names(const struct share_set *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s+%s%s%s", bench_programs[s->program[0]],
		bench_programs[s->program[1]], s->ratio->n > 2 ? "+" : "",
		s->ratio->n > 2 ? bench_programs[s->program[2]] : "");
	return buf;
}

/* Why its figures are no result, or NULL. */
static const char *noise_of(const struct shares *s, char *buf, size_t size)
{
	double spread = MAX(s->share_spread, s->lost_spread);

	if (spread >= 0 && spread <= FIGURES_SPREAD)
		return NULL;
	if (spread < 0)
		snprintf(buf, size, "one window does not tell how far windows differ");
	else
		snprintf(buf, size, "windows differ by %.0f points", spread * 100);
	return buf;
}

static void json_program(struct share_bench *sb, const struct share_set *s, unsigned i)
{
	struct json *j = sb->b->j;

	json_begin_object(j, NULL);
	json_str(j, "program", bench_programs[s->program[i]]);
	json_str(j, "size", size_of(sb->b, is_large(s, i)));
	json_uint(j, "weight", s->ratio->weight[i]);
	json_num(j, "share_wanted", 100 * shares_wanted(s->ratio->weight, s->ratio->n, i));
	json_num(j, "share", 100 * s->of[BY_WEIGHT].share[i]);
	json_num(j, "share_had", s->had[i]);
	json_num(j, "share_sliced", 100 * s->of[SLICED].share[i]);
	json_num(j, "progress", s->of[BY_WEIGHT].progress[i]);
	json_num(j, "progress_sliced", s->of[SLICED].progress[i]);
	json_num(j, "alone_per_s", s->alone_per_s[BY_WEIGHT][i]);
	json_num(j, "alone_per_s_sliced", s->alone_per_s[SLICED][i]);
	if (sb->arrangements > BY_WEIGHT_MPS) {
		json_num(j, "share_mps", 100 * s->of[BY_WEIGHT_MPS].share[i]);
		json_num(j, "progress_mps", s->of[BY_WEIGHT_MPS].progress[i]);
		json_num(j, "alone_per_s_mps", s->alone_per_s[BY_WEIGHT_MPS][i]);
	}
	json_end(j, '}');
}

/* Of a spread; a single window has none. */
static double points_or_nan(double spread)
{
	return spread < 0 ? NAN : 100 * spread;
}

static void json_set(struct share_bench *sb, const struct share_set *s)
{
	const struct shares *of = s->of;
	struct json *j = sb->b->j;
	char why[64], names[32];

	json_begin_object(j, NULL);
	json_str(j, "set", set_names(s, names, sizeof(names)));
	json_str(j, "ratio", s->ratio->name);
	json_num(j, "deviation", of[BY_WEIGHT].deviation);
	json_num(j, "share_spread", points_or_nan(of[BY_WEIGHT].share_spread));
	json_num(j, "lost", of[BY_WEIGHT].lost);
	json_num(j, "lost_spread", points_or_nan(of[BY_WEIGHT].lost_spread));
	json_num(j, "deviation_sliced", of[SLICED].deviation);
	json_num(j, "lost_sliced", of[SLICED].lost);
	json_str(j, "noise", noise_of(&of[BY_WEIGHT], why, sizeof(why)));
	if (sb->arrangements > BY_WEIGHT_MPS) {
		json_num(j, "deviation_mps", of[BY_WEIGHT_MPS].deviation);
		json_num(j, "lost_mps", of[BY_WEIGHT_MPS].lost);
		json_str(j, "noise_mps", noise_of(&of[BY_WEIGHT_MPS], why, sizeof(why)));
	}
	json_uint(j, "checked", s->checked);
	json_uint(j, "wrong", s->wrong);
	json_begin_array(j, "programs");
	for (unsigned i = 0; i < s->ratio->n; i++)
		json_program(sb, s, i);
	json_end(j, ']');
	json_end(j, '}');
}

static void list_values(char *buf, size_t size, const double *share, unsigned n, double unit)
{
	size_t at = 0;

	for (unsigned i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(
			buf + at, size - at, "%s%.1f", i ? ":" : "", share[i] * unit);
}

static void text_set(struct share_bench *sb, const struct share_set *s)
{
	const struct shares *of = s->of;
	char names[32], why[64], share[32], had[32], sliced[32];

	list_values(share, sizeof(share), of[BY_WEIGHT].share, s->ratio->n, 100);
	list_values(had, sizeof(had), s->had, s->ratio->n, 1);
	list_values(sliced, sizeof(sliced), of[SLICED].share, s->ratio->n, 100);
	cli_show(sb->b->c, "%-13s %-5s %c%-15s %5.1f  %-15s %+6.1f   %-15s %+6.1f",
		set_names(s, names, sizeof(names)), s->ratio->name,
		noise_of(&of[BY_WEIGHT], why, sizeof(why)) ? '~' : ' ', share,
		of[BY_WEIGHT].deviation, had, of[BY_WEIGHT].lost * 100, sliced,
		of[SLICED].lost * 100);
	if (sb->arrangements > BY_WEIGHT_MPS) {
		list_values(share, sizeof(share), of[BY_WEIGHT_MPS].share, s->ratio->n, 100);
		cli_show(sb->b->c, "   %c%-15s %5.1f %+6.1f",
			noise_of(&of[BY_WEIGHT_MPS], why, sizeof(why)) ? '~' : ' ', share,
			of[BY_WEIGHT_MPS].deviation, of[BY_WEIGHT_MPS].lost * 100);
	}
	cli_show(sb->b->c, "\n");
}

static void show_ratio(struct share_bench *sb, const struct ratio *ratio)
{
	struct bench *b = sb->b;
	double deviation[ARRANGEMENTS] = {0}, worst[ARRANGEMENTS] = {0}, lost[ARRANGEMENTS] = {0};
	double lost_worst[ARRANGEMENTS];
	unsigned n = 0, noisy[ARRANGEMENTS] = {0};
	char why[64];

	for (unsigned i = 0; i < sb->n; i++) {
		const struct share_set *s = &sb->set[i];

		if (s->ratio != ratio || !s->ran)
			continue;
		for (unsigned k = 0; k < sb->arrangements; k++) {
			deviation[k] += s->of[k].deviation;
			worst[k] = MAX(worst[k], s->of[k].deviation);
			lost[k] += s->of[k].lost;
			lost_worst[k] = n ? MAX(lost_worst[k], s->of[k].lost) : s->of[k].lost;
			noisy[k] += noise_of(&s->of[k], why, sizeof(why)) != NULL;
		}
		n++;
	}
	if (!n)
		return;
	json_begin_object(b->j, NULL);
	json_str(b->j, "name", ratio->name);
	json_uint(b->j, "sets", n);
	json_num(b->j, "deviation_mean", deviation[BY_WEIGHT] / n);
	json_num(b->j, "deviation_worst", worst[BY_WEIGHT]);
	json_num(b->j, "lost_mean", lost[BY_WEIGHT] / n);
	json_num(b->j, "lost_worst", lost_worst[BY_WEIGHT]);
	json_num(b->j, "deviation_sliced_mean", deviation[SLICED] / n);
	json_num(b->j, "deviation_sliced_worst", worst[SLICED]);
	json_num(b->j, "lost_sliced_mean", lost[SLICED] / n);
	json_uint(b->j, "noisy", noisy[BY_WEIGHT]);
	if (sb->arrangements > BY_WEIGHT_MPS) {
		json_num(b->j, "deviation_mps_mean", deviation[BY_WEIGHT_MPS] / n);
		json_num(b->j, "deviation_mps_worst", worst[BY_WEIGHT_MPS]);
		json_num(b->j, "lost_mps_mean", lost[BY_WEIGHT_MPS] / n);
		json_num(b->j, "lost_mps_worst", lost_worst[BY_WEIGHT_MPS]);
		json_uint(b->j, "noisy_mps", noisy[BY_WEIGHT_MPS]);
	}
	json_end(b->j, '}');
	cli_show(b->c,
		"%s%-5s  %.1f points off in the mean, %.1f at worst; %+.1f %% lost in the mean, "
		"%+.1f %% at worst; sliced: %.1f points, %+.1f %%; %s",
		noisy[BY_WEIGHT] ? "noise: " : "", ratio->name, deviation[BY_WEIGHT] / n,
		worst[BY_WEIGHT], lost[BY_WEIGHT] / n * 100, lost_worst[BY_WEIGHT] * 100,
		deviation[SLICED] / n, lost[SLICED] / n * 100, COUNTED(n, "set"));
	cli_show(b->c, noisy[BY_WEIGHT] ? ", %u of them noise\n" : "\n", noisy[BY_WEIGHT]);
	if (sb->arrangements > BY_WEIGHT_MPS)
		cli_show(b->c,
			"       under MPS: %.1f points off in the mean, %.1f at worst; %+.1f %% "
			"lost in the mean, %+.1f %% at worst\n",
			deviation[BY_WEIGHT_MPS] / n, worst[BY_WEIGHT_MPS],
			lost[BY_WEIGHT_MPS] / n * 100, lost_worst[BY_WEIGHT_MPS] * 100);
}

static void show_left_out(struct share_bench *sb)
{
	char names[32], text[48];
	unsigned n = 0;

	json_begin_array(sb->b->j, "shares_left_out");
	for (unsigned i = sb->n_run; i < sb->n; i++) {
		snprintf(text, sizeof(text), "%s %s", set_names(&sb->set[i], names, sizeof(names)),
			sb->set[i].ratio->name);
		json_str(sb->b->j, NULL, text);
		cli_show(sb->b->c, "%s%s", n++ ? ", " : "left out, for want of time: ", text);
	}
	json_end(sb->b->j, ']');
	if (n)
		cli_show(sb->b->c, "\n");
}

static void show_shares(struct share_bench *sb)
{
	struct bench *b = sb->b;

	json_begin_array(b->j, "shares");
	cli_show(b->c,
		"\nprograms that launch without end, by weights under policy ffs and sliced: "
		"shares of the\nwork, %%, points off, shares of the time by heddled's account, %% "
		"of throughput lost; ~ noise:\nwindows differ by more than 10 points\n"
		"programs      weights share            off  by heddled        lost   sliced"
		"            lost%s\n",
		sb->arrangements > BY_WEIGHT_MPS ? "    under MPS         off   lost" : "");
	for (unsigned i = 0; i < sb->n; i++)
		if (sb->set[i].ran) {
			json_set(sb, &sb->set[i]);
			text_set(sb, &sb->set[i]);
		}
	json_end(b->j, ']');
	cli_show(b->c, "\n");
	json_begin_array(b->j, "shares_summary");
	for (unsigned i = 0; i < RATIOS; i++)
		show_ratio(sb, &ratios[i]);
	json_end(b->j, ']');
	show_left_out(sb);
}

int bench_shares(struct bench *b)
{
	const struct stage_spec spec[ARRANGEMENTS] = {
		[BY_WEIGHT] = {.name = "ffs",
			.device = b->device,
			.managed = true,
			.policy = "ffs",
			.options = {"--set", "min_managed_us=1", "--set", "max_overhead=10"}},
		[SLICED] = {.name = "sliced", .device = b->device},
		[BY_WEIGHT_MPS] = {.name = "ffs MPS",
			.device = b->device,
			.managed = true,
			.mps = true,
			.policy = "ffs",
			.options = {"--set", "min_managed_us=1", "--set", "max_overhead=10"}},
	};
	struct share_bench *sb = arena_zalloc(&b->arena, sizeof(*sb));
	unsigned n = 0;
	int r = sb ? CLI_OK : cli_error(b->c, NULL, "out of memory");

	if (r != CLI_OK)
		return r;
	sb->b = b;
	sb->arrangements = arrangements_of(b);
	list_sets(sb);
	for (; r == CLI_OK && n < sb->arrangements; n++)
		r = stage_open(b->c, &spec[n], &sb->stage[n]);
	if (r != CLI_OK)
		n--; /* the one that failed has closed itself */
	else
		r = measure_sets(sb);
	while (n > 0)
		stage_close(&sb->stage[--n]);
	if (r == CLI_OK)
		show_shares(sb);
	return r;
}
