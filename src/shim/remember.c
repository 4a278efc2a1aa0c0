/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The lock of the list is held for a few stores only; the other one while a file is written. */
#include "shim/remember.h"

#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, writing = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct kernel *kernel;
	bool asked; /* for somebody to write it */
} taught[64];       /* what does not fit is forgotten: it is taught again; under the lock */
static unsigned n_taught;
static _Atomic unsigned n_unasked;

void remember_taught(struct kernel *k)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < n_taught && taught[i].kernel != k)
		i++;
	if (i == n_taught && n_taught < sizeof(taught) / sizeof(taught[0])) {
		taught[n_taught].kernel = k;
		taught[n_taught++].asked = false;
		atomic_fetch_add(&n_unasked, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* Takes it out; NULL: the first. What was taken: NULL, when there is none. */
static struct kernel *take(const struct kernel *which)
{
	struct kernel *k = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_taught && !k; i++) {
		if (which && taught[i].kernel != which)
			continue;
		k = taught[i].kernel;
		atomic_fetch_sub(&n_unasked, !taught[i].asked);
		taught[i] = taught[--n_taught];
	}
	pthread_mutex_unlock(&lock);
	return k;
}

static struct kernel *ask(void)
{
	struct kernel *k = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_taught && !k; i++) {
		if (taught[i].asked)
			continue;
		k = taught[i].kernel;
		taught[i].asked = true;
		atomic_fetch_sub(&n_unasked, 1);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

void remember_soon(void)
{
	struct kernel *k;

	while (atomic_load_explicit(&n_unasked, memory_order_relaxed) && (k = ask())) {
		if (!kernel_remember(k))
			remember_write(k);
	}
}

static uint32_t collect(struct form *f, struct known *ret)
{
	uint32_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < f->n_shapes; i++)
		ret[n++] = (struct known){.form = f->which,
			.threads = f->shape[i].threads,
			.shared = f->shape[i].shared,
			.scale = f->shape[i].scale,
			.pace = f->shape[i].pace};
	pthread_mutex_unlock(&f->lock);
	return n;
}

static void put(const struct kernel *k)
{
	struct known at[KNOWN_MAX];
	struct strbuf b = {0};
	struct form *f = k->form;
	uint32_t n = f ? collect(f, at) : 0;

	if (!f) /* its context has ended */
		return;
	if (f->other)
		n += collect(f->other, at + n);
	known_write(at, n, &b);
	if (!b.failed)
		cache_put(f->known_key, b.at, b.len);
	strbuf_finish(&b);
}

static bool write_next(const struct kernel *which)
{
	const struct kernel *k;

	pthread_mutex_lock(&writing); /* the program's end waits for who writes */
	k = take(which);
	if (k)
		put(k);
	pthread_mutex_unlock(&writing);
	return k;
}

void remember_write(const struct kernel *k)
{
	write_next(k);
}

void remember_recall(struct form *f)
{
	struct strbuf b = {0};
	struct known *at = calloc(KNOWN_MAX, sizeof(*at));

	if (at && cache_get(f->known_key, &b))
		f->n_known = known_read(b.at, b.len, at);
	strbuf_finish(&b);
	f->known = at;
	if (f->other) {
		f->other->known = at;
		f->other->n_known = f->n_known;
	}
}

void remember_write_all(void)
{
	while (write_next(NULL))
		;
}

void remember_at_exit(void)
{
	atexit(remember_write_all);
}

/* What the parent has learned, he keeps himself. */
void remember_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&writing, NULL);
	n_taught = 0;
	atomic_store(&n_unasked, 0);
}
