/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Example programs of a stage whose processes keep running and launch on command, so that only the
 * device is measured and not the programs' start. Each program is started once. In a managed stage
 * on a GPU it first launches until the shim has found the best form of its kernel. */
#ifndef HEDDLE_CREW_H
#define HEDDLE_CREW_H

#include "stage/stage.h"

#define CREW_MAX  32 /* programs of a crew */
#define CREW_RUNS 3  /* programs that one run launches together */

/* An SM's resources that a program's kernel uses; 0 if unknown. */
struct crew_kernel {
	unsigned threads, registers, shared_bytes; /* per block, per thread, per block */
	unsigned blocks_per_sm;                    /* number of blocks that fit on an SM */
};

struct crew_member {
	struct stage_program program;
	const char *priority; /* passed to heddle run in a managed stage */
	struct child child;
	size_t read; /* bytes of the child's output that were already parsed */
	bool up;     /* the process was started and has not ended, as far as is known */
	bool ready, warm;
	struct crew_kernel kernel; /* valid once ready is set */
};

struct crew {
	struct stage *s;
	const struct stage_run *how; /* API, check, reference and timeout of all programs */
	struct crew_member at[CREW_MAX];
	unsigned n, n_runs;
};

/* A run of several programs. The first program launches its kernel. Each of the others launches
 * when that kernel has started and the program's own delay has passed; if at_once is set, all
 * launch at the same time. */
struct crew_run {
	unsigned n, rounds;
	struct crew_member *of[CREW_RUNS];
	double delay_us[CREW_RUNS]; /* delay_us[0] is 0 */
	bool at_once;               /* all launch at the same time, without delays */
};

struct crew_times {
	double *turnaround_ns, *kernel_ns; /* for each round; allocated in the caller's arena */
	struct stage_round *at;            /* for each round; uses only the low_ fields */
	double median_ns, kernel_median_ns;
	struct crew_kernel kernel;
};

struct crew_result {
	unsigned n, rounds; /* n is 0 if the run failed or did not take place */
	struct crew_times of[CREW_RUNS];
	double makespan_ns; /* median time from the first launch until all programs are done */
	unsigned preemptions, shrinks, checked, wrong;
};

/* Opens a crew. s and how belong to the caller, and must outlive the crew. */
void crew_open(struct crew *crew, struct stage *s, const struct stage_run *how);
/* Ends all programs, and ignores what they print at their end. */
void crew_close(struct crew *crew);
/* Returns the member of the crew with this name, size, input scale (0: 1) and priority. Starts the
 * program if it does not run yet. The program prepares itself in the background, so enlist all
 * programs before the first run. Returns NULL after it reports why the program failed. */
struct crew_member *crew_enlist(
	struct crew *crew, const char *name, const char *size, double scale, const char *priority);
/* Waits until all enlisted programs are ready, and runs those of `run`. Returns CLI_OK, or
 * CLI_FAILED after it reports that a program failed, gave a wrong result or did not end in time.
 * After a failure the run's programs are ended; they start again when they are next enlisted. */
int crew_run(
	struct crew *crew, struct arena *a, const struct crew_run *run, struct crew_result *ret);
/* Returns the time from the first launch of a round until all programs are done, in ns. */
double crew_makespan_ns(const struct crew_result *res, unsigned round);
/* Computes turnarounds, medians and the makespan from the times of each round. Returns false if
 * memory runs out. */
bool crew_sum_up(struct arena *a, struct crew_result *res);

#endif
