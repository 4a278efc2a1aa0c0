/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Co-runs of a long program with one or two short programs that launch after it, all at the same
 * priority. The tables show two effects of running the program with the shortest remaining time
 * first (FLEP, section 6.3.1, figures 10 and 11, and section 6.3.2, figure 12): how much turnaround
 * improves, and how much the longest program loses. A second baseline for triplets has no
 * preemption: of the two short programs, it only launches the shorter one first. */
#include "lab/cases.h"

#include <math.h>
#include <stdio.h>

static bool has_times_alone(const struct cases *cs, const struct bench_case *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!(cases_alone_of(cs, c, i) > 0))
			return false;
	return true;
}

static bool has_run(const struct cases *cs, const struct bench_case *c, enum arrangement k)
{
	return has_times_alone(cs, c) && cases_run_in(cs, c->kind, k) && c->by[k].n;
}

/* Returns the lowest possible ANTT: the programs run in order of their length, shortest first, and
 * switching between them costs nothing. */
static double ideal_antt(const struct cases *cs, const struct bench_case *c)
{
	double alone[CREW_RUNS], passed = 0, antt = 0;

	for (unsigned i = 0; i < c->n; i++) {
		unsigned k = i;

		for (; k > 0 && alone[k - 1] > cases_alone_of(cs, c, i); k--)
			alone[k] = alone[k - 1];
		alone[k] = cases_alone_of(cs, c, i);
	}
	for (unsigned i = 0; i < c->n; i++) {
		passed += alone[i];
		antt += passed / alone[i] / c->n;
	}
	return antt;
}

static double antt_of(const struct cases *cs, const struct bench_case *c, enum arrangement k)
{
	struct figures f = cases_figures(cs, c, k);

	return f.antt;
}

/* Returns why the case's figures are too noisy to count as a result, or NULL if they are not. The
 * turnarounds of all programs are checked. */
static const char *find_noise(const struct cases *cs, const struct bench_case *c,
	enum arrangement k, char *buf, size_t size)
{
	struct figures f = cases_figures(cs, c, k);
	double spread = 0;

	for (unsigned i = 0; i < c->n; i++) {
		double s = cases_spread(&c->by[k], i);

		spread = s < 0 || spread < 0 ? -1 : MAX(spread, s);
	}
	return figures_noise(&f, c->n, spread, buf, size);
}

static void json_arrangement(struct cases *cs, const struct bench_case *c, enum arrangement k,
	const struct bench_case *base)
{
	const struct crew_result *r = &c->by[k];
	struct figures f = cases_figures(cs, c, k);
	struct json *j = cs->b->j;
	char why[96];

	json_begin_object(j, NULL);
	json_str(j, "name", c->kind == CASE_REORDERED ? "reordered" : cs->spec[k].name);
	json_num(j, "antt", f.antt);
	json_num(j, "antt_gain", antt_of(cs, base, MPS) / f.antt);
	json_num(j, "of_ideal", ideal_antt(cs, c) / f.antt);
	json_num(j, "stp", f.stp);
	json_num(j, "stp_makespan", f.stp_makespan);
	json_num(j, "makespan_us", r->makespan_ns / 1e3);
	json_str(j, "noise", find_noise(cs, c, k, why, sizeof(why)));
	json_uint(j, "preemptions", r->preemptions);
	json_uint(j, "checked", r->checked);
	json_uint(j, "wrong", r->wrong);
	json_end(j, '}');
}

/* Returns the case with the same programs reordered, or NULL if there is none. */
static const struct bench_case *find_reordered(const struct cases *cs, const struct bench_case *c)
{
	const struct bench_case *next = c + 1;

	return next < cs->at + cs->n && next->kind == CASE_REORDERED ? next : NULL;
}

/* Appends the names of the case's programs. */
static void cell_names(struct sheet *s, const struct bench_case *c)
{
	char names[32];
	size_t at = 0;

	for (unsigned i = 0; i < c->n && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? " + " : "",
			bench_programs[c->program[i]]);
	table_cell(&s->t, "%s", names);
}

