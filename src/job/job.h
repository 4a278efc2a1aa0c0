/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs one kernel specification on a device: load, fill, launch, time, write back. */
#ifndef HEDDLE_JOB_H
#define HEDDLE_JOB_H

#include "dev/dev.h"
#include "front/cli.h"
#include "host/managed.h"
#include "job/spec.h"

struct job_options {
	enum dev_kind device;
	bool preempt; /* run the kernel in its preemptible form */
	/* preemptible form: the order in which workers claim blocks */
	enum pass_order order;
	/* preemptible form: number of workers, blocks for each claim, and more */
	struct host_steering steering;
	bool check;      /* compare with the recorded launch's result (spec is a recording) */
	unsigned repeat; /* number of runs, each with freshly filled buffers; at least 1 */
};

struct job_result {
	char device_name[128];
	enum pass_tier tier;   /* preemptible form: the tier of the launch */
	const char *reason;    /* why the launch was not managed; NULL: it was */
	enum pass_order order; /* preemptible form: the order in which blocks were claimed */
	/* with check: the memory equals the recorded result; differences are reported */
	bool same;
	/* median device time of the kernel over the repeats; negative: not measured */
	double ms;
	struct host_managed_stats stats;
};

/* Runs the kernel and writes the requested buffers to files. Returns CLI_OK, or CLI_FAILED after it
 * reports an error through c. */
int job_run(struct cli *c, const struct spec *spec, const struct job_options *o,
	struct job_result *ret);

#endif
