/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches a pool on the GPU, stops it, and runs its monitor thread. The monitor's heartbeats show
 * the device that the process is alive. The monitor stops an idle pool. If a pool has stopped by
 * itself, the monitor launches it again. */
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

#define MONITOR_NS 1000000u   /* interval of the monitor */
#define SOON_NS    100000u    /* interval of the monitor if a launch is about to end */
#define COMING_NS  100000000u /* time in which all blocks of a launch should start */
#define TURN_NS    10000000u  /* time on the GPU after which a waiting pool gets its turn */
/* Timeout for stopping the pool when some columns with tasks have no block, or when another pool
 * waits for space on the GPU. */
#define LEAVING_NS 50000000u
/* delay before columns return while others stay; doubles up to GAP_MOST_NS */
#define GAP_NS      4000000u
#define GAP_MOST_NS 64000000u
/* from this many launches on, only a launch with one column is asked to leave */
#define MANY        4u
#define PATIENCE_NS 10000000u /* minimum time after which a request to leave is withdrawn */
#define REFUSED     4u        /* that time doubles at most this many times */

static void nap_ns(uint64_t ns)
{
	struct timespec t = {.tv_nsec = (long)ns};

	nanosleep(&t, NULL);
}

static bool has_work(const struct heddle_tasks *t)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		if (pool_has_waiting(&t->of[c]))
			return true;
	return false;
}

static void store_beat(struct heddle_tasks *t)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		__atomic_fetch_add(&t->of[c].at->in[TASK_ROWS], TASK_BEAT, __ATOMIC_RELAXED);
}

/* Writes to t->why how many tasks of each kernel had begun. */
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

/* Call with the pool's lock. */
static int fail_pool(struct heddle_tasks *t, CUresult r)
{
	const char *text = cu_result_text(r);

	if (atomic_load(&t->state) != POOL_FAILED)
		name_victims(t, text ? text : "unknown error");
	atomic_store(&t->state, POOL_FAILED);
	pthread_cond_broadcast(&t->changed);
	return pool_fail(-EIO, "%s", t->why);
}

/* ---- launching the pool ---- */

int pool_resume(struct heddle_tasks *t)
{
	CUresult r;

	if (atomic_load(&t->state) != POOL_AWAY || t->suspended || pools_are_held() || !t->fn ||
		!has_work(t))
		return 0;
	atomic_store(&t->state, POOL_RUNNING);
	r = pool_bring(t, clock_ns());
	if (r != CUDA_SUCCESS)
		return fail_pool(t, r);
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

/* ---- stopping the pool ---- */

/* Makes a fence in all threads; the counterpart of pool_light_fence. */
void pool_heavy_fence(const struct heddle_tasks *t)
{
	atomic_thread_fence(memory_order_seq_cst);
#ifdef __linux__
	if (t->heavy)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

static void ask_all(struct heddle_tasks *t, bool leave, uint32_t but)
{
	uint64_t now = clock_ns();

	for (unsigned i = 0; i < POOL_LAUNCHES; i++) {
		struct pool_launch *l = &t->at_once[i];

		if (!l->number || l->number == but)
			continue;
		if (leave)
			pool_ask_leave(t, l, now);
		else
			pool_ask_stay(t, l, now);
	}
}

/* Asks all launches to stop, and waits for them. Returns -ETIMEDOUT if a launch has not ended
 * within limit_ns (UINT64_MAX: no limit), because a block of a task that had begun has not ended.
 *
 * After a timeout, the monitor thread launches the columns that have stopped again, and needs a
 * free entry in the table of launches for that. The last launch may have nearly all columns. So if
 * there is a limit and no entry is free, this first asks only the other launches to stop. Once one
 * of them has ended, it asks the last launch as well. */
static int await_end(struct heddle_tasks *t, uint64_t limit_ns)
{
	uint64_t begin = limit_ns == UINT64_MAX ? 0 : clock_ns();
	bool all = !begin || pool_count_launches(t) < POOL_LAUNCHES;
	CUresult r;

	ask_all(t, true, all ? 0 : t->launch);
	while ((r = pool_query(t)) == CUDA_ERROR_NOT_READY) {
		if (!all && pool_count_launches(t) < POOL_LAUNCHES) {
			all = true;
			ask_all(t, true, 0);
		}
		if (begin && clock_ns() - begin > limit_ns) {
			ask_all(t, false, 0);
			atomic_store(&t->state, POOL_RUNNING);
			return -ETIMEDOUT;
		}
		nap_ns(POOL_NAP_NS);
	}
	if (r != CUDA_SUCCESS)
		return fail_pool(t, r);
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
	r = pool_find_fault(t);
	if (r == CUDA_SUCCESS)
		return 0;
	pthread_mutex_lock(&t->lock);
	fail_pool(t, r);
	pthread_mutex_unlock(&t->lock);
	return -EIO;
}

/* ---- the monitor thread ---- */
struct watch {
	uint64_t beat_at, busy_at; /* last time of a beat; last time it was busy */
	uint64_t spawned, launched_at;
	uint32_t launch;
	uint64_t away_at; /* since when columns are away; 0: no column is away */
	uint64_t gap_ns;  /* how long columns stay away before they are launched again */
	unsigned n_launches;
	bool soon;
};

static uint64_t count_spawned(const struct heddle_tasks *t)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++)
			n += atomic_load_explicit(&t->of[c].row[r].gen, memory_order_relaxed);
	return n;
}

