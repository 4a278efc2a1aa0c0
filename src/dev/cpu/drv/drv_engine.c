/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The threads that execute stream operations. The copy thread sleeps on a condition variable while
 * it has no work. While a stream waits for a value in memory, this thread polls the value at
 * intervals of 20 to 200 microseconds, because a store to memory notifies nobody.
 *
 * In serial mode (HEDDLE_VGPU=serial), the program's own threads execute the operations when they
 * wait for work or query it. One extra thread continues the work if the program does neither for
 * about a second, for example because it spins on memory. */
#include "drv_engine.h"
#include "drv_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dev/cpu/thread.h"

/* copies up to this size are done at once, in the thread that starts them */
#define INLINE_BYTES 32768
#define LOOK_MIN_NS  20000
#define LOOK_MAX_NS  200000
/* After SERIAL_NAPS sleeps in which no thread of the program waited for work or queried it, the
 * extra thread of serial mode continues the work. The sleeps take one second in total, not counting
 * time in which this process is stopped. */
#define SERIAL_NAPS   20
#define SERIAL_NAP_NS 50000000

static struct op_list {
	struct drv_op *first;
} copies, hosts, timed;
static pthread_cond_t copy_cond = PTHREAD_COND_INITIALIZER, host_cond = PTHREAD_COND_INITIALIZER;
static bool copy_thread_runs, host_thread_runs, kicked;
static uint64_t activity; /* serial mode: counts the waits of host threads */

static void list_push(struct op_list *l, struct drv_op *op)
{
	struct drv_op **link = &l->first;
	while (*link)
		link = &(*link)->engine_next;
	op->engine_next = NULL;
	*link = op;
}

static struct drv_op *list_pop(struct op_list *l)
{
	struct drv_op *op = l->first;

	if (op)
		l->first = op->engine_next;
	return op;
}

/* ---- copies ---- */

void drv_copy_run(const struct drv_copy *c)
{
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			memmove((char *)(uintptr_t)c->dst + z * c->dst_plane + y * c->dst_pitch,
				(const char *)(uintptr_t)c->src + z * c->src_plane +
					y * c->src_pitch,
				c->width);
}

void drv_set_run(const struct drv_set *s)
{
	for (size_t y = 0; y < s->height; y++) {
		char *row = (char *)(uintptr_t)s->dst + y * s->pitch;
		if (s->element == 1) {
			memset(row, (int)s->value, s->width);
			continue;
		}
		for (size_t x = 0; x < s->width; x++)
			memcpy(row + x * s->element, &s->value, s->element);
	}
}

static uint64_t copy_bytes(const struct drv_op *op)
{
	if (op->kind == OP_COPY)
		return op->copy.width * op->copy.height * op->copy.depth;
	return op->set.width * op->set.height * op->set.element;
}

static void run_copy(struct drv_op *op)
{
	if (op->kind == OP_COPY)
		drv_copy_run(&op->copy);
	else
		drv_set_run(&op->set);
}

static void copy_one(void)
{
	struct drv_op *op = list_pop(&copies);

	if (!op->ctx->error) {
		pthread_mutex_unlock(&drv.lock);
		run_copy(op);
		pthread_mutex_lock(&drv.lock);
	}
	drv_complete(op);
	drv_kick();
}

static bool value_waits(void)
{
	for (unsigned i = 0; i < drv.n_contexts; i++)
		for (struct drv_stream *s = drv.contexts[i]->active; s; s = s->next_active)
			if (s->head && !s->head->started && s->head->kind == OP_WAIT_VALUE)
				return true;
	return graph_waits_for_value();
}

static void sleep_on(pthread_cond_t *cond, uint64_t ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	uint64_t at = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec + ns;
	ts.tv_sec = (time_t)(at / 1000000000ull);
	ts.tv_nsec = (long)(at % 1000000000ull);
	pthread_cond_timedwait(cond, &drv.lock, &ts);
}

