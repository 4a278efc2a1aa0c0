/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures weighted fairness (FLEP, section 6.3.3, figures 13 and 14). Pairs and triplets of
 * programs launch the same kernels endlessly. They run under policy ffs, which shares the GPU by
 * weights, and for comparison time-sliced by the device itself.
 *
 * Each program counts its own rounds. Its share and the lost throughput are computed from these
 * rounds, compared with those of the same program alone in the same arrangement. The shares that
 * heddled measures are printed beside the computed ones. */
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

/* The virtual GPU has no MPS, so it runs only the first two arrangements. */
enum { BY_WEIGHT, SLICED, BY_WEIGHT_MPS, ARRANGEMENTS };

struct ratio {
	const char *name;
	unsigned n, weight[SHARES_MAX];
	unsigned sets; /* number of sets to measure */
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
	struct bench_stage stage[ARRANGEMENTS];
	unsigned arrangements;
	struct share_set set[MAX_SETS];
	unsigned n;
};

/* ---- listing the sets ---- */

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

/* Returns the input size. The virtual GPU runs only small inputs, because a launch with a large one
 * takes longer than a time window. */
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

static unsigned count_steps(const struct share_bench *sb)
{
	bool seen[PROGRAMS][2] = {{false}};
	unsigned alone = 0;

	for (unsigned k = 0; k < sb->n; k++)
		for (unsigned i = 0; i < sb->set[k].ratio->n; i++) {
			bool *at = &seen[sb->set[k].program[i]][is_large(&sb->set[k], i)];

			alone += !*at || !alone_is_kept(sb->b);
			*at = true;
		}
	return sb->arrangements * (sb->n + alone);
}

unsigned bench_shares_steps(const struct bench *b)
{
	struct share_bench sb = {.b = (struct bench *)b, .arrangements = arrangements_of(b)};

	list_sets(&sb);
	return count_steps(&sb);
}

static const char *set_names(const struct share_set *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s+%s%s%s", bench_programs[s->program[0]],
		bench_programs[s->program[1]], s->ratio->n > 2 ? "+" : "",
		s->ratio->n > 2 ? bench_programs[s->program[2]] : "");
	return buf;
}

/* ---- measuring the sets ---- */

static uint64_t window_of(const struct bench *b)
{
	return b->device == DEV_CPU ? 2000000000 : 300000000;
}

/* Returns the key of a set's row, or if `only` is not negative, the key of that program alone.
 * If times alone are kept, a program alone has one row for all sets. */
static const char *row_key(const struct share_bench *sb, unsigned arrangement,
	const struct share_set *s, int only, char *buf, size_t size)
{
	static const char *const names[ARRANGEMENTS] = {"ffs", "sliced", "ffs MPS"};
	char set[32];

	if (only < 0)
		snprintf(buf, size, "shares %s %s, %s", set_names(s, set, sizeof(set)),
			s->ratio->name, names[arrangement]);
	else if (alone_is_kept(sb->b))
		snprintf(buf, size, "shares %s %s alone, %s", bench_programs[s->program[only]],
			size_of(sb->b, is_large(s, (unsigned)only)), names[arrangement]);
	else
		snprintf(buf, size, "shares %s %s, %s alone, %s", set_names(s, set, sizeof(set)),
			s->ratio->name, bench_programs[s->program[only]], names[arrangement]);
	return buf;
}

/* Packs a row of samples. "finished N" are the rounds that program N had finished at the ends of
 * the windows (shares_cut), and "had" are the shares that heddled reported. */
static json_t *pack(
	struct share_bench *sb, const struct crowd_run *run, const struct crowd_result *res)
{
	unsigned windows = sb->b->rounds;
	double *finished = ARENA_ARRAY(&sb->b->arena, double, windows + 1);
	json_t *o = json_object();
	char name[24];

	for (unsigned i = 0; finished && i < run->n; i++) {
		shares_cut(res->of[i].done_ns, res->of[i].n, res->from_ns, window_of(sb->b),
			windows, finished);
		snprintf(name, sizeof(name), "finished %u", i);
		json_object_set_new(o, name, samples_numbers(finished, windows + 1));
	}
	json_object_set_new(o, "had", samples_numbers(res->share_had, run->n));
	json_object_set_new(o, "checked", samples_number(res->checked));
	json_object_set_new(o, "wrong", samples_number(res->wrong));
	return o;
}

