/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records of modules, libraries and kernels, and the threads that make preemptible forms. A form is
 * asked for by the first launch, made off the launch path, and used from then on; a launch that
 * finds it in the making goes plain. */
#include "shim/managed.h"
#include "shim/remember.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITS_MS     20 /* for forms, all launches of a program together */
#define WAITS_MS_MAX 1000000
#define AT_WORK_MAX  4  /* threads that make forms, */
#define THREADS_MAX  32 /* and with those that wait for the assembler */
#define LESS_URGENT  10 /* than the program's own threads, as nice(1) counts */
#define IDLE_S       1  /* then threads end, and what was parsed is let go of */

struct module {
	void *handle;
	bool is_library;
	struct code *code; /* NULL: no PTX for this device */
	VEC(struct kernel *) kernels;
};

pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t kernel_done = PTHREAD_COND_INITIALIZER;
static struct map modules = MAP_INIT, kernels = MAP_INIT;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static VEC(struct kernel *) queue;
static unsigned n_threads, n_idle; /* that make forms */
static sem_t turns;                /* to do so; counts those that may begin */
static uint64_t may_wait_ns;       /* launches, from now on, in all */

/* ---- PTX ---- */

static void code_get(struct code *c)
{
	if (c)
		atomic_fetch_add(&c->refs, 1);
}

static void code_put(struct code *c)
{
	if (c && atomic_fetch_sub(&c->refs, 1) == 1) {
		free((void *)c->entry.bytes.at);
		free(c);
	}
}

struct choice {
	uint32_t cc;
	struct image_entry best;
};

/* The rule of image_pick, on entries that stay packed. */
static int choose(void *user, const struct image_entry *e)
{
	struct choice *c = user;

	if (e->kind == IMAGE_PTX && image_usable(e, c->cc) && e->arch >= c->best.arch)
		c->best = *e;
	return 0;
}

/* Libraries may be loaded before there is a context: then it is the first device's. */
static uint32_t device_cc(void)
{
	int major = 0, minor = 0;

	if (shim.cc)
		return shim.cc;
	cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
	cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	return (uint32_t)(major * 10 + minor);
}

static struct code *code_of(struct image_bytes image)
{
	struct choice pick = {.cc = device_cc()};
	struct code *c;
	void *copy;

	if (image_walk(image, choose, &pick) < 0 || !pick.best.bytes.at)
		return NULL;
	c = calloc(1, sizeof(*c));
	copy = malloc(pick.best.bytes.len + 1);
	if (!c || !copy) {
		free(c);
		free(copy);
		return NULL;
	}
	c->refs = 1;
	c->entry = pick.best;
	sha256(pick.best.bytes.at, pick.best.bytes.len, c->digest);
	memcpy(copy, pick.best.bytes.at, pick.best.bytes.len);
	c->entry.bytes.at = copy;
	c->entry.name = (struct image_bytes){0};
	return c;
}

/* ---- modules ---- */

static void add_module(void *handle, bool is_library, struct code *code)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m) {
		code_put(code);
		return;
	}
	m->handle = handle;
	m->is_library = is_library;
	m->code = code;
	map_put(&modules, handle, m);
}

void kernel_module_loaded(void *handle, bool is_library, struct image_bytes image)
{
	add_module(handle, is_library, code_of(image));
}

void kernel_module_of_library(void *module, void *library)
{
	struct module *l;

	pthread_mutex_lock(&kernel_lock);
	l = map_get(&modules, library);
	if (l && !map_get(&modules, module)) {
		code_get(l->code);
		add_module(module, false, l->code);
	}
	pthread_mutex_unlock(&kernel_lock);
}

void kernel_module_unloaded(void *handle)
{
	struct module *m = map_get(&modules, handle);
	VEC(struct form *) gone = {0};

	symbols_forget(handle);
	if (!m)
		return;
	pthread_mutex_lock(&kernel_lock);
	map_put(&modules, handle, NULL);
	for (size_t i = 0; i < m->kernels.len; i++) {
		struct kernel *k = m->kernels.at[i];

		if (map_get(&kernels, k->handle) == k)
			map_put(&kernels, k->handle, NULL);
		/* Its form may be in the making: who ends does not wait for an assembler. */
		k->gone = true;
		while (k->held)
			pthread_cond_wait(&kernel_done, &kernel_lock);
		if (atomic_exchange(&k->state, KERNEL_PLAIN) == KERNEL_READY)
			VEC_PUSH(&gone, k->form);
		code_put(k->code);
		k->code = NULL;
	}
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
	for (size_t i = 0; i < gone.len; i++)
		rewrite_unload(gone.at[i]);
	VEC_FREE(&gone);
	VEC_FREE(&m->kernels);
	code_put(m->code);
	free(m);
}

/* ---- kernels ---- */

static struct kernel *new_kernel(void *handle, void *owner, bool in_library, const char *name)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->handle = handle;
	k->owner = owner;
	k->in_library = in_library;
	k->name = strdup(name);
	if (!k->name) {
		free(k);
		return NULL;
	}
	return k;
}

