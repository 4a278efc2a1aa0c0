/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside a pool of tasks (heddle/task.h). A pool's kernel stays on the GPU, and executes small
 * kernels as tasks. Each of its blocks has a column, an array of rows that the host fills. Files:
 * pool.c creates pools, pool_run.c launches and stops them, pool_launch.c assigns columns to
 * launches, pool_place.c assigns rows to threads, and pool_spawn.c adds tasks and waits for them.
 *
 * A pool's state is RUNNING, LEAVING, AWAY (not on the GPU) or FAILED. It changes only under
 * `lock`. A thread that adds a task first marks the row as filled, and then reads the state. The
 * parker (a thread that stops the pool) first stores LEAVING, later AWAY, and then reads the rows.
 * Each of these two threads executes a full fence between its store and its read, so at least one
 * of them sees what the other has stored. If the adding thread reads AWAY, it launches the pool
 * again. If it reads LEAVING it does nothing, because the parker reads the rows after it has stored
 * AWAY.
 *
 * If the system has membarrier(2), the parker executes a fence in all threads at once, and a thread
 * that adds a task needs no fence of its own. Such a fence for each task would wait every time
 * until the task's cache lines are written.
 *
 * RUNNING: one or more launches are on the GPU (pool_launch.c), each with columns of its own. */
#ifndef HEDDLE_RT_POOL_H
#define HEDDLE_RT_POOL_H

#include "base/map.h"
#include "base/measure.h"
#include "heddle/task.h"
#include "pass/task/tasks.h"
#include "rt/pool_launch.h"
#include "rt/rt.h"

#include <pthread.h>
#include <stdatomic.h>

#define POOL_FORMS       TASK_KINDS
#define POOL_MAX_COLUMNS 4096
#define POOL_KEY         8     /* number of words that describe a task's shape */
#define POOL_HEAD        3     /* number of words that the device gets */
#define POOL_NAP_NS      20000 /* interval between checks of the device */

enum pool_state { POOL_AWAY, POOL_RUNNING, POOL_LEAVING, POOL_FAILED };

struct pool_kernel {
	struct rt_kernel *kernel;
	uint32_t arg_bytes, arg_align, static_bytes;
	/* Properties of the kernel's two forms (rewritten kernels): [0] for blocks of whole warps,
	 * [1] for other blocks. Set before the form exists. */
	bool barriers[2], one_dimensional[2], rising[2];
	_Atomic int form[2]; /* index of the form in the module; -1: not made yet */
	/* a task shape that was used recently, and the device's encoding of it (pool_shape.c) */
	struct pool_shape {
		_Atomic uint32_t turn;
		_Atomic unsigned missed;
		_Atomic uint32_t key[POOL_KEY];
		_Atomic uint64_t head[POOL_HEAD];
	} shape;
};

struct pool_column; /* see pool_row.h */
struct pool_hand;   /* pool_place.c: record of a thread */
struct pool_form {
	unsigned kernel;
	bool partly;
};

struct heddle_tasks {
	/* next in the list heddle.pools; heddle_tasks_destroy frees it */
	struct heddle_tasks *next;
	/* next in the list of all pools of the process (pool_all.c) */
	struct heddle_tasks *next_of_all;
	/* number of the process that created the pool (pool_all.c) */
	unsigned process;
	struct heddle *h;
	struct heddle_tasks_options o;
	unsigned per_sm, n_columns;
	_Atomic unsigned usable; /* number of columns that can be on the GPU at once */
	/* grows to shared_most when a task needs more than this */
	_Atomic uint32_t shared_bytes;
	uint32_t shared_most, executors, more_bytes;

	struct task_column *columns; /* pinned */
	uint8_t *more;               /* pinned */
	CUdeviceptr own, tickets, columns_at, more_at, lists_at;
	struct pool_column *of;
	uint32_t *lists; /* pinned: a list of columns for each entry of at_once */

	/* pool_place.c: guards `owner`, the thread that owns all columns, if any */
	pthread_mutex_t owner_lock;
	_Atomic(struct pool_hand *) owner;
	_Atomic(const void *) last; /* identifies the thread that added tasks at the last check */

