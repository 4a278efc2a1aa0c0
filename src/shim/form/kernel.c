/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps records of modules, libraries and kernels: what the program has loaded, and which
 * attributes it has set. Other threads make the kernels' forms (making.c). */
#include "shim/form/kernel.h"

#include "shim/core/ends.h"
#include "shim/core/inside.h"
#include "shim/core/lock.h"
#include "shim/form/symbols.h"
#include "shim/order/fence.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct module {
	void *handle;
	bool is_library;
	CUcontext ctx;     /* the context in which the module was loaded; NULL for a library */
	struct code *code; /* NULL: the image has no PTX that this device can use */
	VEC(struct kernel *) kernels;
};

struct lock kernel_lock = LOCK_INIT(kernels);
pthread_cond_t kernel_done = PTHREAD_COND_INITIALIZER;

typedef VEC(struct form *) forms;

/* The loaded modules and kernels of a session. Libraries are registered on each device. */
struct loaded {
	struct map modules, kernels;
	/* Guarded by kernel_lock. */
	unsigned epoch;
	forms ended; /* forms whose context or module has ended, until kernels_resume */
};

/* ---- PTX ---- */

void code_get(struct code *c)
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

/* Chooses like image_pick, but from entries that are still compressed. */
static int choose_ptx(void *user, const struct image_entry *e)
{
	struct choice *c = user;

	if (e->kind == IMAGE_PTX && image_usable(e, c->cc) && e->arch >= c->best.arch)
		c->best = *e;
	return 0;
}

/* Returns the compute capability of the session's device. Also works if the program is not a tenant
 * on that device yet. */
static uint32_t device_cc(struct session *session)
{
	CUdevice dev = (CUdevice)session->index;
	int major = 0, minor = 0;

	if (session->cc)
		return session->cc;
	cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	return (uint32_t)(major * 10 + minor);
}

static struct code *code_of(struct session *session, struct image_bytes image)
{
	struct choice pick = {.cc = device_cc(session)};
	struct code *c;
	void *copy;

	if (image_walk(image, choose_ptx, &pick) < 0 || !pick.best.bytes.at)
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

static void add_module(struct session *session, void *handle, bool is_library, struct code *code)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m) {
		code_put(code);
		return;
	}
	m->handle = handle;
	m->is_library = is_library;
	if (is_library || cu.cuCtxGetCurrent(&m->ctx) != CUDA_SUCCESS)
		m->ctx = NULL;
	m->code = code;
	map_put(&session->loaded->modules, handle, m);
}

void kernel_module_loaded(struct session *session, void *handle, struct image_bytes image)
{
	add_module(session, handle, false, code_of(session, image));
}

/* Devices of the same compute capability share one copy of the PTX. */
void kernel_library_loaded(void *handle, struct image_bytes image)
{
	struct code *code = NULL;
	uint32_t cc = 0;

	for (unsigned i = 0; i < shim_sessions(); i++) {
		struct session *session = &sessions[i];

		if (!i || device_cc(session) != cc) {
			cc = device_cc(session);
			code = code_of(session, image);
		} else {
			code_get(code);
		}
		add_module(session, handle, true, code);
	}
}

void kernel_module_of_library(struct session *session, void *module, void *library)
{
	struct module *l;

	lock_take(&kernel_lock);
	l = map_get(&session->loaded->modules, library);
	if (l && !map_get(&session->loaded->modules, module)) {
		code_get(l->code);
		add_module(session, module, false, l->code);
	}
	lock_drop(&kernel_lock);
}

/* List of the records of unloaded kernels. They are not freed, because launches that have not ended
 * and other threads may still have pointers to them. */
static struct kernel *gone_kernels;

/* Removes the module and its kernels. The caller unloads the forms that this returns. Call under
 * the lock. */
static void forget_module(struct session *session, struct module *m, forms *ret_gone)
{
	map_put(&session->loaded->modules, m->handle, NULL);
	for (size_t i = 0; i < m->kernels.len; i++) {
		struct kernel *k = m->kernels.at[i];

		if (map_get(&session->loaded->kernels, k->handle) == k)
			map_put(&session->loaded->kernels, k->handle, NULL);
		/* Another thread may be making the form. `gone` keeps that thread from using the
		 * kernel's handles again. The wait here is short, because the thread does not use
		 * the handles while the assembler (the separate compiler process) runs. */
		k->gone = true;
		while (k->held)
			lock_wait(&kernel_lock, &kernel_done);
		atomic_store(&k->why, WIRE_WHY_UNLOADED);
		if (atomic_exchange(&k->state, KERNEL_PLAIN) == KERNEL_READY)
			VEC_PUSH(ret_gone, k->form);
		code_put(k->code);
		k->code = NULL;
		k->next_gone = gone_kernels;
		gone_kernels = k;
	}
	VEC_FREE(&m->kernels);
	code_put(m->code);
	free(m);
}

