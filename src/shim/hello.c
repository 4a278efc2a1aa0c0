/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Becoming a tenant: once, at the first launch or load with a context current. Whatever fails on
 * the way leaves the program running natively. A child of fork starts anew: CUDA does not survive a
 * fork, so a child of a program that had begun is only passed through. */
#include "shim/managed.h"
#include "shim/remember.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPORT_MS  200
#define WELCOME_MS 5000 /* a daemon may have to wait for its turn on a busy machine */

struct shim shim = {.sock.fd = -1, .kick.fd = -1, .wake.fd = -1};

uint64_t shim_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void shim_kick(void)
{
	uint64_t one = 1;

	__atomic_store_n(&shim.page->kick_ns, shim_now_ns(), __ATOMIC_RELAXED);
	if (!shim_has_fd(&shim.kick))
		return; /* the agent takes over */
	if (write(shim.kick.fd, &one, sizeof(one)) < 0)
		return; /* full is as good as rung */
}

bool shim_has_fd(const struct own_fd *o)
{
	static _Atomic bool lost; /* of a fork's child: it has none anyway */

	if (!atomic_load_explicit(&lost, memory_order_relaxed) &&
		(!own_is(&shim.sock) || !own_is(o)))
		atomic_store(&lost, true);
	return !atomic_load_explicit(&lost, memory_order_relaxed);
}

