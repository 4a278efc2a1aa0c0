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
	/* a program with large input and low priority; then at once a small one, high priority */
	CASE_PAIR,
	CASE_DELAYED, /* like CASE_PAIR, but the second program launches after a delay */
	CASE_EQUAL,   /* like CASE_PAIR, but both programs have the same priority */
	CASE_TRIPLET, /* a program with large input, then two small ones, all at equal priority */
	/* like CASE_TRIPLET, but the shorter one of the small programs launches first */
	CASE_REORDERED,
	CASE_ARRIVING, /* two programs of equal priority: the second launches after a delay */
	CASE_AT_ONCE,  /* two programs of equal priority that launch at the same time */
	CASE_KINDS
};

#define CASES_ARRANGEMENTS 12

/* The arrangements of heddle bench preempt. */
enum arrangement { ALONE, MPS, MPS_PRIO, SLICED, HEDDLE, HEDDLE_MPS, ARRANGEMENTS };
_Static_assert(ARRANGEMENTS <= CASES_ARRANGEMENTS, "a case has room for the results of each");

/* The programs and arrangements of a verb. Arrangement 0 measures each program alone. */
struct cases_table {
	const char *const *programs; /* names; a case refers to a program by its index here */
	const struct stage_spec *spec;
	unsigned arrangements; /* length of spec; NULL name in spec: not on this device */
	/* for each enum case_kind: a bit for each arrangement in which it runs */
	const unsigned *runs_in;
	const double *scale; /* scale of each program's input; 0 means 1; NULL: all 1 */
};

struct bench_case {
	enum case_kind kind;
	unsigned n, program[CREW_RUNS]; /* program: indices in cases.table.programs */
	bool large[CREW_RUNS];
	/* DELAYED, ARRIVING: the delay, as a fraction of the first program's time alone */
	double delay;
	unsigned lead; /* program with priority high where an arrangement is ranked */
	struct crew_result by[CASES_ARRANGEMENTS];
};

struct cases {
	struct bench *b;
	const struct cases_table *table;
	struct bench_case *at;
	unsigned n, max;
	/* name NULL: this device does not support the arrangement */
	struct stage_spec spec[CASES_ARRANGEMENTS];
};

/* Returns true if cases of this kind run in arrangement k, and this device supports the
 * arrangement. */
bool cases_run_in(const struct cases *cs, enum case_kind kind, unsigned k);
/* Begins with an empty list of cases; max is the maximum number of cases. The caller owns table,
 * which must outlive *ret. Returns CLI_OK or CLI_FAILED. */
int cases_begin(struct bench *b, const struct cases_table *table, unsigned max, struct cases *ret);
/* Adds a case of n programs, and returns it. The caller must not add more than max cases. */
struct bench_case *cases_add(struct cases *cs, enum case_kind kind, unsigned n);
/* Returns the number of runs to measure, for the progress line. */
unsigned cases_steps(const struct cases *cs);
/* Measures all cases, one arrangement after another, beginning with the programs alone. Returns
 * CLI_FAILED if the whole benchmark must stop.
 * - A case that fails is reported and counted, and its crew_result has n = 0.
 * - A case is not measured again if b->samples has its result.
 * - When the time of --budget-s is over, no case begins, except the first case of an arrangement
 *   that has started, so that each call makes progress. b->samples.left counts the missing
 *   results. */
int cases_measure(struct cases *cs);
/* Returns the turnaround of the case's program i alone, in ns; 0 if unknown. */
double cases_alone_of(const struct cases *cs, const struct bench_case *c, unsigned i);
/* Returns the spread of a program's turnarounds over the rounds, relative to their median, or -1 if
 * there is only one round. */
double cases_spread(const struct crew_result *res, unsigned i);
/* Computes the figures of a case that ran and whose programs were measured alone. */
struct figures cases_figures(const struct cases *cs, const struct bench_case *c, unsigned k);

/* ---- tables: each function writes its keys into the open JSON object and prints its text ---- */
void cases_show_pairs(struct cases *cs);  /* defined in bench_pairs.c */
void cases_show_delays(struct cases *cs); /* defined in bench_pairs.c */
/* Defined in bench_equal.c. kind is CASE_EQUAL or CASE_TRIPLET. */
void cases_show_equals(struct cases *cs, enum case_kind kind);

#endif
