/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The launches of a pool that are on the GPU, and the columns of each. A column is an array of task
 * rows, and a hardware block serves it.
 *
 * Each launch gets a list of columns, and each of its blocks takes one column from the list.
 * Several launches can run at once. When a block is done with its column, its last store records
 * that in task_column.launch. Then the next launch can have this column, even if the first launch
 * still runs other columns. No column is in two launches at once:
 *
 *     away     no launch has the column, or its block has released it and no other block of that
 *              launch takes it
 *     brought  the column is in the list of a launch that has not ended: its block has not started
 *              yet, or runs
 *
 * A launch may end before its blocks have taken every column (task_args.first_free_sm). Columns
 * that no block has taken are then away. */
#include "rt/pool_row.h"

#include <limits.h>

/* If some SMs must stay free, the grid has this many times as many blocks as the device holds. */
#define COMING 8u
/* Shortest time without a heartbeat of the host after which a pool with a lifetime stops by
 * itself. */
#define QUIET_NS 200000000u

/* Returns true if no launch has the column. */
static bool is_away(const struct heddle_tasks *t, unsigned column)
{
	const struct pool_column *c = &t->of[column];

	return !c->launch ||
	       __atomic_load_n(&c->at->launch, __ATOMIC_ACQUIRE) == (c->launch << 1 | 1);
}

unsigned pool_count_away(const struct heddle_tasks *t)
{
	unsigned away = 0;

	for (unsigned c = 0; c < atomic_load(&t->usable); c++)
		away += is_away(t, c);
	return away;
}

unsigned pool_count_columns(const struct heddle_tasks *t, const struct pool_launch *l)
{
	unsigned n = 0;

	for (unsigned c = 0; c < t->n_columns; c++)
		n += t->of[c].launch == l->number && !is_away(t, c);
	return n;
}

unsigned pool_count_launches(const struct heddle_tasks *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < POOL_LAUNCHES; i++)
		n += t->at_once[i].number != 0;
	return n;
}

/* ---- leaving the GPU, or staying ---- */

static void set_control(struct pool_column *c, bool park)
{
	uint8_t *word = &c->at->in[TASK_ROWS];

	if (park)
		__atomic_fetch_or(word, TASK_PARK, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(word, (uint8_t)~TASK_PARK, __ATOMIC_RELEASE);
}

static void control_all(struct heddle_tasks *t, const struct pool_launch *l, bool park)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		if (t->of[c].launch == l->number)
			set_control(&t->of[c], park);
}

static uint64_t lifetime_ns(const struct heddle_tasks *t)
{
	return t->o.lifetime_ms == UINT_MAX ? 0 : (uint64_t)t->o.lifetime_ms * 1000000u;
}

void pool_ask_leave(struct heddle_tasks *t, struct pool_launch *l, uint64_t now)
{
	control_all(t, l, true);
	l->asked = true;
	l->asked_ns = now;
}

void pool_ask_stay(struct heddle_tasks *t, struct pool_launch *l, uint64_t now)
{
	control_all(t, l, false);
	l->asked = false;
	if (lifetime_ns(t))
		l->due_ns = now + (lifetime_ns(t) << l->refused);
}

/* ---- launching columns ---- */

/* Lists all columns that no launch has. If other kernels use some SMs, the launch has fewer blocks
 * than the list has columns, and the last columns of the list get no block. So the list begins with
 * a column that has waiting tasks, if there is one, and the search for it begins at another column
 * each time. */
static unsigned list_away(struct heddle_tasks *t, uint32_t *list)
{
	unsigned n = atomic_load(&t->usable), len = 0, first = t->first_column % n;

	for (unsigned i = 1; i <= n; i++) {
		unsigned c = (t->first_column + i) % n;

		if (is_away(t, c) && pool_has_waiting(&t->of[c])) {
			first = c;
			break;
		}
	}
	t->first_column = first;
	for (unsigned i = 0; i < n; i++)
		if (is_away(t, (first + i) % n))
			list[len++] = (first + i) % n;
	return len;
}

/* Returns when a new launch should be asked to stop. If possible, all launches of the pool are
 * asked at the same time, so that other programs find a free GPU. So the result is the time of
 * another launch, if that time is more than a quarter of the lifetime away and at most one
 * lifetime. Otherwise it is one lifetime from now, or never if the pool has no lifetime. */
static uint64_t find_due(const struct heddle_tasks *t, uint64_t now)
{
	uint64_t lifetime = lifetime_ns(t);

	if (!lifetime)
		return UINT64_MAX;
	for (unsigned i = 0; i < POOL_LAUNCHES; i++) {
		const struct pool_launch *l = &t->at_once[i];

		if (l->number && !l->asked && l->due_ns > now + lifetime / 4 &&
			l->due_ns <= now + lifetime)
			return l->due_ns;
	}
	return now + lifetime;
}

