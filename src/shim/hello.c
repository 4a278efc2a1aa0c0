/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the program a tenant, when it first launches a kernel or loads code while a context is
 * current.
 * - If no daemon runs at that time, a thread looks for one every second. Until the thread finds
 *   one, the shim passes every call on to the driver (SHIM_LATER).
 * - After any other failure the program runs natively.
 * - CUDA does not survive a fork. If the parent had started the shim, the shim in the child passes
 *   every call on. */
#include "shim/hello.h"
#include "base/environment.h"
#include "host/tenant.h"
#include "shim/managed.h"
#include "shim/record.h"
#include "shim/remember.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Timeouts for connecting to heddled and receiving its reply, in ms. The program waits for the
 * reply to the first HELLO. It does not wait for later ones, so LATER_MS is longer: on a busy
 * machine heddled may be slow to reply. */
#define FIRST_MS 1000
#define LATER_MS 5000
#define LOOK_S   1 /* between looks for the first daemon */

#define NO_FDS .sock.fd = -1, .kick.fd = -1, .wake.fd = -1, .page_fd.fd = -1

struct shim shims[SHIM_SESSIONS] = {
	[0 ... SHIM_DEVICES - 1] = {NO_FDS}, [SHIM_DEVICES] = {NO_FDS, .mode = SHIM_NATIVE}};
__thread struct shim *shim = &shims[0];
_Atomic unsigned shim_n_devices;

static struct session {
	pthread_mutex_t start_lock, fd_lock;
	bool fds_lost; /* under fd_lock */
	/* true: the thread that looks for the first daemon runs; guarded by start_lock */
	bool looking;
	/* `hello` is the message for the first daemon and each later one. `where` is the path of
	 * heddled's socket; it is a copy, because the program may change its environment. */
	struct wire_hello hello;
	char where[108];
	bool socket_given; /* the environment says where */
	char report_to[108];
	char refusal[sizeof(((struct wire_refused *)0)->why)]; /* of the first greeting */
	bool by_folder; /* it failed before: no path could be trusted, or looked at */
} each[SHIM_SESSIONS] = {
	[0 ... SHIM_SESSIONS - 1] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};

static struct session *here(void)
{
	return &each[shim_at()];
}

uint64_t shim_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Under the lock. */
static bool has_fd(const struct own_fd *o)
{
	here()->fds_lost = here()->fds_lost || !own_is(&shim->sock) || !own_is(o);
	return !here()->fds_lost;
}

bool shim_ring(const struct own_fd *o)
{
	uint64_t one = 1;
	bool has;

	pthread_mutex_lock(&here()->fd_lock);
	has = has_fd(o);
	if (has && write(o->fd, &one, sizeof(one)) < 0)
		has = true; /* full is as good as rung */
	pthread_mutex_unlock(&here()->fd_lock);
	return has;
}

void shim_kick(void)
{
	__atomic_store_n(&shim->page->kick_ns, shim_now_ns(), __ATOMIC_RELAXED);
	shim_ring(&shim->kick); /* else the agent takes over */
}

bool shim_has_fd(const struct own_fd *o)
{
	bool has;

	pthread_mutex_lock(&here()->fd_lock);
	has = has_fd(o);
	pthread_mutex_unlock(&here()->fd_lock);
	return has;
}

struct begin {
	void *(*fn)(void *);
	struct shim *session;
};

static void *thread_begins(void *arg)
{
	struct begin b = *(struct begin *)arg;

	free(arg);
	shim = b.session;
	return b.fn(NULL);
}

int shim_thread(void *(*fn)(void *))
{
	struct begin *b = malloc(sizeof(*b));
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;
	int r;

	if (!b)
		return -ENOMEM;
	*b = (struct begin){fn, shim};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&t, &attr, thread_begins, b);
	if (r)
		free(b);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

