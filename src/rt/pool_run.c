/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A pool on the GPU and off it: launching, parking, and a thread that shows that the process is
 * alive, has an idle pool leave, and one that left by itself come back. */
#include "rt/pool_all.h"
#include "rt/pool_row.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define MONITOR_NS 1000000u   /* between its looks */
#define COMING_NS  100000000u /* for all of a launch's blocks, */
#define TURN_NS    10000000u  /* on the GPU, where another pool waits for room there */
#define LEAVING_NS 50000000u  /* for a launch whose columns have not all come to leave */
#define COMING     8u         /* which are so many times as many, where SMs are left */

uint64_t pool_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};

	nanosleep(&t, NULL);
}

static bool has_work(const struct heddle_tasks *t)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++)
			if (pool_in(&t->of[c], r) != pool_out(&t->of[c], r))
				return true;
	return false;
}

static void control(struct heddle_tasks *t, bool park)
{
	for (unsigned c = 0; c < t->n_columns; c++) {
		uint8_t *word = &t->of[c].at->in[TASK_ROWS];

		if (park)
			__atomic_fetch_or(word, TASK_PARK, __ATOMIC_RELEASE);
		else
			__atomic_fetch_and(word, (uint8_t)~TASK_PARK, __ATOMIC_RELEASE);
	}
}

static void beat(struct heddle_tasks *t)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		__atomic_fetch_add(&t->of[c].at->in[TASK_ROWS], TASK_BEAT, __ATOMIC_RELAXED);
}

/* Tasks that were begun, by their kernels, into t->why. */
static void name_victims(struct heddle_tasks *t, const char *text)
{
	unsigned n[HEDDLE_MAX_TASK_KERNELS] = {0}, waiting = 0;
	int len = snprintf(t->why, sizeof(t->why), "the device failed: %s; of its tasks", text);

	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++) {
			const struct task_column *at = t->of[c].at;
			uint8_t in = pool_in(&t->of[c], r);
			unsigned form = atomic_load(&t->of[c].row[r].form);

			if (in == pool_out(&t->of[c], r))
				continue;
			if (in == at->taken[r] && form < t->n_forms)
				n[t->form[form].kernel]++;
			else
				waiting++;
		}
	for (unsigned k = 0; k < t->n_kernels && len < (int)sizeof(t->why); k++)
		if (n[k])
			len += snprintf(t->why + len, sizeof(t->why) - (size_t)len,
				" %u of '%.100s' were in flight,", n[k], t->kernel[k].kernel->name);
	if (len < (int)sizeof(t->why))
		snprintf(t->why + len, sizeof(t->why) - (size_t)len, " %u had not begun", waiting);
}

/* With the lock. */
static int fail(struct heddle_tasks *t, CUresult r)
{
	const char *text = cu_result_text(r);

	if (atomic_load(&t->state) != POOL_FAILED)
		name_victims(t, text ? text : "unknown error");
	atomic_store(&t->state, POOL_FAILED);
	pthread_cond_broadcast(&t->changed);
	return pool_fail(-EIO, "%s", t->why);
}

/* ---- on the GPU ---- */

/* Where others have a part of the SMs, not all columns come: those that come in this launch begin
 * with one that has waited, and it is another one each time. */
static unsigned first_waiting(struct heddle_tasks *t, unsigned n)
{
	for (unsigned i = 1; i <= n; i++) {
		unsigned c = (t->first_column + i) % n;

		for (unsigned r = 0; r < TASK_ROWS; r++)
			if (pool_in(&t->of[c], r) != pool_out(&t->of[c], r))
				return t->first_column = c;
	}
	return t->first_column % n;
}

