/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches (FLEP, sections 4.1 and 5: what its runtime does at a launch and at a resume). A
 * stream has a control block and a generation; a launch takes a slot of the shared page, appends
 * struct ctl_args to the kernel's parameters, launches as many workers as the device holds, and
 * has the stream wait for the gate behind them. The page and the control block carry everything
 * else: no lock of the shim is ever held while it waits. */
#include "shim/managed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BLOCKS 64
#define LATENCY_NS  30000 /* what one claim of a worker may take */
#define SPELL_NS    1000000
#define KICK_AFTER  64 /* closed slots that wait for the daemon to free them */
#define ALONE_NS    1000000
#define ROUNDS      3 /* rounds of workers under way at once; each has a stream of its own */
/* How soon a resumed launch is looked at again; the daemon also wakes us when it sees one stop. */
#define SETTLES_NS 20000000u
#define SOON_NS    200000u
#define LATER_NS   5000000u

/* A launch, beside its slot in the page. */
struct managed {
	bool used, resuming, launched; /* under the lock */
	struct form *form;
	struct form_shape *shape;
	struct stream *stream;
	uint64_t id, total, submit_ns, resumed_ns;
	uint64_t resumed_at;  /* blocks that had finished when it was last resumed */
	uint32_t preemptions; /* and the daemon's account of them at that time */
	struct ctl_args args;
	uint32_t block[3], shared, workers, drains, grow, rounds, lone_rounds;
	uint64_t ticket;           /* at the last round, */
	uint32_t seq, idle_rounds; /* and the word applied; rounds that left both as they were */
	bool guard, lone;          /* lone: only the relay was there at the last look */
	uint8_t *params;
	size_t params_cap;
};

static struct managed launches[WIRE_SLOTS];
static uint16_t active[WIRE_SLOTS];
static unsigned n_active, cursor, closed;
static uint64_t last_id;
static _Atomic unsigned outstanding;
static CUstream helpers[ROUNDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	CUdeviceptr at;
	uint32_t gen;
} pool[1024];
static unsigned pool_len;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned managed_outstanding(void)
{
	return atomic_load(&outstanding);
}

/* ---- control blocks ---- */

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
	/* On the helper stream: the legacy one might wait for the program's work. */
	if (r == CUDA_SUCCESS)
		r = cu.cuMemcpyHtoDAsync(at, image, POOL_BLOCKS * bytes, shim.helper);
	if (r == CUDA_SUCCESS)
		r = cu.cuStreamSynchronize(shim.helper);
	shim_leave(&in);
	free(image);
	if (r != CUDA_SUCCESS)
		return -EIO;
	for (unsigned i = 0; i < POOL_BLOCKS && pool_len < ARRAY_LEN(pool); i++) {
		pool[pool_len].at = at + i * bytes;
		pool[pool_len++].gen = 0;
	}
	return 0;
}