void kernel_known(void *handle, void *owner, bool in_library, const char *name)
{
	struct kernel *k;
	struct module *m;

	pthread_mutex_lock(&kernel_lock);
	k = map_get(&kernels, handle);
	m = map_get(&modules, owner);
	/* Asked for again: the same kernel. A stale record of a handle used anew is replaced. */
	if (!k || k->owner != owner || strcmp(k->name, name)) {
		k = new_kernel(handle, owner, in_library, name);
		if (k)
			k->seen = m;
		if (k && m && m->code && VEC_PUSH(&m->kernels, k)) {
			code_get(m->code);
			k->code = m->code;
			k->hash =
				hash_bytes(m->code->digest, 32, hash_bytes(name, strlen(name), 0));
			k->state = KERNEL_NEW;
		}
		if (k)
			map_put(&kernels, handle, k);
	}
	pthread_mutex_unlock(&kernel_lock);
}

void kernel_also(void *handle, void *known)
{
	struct kernel *k = map_get(&kernels, known);

	if (k && map_get(&kernels, handle) != k)
		map_put(&kernels, handle, k);
}

struct kernel *kernel_of(void *handle)
{
	struct kernel *k = map_get(&kernels, handle);

	if (k)
		return k;
	k = new_kernel(handle, NULL, false, "");
	if (k && !map_put(&kernels, handle, k)) {
		free(k->name);
		free(k);
		return NULL;
	}
	return k;
}

/* ---- forms ---- */

static void apply(struct kernel *k, const struct form *f)
{
	for (int i = 0; i < KERNEL_ATTRIBUTES; i++) {
		if (k->attr_set[i] && cu.cuFuncSetAttribute(f->on.fn, (CUfunction_attribute)i,
					      k->attr[i]) != CUDA_SUCCESS)
			atomic_store(&k->state, KERNEL_PLAIN);
	}
	if (k->cache_set)
		cu.cuFuncSetCacheConfig(f->on.fn, k->cache);
}

bool kernel_hold(struct kernel *k)
{
	bool there;

	pthread_mutex_lock(&kernel_lock);
	there = !k->gone && compile_goes_inside();
	if (there)
		k->held++;
	pthread_mutex_unlock(&kernel_lock);
	return there;
}

void kernel_release(struct kernel *k)
{
	pthread_mutex_lock(&kernel_lock);
	k->held--;
	compile_goes_outside();
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
}

/* Under the lock. */
static void publish(struct kernel *k, struct form *f, const char *why)
{
	struct shim_inside in;

	k->form = f;
	k->why = why;
	atomic_store(&k->state, f ? KERNEL_READY : KERNEL_PLAIN);
	if (!f)
		return;
	shim_enter(&in);
	for (const struct form *g = f; g; g = g->other)
		apply(k, g);
	shim_leave(&in);
}

static void make_form(struct kernel *k)
{
	struct code *c;
	struct form *f = NULL;
	const char *why = NULL;
	bool gone;

	if (atomic_load(&k->state) != KERNEL_BUSY) { /* kernel_remember */
		remember_write(k);
		return;
	}
	pthread_mutex_lock(&kernel_lock);
	c = k->code;
	code_get(c);
	pthread_mutex_unlock(&kernel_lock);
	if (c && rewrite_kernel(k, c, &f, &why) < 0)
		f = NULL;
	code_put(c);
	pthread_mutex_lock(&kernel_lock);
	gone = k->gone;
	if (!gone)
		publish(k, f, why);
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
	if (gone && f) {
		fence_begin(FENCE_WAITS);
		rewrite_unload(f);
		fence_end();
	}
}

/* The one that is missed most, or NULL. Under the lock. */
static struct kernel *take(void)
{
	struct kernel *k;
	size_t at = 0;

	if (!queue.len)
		return NULL;
	for (size_t i = 1; i < queue.len; i++) {
		if (atomic_load(&queue.at[i]->missed) > atomic_load(&queue.at[at]->missed))
			at = i;
	}
	k = queue.at[at];
	memmove(queue.at + at, queue.at + at + 1, (--queue.len - at) * sizeof(queue.at[0]));
	return k;
}

/* Under the lock, which it lets go of meanwhile. False: that took a while. */
static bool await_work(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += IDLE_S;
	return pthread_cond_timedwait(&asked, &kernel_lock, &until) != ETIMEDOUT;
}

/* The next one to be made; NULL: there has been none for a while. */
static struct kernel *next(void)
{
	struct kernel *k;
	bool waits = true, is_last;

	pthread_mutex_lock(&kernel_lock);
	n_idle++;
	while (!(k = take()) && waits)
		waits = await_work();
	n_idle--;
	n_threads -= !k;
	is_last = !n_threads;
	pthread_mutex_unlock(&kernel_lock);
	if (is_last)
		rewrite_idle();
	return k;
}

