/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tasks given to a pool, and their ends. An id is a generation of a row: gen << 17 | column << 5 |
 * row; a row of a later generation says that the task has ended. */
#include "rt/pool_row.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPINS 2000 /* looks before the device is asked, and the thread sleeps */

/* Of this model: the other one needs the loader's help, which the library would then be linked
 * with. There is little room for such, so it is but a number. */
static _Thread_local unsigned next_column __attribute__((tls_model("initial-exec")));

/* ---- errors, a text for each thread ---- */
#define TEXT_BYTES 1024
static pthread_key_t key;
static bool has_key;

static void make_key(void)
{
	has_key = pthread_key_create(&key, free) == 0;
}

/* NULL: it has none, and there is no memory for one. */
static char *get_text(bool make)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *text;

	pthread_once(&once, make_key);
	text = has_key ? pthread_getspecific(key) : NULL;
	if (text || !make || !has_key)
		return text;
	text = malloc(TEXT_BYTES);
	if (text && pthread_setspecific(key, text) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

int pool_fail(int err, const char *fmt, ...)
{
	char *text = get_text(true);
	va_list ap;

	va_start(ap, fmt);
	if (text)
		vsnprintf(text, TEXT_BYTES, fmt, ap);
	va_end(ap);
	return err;
}

int pool_fail_more(int err, const char *fmt, ...)
{
	char *text = get_text(true);
	size_t n = text ? strlen(text) : 0;
	va_list ap;

	va_start(ap, fmt);
	if (text)
		vsnprintf(text + n, TEXT_BYTES - n, fmt, ap);
	va_end(ap);
	return err;
}

int pool_fail_as(const struct heddle *h, int err)
{
	return pool_fail(err, "%s", h->error);
}

RT_API const char *heddle_tasks_error(const struct heddle_tasks *t)
{
	const char *text = get_text(false);

	(void)t;
	return text ? text : "";
}

/* ---- what a task is ---- */

static int check_grid(const struct pool_kernel *k, const struct heddle_task *task)
{
	const unsigned *g = task->grid, *b = task->block;
	const char *name = k->kernel->name;

	for (int d = 0; d < 3; d++)
		if (!g[d] || !b[d])
			return pool_fail(-EINVAL,
				"kernel '%s': grid %u,%u,%u, block %u,%u,%u; every part is at "
				"least 1",
				name, g[0], g[1], g[2], b[0], b[1], b[2]);
	if (g[0] > INT32_MAX || g[1] > UINT16_MAX || g[2] > UINT16_MAX ||
		(uint64_t)g[0] * g[1] > UINT32_MAX || (uint64_t)g[0] * g[1] * g[2] > UINT32_MAX)
		return pool_fail(-E2BIG,
			"kernel '%s': a grid of %u,%u,%u; a task has less than 2^32 blocks, and "
			"65,535 in y and z",
			name, g[0], g[1], g[2]);
	return 0;
}

/* What of it the device is told. */
struct asked {
	uint32_t threads; /* of a block */
	uint32_t need;    /* TASK_NEED_* */
	uint32_t parts; /* rows that it takes; each is given to another column if there are many */
	unsigned form;
};

/* Its threads, and what they need of a block of the pool. */
static int check_block(const struct heddle_tasks *t, const struct pool_kernel *k,
	const struct heddle_task *task, struct asked *ret)
{
	const unsigned *b = task->block;
	uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
	uint64_t bytes = (uint64_t)k->static_bytes + task->shared_bytes;
	uint32_t units = (uint32_t)MIN((bytes + TASK_UNIT - 1) / TASK_UNIT, 1u << 20);
	uint32_t have = t->shared_bytes / TASK_UNIT;

	if (b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads > t->o.threads)
		return pool_fail(-E2BIG,
			"kernel '%s': a block of %u,%u,%u threads; a block of this pool runs %u, "
			"%u in x and y, 64 in z",
			k->kernel->name, b[0], b[1], b[2], t->o.threads, 1024u);
	ret->threads = (uint32_t)threads;
	ret->need = 0;
	if (units) {
		uint32_t order = units > 1 ? 32 - (uint32_t)__builtin_clz(units - 1) : 0;

		if (have == 0 || (1ull << order) > have)
			return pool_fail(-E2BIG,
				"kernel '%s': %llu bytes of shared memory, rounded up to a power "
				"of two; a block of this pool has %u",
				k->kernel->name, (unsigned long long)bytes, t->shared_bytes);
		ret->need |= order + 1;
	}
	if (k->arg_bytes > TASK_ARGS)
		ret->need |= TASK_NEED_MORE;
	return 0;
}

/* What holds of this form of it. Blocks that may wait for others of their grid are all there at
 * once, or it might never end: the scheduler gives nothing to another task before all of one's
 * blocks are begun. Other grids that are more than one column's work are cut. */
static int check_form(const struct heddle_tasks *t, const struct pool_kernel *k,
	const struct heddle_task *task, struct asked *io)
{
	uint64_t blocks = (uint64_t)task->grid[0] * task->grid[1] * task->grid[2];
	uint32_t most = MAX(t->executors / ((io->threads + 31) / 32), 1u);
	uint32_t order = io->need & TASK_NEED_SHARED;
	const unsigned *b = task->block;
	bool partly = io->threads % 32 != 0;

	if (k->barriers[partly])
		io->need |= TASK_NEED_BARRIER;
	if (k->one_dimensional[partly] && (b[1] > 1 || b[2] > 1))
		return pool_fail(-ENOTSUP,
			"kernel '%s': as a task it is right for blocks of one dimension only, not "
			"%u,%u,%u",
			k->kernel->name, b[0], b[1], b[2]);
	if (k->barriers[partly])
		most = MIN(most, 15u);
	if (order)
		most = MIN(most, t->shared_bytes / TASK_UNIT >> (order - 1));
	io->parts = 1;
	if (blocks <= most)
		return 0;
	if (!k->rising[partly]) {
		uint64_t parts = MIN((blocks + most - 1) / most, (uint64_t)TASK_PARTS_MAX);
		uint64_t each;

		parts = MIN(
			parts, (uint64_t)atomic_load_explicit(&t->usable, memory_order_relaxed));
		each = (blocks + parts - 1) / parts;
		io->parts = (uint32_t)((blocks + each - 1) / each); /* none is empty */
		return 0;
	}
	return pool_fail(-ENOTSUP,
		"kernel '%s': its blocks may wait for each other, and are %llu; a block of this "
		"pool runs %u of them at once",
		k->kernel->name, (unsigned long long)blocks, most);
}

static int check_args(const struct pool_kernel *k, const struct heddle_task *task)
{
	if (task->args) {
		uint64_t most = round_up(k->arg_bytes, k->arg_align);

		if (task->args_bytes < k->arg_bytes || task->args_bytes > most)
			return pool_fail(-EINVAL, "kernel '%s': %zu bytes of parameters; it has %u",
				k->kernel->name, task->args_bytes, k->arg_bytes);
		return 0;
	}
	for (uint32_t i = 0; i < k->kernel->n_params; i++)
		if (!task->params || !task->params[i])
			return pool_fail(-EINVAL,
				"kernel '%s': parameter %u of %u is missing; params has a pointer "
				"to the value of each",
				k->kernel->name, i + 1, k->kernel->n_params);
	return 0;
}

static void put_args(const struct pool_kernel *k, const struct heddle_task *task,
	struct task_desc *d, void *more)
{
	uint8_t *to = k->arg_bytes > TASK_ARGS ? more : d->args;
	const struct rt_kernel *rk = k->kernel;

	if (task->args) {
		memcpy(to, task->args, k->arg_bytes);
		return;
	}
	for (uint32_t i = 0; i < rk->n_params; i++)
		memcpy(to + rk->offsets[i], task->params[i], rk->sizes[i]);
}

/* ---- a place ---- */

/* Of a task of several parts: when all have ended, and not before then any of its rows is free
 * ahead of those that it names. */
bool pool_has_ended(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen)
{
	for (;;) {
		uint64_t then;

		if (gen < atomic_load_explicit(&c->gen[row], memory_order_acquire))
			return true;
		if (pool_out(c, row) != (uint32_t)gen)
			return false;
		then = atomic_load_explicit(&c->then[row], memory_order_relaxed) & ~POOL_INNER;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&c->gen[row], memory_order_relaxed) != gen || !then)
			return true;
		c = pool_of_id(t, then, &row, &gen);
	}
}

