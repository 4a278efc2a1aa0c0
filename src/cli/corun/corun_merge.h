/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The merged or fused form of several kernel specifications on a device: made, loaded, planned,
 * run. */
#ifndef HEDDLE_CORUN_MERGE_H
#define HEDDLE_CORUN_MERGE_H

#include "cli/corun/corun.h"

/* One launch of all of them, made once and run with any schedule. */
struct corun_merge {
	struct cli *c;
	struct arena *arena;
	const struct cu_api *cu;
	struct job_device *on;            /* whose functions those are */
	struct job_kernel *of[CORUN_MAX]; /* read; filled anew before each run */
	unsigned n;
	enum dev_how way;              /* DEV_MERGE or a way of fusing */
	const struct dev_merging *how; /* DEV_WEAVE: how it is made; NULL: as it comes */
	const uint32_t *fit;           /* blocks of each kernel that fit one SM, alone */
	int local_bytes;               /* of a thread; the most that one kernel has, alone */
	uint32_t n_sms;
	struct strbuf *why; /* NULL: errors are said; else the first goes here */
	unsigned number; /* of its only kernel among others, from 1, for reports; 0: as it stands */
	/* made by prepare */
	struct pass_merged form;
	struct dev_merge_shape shapes[CORUN_MAX];
	uint32_t per_sm, registers; /* workers that fit an SM; of a thread */
	uint8_t digest[32];         /* of its text */
	struct dev_merged device;
	CUlibrary library; /* of its code; NULL: module */
	CUmodule module;
	CUfunction fn;
	uint8_t *params;
	struct corun_merge *own[CORUN_MAX]; /* of one kernel each, for launches of their own; NULL:
					       not wanted yet */
	const char *never[CORUN_MAX];       /* why there is none of its own; NULL: not known */
	double make_ms, compile_ms;         /* the form; its code, by the driver */
};

/* What was given (above `made by`) is borrowed. CLI_OK or CLI_FAILED. */
int corun_merge_prepare(struct corun_merge *m);
/* Also what these kernels (bit k: kernel k) need for launches of their own. */
int corun_merge_prepare_own(struct corun_merge *m, uint32_t own);
void corun_merge_finish(struct corun_merge *m); /* also after a failure */
/* how: DEV_MERGE's. */
int corun_merge_plan(
	struct corun_merge *m, const struct dev_merging *how, struct dev_merge_plan *ret);
int corun_merge_run(struct corun_merge *m, const struct dev_merging *how,
	const struct dev_merge_plan *plan, struct corun_times *ret);

#endif
