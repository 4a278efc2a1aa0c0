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
	bool preempt;                  /* the preemptible form */
	enum pass_order order;         /* of its blocks */
	struct host_steering steering; /* of it */
	bool check;      /* compare with the recorded launch's result (spec is a recording) */
	unsigned repeat; /* runs, each with freshly filled buffers; at least 1 */
};

struct job_result {
	char device_name[128];
	enum pass_tier tier;   /* preemptible form: how it was steered */
	const char *reason;    /* why not managed; NULL */
	enum pass_order order; /* preemptible form: of its blocks */
	bool same;             /* check: the memory is as recorded; differences are reported */
	double ms;             /* kernel's device time, the median of the repeats; < 0: none */
	struct host_managed_stats stats;
};

/* Runs the kernel and writes the requested buffers to files. Returns CLI_OK, or CLI_FAILED after it
 * reports an error through c. */
int job_run(struct cli *c, const struct spec *spec, const struct job_options *o,
	struct job_result *ret);

#endif
