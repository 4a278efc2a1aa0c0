/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench tasks: programs of thousands of narrow tasks, given to a pool one by one, and as
 * launches in streams. */
#ifndef HEDDLE_BENCH_TASKS_H
#define HEDDLE_BENCH_TASKS_H

#include "cli/bench/narrow.h"
#include "cli/cli.h"
#include "heddle/task.h"

#define TASKS_STREAMS 32u /* at most */
#define TASKS_WAYS    6u  /* 1, 2, 4 .. TASKS_STREAMS streams */

struct heddle;

struct tasks_bench {
	struct cli *c;
	struct heddle *h;
	struct heddle_tasks *pool;
	const char *file; /* with the kernels */
	bool is_virtual;
	uint64_t seed;
	unsigned tasks, threads, rounds, streams, columns, leave, nap;
	bool stamps;    /* the pool makes them */
	bool has_empty; /* the kernel that does nothing is there: */
	unsigned empty;
};

/* A program whose tasks are ready on the device: inputs, and room for what each leaves. */
struct tasks_program {
	const struct narrow_program *of;
	unsigned kernel; /* of the pool */
	unsigned n, n_inputs;
	struct narrow_input *inputs;  /* task i has the one i % n_inputs */
	uint64_t *in_at, *out_at;     /* words: of inputs, of tasks */
	uint64_t in_words, out_words; /* all of them */
	uint64_t in, out;             /* on the device */
	uint32_t *want, **want_of;    /* what each input makes, as the host finds */
	float *memory;                /* inputs */
	uint32_t *got;                /* outputs */
	unsigned wrong;               /* outputs that were, in all rounds and ways */
};

struct tasks_times {
	double ms[1 + TASKS_WAYS]; /* medians: the pool, and launches in 1, 2, 4 .. streams */
	unsigned n;                /* so many ways, the pool included */
	uint64_t checked;          /* outputs */
};

/* CLI_OK, or CLI_FAILED, said. tasks_close also when it failed. */
int tasks_open(struct tasks_bench *b, struct tasks_program *p, const struct narrow_program *of);
void tasks_close(struct tasks_bench *b, struct tasks_program *p);
/* Every round in every way, each output compared. */
int tasks_measure(struct tasks_bench *b, struct tasks_program *p, struct tasks_times *ret);
#define TASKS_PRODUCERS 4u /* 1, 2, 4 and 8 threads */
struct tasks_rate {
	/* By so many threads, from the first spawn until the host has seen the last end. */
	double ms[TASKS_PRODUCERS];
	double spawn_ns; /* what a spawn takes one thread where places are free */
	unsigned burst;  /* so many at a time */
};
/* Of tasks that do nothing; medians. */
int tasks_empty(struct tasks_bench *b, unsigned n, struct tasks_rate *ret);
/* What the way of one task is made of. */
enum tasks_leg {
	TASKS_PLACED, /* from the scheduler's having its row until its warps have their words */
	TASKS_BEGUN,  /* until a warp has found it */
	TASKS_ENDED,
	TASKS_FENCED, /* until what it left is there for the host */
	TASKS_REST,   /* the host's part, and the ways over the bus */
	TASKS_LEGS
};
/* us from before the spawn until its end is seen, one after the other; sorted. With b->stamps also
 * each leg of them, n values one leg behind the other. */
int tasks_latency(struct tasks_bench *b, unsigned n, double *ret_us, double *ret_legs);

#endif