static void module_unloaded(struct session *session, void *handle)
{
	struct module *m = map_get(&session->loaded->modules, handle);
	forms gone = {0};

	symbols_forget(session, handle);
	if (!m)
		return;
	lock_take(&kernel_lock);
	forget_module(session, m, &gone);
	pthread_cond_broadcast(&kernel_done);
	lock_drop(&kernel_lock);
	for (size_t i = 0; i < gone.len; i++)
		form_unload(session, gone.at[i]);
	VEC_FREE(&gone);
}

void kernel_module_unloaded(void *handle)
{
	for (unsigned i = 0; i < shim_sessions(); i++)
		module_unloaded(&sessions[i], handle);
}

/* ---- kernels ---- */

static struct kernel *new_kernel(
	struct session *session, void *handle, void *owner, bool in_library, const char *name)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->handle = handle;
	k->session = session;
	k->owner = owner;
	k->why = WIRE_WHY_NO_PTX;
	k->in_library = in_library;
	k->name = strdup(name);
	if (!k->name) {
		free(k);
		return NULL;
	}
	return k;
}

static void known_here(
	struct session *session, void *handle, void *owner, bool in_library, const char *name)
{
	struct kernel *k;
	struct module *m;

	lock_take(&kernel_lock);
	k = map_get(&session->loaded->kernels, handle);
	m = map_get(&session->loaded->modules, owner);
	/* The program may have requested a kernel with this handle before. If that record has
	 * another owner or name, it is out of date, because the driver has reused the handle for
	 * another kernel. A new record replaces it. */
	if (!k || k->owner != owner || strcmp(k->name, name)) {
		k = new_kernel(session, handle, owner, in_library, name);
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
			map_put(&session->loaded->kernels, handle, k);
	}
	lock_drop(&kernel_lock);
}

void kernel_known(
	struct session *session, void *handle, void *owner, bool in_library, const char *name)
{
	for (unsigned i = 0; in_library && i < shim_sessions(); i++) {
		if (&sessions[i] != session)
			known_here(&sessions[i], handle, owner, true, name);
	}
	known_here(session, handle, owner, in_library, name);
}

void kernel_also(struct session *session, void *handle, void *known)
{
	struct kernel *k = map_get(&session->loaded->kernels, known);

	if (k && map_get(&session->loaded->kernels, handle) != k)
		map_put(&session->loaded->kernels, handle, k);
}

struct kernel *kernel_of(struct session *session, void *handle)
{
	struct kernel *k = map_get(&session->loaded->kernels, handle);

	if (k)
		return k;
	k = new_kernel(session, handle, NULL, false, "");
	if (k && !map_put(&session->loaded->kernels, handle, k)) {
		free(k->name);
		free(k);
		return NULL;
	}
	return k;
}

/* ---- forms ---- */

void kernel_give_up(struct kernel *k, enum wire_reason why)
{
	atomic_store(&k->why, why);
	atomic_store(&k->state, KERNEL_PLAIN);
}

/* Sets for a form an attribute that the program has set for the kernel. There is one exception: a
 * limit of dynamic shared memory that is lower than the form's raised limit is not applied, because
 * launches that are padded with additional shared memory need the raised limit. plan.c checks the
 * program's own limit. */
static CUresult form_attribute(struct form *f, int attr, int value)
{
	CUresult r;

	lock_take(&f->lock);
	if (attr == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && f->raised)
		value = MAX(value, (int)f->raised);
	r = cu.cuFuncSetAttribute(f->on.fn, (CUfunction_attribute)attr, value);
	f->n_shapes = 0;
	lock_drop(&f->lock);
	return r;
}

static void apply_settings(struct kernel *k, struct form *f)
{
	for (int i = 0; i < KERNEL_ATTRIBUTES; i++) {
		if (k->attr_set[i] && form_attribute(f, i, k->attr[i]) != CUDA_SUCCESS)
			kernel_give_up(k, WIRE_WHY_FORM_REFUSED);
	}
	if (k->cache_set)
		cu.cuFuncSetCacheConfig(f->on.fn, k->cache);
}

bool kernel_hold(struct session *session, struct kernel *k)
{
	bool there;

	lock_take(&kernel_lock);
	there = !k->gone && inside_begin(session);
	if (there)
		k->held++;
	lock_drop(&kernel_lock);
	return there;
}

void kernel_release(struct session *session, struct kernel *k)
{
	lock_take(&kernel_lock);
	k->held--;
	inside_end(session);
	pthread_cond_broadcast(&kernel_done);
	lock_drop(&kernel_lock);
}

void kernel_publish(struct session *session, struct kernel *k, struct form *f, enum wire_reason why)
{
	struct shim_inside in;

	k->form = f;
	if (!f) {
		kernel_give_up(k, why);
		return;
	}
	shim_enter(session, &in);
	for (struct form *g = f; g; g = g->other)
		apply_settings(k, g);
	shim_leave(&in);
	/* Only now, because other threads launch a ready form without taking kernel_lock. */
	if (atomic_load(&k->state) != KERNEL_PLAIN)
		atomic_store(&k->state, KERNEL_READY);
}

