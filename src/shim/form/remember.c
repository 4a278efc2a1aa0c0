/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Saves what the shim has learnt about kernels. A thread holds the lock of the list for a few
 * stores only. A second lock is held while a thread writes a file. */
#include "shim/form/remember.h"

#include "shim/core/cache.h"
#include "shim/core/lock.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct lock lock = LOCK_INIT(taught), writing = LOCK_INIT(writing);
static struct {
	struct kernel *kernel;
	bool asked; /* a thread was asked to write it */
	/* Kernels to save, guarded by the list's lock. A kernel that does not fit is dropped, and
	 * learnt again later. */
} taught[64];
static unsigned n_taught;
static _Atomic unsigned n_unasked;

void remember_taught(struct kernel *k)
{
	unsigned i = 0;

	lock_take(&lock);
	while (i < n_taught && taught[i].kernel != k)
		i++;
	if (i == n_taught && n_taught < sizeof(taught) / sizeof(taught[0])) {
		taught[n_taught].kernel = k;
		taught[n_taught++].asked = false;
		atomic_fetch_add(&n_unasked, 1);
	}
	lock_drop(&lock);
}

/* Removes kernel `which` from the list and returns it. If `which` is NULL, takes the first kernel.
 * Returns NULL if there is none. */
static struct kernel *take_taught(const struct kernel *which)
{
	struct kernel *k = NULL;

	lock_take(&lock);
	for (unsigned i = 0; i < n_taught && !k; i++) {
		if (which && taught[i].kernel != which)
			continue;
		k = taught[i].kernel;
		atomic_fetch_sub(&n_unasked, !taught[i].asked);
		taught[i] = taught[--n_taught];
	}
	lock_drop(&lock);
	return k;
}

struct kernel *remember_unasked(void)
{
	struct kernel *k = NULL;

	if (!atomic_load_explicit(&n_unasked, memory_order_relaxed))
		return NULL;
	lock_take(&lock);
	for (unsigned i = 0; i < n_taught && !k; i++) {
		if (taught[i].asked)
			continue;
		k = taught[i].kernel;
		taught[i].asked = true;
		atomic_fetch_sub(&n_unasked, 1);
	}
	lock_drop(&lock);
	return k;
}

static uint32_t collect_known(struct form *f, struct known *ret)
{
	uint32_t n = 0;

	lock_take(&f->lock);
	for (unsigned i = 0; i < f->n_shapes; i++)
		ret[n++] = (struct known){.form = f->which,
			.threads = f->shape[i].threads,
			.shared = f->shape[i].shared,
			.scale = f->shape[i].scale,
			.pace = f->shape[i].pace};
	lock_drop(&f->lock);
	return n;
}

static void write_known(const struct kernel *k)
{
	struct known at[KNOWN_MAX];
	struct strbuf b = {0};
	struct form *f = k->form;
	uint32_t n = f ? collect_known(f, at) : 0;

	if (!f) /* the form's context has ended */
		return;
	if (f->other)
		n += collect_known(f->other, at + n);
	known_write(at, n, &b);
	if (!b.failed)
		cache_put(f->known_key, b.at, b.len);
	strbuf_finish(&b);
}

static bool write_next(const struct kernel *which)
{
	const struct kernel *k;

	lock_take(&writing); /* the exit of the program waits until this lock is free */
	k = take_taught(which);
	if (k)
		write_known(k);
	lock_drop(&writing);
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

static void remember_write_all(void)
{
	while (write_next(NULL))
		;
}

void remember_at_exit(void)
{
	atexit(remember_write_all);
}

/* The list starts empty in a child: the parent process saves what it has learnt. */
void remember_after_fork(void)
{
	lock_init(&lock, LOCK_taught);
	lock_init(&writing, LOCK_writing);
	n_taught = 0;
	atomic_store(&n_unasked, 0);
}

void remember_pause(struct session *session, const struct session_ends *ends)
{
	remember_write_all();
}
