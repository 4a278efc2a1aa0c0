/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several example programs that launch endlessly in a stage. All are started, each warms up, and
 * then their rounds are counted for a given time. */
#ifndef HEDDLE_CROWD_H
#define HEDDLE_CROWD_H

#include "stage/stage.h"

#define CROWD_MAX 3

struct crowd_run {
	const struct stage_run *run; /* API, check, reference and timeout */
	struct stage_program program[CROWD_MAX];
	unsigned weight[CROWD_MAX]; /* under heddle */
	unsigned n;                 /* programs */
	unsigned warm_rounds;       /* that each finishes before the time begins; 1 at least */
	uint64_t window_ns;         /* how long rounds count */
};

struct crowd_times {
	uint64_t *done_ns; /* end of every round, in order (CLOCK_MONOTONIC); in the given arena */
	unsigned n;
};

struct crowd_result {
	struct crowd_times of[CROWD_MAX];
	double share_had[CROWD_MAX]; /* heddled's, percent; NAN: not known */
	uint64_t from_ns;            /* when the time began */
	unsigned checked, wrong;
};

/* Runs the programs for the time window. Each program finishes one more round after the window
 * ends, beside the others, so that the window's last round runs under the same load. Returns
 * CLI_OK, or CLI_FAILED after it reports that a program failed, gave a wrong result or made no
 * progress within the timeout. No program is left running. */
int crowd_run(
	struct stage *s, struct arena *a, const struct crowd_run *run, struct crowd_result *ret);

#endif
