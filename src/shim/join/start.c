/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the program a tenant, when it first launches a kernel or loads code while a context is
 * current.
 * - If no daemon runs at that time, a thread looks for one every second. Until the thread finds
 *   one, the shim passes every call on to the driver (SHIM_LATER).
 * - After any other failure the program runs natively.
 * - CUDA does not survive a fork. If the parent had started the shim, the shim in the child passes
 *   every call on. */
#include "shim/join/start.h"

#include "base/environment.h"
#include "host/client.h"
#include "pass/pass.h"
#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/join/agent.h"
#include "shim/join/hello.h"
#include "shim/launch/managed.h"
#include "shim/launch/record.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Timeouts for connecting to heddled and receiving its reply, in ms. The program waits for the
 * reply to the first HELLO. It does not wait for later ones, so LATER_MS is longer: on a busy
 * machine heddled may be slow to reply. */
#define FIRST_MS 1000
#define LATER_MS 5000
#define LOOK_S   1 /* interval between attempts to find the first daemon */

static uint32_t attribute(struct session *session, CUdevice_attribute which)
{
	return host_attribute(&cu, session->dev, which);
}

static void fill_hello(struct session *session, struct wire_hello *h)
{
	enum pass_order order = PASS_ORDER_ROW;

	host_hello(&cu, session->dev, h);
	session->n_sms = MIN(h->n_sms, CTL_MAX_SMS);
	session->free_regs = h->threads_per_sm ? h->regs_per_sm / h->threads_per_sm : 0;
	for (int i = 0; i < 3; i++) /* the three attributes have consecutive numbers */
		session->max_grid[i] = attribute(
			session, (CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
	pass_order_find(env_word(ENV_ORDER), &order);
	session->order = order;
	session->cc = attribute(session, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
		      attribute(session, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* Prepares the current context: maps the page for the device, and makes the shim's streams and the
 * control blocks. If one of these cannot be made, the shim can only hold launches back. Returns
 * false if the context has ended. */
static bool prepare_device(struct session *session)
{
	CUdeviceptr at = 0;
	CUresult r;
	uint32_t one = attribute(session, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
	int least = 0, greatest = 0;

	if (cu.cuCtxGetStreamPriorityRange)
		cu.cuCtxGetStreamPriorityRange(&least, &greatest);
	__atomic_store_n(&session->low_priority, least, __ATOMIC_RELAXED);
	session->top_priority = greatest;
	if (!one || !cu.cuMemHostRegister || !cu.cuMemHostGetDevicePointer ||
		!cu.cuStreamWaitValue32 || !session->n_sms)
		return true;
	r = cu.cuMemHostRegister(session->page, session->page->bytes,
		CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return r != CUDA_ERROR_CONTEXT_IS_DESTROYED && r != CUDA_ERROR_INVALID_CONTEXT;
	if (cu.cuMemHostGetDevicePointer(&at, session->page, 0) != CUDA_SUCCESS)
		return true;
	if (managed_init(session) == 0)
		session->page_dev = at;
	return true;
}

/* Makes the program a tenant. The shim's context must be current. */
static int join_daemon(struct session *session, struct host_greeting *g)
{
	int r = hello_welcome(session, g);

	if (r < 0)
		return r;
	prepare_device(session);
	return agent_start(session);
}

/* Settings from the program's environment. The shim reads them once for all devices, because the
 * program may change its environment later. */
static struct {
	struct lock lock;
	bool is_read;
	int error; /* result of wire_socket_path */
	char where[108], report_to[108];
	bool socket_given;
	int32_t priority;
	uint32_t weight, order;
	char group[32];
} environment = {LOCK_INIT(environment)};

/* Reads the settings, some of them from the HELLO that fill_hello has filled. Call under the
 * lock. */
static void read_environment(struct session *session)
{
	const char *given = secure_getenv(WIRE_SOCKET_ENV),
		   *report_path = secure_getenv(WIRE_REPORT_ENV);
	const struct wire_hello *h = &session->client.hello;

	environment.is_read = true;
	environment.socket_given = given && *given;
	snprintf(environment.report_to, sizeof(environment.report_to), "%s",
		report_path ? report_path : "");
	environment.error = wire_socket_path(environment.where, sizeof(environment.where), false);
	environment.priority = h->priority;
	environment.weight = h->weight;
	memcpy(environment.group, h->group, sizeof(environment.group));
	environment.order = session->order;
}

/* Copies the settings to the session. Returns 0, or a negative errno if there is no usable
 * socket. */
static int take_environment(struct session *session)
{
	struct joining *s = session->joining;
	struct host_client *c = &session->client;
	int r;

	lock_take(&environment.lock);
	if (!environment.is_read)
		read_environment(session);
	memcpy(c->where, environment.where, sizeof(c->where));
	memcpy(s->report_to, environment.report_to, sizeof(s->report_to));
	s->socket_given = environment.socket_given;
	c->hello.priority = environment.priority;
	c->hello.weight = environment.weight;
	memcpy(c->hello.group, environment.group, sizeof(c->hello.group));
	session->order = environment.order;
	r = environment.error;
	lock_drop(&environment.lock);
	return r;
}

static int start_tenant(struct session *session)
{
	struct host_greeting g = {0};
	int r;

	if (cu.cuCtxGetDevice(&session->dev) != CUDA_SUCCESS)
		return -ENODEV;
	fill_hello(session, &session->client.hello);
	r = take_environment(session);
	session->client.by_folder = r < 0;
	if (r == 0)
		r = host_greet(session->client.where, &session->client.hello, FIRST_MS, &g);
	if (r == -EACCES && !session->client.by_folder)
		snprintf(session->client.refusal, sizeof(session->client.refusal), "%s",
			g.m.refused.why);
	return r < 0 ? r : join_daemon(session, &g);
}

/* Marks the normal end of the program. Not called if the program is killed. */
static void __attribute__((destructor)) mark_end(void)
{
	for (unsigned i = 0; i < SHIM_SESSIONS; i++) {
		if (sessions[i].page)
			__atomic_store_n(&sessions[i].page->ends, 1, __ATOMIC_RELEASE);
	}
}

/* ---- when the first daemon starts after the program ---- */

/* Returns true if it makes sense to look for a daemon again after this error of the last attempt.
 * This includes a timeout, because the daemon may be stopped or slow. */
static bool may_come(struct session *session, int error)
{
	return !session->page && (error == -ENOENT || error == -ECONNREFUSED ||
					 error == -ECONNRESET || error == -EAGAIN);
}

/* Returns true if the program still waits for a daemon and a daemon's socket exists. Stores the
 * socket's path, and the HELLO to send. */
static bool find_daemon(
	struct session *session, struct wire_hello *ret, char path[sizeof(session->client.where)])
{
	bool is_later;

	lock_take(&session->joining->start_lock);
	is_later = atomic_load(&session->mode) == SHIM_LATER;
	if (is_later && !session->joining->socket_given && access(WIRE_SYSTEM_SOCKET, F_OK) == 0)
		snprintf(session->client.where, sizeof(session->client.where), "%s",
			WIRE_SYSTEM_SOCKET);
	*ret = session->client.hello;
	memcpy(path, session->client.where, sizeof(session->client.where));
	lock_drop(&session->joining->start_lock);
	return is_later && access(path, F_OK) == 0;
}

/* Call under the lock. */
static void join_later(struct session *session, struct host_greeting *g)
{
	struct shim_inside in;
	int r = -ENOENT;

	if (shim_enter(session, &in) == CUDA_SUCCESS)
		r = join_daemon(session, g);
	else
		host_greeting_drop(g);
	shim_leave(&in);
	if (!r)
		atomic_store(&session->mode, SHIM_ON);
	else if (!may_come(session, r))
		atomic_store(&session->mode, SHIM_NATIVE);
}

/* Looks once for a daemon, and joins it if there is one. Waits for the reply without the lock,
 * because the program's own calls take the lock. */
static void look_once(struct session *session)
{
	struct wire_hello said;
	struct host_greeting g;
	char path[sizeof(session->client.where)];
	bool same;
	int r;

	if (!find_daemon(session, &said, path))
		return;
	r = host_greet(path, &said, LATER_MS, &g);
	lock_take(&session->joining->start_lock);
	same = atomic_load(&session->mode) == SHIM_LATER &&
	       !memcmp(&said, &session->client.hello, sizeof(said));
	if (r == 0 && same)
		join_later(session, &g);
	else if (r == 0)
		/* The program's context has changed meanwhile, perhaps to another device, and the
		 * HELLO described the old one. */
		host_greeting_drop(&g);
	else if (same && !may_come(session, r))
		atomic_store(&session->mode, SHIM_NATIVE);
	lock_drop(&session->joining->start_lock);
}

static void *look_for_daemon(void *user)
{
	struct session *session = user;
	bool goes_on = true;

	while (goes_on) {
		int mode;

		nanosleep(&(struct timespec){.tv_sec = LOOK_S}, NULL);
		look_once(session);
		lock_take(&session->joining->start_lock);
		mode = atomic_load(&session->mode);
		session->joining->looking = goes_on = mode == SHIM_LATER || mode == SHIM_UNKNOWN;
		lock_drop(&session->joining->start_lock);
	}
	return NULL;
}

/* Returns the mode for a program that found no daemon. Call under the lock. */
static enum shim_mode without_daemon(struct session *session, int error)
{
	if (!may_come(session, error))
		return SHIM_NATIVE;
	session->joining->looking =
		session->joining->looking || shim_thread(session, look_for_daemon) == 0;
	return session->joining->looking ? SHIM_LATER : SHIM_NATIVE;
}

void joining_pause(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->joining->start_lock);
}

void joining_forget(struct session *session, const struct session_ends *ends)
{
	atomic_store(&session->captures, 0);
	session->ctx = NULL;
	if (session->page)
		shim_kick(session); /* heddled then reads which launches have ended */
}

void joining_resume(struct session *session, const struct session_ends *ends)
{
	if (atomic_load(&session->mode) == SHIM_LATER && !session->ctx)
		atomic_store(&session->mode, SHIM_UNKNOWN);
	lock_drop(&session->joining->start_lock);
}

bool joining_open(struct session *session)
{
	session->joining = calloc(1, sizeof(*session->joining));
	if (session->joining)
		lock_init(&session->joining->start_lock, LOCK_joining);
	return session->joining;
}

void joining_after_fork(void)
{
	lock_init(&environment.lock, LOCK_environment);
	environment.is_read = false;
}

/* Reports why the program does not become a tenant. If the program uses several devices, the report
 * names the device, because a refusal may concern only one of them. */
static void say_why(struct session *session, int error)
{
	char buf[HOST_FAILED], line[HOST_FAILED + 40];
	const char *why = host_client_why(&session->client, error, buf);

	if (error == -EACCES && !session->client.by_folder && shim_n_devices > 1) {
		snprintf(line, sizeof(line), "device %u: %s", session->index, why);
		why = line;
	}
	shim_warn(why);
	shim_tell_watcher(why);
}

/* For a tenant whose context has ended: if `ctx`, the current context, is on the tenant's device,
 * the tenant continues in it. Call under the lock. */
static void go_on_in(struct session *session, CUcontext ctx)
{
	struct shim_inside in;
	CUdevice dev;
	bool lives = false;

	if (cu.cuCtxGetDevice(&dev) != CUDA_SUCCESS || dev != session->dev)
		return;
	session->ctx = ctx;
	if (shim_enter(session, &in) == CUDA_SUCCESS)
		lives = prepare_device(session);
	shim_leave(&in);
	if (!lives)
		session->ctx = NULL;
}

void start_session(struct session *session, bool is_launch)
{
	struct shim_inside in;
	CUcontext ctx = NULL;
	int r;

	if (!shim_driver() || cu.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || !ctx)
		return;
	if (!is_launch && shim_n_devices > 1)
		return;
	lock_take(&session->joining->start_lock);
	if (session->mode == SHIM_UNKNOWN && record_on()) {
		atomic_store(&session->mode, SHIM_LATER);
	} else if (session->mode == SHIM_UNKNOWN) {
		session->ctx = ctx;
		shim_enter(session, &in);
		r = start_tenant(session);
		shim_leave(&in);
		if (r < 0)
			say_why(session, r);
		atomic_store(&session->mode, r < 0 ? without_daemon(session, r) : SHIM_ON);
	} else if (session->mode == SHIM_ON && is_launch && !session->ctx) {
		go_on_in(session, ctx);
	}
	lock_drop(&session->joining->start_lock);
}