static void *copy_thread(void *arg)
{
	uint64_t nap = LOOK_MIN_NS;

	pthread_mutex_lock(&drv.lock);
	for (;;) {
		if (copies.first) {
			copy_one();
			nap = LOOK_MIN_NS;
		} else if (value_waits()) {
			if (kicked)
				nap = LOOK_MIN_NS;
			kicked = false;
			sleep_on(&copy_cond, nap);
			nap = MIN(nap * 2, LOOK_MAX_NS);
			bool others = kicked;
			drv_kick();
			kicked = others;
		} else {
			pthread_cond_wait(&copy_cond, &drv.lock);
			nap = LOOK_MIN_NS;
		}
	}
	return arg;
}

/* ---- host functions ---- */

static void host_one(void)
{
	struct drv_op *op = list_pop(&hosts);
	CUresult error = op->ctx->error;
	CUstream handle = op->stream && !op->stream->legacy ? (CUstream)op->stream : NULL;

	pthread_mutex_unlock(&drv.lock);
	if (op->kind == OP_CALLBACK)
		op->callback(handle, error, op->user);
	else if (!error)
		op->host_fn(op->user);
	pthread_mutex_lock(&drv.lock);
	drv_complete(op);
	drv_kick();
}

static void *host_thread(void *arg)
{
	pthread_mutex_lock(&drv.lock);
	for (;;) {
		if (hosts.first)
			host_one();
		else
			pthread_cond_wait(&host_cond, &drv.lock);
	}
	return arg;
}

/* ---- serial mode ---- */

static uint64_t cost_ns(const struct drv_op *op)
{
	uint64_t bytes = copy_bytes(op);

	return op->kind == OP_COPY ? 1000 + bytes / 16 : 500 + bytes / 64;
}

static struct drv_op **earliest_timed(void)
{
	struct drv_op **best = NULL;

	for (struct drv_op **at = &timed.first; *at; at = &(*at)->engine_next)
		if (!best || (*at)->due_ns < (*best)->due_ns)
			best = at;
	return best;
}

/* Returns the pool of the device whose next step is the earliest, and the time of that step. */
static struct vgpu_pool *earliest_pool(uint64_t *ret_ns)
{
	struct vgpu_pool *best = NULL;

	*ret_ns = UINT64_MAX;
	for (unsigned i = 0; i < drv.n_devices; i++) {
		uint64_t ns = vgpu_pool_next_ns(drv.device[i].pool);
		if (best && ns >= *ret_ns)
			continue;
		best = drv.device[i].pool;
		*ret_ns = ns;
	}
	return best;
}

/* Sets the virtual time, which all devices share. */
static void set_now(uint64_t ns)
{
	for (unsigned i = 0; i < drv.n_devices; i++)
		vgpu_pool_set_now(drv.device[i].pool, ns);
}

/* Executes the next event in virtual time. Returns false if no event can happen unless the host
 * does something. */
static bool serial_step(void)
{
	if (hosts.first) {
		host_one();
		return true;
	}
	struct drv_op **at = earliest_timed();
	uint64_t due;
	struct vgpu_pool *pool = earliest_pool(&due);
	if (at && (*at)->due_ns <= due) {
		struct drv_op *op = *at;
		*at = op->engine_next;
		set_now(MAX(op->due_ns, drv_now_ns()));
		if (!op->ctx->error)
			run_copy(op);
		drv_complete(op);
		drv_kick();
		return true;
	}
	if (due == UINT64_MAX) {
		drv_kick();
		return false;
	}
	bool progress = vgpu_pool_step(pool);
	set_now(vgpu_clock_ns(pool));
	if (value_waits())
		drv_kick();
	return progress;
}

static bool work_left(void)
{
	for (unsigned i = 0; i < drv.n_contexts; i++)
		if (drv.contexts[i]->active)
			return true;
	return false;
}

static void nap_unlocked(void)
{
	pthread_mutex_unlock(&drv.lock);
	usleep(50);
	pthread_mutex_lock(&drv.lock);
}