/* Returns how long the launch waits for a heartbeat of the pool's monitor thread before it stops by
 * itself. A driver call of the program may block the monitor's own calls until all kernels have
 * ended. Then no heartbeat comes, and the launch has to stop. */
static uint64_t find_beat_ns(const struct heddle_tasks *t)
{
	uint64_t beat = (uint64_t)t->o.beat_ms * 1000000u, quiet;

	if (!lifetime_ns(t))
		return beat;
	quiet = MAX(lifetime_ns(t), (uint64_t)t->o.beat_every_ms * 1000000u);
	return MIN(beat, MAX(2 * quiet, QUIET_NS));
}

static CUresult start_launch(struct heddle_tasks *t, const struct pool_launch *l, unsigned n)
{
	const struct cu_api *cu = &t->h->d.cu;
	struct ctl_args none = {0};
	struct task_args a = {
		.columns = t->columns_at,
		.more = t->more_at,
		.own = t->own,
		.ticket = l->ticket,
		.list = l->list_at,
		.beat_ns = find_beat_ns(t),
		.n_columns = n,
		.launch = l->number,
		.more_bytes = t->more_bytes,
		.shared_bytes = t->shared_bytes,
		.first_free_sm = t->o.leave_sms ? t->h->d.n_sms - t->o.leave_sms : UINT32_MAX,
		.stamps = t->stamps_at,
	};
	void *params[] = {&a, &none};
	/* Blocks on SMs that must stay free exit at once. The hardware then starts the next blocks
	 * of the grid on the same SMs, because these are the emptiest. So the grid has more blocks
	 * than there are columns in the list; a block that finds no column left exits as well. */
	unsigned grid = t->o.leave_sms ? COMING * t->h->d.n_sms * t->per_sm : n;
	CUresult r = cu->cuMemsetD32Async(l->ticket, 0, 1, l->stream);

	if (r == CUDA_SUCCESS)
		r = cu->cuLaunchKernel(t->fn, grid, 1, 1, t->o.threads, 1, 1, t->shared_bytes,
			l->stream, params, NULL);
	return r;
}

CUresult pool_bring(struct heddle_tasks *t, uint64_t now)
{
	struct pool_launch *l = t->at_once;
	CUresult r;
	unsigned n;

	while (l->number)
		if (++l == t->at_once + POOL_LAUNCHES)
			return CUDA_SUCCESS;
	n = list_away(t, l->list);
	if (n == 0)
		return CUDA_SUCCESS;
	if (rt_enter(t->h) < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	l->due_ns = find_due(t, now);
	l->asked = false;
	l->refused = 0;
	t->launch = t->launch % INT32_MAX + 1; /* 0 stands for no launch */
	l->number = t->launch;
	for (unsigned i = 0; i < n; i++) {
		t->of[l->list[i]].launch = l->number;
		set_control(&t->of[l->list[i]], false);
	}
	r = start_launch(t, l, n);
	rt_leave(t->h);
	if (r == CUDA_SUCCESS)
		atomic_fetch_add(&t->launches, 1);
	return r;
}

/* ---- end of a launch ---- */

static void note_end(struct heddle_tasks *t, struct pool_launch *l)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		if (t->of[c].launch == l->number)
			t->of[c].launch = 0;
	l->number = 0;
}

CUresult pool_query(struct heddle_tasks *t)
{
	CUresult ret = CUDA_SUCCESS;

	if (rt_enter(t->h) < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	for (unsigned i = 0; i < POOL_LAUNCHES; i++) {
		struct pool_launch *l = &t->at_once[i];
		CUresult r = l->number ? t->h->d.cu.cuStreamQuery(l->stream) : CUDA_SUCCESS;

		if (l->number && r == CUDA_SUCCESS)
			note_end(t, l);
		if (r != CUDA_SUCCESS && (ret == CUDA_SUCCESS || ret == CUDA_ERROR_NOT_READY))
			ret = r;
	}
	rt_leave(t->h);
	return ret;
}

CUresult pool_find_fault(struct heddle_tasks *t)
{
	CUresult r = CUDA_SUCCESS;

	if (rt_enter(t->h) < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	for (unsigned i = 0; i < POOL_LAUNCHES && r == CUDA_SUCCESS; i++) {
		const struct pool_launch *l = &t->at_once[i];

		r = l->number ? t->h->d.cu.cuStreamQuery(l->stream) : CUDA_SUCCESS;
		r = r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
	}
	rt_leave(t->h);
	return r;
}
