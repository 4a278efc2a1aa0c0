/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Thousands of small kernels a second, as tasks of one kernel that stays on the GPU; see
 * heddle(3).
 *
 * A pool occupies a part of the GPU. Its blocks run tasks; one warp of each block schedules
 * them. A task is a launch of an ordinary __global__ kernel, with its own grid, blocks, shared
 * memory and parameters. It begins when it is spawned, without a batch, flush or later spawn,
 * and ends on its own. Tasks must not depend on each other: they run in any order. If a grid has
 * more blocks than one block of the pool can run at once, several blocks of the pool run it, so
 * a large task can use the whole device. heddle_free, heddle_load and heddle_corun make the pool
 * leave the GPU until they are done.
 *
 * Functions return 0 or a negative errno. heddle_tasks_error then says what is wrong, and what
 * to do. Any number of threads may spawn, wait and check at once; the other functions are for
 * one thread at a time. Structures begin with their size: set it to sizeof. */
#ifndef HEDDLE_TASKS_H
#define HEDDLE_TASKS_H

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_TASK_KERNELS 16 /* in one pool */

struct heddle_tasks;

struct heddle_tasks_options { /* 0: the default */
	size_t size;
	/* Threads of a block of the pool, a multiple of 32 from 64 to 1,024 (default: 1,024).
	 * One of its warps schedules. A task block may be as wide as a pool block. One that
	 * needs every warp waits for an idle pool block and takes it whole. */
	unsigned threads;
	unsigned registers; /* of a thread: 32, 64 or 128 (default: 32) */
	/* Blocks of the pool on each SM. Default: as many as fit, at most 4 on an H100, because
	 * a block takes 16 of an SM's 64 barriers if a kernel has barriers. A pool with more
	 * blocks refuses such a kernel (heddle_tasks_add: -E2BIG). */
	unsigned blocks_per_sm;
	unsigned leave_sms; /* SMs that the pool does not use (default: 0) */
	/* Shared memory for tasks, of each block of the pool. Default: half of the block's part
	 * of an SM's shared memory, and all of that part, up to 512 KiB, once a task needs more. */
	unsigned shared_bytes;
	unsigned args_bytes; /* greatest size of a kernel's parameters (default: 1,024) */
	/* The pool leaves the GPU after this time without a task, and returns for the next one
	 * (default: 1,000). UINT_MAX: it stays until lifetime_ms has passed. */
	unsigned idle_us;
	/* The pool leaves the GPU if it sees no sign of life from this process for this time
	 * (default: 10,000). */
	unsigned beat_ms;
	/* Interval between signs of life (default: an eighth of beat_ms, and at most 50 with a
	 * lifetime). */
	unsigned beat_every_ms;
	/* The pool leaves the GPU after this time and returns, so that other kernels and driver
	 * calls of the program make progress (default: 100; UINT_MAX: never). Each of its blocks
	 * leaves once its own tasks have ended. Blocks that have left return while a long task
	 * keeps others. */
	unsigned lifetime_ms;
};

/* A child of fork cannot use its parent's pools: every call but heddle_tasks_error returns
 * -EINVAL there, as it does for a pool that is NULL. */
/* Creates a pool on h's device. It exists until it is destroyed or h is closed. options: NULL is
 * all 0. Nothing runs yet. If the call fails, *ret is NULL and heddle_error(h) says why.
 * -EINVAL: an option has no valid value; -ENOMEM; -EIO: the driver reported an error. */
int heddle_tasks_create(
	struct heddle *h, const struct heddle_tasks_options *options, struct heddle_tasks **ret);
/* Destroys the pool. Waiting tasks are dropped; running tasks end first. NULL: does nothing. No
 * other thread may use the pool. -ETIMEDOUT: a task of this pool, or of another pool of the
 * process, has not ended within 10 s. The pool then still exists, other tasks of it may wait for
 * that task, and the call can be repeated. heddle_close destroys its pools, so the handle stays
 * in that case. A driver loads and frees nothing while a kernel is on the GPU, so
 * heddle_tasks_add, heddle_load, heddle_free and heddle_corun return -ETIMEDOUT for the same
 * reason. -EINVAL: the pool belongs to the parent of this process. */
int heddle_tasks_destroy(struct heddle_tasks *t);
/* Text of this thread's last call that failed; "" if none did. */
const char *heddle_tasks_error(const struct heddle_tasks *t);

/* Adds a kernel, by the name that heddle_load gave it. Tasks may run meanwhile: the pool leaves
 * the GPU, is built again, and returns. -ENOENT: no kernel has this name; -ENOTSUP: the kernel
 * cannot run as a task, or the driver's compiler crashed on it; -ETIMEDOUT: compilation timed
 * out (heddle_limit_compiling); -E2BIG: too many kernels, or its parameters need more than
 * args_bytes; -EIO. */
int heddle_tasks_add(struct heddle_tasks *t, const char *kernel, unsigned *ret_kernel);

struct heddle_task {
	size_t size;
	unsigned kernel; /* as heddle_tasks_add returned it */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	/* The parameters as one structure, laid out as the kernel declares them. The call copies
	 * it. NULL: use params. */
	const void *args;
	size_t args_bytes; /* size of that structure */
	void **params;     /* a pointer to each parameter's value, as for cuLaunchKernel */
};

/* Spawns a task. If the pool is full, the call waits for a free place. *ret_id stays valid for
 * ever; ret_id may be NULL. -EINVAL: no such kernel, a grid or block with a 0, or args of
 * another size; -E2BIG: a block of the task needs more threads or shared memory than a block of
 * the pool has; -ENOTSUP: this kernel cannot have blocks of this shape; -EIO: the device failed. */
int heddle_tasks_spawn(struct heddle_tasks *t, const struct heddle_task *task, uint64_t *ret_id);
/* 0: the task has ended and its results are visible; -EAGAIN: it has not ended; -EFAULT: it has
 * failed: a thread executed a trap or failed an assertion. heddle_tasks_error then says which
 * thread, and where. Do not use the results of that task; other tasks are not affected. -EIO:
 * the device failed, so the task never ends; -EINVAL: there never was such a task. */
int heddle_tasks_check(struct heddle_tasks *t, uint64_t id);
/* Waits until the task has ended, at most timeout_ns (UINT64_MAX: for ever). Returns as
 * heddle_tasks_check, or -ETIMEDOUT: the task has not ended. */
int heddle_tasks_wait(struct heddle_tasks *t, uint64_t id, uint64_t timeout_ns);
/* Waits for all tasks that were spawned before the call. -EFAULT: they have ended, and tasks
 * have failed since the last call that returned -EFAULT. */
int heddle_tasks_wait_all(struct heddle_tasks *t, uint64_t timeout_ns);

/* The pool leaves the GPU once its running tasks have ended, and stays away until it is resumed.
 * Spawned tasks wait, as far as there are places for them. */
int heddle_tasks_suspend(struct heddle_tasks *t);
int heddle_tasks_resume(struct heddle_tasks *t);

struct heddle_tasks_state {
	size_t size;
	unsigned columns, executors; /* blocks of the pool; warps of each that run tasks */
	unsigned shared_bytes;       /* of each block of the pool, for tasks */
	unsigned running;            /* 1: the pool is on the GPU */
	uint64_t spawned, ended;     /* tasks */
	uint64_t failed;             /* ended tasks that failed */
	uint64_t launches;           /* how often the pool, or a part of it, was launched */
};
int heddle_tasks_look(struct heddle_tasks *t, struct heddle_tasks_state *ret);

#ifdef __cplusplus
}
#endif

#endif