static CUresult launch(struct heddle_tasks *t)
{
	const struct cu_api *cu = &t->h->cu;
	unsigned n = atomic_load(&t->usable);
	struct ctl_args none = {0};
	struct task_args a = {
		.columns = t->columns_at,
		.more = t->more_at,
		.own = t->own,
		.ticket = t->ticket,
		.beat_ns = (uint64_t)t->o.beat_ms * 1000000u,
		.limit_ns = (uint64_t)t->o.lifetime_ms * 1000000u,
		.n_columns = n,
		.first_column = first_waiting(t, n),
		.launch = ++t->launch,
		.more_bytes = t->more_bytes,
		.shared_bytes = t->shared_bytes,
		.first_free_sm = t->o.leave_sms ? t->h->n_sms - t->o.leave_sms : UINT32_MAX,
		.stamps = t->stamps_at,
	};
	void *params[] = {&a, &none};
	/* Blocks on SMs that are left leave at once, and others come for them: to the same SMs, as
	 * those are the emptiest. So there are many; who finds no column left, leaves, too. */
	unsigned grid = t->o.leave_sms ? COMING * t->h->n_sms * t->per_sm : n;
	CUresult r = cu->cuMemsetD32Async(t->ticket, 0, 1, t->stream);

	if (r == CUDA_SUCCESS)
		r = cu->cuLaunchKernel(t->fn, grid, 1, 1, t->o.threads, 1, 1, t->shared_bytes,
			t->stream, params, NULL);
	return r;
}

int pool_resume(struct heddle_tasks *t)
{
	CUresult r;

	if (atomic_load(&t->state) != POOL_AWAY || t->suspended || pools_are_held() || !t->fn ||
		!has_work(t))
		return 0;
	control(t, false);
	atomic_store(&t->state, POOL_RUNNING);
	if (rt_enter(t->h) < 0)
		return fail(t, CUDA_ERROR_INVALID_CONTEXT);
	r = launch(t);
	rt_leave(t->h);
	if (r != CUDA_SUCCESS)
		return fail(t, r);
	atomic_fetch_add(&t->launches, 1);
	pthread_cond_broadcast(&t->changed);
	return 0;
}

int pool_wake(struct heddle_tasks *t)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = pool_resume(t);
	pthread_mutex_unlock(&t->lock);
	return r;
}

static CUresult query(struct heddle_tasks *t)
{
	CUresult r;

	if (rt_enter(t->h) < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	r = t->h->cu.cuStreamQuery(t->stream);
	rt_leave(t->h);
	return r;
}

/* ---- off the GPU ---- */

/* Against pool_light_fence. */
void pool_heavy_fence(const struct heddle_tasks *t)
{
	atomic_thread_fence(memory_order_seq_cst);
#ifdef __linux__
	if (t->heavy)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

/* It has left, or will: nothing else holds it up but a task that does not end. -ETIMEDOUT: one has
 * not within limit_ns (UINT64_MAX: no limit), and what has left comes again with the next launch.
 */
static int await_end(struct heddle_tasks *t, uint64_t limit_ns)
{
	uint64_t begin = limit_ns == UINT64_MAX ? 0 : pool_now_ns();
	CUresult r;

	while ((r = query(t)) == CUDA_ERROR_NOT_READY) {
		if (begin && pool_now_ns() - begin > limit_ns) {
			control(t, false);
			atomic_store(&t->state, POOL_RUNNING);
			return -ETIMEDOUT;
		}
		nap(POOL_NAP_NS);
	}
	if (r != CUDA_SUCCESS)
		return fail(t, r);
	atomic_store(&t->state, POOL_AWAY);
	pool_heavy_fence(t);
	return 0;
}

int pool_park_within(struct heddle_tasks *t, uint64_t limit_ns)
{
	if (atomic_load(&t->state) == POOL_FAILED)
		return pool_fail(-EIO, "%s", t->why);
	if (atomic_load(&t->state) == POOL_AWAY)
		return 0;
	atomic_store(&t->state, POOL_LEAVING);
	pool_heavy_fence(t);
	control(t, true);
	return await_end(t, limit_ns);
}

int pool_park(struct heddle_tasks *t)
{
	return pool_park_within(t, UINT64_MAX);
}

int pool_pump(struct heddle_tasks *t)
{
	CUresult r;

	if (atomic_load(&t->state) == POOL_FAILED)
		return pool_fail(-EIO, "%s", t->why);
	if (atomic_load(&t->state) != POOL_RUNNING)
		return 0;
	r = query(t);
	if (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY)
		return 0; /* ended: the monitor sees to that */
	pthread_mutex_lock(&t->lock);
	fail(t, r);
	pthread_mutex_unlock(&t->lock);
	return -EIO;
}

/* ---- the monitor ---- */
struct watch {
	uint64_t beat_at, busy_at; /* when it last was so */
	uint64_t spawned, launched_at;
	uint32_t launch;
};

static uint64_t count_spawned(const struct heddle_tasks *t)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++)
			n += atomic_load_explicit(&t->of[c].row[r].gen, memory_order_relaxed);
	return n;
}

