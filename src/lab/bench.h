/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Data and functions that the parts with example programs share: the parts of heddle bench preempt,
 * and heddle bench share. Each part measures rows (samples.h), and then writes its tables (sheet.h)
 * into the JSON object that is open. */
#ifndef HEDDLE_BENCH_H
#define HEDDLE_BENCH_H

#include "lab/samples.h"
#include "lab/sheet.h"
#include "stage/stage.h"

#define PROGRAMS 8
extern const char *const bench_programs[PROGRAMS]; /* the programs of FLEP's table 1 */

struct bench {
	struct cli *c;
	struct arena arena;
	enum dev_kind device;
	char device_name[128];
	bool quick, runtime;
	unsigned sms, rounds, failures;
	struct samples samples;
	char options[64];   /* text of the options on which samples depend (samples.h) */
	struct json *j;     /* the open JSON object; discarded without --json */
	char reference[64]; /* folder with the host's results; "": none */
};

/* A stage that opens when the first row needs it. If all rows were measured by an earlier call, no
 * daemon starts. Initialize all fields but spec with zeros. */
struct bench_stage {
	struct stage_spec spec;
	struct stage stage;
	bool open;
};

/* Opens the stage if it is not open. Returns CLI_OK, or CLI_FAILED after it reports the error. */
int bench_stage_need(struct bench *b, struct bench_stage *s);
void bench_stage_close(struct bench_stage *s);

/* Returns a run of two programs: low with its large input, and high with its small input. Either
 * name may be NULL, and then that program does not run. */
struct stage_run bench_run(const struct bench *b, const char *low, const char *high);
/* Finds the row `key` among the kept rows. If it is not there, runs a pair of programs in the stage
 * and adds the row. Returns CLI_OK, or CLI_FAILED if a signal interrupted the benchmark or the
 * stage did not open. ret->rounds is 0 if there is no result, because no time is left or because
 * the pair failed; a failure is reported and counted. */
int bench_pair(struct bench *b, struct bench_stage *s, const struct stage_run *run, const char *key,
	struct stage_result *ret);

/* Returns whether a part shows its tables after its measurement returned r. It also shows them
 * after a signal, so that the rows measured so far are not lost. */
bool bench_shows(int r);

/* ---- bench_corun.c ---- */
enum { BENCH_PAIRS = 1, BENCH_DELAY = 2, BENCH_EQUAL = 4, BENCH_TRIPLETS = 8 };
/* Returns the number of runs to measure, for the progress line. */
unsigned bench_corun_steps(const struct bench *b, unsigned parts);
int bench_corun(struct bench *b, unsigned parts);

/* ---- for each other part: its number of rows, and its main function ---- */
unsigned bench_overhead_steps(const struct bench *b);
int bench_overhead(struct bench *b);
unsigned bench_spatial_steps(const struct bench *b);
int bench_spatial(struct bench *b);
unsigned bench_extra_steps(const struct bench *b);
int bench_extra(struct bench *b);
unsigned bench_shares_steps(const struct bench *b);
int bench_shares(struct bench *b);
unsigned bench_slicing_steps(const struct bench *b);
int bench_slicing(struct bench *b);
unsigned bench_orders_steps(const struct bench *b);
int bench_orders(struct bench *b);
unsigned bench_predict_steps(const struct bench *b);
int bench_predict(struct bench *b);

#endif
