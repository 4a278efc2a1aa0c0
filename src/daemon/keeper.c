/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The loop and the writer thread share one batch of records. The thread owns the batch while `full`
 * is set, and the loop owns it otherwise. While the thread runs, only the thread uses the store
 * (the open file). */
#include "keeper.h"

#include "model/kept.h"
#include "wire/wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH    8u            /* number of kernels in a batch; copying them takes 15 us */
#define OFTEN_NS 2000000000ull /* interval between batches */
#define SOON_NS  100000000ull  /* interval when more records have changed than one batch holds */

struct keeper {
	struct hd *hd;
	struct model_store *store;
	char path[4096];
	uint64_t look_ns; /* when to write the next batch; 0: none is planned */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool full, stop; /* guarded by the lock */
	/* true if the last write failed, for the reason in `why`; the thread owns both fields while
	 * `full` is set */
	bool failed;
	bool said; /* the loop has logged a failure since the last successful write */
	char why[256];
	unsigned n;
	struct duration_kernel batch[BATCH];
};

/* Writes the file's path to buf, or "" if the configuration says to keep none. Returns 0 or a
 * negative errno, such as -ENOENT if no folder is known. */
static int keeper_path(const struct hd_config *c, char *buf, size_t size)
{
	const char *given = secure_getenv("STATE_DIRECTORY"); /* the service manager sets it */
	const char *folder = c->state[0]                                  ? c->state
			     : given && given[0] == '/'                   ? given
			     : strcmp(c->socket, WIRE_SYSTEM_SOCKET) == 0 ? KEPT_SYSTEM_FOLDER
									  : NULL;
	int n = 0;

	*buf = 0;
	if (folder && strcmp(folder, "off") == 0)
		return 0;
	if (!folder)
		return kept_default_path(buf, size);
	n = snprintf(buf, size, "%.*s/heddled.db", (int)strcspn(folder, ":"), folder);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the thread that writes ---- */

static void write_batch(struct keeper *k)
{
	k->failed = kept_put(k->store, k->batch, k->n) < 0;
	if (k->failed)
		snprintf(k->why, sizeof(k->why), "%s", model_store_why());
}

static void *keeper_thread(void *user)
{
	struct keeper *k = user;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		while (!k->full && !k->stop)
			pthread_cond_wait(&k->changed, &k->lock);
		if (!k->full)
			break;
		pthread_mutex_unlock(&k->lock);
		write_batch(k);
		pthread_mutex_lock(&k->lock);
		k->full = false;
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* ---- called by the main loop ---- */

static void restore_record(void *user, const struct duration_kernel *k)
{
	durations_restore(user, k);
}

static int keeper_open(struct keeper *k)
{
	int r = kept_make_private(k->path); /* private, because the file has records of all users */

	if (r < 0) {
		hd_log("records of kernels are not saved: %s: %s", k->path, strerror(-r));
		return r;
	}
	r = model_store_open(k->path, true, &k->store);
	if (r == 0)
		r = kept_each(k->store, DURATION_ANY, restore_record, k->hd->durations);
	if (r < 0)
		hd_log("records of kernels are not saved: %s", model_store_why());
	return r;
}

struct keeper *keeper_start(const struct hd_config *c, struct hd *d)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int r = k ? keeper_path(c, k->path, sizeof(k->path)) : -ENOMEM;

	if (r < 0)
		hd_log("records of kernels are not saved: %s",
			r == -ENOENT ? "no folder for it is known; name one with --set state=DIR"
				     : strerror(-r));
	if (r < 0 || !k->path[0]) {
		free(k);
		return NULL;
	}
	k->hd = d;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->changed, NULL);
	r = keeper_open(k);
	if (r == 0)
		r = -pthread_create(&k->thread, NULL, keeper_thread, k);
	if (r == 0)
		return k;
	model_store_close(k->store);
	free(k);
	return NULL;
}

/* Finishes a batch after the thread has written it. Marks the records that the thread could not
 * write as changed again. */
static void finish_batch(struct keeper *k)
{
	if (!k->n)
		return;
	if (k->failed && !k->said)
		hd_log("records of kernels are not saved for now: %s", k->why);
	k->said = k->failed;
	for (unsigned i = 0; k->failed && i < k->n; i++)
		durations_change(k->hd->durations, &k->batch[i]);
	k->failed = false;
	k->n = 0;
}

/* Passes a batch to the thread. Returns false if the thread has not written the last one yet. */
static bool pass_batch(struct keeper *k)
{
	bool busy;

	pthread_mutex_lock(&k->lock);
	busy = k->full;
	pthread_mutex_unlock(&k->lock);
	if (busy)
		return false;
	finish_batch(k);
	k->n = durations_changed(k->hd->durations, k->batch, BATCH);
	if (!k->n)
		return true;
	pthread_mutex_lock(&k->lock);
	k->full = true;
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	return true;
}

/* Returns true if there is something to write: records have changed, or the thread is writing a
 * batch. A batch counts, because its records count as changed again if the thread cannot write
 * them. */
static bool keeper_has_work(struct keeper *k)
{
	return k->n || durations_has_changed(k->hd->durations);
}

uint64_t keeper_look(struct keeper *k, uint64_t now_ns)
{
	if (!k || !keeper_has_work(k))
		return UINT64_MAX;
	if (!k->look_ns) /* waits after the first change, so that a batch can hold several */
		k->look_ns = now_ns + OFTEN_NS;
	if (now_ns < k->look_ns)
		return k->look_ns;
	if (hd_in_handover(k->hd) || !pass_batch(k)) {
		k->look_ns = now_ns + SOON_NS;
		return k->look_ns;
	}
	k->look_ns = durations_has_changed(k->hd->durations) ? now_ns + SOON_NS : now_ns + OFTEN_NS;
	return k->look_ns;
}

void keeper_stop(struct keeper *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	do {
		finish_batch(k);
		k->n = durations_changed(k->hd->durations, k->batch, BATCH);
		if (k->n)
			write_batch(k);
	} while (k->n && !k->failed);
	finish_batch(k);
	model_store_close(k->store);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	free(k);
}
