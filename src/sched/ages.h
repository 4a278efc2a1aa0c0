/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which of two launches that share SMs should have come first, or whether one should wait for the
 * other. A warp scheduler serves its oldest warps first, and workers stay until their launch ends:
 * so of two launches side by side the older one has the issue slots that it wants, and the younger
 * one what is left, for as long as both run. Where the older one could fill them alone, the younger
 * one starves; the other way round both may run nearly as fast as alone (vectorAdd and nbody on an
 * H100: doc/notebook.md). Blocks that come and go mix their ages by themselves, workers do not.
 * Also, an SM splits its memory into L1 cache and shared memory as its first block wants it, so
 * that blocks which need more shared memory get in only if they come first.
 *
 * So each order is measured for a few milliseconds, once for each pair of kernels: the older launch
 * leaves, and comes again when the other one is on its SMs. Later pairs of these kernels run in the
 * faster order, where that saves more than leaving costs. Where both orders are slower than one
 * launch after the other, the younger one waits until the older one ends. Policy greedy uses it. */
#ifndef HEDDLE_SCHED_AGES_H
#define HEDDLE_SCHED_AGES_H

#include "base/base.h"

#define AGES_PAIRS    64u /* pairs of kernels that are remembered */
#define AGES_LAUNCHES 32u /* launches whose ages are known; with more of them nothing is done */
#define AGES_NOBODY   2u

/* A launch that has or may have SMs. Times are in ns. */
struct age_launch {
	uint64_t code;   /* launches with the same one run the same kernel */
	uint64_t launch; /* with the tenant: which it is */
	uint32_t tenant;
	uint32_t count; /* blocks on each SM that it is given */
	bool present;   /* it has SMs */
	bool leaving;   /* it was told to leave, and has not yet */
	bool steady;    /* it must not be told to leave */
	uint64_t blocks, finished;
	uint64_t started; /* blocks that have begun */
	double alone_ns;  /* of the whole launch alone on the device; 0: not known */
	double left_ns;   /* of what is left, as far as known */
	double cost_ns;   /* of leaving and coming again */
};

struct age {
	uint64_t launch, seq;
	uint32_t tenant;
};

/* The measurements of two kernels, which are ordered: code[0] < code[1]. */
struct age_pair {
	uint64_t code[2];
	/* Work per time while kernel i is the older one, as times alone: [i][0] as they came,
	 * [i][1] when the other one had left and come again. Then what an SM's shared memory was
	 * split for is still there, and fewer blocks may find room. */
	double rate[2][2];
	uint32_t n[2][2]; /* measurements that this is a moving mean of; 0: none */
	uint64_t used;    /* when it was asked for; the oldest one is replaced */
	uint32_t apart;   /* how often one waited, since they were measured */
};

/* All zero: nothing known. */
struct ages {
	uint64_t seq; /* last age given */
	struct age at[AGES_LAUNCHES];
	uint32_t len;
	struct age_pair pairs[AGES_PAIRS];
	uint64_t used;
	/* The two launches at hand, by order of their codes. */
	struct age_launch from[2]; /* as they were when measuring began */
	uint64_t settled_ns;       /* when measuring may begin; 0: the launches are not there */
	uint64_t from_ns;          /* 0: not measuring */
	uint64_t late_ns; /* when one that is not there is no longer awaited; 0: both are there */
	uint32_t swaps;   /* how often one of the two left */
	bool measured;
	bool leaves;     /* one is to leave, or has not come again: */
	bool waits;      /* it stays away until the other one ends, which may have all SMs */
	uint32_t leaver; /* its index in from */
};

/* To be called at each decision with the launches that have or may have SMs, n of them. Returns
 * which of two (0 or 1) gets no SM for now, or AGES_NOBODY. Lowers *io_wake_ns to when to ask
 * again. */
uint32_t ages_decide(struct ages *a, uint64_t now_ns, uint32_t n_sms, const struct age_launch *at,
	uint32_t n, uint64_t *io_wake_ns);
/* Whether any order of these two kernels was measured: then ages_decide knows better than a
 * prediction what becomes of them. */
bool ages_knows(const struct ages *a, uint64_t code, uint64_t other);
/* The blocks on each SM that one of the two launches had as measuring began, while that lasts: with
 * other counts it would begin anew. 0: it may have any. */
uint32_t ages_count(const struct ages *a, uint32_t tenant, uint64_t launch);

#endif
