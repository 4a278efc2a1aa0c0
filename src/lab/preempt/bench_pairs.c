/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Co-runs of a long low-priority program and a short high-priority program. The tables show how
 * much sooner the short program finishes than without heddle (FLEP, section 6.3.1). It launches
 * either right after the long program starts (figure 8) or after a delay (figure 9). */
#include "lab/cases.h"

#include <math.h>

static double low_alone(const struct cases *cs, const struct bench_case *c)
{
	return cases_alone_of(cs, c, 0);
}

static double high_alone(const struct cases *cs, const struct bench_case *c)
{
	return cases_alone_of(cs, c, 1);
}

/* Returns the best possible speedup of the high-priority program: the speedup if it never waits.
 * Without heddle the program waits for the rest of the low-priority program's run, and then runs.
 * In the best case there is no wait, only its own run. */
static double ideal_speedup(const struct cases *cs, const struct bench_case *c)
{
	double low = low_alone(cs, c), high = high_alone(cs, c);

	return (MAX(low - c->delay * low, 0) + high) / high;
}

static bool has_run(const struct cases *cs, const struct bench_case *c, enum arrangement k)
{
	return cases_run_in(cs, c->kind, k) && c->by[k].n && low_alone(cs, c) > 0 &&
	       high_alone(cs, c) > 0;
}

static double high_ns(const struct bench_case *c, enum arrangement k)
{
	return c->by[k].of[1].median_ns;
}

/* Returns 0 if the case did not run under MPS, the baseline. */
static double speedup_of(const struct bench_case *c, enum arrangement k)
{
	return c->by[MPS].n ? high_ns(c, MPS) / high_ns(c, k) : 0;
}

/* Returns why the case's figures are too noisy to count as a result, or NULL if they are not. */
static const char *find_noise(const struct cases *cs, const struct bench_case *c,
	enum arrangement k, char *buf, size_t size)
{
	struct figures f = cases_figures(cs, c, k);

	return figures_noise(&f, 2, cases_spread(&c->by[k], 1), buf, size);
}

static void json_arrangement(struct cases *cs, const struct bench_case *c, enum arrangement k)
{
	const struct crew_result *r = &c->by[k];
	struct figures f = cases_figures(cs, c, k);
	struct json *j = cs->b->j;
	char why[96];

	json_begin_object(j, NULL);
	json_str(j, "name", cs->spec[k].name);
	json_num(j, "high_us", high_ns(c, k) / 1e3);
	json_num(j, "low_us", r->of[0].median_ns / 1e3);
	json_num(j, "high_speedup", speedup_of(c, k));
	json_num(j, "antt", f.antt);
	json_num(j, "stp", f.stp);
	json_num(j, "stp_makespan", f.stp_makespan);
	json_str(j, "noise", find_noise(cs, c, k, why, sizeof(why)));
	json_uint(j, "preemptions", r->preemptions);
	json_uint(j, "checked", r->checked);
	json_uint(j, "wrong", r->wrong);
	json_end(j, '}');
}

static void show_pair(struct cases *cs, struct sheet *s, const struct bench_case *c)
{
	char why[96];

	sheet_row(s);
	sheet_str(s, "low", bench_programs[c->program[0]]);
	sheet_str(s, "high", bench_programs[c->program[1]]);
	json_num(s->j, "low_alone_us", low_alone(cs, c) / 1e3);
	json_num(s->j, "high_alone_us", high_alone(cs, c) / 1e3);
	if (c->kind == CASE_DELAYED)
		sheet_num(s, "delay", c->delay, 1, 1, "");
	sheet_num(s, "ideal", ideal_speedup(cs, c), 1, 1, "x");
	json_begin_array(s->j, "arrangements");
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++) {
		if (has_run(cs, c, k)) {
			json_arrangement(cs, c, k);
			table_cell(&s->t, "%s%.0f (%.1fx)",
				find_noise(cs, c, k, why, sizeof(why)) ? "~" : "",
				high_ns(c, k) / 1e3, speedup_of(c, k));
		} else if (cases_run_in(cs, c->kind, k)) {
			table_cell(&s->t, "-");
		}
	}
	json_end(s->j, ']');
	sheet_row_end(s);
}

static void show_table(struct cases *cs, enum case_kind kind, const char *key, const char *title)
{
	struct bench *b = cs->b;
	struct sheet s;

	sheet_begin(&s, b->c, b->j, key,
		kind == CASE_DELAYED ? "<low|<high|delay|ideal" : "<low|<high|ideal", "%s", title);
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		if (cases_run_in(cs, kind, k))
			sheet_column(&s, cs->spec[k].name);
	for (unsigned i = 0; i < cs->n; i++)
		if (cs->at[i].kind == kind && low_alone(cs, &cs->at[i]) > 0 &&
			high_alone(cs, &cs->at[i]) > 0)
			show_pair(cs, &s, &cs->at[i]);
	sheet_end(&s);
}

/* ---- figure 8: pairs without a delay ---- */

static double ideal_mean(const struct cases *cs, enum case_kind kind, double delay)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < cs->n; i++) {
		const struct bench_case *c = &cs->at[i];

		if (c->kind == kind && c->delay == delay && high_alone(cs, c) > 0) {
			sum += ideal_speedup(cs, c);
			n++;
		}
	}
	return n ? sum / n : NAN;
}