static void *serial_thread(void *arg)
{
	uint64_t seen = 0;
	unsigned naps = 0;

	pthread_mutex_lock(&drv.lock);
	for (;;) {
		if (!work_left()) {
			pthread_cond_wait(&copy_cond, &drv.lock);
			naps = 0;
			continue;
		}
		naps = seen == activity ? naps + 1 : 0;
		seen = activity;
		if (naps < SERIAL_NAPS) {
			sleep_on(&host_cond, SERIAL_NAP_NS);
			continue;
		}
		naps = 0;
		while (seen == activity && work_left()) {
			if (!serial_step())
				nap_unlocked();
			drv_let_others_in();
		}
	}
	return arg;
}

void drv_poll(void)
{
	if (!drv.config.serial)
		return;
	activity++;
	for (int i = 0; i < 16 && serial_step(); i++)
		;
}

void drv_engine_spend(struct drv_op *op)
{
	if (drv.config.serial && (op->kind == OP_COPY || op->kind == OP_SET))
		set_now(drv_now_ns() + cost_ns(op));
}

/* ---- functions of drv_engine.h ---- */

static int start_thread(bool *runs, void *(*fn)(void *))
{
	int r = *runs ? 0 : vgpu_thread_start(fn, NULL, NULL);

	*runs = r == 0;
	return r;
}

CUresult drv_engine_ready(enum op_kind kind, CUdevice dev)
{
	int r = 0;

	if (kind == OP_KERNEL)
		r = vgpu_pool_prepare(drv.device[dev].pool);
	else if ((kind == OP_HOST || kind == OP_CALLBACK) && !drv.config.serial)
		r = start_thread(&host_thread_runs, host_thread);
	else if (kind == OP_WAIT_VALUE && !drv.config.serial)
		r = start_thread(&copy_thread_runs, copy_thread);
	if (r == 0)
		return CUDA_SUCCESS;
	drv_report("virtual GPU: no thread can be made for work on the device: %s\n", strerror(-r));
	return CUDA_ERROR_OPERATING_SYSTEM;
}

void drv_engine_copy(struct drv_op *op)
{
	if (drv.config.serial) {
		op->due_ns = drv_now_ns() + cost_ns(op);
		list_push(&timed, op);
		return;
	}
	if (copy_bytes(op) <= INLINE_BYTES || start_thread(&copy_thread_runs, copy_thread) != 0) {
		run_copy(op);
		drv_complete(op);
		return;
	}
	list_push(&copies, op);
	pthread_cond_signal(&copy_cond);
}

void drv_engine_host(struct drv_op *op)
{
	/* For the host functions of a graph, drv_engine_ready did not start the thread
	 * before. */
	if (!drv.config.serial && start_thread(&host_thread_runs, host_thread) != 0) {
		drv_fail(op->ctx, CUDA_ERROR_OPERATING_SYSTEM);
		drv_complete(op);
		return;
	}
	list_push(&hosts, op);
	if (!drv.config.serial)
		pthread_cond_signal(&host_cond);
}

void drv_engine_wake(void)
{
	if (drv.config.serial) {
		if (work_left()) {
			(void)start_thread(&copy_thread_runs, serial_thread);
			pthread_cond_signal(&copy_cond);
		}
		return;
	}
	kicked = true;
	/* If the copy thread cannot be started, a program's thread that synchronizes with the
	 * device polls the values that streams wait for (drv_engine_wait). */
	if (value_waits() && start_thread(&copy_thread_runs, copy_thread) == 0)
		pthread_cond_signal(&copy_cond);
}

void drv_engine_wait(void)
{
	if (drv.config.serial) {
		activity++;
		if (!serial_step())
			nap_unlocked();
		drv_let_others_in();
	} else if (!copy_thread_runs && value_waits()) {
		sleep_on(&drv.changed, LOOK_MAX_NS);
		drv_kick();
	} else {
		pthread_cond_wait(&drv.changed, &drv.lock);
	}
}

uint64_t drv_now_ns(void)
{
	return vgpu_clock_ns(drv.device[0].pool);
}