/* Rows whose end is seen. Whoever has the column. */
static void refill(struct heddle_tasks *t, struct pool_column *c)
{
	for (unsigned r = 0; r < TASK_ROWS; r++)
		if (!(c->free & 1u << r) &&
			pool_has_ended(
				t, c, r, atomic_load_explicit(&c->gen[r], memory_order_relaxed))) {
			pool_note_failed(t, c, r);
			c->free |= 1u << r;
		}
}

void pool_harvest(struct heddle_tasks *t)
{
	for (unsigned i = 0; i < t->n_columns; i++) {
		struct pool_column *c = &t->of[i];

		while (atomic_flag_test_and_set_explicit(&c->taken, memory_order_acquire))
			sched_yield();
		refill(t, c);
		atomic_flag_clear_explicit(&c->taken, memory_order_release);
	}
}

/* A column with more than `least` free rows; it is the caller's then. */
static struct pool_column *try_columns(struct heddle_tasks *t, unsigned least)
{
	unsigned n = atomic_load_explicit(&t->usable, memory_order_relaxed);

	for (unsigned i = 0; i < n; i++) {
		struct pool_column *c = &t->of[next_column++ % n];

		if (atomic_flag_test_and_set_explicit(&c->taken, memory_order_acquire))
			continue;
		if ((unsigned)__builtin_popcount(c->free) <= least)
			refill(t, c);
		if ((unsigned)__builtin_popcount(c->free) > least)
			return c;
		atomic_flag_clear_explicit(&c->taken, memory_order_release);
	}
	return NULL;
}