int managed_init(void)
{
	int least = 0, greatest = 0;

	if (!cu.cuStreamCreateWithPriority || !cu.cuMemcpyHtoDAsync || !cu.cuStreamSynchronize ||
		!cu.cuOccupancyMaxActiveBlocksPerMultiprocessor)
		return -ENOTSUP;
	if (cu.cuCtxGetStreamPriorityRange)
		cu.cuCtxGetStreamPriorityRange(&least, &greatest);
	if (shim.is_low)
		greatest = least;
	if (cu.cuStreamCreateWithPriority(&shim.helper, CU_STREAM_NON_BLOCKING, greatest) !=
		CUDA_SUCCESS)
		return -EIO;
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (cu.cuStreamCreateWithPriority(&helpers[i], CU_STREAM_NON_BLOCKING, greatest) !=
			CUDA_SUCCESS)
			return -EIO;
	}
	if (pool_fill() < 0)
		return -EIO;
	/* Satisfied at once; tells whether streams can wait for a word at all. */
	if (cu.cuStreamWaitValue32(shim.helper, pool[0].at + offsetof(struct ctl_block, gate), 0,
		    CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
		return -ENOTSUP;
	return cu.cuStreamSynchronize(shim.helper) == CUDA_SUCCESS ? 0 : -EIO;
}

static bool give_block(struct stream *s)
{
	bool ok;

	if (s->ctl)
		return true;
	pthread_mutex_lock(&pool_lock);
	ok = pool_len > 0 || pool_fill() == 0;
	if (ok) {
		s->ctl = pool[--pool_len].at;
		s->gen = pool[pool_len].gen;
	}
	pthread_mutex_unlock(&pool_lock);
	return ok;
}

/* A destroyed stream's block can be used again once its last launch is over: late helpers of it
 * see another generation and leave. */
static void take_block(struct stream *s)
{
	pthread_mutex_lock(&pool_lock);
	if (s->ctl && pool_len < ARRAY_LEN(pool)) {
		pool[pool_len].at = s->ctl;
		pool[pool_len++].gen = s->gen;
	}
	s->ctl = 0;
	pthread_mutex_unlock(&pool_lock);
}

void managed_stream_destroyed(struct stream *s)
{
	pthread_mutex_lock(&lock);
	s->destroyed = true;
	if (!atomic_load(&s->outstanding))
		take_block(s);
	pthread_mutex_unlock(&lock);
}

/* ---- slots ---- */

static struct wire_slot *slot_of(const struct managed *m)
{
	return &shim.page->slots[m - launches];
}

static bool is_done(const struct managed *m)
{
	return __atomic_load_n(&slot_of(m)->host.done, __ATOMIC_ACQUIRE) == m->args.gen + 1;
}

static bool unbounded(const struct ctl_host *h)
{
	for (unsigned i = 0; i < shim.n_sms; i++) {
		if (h->quota[i] != CTL_NO_QUOTA)
			return false;
	}
	return true;
}

/* How long it took, for the next launch of this shape: the whole launch, or what came after the
 * last resume (of launches that are preempted each time, all that there is). Only what ran
 * undisturbed tells, and of a part only a long one: resuming takes time of its own. */
static void learn(struct managed *m)
{
	const struct wire_slot *w = slot_of(m);
	const struct ctl_host *h = &w->host;
	bool whole = !m->args.seq;
	uint64_t from = whole ? h->arrived_ns : h->seen_ns, to = h->done_ns;

	if (m->guard || !from || to <= from || w->preemptions != m->preemptions || !unbounded(h))
		return;
	if (!whole && (h->seq != m->args.seq || to - from < SPELL_NS || m->resumed_at >= m->total))
		return;
	pthread_mutex_lock(&m->form->lock);
	if (whole)
		pace_learn(&m->shape->pace, m->args.chunk, to - from, m->total,
			shim.welcome.min_managed_ns);
	else
		pace_learn_spell(
			&m->shape->pace, m->args.chunk, to - from, m->total - m->resumed_at);
	pthread_mutex_unlock(&m->form->lock);
}

/* Under the lock. */
static void release(unsigned at)
{
	struct managed *m = &launches[active[at]];

	__atomic_store_n(&slot_of(m)->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
	m->used = false;
	active[at] = active[--n_active];
	if (atomic_fetch_sub(&m->stream->outstanding, 1) == 1 && m->stream->destroyed)
		take_block(m->stream);
	atomic_fetch_sub(&outstanding, 1);
	closed++;
}

static void reap(unsigned at_most)
{
	unsigned at;

	for (at = 0; at < n_active && at_most; at_most--) {
		struct managed *m = &launches[active[at]];

		/* Until it is launched, what its slot says is of the launch before. */
		if (m->launched && !m->resuming && is_done(m)) {
			learn(m);
			release(at);
		} else {
			at++;
		}
	}
}

void managed_reap(void)
{
	pthread_mutex_lock(&lock);
	reap(UINT32_MAX);
	pthread_mutex_unlock(&lock);
}

static struct managed *take_slot(struct stream *s)
{
	struct managed *m = NULL;
	bool kick;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < WIRE_SLOTS && !m; i++) {
		unsigned at = (cursor + i) % WIRE_SLOTS;

		if (!launches[at].used && __atomic_load_n(&shim.page->slots[at].state,
						  __ATOMIC_ACQUIRE) == WIRE_SLOT_FREE) {
			m = &launches[at];
			cursor = at + 1;
		}
	}
	if (m) {
		m->used = true;
		m->resuming = m->launched = false;
		m->stream = s;
		m->id = ++last_id;
		active[n_active++] = (uint16_t)(m - launches);
		atomic_fetch_add(&s->outstanding, 1);
		atomic_fetch_add(&outstanding, 1);
	} else {
		reap(UINT32_MAX);
	}
	kick = !m || closed >= KICK_AFTER;
	if (kick)
		closed = 0;
	pthread_mutex_unlock(&lock);
	if (kick)
		shim_kick();
	return m;
}

static void drop_slot(struct managed *m)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_active; i++) {
		if (&launches[active[i]] == m) {
			release(i);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- parameters ---- */

static bool copy_params(struct managed *m, const struct launch *l)
{
	const struct form *f = m->form;
	size_t n = f->info.param_bytes, given = f->info.arg_offset;

	if (m->params_cap < n) {
		uint8_t *p = realloc(m->params, n);

		if (!p)
			return false;
		m->params = p;
		m->params_cap = n;
	}
	if (l->params) {
		for (uint32_t i = 0; i < f->info.n_params; i++)
			memcpy(m->params + f->offsets[i], l->params[i], f->sizes[i]);
		return true;
	}
	if (!l->extra)
		return f->info.n_params == 0;
	for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			given = MIN(given, *(size_t *)e[1]);
	}
	memset(m->params, 0, n);
	for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			memcpy(m->params, e[1], given);
	}
	return true;
}

