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

#define TASKS_STREAMS 32u /* maximum number of streams */
#define TASKS_WAYS    6u  /* stream counts that are tried: 1, 2, 4 ... TASKS_STREAMS */

struct heddle;

struct tasks_bench {
	struct cli *c;
	struct heddle *h;
	struct heddle_tasks *pool;
	const char *file; /* PTX file with the kernels */
	bool is_virtual;
	uint64_t seed;
	unsigned tasks, threads, rounds, streams, columns, leave, nap;
	struct samples samples;
	char options[96]; /* text of the options on which samples depend */
	bool stamps;      /* the pool records the time of each stage of a task */
	bool has_empty;   /* the pool has the kernel of empty tasks, with index `empty` */
	unsigned empty;
};

/* A program whose tasks are ready to run: the device holds their inputs and has a buffer for each
 * task's output. */
struct tasks_program {
	const struct narrow_program *of;
	unsigned kernel; /* index of the program's kernel in the pool */
	unsigned n, n_inputs;
	struct narrow_input *inputs; /* task i has the input inputs[i % n_inputs] */
	/* for each input, for each task: offset of its data, in words */
	uint64_t *in_at, *out_at;
	uint64_t in_words, out_words; /* total sizes, in words */
	uint64_t in, out;             /* device addresses of all inputs and of all outputs */
	uint32_t *want, **want_of;    /* expected outputs; want_of[i] is the one of input i */
	float *memory;                /* all inputs, on the host */
	uint32_t *got;                /* all outputs, copied to the host */
	unsigned wrong;               /* number of wrong outputs, in all rounds and ways */
};

/* Prepares a program's tasks on the device. Returns CLI_OK, or CLI_FAILED after it reports an
 * error. Call tasks_close even after a failure. */
int tasks_open(struct tasks_bench *b, struct tasks_program *p, const struct narrow_program *of);
void tasks_close(struct tasks_bench *b, struct tasks_program *p);
/* Returns the number of ways: one for the pool, and one each for launches in 1, 2, 4 ... streams,
 * at most b->streams. */
unsigned tasks_ways(const struct tasks_bench *b);
/* Returns the name of a way's samples, which are times in ms. */
const char *tasks_way_name(unsigned way, char buf[32]);
/* Runs the tasks in every way b->rounds times, and checks each output. *ret is a row of samples:
 * the times of each way, and "tasks", "checked" and "wrong" (numbers of outputs). */
int tasks_measure(struct tasks_bench *b, struct tasks_program *p, json_t **ret);
#define TASKS_PRODUCERS 4u /* thread counts that are tried: 1, 2, 4 and 8 */
/* Measures n empty tasks. *ret is a row of samples:
 * - "ms N": times from the first spawn, in N threads, until the host sees the end of the last task
 * - "spawn_ms": times to spawn "burst" tasks in one thread while the pool has free rows
 * - "tasks": n */
int tasks_empty(struct tasks_bench *b, unsigned n, json_t **ret);
/* The stages of a task, from its spawn on the host until the host sees its end. */
enum tasks_leg {
	/* from the start of the scheduler warp's work on the task until each warp of the task has
	 * its command word */
	TASKS_PLACED,
	TASKS_BEGUN, /* until a warp of the task has read its command word */
	TASKS_ENDED,
	TASKS_FENCED, /* until the task's output is visible to the host */
	TASKS_REST,   /* work on the host, and transfers over the bus */
	TASKS_LEGS
};
/* Measures n tasks one after another. ret_us receives n sorted times in us, each from before the
 * spawn until the host sees that the task has ended. If b->stamps is set, ret_legs receives n
 * values of the first enum tasks_leg, then n of the second, and so on. */
int tasks_latency(struct tasks_bench *b, unsigned n, double *ret_us, double *ret_legs);

#endif
