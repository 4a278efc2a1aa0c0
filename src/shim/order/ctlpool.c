/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The pool of control blocks (the device memory through which a launch and its workers
 * communicate). The shim allocates many control blocks at a time, and never frees their memory. A
 * control block in the pool keeps its generation (the number of launches that have used it). Late
 * workers of its last launch see that the generation has changed, and exit. */
#include "shim/order/ctlpool.h"
#include "shim/core/connections.h"
#include "shim/core/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Number of control blocks that are allocated at a time. It exceeds the number of streams that can
 * be managed at once, so the shim never has to allocate later. A later allocation would run on a
 * stream without a channel of its own, while some channels may be blocked (stream.c). */
#define POOL_BLOCKS 64
_Static_assert(POOL_BLOCKS > CONNECTIONS_MAX, "control blocks for all streams that are managed");

struct pool {
	struct lock lock;
	struct {
		CUdeviceptr at;
		uint32_t gen;
	} block[1024];
	unsigned len;
	_Atomic unsigned epoch; /* number of contexts that have ended */
};

static int pool_fill(struct session *session)
{
	size_t bytes = round_up(sizeof(struct ctl_block), 256);
	uint8_t *image = calloc(POOL_BLOCKS, bytes);
	CUdeviceptr at = 0;
	struct shim_inside in;
	CUresult r;

	if (!image)
		return -ENOMEM;
	for (unsigned i = 0; i < POOL_BLOCKS; i++) {
		struct ctl_block *b = (struct ctl_block *)(image + i * bytes);

		for (unsigned sm = 0; sm < CTL_MAX_SMS; sm++)
			b->quota[sm] = CTL_NO_QUOTA;
	}
	r = shim_enter(session, &in);
	if (r == CUDA_SUCCESS)
		r = cu.cuMemAlloc(&at, POOL_BLOCKS * bytes);
	/* The copy runs on the shim's helper stream, because the legacy default stream might wait
	 * for the program's work. */
	if (r == CUDA_SUCCESS)
		r = cu.cuMemcpyHtoDAsync(at, image, POOL_BLOCKS * bytes, session->helper);
	if (r == CUDA_SUCCESS)
		r = cu.cuStreamSynchronize(session->helper);
	shim_leave(&in);
	free(image);
	if (r != CUDA_SUCCESS)
		return -EIO;
	for (unsigned i = 0;
		i < POOL_BLOCKS && session->pool->len < ARRAY_LEN(session->pool->block); i++) {
		session->pool->block[session->pool->len].at = at + i * bytes;
		session->pool->block[session->pool->len++].gen = 0;
	}
	return 0;
}

int ctlpool_init(struct session *session)
{
	if (pool_fill(session) < 0)
		return -EIO;
	/* Test whether the device supports stream waits on a 32-bit value in memory. This wait is
	 * satisfied at once, because the gate was just set to 0. */
	if (cu.cuStreamWaitValue32(session->helper,
		    session->pool->block[0].at + offsetof(struct ctl_block, gate), 0,
		    CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
		return -ENOTSUP;
	return cu.cuStreamSynchronize(session->helper) == CUDA_SUCCESS ? 0 : -EIO;
}

bool ctlpool_give(struct session *session, struct stream *s)
{
	bool ok;

	if (s->ctl && s->ctl_epoch == atomic_load(&session->pool->epoch))
		return true;
	lock_take(&session->pool->lock);
	ok = session->pool->len > 0 || pool_fill(session) == 0;
	if (ok) {
		s->ctl = session->pool->block[--session->pool->len].at;
		s->gen = session->pool->block[session->pool->len].gen;
		s->ctl_epoch = session->pool->epoch;
	}
	lock_drop(&session->pool->lock);
	return ok;
}

/* Gives a destroyed stream's control block back to the pool. The block can be used again once the
 * stream's last launch is complete: late workers of that launch see another generation and exit. */
void ctlpool_take_back(struct session *session, struct stream *s)
{
	lock_take(&session->pool->lock);
	if (s->ctl && s->ctl_epoch == session->pool->epoch &&
		session->pool->len < ARRAY_LEN(session->pool->block)) {
		session->pool->block[session->pool->len].at = s->ctl;
		session->pool->block[session->pool->len++].gen = s->gen;
	}
	s->ctl = 0;
	lock_drop(&session->pool->lock);
}

void ctlpool_drop_all(struct session *session)
{
	lock_take(&session->pool->lock);
	session->pool->len = 0;
	session->pool->epoch++;
	lock_drop(&session->pool->lock);
}

bool ctlpool_open(struct session *session)
{
	session->pool = calloc(1, sizeof(*session->pool));
	if (session->pool)
		lock_init(&session->pool->lock, LOCK_pool);
	return session->pool;
}
