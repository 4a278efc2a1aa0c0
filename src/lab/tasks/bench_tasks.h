/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench tasks runs programs of thousands of narrow tasks (tasks of a few warps). It compares
 * adding the tasks to a pool one by one with launching each task as a kernel in a stream. */
#ifndef HEDDLE_BENCH_TASKS_H
#define HEDDLE_BENCH_TASKS_H

#include "front/cli.h"
#include "heddle/task.h"
#include "lab/samples.h"
#include "lab/sheet.h"
#include "lab/tasks/narrow.h"

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
	struct samples samples;
	char options[96]; /* on which samples depend */
	bool stamps;      /* the pool makes them */
	bool has_empty;   /* the kernel that does nothing is there: */
	unsigned empty;
};

/* A program whose tasks are ready to run: the device holds their inputs and has a buffer for each
 * task's output. */
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

/* Prepares a program's tasks on the device. Returns CLI_OK, or CLI_FAILED after it reports an
 * error. Call tasks_close even after a failure. */
int tasks_open(struct tasks_bench *b, struct tasks_program *p, const struct narrow_program *of);
void tasks_close(struct tasks_bench *b, struct tasks_program *p);
/* The number of ways: the pool, and launches in 1, 2, 4 ... streams, at most b->streams. */
unsigned tasks_ways(const struct tasks_bench *b);
/* The name of a way's samples, in ms. */
const char *tasks_way_name(unsigned way, char buf[32]);
/* Runs the tasks in every way b->rounds times, and checks each output. *ret is a row of samples: of each
 * way its times; "tasks", "checked" and "wrong" (outputs). */
int tasks_measure(struct tasks_bench *b, struct tasks_program *p, json_t **ret);
#define TASKS_PRODUCERS 4u /* 1, 2, 4 and 8 threads */
/* Measures n tasks that do nothing. *ret is a row of samples:
 * - "ms N": times from the first spawn, in N threads, until the host sees the end of the last task
 * - "spawn_ms": times to spawn "burst" tasks in one thread while places are free
 * - "tasks": n */
int tasks_empty(struct tasks_bench *b, unsigned n, json_t **ret);
/* The stages of a task between the host's spawn and its end as the host sees it. */
enum tasks_leg {
	/* from the start of the scheduler warp's work on the task until each warp of the task has
	 * been given its command word */
	TASKS_PLACED,
	TASKS_BEGUN, /* until a warp has found its word */
	TASKS_ENDED,
	TASKS_FENCED, /* until its output is visible to the host */
	TASKS_REST,   /* the host's part, and the transfers over the bus */
	TASKS_LEGS
};
/* Measures n tasks one after another. ret_us receives n sorted times in us, each from before the
 * spawn until the host sees that the task has ended. If b->stamps is set, ret_legs receives n
 * values of the first enum tasks_leg, then n of the second, and so on. */
int tasks_latency(struct tasks_bench *b, unsigned n, double *ret_us, double *ret_legs);

#endif
