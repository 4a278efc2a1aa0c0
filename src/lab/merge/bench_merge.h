/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Data and functions that the parts of heddle bench merge share. Each part measures rows of
 * samples (samples.h), and then writes its tables (sheet.h). */
#ifndef HEDDLE_BENCH_MERGE_H
#define HEDDLE_BENCH_MERGE_H

#include "job/ways.h"
#include "lab/samples.h"
#include "lab/sheet.h"

#define MERGE_KERNELS 7
/* each pair of kernels, including a kernel with itself */
#define MERGE_PAIRS (MERGE_KERNELS * (MERGE_KERNELS + 1) / 2)
#define MERGE_CURVE 64

/* A benchmark of KernelMerge (section 2.3). At the large size, the kernel runs for about a
 * millisecond and ten waves of blocks on an H200, and its data exceeds the L2 cache. At the small
 * size, the kernel runs for milliseconds on the virtual GPU. */
struct merge_row {
	const char *name;
	const char *file, *kernel; /* file: path in a folder of kernels */
	/* a kernel specification without FILE and KERNEL, for each size */
	const char *large, *small;
};
extern const struct merge_row merge_rows[MERGE_KERNELS];

struct merge_kernel {
	struct spec spec;
	/* of[1] is the second instance, for the pair of the kernel with itself */
	struct corun_kernel of[2];
	bool ready, has_twin;
};

/* The times of a pair of kernels for different shares of the workers: ms[i] is the time if the
 * first kernel has the share part[i]. */
struct merge_curve {
	unsigned n;
	double part[MERGE_CURVE], ms[MERGE_CURVE];
};

/* Median times of a pair in ms; 0 if a way is impossible or was not measured. */
struct merge_pair {
	unsigned a, b; /* indices in merge_rows */
	bool done;
	double sequential, streams, green, vertical, horizontal;
	double steal;      /* work stealing, with one block for each claim */
	double steal_best; /* work stealing, with the best number of blocks for each claim */
	/* the best partition, with that number of blocks for each claim, without help */
	double partition;
	/* the chosen way and its baselines, all measured again */
	double tuned, tuned_sequential, tuned_streams;
	char tuned_name[MODEL_WAY_MAX], partition_name[MODEL_WAY_MAX];
	struct merge_curve curve;
	double make_ms, compile_ms; /* time to make and to compile the merged form */
};

/* A reason why some columns of the table were not measured for some pairs. columns has a bit for
 * each column, and pairs a bit for each pair. */
struct merge_note {
	const char *why;
	uint32_t columns, pairs;
	struct merge_note *next; /* next in the list merge_bench.notes; the arena owns the note */
};

struct merge_bench {
	struct cli *c;
	struct arena arena;
	struct corun_device device;
	bool large;
	unsigned rounds, points, wrong, failures;
	struct samples samples;
	char options[64]; /* text of the options on which samples depend */
	const char *store;
	char cache[64]; /* folder of the driver's compilation cache while the benchmark runs */
	struct merge_kernel kernels[MERGE_KERNELS];
	struct merge_pair pairs[MERGE_PAIRS];
	unsigned n_pairs;
	struct merge_note *notes; /* list, allocated in the arena */
	struct json *j;
};

/* Loads kernel i, and with twin also a second instance for a pair with itself. */
int merge_kernel(struct merge_bench *b, unsigned i, bool twin);
/* Opens the kernels of a pair as a set. */
int merge_open(
	struct merge_bench *b, struct arena *a, const struct merge_pair *p, struct corun **ret);
const char *merge_pair_name(const struct merge_pair *p, char *buf, size_t size);

/* ---- the benchmark's parts ---- */
int merge_alone(struct merge_bench *b); /* bench_merge_cost.c: each unmodified kernel alone */
/* bench_merge_cost.c: one kernel in the scheduler (figure 5) */
int merge_overhead(struct merge_bench *b);
int merge_pairs(struct merge_bench *b); /* bench_merge_pairs.c: figures 4, 6 and 7 */
/* bench_merge_pairs.c: measures the stored ways again, beside unmodified kernels */
int merge_tuned(struct merge_bench *b);

#endif
