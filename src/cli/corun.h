/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernel specifications carried out on one device, one way or another (KernelMerge, section
 * 2): load, fill, run, time, compare with the plain kernels, write back. */
#ifndef HEDDLE_CORUN_H
#define HEDDLE_CORUN_H

#include "cli/job_kernel.h"
#include "dev/merged.h"
#include "model/store.h"

#define CORUN_MAX CTL_MAX_MERGED

enum corun_how {
	CORUN_SEQUENTIAL, /* back to back in one stream */
	CORUN_STREAMS,    /* each in a stream of its own */
	CORUN_MERGE,      /* as one launch of workers */
	CORUN_VERTICAL,   /* fused: a block's threads run a block of one kernel after another's */
	CORUN_HORIZONTAL, /* fused: a block has warps for a block of each */
	CORUN_HOWS,
};

struct corun_options {
	enum dev_kind device;
	enum corun_how how;
	unsigned repeat;            /* runs, each on freshly filled buffers; at least 1 */
	struct dev_merging merging; /* CORUN_MERGE */
	bool tuned;                 /* how and merging are looked up, and set here */
	const char *store;          /* where; NULL: model_store_path */
	bool check; /* each kernel runs alone and plainly first; memory is compared after each run
		     */
};

/* How long kernels and whole took: by the device's events; of a merged launch, by its workers'
 * clocks, from when a kernel's first block was claimed until its last one had run. */
struct corun_times {
	double ms; /* of all together */
	struct {
		double began_ms; /* after the whole began; merged: after the first kernel began */
		double ms;       /* from there to its end */
		double busy_ms;  /* merged: of all workers together with this kernel */
	} of[CORUN_MAX];
	uint32_t launches; /* merged: 1 + times resumed */
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
	struct corun_times times;   /* of the run with the median time */
	uint32_t fit[CORUN_MAX];    /* blocks of the plain kernel that fit one SM at once */
	struct dev_merge_plan plan; /* CORUN_MERGE; of fused ones, per_sm and workers: the blocks */
	/* Of the first run that has any; in the arena given. */
	struct corun_difference *differences;
	unsigned n_differences;
};

/* Runs specs[0, n) and writes the buffers that ask for it. Errors are said through c; differences
 * are none. CLI_OK or CLI_FAILED. */
int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	struct corun_options *o, struct corun_result *ret);

/* ---- the same in steps: several ways on the same device, each from the same data ---- */
struct corun;
/* Parsed, loaded as they are; check: and each run alone, for comparing. To be closed also after a
 * failure. */
int corun_open(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	enum dev_kind device, bool check, struct corun **ret);
void corun_close(struct corun *x);
/* A way, once. why: NULL: errors are said; else why it cannot be is put there, if that is it. */
int corun_prepare(struct corun *x, enum corun_how how, struct strbuf *why);
/* How a launch is made (CORUN_MERGE and fused ones). */
int corun_plan(struct corun *x, enum corun_how how, const struct dev_merging *m, struct strbuf *why,
	struct dev_merge_plan *ret);
/* Fills all buffers, runs, and if `compares` (corun_open's check) compares; ret_same: nothing
 * differs. */
int corun_once(struct corun *x, enum corun_how how, const struct dev_merging *m,
	const struct dev_merge_plan *plan, bool compares, struct corun_times *ret, bool *ret_same);
const struct corun_result *corun_seen(const struct corun *x); /* device_name, n_sms, fit */
/* What the kernels are, for what is remembered of them; digests and names are x's. */
int corun_identify(struct corun *x, struct model_together *ret);

#endif