/* One launch of the form, with the parameters that m holds. config: the program's, or NULL. */
static CUresult fire(
	struct managed *m, uint64_t blocks, CUstream stream, const CUlaunchConfig *config)
{
	size_t bytes = m->form->info.param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, m->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	memcpy(m->params + m->form->info.arg_offset, &m->args, sizeof(m->args));
	if (config) {
		CUlaunchConfig c = *config;

		c.gridDimX = (unsigned)blocks;
		c.gridDimY = c.gridDimZ = 1;
		c.hStream = stream;
		return cu.cuLaunchKernelEx(&c, m->form->fn, NULL, extra);
	}
	return cu.cuLaunchKernel(m->form->fn, (unsigned)blocks, 1, 1, m->block[0], m->block[1],
		m->block[2], m->shared, stream, NULL, extra);
}

/* Behind a grid of the guard form: closes it, or says that it drained. */
static CUresult fire_closer(struct managed *m, CUstream stream)
{
	void *params[] = {&m->args};

	if (!m->guard)
		return CUDA_SUCCESS;
	return cu.cuLaunchKernel(rewrite_closer(), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* ---- shapes ---- */

static struct form_shape *shape_of(struct form *f, const struct launch *l)
{
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	struct form_shape *s = NULL;
	int n = 0;

	for (unsigned i = 0; i < f->n_shapes && !s; i++) {
		if (f->shape[i].threads == threads && f->shape[i].shared == l->shared)
			s = &f->shape[i];
	}
	if (s)
		return s;
	/* A kernel of many shapes: the last place is used over and over. */
	if (f->n_shapes < KERNEL_SHAPES)
		f->n_shapes++;
	s = &f->shape[f->n_shapes - 1];
	*s = (struct form_shape){.threads = threads, .shared = l->shared};
	if (threads <= f->max_threads &&
		cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&n, f->fn, (int)threads, l->shared) == CUDA_SUCCESS &&
		n > 0)
		s->per_sm = (uint32_t)MIN(n, 31);
	return s;
}

/* A kernel may have two forms (rewrite.c); measured launches choose between them. */
static struct form *pick_form(struct form *f, const struct launch *l, uint64_t total)
{
	struct pace pace[2];
	uint64_t workers[2];

	if (!f->other)
		return f;
	for (unsigned i = 0; i < 2; i++) {
		struct form *g = i ? f->other : f;
		struct form_shape *s;

		pthread_mutex_lock(&g->lock);
		s = shape_of(g, l);
		pace[i] = s->pace;
		workers[i] = MIN(total, (uint64_t)s->per_sm * shim.n_sms);
		pthread_mutex_unlock(&g->lock);
	}
	return workers[1] && pace_prefers_second(&pace[0], workers[0], &pace[1], workers[1])
		       ? f->other
		       : f;
}

struct plan {
	struct form_shape *shape;
	uint32_t per_sm, workers, chunk, flags, shrink;
	uint32_t rank; /* among the launches of the program: higher goes first */
};

/* Whether and how to manage a launch of this shape. */
static bool plan(struct form *f, const struct launch *l, uint64_t total, struct plan *p)
{
	bool guard = f->info.tier == PASS_GUARD, ok;
	struct form_shape *s;
	uint64_t fits;
	bool settled;

	*p = (struct plan){.chunk = 1, .flags = CTL_RELAY | (guard ? CTL_GUARD : 0)};
	if (f->info.one_dimensional && (l->block[1] != 1 || l->block[2] != 1))
		return false;
	pthread_mutex_lock(&f->lock);
	s = p->shape = shape_of(f, l);
	p->per_sm = s->per_sm;
	ok = s->per_sm > 0;
	/* Too short to be worth it, unless its length was last looked at long ago. */
	if (ok && pace_is_short(&s->pace, total, shim.welcome.min_managed_ns))
		ok = pace_remeasures(&s->pace);
	fits = (uint64_t)p->per_sm * shim.n_sms;
	if (ok && !guard && !f->info.rising_order)
		p->chunk = pace_chunk(&s->pace, MIN(total, fits), &settled);
	pthread_mutex_unlock(&f->lock);
	/* Blocks that may wait for each other, and could natively all be there at once. */
	if (!ok || (f->info.rising_order && total <= fits) || fits < 2 ||
		(guard && total > INT32_MAX - 1))
		return false;
	p->workers = (uint32_t)MIN(total, fits - 1);
	while (p->chunk > 1 && (uint64_t)1 << p->shrink < 2 * (uint64_t)p->workers)
		p->shrink++;
	return true;
}

/* ---- the launch ---- */

/* How far a launch goes before others of its program: what its stream, or it itself, asks for. One
 * that may wait for other work must not keep that from running: it asks for nothing. */
static uint32_t rank_of(const struct launch *l, const struct stream *s, const struct form *f)
{
	const CUlaunchConfig *c = l->config;
	int priority = s->priority;

	for (unsigned i = 0; c && i < c->numAttrs; i++) {
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
			priority = c->attrs[i].value.priority;
	}
	if (f->info.rising_order)
		return 0;
	return (uint32_t)-MIN(MAX(priority, shim.top_priority), 0);
}

static void fill_slot(struct managed *m, const struct launch *l, const struct kernel *k,
	const struct plan *p, bool held)
{
	struct wire_slot *w = slot_of(m);

	memset(&w->host, 0, sizeof(w->host));
	memset(w->host.quota, held ? 0 : CTL_NO_QUOTA, sizeof(w->host.quota));
	w->host.seq = held;
	w->gen = m->args.gen;
	w->id = m->id;
	w->kernel = k->hash;
	w->total = m->total;
	w->submit_ns = m->submit_ns;
	memcpy(w->grid, l->grid, sizeof(w->grid));
	memcpy(w->block, l->block, sizeof(w->block));
	w->shared_bytes = l->shared + m->form->static_shared;
	w->regs = m->form->regs;
	w->workers_per_sm = p->per_sm;
	w->launches = 1;
	w->priority = p->rank;
	w->tier = m->form->info.tier;
	strncpy(w->name, k->name, sizeof(w->name) - 1);
	w->name[sizeof(w->name) - 1] = 0;
	__atomic_store_n(&w->state, WIRE_SLOT_SUBMITTED, __ATOMIC_RELEASE);
}

static void fill(struct managed *m, const struct launch *l, const struct plan *p, bool held)
{
	unsigned index = (unsigned)(m - launches);

	m->shape = p->shape;
	m->guard = p->flags & CTL_GUARD;
	m->workers = p->workers;
	m->lone = false;
	m->drains = m->rounds = m->lone_rounds = m->seq = m->idle_rounds = 0;
	m->ticket = m->resumed_at = 0;
	m->preemptions = 0;
	/* The daemon counts up from whatever is there. */
	m->grow = __atomic_load_n(&shim.page->slots[index].grow, __ATOMIC_ACQUIRE);
	m->submit_ns = m->resumed_ns = shim_now_ns();
	memcpy(m->block, l->block, sizeof(m->block));
	m->shared = l->shared;
	m->args = (struct ctl_args){
		.block = m->stream->ctl,
		.host = shim.page_dev + offsetof(struct wire_page, slots) +
			index * sizeof(struct wire_slot) + offsetof(struct wire_slot, host),
		.total = m->total,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.gen = m->stream->gen,
		.chunk = p->chunk,
		.flags = p->flags | (held ? CTL_WAIT_WORD : 0),
		.shrink = p->shrink,
		.seq = held,
	};
}

/* Under the stream's lock. */
static bool launch_locked(const struct launch *l, struct kernel *k, struct managed *m,
	const struct plan *p, CUresult *ret)
{
	struct stream *s = m->stream;
	bool held = __atomic_load_n(&shim.page->hold, __ATOMIC_ACQUIRE);
	uint64_t blocks = m->guard ? m->total + 1 : (uint64_t)p->workers + 1;
	CUresult r;

	fill(m, l, p, held);
	if (p->flags & CTL_GUARD)
		blocks = m->total + 1;
	if (!copy_params(m, l))
		return false;
	fill_slot(m, l, k, p, held);
	r = fire(m, blocks, l->stream, l->config);
	if (r != CUDA_SUCCESS)
		return false; /* the plain launch says it in the program's own terms */
	r = fire_closer(m, l->stream);
	if (r == CUDA_SUCCESS)
		r = cu.cuStreamWaitValue32(l->stream, s->ctl + offsetof(struct ctl_block, gate),
			m->args.gen + 1, CU_STREAM_WAIT_VALUE_GEQ);
	/* The kernel may have failed already: as natively, that is the next call's to say. */
	if (r != CUDA_SUCCESS && cu.cuStreamQuery && cu.cuStreamQuery(l->stream) == r)
		r = CUDA_SUCCESS;
	s->gen++;
	*ret = r;
	return true;
}

/* Has the program launched anything that ranks lower? */
static bool goes_first(uint32_t rank)
{
	static _Atomic uint32_t lowest = UINT32_MAX;
	uint32_t seen = atomic_load_explicit(&lowest, memory_order_relaxed);

	while (rank < seen && !atomic_compare_exchange_weak(&lowest, &seen, rank))
		;
	return rank > seen;
}

/* The daemon is gone: nobody else writes words. Under the lock. */
static void raise_all(struct managed *m)
{
	struct wire_slot *w = slot_of(m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);

	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	__atomic_store_n(&w->host.seq, seq + 1 ? seq + 1 : 1, __ATOMIC_RELEASE);
}

bool managed_launch(const struct launch *l, struct kernel *k, struct form *f, CUresult *ret)
{
	uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	struct stream *s;
	struct managed *m;
	struct plan p;
	CUcontext now = NULL;
	bool ok;

	if (!total || !l->block[0] || !l->block[1] || !l->block[2] || fence_active())
		return false;
	if (cu.cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != shim.ctx ||
		stream_capturing(l->stream))
		return false;
	/* What has ended teaches how to launch this one. */
	pthread_mutex_lock(&lock);
	reap(4);
	pthread_mutex_unlock(&lock);
	f = pick_form(f, l, total);
	if (!plan(f, l, total, &p))
		return false;
	s = stream_of(l->stream);
	if (!s || !stream_admits(s)) {
		__atomic_fetch_add(&shim.page->managed_native, 1, __ATOMIC_RELAXED);
		return false;
	}
	p.rank = rank_of(l, s, f);
	pthread_mutex_lock(&s->lock);
	m = give_block(s) ? take_slot(s) : NULL;
	ok = m && !fence_active(); /* asked again, now that we count as outstanding */
	if (ok) {
		m->form = f;
		m->total = total;
		ok = launch_locked(l, k, m, &p, ret);
	}
	pthread_mutex_unlock(&s->lock);
	if (!ok) {
		if (m)
			drop_slot(m);
		__atomic_fetch_add(&shim.page->managed_native, 1, __ATOMIC_RELAXED);
		return false;
	}
	pthread_mutex_lock(&lock);
	m->launched = true;
	/* Filled while the daemon was found dead: it may begin held, and was passed over. */
	if (atomic_load(&shim.dead))
		raise_all(m);
	pthread_mutex_unlock(&lock);
	atomic_store_explicit(&k->loaded, true, memory_order_relaxed);
	/* One that begins held kicks in any case: it may have been released meanwhile, and nobody
	 * would look. So does one that goes before others of its program. */
	if (m->args.seq || goes_first(p.rank) ||
		__atomic_load_n(&shim.page->watch, __ATOMIC_ACQUIRE))
		shim_kick();
	return true;
}

/* ---- resuming ---- */

static bool is_granted(const struct wire_slot *w)
{
	return atomic_load(&shim.dead) || __atomic_load_n(&w->granted, __ATOMIC_ACQUIRE);
}

/* Does a launch want one more round of workers, and in how many ns? 0: now; UINT64_MAX: no. */
static uint64_t wants_round(struct managed *m, uint32_t *ret_drains, uint32_t *ret_grow)
{
	struct wire_slot *w = slot_of(m);
	uint64_t now = shim_now_ns(), since = now - m->resumed_ns, rest;
	bool lone;

	*ret_drains = __atomic_load_n(&w->host.drains, __ATOMIC_ACQUIRE);
	*ret_grow = __atomic_load_n(&w->grow, __ATOMIC_ACQUIRE);
	/* No worker before the stream has come to the launch: it would not wait for what is ahead
	 * of it. */
	if (__atomic_load_n(&w->host.arrived, __ATOMIC_ACQUIRE) != m->args.gen + 1)
		return UINT64_MAX;
	if (*ret_drains != m->drains) {
		/* Blocks that come one after another each find themselves the last and report it,
		 * and so do those that come too late: rounds that changed nothing get rarer. */
		rest = (uint64_t)SOON_NS << MIN(m->idle_rounds, 8u);
		return m->idle_rounds < 2 || since >= rest ? 0 : rest - since;
	}
	/* Never two grids of one guarded generation. */
	if (m->guard)
		return UINT64_MAX;
	if (*ret_grow != m->grow)
		return 0;
	/* Workers left on quotas that were raised at once: the relay waits alone. Or so it seems
	 * while the last round has not begun: patience doubles. */
	lone = __atomic_load_n(&w->host.seq, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&w->host.present, __ATOMIC_ACQUIRE) == 1 &&
	       __atomic_load_n(&w->host.ticket, __ATOMIC_RELAXED) < m->total &&
	       since > (uint64_t)ALONE_NS << MIN(m->lone_rounds, 10u);
	if (lone && m->lone) {
		m->lone = false;
		m->lone_rounds++;
		return 0;
	}
	m->lone = lone;
	return UINT64_MAX;
}

/* A helper stream on which no round is under way: one behind another would not begin before the
 * relay of that has left. NULL: there is none now. */
static CUstream idle_helper(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (cu.cuStreamQuery(helpers[i]) != CUDA_ERROR_NOT_READY)
			return helpers[i];
	}
	return NULL;
}

