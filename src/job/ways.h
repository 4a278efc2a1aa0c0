/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures every way of running some kernels together (in streams, merged, and so on), and tries
 * several ways to divide the workers among the kernels (KernelMerge, section 3). A round measures
 * all ways before the next round begins, so that clock changes of the device affect all ways.
 * After each run, the buffers are compared with the results of the kernels alone. */
#ifndef HEDDLE_WAYS_H
#define HEDDLE_WAYS_H

#include "base/measure.h"
#include "job/run_specs.h"

struct way {
	enum host_way way;
	struct host_merging merging;
	struct host_merge_plan plan;
	char name[MODEL_WAY_MAX];
	const char *why; /* why the way is impossible; NULL: it is possible */
	bool wrong;      /* a run gave wrong results */
	bool dropped;    /* far slower than the best way, so it is not measured again */
	bool chosen;
	double *ms; /* times of the counted runs; sorted once they are all measured */
	unsigned runs;
	double median, spread; /* computed from ms; spread is relative to median */
	double main_ms;        /* median before the fastest ways were measured again */
};

struct ways {
	struct cli *c;
	struct arena *arena;
	const char *label; /* prefix of progress messages; NULL: none */
	/* the kernels, opened with expected results if results are to be checked */
	struct corun *x;
	unsigned n;      /* number of kernels */
	unsigned rounds; /* counted runs of each way that was not dropped */
	unsigned points; /* number of partitions to try of each kind, at most 64 */
	unsigned looks;  /* runs of each way before slow ways are dropped */
	bool weave;      /* also try to weave the kernels, if there are two */
	/* factor for dropping: a way that is slower than the best by this factor is dropped,
	 * unless it is the best of its kind */
	double behind;
	/* no round after the first begins after this time, by clock_ms; 0: no limit */
	double until_ms;
	/* Returns true if nothing more is to be measured, because of Ctrl-C. The ways then keep the
	 * runs that they have. NULL: never. */
	bool (*stops)(void);
	struct way *at; /* in order of listing; after ways_choose, fastest first */
	unsigned n_ways;
};

/* Lists and measures all ways. The caller sets all fields of w that are declared before `at`.
 * Returns CLI_OK or CLI_FAILED. */
int ways_measure(struct ways *w);
/* Measures only the n given ways (fewer than 64), and keeps them in the given order. */
int ways_measure_these(
	struct ways *w, const enum host_way *ways, const struct host_merging *merging, unsigned n);
/* Chooses the best way. The fastest of many ways may have been fastest by luck, so the few
 * fastest are measured again, together with the ways that use unmodified kernels. A way with
 * rewritten kernels is chosen only if it is clearly faster than those. */
int ways_choose(struct ways *w);
/* Checks before the measurements that the file for the chosen way can be written, and makes it if
 * it does not exist (path as for model_store_open). */
int ways_will_keep(const struct cli *c, const char *path);
/* Stores the chosen way for corun --how tuned (path as for model_store_open). */
int ways_keep(const struct ways *w, const char *path);

/* Returns whether the way is possible, was measured, and gave correct results. */
bool way_counts(const struct way *w);
/* Returns the way with the lowest main_ms among those that ran correctly. way restricts the
 * search to one kind (HOST_WAYS: any kind), and `is` to those that it accepts (NULL: all). Returns
 * NULL if there is none. */
const struct way *ways_best(
	const struct ways *w, enum host_way way, bool (*is)(const struct way *));

#endif