	/* guards rebuilding of the module; taken before all other locks */
	pthread_mutex_t build_lock;
	_Alignas(128) pthread_mutex_t lock;
	pthread_cond_t changed; /* signals changes of state and stop */
	_Atomic int state;
	_Atomic bool waits; /* tasks wait in columns that have not started on the GPU */
	bool suspended, stop, has_monitor;
	/* true: the thread that stops the pool fences all other threads, so adding a task needs no
	 * fence */
	bool heavy;
	pthread_t monitor;
	struct pool_launch at_once[POOL_LAUNCHES];
	uint32_t launch;       /* number of the last launch */
	unsigned first_column; /* first column of the last launch */
	_Atomic uint64_t launches;
	_Atomic uint64_t n_inner; /* number of rows for parts of tasks other than the first part */
	char why[768];            /* reason for POOL_FAILED */

	_Atomic unsigned n_kernels;
	struct pool_kernel kernel[HEDDLE_MAX_TASK_KERNELS];
	unsigned n_forms;
	struct pool_form form[POOL_FORMS];
	uint32_t nap_ns;            /* see pass_pool */
	struct task_stamps *stamps; /* pinned; NULL: the pool records no times */
	CUdeviceptr stamps_at;
	/* true: a task's block can have as many warps as the pool's block, including the
	 * scheduler's warp */
	_Atomic bool wide;
	CUmodule module;
	CUfunction fn;

	pthread_mutex_t failed_lock;
	struct hash_map failed; /* maps a task's id to a struct pool_failed (pool_failed.c) */
	uint64_t n_failed, told_failed, last_failed; /* last_failed: id of the last one */
	bool failed_lost;                            /* some failures are not in the table */
};

/* Sets the text that heddle_tasks_error returns. Returns err. */
int pool_fail(int err, const char *fmt, ...) HD_PRINTF(2, 3);
/* Appends to that text. Returns err. */
int pool_fail_more(int err, const char *fmt, ...) HD_PRINTF(2, 3);
int pool_fail_as(const struct heddle *h, int err); /* uses the error text of h */

/* pool.c: makes a form of the kernel if it does not exist yet. Returns -ENOTSUP if the kernel
 * cannot have this form, or another error of building the pool's module. */
int pool_need_form(struct heddle_tasks *t, unsigned kernel, bool partly);
int pool_need_wide(struct heddle_tasks *t);
int pool_need_shared(struct heddle_tasks *t); /* raises shared_bytes to shared_most */
/* pool_ask_stamps makes the pool record times of each task. Call it before the first kernel is
 * added; afterwards a task's blocks cannot be as wide as the pool's. If it fails, heddle_error has
 * the reason. pool_read_stamps returns the times of a task that has ended, until its row is
 * reused. */
int pool_ask_stamps(struct heddle_tasks *t);
int pool_read_stamps(struct heddle_tasks *t, uint64_t id, struct task_stamps *ret);
/* pool_run.c: makes a fence in all threads; the counterpart of pool_light_fence. */
void pool_heavy_fence(const struct heddle_tasks *t);
bool pool_has_heavy_fence(void); /* false: each thread must fence */
/* Call these with the pool's lock. */
int pool_park(struct heddle_tasks *t); /* waits until the pool is AWAY; -EIO: it is FAILED */
/* -ETIMEDOUT: the pool keeps running */
int pool_park_within(struct heddle_tasks *t, uint64_t limit_ns);
int pool_resume(struct heddle_tasks *t); /* launches the pool if it is AWAY and has tasks */
/* Call this without the lock if the pool was seen to be AWAY. */
int pool_wake(struct heddle_tasks *t);
/* Lets the virtual GPU make progress if it has no thread of its own. Returns -EIO if the device has
 * failed. */
int pool_pump(struct heddle_tasks *t);
int pool_start_monitor(struct heddle_tasks *t);
void pool_stop_monitor(struct heddle_tasks *t);

/* pool_place.c */
bool pool_has_ended(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen);
/* pool_failed.c: saves the failure of the task in this row, if it failed. The thread that has taken
 * the column calls this after the task has ended, before it reuses the row. */
void pool_note_failed(struct heddle_tasks *t, const struct pool_column *c, unsigned row);
void pool_forget_failed(struct heddle_tasks *t); /* frees all recorded failures */
/* Returns how a task has ended: 0, or -EFAULT with the error text set. Returns -ENOMEM if a failure
 * could not be recorded, so that the result is not known. */
int pool_how(struct heddle_tasks *t, struct pool_column *c, unsigned row, uint64_t gen);
uint64_t pool_count_failed(struct heddle_tasks *t);
/* Returns -EFAULT if tasks have failed since the last call that returned it. */
int pool_tell_failed(struct heddle_tasks *t);

#endif