void kernel_turn_begin(void)
{
	while (sem_wait(&turns) < 0)
		;
}

void kernel_turn_end(void)
{
	sem_post(&turns);
}

static void *thread(void *unused)
{
	const id_t self = (id_t)syscall(SYS_gettid);
	struct kernel *k;

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + LESS_URGENT);
	while ((k = next())) {
		kernel_turn_begin();
		make_form(k);
		kernel_turn_end();
	}
	return NULL;
}

/* Half of the processors that the program may use, so that it is not slowed. */
static unsigned most_at_work(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) / 2 : 1;

	return (unsigned)MAX(MIN(n, AT_WORK_MAX), 1);
}

/* Under the lock, once. */
static void begin_making(void)
{
	const char *ms = secure_getenv("HEDDLE_FORM_WAIT_MS");
	static bool begun;

	if (begun)
		return;
	begun = true;
	sem_init(&turns, 0, most_at_work());
	remember_at_exit();
	may_wait_ns =
		(uint64_t)(ms && *ms ? MAX(MIN(atoi(ms), WAITS_MS_MAX), 0) : WAITS_MS) * 1000000;
}

/* Under the lock, k being in the queue: for each that waits there a thread. False: there is none.
 */
static bool have_threads(void)
{
	begin_making();
	if (queue.len > n_idle && n_threads < THREADS_MAX && shim_thread(thread) == 0)
		n_threads++;
	return n_threads > 0;
}

/* Under the lock, which it lets go of meanwhile. */
static void await_form(struct kernel *k)
{
	uint64_t began = shim_now_ns(), waited;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(may_wait_ns / 1000000000);
	until.tv_nsec += (long)(may_wait_ns % 1000000000);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (may_wait_ns && atomic_load(&k->state) == KERNEL_BUSY) {
		if (pthread_cond_timedwait(&kernel_done, &kernel_lock, &until) == ETIMEDOUT)
			break;
	}
	waited = shim_now_ns() - began;
	may_wait_ns -= MIN(waited, may_wait_ns);
}

/* Under the lock. */
static bool enqueue(struct kernel *k)
{
	if (!VEC_PUSH(&queue, k))
		return false;
	if (!have_threads()) {
		queue.len--;
		return false;
	}
	pthread_cond_signal(&asked);
	return true;
}

bool kernel_remember(struct kernel *k)
{
	bool ok;

	pthread_mutex_lock(&kernel_lock);
	ok = atomic_load(&k->state) == KERNEL_READY && enqueue(k);
	pthread_mutex_unlock(&kernel_lock);
	return ok;
}

static void ask(struct kernel *k)
{
	pthread_mutex_lock(&kernel_lock);
	if (atomic_load(&k->state) == KERNEL_NEW) {
		/* Only who holds the lock takes it out of the queue. */
		bool ok = enqueue(k);

		atomic_store(&k->state, ok ? KERNEL_BUSY : KERNEL_PLAIN);
	}
	await_form(k);
	pthread_mutex_unlock(&kernel_lock);
}

void kernel_missed(struct kernel *k, uint64_t threads)
{
	if (atomic_load_explicit(&k->state, memory_order_relaxed) == KERNEL_BUSY)
		atomic_fetch_add_explicit(&k->missed, threads, memory_order_relaxed);
}

struct form *kernel_form(struct kernel *k)
{
	int state = atomic_load_explicit(&k->state, memory_order_acquire);

	if (state == KERNEL_NEW && shim.page_dev) {
		ask(k);
		state = atomic_load_explicit(&k->state, memory_order_acquire);
	}
	return state == KERNEL_READY ? k->form : NULL;
}

static struct form *ready_form(struct kernel *k)
{
	return atomic_load(&k->state) == KERNEL_READY ? k->form : NULL;
}

void kernel_attribute(void *handle, int attr, int value)
{
	struct kernel *k = kernel_of(handle);

	if (!k || attr < 0 || attr >= KERNEL_ATTRIBUTES)
		return;
	pthread_mutex_lock(&kernel_lock);
	k->attr_set[attr] = true;
	k->attr[attr] = value;
	for (struct form *f = ready_form(k); f; f = f->other) {
		if (cu.cuFuncSetAttribute(f->on.fn, (CUfunction_attribute)attr, value) !=
			CUDA_SUCCESS)
			atomic_store(&k->state, KERNEL_PLAIN);
		pthread_mutex_lock(&f->lock);
		f->n_shapes = 0;
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_unlock(&kernel_lock);
}

void kernel_cache_config(void *handle, CUfunc_cache config)
{
	struct kernel *k = kernel_of(handle);

	if (!k)
		return;
	pthread_mutex_lock(&kernel_lock);
	k->cache_set = true;
	k->cache = config;
	for (struct form *f = ready_form(k); f; f = f->other)
		cu.cuFuncSetCacheConfig(f->on.fn, config);
	pthread_mutex_unlock(&kernel_lock);
}
