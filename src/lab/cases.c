/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures the cases (sets of programs that run together) in one arrangement after another. On a
 * GPU, all programs of an arrangement start when the arrangement does; on the virtual GPU, each
 * program starts when its first case runs. Each process then keeps running for all cases of the
 * arrangement. */
#include "lab/cases.h"

#include <stdio.h>
#include <string.h>

#include "front/progress.h"
#include "lab/resume.h"

/* ---- which cases run in which arrangement ---- */

bool cases_run_in(const struct cases *cs, enum case_kind kind, unsigned k)
{
	return cs->spec[k].name && (cs->table->runs_in[kind] >> k & 1);
}

int cases_begin(struct bench *b, const struct cases_table *table, unsigned max, struct cases *ret)
{
	*ret = (struct cases){.b = b,
		.table = table,
		.at = ARENA_ARRAY(&b->arena, struct bench_case, max),
		.max = max};
	for (unsigned k = 0; k < table->arrangements; k++) {
		ret->spec[k] = table->spec[k];
		ret->spec[k].device = b->device;
	}
	return ret->at ? CLI_OK : cli_error(b->c, NULL, "out of memory");
}

struct bench_case *cases_add(struct cases *cs, enum case_kind kind, unsigned n)
{
	struct bench_case *c = &cs->at[cs->n++];

	*c = (struct bench_case){.kind = kind, .n = n};
	return c;
}

unsigned cases_steps(const struct cases *cs)
{
	unsigned n = 0;

	for (unsigned i = 0; i < cs->n; i++)
		for (unsigned k = 0; k < CASES_ARRANGEMENTS; k++)
			n += cases_run_in(cs, cs->at[i].kind, k);
	return n;
}

static double alone_ns(const struct cases *cs, unsigned program, bool large)
{
	for (unsigned i = 0; i < cs->n; i++) {
		const struct bench_case *c = &cs->at[i];

		if (c->kind == CASE_ALONE && c->program[0] == program && c->large[0] == large)
			return c->by[0].n ? c->by[0].of[0].median_ns : 0;
	}
	return 0;
}

double cases_alone_of(const struct cases *cs, const struct bench_case *c, unsigned i)
{
	return alone_ns(cs, c->program[i], c->large[i]);
}

double cases_spread(const struct crew_result *res, unsigned i)
{
	const double *ns = res->of[i].turnaround_ns;
	double least = ns[0], most = ns[0];

	for (unsigned k = 1; k < res->rounds; k++) {
		least = MIN(least, ns[k]);
		most = MAX(most, ns[k]);
	}
	return res->rounds > 1 ? (most - least) / res->of[i].median_ns : -1;
}

struct figures cases_figures(const struct cases *cs, const struct bench_case *c, unsigned k)
{
	const struct crew_result *res = &c->by[k];
	struct figures f = {0};
	double sum = 0;

	for (unsigned i = 0; i < c->n; i++) {
		double alone = cases_alone_of(cs, c, i), ns = res->of[i].median_ns;

		f.antt += ns / alone / c->n;
		f.stp += alone / ns;
		sum += alone;
	}
	f.stp_makespan = sum / res->makespan_ns;
	return f;
}

/* ---- measuring the cases ---- */

static struct crew_member *enlist_program(
	struct cases *cs, struct crew *crew, const struct bench_case *c, unsigned i)
{
	const struct stage_spec *spec = &crew->s->spec;
	bool by_priority = c->kind == CASE_PAIR || c->kind == CASE_DELAYED;
	const char *priority = "normal";

	/* Priorities are set only in arrangements that use them. In the others, one process serves
	 * all cases. */
	if (spec->ranked)
		priority = c->program[i] == c->lead ? "high" : "normal";
	else if (spec->mps_priorities || (spec->managed && by_priority))
		priority = i ? "high" : "low";
	return crew_enlist(crew, cs->table->programs[c->program[i]],
		c->large[i] ? "large" : "small",
		cs->table->scale ? cs->table->scale[c->program[i]] : 0, priority);
}

/* Returns the delay of launch i after the start of the first kernel, in us. In cases without a
 * delay, launch 1 follows at once and each later launch comes apart_us after the previous one. */