/* Finds the row of all programs of set s together, or if `only` is not negative, the row of that
 * program alone. Measures the row if it was not kept. *ret is NULL if there is none, because no
 * time is left or because the programs failed; a failure is reported and counted. Returns
 * CLI_FAILED if a signal interrupted the benchmark. */
static int run_members(struct share_bench *sb, unsigned arrangement, const struct share_set *s,
	int only, const json_t **ret)
{
	struct bench *b = sb->b;
	struct stage_run how = bench_run(b, NULL, NULL);
	struct crowd_run run = {.run = &how,
		.warm_rounds = b->device == DEV_CPU ? 1 : STAGE_SEARCH_ROUNDS,
		.window_ns = b->rounds * window_of(b)};
	struct crowd_result res;
	char key[96];
	int r;

	row_key(sb, arrangement, s, only, key, sizeof(key));
	*ret = samples_row(&b->samples, key);
	if (*ret || !samples_may_begin(&b->samples)) {
		progress_more(-1);
		return CLI_OK;
	}
	r = bench_stage_need(b, &sb->stage[arrangement]);
	if (r != CLI_OK)
		return r;
	/* Checking the results after each launch would leave the device idle. */
	how.check = how.check ? how.check : "last";
	for (unsigned i = 0; i < s->ratio->n; i++) {
		if (only >= 0 && (unsigned)only != i)
			continue;
		run.program[run.n].name = bench_programs[s->program[i]];
		run.program[run.n].size = size_of(b, is_large(s, i));
		run.weight[run.n++] = s->ratio->weight[i];
	}
	progress_step("%s", key);
	if (crowd_run(&sb->stage[arrangement].stage, &b->arena, &run, &res) != CLI_OK) {
		b->failures++;
	} else {
		samples_add(&b->samples, key, pack(sb, &run, &res));
		*ret = samples_row(&b->samples, key);
	}
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}

static const double *finished_of(struct share_bench *sb, const json_t *row, unsigned i)
{
	unsigned n;
	double *values;
	char name[24];

	snprintf(name, sizeof(name), "finished %u", i);
	values = samples_values(row, name, &sb->b->arena, &n);
	return n == sb->b->rounds + 1 ? values : NULL;
}

static int measure_alone(
	struct share_bench *sb, unsigned arrangement, struct share_set *s, unsigned i)
{
	const double *finished;
	const json_t *row;
	int r = run_members(sb, arrangement, s, (int)i, &row);

	finished = finished_of(sb, row, 0);
	s->alone_per_s[arrangement][i] =
		finished ? shares_rate(finished, window_of(sb->b), sb->b->rounds) : 0;
	return r;
}

/* Computes the shares of set s from a row. Returns false if they cannot be computed. */
static bool sum_up(
	struct share_bench *sb, unsigned arrangement, struct share_set *s, const json_t *row)
{
	struct shares_input in = {
		.n = s->ratio->n, .window_ns = window_of(sb->b), .windows = sb->b->rounds};

	for (unsigned i = 0; i < in.n; i++) {
		in.weight[i] = s->ratio->weight[i];
		in.alone_per_s[i] = s->alone_per_s[arrangement][i];
		in.finished[i] = finished_of(sb, row, i);
		if (!(in.alone_per_s[i] > 0) || !in.finished[i])
			return false;
	}
	if (arrangement == BY_WEIGHT)
		samples_read(row, "had", in.n, s->had);
	s->checked += (unsigned)samples_first(row, "checked");
	s->wrong += (unsigned)samples_first(row, "wrong");
	return shares_sum_up(&in, &s->of[arrangement]) == 0;
}

static int measure_set(struct share_bench *sb, struct share_set *s)
{
	bool ran = true;

	for (unsigned k = 0; k < sb->arrangements; k++) {
		const json_t *row;
		int r = CLI_OK;

		for (unsigned m = 0; r == CLI_OK && m < s->ratio->n; m++)
			r = measure_alone(sb, k, s, m);
		if (r == CLI_OK)
			r = run_members(sb, k, s, -1, &row);
		if (r != CLI_OK)
			return r;
		ran = sum_up(sb, k, s, row) && ran;
	}
	s->ran = ran;
	return CLI_OK;
}

/* ---- showing the tables ---- */

/* Returns why the shares are too noisy to count as a result, or NULL if they are not. */
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

/* Returns a spread in percentage points, or NaN for a single window, which has no spread. */
static double points_or_nan(double spread)
{
	return spread < 0 ? NAN : 100 * spread;
}

