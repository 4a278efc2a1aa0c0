/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside a pool of tasks (heddle/task.h). pool.c creates it, pool_run.c brings it to the GPU and
 * off it, pool_launch.c assigns columns to launches, pool_place.c assigns rows to threads, and
 * pool_spawn.c adds tasks and waits for them.
 *
 * A pool's state is RUNNING, LEAVING or AWAY (not on the GPU), changed only under `lock`. A
 * spawning thread stores the row's word and then reads the state. The parking thread stores
 * LEAVING, later AWAY, and then reads the rows' words. With a full fence between store and read on
 * each side, one of them sees the other. So a spawner that reads AWAY brings the pool back, and one
 * that reads LEAVING need not, since the parker reads the words after AWAY. If the kernel has
 * membarrier(2), the parker's fence covers all threads, and spawners need none: a fence waits until
 * the stored cache lines arrive, for each task again.
 *
 * RUNNING: one or more launches are on the GPU (pool_launch.c), each with columns of its own. */
#ifndef HEDDLE_RT_POOL_H
#define HEDDLE_RT_POOL_H

#include "base/measure.h"
#include "heddle/task.h"
#include "pass/task/task.h"
#include "rt/pool_launch.h"
#include "rt/rt.h"

#include <pthread.h>
#include <stdatomic.h>

#define POOL_FORMS       TASK_KINDS
#define POOL_MAX_COLUMNS 4096
#define POOL_KEY         8     /* words that a task's shape is, */
#define POOL_HEAD        3     /* its words for the device */
#define POOL_NAP_NS      20000 /* between looks at the device */

enum pool_state { POOL_AWAY, POOL_RUNNING, POOL_LEAVING, POOL_FAILED };

struct pool_kernel {
	struct rt_kernel *kernel;
	uint32_t arg_bytes, arg_align, static_bytes;
	/* For blocks of whole warps, and for other blocks. Set before the form exists. */
	bool barriers[2], one_dimensional[2], rising[2];
	_Atomic int form[2]; /* index in the module; -1: none yet */
	/* pool_shape.c: the last shape of a task, and its words for the device */
	struct pool_shape {
		_Atomic uint32_t turn;
		_Atomic unsigned missed;
		_Atomic uint32_t key[POOL_KEY];
		_Atomic uint64_t head[POOL_HEAD];
	} shape;
};

struct pool_failed;
struct pool_column; /* pool_row.h */
struct pool_hand;   /* pool_place.c: a thread */
struct pool_form {
	unsigned kernel;
	bool partly;
};

struct heddle_tasks {
	struct heddle_tasks *next;        /* of the handle's */
	struct heddle_tasks *next_of_all; /* pool_all.h */
	unsigned process;                 /* the one that made it (pool_all.c) */
	struct heddle *h;
	struct heddle_tasks_options o;
	unsigned per_sm, n_columns;
	_Atomic unsigned usable; /* columns that can be there at once */
	/* grows to shared_most with the first task that needs more */
	_Atomic uint32_t shared_bytes;
	uint32_t shared_most, executors, more_bytes;

	struct task_column *columns; /* pinned */
	uint8_t *more;               /* pinned */
	CUdeviceptr own, tickets, columns_at, more_at, lists_at;
	struct pool_column *of;
	uint32_t *lists; /* pinned: a list of each place for a launch */

	pthread_mutex_t owner_lock; /* pool_place.c: the thread that owns all columns, if any; */
	_Atomic(struct pool_hand *) owner;
	_Atomic(const void *) last; /* the spawning thread at the last check */

	pthread_mutex_t build_lock; /* guards rebuilding the module; taken before all other locks */
	_Alignas(128) pthread_mutex_t lock;
	pthread_cond_t changed; /* state, or stop */
	_Atomic int state;
	_Atomic bool waits; /* rows of columns that have not come to the GPU */
	bool suspended, stop, has_monitor;
	bool heavy; /* the parker fences all other threads, so spawners need no fence */
	pthread_t monitor;
	struct pool_launch at_once[POOL_LAUNCHES];
	uint32_t launch;       /* number of the last one */
	unsigned first_column; /* of that */
	_Atomic uint64_t launches;
	_Atomic uint64_t n_inner; /* rows for parts of a task other than its first */
	char why[768];            /* state POOL_FAILED */

	_Atomic unsigned n_kernels;
	struct pool_kernel kernel[HEDDLE_MAX_TASK_KERNELS];
	unsigned n_forms;
	struct pool_form form[POOL_FORMS];
	uint32_t nap_ns;            /* pass_pool */
	struct task_stamps *stamps; /* pinned; NULL: not asked for */
	CUdeviceptr stamps_at;
	_Atomic bool wide; /* the module allows blocks of all warps, including the scheduler's */
	CUmodule module;
	CUfunction fn;

	pthread_mutex_t failed_lock;
	struct pool_failed *failed; /* pool_failed.c */
	size_t failed_size, in_table;
	uint64_t n_failed, told_failed, last_failed; /* the last one's id */
	bool failed_lost;                            /* some are not in the table */
};

/* For heddle_tasks_error. Returns err. */
int pool_fail(int err, const char *fmt, ...) HD_PRINTF(2, 3);
/* Behind what it says already. */
int pool_fail_more(int err, const char *fmt, ...) HD_PRINTF(2, 3);
int pool_fail_as(const struct heddle *h, int err); /* what h says */

/* pool.c: makes a kernel's missing form; -ENOTSUP: the kernel has none. */
int pool_need_form(struct heddle_tasks *t, unsigned kernel, bool partly);
int pool_need_wide(struct heddle_tasks *t);
int pool_need_shared(struct heddle_tasks *t); /* raises shared memory to a block's maximum */
/* Before the first kernel: records times of each task; blocks as wide as the pool's are not
 * possible then. heddle_error has the reason of a failure. pool_read_stamps: for a task that has
 * ended, until its row is reused. */
int pool_ask_stamps(struct heddle_tasks *t);
int pool_read_stamps(struct heddle_tasks *t, uint64_t id, struct task_stamps *ret);
/* pool_run.c: the counterpart of pool_light_fence. */
void pool_heavy_fence(const struct heddle_tasks *t);
bool pool_has_heavy_fence(void); /* may it be light? */
/* With the lock: */
int pool_park(struct heddle_tasks *t); /* until it is AWAY, or FAILED: -EIO */
int pool_park_within(struct heddle_tasks *t, uint64_t limit_ns); /* -ETIMEDOUT: it runs on */
int pool_resume(struct heddle_tasks *t); /* if AWAY, and there is something to do */
/* Without it: somebody saw AWAY. */
int pool_wake(struct heddle_tasks *t);
/* Lets the virtual GPU progress if it has no thread of its own. -EIO: the device has failed. */
int pool_pump(struct heddle_tasks *t);
int pool_start_monitor(struct heddle_tasks *t);
void pool_stop_monitor(struct heddle_tasks *t);

/* pool_place.c */
bool pool_has_ended(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen);
/* pool_failed.c. The owner of the column calls it before it reuses the row of a task that has
 * ended. */
void pool_note_failed(struct heddle_tasks *t, const struct pool_column *c, unsigned row);
/* For a task that has ended: 0; or -EFAULT, with the error's text set. */
int pool_how(struct heddle_tasks *t, struct pool_column *c, unsigned row, uint64_t gen);
uint64_t pool_count_failed(struct heddle_tasks *t);
/* -EFAULT: some have failed since it last returned this */
int pool_tell_failed(struct heddle_tasks *t);

#endif
