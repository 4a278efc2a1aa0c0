/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs thousands of small kernels per second, as tasks of one kernel that stays on the GPU; see
 * heddle(3).
 *
 * A pool occupies a part of the GPU. Its blocks run tasks; one warp of each pool block schedules
 * them. A task is a launch of an ordinary __global__ kernel, with its own grid, blocks, shared
 * memory and parameters:
 * - A task need not wait for a batch, a flush or a later spawn: it can begin as soon as it is
 *   spawned, and it ends independently of other tasks.
 * - Tasks must not depend on each other, because they run in any order.
 * - If a grid has more blocks than one block of the pool can run at once, several blocks of the
 *   pool run it, so a large task can use the whole device.
 *
 * heddle_free, heddle_load and heddle_corun take the pool off the GPU for as long as they run.
 *
 * Functions return 0 or a negative errno. After an error, heddle_tasks_error says what is wrong,
 * and what to do. Any number of threads can spawn, wait and check at the same time; only one thread
 * at a time can call the other functions. Each structure begins with its size: set it to sizeof. */
#ifndef HEDDLE_TASKS_H
#define HEDDLE_TASKS_H

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_TASK_KERNELS 16 /* maximum in one pool */

struct heddle_tasks;

struct heddle_tasks_options { /* in each field, 0 selects the default */
	size_t size;
	/* Threads in a block of the pool, a multiple of 32 from 64 to 1,024 (default: 1,024). One
	 * of its warps is the scheduler. A task's block can have as many threads as a pool block.
	 * If a task's block needs every warp of a pool block, that task waits for an idle pool
	 * block and uses the whole pool block. */
	unsigned threads;
	unsigned registers; /* per thread: 32, 64 or 128 (default: 32) */
	/* Blocks of the pool on each SM. The default is as many as fit, but at most 4 on an H100:
	 * if a kernel has barriers, each block needs 16 of the SM's 64 barriers. A pool with more
	 * blocks refuses such a kernel (heddle_tasks_add: -E2BIG). */
	unsigned blocks_per_sm;
	unsigned leave_sms; /* SMs that the pool does not use (default: 0) */
	/* Shared memory for tasks, in bytes for each block of the pool. The default is half of the
	 * block's part of an SM's shared memory. Once a task needs more, the pool uses all of that
	 * part, up to 512 KiB. */
	unsigned shared_bytes;
	unsigned args_bytes; /* largest size of a kernel's parameters (default: 1,024) */
	/* The pool leaves the GPU after this time without a task, in us (default: 1,000), and
	 * returns for the next task. UINT_MAX: it stays until lifetime_ms has passed. */
	unsigned idle_us;
	/* The pool leaves the GPU if it gets no heartbeat from this process for this time, in ms
	 * (default: 10,000). */
	unsigned beat_ms;
	/* Interval between heartbeats, in ms. The default is an eighth of beat_ms, and at most 50
	 * if the pool has a lifetime. */
	unsigned beat_every_ms;
	/* The pool leaves the GPU after this time, in ms, and then returns, so that other kernels
	 * and driver calls of the program make progress (default: 100; UINT_MAX: never). A pool
	 * block leaves once those blocks of tasks that it has begun have ended; a task of which it
	 * had begun only a part continues later. If a long block of a task keeps some pool blocks
	 * on the GPU, the pool blocks that have left return meanwhile, and the time until the pool
	 * is asked again doubles. */
	unsigned lifetime_ms;
};

/* In the child of a fork, the parent's pools cannot be used: every call with such a pool returns
 * -EINVAL, except heddle_tasks_error. So does every call with a NULL pool, except
 * heddle_tasks_error and heddle_tasks_destroy. */
/* Creates a pool on h's device. It exists until it is destroyed or h is closed. If `options` is
 * NULL, all options have their defaults. The pool does not run yet. If the call fails, *ret is NULL
 * and heddle_error(h) has the reason. Returns -EINVAL if h or an option is not valid, -ENOMEM,
 * -EAGAIN if no thread can be created, or -EIO if the driver reports an error. */
int heddle_tasks_create(
	struct heddle *h, const struct heddle_tasks_options *options, struct heddle_tasks **ret);
/* Destroys the pool. Drops waiting tasks, and waits for running tasks. Does nothing if t is NULL.
 * No other thread may use the pool. Returns -EINVAL if the pool belongs to the parent of this
 * process.
 *
 * Returns -ETIMEDOUT if a task of this pool, or of another pool of the process, has not ended
 * within 10 s. The pool then still exists, other tasks of it may wait for that task, and the call
 * can be repeated. heddle_close destroys its pools, so the handle also stays in that case.
 * heddle_tasks_add, heddle_load, heddle_free and heddle_corun return -ETIMEDOUT for the same
 * reason, because a driver loads and frees nothing while a kernel is on the GPU. */
