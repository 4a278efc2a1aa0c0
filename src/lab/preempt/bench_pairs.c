/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Co-runs of a long low-priority program and a short high-priority program. The tables show how
 * much sooner the short program finishes than without heddle (FLEP, section 6.3.1). It launches
 * either right after the long program starts (figure 8) or after a delay (figure 9). */
#include "base/text.h"
#include "lab/cases.h"

#include <math.h>
#include <stdio.h>

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

/* 0: the one to compare with did not run. */
static double speedup_of(const struct bench_case *c, enum arrangement k)
{
	return c->by[MPS].n ? high_ns(c, MPS) / high_ns(c, k) : 0;
}

/* Why its figures are no result, or NULL. */
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

static void json_pair(struct cases *cs, const struct bench_case *c)
{
	struct json *j = cs->b->j;

	json_begin_object(j, NULL);
	json_str(j, "low", bench_programs[c->program[0]]);
	json_str(j, "high", bench_programs[c->program[1]]);
	json_num(j, "low_alone_us", low_alone(cs, c) / 1e3);
	json_num(j, "high_alone_us", high_alone(cs, c) / 1e3);
	if (c->kind == CASE_DELAYED)
		json_num(j, "delay", c->delay);
	json_num(j, "ideal", ideal_speedup(cs, c));
	json_begin_array(j, "arrangements");
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		if (has_run(cs, c, k))
			json_arrangement(cs, c, k);
	json_end(j, ']');
	json_end(j, '}');
}

static void text_pair(struct cases *cs, const struct bench_case *c)
{
	struct bench *b = cs->b;
	char why[96];

	cli_show(b->c, "%-4s %-4s", bench_programs[c->program[0]], bench_programs[c->program[1]]);
	if (c->kind == CASE_DELAYED)
		cli_show(b->c, " %5.1f", c->delay);
	cli_show(b->c, " %6.1f", ideal_speedup(cs, c));
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		if (has_run(cs, c, k))
			cli_show(b->c, " %c%9.0f (%5.1fx)",
				find_noise(cs, c, k, why, sizeof(why)) ? '~' : ' ',
				high_ns(c, k) / 1e3, speedup_of(c, k));
		else if (cases_run_in(cs, c->kind, k))
			cli_show(b->c, "  %18s", "failed");
	cli_show(b->c, "\n");
}

static void show_table(struct cases *cs, enum case_kind kind, const char *key)
{
	struct bench *b = cs->b;

	json_begin_array(b->j, key);
	cli_show(b->c, "low  high %s ideal", kind == CASE_DELAYED ? "delay" : "");
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		if (cases_run_in(cs, kind, k))
			cli_show(b->c, "  %18s", cs->spec[k].name);
	cli_show(b->c, "\n");
	for (unsigned i = 0; i < cs->n; i++)
		if (cs->at[i].kind == kind) {
			json_pair(cs, &cs->at[i]);
			text_pair(cs, &cs->at[i]);
		}
	json_end(b->j, ']');
}

/* ---- figure 8 ---- */

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

/* Prints the averages of an arrangement over all pairs that ran: mean and best speedup, mean ANTT
 * and mean STP. */
static void sum_up(struct cases *cs, enum arrangement k, double ideal)
{
	double sum = 0, best = 0, worst = INFINITY, antt = 0, stp = 0, makespan = 0;
	unsigned m = 0, preemptions = 0, noisy = 0;
	struct bench *b = cs->b;
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
	json_begin_object(b->j, NULL);
	json_str(b->j, "name", cs->spec[k].name);
	json_uint(b->j, "pairs", m);
	json_num(b->j, "speedup_mean", sum / m);
	json_num(b->j, "speedup_best", best);
	json_num(b->j, "speedup_worst", worst);
	json_num(b->j, "ideal_mean", ideal);
	json_num(b->j, "antt_mean", antt / m);
	json_num(b->j, "stp_mean", stp / m);
	json_num(b->j, "stp_makespan_mean", makespan / m);
	json_uint(b->j, "preemptions", preemptions);
	json_uint(b->j, "noisy", noisy);
	json_end(b->j, '}');
	cli_show(b->c,
		"%-10s  %sspeedup %5.1f mean, %5.1f best, %5.1f worst; ANTT %.2f, STP %.2f "
		"(makespan %.2f); %s; %s",
		cs->spec[k].name, noisy ? "noise: " : "", sum / m, best, worst, antt / m, stp / m,
		makespan / m, COUNTED(preemptions, "preemption"), COUNTED(m, "pair"));
	cli_show(b->c, noisy ? ", %u of them noise\n" : "\n", noisy);
}

void cases_show_pairs(struct cases *cs)
{
	struct bench *b = cs->b;
	double mean = ideal_mean(cs, CASE_PAIR, 0);

	cli_show(b->c, "turnaround of the high-priority program, us (speedup over the first "
		       "arrangement; ~ noise: it cannot be, or rounds differ by more than 10 "
		       "%%)\n");
	show_table(cs, CASE_PAIR, "pairs");
	json_begin_array(b->j, "summary");
	cli_show(b->c, "\nideal speedup in the mean: %.1f\n", mean);
	for (enum arrangement k = ALONE; k < ARRANGEMENTS; k++)
		sum_up(cs, k, mean);
	json_end(b->j, ']');
}

/* ---- figure 9 ---- */

static void sum_up_delay(struct cases *cs, double delay)
{
	struct bench *b = cs->b;
	double mean = ideal_mean(cs, CASE_DELAYED, delay);

	json_begin_object(b->j, NULL);
	json_num(b->j, "delay", delay);
	json_num(b->j, "ideal_mean", mean);
	json_begin_array(b->j, "arrangements");
	cli_show(b->c, "%5.1f  ideal %5.1f", delay, mean);
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
		if (!n)
			continue;
		json_begin_object(b->j, NULL);
		json_str(b->j, "name", cs->spec[k].name);
		json_num(b->j, "speedup_mean", sum / n);
		json_uint(b->j, "pairs", n);
		json_end(b->j, '}');
		cli_show(b->c, "  %s %5.1f", cs->spec[k].name, sum / n);
	}
	json_end(b->j, ']');
	json_end(b->j, '}');
	cli_show(b->c, "\n");
}

/* Each delay once: those of the first pair. */
static void sum_up_delays(struct cases *cs)
{
	const struct bench_case *first = NULL;

	for (unsigned i = 0; i < cs->n; i++) {
		const struct bench_case *c = &cs->at[i];

		if (c->kind != CASE_DELAYED)
			continue;
		first = first ? first : c;
		if (c->program[0] == first->program[0] && c->program[1] == first->program[1])
			sum_up_delay(cs, c->delay);
	}
}

void cases_show_delays(struct cases *cs)
{
	struct bench *b = cs->b;

	cli_show(b->c,
		"\nthe same, launched so long behind the low one's start (of its time alone), "
		"us\n");
	show_table(cs, CASE_DELAYED, "delay");
	json_begin_array(b->j, "delay_summary");
	cli_show(b->c, "\nspeedup in the mean, by delay:\n");
	sum_up_delays(cs);
	json_end(b->j, ']');
}
