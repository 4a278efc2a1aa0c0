/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The loop and the thread share one batch: while `full` is set it is the
 * thread's, else the loop's. The store belongs to the thread from its start to its end. */
#include "keeper.h"

#include "model/kept.h"
#include "wire/wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH    8u            /* kernels; 15 us to copy */
#define OFTEN_NS 2000000000ull /* between looks, */
#define SOON_NS  100000000ull  /* and where more has changed than a batch holds */

struct keeper {
	struct hd *hd;
	struct model_store *store;
	char path[4096];
	uint64_t look_ns; /* not before; 0: at once */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool full, stop; /* under the lock */
	bool failed;     /* the last write did, as why says: the thread's while full */
	bool said;       /* by the loop, once until one succeeds again */
	char why[256];
	unsigned n;
	struct duration_kernel batch[BATCH];
};

/* Where the file is; "" if none is kept. -ENOENT: no folder is known; -ENAMETOOLONG. */
static int keeper_path(const struct hd_config *c, char *buf, size_t size)
{
	const char *given = secure_getenv("STATE_DIRECTORY"); /* the service manager's */
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

/* ---- the thread ---- */

static void write_batch(struct keeper *k)
{
	k->failed = kept_put(k->store, k->batch, k->n) < 0;
	if (k->failed)
		snprintf(k->why, sizeof(k->why), "%s", model_store_why());
}

static void *keep(void *user)
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

/* ---- the loop ---- */

static void restore(void *user, const struct duration_kernel *k)
{
	durations_restore(user, k);
}

static int keeper_open(struct keeper *k)
{
	int r = kept_make_private(k->path); /* it has rows of all users */

	if (r < 0) {
		hd_log("what is learnt of kernels is not kept: %s: %s", k->path, strerror(-r));
		return r;
	}
	r = model_store_open(k->path, true, &k->store);
	if (r == 0)
		r = kept_each(k->store, DURATION_ANY, restore, k->hd->durations);
	if (r < 0)
		hd_log("what is learnt of kernels is not kept: %s", model_store_why());
	return r;
}

struct keeper *keeper_start(const struct hd_config *c, struct hd *d)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int r = k ? keeper_path(c, k->path, sizeof(k->path)) : -ENOMEM;

	if (r < 0)
		hd_log("what is learnt of kernels is not kept: %s",
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
		r = -pthread_create(&k->thread, NULL, keep, k);
	if (r == 0)
		return k;
	model_store_close(k->store);
	free(k);
	return NULL;
}

/* The thread is through with the batch. What it could not write is to be written again. */
static void take_back(struct keeper *k)
{
	if (!k->n)
		return;
	if (k->failed && !k->said)
		hd_log("what is learnt of kernels is not kept for now: %s", k->why);
	k->said = k->failed;
	for (unsigned i = 0; k->failed && i < k->n; i++)
		durations_change(k->hd->durations, &k->batch[i]);
	k->failed = false;
	k->n = 0;
}

/* Hands a batch to the thread. False: it has not written the last one yet. */
static bool hand_over(struct keeper *k)
{
	bool busy;

	pthread_mutex_lock(&k->lock);
	busy = k->full;
	pthread_mutex_unlock(&k->lock);
	if (busy)
		return false;
	take_back(k);
	k->n = durations_changed(k->hd->durations, k->batch, BATCH);
	if (!k->n)
		return true;
	pthread_mutex_lock(&k->lock);
	k->full = true;
	pthread_cond_signal(&k->changed);
	pthread_mutex_unlock(&k->lock);
	return true;
}

/* Something has changed, or a batch is with the thread, which may not be able to write it. */
static bool keeper_has_work(struct keeper *k)
{
	return k->n || durations_has_changed(k->hd->durations);
}

uint64_t keeper_look(struct keeper *k, uint64_t now_ns)
{
	if (!k || !keeper_has_work(k))
		return UINT64_MAX;
	if (!k->look_ns) /* the first change in a while waits for others */
		k->look_ns = now_ns + OFTEN_NS;
	if (now_ns < k->look_ns)
		return k->look_ns;
	if (hd_in_handover(k->hd) || !hand_over(k)) {
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
		take_back(k);
		k->n = durations_changed(k->hd->durations, k->batch, BATCH);
		if (k->n)
			write_batch(k);
	} while (k->n && !k->failed);
	take_back(k);
	model_store_close(k->store);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->changed);
	free(k);
}