static void show_case(struct cases *cs, struct sheet *s, const struct bench_case *c)
{
	const struct bench_case *other = find_reordered(cs, c);
	char why[96];

	sheet_row(s);
	cell_names(s, c);
	json_begin_array(s->j, "programs");
	for (unsigned i = 0; i < c->n; i++) {
		json_begin_object(s->j, NULL);
		json_str(s->j, "program", bench_programs[c->program[i]]);
		json_str(s->j, "size", c->large[i] ? "large" : "small");
		json_num(s->j, "alone_us", cases_alone_of(cs, c, i) / 1e3);
		json_end(s->j, '}');
	}
	json_end(s->j, ']');
	sheet_num(s, "antt_ideal", ideal_antt(cs, c), 1, 2, "");
	json_begin_array(s->j, "arrangements");
	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++) {
		if (has_run(cs, c, k)) {
			json_arrangement(cs, c, k, c);
			table_cell(&s->t, "%s%.2f (%.1fx)",
				find_noise(cs, c, k, why, sizeof(why)) ? "~" : "",
				antt_of(cs, c, k), antt_of(cs, c, MPS) / antt_of(cs, c, k));
		} else if (cases_run_in(cs, c->kind, k)) {
			table_cell(&s->t, "-");
		}
	}
	if (other && has_run(cs, other, MPS))
		json_arrangement(cs, other, MPS, c);
	json_end(s->j, ']');
	sheet_row_end(s);
}

struct total {
	double gain, best, worst, of_ideal, ideal_gain, stp, lost;
	unsigned n, preemptions, noisy;
};

static void add_case(struct cases *cs, const struct bench_case *c, enum arrangement k,
	const struct bench_case *base, struct total *t)
{
	double mine = antt_of(cs, c, k), first = antt_of(cs, base, MPS), ideal = ideal_antt(cs, c);
	struct figures f = cases_figures(cs, c, k);
	char why[96];

	t->gain += first / mine;
	t->best = MAX(t->best, first / mine);
	t->worst = t->n ? MIN(t->worst, first / mine) : first / mine;
	t->of_ideal += ideal / mine;
	t->ideal_gain += first / ideal;
	t->stp += f.stp;
	t->lost += c->by[k].makespan_ns / base->by[MPS].makespan_ns - 1;
	t->preemptions += c->by[k].preemptions;
	t->noisy += find_noise(cs, c, k, why, sizeof(why)) != NULL;
	t->n++;
}

static void show_total(struct sheet *s, const char *name, const struct total *t)
{
	double n = t->n;

	if (!t->n)
		return;
	sheet_row(s);
	sheet_str(s, "name", name);
	sheet_uint(s, "cases", t->n);
	sheet_mark(s, t->noisy);
	sheet_num(s, "antt_gain_mean", t->gain / n, 1, 1, "x");
	sheet_num(s, "antt_gain_best", t->best, 1, 1, "x");
	sheet_num(s, "antt_gain_worst", t->worst, 1, 1, "x");
	sheet_num(s, "ideal_gain_mean", t->ideal_gain / n, 1, 1, "x");
	sheet_num(s, "of_ideal_mean", t->of_ideal / n, 100, 0, " %");
	json_num(s->j, "stp_mean", t->stp / n);
	sheet_num(s, "makespan_lost_mean", t->lost / n, 100, 1, " %");
	sheet_uint(s, "preemptions", t->preemptions);
	sheet_uint(s, "noisy", t->noisy);
	sheet_row_end(s);
}

static void show_totals(struct cases *cs, struct sheet *s, enum case_kind kind)
{
	struct total other = {0};

	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++) {
		struct total t = {0};

		for (unsigned i = 0; i < cs->n; i++) {
			const struct bench_case *c = &cs->at[i], *o = find_reordered(cs, c);

			if (c->kind != kind || !has_run(cs, c, MPS))
				continue;
			if (has_run(cs, c, k))
				add_case(cs, c, k, c, &t);
			if (k == MPS && o && has_run(cs, o, k))
				add_case(cs, o, k, c, &other);
		}
		if (cs->spec[k].name)
			show_total(s, cs->spec[k].name, &t);
	}
	show_total(s, "reordered", &other);
}

void cases_show_equals(struct cases *cs, enum case_kind kind)
{
	bool triplets = kind == CASE_TRIPLET;
	struct bench *b = cs->b;
	struct sheet s;

	sheet_begin(&s, b->c, b->j, triplets ? "triplets" : "equal", "<programs|ideal",
		"%s of one priority: ANTT (improvement over the first arrangement; ~ noise)",
		triplets ? "a long program and two short ones" : "a long program and a short one");
	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++)
		if (cases_run_in(cs, kind, k))
			sheet_column(&s, cs->spec[k].name);
	for (unsigned i = 0; i < cs->n; i++)
		if (cs->at[i].kind == kind && has_times_alone(cs, &cs->at[i]))
			show_case(cs, &s, &cs->at[i]);
	sheet_end(&s);
	sheet_begin(&s, b->c, b->j, triplets ? "triplets_summary" : "equal_summary",
		"<arrangement|cases|ANTT better: mean|best|worst|ideal|of the ideal|makespan "
		"lost|preemptions|noisy",
		"all of them");
	show_totals(cs, &s, kind);
	sheet_end(&s);
}
