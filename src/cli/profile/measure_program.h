/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle profile -- PROG ARG... measures a program's kernels with every possible number of blocks
 * on an SM (Adaptive simultaneous multi-tenancy, section 3.5). */
#ifndef HEDDLE_CLI_MEASURE_PROGRAM_H
#define HEDDLE_CLI_MEASURE_PROGRAM_H

#include "cli/profile/measured.h"
#include "front/cli.h"

/* A kernel that already has a profile in the store, but from another device. device, driver and
 * n_sms describe that device. */
struct profile_elsewhere {
	uint64_t code;
	char device[64], driver[32];
	uint32_t n_sms;
};

struct program_profile {
	struct measured measured;
	const char *program;
	char device[128]; /* the name that the driver reports */
	char store[4096];
	unsigned runs, rounds;
	bool out_of_time;    /* the time of --budget-s is over */
	unsigned unmeasured; /* number of counts without any launch */
	/* number of launches still needed so that each count has `rounds` launches */
	uint64_t missing;
	VEC(struct profile_elsewhere) elsewhere;
};

/* Runs the program named by the operands as often as necessary, and stores the curves. Returns the
 * exit status. */
int profile_program(struct cli *c);
/* Prints the profile as text or JSON. The call sorts the durations. */
void profile_program_show(struct cli *c, struct program_profile *p);

#endif
