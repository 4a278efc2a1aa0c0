/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Data and functions that the parts of heddle bench preempt share. Each part measures, and then
 * prints its table as text and writes its keys into the JSON object that is open. */
#ifndef HEDDLE_BENCH_H
#define HEDDLE_BENCH_H

#include "base/json.h"
#include "stage/stage.h"

#define PROGRAMS 8
extern const char *const bench_programs[PROGRAMS]; /* of FLEP's table 1 */

struct bench {
	struct cli *c;
	struct arena arena;
	enum dev_kind device;
	char device_name[128];
	bool quick, runtime;
	unsigned sms, rounds, failures;
	uint64_t budget_s;  /* 0: as long as it takes */
	double until_ms;    /* no case begins after this time, by clock_ms; 0: no limit */
	struct json *j;     /* without --json, read by nobody */
	char reference[64]; /* folder; empty: none */
	const char *resume; /* file of results so far; NULL: none (resume.h) */
};

/* One line on a terminal. */
void bench_progress(const char *arrangement, const char *low, const char *high);
/* Returns a run of two programs: low with its large input, and high with its small input. Either
 * name may be NULL, and then that program does not run. */
struct stage_run bench_run(const struct bench *b, const char *low, const char *high);
/* Runs a pair of programs. If the pair fails, this function reports and counts the failure and
 * returns CLI_OK, so the caller continues with the next pair. Returns CLI_FAILED if a signal has
 * interrupted the benchmark. */
int bench_try(
	struct bench *b, struct stage *s, const struct stage_run *run, struct stage_result *ret);

/* ---- bench_corun.c ---- */
enum { BENCH_PAIRS = 1, BENCH_DELAY = 2, BENCH_EQUAL = 4, BENCH_TRIPLETS = 8 };
/* Runs of programs to come. */
unsigned bench_corun_steps(const struct bench *b, unsigned parts);
int bench_corun(struct bench *b, unsigned parts);

/* ---- bench_spatial.c ---- */
/* Returns the number of program runs that this part will make. With a time budget, that is the
 * maximum for the first pass. */
unsigned bench_spatial_steps(const struct bench *b);
unsigned bench_extra_steps(const struct bench *b);
int bench_spatial(struct bench *b);
int bench_extra(struct bench *b);

/* ---- bench_shares.c ---- */
/* Runs of programs to come, at most. */
unsigned bench_shares_steps(const struct bench *b);
int bench_shares(struct bench *b);

/* ---- bench_slicing.c ---- */
unsigned bench_slicing_steps(const struct bench *b);
int bench_slicing(struct bench *b);

/* ---- bench_orders.c ---- */
unsigned bench_orders_steps(const struct bench *b);
int bench_orders(struct bench *b);

/* ---- bench_predict.c ---- */
unsigned bench_predict_steps(const struct bench *b);
int bench_predict(struct bench *b);

#endif