CUresult shim_enter(struct shim_inside *in)
{
	CUcontext ctx = shim->ctx, now = NULL;
	CUresult r = CUDA_SUCCESS;

	*in = (struct shim_inside){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	if (cu.cuThreadExchangeStreamCaptureMode)
		in->exchanged = cu.cuThreadExchangeStreamCaptureMode(&in->mode) == CUDA_SUCCESS;
	if (ctx && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now != ctx) {
		r = cu.cuCtxPushCurrent(ctx);
		in->pushed = r == CUDA_SUCCESS;
	}
	return r;
}

void shim_leave(struct shim_inside *in)
{
	CUcontext popped;

	if (in->pushed)
		cu.cuCtxPopCurrent(&popped);
	if (in->exchanged)
		cu.cuThreadExchangeStreamCaptureMode(&in->mode);
}

void shim_count_devices(void)
{
	int n;

	if (!shim_n_devices && cu.cuDeviceGetCount && cu.cuDeviceGetCount(&n) == CUDA_SUCCESS)
		atomic_store(&shim_n_devices, (unsigned)MAX(n, 0));
}

void shim_route_to(CUdevice dev)
{
	if (shim_n_devices > 1)
		shim = &shims[dev >= 0 ? MIN((unsigned)dev, SHIM_DEVICES) : 0];
}

void shim_route_by_context(void)
{
	CUcontext now = NULL;
	CUdevice dev;

	if (cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now && now != shim->ctx &&
		cu.cuCtxGetDevice(&dev) == CUDA_SUCCESS)
		shim_route_to(dev);
}

static uint32_t attribute(CUdevice_attribute which)
{
	return host_attribute(&cu, shim->dev, which);
}

static void fill_hello(struct wire_hello *h)
{
	enum pass_order order = PASS_ORDER_ROW;

	host_hello(&cu, shim->dev, h);
	shim->n_sms = MIN(h->n_sms, CTL_MAX_SMS);
	shim->free_regs = h->threads_per_sm ? h->regs_per_sm / h->threads_per_sm : 0;
	for (int i = 0; i < 3; i++) /* the numbers of the three attributes follow each other */
		shim->max_grid[i] =
			attribute((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
	pass_order_find(env_word(ENV_ORDER), &order);
	shim->order = order;
	shim->cc = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
		   attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* Sends the page's descriptor to `heddle run -v`, which reads the page's figures after the program
 * has ended. A failure does no harm. */
static void report_page(const struct wire_hello *hello, int page_fd)
{
	int sock = *here()->report_to ? wire_connect(here()->report_to, REPORT_MS) : -1;

	if (sock < 0)
		return;
	wire_send(sock, hello, &page_fd, 1);
	close(sock);
}

/* ---- the conversation ---- */

/* Takes ownership of the socket and of all descriptors in `fds` except the page's. The caller holds
 * fd_lock if other threads already run. */
static void take_fds(int sock, const int fds[3])
{
	own_take(&shim->sock, sock);
	own_take(&shim->kick, fds[1]);
	own_take(&shim->wake, fds[2]);
}

/* An answer, and after a welcome also the connection. */
struct greeting {
	union host_answer m;
	struct own_fd sock;
	int fds[3];
};

/* Connects to the daemon, sends HELLO and waits for the reply. Returns 0 if the daemon accepts the
 * program. Otherwise returns a negative errno and leaves no descriptor open. Uses no field of
 * `shim`. */
static int greet_daemon(
	const char *path, const struct wire_hello *h, int timeout_ms, struct greeting *ret)
{
	int r, sock = wire_connect(path, timeout_ms);

	if (sock == -EACCES) /* by the system, not by heddled */
		return -EPERM;
	if (sock < 0)
		return sock;
	own_take(&ret->sock, sock);
	r = wire_send(ret->sock.fd, h, NULL, 0);
	if (r >= 0 || r == -EPIPE) /* that: refused already */
		r = host_await_answer(ret->sock.fd, &ret->m, ret->fds);
	if (r < 0)
		own_close(&ret->sock);
	return r;
}

static void drop_greeting(struct greeting *g)
{
	for (unsigned i = 0; i < 3; i++)
		close(g->fds[i]);
	own_close(&g->sock);
}

/* Moves the page and the descriptors of an accepted greeting into `shim`. Returns 0 or a negative
 * errno. */
static int be_welcome(struct greeting *g)
{
	int r = own_is(&g->sock) ? 0 : -EBADF; /* the program may have closed it */
	struct wire_page *page = NULL;

	if (r == 0 && wire_page_map(g->fds[0], &page) < 0)
		r = -EPROTO;
	if (r < 0) {
		drop_greeting(g);
		return r;
	}
	__atomic_store_n(&shim->page, page, __ATOMIC_RELEASE);
	report_page(&here()->hello, g->fds[0]);
	shim->welcome = g->m.welcome;
	take_fds(g->sock.fd, g->fds);
	own_take(&shim->page_fd, g->fds[0]);
	return 0;
}

int hello_again(struct own_fd *ret)
{
	struct wire_hello h = here()->hello;
	int sock, r;

	if (!own_is(&shim->page_fd))
		return -EBADF;
	sock = wire_connect(here()->where, -1);
	if (sock < 0)
		return sock;
	own_take(ret, sock);
	/* As it was granted, or was set since. */
	h.priority = (int)MIN(page_load(&shim->page->priority), WIRE_PRIORITIES - 1);
	h.weight = MIN(MAX(page_load(&shim->page->weight), 1), 1000);
	pthread_mutex_lock(&here()->fd_lock);
	atomic_fetch_add(&shim->joins, 1);
	atomic_store(&shim->alone, false);
	pthread_mutex_unlock(&here()->fd_lock);
	r = wire_send(ret->fd, &h, &shim->page_fd.fd, 1);
	if (r < 0 && r != -EPIPE)
		own_close(ret);
	return r == -EPIPE ? 0 : r;
}

/* Other threads look at some of it. */
static void store_welcome(const struct wire_welcome *m)
{
	__atomic_store_n(&shim->welcome.min_managed_ns, m->min_managed_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&shim->welcome.latency_ns, m->latency_ns, __ATOMIC_RELAXED);
}

int hello_answered(struct own_fd *sock)
{
	struct own_fd old[3] = {shim->sock, shim->kick, shim->wake};
	uint64_t ours = 0, theirs = 0;
	union host_answer m;
	int fds[3], r;

	if (!own_is(sock))
		return -EBADF;
	r = host_await_answer(sock->fd, &m, fds);
	if (r < 0)
		return r;
	/* The page in the daemon's reply is not the page that this tenant brought. So the new
	 * daemon has not adopted the tenant, and does not know it. */
	if (!own_is(&shim->page_fd) || wire_page_number(fds[0], &theirs) < 0 ||
		wire_page_number(shim->page_fd.fd, &ours) < 0 || ours != theirs) {
		for (unsigned i = 0; i < 3; i++)
			close(fds[i]);
		return -EPROTO;
	}
	close(fds[0]);
	pthread_mutex_lock(&here()->fd_lock);
	take_fds(sock->fd, fds);
	pthread_mutex_unlock(&here()->fd_lock);
	sock->fd = -1;
	for (unsigned i = 0; i < 3; i++)
		own_close(&old[i]);
	store_welcome(&m.welcome);
	return 0;
}

void hello_ends(void)
{
	if (own_is(&shim->sock)) /* a child may have it open, too */
		shutdown(shim->sock.fd, SHUT_RDWR);
}

bool hello_socket(struct own_fd *ret)
{
	pthread_mutex_lock(&here()->fd_lock);
	*ret = shim->sock;
	pthread_mutex_unlock(&here()->fd_lock);
	return own_is(ret);
}

bool hello_open_gate(unsigned joins)
{
	bool same;

	pthread_mutex_lock(&here()->fd_lock);
	same = atomic_load(&shim->joins) == joins;
	if (same)
		__atomic_store_n(&shim->page->allowed,
			page_load(&shim->page->opaque_submitted) + WIRE_FAR_AHEAD,
			__ATOMIC_RELEASE);
	pthread_mutex_unlock(&here()->fd_lock);
	return same;
}

/* Prepares the current context: maps the page for the device, and makes the shim's streams and the
 * control blocks. If one of these cannot be made, the shim can only hold launches back. Returns
 * false if the context has ended. */
static bool prepare_device(void)
{
	CUdeviceptr at = 0;
	CUresult r;
	uint32_t one = attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
	int least = 0, greatest = 0;

	if (cu.cuCtxGetStreamPriorityRange)
		cu.cuCtxGetStreamPriorityRange(&least, &greatest);
	__atomic_store_n(&shim->low_priority, least, __ATOMIC_RELAXED);
	shim->top_priority = greatest;
	if (!one || !cu.cuMemHostRegister || !cu.cuMemHostGetDevicePointer ||
		!cu.cuStreamWaitValue32 || !shim->n_sms)
		return true;
	r = cu.cuMemHostRegister(shim->page, shim->page->bytes,
		CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return r != CUDA_ERROR_CONTEXT_IS_DESTROYED && r != CUDA_ERROR_INVALID_CONTEXT;
	if (cu.cuMemHostGetDevicePointer(&at, shim->page, 0) != CUDA_SUCCESS)
		return true;
	if (managed_init() == 0)
		shim->page_dev = at;
	return true;
}

/* The shim's context is current. */
static int join_daemon(struct greeting *g)
{
	int r = be_welcome(g);

	if (r < 0)
		return r;
	prepare_device();
	return agent_start();
}

/* Settings from the program's environment. The shim reads them once for all devices, because the
 * program may change its environment later. */
static struct {
	pthread_mutex_t lock;
	bool is_read;
	int error; /* of wire_socket_path */
	char where[108], report_to[108];
	bool socket_given;
	int32_t priority;
	uint32_t weight, order;
	char group[32];
} environment = {PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. With what fill_hello has read. */
static void read_environment(void)
{
	const char *given = secure_getenv(WIRE_SOCKET_ENV),
		   *report_path = secure_getenv(WIRE_REPORT_ENV);
	const struct wire_hello *h = &here()->hello;

	environment.is_read = true;
	environment.socket_given = given && *given;
	snprintf(environment.report_to, sizeof(environment.report_to), "%s",
		report_path ? report_path : "");
	environment.error = wire_socket_path(environment.where, sizeof(environment.where), false);
	environment.priority = h->priority;
	environment.weight = h->weight;
	memcpy(environment.group, h->group, sizeof(environment.group));
	environment.order = shim->order;
}

/* 0, or a negative errno if no socket can be looked for. */
static int take_environment(void)
{
	struct session *s = here();
	int r;

	pthread_mutex_lock(&environment.lock);
	if (!environment.is_read)
		read_environment();
	memcpy(s->where, environment.where, sizeof(s->where));
	memcpy(s->report_to, environment.report_to, sizeof(s->report_to));
	s->socket_given = environment.socket_given;
	s->hello.priority = environment.priority;
	s->hello.weight = environment.weight;
	memcpy(s->hello.group, environment.group, sizeof(s->hello.group));
	shim->order = environment.order;
	r = environment.error;
	pthread_mutex_unlock(&environment.lock);
	return r;
}

static int start_tenant(void)
{
	struct greeting g = {0};
	int r;

	if (cu.cuCtxGetDevice(&shim->dev) != CUDA_SUCCESS)
		return -ENODEV;
	fill_hello(&here()->hello);
	r = take_environment();
	here()->by_folder = r < 0;
	if (r == 0)
		r = greet_daemon(here()->where, &here()->hello, FIRST_MS, &g);
	if (r == -EACCES && !here()->by_folder)
		snprintf(here()->refusal, sizeof(here()->refusal), "%s", g.m.refused.why);
	return r < 0 ? r : join_daemon(&g);
}

/* Not when the program is killed. */
static void __attribute__((destructor)) mark_end(void)
{
	for (unsigned i = 0; i < SHIM_SESSIONS; i++) {
		if (shims[i].page)
			__atomic_store_n(&shims[i].page->ends, 1, __ATOMIC_RELEASE);
	}
}

/* ---- the first daemon comes after the program ---- */

/* Returns true if it makes sense to look for a daemon again after this error of the last attempt.
 * This includes a timeout, because the daemon may be stopped or slow. */
static bool may_come(int error)
{
	return !shim->page && (error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET ||
				      error == -EAGAIN);
}

/* Returns true if the program still waits for a daemon and a daemon's socket exists. Stores the
 * socket's path, and the HELLO to send. */
static bool find_daemon(struct wire_hello *ret, char path[sizeof(here()->where)])
{
	bool is_later;

	pthread_mutex_lock(&here()->start_lock);
	is_later = atomic_load(&shim->mode) == SHIM_LATER;
	if (is_later && !here()->socket_given && access(WIRE_SYSTEM_SOCKET, F_OK) == 0)
		snprintf(here()->where, sizeof(here()->where), "%s", WIRE_SYSTEM_SOCKET);
	*ret = here()->hello;
	memcpy(path, here()->where, sizeof(here()->where));
	pthread_mutex_unlock(&here()->start_lock);
	return is_later && access(path, F_OK) == 0;
}

/* Under the lock. */
static void join_later(struct greeting *g)
{
	struct shim_inside in;
	int r = -ENOENT;

	if (shim_enter(&in) == CUDA_SUCCESS)
		r = join_daemon(g);
	else
		drop_greeting(g);
	shim_leave(&in);
	if (!r)
		atomic_store(&shim->mode, SHIM_ON);
	else if (!may_come(r))
		atomic_store(&shim->mode, SHIM_NATIVE);
}

/* Looks once for a daemon, and joins it if there is one. Waits for the reply without the lock,
 * because the program's own calls take the lock. */
static void look_once(void)
{
	struct wire_hello said;
	struct greeting g;
	char path[sizeof(here()->where)];
	bool same;
	int r;

	if (!find_daemon(&said, path))
		return;
	r = greet_daemon(path, &said, LATER_MS, &g);
	pthread_mutex_lock(&here()->start_lock);
	same = atomic_load(&shim->mode) == SHIM_LATER &&
	       !memcmp(&said, &here()->hello, sizeof(said));
	if (r == 0 && same)
		join_later(&g);
	else if (r == 0)
		/* The program's context has changed meanwhile, perhaps to another device, and the
		 * HELLO described the old one. */
		drop_greeting(&g);
	else if (same && !may_come(r))
		atomic_store(&shim->mode, SHIM_NATIVE);
	pthread_mutex_unlock(&here()->start_lock);
}

static void *look_for_daemon(void *unused)
{
	bool goes_on = true;

	while (goes_on) {
		int mode;

		nanosleep(&(struct timespec){.tv_sec = LOOK_S}, NULL);
		look_once();
		pthread_mutex_lock(&here()->start_lock);
		mode = atomic_load(&shim->mode);
		here()->looking = goes_on = mode == SHIM_LATER || mode == SHIM_UNKNOWN;
		pthread_mutex_unlock(&here()->start_lock);
	}
	return NULL;
}

/* Under the lock. The mode of a program that found no daemon. */
static enum shim_mode without_daemon(int error)
{
	if (!may_come(error))
		return SHIM_NATIVE;
	here()->looking = here()->looking || shim_thread(look_for_daemon) == 0;
	return here()->looking ? SHIM_LATER : SHIM_NATIVE;
}

void hello_pause(void)
{
	pthread_mutex_lock(&here()->start_lock);
}

void hello_resume(void)
{
	if (atomic_load(&shim->mode) == SHIM_LATER && !shim->ctx)
		atomic_store(&shim->mode, SHIM_UNKNOWN);
	pthread_mutex_unlock(&here()->start_lock);
}

static void forget_parent(bool begun)
{
	pthread_mutex_init(&here()->start_lock, NULL);
	pthread_mutex_init(&here()->fd_lock, NULL);
	here()->fds_lost = here()->looking = false;
	*shim = (struct shim){NO_FDS};
	shim->mode = begun || shim_at() == SHIM_DEVICES ? SHIM_NATIVE : SHIM_UNKNOWN;
	managed_after_fork();
}

/* Resets the shim in the child after a fork, where only the forking thread exists and no thread of
 * the shim. */
static void after_fork(void)
{
	bool begun = false;

	for (unsigned i = 0; i < SHIM_SESSIONS; i++)
		begun |= shims[i].page || shims[i].ctx;
	pthread_mutex_init(&kernel_lock, NULL);
	pthread_cond_init(&kernel_done, NULL);
	pthread_mutex_init(&environment.lock, NULL);
	environment.is_read = false;
	for (unsigned i = SHIM_SESSIONS; i-- > 0;) {
		shim = &shims[i];
		forget_parent(begun);
	}
	remember_after_fork();
	record_after_fork();
}

static void at_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

/* Reports why the program does not become a tenant. If the program uses several devices, the report
 * names the device, because a refusal may concern only one of them. */
static void say_why(int error)
{
	char buf[HOST_FAILED], line[HOST_FAILED + 40];
	const char *why =
		host_greeting_failed(error, here()->by_folder, here()->where, here()->refusal, buf);

	if (error == -EACCES && !here()->by_folder && shim_n_devices > 1) {
		snprintf(line, sizeof(line), "device %u: %s", shim_at(), why);
		why = line;
	}
	shim_warn(why);
	shim_tell_watcher(why);
}

/* For a tenant whose context has ended: if `ctx`, the current context, is on the tenant's device,
 * the tenant continues in it. Call under the lock. */
static void go_on_in(CUcontext ctx)
{
	struct shim_inside in;
	CUdevice dev;
	bool lives = false;

	if (cu.cuCtxGetDevice(&dev) != CUDA_SUCCESS || dev != shim->dev)
		return;
	shim->ctx = ctx;
	if (shim_enter(&in) == CUDA_SUCCESS)
		lives = prepare_device();
	shim_leave(&in);
	if (!lives)
		shim->ctx = NULL;
}

void shim_start(bool is_launch)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct shim_inside in;
	CUcontext ctx = NULL;
	int r;

	if (!shim_driver() || cu.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || !ctx)
		return;
	shim_count_devices();
	shim_route();
	if (!is_launch && shim_n_devices > 1)
		return;
	pthread_once(&once, at_fork);
	pthread_mutex_lock(&here()->start_lock);
	if (shim->mode == SHIM_UNKNOWN && record_on()) {
		atomic_store(&shim->mode, SHIM_LATER);
	} else if (shim->mode == SHIM_UNKNOWN) {
		shim->ctx = ctx;
		shim_enter(&in);
		r = start_tenant();
		shim_leave(&in);
		if (r < 0)
			say_why(r);
		atomic_store(&shim->mode, r < 0 ? without_daemon(r) : SHIM_ON);
	} else if (shim->mode == SHIM_ON && is_launch && !shim->ctx) {
		go_on_in(ctx);
	}
	pthread_mutex_unlock(&here()->start_lock);
}
