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
	unsigned weight[CROWD_MAX]; /* the programs' weights in heddle */
	unsigned n;                 /* number of programs */
	/* rounds that each program finishes before the time window begins; at least 1 */
	unsigned warm_rounds;
	uint64_t window_ns; /* length of the time window in which rounds count */
};

struct crowd_times {
	/* end of each round, in order (CLOCK_MONOTONIC); in the caller's arena */
	uint64_t *done_ns;
	unsigned n;
};

struct crowd_result {
	struct crowd_times of[CROWD_MAX];
	/* share of GPU time in percent, as heddled reports it; NAN: unknown */
	double share_had[CROWD_MAX];
	uint64_t from_ns; /* start of the time window */
	unsigned checked, wrong;
};

/* Runs the programs for the time window. Each program finishes one more round after the window
 * ends, beside the others, so that the window's last round runs under the same load. Returns
 * CLI_OK, or CLI_FAILED after it reports that a program failed, gave a wrong result or made no
 * progress within the timeout. No program is left running. */
int crowd_run(
	struct stage *s, struct arena *a, const struct crowd_run *run, struct crowd_result *ret);

#endif