/* Blocks that land on an SM which is to be left are gone, and where others are in the way of the
 * rest too few may have come: a row of a column that is not there would wait for ever, or for these
 * others. *ret_any: at least one has come, so the launch has begun. */
static bool lacks_columns(const struct heddle_tasks *t, bool *ret_any)
{
	bool any = false, lacks = false;

	for (unsigned c = 0; c < t->n_columns; c++) {
		bool is_there =
			__atomic_load_n(&t->of[c].at->launch, __ATOMIC_RELAXED) == t->launch << 1;

		any |= is_there;
		for (unsigned r = 0; r < TASK_ROWS && !is_there; r++)
			lacks |= pool_in(&t->of[c], r) != pool_out(&t->of[c], r);
	}
	*ret_any = any;
	return lacks;
}

/* Something is in flight, or was spawned since it was not. Only where nothing is, as it reads all
 * that those who spawn write, and takes it from their caches. */
static bool is_busy(const struct heddle_tasks *t, struct watch *w)
{
	uint64_t spawned;

	if (has_work(t))
		return true;
	spawned = count_spawned(t);
	if (spawned == w->spawned)
		return false;
	w->spawned = spawned;
	return true;
}

/* With the lock. */
static void look_after(struct heddle_tasks *t, struct watch *w, uint64_t now)
{
	bool lacks, any = true;
	CUresult r;

	atomic_store(&t->waits, false);
	if (atomic_load(&t->state) != POOL_RUNNING)
		return;
	r = query(t);
	if (r == CUDA_SUCCESS) { /* its time was over, or it saw no beat */
		atomic_store(&t->state, POOL_LEAVING);
		if (await_end(t, UINT64_MAX) == 0)
			pool_resume(t);
		return;
	}
	if (r != CUDA_ERROR_NOT_READY) {
		fail(t, r);
		return;
	}
	if (is_busy(t, w))
		w->busy_at = now;
	if (t->launch != w->launch)
		w->launched_at = now;
	w->launch = t->launch;
	lacks = now - w->launched_at > TURN_NS / 2 && lacks_columns(t, &any);
	atomic_store(&t->waits, lacks);
	if ((now - w->launched_at > COMING_NS && lacks && any) ||
		(now - w->launched_at > TURN_NS && any && pools_one_waits(t))) {
		w->launched_at = now; /* a task that does not end keeps the others there, too */
		if (pool_park_within(t, LEAVING_NS) == 0)
			pool_resume(t);
		return;
	}
	if (t->o.idle_us != UINT32_MAX && now - w->busy_at > (uint64_t)t->o.idle_us * 1000u &&
		pool_park(t) == 0)
		pool_resume(t); /* if something came */
}

static void *monitor(void *user)
{
	struct heddle_tasks *t = user;
	uint64_t every = (uint64_t)t->o.beat_every_ms * 1000000u;
	struct watch w = {.busy_at = pool_now_ns(), .beat_at = pool_now_ns()};

	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		uint64_t now = pool_now_ns();

		if (atomic_load(&t->state) != POOL_RUNNING) {
			pthread_cond_wait(&t->changed, &t->lock);
			w.busy_at = pool_now_ns();
			continue;
		}
		look_after(t, &w, now);
		pthread_mutex_unlock(&t->lock);
		if (now - w.beat_at > every) {
			beat(t);
			w.beat_at = now;
		}
		nap(MONITOR_NS);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* A kernel without it, or one that denies it: each spawn fences. */
bool pool_has_heavy_fence(void)
{
#ifdef __linux__
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
	return false;
#endif
}

int pool_start_monitor(struct heddle_tasks *t)
{
	int r;

	t->heavy = pool_has_heavy_fence();
	r = pthread_create(&t->monitor, NULL, monitor, t);
	t->has_monitor = r == 0;
	return r ? rt_fail(t->h, -r, NULL, "a pool's thread cannot be started") : 0;
}

void pool_stop_monitor(struct heddle_tasks *t)
{
	if (!t->has_monitor)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->monitor, NULL);
	t->has_monitor = false;
}
