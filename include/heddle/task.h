/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Thousands of small kernels a second as tasks of one that stays on the GPU; heddle(3).
 *
 * A pool holds a part of the GPU: blocks that take tasks, a warp of each for scheduling them. A
 * task is a launch of an ordinary __global__ kernel, with a grid, blocks, shared memory and
 * parameters of its own; it begins when it is spawned, without a batch, flush or later spawn, and
 * ends on its own. Tasks must not depend on each other: the order in which they run is not known.
 * A grid of more blocks than one of the pool's can run at once is spread over several of them, so
 * that a large one has the whole device.
 * heddle_free, heddle_load and heddle_corun have it leave the GPU until they are done.
 *
 * Functions return 0 or a negative errno; heddle_tasks_error then says what is wrong, and what to
 * do. Spawning, waiting and checking are for any number of threads at once, the rest for one thread
 * at a time. Structures begin with their size: set it to sizeof. */
#ifndef HEDDLE_TASKS_H
#define HEDDLE_TASKS_H

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_TASK_KERNELS 16 /* in one pool */

struct heddle_tasks;

struct heddle_tasks_options { /* 0: as is said */
	size_t size;
	unsigned threads;       /* of a block of the pool, 64 to 1,024, a multiple of 32. One of its
				   warps schedules, so as wide as this is the widest block of a task,
				   but one of more than all warps less one waits until its block of
				   the pool has nothing else, and then has that one, too: nothing is
				   begun there before it has ended. 1,024 */
	unsigned registers;     /* of a thread: 32, 64 or 128. 32 */
	unsigned blocks_per_sm; /* as many as fit, at most 4 on an H100: with a kernel that has
				   barriers, each block takes 16 of an SM's 64. A pool with more
				   blocks refuses such a kernel (heddle_tasks_add: -E2BIG) */
	unsigned leave_sms;     /* SMs that the pool keeps off; none */
	unsigned shared_bytes; /* for tasks, of each block. Half of what there is, and all of it, up
				  to 512 KiB, from the first task on that needs more */
	unsigned args_bytes;   /* parameters of a kernel, at most: 1,024 */
	unsigned idle_us;      /* without work for so long, it leaves the GPU, until the next
				  task comes. 1,000; UINT_MAX: not before lifetime_ms */
	unsigned beat_ms;      /* the pool leaves the GPU when for so long it does not see that
				  this process is alive. 10,000 */
	unsigned beat_every_ms; /* how often the process shows it: an eighth of that, and at most
				   50 with a lifetime */
	unsigned lifetime_ms;   /* after so long it leaves the GPU and comes again, so that kernels
				   and driver calls of the program get on beside it. Each of its
				   blocks leaves once its own tasks have ended; those that have
				   left come back while a long task keeps others. 100; UINT_MAX:
				   never */
};

/* In a child of fork a pool of its parent's is of no use: there each call but heddle_tasks_error
 * gives -EINVAL, as it does with NULL for a pool. */
/* A pool on h's device. It is there until it is destroyed, or h closed. options: NULL is all 0.
 * Nothing runs yet. *ret is NULL where this fails, and heddle_error(h) says why. -EINVAL: what
 * cannot be; -ENOMEM; -EIO: the driver's error. */
int heddle_tasks_create(
	struct heddle *h, const struct heddle_tasks_options *options, struct heddle_tasks **ret);
/* Tasks that have not ended are dropped, but what runs runs to its end. NULL: nothing is done. No
 * other thread may be using it. -ETIMEDOUT: a task of this pool, or of another one of the process,
 * has not ended within 10 s; the pool is there still, its other tasks may wait for that one, and it
 * can be destroyed later. heddle_close, which destroys its pools, leaves the handle there then. A
 * driver loads and frees nothing while a kernel is on the GPU: heddle_tasks_add, heddle_load,
 * heddle_free and heddle_corun give -ETIMEDOUT for the same reason. -EINVAL: see below. */
int heddle_tasks_destroy(struct heddle_tasks *t);
/* Of the last call of this thread that failed; "" if none did. */
const char *heddle_tasks_error(const struct heddle_tasks *t);

/* A kernel, by the name that heddle_load gave it, for tasks from now on, also while others run: the
 * pool leaves the GPU, is made anew, and goes on. -ENOENT: no kernel of that name; -ENOTSUP: it
 * cannot be a task, and why, also where the driver's compiler crashes of it; -ETIMEDOUT: that is
 * not done with it in time (heddle_limit_compiling); -E2BIG: too many kernels, or its parameters
 * are more than args_bytes; -EIO. */
int heddle_tasks_add(struct heddle_tasks *t, const char *kernel, unsigned *ret_kernel);

struct heddle_task {
	size_t size;
	unsigned kernel; /* of heddle_tasks_add */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	const void *args;      /* its parameters as the kernel lays them out: a structure of them;
				  copied. NULL: see params */
	size_t args_bytes;     /* of args: all of them */
	void **params;         /* or as cuLaunchKernel takes them: a pointer to each one's value */
};

/* Returns when it is on its way, which takes no longer than until a place is free. *ret_id is good
 * for ever; ret_id may be NULL. -EINVAL: no such kernel, a grid or block with a 0, args of another
 * size; -E2BIG: its block has more threads, or more shared memory, than a block of the pool has;
 * -ENOTSUP: this kernel cannot have blocks of this shape; -EIO: the device failed. */
int heddle_tasks_spawn(struct heddle_tasks *t, const struct heddle_task *task, uint64_t *ret_id);
/* 0: it has ended, and what it wrote is there; -EAGAIN: not yet; -EFAULT: it has ended, and failed:
 * a thread of it met a trap, or failed an assertion, and heddle_tasks_error says which, where; what
 * it wrote is not to be relied on, all other tasks are; -EIO: it never will end, the device failed;
 * -EINVAL: there never was such a task. */
int heddle_tasks_check(struct heddle_tasks *t, uint64_t id);
/* The same, after at most timeout_ns (UINT64_MAX: for ever). -ETIMEDOUT: it has not ended. */
int heddle_tasks_wait(struct heddle_tasks *t, uint64_t id, uint64_t timeout_ns);
/* All that were spawned when it was called. -EFAULT: they have ended, and since this was said last
 * one or more have failed. */
int heddle_tasks_wait_all(struct heddle_tasks *t, uint64_t timeout_ns);

/* The pool leaves the GPU once what runs has ended, until it is resumed; tasks are taken on as far
 * as there are places, and wait. */
int heddle_tasks_suspend(struct heddle_tasks *t);
int heddle_tasks_resume(struct heddle_tasks *t);

struct heddle_tasks_state {
	size_t size;
	unsigned columns, executors; /* blocks of the pool, and warps of each that run tasks */
	unsigned shared_bytes;       /* of each block, for tasks */
	unsigned running;            /* 1: it is on the GPU */
	uint64_t spawned, ended;     /* tasks */
	uint64_t failed;             /* of those that have ended */
	uint64_t launches;           /* how often it, or a part of it, has come to the GPU */
};
int heddle_tasks_look(struct heddle_tasks *t, struct heddle_tasks_state *ret);

#ifdef __cplusplus
}
#endif

#endif
