/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the streams of rounds, and borrows hardware channels for further ones. */
#include "shim/order/helpers.h"

#include "shim/core/connections.h"
#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/order/stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static bool add_helper(struct session *session)
{
	return cu.cuStreamCreateWithPriority(&session->helpers->at[session->helpers->n],
		       CU_STREAM_NON_BLOCKING, session->helpers->priority) == CUDA_SUCCESS &&
	       ++session->helpers->n;
}

int helpers_init(struct session *session, int priority)
{
	session->helpers->priority = priority;
	while (session->helpers->n < HELPERS) {
		if (!add_helper(session))
			return -EIO;
	}
	return 0;
}

static bool is_idle(struct session *session, unsigned helper)
{
	return cu.cuStreamQuery(session->helpers->at[helper]) != CUDA_ERROR_NOT_READY;
}

/* Reserves a hardware channel for a stream of the shim. Returns false if all channels are in use. */
static bool borrow_channel(struct session *session)
{
	unsigned n = atomic_load(&session->streams->n_used);

	atomic_fetch_add(&session->streams->n_lent, 1);
	while (n < connections_for_streams()) {
		if (atomic_compare_exchange_weak(&session->streams->n_used, &n, n + 1))
			return true;
	}
	atomic_fetch_sub(&session->streams->n_lent, 1);
	return false;
}

static void give_channel_back(struct session *session)
{
	atomic_fetch_sub(&session->streams->n_used, 1);
	atomic_fetch_sub(&session->streams->n_lent, 1);
}

/* Gives back the hardware channels of borrowed streams in which no grid runs, or of all borrowed
 * streams if `all` is set. Call under the lock. Unless `all` is set, the shim's context must be
 * current. */
static void return_idle(struct session *session, bool all)
{
	for (unsigned i = HELPERS; i < session->helpers->n; i++) {
		if (!session->helpers->borrowed[i] || !(all || is_idle(session, i)))
			continue;
		session->helpers->borrowed[i] = false;
		atomic_fetch_sub(&session->helpers->n_borrowed, 1);
		give_channel_back(session);
	}
}

void helpers_return_channels(struct session *session)
{
	struct shim_inside in;

	if (!atomic_load(&session->helpers->n_borrowed))
		return;
	lock_take(&session->helpers->lock);
	shim_enter(session, &in);
	return_idle(session, false);
	shim_leave(&in);
	lock_drop(&session->helpers->lock);
}

void helpers_pause(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->helpers->lock);
	return_idle(session, true);
	lock_drop(&session->helpers->lock);
}

void helpers_forget(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->helpers->lock);
	session->helpers->n = 0;
	lock_drop(&session->helpers->lock);
}

/* Returns an additional helper stream, on a channel that the program does not use, or NULL. */
static CUstream borrowed_helper(struct session *session)
{
	unsigned i = HELPERS;

	return_idle(session, false);
	while (i < session->helpers->n && session->helpers->borrowed[i])
		i++;
	if (i == HELPERS + HELPERS_MORE || !borrow_channel(session))
		return NULL;
	if (i == session->helpers->n && !add_helper(session)) {
		give_channel_back(session);
		return NULL;
	}
	session->helpers->borrowed[i] = true;
	atomic_fetch_add(&session->helpers->n_borrowed, 1);
	return session->helpers->at[i];
}

CUstream helpers_idle(struct session *session, bool may_borrow)
{
	for (unsigned i = 0; i < HELPERS; i++) {
		if (is_idle(session, i))
			return session->helpers->at[i];
	}
	return may_borrow ? borrowed_helper(session) : NULL;
}

bool helpers_leave_one(struct session *session)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HELPERS; i++)
		n += is_idle(session, i);
	return n > 1;
}

bool helpers_open(struct session *session)
{
	session->helpers = calloc(1, sizeof(*session->helpers));
	if (session->helpers)
		lock_init(&session->helpers->lock, LOCK_helpers);
	return session->helpers;
}