static struct form *ready_form(struct kernel *k)
{
	return atomic_load(&k->state) == KERNEL_READY ? k->form : NULL;
}

void kernel_attribute(struct session *session, void *handle, int attr, int value)
{
	struct kernel *k = kernel_of(session, handle);

	if (!k || attr < 0 || attr >= KERNEL_ATTRIBUTES)
		return;
	lock_take(&kernel_lock);
	k->attr_set[attr] = true;
	k->attr[attr] = value;
	for (struct form *f = ready_form(k); f; f = f->other) {
		if (form_attribute(f, attr, value) != CUDA_SUCCESS)
			kernel_give_up(k, WIRE_WHY_FORM_REFUSED);
		atomic_store(&f->carveout, 0); /* `attr` may be the carveout */
		lock_take(&f->lock);
		f->n_shapes = 0;
		lock_drop(&f->lock);
	}
	lock_drop(&kernel_lock);
}

/* ---- when a context ends ---- */

void kernels_pause(struct session *session, const struct session_ends *ends)
{
	lock_take(&kernel_lock);
}

unsigned kernels_epoch(struct session *session)
{
	return session->loaded->epoch;
}

struct ended {
	CUcontext ctx;
	VEC(struct module *) modules;
};

static void note_ended(void *user, const void *key, void *value)
{
	struct ended *e = user;
	struct module *m = value;

	if (m->ctx == e->ctx)
		VEC_PUSH(&e->modules, m);
}

/* Returns true if this reason to launch a kernel natively may not hold in another context. */
static bool is_of_context(int why)
{
	return why == WIRE_WHY_FORM_REFUSED || why == WIRE_WHY_VARIABLES ||
	       why == WIRE_WHY_NO_MEMORY;
}

/* Resets a library's kernel after a context has ended, because the kernel outlives contexts. If a
 * thread is making the kernel's form, this leaves the kernel to that thread. */
static void renew_kernel(void *user, const void *key, void *value)
{
	struct kernel *k = value;
	forms *gone = user;

	if (!k->in_library || !k->code)
		return;
	atomic_store(&k->loaded, false);
	atomic_store(&k->wave_of, 0);
	if (atomic_load(&k->state) == KERNEL_READY)
		VEC_PUSH(gone, k->form);
	else if (atomic_load(&k->state) != KERNEL_PLAIN || !is_of_context(atomic_load(&k->why)))
		return;
	k->form = NULL;
	atomic_store(&k->state, KERNEL_NEW);
}

/* Unloads a form from the shim's context, after the context of the kernel's own module has
 * ended. */
static void unload_fenced(struct session *session, struct form *f)
{
	fence_begin(session, FENCE_WAITS);
	form_unload(session, f);
	fence_end(session);
}

void kernels_forget(struct session *session, const struct session_ends *ends)
{
	struct ended e = {.ctx = ends->ctx};

	session->loaded->epoch += ends->is_ours;
	map_each(&session->loaded->modules, note_ended, &e);
	for (size_t i = 0; i < e.modules.len; i++)
		forget_module(session, e.modules.at[i], &session->loaded->ended);
	if (ends->is_ours)
		map_each(&session->loaded->kernels, renew_kernel, &session->loaded->ended);
	VEC_FREE(&e.modules);
}

void kernels_resume(struct session *session, const struct session_ends *ends)
{
	forms ended = session->loaded->ended;

	session->loaded->ended = (forms){0};
	pthread_cond_broadcast(&kernel_done);
	lock_drop(&kernel_lock);
	/* The lock is not held here, because the driver unloads code. */
	for (size_t i = 0; i < ended.len; i++) {
		if (ends->is_ours)
			form_free_ended(ended.at[i]);
		else
			unload_fenced(session, ended.at[i]);
	}
	VEC_FREE(&ended);
}

bool kernels_open(struct session *session)
{
	session->loaded = calloc(1, sizeof(*session->loaded));
	if (session->loaded) {
		map_init(&session->loaded->modules);
		map_init(&session->loaded->kernels);
	}
	return session->loaded;
}

void kernels_after_fork(void)
{
	lock_init(&kernel_lock, LOCK_kernels);
	pthread_cond_init(&kernel_done, NULL);
}

void kernel_cache_config(struct session *session, void *handle, CUfunc_cache config)
{
	struct kernel *k = kernel_of(session, handle);

	if (!k)
		return;
	lock_take(&kernel_lock);
	k->cache_set = true;
	k->cache = config;
	for (struct form *f = ready_form(k); f; f = f->other)
		cu.cuFuncSetCacheConfig(f->on.fn, config);
	lock_drop(&kernel_lock);
}
