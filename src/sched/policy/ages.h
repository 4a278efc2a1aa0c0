/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides which of two launches that share SMs should be the older one, or whether one should wait
 * for the other. A warp scheduler serves its oldest warps first, and workers stay until their
 * launch ends. So if two launches run side by side, the older one gets all the issue slots that it
 * wants, and the younger one gets the rest. If the older one can fill the issue slots alone, the
 * younger one starves; in the other order both may run nearly as fast as alone (vectorAdd and nbody
 * on an H100: doc/notebook.md). Blocks of ordinary kernels start and end all the time, so their
 * ages mix; workers stay. Also, an SM divides its memory into L1 cache and shared memory as its
 * first block needs it. So if one launch needs more shared memory than the other one, its blocks
 * may fit only if they come first.
 *
 * Each order is measured for a few milliseconds, once for each pair of kernels: the older launch
 * leaves, and returns when the other one is on its SMs. Later pairs of these kernels run in the
 * faster order if that saves more than leaving costs. If both orders are slower than one launch
 * after the other, the younger one waits until the older one ends. Only policy greedy uses this
 * file. */
#ifndef HEDDLE_SCHED_AGES_H
#define HEDDLE_SCHED_AGES_H

#include "base/base.h"

#define AGES_PAIRS 64u /* number of pairs of kernels in the table */
/* maximum number of launches whose age is known; ages_decide acts only if there are two launches */
#define AGES_LAUNCHES 32u
#define AGES_NOBODY   2u

/* A launch that has SMs, or may get some. Times are in ns. */
struct age_launch {
	uint64_t code;   /* launches of the same kernel have equal codes */
	uint64_t launch; /* unique within the tenant */
	uint32_t tenant;
	uint32_t count; /* blocks that it may have on one SM */
	bool present;   /* it has SMs */
	bool leaving;   /* it was preempted, and not all its workers have left yet */
	bool steady;    /* it must not be preempted */
	uint64_t blocks, finished;
	uint64_t started; /* blocks that have begun */
	double alone_ns;  /* duration of the whole launch alone on the device; 0: unknown */
	double left_ns;   /* predicted duration of its remaining blocks */
	double cost_ns;   /* time to leave and return */
};

struct age {
	uint64_t launch, seq;
	uint32_t tenant;
};

/* Measurements of a pair of kernels, where code[0] < code[1]. */
struct age_pair {
	uint64_t code[2];
	/* Speed of both launches together (work per time) while kernel i of the pair is the older
	 * one. A launch's work is measured as its duration alone on the device.
	 * - [i][0]: measured in the order of arrival
	 * - [i][1]: measured after the other launch left and returned. The SMs then keep their
	 *   division of memory, and fewer blocks of the returned launch may fit. */
	double rate[2][2];
	uint32_t n[2][2]; /* number of measurements in the moving mean; 0: none */
	/* number of the last lookup of this pair; a new pair replaces the one with the lowest
	 * number */
	uint64_t used;
	uint32_t apart; /* how often one launch had to wait since the last measurements */
};

/* All-zero at first. */
struct ages {
	uint64_t seq; /* the last age that was assigned */
	struct age at[AGES_LAUNCHES];
	uint32_t len;
	struct age_pair pairs[AGES_PAIRS];
	uint64_t used;
	/* The two launches that are being compared, by order of their codes. */
	struct age_launch from[2]; /* their state when the measurement began */
	/* when the measurement may begin; 0: one of the launches is not on its SMs yet */
	uint64_t settled_ns;
	uint64_t from_ns; /* start of the measurement; 0: none */
	/* end of the wait for a launch that is not on its SMs yet; 0: no launch is awaited */
	uint64_t late_ns;
	uint32_t swaps; /* how often one of the two launches has left */
	bool measured;
	bool leaves;     /* one launch must leave, or has left and not returned yet */
	bool waits;      /* one gets no SM until the other one ends; that one can use all SMs */
	uint32_t leaver; /* index of that launch in `from` */
};

/* Must be called at each decision with the n launches that have or may have SMs. Returns which of
 * two launches (0 or 1) gets no SM for now, or AGES_NOBODY. Lowers *io_wake_ns to the time of the
 * next call. */
uint32_t ages_decide(struct ages *a, uint64_t now_ns, uint32_t n_sms, const struct age_launch *at,
	uint32_t n, uint64_t *io_wake_ns);
/* Returns true if these two kernels were measured in at least one order. ages_decide is then more
 * reliable than a prediction. */
bool ages_knows(const struct ages *a, uint64_t code, uint64_t other);
/* Returns the number of blocks on each SM that the launch had when its measurement began, while the
 * measurement lasts. Another number would restart the measurement. 0: the launch may have any
 * number. */
uint32_t ages_count(const struct ages *a, uint32_t tenant, uint64_t launch);

#endif
