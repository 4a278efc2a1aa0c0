/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The driver's state, its handles, the entry and exit of every call, and the end of the process. At
 * that end, the process's blocks leave the shared SMs before its memory is freed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "dev/cpu/vgpu.h"
#include "drv_ctx.h"
#include "drv_engine.h"
#include "drv_func.h"
#include "drv_graph.h"

struct drv_state drv = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* A symbol by which loaders tell this library from a GPU's driver (dev/dev.h). */
__attribute__((visibility("default"))) extern const int heddle_cpu_marker;
const int heddle_cpu_marker = 1;

/* ---- handles ---- */

static struct hash_map handles; /* handle -> struct obj; protected by the driver's lock */

bool drv_obj_add_at(const void *handle, struct obj *o)
{
	return hash_map_put_at(&handles, handle, o);
}

void drv_obj_remove_at(const void *handle, struct obj *o)
{
	if (hash_map_at(&handles, handle) == o)
		hash_map_put_at(&handles, handle, NULL);
}

void drv_obj_add(struct obj *o, enum obj_kind kind, struct drv_ctx *ctx)
{
	o->kind = kind;
	o->ctx = ctx;
	o->prev = o->next = NULL;
	if (ctx && &ctx->obj != o) {
		o->prev = ctx->all.prev;
		o->next = &ctx->all;
		o->prev->next = o->next->prev = o;
	}
	drv_obj_add_at(o, o);
}

void drv_obj_remove(struct obj *o)
{
	drv_obj_remove_at(o, o);
	if (o->next) {
		o->prev->next = o->next;
		o->next->prev = o->prev;
		o->prev = o->next = NULL;
	}
}

void *drv_get(const void *h, enum obj_kind kind)
{
	struct obj *o = hash_map_at(&handles, h);

	return o && o->kind == kind ? o : NULL;
}

/* ---- entering and leaving the driver ---- */

/* The thread's cancellation state from before it entered the driver, which is restored when it
 * leaves the driver. Inside the driver cancellation is disabled, because a cancelled thread would
 * keep the lock. */
static _Thread_local int cancel_state;
static unsigned outside; /* number of threads that wait to enter the driver */
static uint64_t came_in; /* number of entries so far; protected by the driver's lock */

static void lock_drv(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	__atomic_fetch_add(&outside, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&drv.lock);
	__atomic_fetch_sub(&outside, 1, __ATOMIC_SEQ_CST);
	came_in++;
	cancel_state = was;
}

void drv_let_others_in(void)
{
	uint64_t before = came_in;

	while (came_in == before && __atomic_load_n(&outside, __ATOMIC_SEQ_CST)) {
		pthread_mutex_unlock(&drv.lock);
		usleep(20);
		pthread_mutex_lock(&drv.lock);
	}
}

static void unlock_drv(void)
{
	int was = cancel_state;

	pthread_mutex_unlock(&drv.lock);
	pthread_setcancelstate(was, NULL);
}

CUresult drv_enter_init(void)
{
	int pid = __atomic_load_n(&drv.pid, __ATOMIC_ACQUIRE);

	if (pid == 0)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (pid < 0)
		return CUDA_ERROR_DEINITIALIZED;
	lock_drv();
	return CUDA_SUCCESS;
}

CUresult drv_enter(struct drv_ctx **ret)
{
	CUresult r = drv_enter_init();

	if (r != CUDA_SUCCESS)
		return r;
	r = drv_ctx_current(ret);
	if (r == CUDA_SUCCESS) {
		r = (*ret)->error;
		(*ret)->is_unused = false;
	}
	if (r != CUDA_SUCCESS)
		unlock_drv();
	return r;
}

CUresult drv_enter_adding(struct drv_ctx **ret)
{
	CUresult r;

	while ((r = drv_enter(ret)) == CUDA_SUCCESS && (*ret)->alone) {
		drv_engine_wait();
		/* Enter again: the context may have been destroyed meanwhile. */
		unlock_drv();
	}
	return r;
}

CUresult drv_leave(CUresult r)
{
	unlock_drv();
	return r;
}

/* ---- initialization, fork, exit ---- */

/* Makes the driver uninitialized in a child after fork, because the child has none of the driver's
 * threads. In the child cuInit fails, too. At the fork another thread may have held the lock in the
 * middle of a change; this does no harm, because the child uses none of the driver's objects. */
static void forget_in_child(void)
{
	if (drv.pid > 0)
		drv.pid = 0;
	outside = 0;
	pthread_mutex_init(&drv.lock, NULL);
}

static void at_fork(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

static void report_open(int error)
{
	switch (error) {
	case -EUSERS:
		drv_report("virtual GPU: %d processes use it already\n", SM_MAX_PROCS);
		break;
	case -ETIMEDOUT:
		drv_report("virtual GPU: its file in /dev/shm is kept locked by another process\n");
		break;
	case -EPERM:
		drv_report("virtual GPU: its file in /dev/shm is not this user's alone: remove it, "
			   "or give another name in HEDDLE_VGPU\n");
		break;
	case -EAGAIN:
		drv_report("virtual GPU: no thread can be made: %s\n", strerror(EAGAIN));
		break;
	default:
		drv_report("virtual GPU: cannot be shared in /dev/shm: %s\n", strerror(-error));
	}
}

static CUresult init_device(void)
{
	if (drv.first) /* this process is a child after a fork */
		return CUDA_ERROR_NOT_INITIALIZED;
	const char *options = secure_getenv("HEDDLE_VGPU");
	if (sm_config_parse(options, &drv.config) != 0)
		drv_report("virtual GPU: HEDDLE_VGPU=%s: '%s' is not understood: %s; see "
			   "heddle-environment(7)\n",
			options, drv.config.wrong, drv.config.valid);
	vgpu_set_converge(drv.config.converge);
	vgpu_set_fma(drv.config.fma);
	vgpu_set_turns(drv.config.turns);
	vgpu_set_garbage(drv.config.garbage);
	vgpu_set_weak(drv.config.weak);
	vgpu_set_counts(drv.config.count);
	int r = drv_devices_open();
	if (r && r != -ENOMEM) {
		report_open(r);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	if (!r && !drv.n_devices)
		return CUDA_ERROR_NO_DEVICE;
	if (r || vgpu_mem_create(drv.config.memory_bytes * drv.n_devices, &drv.mem) != 0) {
		if (!r)
			drv_devices_close();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_store_n(&drv.pid, getpid(), __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (__atomic_load_n(&drv.pid, __ATOMIC_ACQUIRE) < 0)
		return CUDA_ERROR_DEINITIALIZED;
	pthread_once(&once, at_fork);
	lock_drv();
	return drv_leave(drv.pid ? CUDA_SUCCESS : init_device());
}

__attribute__((destructor)) static void leave(void)
{
	struct timespec ts;

	if (drv.pid != getpid())
		return;
	/* The exiting thread can be inside a driver call itself (if a signal handler exits), so
	 * this wait has a timeout. */
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 2;
	if (pthread_mutex_timedlock(&drv.lock, &ts) == 0) {
		__atomic_store_n(&drv.pid, -1, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&drv.lock);
	}
	__atomic_store_n(&drv.pid, -1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < drv.n_contexts; i++)
		drv_ctx_flush_print(drv.contexts[i]);
	drv_devices_close();
}