/* Returns true if a column with waiting tasks has no block, so that these tasks would wait forever,
 * or until other kernels end. There are two causes: blocks started on SMs that must stay free and
 * exited, or other kernels occupy SMs. Sets *ret_any if at least one column of the last launch has
 * a block, which shows that the launch has begun. */
static bool lacks_columns(const struct heddle_tasks *t, bool *ret_any)
{
	bool any = false, lacks = false;

	for (unsigned i = 0; i < t->n_columns; i++) {
		const struct pool_column *c = &t->of[i];
		bool has_come = __atomic_load_n(&c->at->launch, __ATOMIC_RELAXED) >> 1 == c->launch;

		any |= has_come && c->launch == t->launch;
		lacks |= !has_come && c->launch && pool_has_waiting(c);
	}
	*ret_any = any;
	return lacks;
}

/* Returns true if a task is in flight, or was added since the last call that counted the tasks.
 * Counting reads cache lines that other threads write, and so slows these threads down. So this
 * function counts only if it finds no task in flight. */
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

/* Asks a launch to stop when its time is over, so that other programs can use the GPU:
 * - If a block of a task in one of the launch's columns does not end, that column stays, and
 *   bring_back launches the other columns again.
 * - A column that was asked to stop begins no tasks. So the request is withdrawn if the launch has
 *   not ended after a while, and repeated later. The time until it is withdrawn and the time until
 *   it is repeated double after each such request, up to REFUSED times.
 * - The table of launches is small. So from MANY launches on, only launches with one column are
 *   asked to stop: such a launch stops or stays as a whole. */
static void leave_in_time(struct heddle_tasks *t, struct watch *w, uint64_t now)
{
	uint64_t patience = MAX((uint64_t)t->o.lifetime_ms * 500000u, PATIENCE_NS);
	bool many = pool_count_launches(t) >= MANY;

	w->soon = false;
	for (unsigned i = 0; i < POOL_LAUNCHES; i++) {
		struct pool_launch *l = &t->at_once[i];

		if (!l->number)
			continue;
		if (l->asked && now - l->asked_ns > patience << l->refused) {
			l->refused = MIN(l->refused + 1, REFUSED);
			pool_ask_stay(t, l, now);
		} else if (!l->asked && now > l->due_ns &&
			   (!many || pool_count_columns(t, l) <= 1)) {
			pool_ask_leave(t, l, now);
		}
		w->soon |= l->asked && now - l->asked_ns < GAP_NS;
	}
}

/* Launches columns again that have stopped while others of the pool stayed. The delay before such a
 * launch doubles each time, up to GAP_MOST_NS, so that columns that stop one after another share a
 * launch. */
static CUresult bring_back(struct heddle_tasks *t, struct watch *w, uint64_t now)
{
	unsigned n = pool_count_launches(t);

	if (n <= 1 || n < w->n_launches)
		w->gap_ns = GAP_NS;
	w->n_launches = n;
	if (pool_count_away(t) == 0)
		w->away_at = 0;
	else if (!w->away_at)
		w->away_at = now;
	if (!w->away_at || now - w->away_at <= w->gap_ns || n == POOL_LAUNCHES)
		return CUDA_SUCCESS;
	w->away_at = 0;
	w->gap_ns = MIN(2 * w->gap_ns, GAP_MOST_NS);
	return pool_bring(t, now);
}

/* Call with the pool's lock. */
static void look_after(struct heddle_tasks *t, struct watch *w, uint64_t now)
{
	bool lacks, any = true;
	CUresult r;

	atomic_store(&t->waits, false);
	if (atomic_load(&t->state) != POOL_RUNNING)
		return;
	r = pool_query(t);
	/* All launches have ended: their lifetime was over, or they saw no beat. */
	if (r == CUDA_SUCCESS) {
		atomic_store(&t->state, POOL_LEAVING);
		if (await_end(t, UINT64_MAX) == 0)
			pool_resume(t);
		return;
	}
	if (r != CUDA_ERROR_NOT_READY) {
		fail_pool(t, r);
		return;
	}
	leave_in_time(t, w, now);
	r = bring_back(t, w, now);
	if (r != CUDA_SUCCESS) {
		fail_pool(t, r);
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
		/* A task that does not end makes this fail, so the next attempt must wait. */
		w->launched_at = now;
		if (pool_park_within(t, LEAVING_NS) == 0)
			pool_resume(t);
		return;
	}
	if (t->o.idle_us != UINT32_MAX && now - w->busy_at > (uint64_t)t->o.idle_us * 1000u &&
		pool_park(t) == 0)
		pool_resume(t); /* if a task was added meanwhile */
}

static void *run_monitor(void *user)
{
	struct heddle_tasks *t = user;
	uint64_t every = (uint64_t)t->o.beat_every_ms * 1000000u;
	struct watch w = {.busy_at = clock_ns(), .beat_at = clock_ns()};

	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		uint64_t now = clock_ns();

		if (atomic_load(&t->state) != POOL_RUNNING) {
			pthread_cond_wait(&t->changed, &t->lock);
			w.busy_at = clock_ns();
			continue;
		}
		look_after(t, &w, now);
		pthread_mutex_unlock(&t->lock);
		if (now - w.beat_at > every) {
			store_beat(t);
			w.beat_at = now;
		}
		nap_ns(w.soon ? SOON_NS : MONITOR_NS);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Prepares fences in all threads. Returns false if the kernel lacks or denies membarrier(2); then
 * each thread makes a fence itself when it adds a task. */
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
	r = pthread_create(&t->monitor, NULL, run_monitor, t);
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
