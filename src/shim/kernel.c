/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records of modules, libraries and kernels, and the thread that makes preemptible forms. A form is
 * asked for by the first launch, made off the launch path, and used from then on; a launch that
 * finds it in the making goes plain. */
#include "shim/managed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_LAUNCH_WAITS_NS 2000000000u

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
static bool thread_runs;

/* ---- PTX ---- */

static void code_get(struct code *c)
{
	if (c)
		atomic_fetch_add(&c->refs, 1);
}

void code_put(struct code *c)
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
	struct code *c = code_of(image);

	if (c)
		add_module(handle, is_library, c);
	else if (map_get(&modules, handle))
		map_put(&modules, handle, NULL);
}

void kernel_module_of_library(void *module, void *library)
{
	struct module *l;

	pthread_mutex_lock(&kernel_lock);
	l = map_get(&modules, library);
	if (l && l->code && !map_get(&modules, module)) {
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
		while (atomic_load(&k->state) == KERNEL_BUSY)
			pthread_cond_wait(&kernel_done, &kernel_lock);
		if (atomic_exchange(&k->state, KERNEL_PLAIN) == KERNEL_READY)
			VEC_PUSH(&gone, k->form);
		code_put(k->code);
		k->code = NULL;
	}
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
		if (k->attr_set[i] && cu.cuFuncSetAttribute(f->fn, (CUfunction_attribute)i,
					      k->attr[i]) != CUDA_SUCCESS)
			atomic_store(&k->state, KERNEL_PLAIN);
	}
	if (k->cache_set)
		cu.cuFuncSetCacheConfig(f->fn, k->cache);
}

static void make_form(struct kernel *k)
{
	struct code *c;
	struct form *f = NULL;
	const char *why = NULL;
	int r = -ENOENT;

	pthread_mutex_lock(&kernel_lock);
	c = k->code;
	code_get(c);
	pthread_mutex_unlock(&kernel_lock);
	if (c)
		r = rewrite_kernel(k, c, &f, &why);
	code_put(c);
	pthread_mutex_lock(&kernel_lock);
	k->form = f;
	k->why = why;
	atomic_store(&k->state, r == 0 ? KERNEL_READY : KERNEL_PLAIN);
	if (r == 0) {
		struct shim_inside in;

		shim_enter(&in);
		for (const struct form *g = f; g; g = g->other)
			apply(k, g);
		shim_leave(&in);
	}
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
}

static void *thread(void *unused)
{
	for (;;) {
		struct kernel *k;

		pthread_mutex_lock(&kernel_lock);
		while (queue.len == 0)
			pthread_cond_wait(&asked, &kernel_lock);
		k = queue.at[0];
		memmove(queue.at, queue.at + 1, --queue.len * sizeof(queue.at[0]));
		pthread_mutex_unlock(&kernel_lock);
		make_form(k);
	}
	return NULL;
}

static bool start_thread(void)
{
	if (!thread_runs)
		thread_runs = shim_thread(thread) == 0;
	return thread_runs;
}

static void ask(struct kernel *k)
{
	struct timespec until;

	pthread_mutex_lock(&kernel_lock);
	if (atomic_load(&k->state) == KERNEL_NEW) {
		bool ok = start_thread() && VEC_PUSH(&queue, k);

		atomic_store(&k->state, ok ? KERNEL_BUSY : KERNEL_PLAIN);
		pthread_cond_signal(&asked);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FIRST_LAUNCH_WAITS_NS / 1000000000;
	while (atomic_load(&k->state) == KERNEL_BUSY) {
		if (pthread_cond_timedwait(&kernel_done, &kernel_lock, &until) == ETIMEDOUT)
			break;
	}
	pthread_mutex_unlock(&kernel_lock);
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
		if (cu.cuFuncSetAttribute(f->fn, (CUfunction_attribute)attr, value) != CUDA_SUCCESS)
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
		cu.cuFuncSetCacheConfig(f->fn, config);
	pthread_mutex_unlock(&kernel_lock);
}
