/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Co-runs of a long program with one or two short programs that launch after it, all at the same
 * priority. The tables show two effects of running the program with the shortest remaining time
 * first (FLEP, section 6.3.1, figures 10 and 11, and section 6.3.2, figure 12): how much turnaround
 * improves, and how much the longest program loses. A second baseline for triplets has no
 * preemption: of the two short programs, it only launches the shorter one first. */
#include "base/text.h"
#include "lab/cases.h"

#include <math.h>
#include <stdio.h>

static bool has_run(const struct cases *cs, const struct bench_case *c, enum arrangement k)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!(cases_alone_of(cs, c, i) > 0))
			return false;
	return cases_run_in(cs, c->kind, k) && c->by[k].n;
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

/* The same programs reordered, or NULL. */
static const struct bench_case *find_reordered(const struct cases *cs, const struct bench_case *c)
{
	const struct bench_case *next = c + 1;

	return next < cs->at + cs->n && next->kind == CASE_REORDERED ? next : NULL;
}

static void json_case(struct cases *cs, const struct bench_case *c)
{
	const struct bench_case *other = find_reordered(cs, c);
	struct json *j = cs->b->j;

	json_begin_object(j, NULL);
	json_begin_array(j, "programs");
	for (unsigned i = 0; i < c->n; i++) {
		json_begin_object(j, NULL);
		json_str(j, "program", bench_programs[c->program[i]]);
		json_str(j, "size", c->large[i] ? "large" : "small");
		json_num(j, "alone_us", cases_alone_of(cs, c, i) / 1e3);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_num(j, "antt_ideal", ideal_antt(cs, c));
	json_begin_array(j, "arrangements");
	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++)
		if (has_run(cs, c, k))
			json_arrangement(cs, c, k, c);
	if (other && has_run(cs, other, MPS))
		json_arrangement(cs, other, MPS, c);
	json_end(j, ']');
	json_end(j, '}');
}

static void text_case(struct cases *cs, const struct bench_case *c)
{
	struct bench *b = cs->b;
	char names[32], why[96];
	size_t at = 0;

	for (unsigned i = 0; i < c->n && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? "_" : "",
			bench_programs[c->program[i]]);
	cli_show(b->c, "%-14s %6.2f", names, ideal_antt(cs, c));
	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++)
		if (has_run(cs, c, k))
			cli_show(b->c, " %c%7.2f (%5.1fx)",
				find_noise(cs, c, k, why, sizeof(why)) ? '~' : ' ',
				antt_of(cs, c, k), antt_of(cs, c, MPS) / antt_of(cs, c, k));
		else if (cases_run_in(cs, c->kind, k))
			cli_show(b->c, "  %16s", "failed");
	cli_show(b->c, "\n");
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

static void show_total(struct bench *b, const char *name, const struct total *t)
{
	double n = t->n;

	if (!t->n)
		return;
	json_begin_object(b->j, NULL);
	json_str(b->j, "name", name);
	json_uint(b->j, "cases", t->n);
	json_num(b->j, "antt_gain_mean", t->gain / n);
	json_num(b->j, "antt_gain_best", t->best);
	json_num(b->j, "antt_gain_worst", t->worst);
	json_num(b->j, "ideal_gain_mean", t->ideal_gain / n);
	json_num(b->j, "of_ideal_mean", t->of_ideal / n);
	json_num(b->j, "stp_mean", t->stp / n);
	json_num(b->j, "makespan_lost_mean", t->lost / n);
	json_uint(b->j, "preemptions", t->preemptions);
	json_uint(b->j, "noisy", t->noisy);
	json_end(b->j, '}');
	cli_show(b->c,
		"%-10s  %sANTT %5.1f times better in the mean (%.1f to %.1f; ideal %.1f; %.0f %% "
		"of "
		"the ideal); makespan %+.1f %%; %s; %u of them all",
		name, t->noisy ? "noise: " : "", t->gain / n, t->worst, t->best, t->ideal_gain / n,
		t->of_ideal / n * 100, t->lost / n * 100, COUNTED(t->preemptions, "preemption"),
		t->n);
	cli_show(b->c, t->noisy ? ", %u of them noise\n" : "\n", t->noisy);
}

static void show_totals(struct cases *cs, enum case_kind kind)
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
			show_total(cs->b, cs->spec[k].name, &t);
	}
	show_total(cs->b, "reordered", &other);
}

void cases_show_equals(struct cases *cs, enum case_kind kind)
{
	bool triplets = kind == CASE_TRIPLET;
	struct bench *b = cs->b;

	json_begin_array(b->j, triplets ? "triplets" : "equal");
	cli_show(b->c,
		"\n%s of one priority: ANTT (improvement over the first arrangement; ~ noise)\n"
		"%-14s  ideal",
		triplets ? "a long program and two short ones" : "a long program and a short one",
		"programs");
	for (enum arrangement k = MPS; k < ARRANGEMENTS; k++)
		if (cases_run_in(cs, kind, k))
			cli_show(b->c, "  %16s", cs->spec[k].name);
	cli_show(b->c, "\n");
	for (unsigned i = 0; i < cs->n; i++)
		if (cs->at[i].kind == kind) {
			json_case(cs, &cs->at[i]);
			text_case(cs, &cs->at[i]);
		}
	json_end(b->j, ']');
	json_begin_array(b->j, triplets ? "triplets_summary" : "equal_summary");
	cli_show(b->c, "\n");
	show_totals(cs, kind);
	json_end(b->j, ']');
}
