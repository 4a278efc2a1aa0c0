/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernel specifications carried out on one device, one way or another (KernelMerge, section
 * 2): load, fill, run, time, compare with the plain kernels, write back. */
#ifndef HEDDLE_CORUN_H
#define HEDDLE_CORUN_H

#include "cli/job_kernel.h"

#define CORUN_MAX 8

enum corun_how {
	CORUN_SEQUENTIAL, /* back to back in one stream */
	CORUN_STREAMS,    /* each in a stream of its own */
};

struct corun_options {
	enum dev_kind device;
	enum corun_how how;
	unsigned repeat; /* runs, each on freshly filled buffers; at least 1 */
	bool check; /* each kernel runs alone and plainly first; memory is compared after each run
		     */
};

/* How long kernel and whole took, by the device's events. */
struct corun_times {
	double ms; /* of all together */
	struct {
		double began_ms; /* after the whole began */
		double ms;       /* from there to its end */
	} of[CORUN_MAX];
};

/* One buffer that is not what the plain kernel leaves. */
struct corun_difference {
	unsigned kernel, arg; /* from 0 */
	uint64_t elements;    /* so many are others */
	uint64_t first;       /* the first of them */
};

struct corun_result {
	char device_name[128];
	uint32_t n_sms;
	struct corun_times times; /* of the run with the median time */
	uint32_t fit[CORUN_MAX];  /* blocks of the plain kernel that fit one SM at once */
	struct corun_difference
		*differences; /* of the first run that has any; in the arena given */
	unsigned n_differences;
};

/* Runs specs[0, n) and writes the buffers that ask for it. Errors are said through c; differences
 * are none. CLI_OK or CLI_FAILED. */
int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	const struct corun_options *o, struct corun_result *ret);

#endif
