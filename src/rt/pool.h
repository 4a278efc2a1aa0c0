/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A pool of tasks inside (heddle/task.h). pool.c makes it, pool_run.c has it come to the GPU and
 * leave, pool_launch.c knows which launch has which columns, pool_place.c knows who has which rows,
 * pool_spawn.c gives it tasks and waits for them.
 *
 * Whether it is on the GPU: RUNNING, LEAVING, AWAY, changed under `lock` alone. Who spawns stores
 * the row's word and then looks at it; who parks stores LEAVING, later AWAY, and then looks at the
 * words; with a full fence in each between the two one of them sees the other. So who sees AWAY has
 * the pool come back, and who sees LEAVING need not: the parker looks behind AWAY. Where the kernel
 * has membarrier(2), the parker's fence is one in all threads, and who spawns does without: a fence
 * waits until the lines of what was stored are there, each task anew.
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
#define POOL_HEAD        3     /* and that the device is told */
#define POOL_NAP_NS      20000 /* between looks at the device */

enum pool_state { POOL_AWAY, POOL_RUNNING, POOL_LEAVING, POOL_FAILED };

struct pool_kernel {
	struct rt_kernel *kernel;
	uint32_t arg_bytes, arg_align, static_bytes;
	/* Of blocks of whole warps, and of others. What holds of a form is there before it. */
	bool barriers[2], one_dimensional[2], rising[2];
	_Atomic int form[2]; /* index in the module; -1: none yet */
	struct pool_shape {  /* pool_shape.c: the last one of a task, and what the device is told */
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
	_Atomic unsigned usable;       /* columns that can be there at once */
	_Atomic uint32_t shared_bytes; /* becomes shared_most with the first task that needs more */
	uint32_t shared_most, executors, more_bytes;

	struct task_column *columns; /* pinned */
	uint8_t *more;               /* pinned */
	CUdeviceptr own, tickets, columns_at, more_at, lists_at;
	struct pool_column *of;
	uint32_t *lists; /* pinned: a list of each place for a launch */

	pthread_mutex_t owner_lock; /* pool_place.c: who has all columns, if somebody has; */
	_Atomic(struct pool_hand *) owner;
	_Atomic(const void *) last; /* who spawned when that was looked at last */

	pthread_mutex_t build_lock; /* who makes its module anew; taken ahead of all others */
	_Alignas(128) pthread_mutex_t lock;
	pthread_cond_t changed; /* state, or stop */
	_Atomic int state;
	_Atomic bool waits; /* rows of columns that have not come to the GPU */
	bool suspended, stop, has_monitor;
	bool heavy; /* who parks makes other threads fence, so that who spawns need not */
	pthread_t monitor;
	struct pool_launch at_once[POOL_LAUNCHES];
	uint32_t launch;       /* number of the last one */
	unsigned first_column; /* of that */
	_Atomic uint64_t launches;
	_Atomic uint64_t n_inner; /* rows that were given to parts of tasks that others began */
	char why[768];            /* state POOL_FAILED */

	_Atomic unsigned n_kernels;
	struct pool_kernel kernel[HEDDLE_MAX_TASK_KERNELS];
	unsigned n_forms;
	struct pool_form form[POOL_FORMS];
	uint32_t nap_ns;            /* pass_pool */
	struct task_stamps *stamps; /* pinned; NULL: not asked for */
	CUdeviceptr stamps_at;
	_Atomic bool wide; /* the module takes blocks of all warps, the scheduler's, too */
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

/* pool.c: a form of a kernel that is not there yet; -ENOTSUP: there is none. */
int pool_need_form(struct heddle_tasks *t, unsigned kernel, bool partly);
int pool_need_wide(struct heddle_tasks *t);
int pool_need_shared(struct heddle_tasks *t); /* all that a block of it can have */
/* Ahead of its first kernel: when what happened to each task; blocks as wide as the pool's are none
 * then. heddle_error says what failed. Of a task that has ended, until its row is used again: */
int pool_ask_stamps(struct heddle_tasks *t);
int pool_read_stamps(struct heddle_tasks *t, uint64_t id, struct task_stamps *ret);
/* pool_run.c: against pool_light_fence. */
void pool_heavy_fence(const struct heddle_tasks *t);
bool pool_has_heavy_fence(void); /* may it be light? */
/* With the lock: */
int pool_park(struct heddle_tasks *t); /* until it is AWAY, or FAILED: -EIO */
int pool_park_within(struct heddle_tasks *t, uint64_t limit_ns); /* -ETIMEDOUT: it runs on */
int pool_resume(struct heddle_tasks *t); /* if AWAY, and there is something to do */
/* Without it: somebody saw AWAY. */
int pool_wake(struct heddle_tasks *t);
/* Lets the device go on where it has no thread of its own; sees whether it failed: -EIO. */
int pool_pump(struct heddle_tasks *t);
int pool_start_monitor(struct heddle_tasks *t);
void pool_stop_monitor(struct heddle_tasks *t);

/* pool_place.c */
bool pool_has_ended(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen);
/* pool_failed.c. Whoever has the column, before a row whose task has ended is used again: */
void pool_note_failed(struct heddle_tasks *t, const struct pool_column *c, unsigned row);
/* Of a task that has ended: 0, or -EFAULT, said. */
int pool_how(struct heddle_tasks *t, struct pool_column *c, unsigned row, uint64_t gen);
uint64_t pool_count_failed(struct heddle_tasks *t);
int pool_tell_failed(struct heddle_tasks *t); /* -EFAULT: some, since it said so last */

#endif