int heddle_tasks_destroy(struct heddle_tasks *t);
/* Returns the error text of the calling thread's last call that failed, or "" if none did. */
const char *heddle_tasks_error(const struct heddle_tasks *t);

/* Adds a kernel, by the name that heddle_load gave it. Tasks can be running: the pool leaves the
 * GPU, is built again, and returns. Returns:
 * - -ENOENT: no kernel has this name
 * - -ENOTSUP: the kernel cannot run as a task, or the driver's compiler crashed on it
 * - -ETIMEDOUT: compilation timed out (heddle_limit_compiling), or a task has not ended within 10 s
 * - -E2BIG: there are too many kernels, the kernel's parameters need more than args_bytes, or too
 *   few blocks of the pool would fit on an SM
 * - -ENOMEM
 * - -EIO: the driver reported an error */
int heddle_tasks_add(struct heddle_tasks *t, const char *kernel, unsigned *ret_kernel);

struct heddle_task {
	size_t size;
	unsigned kernel; /* the kernel's number, as heddle_tasks_add returned it */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	/* The parameters as one structure, laid out as the kernel declares them. The call copies
	 * it. NULL: `params` is used instead. */
	const void *args;
	size_t args_bytes; /* size of the structure at args */
	void **params;     /* a pointer to each parameter's value, as for cuLaunchKernel */
};

/* Spawns a task. If the pool is full, waits until there is space. Stores the task's id in *ret_id,
 * unless ret_id is NULL; the id stays valid forever. Returns:
 * - -EINVAL: there is no such kernel, the grid or block has a 0, or args_bytes is not the size of
 *   the kernel's parameters
 * - -E2BIG: the grid is too large, or a block of the task needs more threads or shared memory than
 *   a block of the pool has
 * - -ENOTSUP: this kernel cannot have blocks of this shape; or its blocks may wait for each other,
 *   and the pool cannot run all of them at once
 * - -EIO: the device failed
 *
 * The first task with another kind of block than earlier tasks can require that the pool is built
 * again. Then the call also returns the errors of heddle_tasks_add. */
int heddle_tasks_spawn(struct heddle_tasks *t, const struct heddle_task *task, uint64_t *ret_id);
/* Checks whether a task has ended. Returns:
 * - 0: the task has ended, and its results are visible
 * - -EAGAIN: it has not ended
 * - -EFAULT: it has failed, because a thread executed a trap or failed an assertion;
 *   heddle_tasks_error then says which thread, and where. Do not use the task's results. Other
 *   tasks are not affected.
 * - -EIO: the device failed, so the task never ends
 * - -EINVAL: there never was such a task
 * - -ENOMEM: it has ended, but memory was too short to record whether it failed */
int heddle_tasks_check(struct heddle_tasks *t, uint64_t id);
/* Waits until the task has ended, at most timeout_ns (UINT64_MAX: forever). Returns the same values
 * as heddle_tasks_check, but -ETIMEDOUT instead of -EAGAIN. */
int heddle_tasks_wait(struct heddle_tasks *t, uint64_t id, uint64_t timeout_ns);
/* Waits for all tasks that were spawned before the call, at most timeout_ns. Returns -EFAULT if
 * they have ended and tasks have failed since the last call that returned -EFAULT. Returns
 * -ETIMEDOUT if a task has not ended, or -EIO if the device failed. */
int heddle_tasks_wait_all(struct heddle_tasks *t, uint64_t timeout_ns);

/* Suspends the pool: it leaves the GPU once the blocks of tasks that have begun have ended, and
 * stays away until heddle_tasks_resume, which also continues tasks that had begun in part. Tasks
 * that are spawned meanwhile wait, as long as the pool has space for them. */
int heddle_tasks_suspend(struct heddle_tasks *t);
int heddle_tasks_resume(struct heddle_tasks *t);

struct heddle_tasks_state {
	size_t size;
	unsigned columns, executors; /* blocks of the pool; warps per block that run tasks */
	unsigned shared_bytes;       /* per block of the pool, for tasks */
	unsigned running;            /* 1: the pool is on the GPU */
	uint64_t spawned, ended;     /* numbers of tasks so far */
	uint64_t failed;             /* how many of the ended tasks failed */
	uint64_t launches;           /* launches of the pool or of a part of it */
};
int heddle_tasks_look(struct heddle_tasks *t, struct heddle_tasks_state *ret);

#ifdef __cplusplus
}
#endif

#endif