/* Shows the averages of an arrangement over all pairs that ran: mean and best speedup, mean ANTT
 * and mean STP. */
static void sum_up(struct cases *cs, struct sheet *s, enum arrangement k, double ideal)
{
	double sum = 0, best = 0, worst = INFINITY, antt = 0, stp = 0, makespan = 0;
	unsigned m = 0, preemptions = 0, noisy = 0;
	char why[96];

	for (unsigned i = 0; i < cs->n; i++) {
		const struct bench_case *c = &cs->at[i];
		struct figures f;

		if (c->kind != CASE_PAIR || !has_run(cs, c, k) || !c->by[MPS].n)
			continue;
		f = cases_figures(cs, c, k);
		sum += speedup_of(c, k);
		best = MAX(best, speedup_of(c, k));
		worst = MIN(worst, speedup_of(c, k));
		antt += f.antt;
		stp += f.stp;
		makespan += f.stp_makespan;
		preemptions += c->by[k].preemptions;
		noisy += find_noise(cs, c, k, why, sizeof(why)) != NULL;
		m++;
	}
	if (!m)
		return;
	sheet_row(s);
	sheet_str(s, "name", cs->spec[k].name);
	sheet_uint(s, "pairs", m);
	sheet_mark(s, noisy);
	sheet_num(s, "speedup_mean", sum / m, 1, 1, "x");
	sheet_num(s, "speedup_best", best, 1, 1, "x");
	sheet_num(s, "speedup_worst", worst, 1, 1, "x");
	sheet_num(s, "ideal_mean", ideal, 1, 1, "x");
	sheet_num(s, "antt_mean", antt / m, 1, 2, "");
	sheet_num(s, "stp_mean", stp / m, 1, 2, "");
	sheet_num(s, "stp_makespan_mean", makespan / m, 1, 2, "");
	sheet_uint(s, "preemptions", preemptions);
	sheet_uint(s, "noisy", noisy);
	sheet_row_end(s);
}

void cases_show_pairs(struct cases *cs)
{
	struct bench *b = cs->b;
	double mean = ideal_mean(cs, CASE_PAIR, 0);
	struct sheet s;

	show_table(cs, CASE_PAIR, "pairs",
		"turnaround of the high-priority program, us (speedup over the first arrangement; "
		"~ "
		"noise: it\ncannot be, or rounds differ by more than 10 %)");
	sheet_begin(&s, b->c, b->j, "summary",
		"<arrangement|pairs|speedup: mean|best|worst|ideal|ANTT|STP|by "
		"makespan|preemptions|noisy",
		"all pairs");
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		sum_up(cs, &s, k, mean);
	sheet_end(&s);
}

/* ---- figure 9: pairs with a delay ---- */

static void sum_up_delay(struct cases *cs, struct sheet *s, double delay)
{
	sheet_row(s);
	sheet_num(s, "delay", delay, 1, 1, "");
	sheet_num(s, "ideal_mean", ideal_mean(cs, CASE_DELAYED, delay), 1, 1, "x");
	json_begin_array(s->j, "arrangements");
	for (enum arrangement k = MPS + 1; k < ARRANGEMENTS; k++) {
		double sum = 0;
		unsigned n = 0;

		for (unsigned i = 0; i < cs->n; i++) {
			const struct bench_case *c = &cs->at[i];

			if (c->kind != CASE_DELAYED || c->delay != delay || !has_run(cs, c, k) ||
				!c->by[MPS].n)
				continue;
			sum += speedup_of(c, k);
			n++;
		}
		if (!n) {
			if (cases_run_in(cs, CASE_DELAYED, k))
				table_cell(&s->t, "-");
			continue;
		}
		json_begin_object(s->j, NULL);
		json_str(s->j, "name", cs->spec[k].name);
		sheet_num(s, "speedup_mean", sum / n, 1, 1, "x");
		json_uint(s->j, "pairs", n);
		json_end(s->j, '}');
	}
	json_end(s->j, ']');
	sheet_row_end(s);
}

/* Shows the mean for each delay once. All pairs have the delays of the first pair. */
static void sum_up_delays(struct cases *cs, struct sheet *s)
{
	const struct bench_case *first = NULL;

	for (unsigned i = 0; i < cs->n; i++) {
		const struct bench_case *c = &cs->at[i];

		if (c->kind != CASE_DELAYED)
			continue;
		first = first ? first : c;
		if (c->program[0] == first->program[0] && c->program[1] == first->program[1])
			sum_up_delay(cs, s, c->delay);
	}
}

void cases_show_delays(struct cases *cs)
{
	struct bench *b = cs->b;
	struct sheet s;

	show_table(cs, CASE_DELAYED, "delay",
		"the same, with a launch that comes after a part of the low one's time alone "
		"(delay), "
		"us");
	sheet_begin(&s, b->c, b->j, "delay_summary", "delay|ideal", "mean speedup by delay");
	for (enum arrangement k = MPS + 1; k < ARRANGEMENTS; k++)
		if (cases_run_in(cs, CASE_DELAYED, k))
			sheet_column(&s, cs->spec[k].name);
	sum_up_delays(cs, &s);
	sheet_end(&s);
}
