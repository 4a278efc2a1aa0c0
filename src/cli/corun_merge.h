/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The merged or fused form of several kernel specifications on a device: made, loaded, planned,
 * run. */
#ifndef HEDDLE_CORUN_MERGE_H
#define HEDDLE_CORUN_MERGE_H

#include "cli/corun.h"

struct corun_merge {
	struct cli *c;
	struct arena *arena;
	const struct cu_api *cu;
	struct job_kernel *of; /* read; filled anew before each run */
	unsigned n;
	enum corun_how way; /* CORUN_MERGE or a way of fusing */
	const struct dev_merging *how;
	/* made by prepare */
	struct pass_merged form;
	struct dev_merge_shape shapes[CORUN_MAX];
	struct dev_merge_plan plan;
	struct dev_merged device;
	CUfunction fn;
	uint8_t *params;
};

/* fit: blocks of each kernel that fit one SM, alone. What was given (above `made by`) is borrowed.
 * CLI_OK or CLI_FAILED, said. */
int corun_merge_prepare(struct corun_merge *m, const uint32_t fit[], uint32_t n_sms);
int corun_merge_run(struct corun_merge *m, struct corun_times *ret);

#endif
