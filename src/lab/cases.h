/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Cases of heddle bench preempt and heddle bench share. A case is a set of programs, each of which
 * launches one kernel at a fixed delay. The case runs for several rounds in each arrangement (way
 * to share the device). One set of processes serves all cases of an arrangement (crew.h). */
#ifndef HEDDLE_BENCH_CASES_H
#define HEDDLE_BENCH_CASES_H

#include "lab/bench.h"
#include "stage/crew.h"
#include "stage/figures.h"

enum case_kind {
	CASE_ALONE,
	CASE_PAIR,      /* a large input at low priority, then at once a small one at high */
	CASE_DELAYED,   /* the same, with a delay */
	CASE_EQUAL,     /* the same at equal priorities */
	CASE_TRIPLET,   /* a large input, then two small ones, all at equal priority */
	CASE_REORDERED, /* the same, with the shorter of the small ones first */
	CASE_ARRIVING,  /* two of equal priority: the second launches after a delay */
	CASE_AT_ONCE,   /* two of one priority that launch at the same time */
	CASE_KINDS
};

#define CASES_ARRANGEMENTS 12

/* The arrangements of heddle bench preempt. */
enum arrangement { ALONE, MPS, MPS_PRIO, SLICED, HEDDLE, HEDDLE_MPS, ARRANGEMENTS };
_Static_assert(ARRANGEMENTS <= CASES_ARRANGEMENTS, "a case has room for the results of each");

/* The programs and arrangements of a verb. Arrangement 0 measures each program alone. */
struct cases_table {
	const char *const *programs; /* names; a case has indices */
	const struct stage_spec *spec;
	unsigned arrangements;   /* in spec; name NULL: not on this device */
	const unsigned *runs_in; /* by case_kind: bits of arrangements */
	const double *scale;     /* of the inputs, by program; NULL or 0: 1 */
};

struct bench_case {
	enum case_kind kind;
	unsigned n, program[CREW_RUNS]; /* indices in cases.table.programs */
	bool large[CREW_RUNS];
	double delay;  /* DELAYED, ARRIVING: of the first one's time alone */
	unsigned lead; /* program with priority high where an arrangement is ranked */
	struct crew_result by[CASES_ARRANGEMENTS];
};

struct cases {
	struct bench *b;
	const struct cases_table *table;
	struct bench_case *at;
	unsigned n, max;
	struct stage_spec spec[CASES_ARRANGEMENTS]; /* name NULL: not on this device */
};

/* Returns true if cases of this kind run in arrangement k, and this device supports the
 * arrangement. */
bool cases_run_in(const struct cases *cs, enum case_kind kind, unsigned k);
/* Lists nothing yet. CLI_OK or CLI_FAILED. */
/* table stays the caller's. */
int cases_begin(struct bench *b, const struct cases_table *table, unsigned max, struct cases *ret);
/* n: as many as were begun with at most. */
struct bench_case *cases_add(struct cases *cs, enum case_kind kind, unsigned n);
/* Runs of programs to come. */
unsigned cases_steps(const struct cases *cs);
/* Measures all cases, one arrangement after another, beginning with the programs alone. Returns
 * CLI_FAILED if the whole benchmark must stop.
 * - A case that fails is reported and counted, and its crew_result has n = 0.
 * - A case whose result is kept (b->samples) is not measured again.
 * - After the time of --budget-s no case begins, except the first case of an arrangement that has
 *   started, so that each call makes progress. b->samples.left counts the results that are missing. */
int cases_measure(struct cases *cs);
/* Returns the turnaround of the case's program i alone, in ns; 0 if unknown. */
double cases_alone_of(const struct cases *cs, const struct bench_case *c, unsigned i);
/* Returns the spread of a program's turnarounds over the rounds, relative to their median, or -1 if
 * there is only one round. */
double cases_spread(const struct crew_result *res, unsigned i);
/* Computes the figures of a case that ran and whose programs were measured alone. */
struct figures cases_figures(const struct cases *cs, const struct bench_case *c, unsigned k);

/* ---- tables: each function writes its keys into the open JSON object and prints its text ---- */
void cases_show_pairs(struct cases *cs);  /* bench_pairs.c */
void cases_show_delays(struct cases *cs); /* bench_pairs.c */
/* bench_equal.c; kind: EQUAL or TRIPLET. */
void cases_show_equals(struct cases *cs, enum case_kind kind);

#endif
