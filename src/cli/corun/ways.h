/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Every way of running some kernels together, measured (KernelMerge, section 3, sweeps the
 * partition). Rounds go through all ways before the next begins, so that a device that changes its
 * clock meanwhile changes it for all; each run's memory is compared with what the kernels leave
 * alone. */
#ifndef HEDDLE_WAYS_H
#define HEDDLE_WAYS_H

#include "base/measure.h"
#include "cli/corun/corun.h"

struct way {
	enum dev_how how;
	struct dev_merging merging;
	struct dev_merge_plan plan;
	char name[MODEL_WAY_MAX];
	const char *why; /* it is none; NULL */
	bool wrong;      /* it left other memory */
	bool dropped;    /* far behind: looked at, no more */
	bool chosen;
	double *ms; /* of the runs that count last; sorted once judged */
	unsigned runs;
	double median, spread; /* of these */
	double main_ms;        /* the median before the ways in front were measured again */
};

struct ways {
	struct cli *c;
	struct arena *arena;
	const char *label; /* ahead of what progress says; NULL: nothing */
	struct corun *x;   /* what it was opened with: a kernel's `want` */
	unsigned n;        /* kernels */
	unsigned rounds;   /* runs of each that is not far behind */
	unsigned points;   /* partitions of a kind, at most 64 */
	unsigned looks;    /* runs ahead of that, of all */
	bool weave;        /* woven, too, where there are two kernels */
	double behind;     /* dropped: slower than the best by this, and not the best of its kind */
	double until_ms;   /* by clock_ms, no more rounds begin; 0: all do */
	struct way *at;    /* in order of listing; after ways_choose by time, the fastest first */
	unsigned n_ways;
};

/* What stands above `at` in w is set. All are listed and measured. CLI_OK or CLI_FAILED. */
int ways_measure(struct ways *w);
/* The same of n ways alone (fewer than 64), which are in this order then. */
int ways_measure_these(
	struct ways *w, const enum dev_how *hows, const struct dev_merging *merging, unsigned n);
/* Of many ways the one that seems the fastest is so by luck, too: those in front are measured
 * again, beside those that change nothing, which are chosen unless one is worth it. */
int ways_choose(struct ways *w);
/* Into the store (path as for model_store_open), for corun --how tuned. */
int ways_keep(const struct ways *w, const char *path);

bool way_counts(const struct way *w); /* it can be done, and is right */
/* The fastest that counts, by main_ms, of this kind (DEV_HOWS: of all), and of those that `is` says
 * are meant (NULL: all); NULL: none. */
const struct way *ways_best(const struct ways *w, enum dev_how how, bool (*is)(const struct way *));

#endif
