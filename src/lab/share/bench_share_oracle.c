/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share --oracle finds the best fixed division of an SM between two programs, and
 * prints which part of its gain policy greedy reaches. Each pair runs with a few combinations of
 * block counts that fill an SM. These measurements use heddled with policy fixed. The launch orders
 * are the same three as in all other arrangements, and results are checked.
 *
 * The best division is the one with the best geometric mean over the launch orders. If no division
 * is better than running the programs one after the other, that is the pair's best way, with a
 * gain of 0. */
#include "front/progress.h"
#include "lab/share/bench_share.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WARP 32u
/* maximum number of divisions; arrangement 0 is the programs alone */
#define SPLITS (CASES_ARRANGEMENTS - 1)
/* gains of throughput up to this fraction do not count */
#define LEAST 0.005
/* bytes for a weight as text; a name has three times as many */
#define SPLIT_MAX 16

struct split {
	unsigned blocks[2];
	double stp; /* 0: not measured */
	char weight[2][SPLIT_MAX], name[3 * SPLIT_MAX];
};

struct oracle {
	const struct share_pair *pair;
	struct split at[SPLITS];
	unsigned n;
	double best, greedy; /* STP; greedy is 0 if it was not measured */
	const char *name;    /* name of the best division */
};

/* ---- listing the divisions of an SM ---- */

/* Returns how many blocks of the second kernel fit on an SM beside n blocks of the first. Register
 * counts are those of the workers' forms. */
static unsigned blocks_beside(
	const struct share_limits *l, const struct crew_kernel k[2], unsigned n)
{
	const struct {
		uint64_t limit, each[2];
	} parts[] = {
		{(uint64_t)l->threads, {(k[0].threads + WARP - 1) / WARP * WARP,
					       (k[1].threads + WARP - 1) / WARP * WARP}},
		{(uint64_t)l->registers,
			{(k[0].threads + WARP - 1) / WARP * WARP * k[0].registers,
				(k[1].threads + WARP - 1) / WARP * WARP * k[1].registers}},
		{(uint64_t)l->shared_bytes, {k[0].shared_bytes, k[1].shared_bytes}},
		{(uint64_t)l->blocks, {1, 1}},
	};
	uint64_t fit = k[1].blocks_per_sm;

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++) {
		uint64_t taken = n * parts[i].each[0];

		if (taken > parts[i].limit)
			return 0;
		if (parts[i].each[1])
			fit = MIN(fit, (parts[i].limit - taken) / parts[i].each[1]);
	}
	return (unsigned)fit;
}

static void add_split(struct oracle *o, unsigned first, unsigned second)
{
	struct split *p = &o->at[o->n++];

	p->blocks[0] = first;
	p->blocks[1] = second;
	for (unsigned i = 0; i < 2; i++)
		snprintf(p->weight[i], sizeof(p->weight[i]), "%u", p->blocks[i]);
	snprintf(p->name, sizeof(p->name), "fixed %u:%u", first, second);
}

/* Finds up to SPLITS evenly spaced divisions of an SM that leave no space for another block of
 * either kernel. */
static void find_splits(const struct share *s, const struct share_limits *l, struct oracle *o)
{
	unsigned counts[2][64], n = 0, most;
	struct crew_kernel k[2];

	for (unsigned i = 0; i < 2; i++) {
		unsigned p = o->pair->program[i];

		k[i] = s->alone[p]->by[SHARE_SEQUENTIAL].of[0].kernel;
		k[i].registers = MAX(k[i].registers, s->registers[p].workers);
	}
	most = MIN(k[0].blocks_per_sm, (unsigned)ARRAY_LEN(counts[0]));
	for (unsigned a = 1; a <= most; a++) {
		unsigned b = blocks_beside(l, k, a);

		/* The division added last has fewer blocks of the first kernel and equally many of
		 * the second. So the new division is better, and replaces it. */
		if (n && counts[1][n - 1] == b)
			n--;
		if (!b)
			break;
		counts[0][n] = a;
		counts[1][n++] = b;
	}
	for (unsigned i = 0, taken = MIN(n, (unsigned)SPLITS); i < taken; i++) {
		unsigned at = taken > 1 ? i * (n - 1) / (taken - 1) : 0;

		add_split(o, counts[0][at], counts[1][at]);
	}
}

/* ---- measuring the divisions ---- */

static int list_cases(struct share *s, struct oracle *o, struct cases_table *table,
	struct stage_spec spec[CASES_ARRANGEMENTS], struct cases *ret)
{
	int r;

	spec[0] = (struct stage_spec){.name = "sequential"};
	for (unsigned i = 0; i < o->n; i++) {
		spec[i + 1] = (struct stage_spec){.name = o->at[i].name,
			.managed = true,
			.mps = s->b.device != DEV_CPU,
			.policy = "fixed"};
		for (unsigned p = 0; p < 2; p++) {
			spec[i + 1].weights[p].program = s->programs[o->pair->program[p]];
			spec[i + 1].weights[p].weight = o->at[i].weight[p];
		}
	}
	table->spec = spec;
	table->arrangements = o->n + 1;
	r = cases_begin(&s->b, table, 2 + SHARE_ORDERS, ret);
	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; i < 2; i++)
		*cases_add(ret, CASE_ALONE, 1) = *s->alone[o->pair->program[i]];
	for (unsigned i = 0; i < SHARE_ORDERS; i++) {
		struct bench_case *c = cases_add(ret, o->pair->by[i]->kind, 2);

		memcpy(c->program, o->pair->by[i]->program, sizeof(c->program));
		memcpy(c->large, o->pair->by[i]->large, sizeof(c->large));
		c->delay = o->pair->by[i]->delay;
	}
	return CLI_OK;
}