static void list_values(char *buf, size_t size, const double *share, unsigned n, double unit)
{
	size_t at = 0;

	for (unsigned i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(
			buf + at, size - at, "%s%.1f", i ? ":" : "", share[i] * unit);
}

/* Appends shares as one cell, such as "66.5:33.5". */
static void cell_shares(struct sheet *sh, const double *share, unsigned n, double unit, bool noise)
{
	char text[48];

	list_values(text, sizeof(text), share, n, unit);
	table_cell(&sh->t, "%s%s", noise ? "~" : "", text);
}

static void show_set(struct share_bench *sb, struct sheet *sh, const struct share_set *s)
{
	const struct shares *of = s->of;
	unsigned n = s->ratio->n;
	const char *noise;
	char why[64], names[32];

	sheet_row(sh);
	sheet_str(sh, "set", set_names(s, names, sizeof(names)));
	sheet_str(sh, "ratio", s->ratio->name);
	noise = noise_of(&of[BY_WEIGHT], why, sizeof(why));
	json_str(sh->j, "noise", noise);
	cell_shares(sh, of[BY_WEIGHT].share, n, 100, noise);
	sheet_num(sh, "deviation", of[BY_WEIGHT].deviation, 1, 1, "");
	cell_shares(sh, s->had, n, 1, false);
	sheet_num(sh, "lost", of[BY_WEIGHT].lost, 100, 1, " %");
	json_num(sh->j, "share_spread", points_or_nan(of[BY_WEIGHT].share_spread));
	json_num(sh->j, "lost_spread", points_or_nan(of[BY_WEIGHT].lost_spread));
	json_num(sh->j, "deviation_sliced", of[SLICED].deviation);
	cell_shares(sh, of[SLICED].share, n, 100, false);
	sheet_num(sh, "lost_sliced", of[SLICED].lost, 100, 1, " %");
	if (sb->arrangements > BY_WEIGHT_MPS) {
		noise = noise_of(&of[BY_WEIGHT_MPS], why, sizeof(why));
		json_str(sh->j, "noise_mps", noise);
		cell_shares(sh, of[BY_WEIGHT_MPS].share, n, 100, noise);
		sheet_num(sh, "deviation_mps", of[BY_WEIGHT_MPS].deviation, 1, 1, "");
		sheet_num(sh, "lost_mps", of[BY_WEIGHT_MPS].lost, 100, 1, " %");
	}
	json_uint(sh->j, "checked", s->checked);
	json_uint(sh->j, "wrong", s->wrong);
	json_begin_array(sh->j, "programs");
	for (unsigned i = 0; i < n; i++)
		json_program(sb, s, i);
	json_end(sh->j, ']');
	sheet_row_end(sh);
}

/* Figures of one arrangement, over all sets of a ratio. */
struct ratio_figures {
	double deviation, worst, lost, lost_worst;
	unsigned n, noisy;
};

static struct ratio_figures sum_ratio(
	const struct share_bench *sb, const struct ratio *ratio, unsigned k)
{
	struct ratio_figures f = {.lost_worst = -INFINITY};
	char why[64];

	for (unsigned i = 0; i < sb->n; i++) {
		const struct share_set *s = &sb->set[i];

		if (s->ratio != ratio || !s->ran)
			continue;
		f.deviation += s->of[k].deviation;
		f.worst = MAX(f.worst, s->of[k].deviation);
		f.lost += s->of[k].lost;
		f.lost_worst = MAX(f.lost_worst, s->of[k].lost);
		f.noisy += noise_of(&s->of[k], why, sizeof(why)) != NULL;
		f.n++;
	}
	f.deviation /= MAX(f.n, 1u);
	f.lost /= MAX(f.n, 1u);
	return f;
}

static void show_ratio(struct share_bench *sb, struct sheet *sh, const struct ratio *ratio)
{
	struct ratio_figures f = sum_ratio(sb, ratio, BY_WEIGHT), g = sum_ratio(sb, ratio, SLICED);

	if (!f.n)
		return;
	sheet_row(sh);
	sheet_str(sh, "name", ratio->name);
	sheet_uint(sh, "sets", f.n);
	sheet_mark(sh, f.noisy);
	sheet_num(sh, "deviation_mean", f.deviation, 1, 1, "");
	sheet_num(sh, "deviation_worst", f.worst, 1, 1, "");
	sheet_num(sh, "lost_mean", f.lost, 100, 1, " %");
	sheet_num(sh, "lost_worst", f.lost_worst, 100, 1, " %");
	sheet_num(sh, "deviation_sliced_mean", g.deviation, 1, 1, "");
	json_num(sh->j, "deviation_sliced_worst", g.worst);
	sheet_num(sh, "lost_sliced_mean", g.lost, 100, 1, " %");
	sheet_uint(sh, "noisy", f.noisy);
	if (sb->arrangements > BY_WEIGHT_MPS) {
		f = sum_ratio(sb, ratio, BY_WEIGHT_MPS);
		sheet_mark(sh, f.noisy);
		sheet_num(sh, "deviation_mps_mean", f.deviation, 1, 1, "");
		sheet_num(sh, "deviation_mps_worst", f.worst, 1, 1, "");
		sheet_num(sh, "lost_mps_mean", f.lost, 100, 1, " %");
		sheet_num(sh, "lost_mps_worst", f.lost_worst, 100, 1, " %");
		json_uint(sh->j, "noisy_mps", f.noisy);
	}
	sheet_row_end(sh);
}

static void show_left_out(struct share_bench *sb)
{
	char names[32], text[48];
	unsigned n = 0;

	json_begin_array(sb->b->j, "shares_left_out");
	for (unsigned i = 0; i < sb->n; i++) {
		if (sb->set[i].ran)
			continue;
		snprintf(text, sizeof(text), "%s %s", set_names(&sb->set[i], names, sizeof(names)),
			sb->set[i].ratio->name);
		json_str(sb->b->j, NULL, text);
		cli_show(sb->b->c, "%s%s", n++ ? ", " : "not measured: ", text);
	}
	json_end(sb->b->j, ']');
	if (n)
		cli_show(sb->b->c, "\n");
}

static void show_shares(struct share_bench *sb)
{
	struct bench *b = sb->b;
	struct sheet sh;

	sheet_begin(&sh, b->c, b->j, "shares",
		"<programs|<weights|share|off|by heddled|lost|sliced|lost",
		"programs that launch without end, by weights under policy ffs and sliced: shares "
		"of "
		"the\nwork, %%, points off, shares of the time by heddled's account, %% of "
		"throughput lost (~ noise:\nwindows differ by more than 10 points)");
	if (sb->arrangements > BY_WEIGHT_MPS) {
		sheet_column(&sh, "under MPS");
		sheet_column(&sh, "off");
		sheet_column(&sh, "lost");
	}
	for (unsigned i = 0; i < sb->n; i++)
		if (sb->set[i].ran)
			show_set(sb, &sh, &sb->set[i]);
	sheet_end(&sh);
	sheet_begin(&sh, b->c, b->j, "shares_summary",
		"<weights|sets|points off: mean|worst|lost: mean|worst|sliced: points "
		"off|lost|noisy",
		"by weights");
	for (unsigned i = 0; sb->arrangements > BY_WEIGHT_MPS && i < 4; i++)
		sheet_column(&sh,
			(const char *[]){"MPS: points off", "worst", "lost: mean", "worst"}[i]);
	for (unsigned i = 0; i < RATIOS; i++)
		show_ratio(sb, &sh, &ratios[i]);
	sheet_end(&sh);
	show_left_out(sb);
}

int bench_shares(struct bench *b)
{
	const struct stage_spec spec[ARRANGEMENTS] = {
		[BY_WEIGHT] = {.name = "ffs",
			.managed = true,
			.policy = "ffs",
			.options = {"--set", "min_managed_us=1", "--set", "max_overhead=10"}},
		[SLICED] = {.name = "sliced"},
		[BY_WEIGHT_MPS] = {.name = "ffs MPS",
			.managed = true,
			.mps = true,
			.policy = "ffs",
			.options = {"--set", "min_managed_us=1", "--set", "max_overhead=10"}},
	};
	struct share_bench *sb = arena_zalloc(&b->arena, sizeof(*sb));
	int r = sb ? CLI_OK : cli_error(b->c, NULL, "out of memory");

	if (r != CLI_OK)
		return r;
	sb->b = b;
	sb->arrangements = arrangements_of(b);
	list_sets(sb);
	for (unsigned k = 0; k < sb->arrangements; k++)
		sb->stage[k].spec = spec[k];
	for (unsigned i = 0; r == CLI_OK && i < sb->n; i++)
		r = measure_set(sb, &sb->set[i]);
	for (unsigned k = 0; k < sb->arrangements; k++)
		bench_stage_close(&sb->stage[k]);
	if (bench_shows(r))
		show_shares(sb);
	return r;
}
