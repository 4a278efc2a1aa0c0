/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lets programs steer their own kernels as tenants of heddled (Adaptive simultaneous multi-tenancy,
 * section 3.3). The messages and the page are the same as the shim's (wire/page.h). A kernel takes
 * one slot of the page. This file writes into the slot what the device writes for a managed launch:
 *
 * - arrived; `began` has a value that no tenant has, so heddled sends quotas for this kernel itself
 * - ticket, finished: the program's progress; present: their difference
 * - drained, when heddled has revoked all SMs and no block is left; done, when all blocks have
 *   finished
 *
 * The program reads quotas on its host, so it needs no control block on the device. heddled does
 * not wake the program when it lowers a quota (on a device, a relay block polls), so a wait here
 * polls the page. Times of the device's clock stay 0, and then heddled measures by its own
 * clock. */
#include "rt/rt.h"

#include "heddle/share.h"
#include "host/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GREET_MS    1000
#define RETRY_NS    1000000000
#define LOOK_NS     1000000
#define GENERATION  1          /* ctl_args.gen: each kernel is the only launch in its slot */
#define NO_WORD     UINT32_MAX /* in ctl_host.began: a number that no control word of heddled has */
#define REGS_UNIT   256u       /* granularity in which the hardware allocates registers to warps */
#define WARP        32u
#define MAX_THREADS 1024u
#define MAX_REGS    255u

_Static_assert(HEDDLE_SHARE_MAX_SMS == CTL_MAX_SMS, "one number");

struct heddle_share {
	/* alone: why heddled does not decide; "": it decides */
	char error[512], alone[HOST_FAILED];
	pthread_mutex_t lock; /* guards all fields below */
	pid_t pid;
	struct host_client client;
	uint32_t reserved_shared; /* shared memory that CUDA reserves for each block, in bytes */
	uint64_t tried_ns;        /* when it last tried to find heddled */
	/* The kernel that the program has obtained. */
	/* obtained: true if the program has a kernel. asking: true while the call that obtains the
	 * kernel still waits, so that other calls must not use it yet. */
	bool obtained, asking;
	struct wire_slot *slot; /* NULL: heddled does not decide */
	/* kernels: number of kernels that were obtained */
	uint64_t total, started, finished, number, kernels;
	uint32_t fit, cursor;
	uint32_t seq; /* number of the control word in `now`; 0: none has come */
	bool drained; /* the drain for that word was reported */
	struct heddle_share_blocks now, told;
};

static uint64_t share_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int share_fail(struct heddle_share *s, int err, const char *fmt, ...) HD_PRINTF(3, 4);

static int share_fail(struct heddle_share *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
	return err;
}

/* ---- quotas ---- */

static void set_all(struct heddle_share *s, uint32_t blocks)
{
	s->now.blocks_per_sm = blocks;
	s->now.blocks = blocks * s->now.n_sms;
	memset(s->now.of_sm, 0, sizeof(s->now.of_sm));
	memset(s->now.of_sm, (int)blocks, s->now.n_sms);
}

/* Handles the loss of heddled: from now on, the program may run as many blocks as fit. */
static void share_lose(struct heddle_share *s, const char *why)
{
	snprintf(s->alone, sizeof(s->alone), "%s", why);
	host_fd_close(&s->client.sock);
	host_fd_close(&s->client.kick);
	s->slot = NULL;
	if (s->obtained)
		set_all(s, s->fit);
}

static void share_kick(struct heddle_share *s)
{
	__atomic_store_n(&s->client.page->kick_ns, share_now_ns(), __ATOMIC_RELAXED);
	host_client_ring(&s->client, &s->client.kick);
}

/* Detects that heddled or the program has closed the socket, or that heddled's heartbeat has
 * stopped while the kernel waits for SMs. */
static void share_check(struct heddle_share *s)
{
	bool woken; /* not needed, because the quotas are read in any case */

	if (!s->client.page || s->alone[0])
		return;
	if (!host_fd_is(&s->client.sock))
		share_lose(s, "the program has closed its connection to heddled");
	else if (host_client_is_over(&s->client, &woken))
		share_lose(s, "heddled is gone, so nothing is shared");
	else if (host_client_is_silent(&s->client, share_now_ns(), s->slot && !s->now.blocks))
		share_lose(s, "heddled does not answer, so nothing is shared");
}