/* Returns the geometric mean of the STP over the launch orders, or 0 if an order was not
 * measured. */
static double stp_of(const struct cases *cs, unsigned k)
{
	double sum = 0;

	for (unsigned i = 2; i < cs->n; i++) {
		if (!cs->at[i].by[k].n)
			return 0;
		sum += log(cases_figures(cs, &cs->at[i], k).stp_makespan);
	}
	return exp(sum / SHARE_ORDERS);
}

static int measure_pair(struct share *s, struct oracle *o)
{
	static const unsigned runs_in[CASE_KINDS] = {
		[CASE_ALONE] = 1, [CASE_ARRIVING] = ~1u, [CASE_AT_ONCE] = ~1u};
	struct cases_table table = {.programs = s->programs, .runs_in = runs_in, .scale = s->scale};
	struct stage_spec spec[CASES_ARRANGEMENTS] = {{0}};
	struct cases cs;
	int r = list_cases(s, o, &table, spec, &cs);

	if (r != CLI_OK)
		return r;
	progress_more((int)cases_steps(&cs));
	r = cases_measure(&cs);
	for (unsigned i = 0; r == CLI_OK && i < o->n; i++) {
		o->at[i].stp = stp_of(&cs, i + 1);
		if (o->at[i].stp > o->best) {
			o->best = o->at[i].stp;
			o->name = o->at[i].name;
		}
	}
	return r;
}

/* ---- showing the figures ---- */

/* Returns greedy's part of the best division's gain in percent, or NaN if the best division has no
 * gain. */
static double part_of_gain(double greedy, double best)
{
	return greedy > 0 && best - 1 >= LEAST ? 100 * (greedy - 1) / (best - 1) : NAN;
}

static void show_pair(struct share *s, struct sheet *sh, const struct oracle *o)
{
	const char *first = s->programs[o->pair->program[0]];
	const char *second = s->programs[o->pair->program[1]];
	struct json *j = sh->j;

	sheet_row(sh);
	sheet_str(sh, "first", first);
	sheet_str(sh, "second", second);
	json_begin_array(j, "splits");
	for (unsigned i = 0; i < o->n; i++) {
		json_begin_object(j, NULL);
		json_uint(j, "first_blocks", o->at[i].blocks[0]);
		json_uint(j, "second_blocks", o->at[i].blocks[1]);
		json_num(j, "stp_makespan", o->at[i].stp > 0 ? o->at[i].stp : NAN);
		json_end(j, '}');
	}
	json_end(j, ']');
	sheet_str(sh, "best", o->name);
	sheet_num(sh, "oracle_gain", o->best - 1, 100, 1, " %");
	sheet_num(sh, "greedy_gain", o->greedy > 0 ? o->greedy - 1 : NAN, 100, 1, " %");
	sheet_num(sh, "share_percent", part_of_gain(o->greedy, o->best), 1, 0, " %");
	table_note(&sh->t, o->n ? "" : "no block of both fits an SM");
	sheet_row_end(sh);
}

static void show_mean(struct share *s, double best, double greedy, unsigned n)
{
	struct json *j = s->b.j;
	double part;

	best = n ? exp(best / n) : NAN;
	greedy = n ? exp(greedy / n) : NAN;
	part = n ? part_of_gain(greedy, best) : NAN;
	json_num(j, "stp_makespan_geomean", best);
	json_num(j, "greedy_geomean", greedy);
	json_num(j, "share_percent", part);
	if (n)
		cli_show(s->b.c, "geometric mean: %.1f %%; greedy %.1f %%\n", 100 * (best - 1),
			100 * (greedy - 1));
	if (isfinite(part))
		cli_show(s->b.c, "greedy has %.0f %% of the gain\n", part);
}

int share_oracle(struct share *s)
{
	double best = 0, greedy = 0;
	struct share_limits limits;
	unsigned n = 0;
	struct sheet sh;
	int r = share_read_limits(s, &limits);

	if (r != CLI_OK)
		return r;
	json_begin_object(s->b.j, "oracle");
	sheet_begin(&sh, s->b.c, s->b.j, "pairs", "<first|<second|<best|oracle|greedy|share",
		"the best of fixed numbers of blocks on each SM (first:second), and greedy: gain "
		"over one after the other");
	for (unsigned i = 0; r == CLI_OK && i < s->n_pairs; i++) {
		struct oracle o = {.pair = &s->pairs[i], .best = 1, .name = "sequential"};
		struct share_figures f;

		/* Without a program's time alone there is nothing to compare with. */
		if (!share_figures_of(s, o.pair, SHARE_SEQUENTIAL, &f))
			continue;
		if (share_figures_of(s, o.pair, SHARE_GREEDY, &f))
			o.greedy = f.f.stp_makespan;
		find_splits(s, &limits, &o);
		r = measure_pair(s, &o);
		progress_clear();
		if (r != CLI_OK)
			break;
		show_pair(s, &sh, &o);
		if (o.greedy > 0) {
			best += log(o.best);
			greedy += log(o.greedy);
			n++;
		}
	}
	sheet_end(&sh);
	show_mean(s, best, greedy, n);
	json_end(s->b.j, '}');
	return r;
}
