/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The pool of control blocks (the device memory through which a launch and its workers
 * communicate). The shim allocates many control blocks at a time, and never frees their memory. A
 * control block in the pool keeps its generation (the number of launches that have used it). Late
 * workers of its last launch see that the generation has changed, and exit. */
#include "shim/ctlpool.h"
#include "shim/connections.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Number of control blocks that are allocated at a time. It exceeds the number of streams that can
 * be managed at once, so the shim never has to allocate later. A later allocation would run on a
 * stream without a channel of its own, while some channels may be blocked (stream.c). */
#define POOL_BLOCKS 64
_Static_assert(POOL_BLOCKS > CONNECTIONS_MAX, "control blocks for all streams that are managed");

static struct pool {
	pthread_mutex_t lock;
	struct {
		CUdeviceptr at;
		uint32_t gen;
	} block[1024];
	unsigned len;
	_Atomic unsigned epoch; /* contexts that have ended */
} each[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct pool *pool(void)
{
	return &each[shim_at()];
}

static int pool_fill(void)
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
	r = shim_enter(&in);
	if (r == CUDA_SUCCESS)
		r = cu.cuMemAlloc(&at, POOL_BLOCKS * bytes);
	/* The copy runs on the shim's helper stream, because the legacy default stream might wait
	 * for the program's work. */
	if (r == CUDA_SUCCESS)
		r = cu.cuMemcpyHtoDAsync(at, image, POOL_BLOCKS * bytes, shim->helper);
	if (r == CUDA_SUCCESS)
		r = cu.cuStreamSynchronize(shim->helper);
	shim_leave(&in);
	free(image);
	if (r != CUDA_SUCCESS)
		return -EIO;
	for (unsigned i = 0; i < POOL_BLOCKS && pool()->len < ARRAY_LEN(each[0].block); i++) {
		pool()->block[pool()->len].at = at + i * bytes;
		pool()->block[pool()->len++].gen = 0;
	}
	return 0;
}

int ctlpool_init(void)
{
	if (pool_fill() < 0)
		return -EIO;
	/* Test whether the device supports stream waits on a 32-bit value in memory. This wait is
	 * satisfied at once, because the gate was just set to 0. */
	if (cu.cuStreamWaitValue32(shim->helper,
		    pool()->block[0].at + offsetof(struct ctl_block, gate), 0,
		    CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
		return -ENOTSUP;
	return cu.cuStreamSynchronize(shim->helper) == CUDA_SUCCESS ? 0 : -EIO;
}

bool ctlpool_give(struct stream *s)
{
	bool ok;

	if (s->ctl && s->ctl_epoch == atomic_load(&pool()->epoch))
		return true;
	pthread_mutex_lock(&pool()->lock);
	ok = pool()->len > 0 || pool_fill() == 0;
	if (ok) {
		s->ctl = pool()->block[--pool()->len].at;
		s->gen = pool()->block[pool()->len].gen;
		s->ctl_epoch = pool()->epoch;
	}
	pthread_mutex_unlock(&pool()->lock);
	return ok;
}

/* Gives a destroyed stream's control block back to the pool. The block can be used again once the
 * stream's last launch is complete: late workers of that launch see another generation and exit. */
void ctlpool_take_back(struct stream *s)
{
	pthread_mutex_lock(&pool()->lock);
	if (s->ctl && s->ctl_epoch == pool()->epoch && pool()->len < ARRAY_LEN(each[0].block)) {
		pool()->block[pool()->len].at = s->ctl;
		pool()->block[pool()->len++].gen = s->gen;
	}
	s->ctl = 0;
	pthread_mutex_unlock(&pool()->lock);
}

void ctlpool_forget(void)
{
	pthread_mutex_lock(&pool()->lock);
	pool()->len = 0;
	pool()->epoch++;
	pthread_mutex_unlock(&pool()->lock);
}

void ctlpool_after_fork(void)
{
	pthread_mutex_init(&pool()->lock, NULL);
	pool()->len = 0;
}
