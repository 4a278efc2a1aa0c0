/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures every way of running some kernels together (KernelMerge, section 3, sweeps the
 * partition). A round measures all ways before the next begins, so that clock changes of the device
 * affect all of them. Each run's memory is compared with the kernels' results when alone. */
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
	const char *label; /* put before progress messages; NULL: none */
	struct corun *x;   /* what it was opened with: a kernel's `want` */
	unsigned n;        /* kernels */
	unsigned rounds;   /* runs of each way that is not far slower */
	unsigned points;   /* partitions of a kind, at most 64 */
	unsigned looks;    /* runs of all ways before that */
	bool weave;        /* also woven, if there are two kernels */
	/* drop limit: slower than the best by this, and not the best of its kind */
	double behind;
	double until_ms; /* no round begins after this time, by clock_ms; 0: no limit */
	struct way *at;  /* in order of listing; after ways_choose the fastest first */
	unsigned n_ways;
};

/* Needs the fields of w above `at`. Lists and measures all ways. CLI_OK or CLI_FAILED. */
int ways_measure(struct ways *w);
/* The same for n given ways (fewer than 64), which keep this order. */
int ways_measure_these(
	struct ways *w, const enum dev_how *hows, const struct dev_merging *merging, unsigned n);
/* The winner of many candidates is partly lucky, so the leaders are measured again, together with
 * the unmodified ways. An unmodified way is chosen unless another way is clearly better. */
int ways_choose(struct ways *w);
/* Writes the choice to the store (path as for model_store_open), for corun --how tuned. */
int ways_keep(const struct ways *w, const char *path);

bool way_counts(const struct way *w); /* it can be done, and is right */
/* The fastest way that counts, by main_ms, of this kind (DEV_HOWS: any), among those that `is`
 * accepts (NULL: all); NULL: none. */
const struct way *ways_best(const struct ways *w, enum dev_how how, bool (*is)(const struct way *));

#endif