/* Copies the quotas that heddled has stored, and repeats that if heddled's sequence number changed
 * meanwhile. heddled stores quotas before the number, so some of the copied quotas may belong to
 * the next number; the next call sees that number and copies again. */
static uint32_t copy_quotas(struct heddle_share *s, const struct ctl_host *h)
{
	uint64_t before, word = __atomic_load_n(&h->word, __ATOMIC_ACQUIRE);

	do {
		struct heddle_share_blocks *b = &s->now;

		before = word;
		b->blocks = b->blocks_per_sm = 0;
		for (unsigned i = 0; i < b->n_sms; i++) {
			uint32_t q = __atomic_load_n(&h->quota[i], __ATOMIC_ACQUIRE);

			q = MIN(q, s->fit);
			b->of_sm[i] = (unsigned char)q;
			b->blocks += q;
			b->blocks_per_sm = MAX(b->blocks_per_sm, q);
		}
		word = __atomic_load_n(&h->word, __ATOMIC_ACQUIRE);
	} while (word != before);
	return ((struct ctl_tenant){.word = word}).seq;
}

/* Reports to heddled that the kernel has drained (no block runs and no SM is granted). The first
 * grant after a drain counts as another launch of workers, because a drain report names the latest
 * launch. */
static void report_drain(struct heddle_share *s)
{
	struct wire_slot *w = s->slot;
	struct ctl_host *h = &w->host;

	if (s->now.blocks && s->drained) {
		s->drained = false;
		__atomic_store_n(&w->launches, w->launches + 1, __ATOMIC_RELEASE);
	} else if (!s->now.blocks && !s->drained && s->started == s->finished) {
		s->drained = true;
		__atomic_store_n(&h->present, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&h->drained_seq, s->seq, __ATOMIC_RELEASE);
		__atomic_store_n(&h->rounds, w->launches - 1, __ATOMIC_RELEASE);
		__atomic_store_n(&h->drains, h->drains + 1, __ATOMIC_RELEASE);
	}
}

/* Updates s->now from heddled's quotas. */
static void share_look(struct heddle_share *s)
{
	struct ctl_host *h;
	uint32_t seq;

	share_check(s);
	if (!s->slot)
		return;
	h = &s->slot->host;
	seq = ((struct ctl_tenant){.word = __atomic_load_n(&h->word, __ATOMIC_ACQUIRE)}).seq;
	if (seq != s->seq) {
		s->seq = copy_quotas(s, h);
		__atomic_store_n(&h->seen_ns, share_now_ns(), __ATOMIC_RELEASE);
	}
	if (s->seq)
		report_drain(s);
}

static void share_tell(struct heddle_share *s, struct heddle_share_blocks *ret)
{
	size_t size = ret->size;

	s->told = s->now;
	*ret = s->now;
	ret->size = size;
}

/* ---- session with heddled ---- */

static void share_join(struct heddle_share *s)
{
	struct host_client *c = &s->client;
	struct host_greeting g = {0};
	char buf[HOST_FAILED];
	int r = host_client_find(c);

	if (r == 0)
		r = host_greet(c->where, &c->hello, GREET_MS, &g);
	if (r == -EACCES && !c->by_folder)
		snprintf(c->refusal, sizeof(c->refusal), "%s", g.m.refused.why);
	if (r == 0)
		r = host_client_accept(c, &g);
	/* A program that steers itself needs neither: it polls the page, and takes a new one from
	 * the next daemon. */
	host_fd_close(&c->wake);
	host_fd_close(&c->page_fd);
	s->tried_ns = share_now_ns();
	if (r < 0)
		share_lose(s, host_client_why(c, r, buf));
}

/* Called before a kernel is obtained, because heddled may have started meanwhile. */
static void share_join_again(struct heddle_share *s)
{
	if (!s->alone[0] || share_now_ns() - s->tried_ns < RETRY_NS)
		return;
	wire_page_unmap(s->client.page);
	s->client.page = NULL;
	s->client.silence = (struct silence){0};
	s->alone[0] = 0;
	share_join(s);
}

