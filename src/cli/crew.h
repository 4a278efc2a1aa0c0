/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Example programs in a stage that stay up and run on command, so that the device is measured, and
 * not the programs' start. Each program is started once. In a managed stage it first launches until
 * the shim has found the best way to launch its kernel. */
#ifndef HEDDLE_CREW_H
#define HEDDLE_CREW_H

#include "cli/stage.h"

#define CREW_MAX  32 /* programs */
#define CREW_RUNS 3  /* of them at a time */

/* The resources of an SM that a program's kernel takes; 0: unknown. */
struct crew_kernel {
	unsigned threads, registers, shared_bytes; /* of a block, of a thread, of a block */
	unsigned blocks_per_sm;                    /* that fit at most */
};

struct crew_member {
	struct stage_program program;
	const char *priority; /* of heddle run, where the stage is managed */
	struct child child;
	size_t read; /* of its output */
	bool up;     /* it runs, as far as is known */
	bool ready, warm;
	struct crew_kernel kernel; /* once ready */
};

struct crew {
	struct stage *s;
	const struct stage_run *how; /* API, check, reference, timeout */
	struct crew_member at[CREW_MAX];
	unsigned n, n_runs;
};

/* One run: the first program launches. The others launch when its kernel has started and their
 * delay has passed, or together with it. */
struct crew_run {
	unsigned n, rounds;
	struct crew_member *of[CREW_RUNS];
	double delay_us[CREW_RUNS]; /* the first has none */
	bool at_once;               /* all launch at the same time, without delays */
};

struct crew_times {
	double *turnaround_ns, *kernel_ns; /* by round; in the arena given */
	struct stage_round *at;            /* this one's times are those of `low` */
	double median_ns, kernel_median_ns;
	struct crew_kernel kernel;
};

struct crew_result {
	unsigned n, rounds; /* n 0: it failed, or was not run */
	struct crew_times of[CREW_RUNS];
	double makespan_ns; /* median: from the first launch until all are done */
	unsigned preemptions, shrinks, checked, wrong;
};

/* s and how stay the caller's, and must outlive it. */
void crew_open(struct crew *crew, struct stage *s, const struct stage_run *how);
/* Ends all; what a program says at its end is not asked. */
void crew_close(struct crew *crew);
/* The program with this name, size, scale of it (0: 1) and priority, started if necessary. It gets
 * ready in the background, so enlist all first. NULL: it failed, and the reason was reported. */
struct crew_member *crew_enlist(
	struct crew *crew, const char *name, const char *size, double scale, const char *priority);
/* Runs once all enlisted programs are ready. CLI_OK; CLI_FAILED after it reported that a program
 * failed, gave a wrong result or did not end in time. Then the programs of the run are ended, and
 * start again when they are next enlisted. */
int crew_run(
	struct crew *crew, struct arena *a, const struct crew_run *run, struct crew_result *ret);
/* The time from the first launch of a round until all programs are done, in ns. */
double crew_makespan_ns(const struct crew_result *res, unsigned round);
/* Computes turnarounds, medians and the makespan from each round's times. False: out of memory. */
bool crew_sum_up(struct arena *a, struct crew_result *res);

#endif