static double delay_us(const struct cases *cs, const struct bench_case *c, unsigned i)
{
	double apart_us = cs->b->device == DEV_CPU ? 5000 : 50;

	if (c->kind == CASE_DELAYED || c->kind == CASE_ARRIVING)
		return i * c->delay * cases_alone_of(cs, c, 0) / 1e3;
	return i > 1 ? (i - 1) * apart_us : 0;
}

static const char *case_names(
	const struct cases *cs, const struct bench_case *c, char *buf, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; i < c->n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? " + " : "",
			cs->table->programs[c->program[i]]);
	return buf;
}

/* Returns whether the third program launches before the second, because it is shorter. */
static bool is_swapped(const struct cases *cs, const struct bench_case *c)
{
	return c->kind == CASE_REORDERED && cases_alone_of(cs, c, 2) < cases_alone_of(cs, c, 1);
}

/* Measures a case. A failure is counted, and the other cases continue. */
static int run_case(struct cases *cs, struct crew *crew, unsigned k, struct bench_case *c)
{
	bool swap = is_swapped(cs, c);
	struct bench *b = cs->b;
	struct crew_run run = {.n = c->n, .rounds = b->rounds, .at_once = c->kind == CASE_AT_ONCE};
	char names[48];

	b->samples.begun++;
	progress_step("%s: %s", cs->spec[k].name, case_names(cs, c, names, sizeof(names)));
	for (unsigned i = 0; i < c->n; i++) {
		run.of[i] = enlist_program(cs, crew, c, i);
		run.delay_us[i] = delay_us(cs, c, swap && i ? 3 - i : i);
		if (!run.of[i]) {
			b->failures++;
			return child_interrupted() ? CLI_FAILED : CLI_OK;
		}
	}
	if (crew_run(crew, &b->arena, &run, &c->by[k]) != CLI_OK)
		b->failures++;
	else
		resume_put(b, cs, c, k);
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}

static bool is_open(const struct cases *cs, const struct bench_case *c, unsigned k)
{
	return cases_run_in(cs, c->kind, k) && !c->by[k].n;
}

static unsigned count_open(const struct cases *cs, unsigned k)
{
	unsigned n = 0;

	for (unsigned i = 0; i < cs->n; i++)
		n += is_open(cs, &cs->at[i], k);
	return n;
}

/* Counts n cases as not measured because the time is up. */
static void count_left(struct cases *cs, unsigned n)
{
	cs->b->samples.left += n;
	progress_more(-(int)n);
}

static int measure_arrangement(struct cases *cs, unsigned k)
{
	struct bench *b = cs->b;
	struct stage_run how = bench_run(b, NULL, NULL);
	struct stage stage;
	struct crew crew;
	unsigned n = count_open(cs, k), begun = 0;
	int r = CLI_OK;

	if (!n)
		return CLI_OK;
	if (samples_is_late(&b->samples)) {
		count_left(cs, n);
		return CLI_OK;
	}
	if (stage_open(b->c, &cs->spec[k], &stage) != CLI_OK) {
		b->failures++;
		progress_more(-(int)n);
		return child_interrupted() ? CLI_FAILED : CLI_OK;
	}
	crew_open(&crew, &stage, &how);
	/* On a GPU, all programs start while the first one prepares its run. The virtual GPU needs
	 * the CPUs itself, so there each program starts only when its case runs. */
	for (unsigned i = 0; b->device != DEV_CPU && i < cs->n; i++)
		for (unsigned m = 0; is_open(cs, &cs->at[i], k) && m < cs->at[i].n; m++)
			enlist_program(cs, &crew, &cs->at[i], m);
	for (unsigned i = 0; r == CLI_OK && i < cs->n; i++)
		if (is_open(cs, &cs->at[i], k) && begun && samples_is_late(&b->samples))
			count_left(cs, 1);
		else if (is_open(cs, &cs->at[i], k) && ++begun)
			r = run_case(cs, &crew, k, &cs->at[i]);
	crew_close(&crew);
	stage_close(&stage);
	return r;
}

int cases_measure(struct cases *cs)
{
	unsigned all = cases_steps(cs), left = 0;
	int r = CLI_OK;

	resume_get(cs->b, cs);
	for (unsigned k = 0; k < CASES_ARRANGEMENTS; k++)
		left += count_open(cs, k);
	progress_more((int)left - (int)all);
	for (unsigned k = 0; r == CLI_OK && k < CASES_ARRANGEMENTS; k++)
		r = measure_arrangement(cs, k);
	return r;
}