RT_API int heddle_share_init(struct heddle *h, struct heddle_share **ret)
{
	struct heddle_share *s;
	int r;

	*ret = NULL;
	r = rt_enter(h);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s) {
		rt_leave(h);
		return rt_out_of_memory(h);
	}
	pthread_mutex_init(&s->lock, NULL);
	s->pid = getpid();
	host_client_init(&s->client);
	host_hello(&h->d.cu, h->d.device, &s->client.hello);
	s->reserved_shared = host_attribute(
		&h->d.cu, h->d.device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	s->now.n_sms = MIN(s->client.hello.n_sms, CTL_MAX_SMS);
	rt_leave(h);
	share_join(s);
	*ret = s;
	return 0;
}

RT_API const char *heddle_share_error(const struct heddle_share *s)
{
	return s ? s->error : "no session: heddle_share_init makes one";
}

/* Returns 0 with the lock held. */
static int share_enter(struct heddle_share *s)
{
	if (!s)
		return -EINVAL;
	if (s->pid != getpid())
		return share_fail(s, -EINVAL,
			"this session belongs to the parent process; the child makes its own");
	pthread_mutex_lock(&s->lock);
	return 0;
}

static int share_leave(struct heddle_share *s, int r)
{
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Like share_enter, but fails unless a kernel is obtained. */
static int share_enter_kernel(struct heddle_share *s)
{
	int r = share_enter(s);

	if (r == 0 && (!s->obtained || s->asking))
		r = share_leave(
			s, share_fail(s, -EINVAL,
				   "no kernel is obtained; heddle_share_obtain comes first"));
	return r;
}

RT_API const char *heddle_share_alone(struct heddle_share *s)
{
	const char *why = "";

	if (!s)
		return heddle_share_error(s);
	if (share_enter(s) < 0)
		return s->error;
	share_look(s);
	why = s->alone[0] ? s->alone : NULL;
	pthread_mutex_unlock(&s->lock);
	return why;
}

/* ---- one kernel ---- */

/* Returns how many blocks of the kernel fit on an SM; 0: none fits. */
static uint32_t blocks_that_fit(
	const struct heddle_share *s, const struct heddle_share_kernel *k, uint32_t threads)
{
	const struct wire_hello *d = &s->client.hello;
	uint32_t warps = (threads + WARP - 1) / WARP, n = MIN(d->blocks_per_sm, WIRE_PER_SM);
	uint32_t regs = warps * (uint32_t)round_up(k->registers * WARP, REGS_UNIT);
	uint64_t shared = (uint64_t)k->shared_bytes + s->reserved_shared;

	n = MIN(n, d->threads_per_sm / (warps * WARP));
	if (regs)
		n = MIN(n, d->regs_per_sm / regs);
	if (shared)
		n = (uint32_t)MIN(n, d->shared_per_sm / shared);
	return n;
}

static int check_kernel(
	struct heddle_share *s, const struct heddle_share_kernel *k, uint32_t *ret_fit)
{
	uint64_t threads = 1;

	if (!k || k->size < sizeof(*k))
		return share_fail(s, -EINVAL,
			"size of %zu: sizeof(struct heddle_share_kernel) is %zu", k ? k->size : 0,
			sizeof(*k));
	if (!k->name || !*k->name)
		return share_fail(s, -EINVAL, "the kernel has no name");
	if (!k->blocks)
		return share_fail(s, -EINVAL, "%s: 0 thread blocks: 1 or more", k->name);
	for (unsigned i = 0; i < 3; i++)
		threads *= MIN(k->block[i], MAX_THREADS + 1);
	if (!threads || threads > MAX_THREADS)
		return share_fail(s, -EINVAL, "%s: block of %u x %u x %u threads: 1 to %u in all",
			k->name, k->block[0], k->block[1], k->block[2], MAX_THREADS);
	if (k->registers > MAX_REGS)
		return share_fail(s, -EINVAL, "%s: %u registers: at most %u a thread", k->name,
			k->registers, MAX_REGS);
	*ret_fit = blocks_that_fit(s, k, (uint32_t)threads);
	if (!*ret_fit)
		return share_fail(s, -EINVAL,
			"%s: no block of %u threads, %u registers a thread and %u bytes of shared "
			"memory fits an SM, which has %u bytes",
			k->name, (unsigned)threads, k->registers, k->shared_bytes,
			s->client.hello.shared_per_sm);
	if (k->blocks_per_sm > MIN(s->client.hello.blocks_per_sm, WIRE_PER_SM))
		return share_fail(s, -EINVAL, "%s: %u blocks on an SM: at most %u", k->name,
			k->blocks_per_sm, MIN(s->client.hello.blocks_per_sm, WIRE_PER_SM));
	if (k->blocks_per_sm)
		*ret_fit = k->blocks_per_sm;
	return 0;
}

/* Returns a free slot of the page, searching from the one after the last used slot. Returns NULL if
 * heddled has not freed one yet. */
static struct wire_slot *free_slot(struct heddle_share *s)
{
	for (uint32_t i = 0; i < WIRE_SLOTS; i++) {
		struct wire_slot *w = &s->client.page->slots[(s->cursor + i) % WIRE_SLOTS];

		if (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == WIRE_SLOT_FREE) {
			s->cursor = (s->cursor + i + 1) % WIRE_SLOTS;
			return w;
		}
	}
	return NULL;
}

static void share_submit(struct heddle_share *s, const struct heddle_share_kernel *k)
{
	struct wire_slot *w = s->slot;

	memset(&w->host, 0, sizeof(w->host));
	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	w->host.began = NO_WORD;
	w->host.arrived = GENERATION + 1;
	w->gen = GENERATION;
	w->id = ++s->kernels;
	w->kernel = hash_bytes(k->name, strlen(k->name), 0);
	w->total = k->blocks;
	w->submit_ns = share_now_ns();
	w->grid[0] = (uint32_t)MIN(k->blocks, UINT32_MAX);
	w->grid[1] = w->grid[2] = 1;
	memcpy(w->block, k->block, sizeof(w->block));
	w->shared_bytes = k->shared_bytes;
	w->regs = k->registers;
	w->workers_per_sm = s->fit;
	w->launches = w->claim = 1;
	w->priority = w->guard = w->counts = w->idle = 0;
	memset(w->input, 0, sizeof(w->input));
	snprintf(w->name, sizeof(w->name), "%s", k->name);
	__atomic_store_n(&w->state, WIRE_SLOT_SUBMITTED, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&s->client.page->launched[WIRE_WHY_WORKERS], 1, __ATOMIC_RELAXED);
	share_kick(s);
}

/* Waits until heddled allows at least one block. The caller holds the lock. The lock is released
 * while this function sleeps, and held again when it returns. */
static int await_blocks(struct heddle_share *s, uint64_t timeout_ns)
{
	uint64_t since = share_now_ns();

	for (share_look(s); !s->now.blocks; share_look(s)) {
		if (share_now_ns() - since >= timeout_ns)
			return share_fail(s, -ETIMEDOUT,
				"heddled gave this kernel no SM in time; others come first");
		pthread_mutex_unlock(&s->lock);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		pthread_mutex_lock(&s->lock);
	}
	return 0;
}

/* Gives the kernel's slot back. */
static void share_end(struct heddle_share *s)
{
	struct wire_slot *w = s->slot;

	share_check(s);
	if (s->slot) {
		if (s->finished == s->total)
			__atomic_store_n(&w->host.done, GENERATION + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&w->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
		share_kick(s);
	}
	s->slot = NULL;
	s->obtained = false;
}

static bool blocks_are_sized(struct heddle_share *s, const struct heddle_share_blocks *b)
{
	if (b && b->size >= sizeof(*b))
		return true;
	share_fail(s, -EINVAL, "size of %zu: sizeof(struct heddle_share_blocks) is %zu",
		b ? b->size : 0, sizeof(*b));
	return false;
}

RT_API int heddle_share_obtain(struct heddle_share *s, const struct heddle_share_kernel *kernel,
	uint64_t timeout_ns, struct heddle_share_blocks *ret)
{
	uint32_t fit = 0;
	int r = share_enter(s);

	if (r < 0)
		return r;
	if (s->obtained)
		return share_leave(s, share_fail(s, -EBUSY,
					      "a kernel is obtained; heddle_share_release ends it, "
					      "and another session "
					      "takes a second one"));
	r = blocks_are_sized(s, ret) ? check_kernel(s, kernel, &fit) : -EINVAL;
	if (r < 0)
		return share_leave(s, r);
	s->fit = fit;
	s->total = kernel->blocks;
	s->started = s->finished = s->seq = 0;
	s->drained = false;
	s->obtained = true;
	set_all(s, 0);
	share_check(s);
	share_join_again(s);
	if (s->client.page && !s->alone[0])
		s->slot = free_slot(s);
	if (s->slot)
		share_submit(s, kernel);
	else
		set_all(s, fit);
	s->asking = true;
	r = await_blocks(s, timeout_ns);
	s->asking = false;
	if (r < 0) {
		share_end(s);
		return share_leave(s, r);
	}
	/* Until the program reports its progress, all granted blocks count as launched. */
	if (s->slot)
		__atomic_store_n(&s->slot->host.present, (uint32_t)MIN(s->now.blocks, s->total),
			__ATOMIC_RELEASE);
	share_tell(s, ret);
	return share_leave(s, 0);
}

RT_API int heddle_share_quota(struct heddle_share *s, struct heddle_share_blocks *ret)
{
	int r = share_enter_kernel(s);

	if (r < 0)
		return r;
	if (!blocks_are_sized(s, ret))
		return share_leave(s, -EINVAL);
	share_look(s);
	share_tell(s, ret);
	return share_leave(s, 0);
}

static bool share_is_told(const struct heddle_share *s)
{
	return memcmp(s->now.of_sm, s->told.of_sm, sizeof(s->now.of_sm)) == 0;
}

RT_API int heddle_share_wait(
	struct heddle_share *s, uint64_t timeout_ns, struct heddle_share_blocks *ret)
{
	uint64_t since = share_now_ns(), kernel;
	int r = share_enter_kernel(s);

	if (r < 0)
		return r;
	if (!blocks_are_sized(s, ret))
		return share_leave(s, -EINVAL);
	kernel = s->number;
	for (share_look(s); share_is_told(s); share_look(s)) {
		if (share_now_ns() - since >= timeout_ns)
			return share_leave(s, share_fail(s, -ETIMEDOUT, "the number is the same"));
		pthread_mutex_unlock(&s->lock);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		pthread_mutex_lock(&s->lock);
		if (!s->obtained || s->number != kernel)
			return share_leave(
				s, share_fail(s, -ECANCELED, "the kernel was released meanwhile"));
	}
	share_tell(s, ret);
	return share_leave(s, 0);
}

RT_API int heddle_share_progress(struct heddle_share *s, uint64_t started, uint64_t finished)
{
	bool last;
	int r = share_enter_kernel(s);

	if (r < 0)
		return r;
	if (finished > started || finished > s->total || started < s->started ||
		finished < s->finished)
		return share_leave(
			s, share_fail(s, -EINVAL,
				   "%llu blocks started, %llu finished: of %llu in all, at least "
				   "%llu and "
				   "%llu as reported before, and no more finished than started",
				   (unsigned long long)started, (unsigned long long)finished,
				   (unsigned long long)s->total, (unsigned long long)s->started,
				   (unsigned long long)s->finished));
	started = MIN(started, s->total);
	last = s->started < s->total && started == s->total;
	s->started = started;
	s->finished = finished;
	if (s->slot) {
		struct ctl_host *h = &s->slot->host;

		__atomic_store_n(&h->finished, finished, __ATOMIC_RELEASE);
		__atomic_store_n(&h->ticket, started, __ATOMIC_RELEASE);
		/* Before the first block starts, `present` is the number that was granted. */
		if (started)
			__atomic_store_n(&h->present, (uint32_t)MIN(started - finished, UINT32_MAX),
				__ATOMIC_RELEASE);
		if (last)
			share_kick(s);
	}
	share_look(s);
	return share_leave(s, 0);
}

RT_API int heddle_share_release(struct heddle_share *s)
{
	int r = share_enter_kernel(s);

	if (r < 0)
		return r;
	share_end(s);
	s->number++;
	return share_leave(s, 0);
}

RT_API void heddle_share_close(struct heddle_share *s)
{
	if (!s)
		return;
	if (s->pid == getpid()) {
		if (s->obtained)
			share_end(s);
		if (s->client.page)
			__atomic_store_n(&s->client.page->ends, 1, __ATOMIC_RELEASE);
	}
	host_fd_close(&s->client.sock);
	host_fd_close(&s->client.kick);
	wire_page_unmap(s->client.page);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