static int claim(struct heddle_tasks *t, struct pool_column **ret)
{
	static const unsigned least[] = {TASK_ROWS - 8, TASK_ROWS / 2, 0};

	for (unsigned tries = 1;; tries++) {
		for (unsigned i = 0; i < ARRAY_LEN(least); i++) {
			*ret = try_columns(t, least[i]);
			if (*ret)
				return 0;
		}
		if (tries % 16 == 0) { /* all is full: until something ends */
			const struct timespec pause = {.tv_nsec = POOL_NAP_NS};
			int r = pool_pump(t);

			if (r < 0)
				return r;
			if (atomic_load(&t->state) == POOL_AWAY && (r = pool_wake(t)) < 0)
				return r;
			nanosleep(&pause, NULL);
		}
	}
}

/* then: the task's part that was put before this one, or 0; the first has number 0, and is put
 * last: its id is the task's. */
static uint64_t put(struct heddle_tasks *t, struct pool_column *c, const struct pool_kernel *k,
	const struct heddle_task *task, const struct asked *a, uint32_t part, uint64_t then)
{
	unsigned row = (unsigned)__builtin_ctz(c->free);
	struct task_desc *d = &c->at->desc[row];
	uint64_t gen = atomic_load_explicit(&c->gen[row], memory_order_relaxed) + 1;

	c->free &= c->free - 1;
	atomic_store_explicit(&c->gen[row], gen, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* pool_how, pool_has_ended */
	atomic_store_explicit(&c->then[row], then | (part ? POOL_INNER : 0), memory_order_relaxed);
	__atomic_store_n(&c->at->why[row], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&d->kind, (uint16_t)a->form, __ATOMIC_RELAXED);
	d->arg_bytes = (uint16_t)k->arg_bytes;
	d->block = (task->block[0] - 1) | (task->block[1] - 1) << 10 | (task->block[2] - 1) << 20;
	d->grid_x = task->grid[0];
	d->grid_y = (uint16_t)task->grid[1];
	d->grid_z = (uint16_t)task->grid[2];
	d->dynamic_bytes = task->shared_bytes;
	d->need = a->need;
	if (a->parts > 1)
		d->need |= part << TASK_NEED_PART | a->parts << TASK_NEED_PARTS;
	put_args(k, task, d, c->more + (size_t)row * t->more_bytes);
	if (part)
		atomic_fetch_add_explicit(&t->n_inner, 1, memory_order_relaxed);
	__atomic_store_n(&c->at->in[row], (uint32_t)gen, __ATOMIC_RELEASE);
	atomic_flag_clear_explicit(&c->taken, memory_order_release);
	return pool_id(t, c, row, gen);
}

static int put_all(struct heddle_tasks *t, const struct pool_kernel *k,
	const struct heddle_task *task, const struct asked *a, uint64_t *ret_id)
{
	uint64_t id = 0;

	for (uint32_t part = a->parts; part-- > 0;) {
		struct pool_column *c = NULL;
		int r = claim(t, &c);

		if (r < 0)
			return r; /* the device failed: what was put never ends */
		id = put(t, c, k, task, a, part, id);
		atomic_thread_fence(memory_order_seq_cst); /* pool.h */
		if (atomic_load_explicit(&t->state, memory_order_relaxed) == POOL_AWAY)
			r = pool_wake(t);
		if (r < 0)
			return r;
	}
	*ret_id = id;
	return 0;
}

static int find_form(struct heddle_tasks *t, unsigned kernel, struct asked *io)
{
	_Atomic int *at = &t->kernel[kernel].form[io->threads % 32 != 0];
	int form = atomic_load_explicit(at, memory_order_acquire), r = 0;

	if (form < 0) {
		r = pool_need_form(t, kernel, io->threads % 32 != 0);
		form = atomic_load(at);
	}
	if (r == 0 && io->threads > t->executors * 32 &&
		!atomic_load_explicit(&t->wide, memory_order_acquire))
		r = pool_need_wide(t);
	io->form = (unsigned)form;
	return r;
}

RT_API int heddle_tasks_spawn(
	struct heddle_tasks *t, const struct heddle_task *task, uint64_t *ret_id)
{
	struct asked a = {0};
	struct pool_kernel *k;
	uint64_t id = 0;
	int r;

	if (!task || task->size != sizeof(*task))
		return pool_fail(-EINVAL, "a task's size is not sizeof(struct heddle_task)");
	if (task->kernel >= atomic_load_explicit(&t->n_kernels, memory_order_acquire))
		return pool_fail(-EINVAL,
			"the pool has no kernel %u; heddle_tasks_add gives numbers", task->kernel);
	if (atomic_load_explicit(&t->state, memory_order_relaxed) == POOL_FAILED)
		return pool_pump(t);
	k = &t->kernel[task->kernel];
	r = check_grid(k, task);
	if (r == 0)
		r = check_block(t, k, task, &a);
	if (r == 0)
		r = check_args(k, task);
	if (r == 0)
		r = find_form(t, task->kernel, &a);
	if (r == 0)
		r = check_form(t, k, task, &a);
	if (r == 0)
		r = put_all(t, k, task, &a, &id);
	if (r == 0 && ret_id)
		*ret_id = id;
	return r;
}

/* ---- the end ---- */

/* Which one it is; -EINVAL: none. */
static int find(struct heddle_tasks *t, uint64_t id, struct pool_column **ret, unsigned *ret_row,
	uint64_t *ret_gen)
{
	struct pool_column *c = pool_of_id(t, id, ret_row, ret_gen);

	if (!c || *ret_gen == 0 ||
		*ret_gen > atomic_load_explicit(&c->gen[*ret_row], memory_order_acquire))
		return pool_fail(-EINVAL, "there is no task %llu", (unsigned long long)id);
	*ret = c;
	return 0;
}

RT_API int heddle_tasks_check(struct heddle_tasks *t, uint64_t id)
{
	struct pool_column *c = NULL;
	unsigned row = 0;
	uint64_t gen = 0;
	int r = find(t, id, &c, &row, &gen);

	if (r < 0)
		return r;
	if (!pool_has_ended(t, c, row, gen)) {
		r = pool_pump(t);
		if (!pool_has_ended(t, c, row, gen))
			return r < 0 ? r : -EAGAIN;
	}
	return pool_how(t, c, row, gen);
}

/* Between two looks at memory. */
static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* 0: it has ended, in whatever way. */
static int await(struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen,
	uint64_t timeout_ns)
{
	const struct timespec pause = {.tv_nsec = POOL_NAP_NS};
	uint64_t until = 0, now;

	for (unsigned i = 1; !pool_has_ended(t, c, row, gen); i++) {
		int r;

		if (i % SPINS) {
			relax();
			continue;
		}
		r = pool_pump(t);
		if (r < 0)
			return pool_has_ended(t, c, row, gen) ? 0 : r;
		now = pool_now_ns();
		until = until ? until : now + MIN(timeout_ns, UINT64_MAX - now);
		if (now >= until && timeout_ns != UINT64_MAX)
			return pool_has_ended(t, c, row, gen)
				       ? 0
				       : pool_fail(-ETIMEDOUT, "the task has not ended yet");
		nanosleep(&pause, NULL);
	}
	return 0;
}

RT_API int heddle_tasks_wait(struct heddle_tasks *t, uint64_t id, uint64_t timeout_ns)
{
	struct pool_column *c = NULL;
	unsigned row = 0;
	uint64_t gen = 0;
	int r = find(t, id, &c, &row, &gen);

	if (r == 0)
		r = await(t, c, row, gen, timeout_ns);
	return r < 0 ? r : pool_how(t, c, row, gen);
}

RT_API int heddle_tasks_wait_all(struct heddle_tasks *t, uint64_t timeout_ns)
{
	uint64_t begin = pool_now_ns();

	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned row = 0; row < TASK_ROWS; row++) {
			uint64_t gen =
				atomic_load_explicit(&t->of[c].gen[row], memory_order_acquire);
			uint64_t left = timeout_ns, spent;
			int r;

			if (gen == 0 || pool_has_ended(t, &t->of[c], row, gen))
				continue;
			spent = pool_now_ns() - begin;
			if (timeout_ns != UINT64_MAX)
				left = spent < timeout_ns ? timeout_ns - spent : 0;
			r = await(t, &t->of[c], row, gen, left);
			if (r < 0)
				return r;
		}
	return pool_tell_failed(t);
}