/* Whether the rounds so far got the launch on, as far as it was reported. */
static void judge_rounds(struct managed *m)
{
	const struct ctl_host *h = &slot_of(m)->host;
	uint64_t ticket = __atomic_load_n(&h->ticket, __ATOMIC_ACQUIRE);
	uint32_t seq = __atomic_load_n(&h->drained_seq, __ATOMIC_ACQUIRE);

	if (ticket == m->ticket && seq == m->seq)
		m->idle_rounds++;
	else
		m->idle_rounds = 0;
	m->ticket = ticket;
	m->seq = seq;
}

/* False: there is no stream for a round now. */
static bool resume(struct managed *m)
{
	struct wire_slot *w = slot_of(m);
	uint32_t seq = __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	uint64_t begun = MIN(__atomic_load_n(&w->host.ticket, __ATOMIC_ACQUIRE), m->total);
	uint64_t left = m->total - begun;
	struct shim_inside in;
	CUstream on = NULL;

	if (shim_enter(&in) == CUDA_SUCCESS && (on = idle_helper())) {
		m->resumed_at = MIN(__atomic_load_n(&w->host.finished, __ATOMIC_ACQUIRE), m->total);
		m->preemptions = __atomic_load_n(&w->preemptions, __ATOMIC_ACQUIRE);
		m->args.seq = seq;
		m->args.flags |= seq ? CTL_WAIT_WORD : 0;
		fire(m, (m->guard ? left : MIN((uint64_t)m->workers, MAX(left, (uint64_t)1))) + 1,
			on, NULL);
		fire_closer(m, on);
	}
	shim_leave(&in);
	if (!on)
		return false;
	judge_rounds(m);
	m->rounds++;
	m->resumed_ns = shim_now_ns();
	__atomic_store_n(&w->launches, 1 + m->rounds, __ATOMIC_RELEASE);
	return true;
}