int shim_thread(void *(*fn)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&t, &attr, fn, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

CUresult shim_enter(struct shim_inside *in)
{
	CUcontext now = NULL;
	CUresult r = CUDA_SUCCESS;

	*in = (struct shim_inside){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	if (cu.cuThreadExchangeStreamCaptureMode)
		in->exchanged = cu.cuThreadExchangeStreamCaptureMode(&in->mode) == CUDA_SUCCESS;
	if (shim.ctx && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now != shim.ctx) {
		r = cu.cuCtxPushCurrent(shim.ctx);
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

/* "low", "normal", "high" or a number. */
static int asked_priority(void)
{
	static const char *const names[] = {"low", "normal", "high"};
	const char *s = secure_getenv("HEDDLE_PRIORITY");

	for (int i = 0; s && i < 3; i++) {
		if (!strcmp(s, names[i]))
			return i;
	}
	if (!s || *s < '0' || *s > '9')
		return 1;
	return (int)MIN(strtoul(s, NULL, 10), WIRE_PRIORITIES - 1);
}

static uint32_t attribute(CUdevice_attribute which)
{
	int v = 0;

	if (cu.cuDeviceGetAttribute(&v, which, shim.dev) != CUDA_SUCCESS || v < 0)
		return 0;
	return (uint32_t)v;
}

static void program_name(char *ret, size_t size)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash;

	if (n <= 0)
		return;
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(ret, size, "%.63s", slash ? slash + 1 : path);
}

static void fill_hello(struct wire_hello *h)
{
	const char *weight = secure_getenv("HEDDLE_WEIGHT"), *group = secure_getenv("HEDDLE_CLASS");
	CUuuid id = {{0}};
	char hex[33];

	wire_head_init(&h->head, WIRE_HELLO, sizeof(*h));
	h->priority = asked_priority();
	h->weight = weight && atoi(weight) > 0 ? (uint32_t)MIN(atoi(weight), 1000) : 1;
	h->n_sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	h->threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	h->blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	h->regs_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
	h->shared_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	h->is_cpu_device = dev_kind_of(&cu) == DEV_CPU;
	if (cu.cuDeviceGetUuid)
		cu.cuDeviceGetUuid(&id, shim.dev);
	hex_encode((uint8_t *)id.bytes, 16, hex);
	snprintf(h->device, sizeof(h->device), "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		hex + 12, hex + 16, hex + 20);
	if (cu.cuDeviceGetName)
		cu.cuDeviceGetName(h->device_name, sizeof(h->device_name) - 1, shim.dev);
	program_name(h->name, sizeof(h->name));
	if (group)
		snprintf(h->group, sizeof(h->group), "%.31s", group);
	shim.n_sms = MIN(h->n_sms, CTL_MAX_SMS);
	shim.free_regs = h->threads_per_sm ? h->regs_per_sm / h->threads_per_sm : 0;
	shim.cc = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
		  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* To heddle run -v, which reads the page's figures when the program has ended. Not heard: no harm.
 */
static void report(const struct wire_hello *hello, int page_fd)
{
	const char *path = secure_getenv(WIRE_REPORT_ENV);
	int sock = path && *path ? wire_connect(path, REPORT_MS) : -1;

	if (sock < 0)
		return;
	wire_send(sock, hello, &page_fd, 1);
	close(sock);
}

/* The conversation. Returns 0 with page and descriptors in shim, or negative errno. */
static int greet(const struct wire_hello *hello)
{
	char path[108];
	union {
		char bytes[WIRE_MAX_BYTES];
		struct wire_head head;
		struct wire_welcome welcome;
	} m;
	int fds[3], r, sock;
	unsigned n = 0;

	r = wire_socket_path(path, sizeof(path), false);
	if (r < 0)
		return r;
	sock = wire_connect(path, WELCOME_MS);
	if (sock < 0)
		return sock;
	r = wire_send(sock, hello, NULL, 0);
	if (r >= 0 || r == -EPIPE) /* that: refused already */
		r = wire_recv(sock, &m, sizeof(m), fds, 3, &n);
	if (r > 0 && wire_check(&m, (size_t)r) < 0)
		r = -EPROTO;
	if (r > 0 && (m.head.type != WIRE_WELCOME || n != 3))
		r = m.head.type == WIRE_REFUSED ? -EACCES : -EPROTO;
	if (r > 0 && wire_page_map(fds[0], &shim.page) < 0)
		r = -EPROTO;
	if (r > 0)
		report(hello, fds[0]);
	if (n > 0)
		close(fds[0]);
	if (r <= 0) {
		for (unsigned i = 1; i < n; i++)
			close(fds[i]);
		close(sock);
		return r ? r : -EPROTO;
	}
	shim.welcome = m.welcome;
	own_take(&shim.sock, sock);
	own_take(&shim.kick, fds[1]);
	own_take(&shim.wake, fds[2]);
	return 0;
}

/* The page where the device can read it; without that, launches are only held. */
static void prepare_device(void)
{
	CUdeviceptr at = 0;
	uint32_t one = attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
	int least = 0, greatest = 0;

	if (cu.cuCtxGetStreamPriorityRange)
		cu.cuCtxGetStreamPriorityRange(&least, &greatest);
	shim.low_priority = least;
	shim.top_priority = greatest;
	shim.is_low = shim.welcome.priority <= 0;
	if (!one || !cu.cuMemHostRegister || !cu.cuMemHostGetDevicePointer ||
		!cu.cuStreamWaitValue32 || !shim.n_sms)
		return;
	if (cu.cuMemHostRegister(shim.page, shim.page->bytes,
		    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) != CUDA_SUCCESS)
		return;
	if (cu.cuMemHostGetDevicePointer(&at, shim.page, 0) != CUDA_SUCCESS)
		return;
	if (managed_init() == 0)
		shim.page_dev = at;
}

/* Without making a primary context that is not there. */
static bool is_primary(CUcontext ctx)
{
	CUcontext primary = NULL;
	unsigned flags;
	CUdevice dev;
	int is_active = 0;

	if (cu.cuCtxGetDevice(&dev) != CUDA_SUCCESS || !cu.cuDevicePrimaryCtxGetState ||
		cu.cuDevicePrimaryCtxGetState(dev, &flags, &is_active) != CUDA_SUCCESS ||
		!is_active || cu.cuDevicePrimaryCtxRetain(&primary, dev) != CUDA_SUCCESS)
		return false;
	cu.cuDevicePrimaryCtxRelease(dev);
	return primary == ctx;
}

static int start(void)
{
	struct wire_hello hello = {0};
	int r;

	if (cu.cuCtxGetDevice(&shim.dev) != CUDA_SUCCESS)
		return -ENODEV;
	fill_hello(&hello);
	r = greet(&hello);
	if (r < 0)
		return r;
	prepare_device();
	return agent_start();
}

static const char *explain(int error)
{
	switch (error) {
	case -EPROTO:
	case -EBADMSG:
		return "heddled speaks another protocol version";
	case -EACCES:
		return "heddled refused this program";
	case -ENODEV:
		return "the device could not be asked";
	case -ENOENT:
	case -ECONNREFUSED:
		return "heddled does not run, so nothing is shared (\"heddled &\" starts it)";
	default:
		return "heddled cannot be reached";
	}
}

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* Only the thread that forked lives on in the child, and no thread of ours. */
static void after_fork(void)
{
	bool begun = shim.page || shim.ctx;

	pthread_mutex_init(&start_lock, NULL);
	pthread_mutex_init(&kernel_lock, NULL);
	pthread_cond_init(&kernel_done, NULL);
	shim = (struct shim){.sock.fd = -1, .kick.fd = -1, .wake.fd = -1};
	shim.mode = begun ? SHIM_NATIVE : SHIM_UNKNOWN;
	managed_after_fork();
	remember_after_fork();
}

static void at_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

void shim_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct shim_inside in;
	CUcontext ctx = NULL;
	int r;

	if (!shim_driver() || cu.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || !ctx)
		return;
	pthread_once(&once, at_fork);
	pthread_mutex_lock(&start_lock);
	if (shim.mode == SHIM_UNKNOWN) {
		shim.ctx = ctx;
		shim.is_primary = is_primary(ctx);
		shim_enter(&in);
		r = start();
		shim_leave(&in);
		if (r < 0)
			shim_warn(explain(r));
		atomic_store(&shim.mode, r < 0 ? SHIM_NATIVE : SHIM_ON);
	}
	pthread_mutex_unlock(&start_lock);
}