/* One launch's turn, under the lock, which is let go meanwhile if *ret_next is SOON_NS. */
static bool look_after(struct managed *m, uint64_t *ret_next)
{
	struct wire_slot *w = slot_of(m);
	uint32_t drains, grow;
	uint64_t wait;
	bool fired;

	*ret_next = UINT64_MAX;
	if (!m->launched || !is_granted(w))
		return false;
	/* Only what was given a word of the daemon's can have stopped. */
	if (__atomic_load_n(&w->host.seq, __ATOMIC_RELAXED))
		*ret_next = shim_now_ns() - m->resumed_ns < SETTLES_NS ? SOON_NS : LATER_NS;
	wait = wants_round(m, &drains, &grow);
	if (wait) {
		*ret_next = MIN(*ret_next, wait);
		return false;
	}
	*ret_next = SOON_NS;
	m->resuming = true;
	pthread_mutex_unlock(&lock);
	fired = resume(m);
	pthread_mutex_lock(&lock);
	m->resuming = false;
	if (fired) {
		m->drains = drains;
		m->grow = grow;
	}
	return fired;
}

uint64_t managed_resume(void)
{
	uint64_t next = UINT64_MAX, at;

	pthread_mutex_lock(&lock);
	reap(UINT32_MAX);
	for (unsigned i = 0; i < n_active; i++) {
		/* Afterwards the list may have changed. */
		if (look_after(&launches[active[i]], &at))
			i = UINT32_MAX;
		next = MIN(next, at);
	}
	pthread_mutex_unlock(&lock);
	return next;
}

bool managed_any_preempted(void)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_active && !any; i++) {
		struct managed *m = &launches[active[i]];

		any = m->launched &&
		      __atomic_load_n(&slot_of(m)->host.seq, __ATOMIC_ACQUIRE) != 0 && !is_done(m);
	}
	pthread_mutex_unlock(&lock);
	return any;
}

bool managed_any_waiting(void)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_active && !any; i++) {
		struct managed *m = &launches[active[i]];

		any = m->launched && __atomic_load_n(&slot_of(m)->host.seq, __ATOMIC_ACQUIRE) &&
		      !is_granted(slot_of(m)) && !is_done(m);
	}
	pthread_mutex_unlock(&lock);
	return any;
}

void managed_take_over(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_active; i++) {
		if (launches[active[i]].launched)
			raise_all(&launches[active[i]]);
	}
	pthread_mutex_unlock(&lock);
}

void managed_forget(void)
{
	pthread_mutex_lock(&lock);
	shim.page_dev = 0;
	while (n_active)
		release(0);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&pool_lock);
	pool_len = 0;
	pthread_mutex_unlock(&pool_lock);
}

void managed_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&pool_lock, NULL);
	n_active = 0;
	atomic_store(&outstanding, 0);
	pool_len = 0;
}
