/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Adds tasks to a pool, and waits until they end. A task's id identifies one use of a row: gen <<
 * 17 | column << 5 | row. If the row's generation is greater, the task has ended. */
#include "rt/pool_all.h"
#include "rt/pool_row.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPINS 2000 /* number of checks before the thread queries the device and sleeps */

/* ---- error texts, one for each thread ---- */
#define TEXT_BYTES 1024
static pthread_key_t key;
static bool has_key;

static void make_key(void)
{
	has_key = pthread_key_create(&key, free) == 0;
}

/* Returns the thread's error text. NULL: it has none, or there is no memory for one. */
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

/* ---- adding tasks ---- */

/* Writes the parameters to `to`, each at the kernel's offset. */
static void put_args(const struct pool_kernel *k, const struct heddle_task *task, uint8_t *to)
{
	const struct rt_kernel *rk = k->kernel;

	if (task->args) {
		/* So frequent that the copy should be inlined. */
		if (k->arg_bytes == sizeof(uint64_t))
			memcpy(to, task->args, sizeof(uint64_t));
		else
			memcpy(to, task->args, k->arg_bytes);
		return;
	}
	for (uint32_t i = 0; i < rk->n_params; i++)
		memcpy(to + rk->offsets[i], task->params[i], rk->sizes[i]);
}

#define DESC_WORDS (sizeof(struct task_desc) / 8)
#define ARGS_AT    (offsetof(struct task_desc, args) / 8)
#define NEED_AT    (offsetof(struct task_desc, need) / 8)
_Static_assert(ARGS_AT == POOL_HEAD && offsetof(struct task_desc, need) % 8 == 4, "words");

/* Writes a row's descriptor. The row's byte of `in` must be stored later. */
static void put_desc(
	struct task_column *at, unsigned row, const uint64_t words[DESC_WORDS + 1], uint64_t gen)
{
	if (row) {
#pragma GCC unroll 8
		for (unsigned i = 0; i < DESC_WORDS; i++)
			__atomic_store_n(
				(uint64_t *)&at->desc[row] + i, words[i], __ATOMIC_RELAXED);
		return;
	}
#pragma GCC unroll 11
	for (unsigned i = 0; i < TASK_FIRST; i++) { /* six bytes from byte 6 * i on */
		unsigned from = 48 * i % 64;
		uint64_t w = words[48 * i / 64] >> from;

		if (from > 16)
			w |= words[48 * i / 64 + 1] << (64 - from);
		__atomic_store_n(&at->first[i], w << 16 >> 16 | gen << 48, __ATOMIC_RELAXED);
	}
}

/* Puts one part of a task into a free row. `then` is the id of the part that was added before this
 * one, or 0. Part 0 is added last, and its id becomes the task's id. */
static uint64_t put_part(struct heddle_tasks *t, struct pool_column *c, const struct pool_kernel *k,
	const struct heddle_task *task, const struct pool_asked *a, uint32_t part, uint64_t then)
{
	unsigned row = (unsigned)__builtin_ctz(c->free);
	uint64_t gen = atomic_load_explicit(&c->row[row].gen, memory_order_relaxed) + 1;
	uint64_t words[DESC_WORDS + 1] = {a->head[0], a->head[1], a->head[2]};

	if (a->parts > 1)
		words[NEED_AT] |= (uint64_t)(part << TASK_NEED_PART | a->parts << TASK_NEED_PARTS)
				  << 32;
	c->free &= c->free - 1;
	c->n_free--;
	atomic_store_explicit(&c->row[row].gen, gen, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* for pool_how and pool_has_ended */
	atomic_store_explicit(
		&c->row[row].then, then | (part ? POOL_INNER : 0), memory_order_relaxed);
	c->named &= ~(1u << row);
	c->named |= (uint32_t)(then != 0) << row;
	if (c->any_failed) /* otherwise no failure is stored in the row */
		__atomic_store_n(&c->at->why[row], 0, __ATOMIC_RELAXED);
	atomic_store_explicit(&c->row[row].form, (uint16_t)a->head[0], memory_order_relaxed);
	if (k->arg_bytes > TASK_ARGS) {
		put_args(k, task, c->more + (size_t)row * t->more_bytes);
	} else {
		put_args(k, task, (uint8_t *)&words[ARGS_AT]);
	}
	put_desc(c->at, row, words, gen);
	if (part)
		atomic_fetch_add_explicit(&t->n_inner, 1, memory_order_relaxed);
	__atomic_store_n(&c->at->in[row], (uint8_t)gen, __ATOMIC_RELEASE);
	return pool_id(t, c, row, gen);
}

static int put_all(struct heddle_tasks *t, const struct pool_kernel *k,
	const struct heddle_task *task, const struct pool_asked *a, uint64_t *ret_id)
{
	uint64_t id = 0;

	for (uint32_t part = a->parts; part-- > 0;) {
		struct pool_place place;
		int r = pool_claim(t, &place);

		if (r < 0)
			return r; /* the device failed, so the parts that were added never end */
		id = put_part(t, place.c, k, task, a, part, id);
		pool_unclaim(t, &place);
		pool_light_fence(t); /* see pool.h */
		if (atomic_load_explicit(&t->state, memory_order_relaxed) == POOL_AWAY)
			r = pool_wake(t);
		if (r < 0)
			return r;
	}
	*ret_id = id;
	return 0;
}

RT_API int heddle_tasks_spawn(
	struct heddle_tasks *t, const struct heddle_task *task, uint64_t *ret_id)
{
	struct pool_asked a;
	uint64_t id = 0;
	int r = pool_check(t);

	if (r < 0)
		return r;
	if (!task || task->size != sizeof(*task))
		return pool_fail(-EINVAL, "a task's size is not sizeof(struct heddle_task)");
	if (task->kernel >= atomic_load_explicit(&t->n_kernels, memory_order_acquire))
		return pool_fail(-EINVAL,
			"the pool has no kernel %u; heddle_tasks_add gives numbers", task->kernel);
	if (atomic_load_explicit(&t->state, memory_order_relaxed) == POOL_FAILED)
		return pool_pump(t);
	r = pool_ask(t, &t->kernel[task->kernel], task, &a);
	if (r == 0)
		r = put_all(t, &t->kernel[task->kernel], task, &a, &id);
	if (r == 0 && ret_id)
		*ret_id = id;
	return r;
}

/* ---- waiting for tasks ---- */

/* Finds the row of a task. Returns -EINVAL if there is no task with this id. */
static int find_row(struct heddle_tasks *t, uint64_t id, struct pool_column **ret,
	unsigned *ret_row, uint64_t *ret_gen)
{
	struct pool_column *c;
	int r = pool_check(t);

	if (r < 0)
		return r;
	c = pool_of_id(t, id, ret_row, ret_gen);
	if (!c || *ret_gen == 0 ||
		*ret_gen > atomic_load_explicit(&c->row[*ret_row].gen, memory_order_acquire))
		return pool_fail(-EINVAL, "there is no task %llu", (unsigned long long)id);
	*ret = c;
	return 0;
}

RT_API int heddle_tasks_check(struct heddle_tasks *t, uint64_t id)
{
	struct pool_column *c = NULL;
	unsigned row = 0;
	uint64_t gen = 0;
	int r = find_row(t, id, &c, &row, &gen);

	if (r < 0)
		return r;
	if (!pool_has_ended(t, c, row, gen)) {
		r = pool_pump(t);
		if (!pool_has_ended(t, c, row, gen))
			return r < 0 ? r : -EAGAIN;
	}
	return pool_how(t, c, row, gen);
}

/* Pauses the CPU between two checks of memory. */
static void relax_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Waits for the task in a row. Returns 0 when it has ended, even if it failed. */
static int await_row(struct heddle_tasks *t, const struct pool_column *c, unsigned row,
	uint64_t gen, uint64_t timeout_ns)
{
	const struct timespec pause = {.tv_nsec = POOL_NAP_NS};
	uint64_t until = 0, now;

	for (unsigned i = 1; !pool_has_ended(t, c, row, gen); i++) {
		int r;

		if (i % SPINS) {
			relax_cpu();
			continue;
		}
		r = pool_pump(t);
		if (r < 0)
			return pool_has_ended(t, c, row, gen) ? 0 : r;
		now = clock_ns();
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
	int r = find_row(t, id, &c, &row, &gen);

	if (r == 0)
		r = await_row(t, c, row, gen, timeout_ns);
	return r < 0 ? r : pool_how(t, c, row, gen);
}

RT_API int heddle_tasks_wait_all(struct heddle_tasks *t, uint64_t timeout_ns)
{
	uint64_t begin = clock_ns();
	int checked = pool_check(t);

	if (checked < 0)
		return checked;
	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned row = 0; row < TASK_ROWS; row++) {
			uint64_t gen =
				atomic_load_explicit(&t->of[c].row[row].gen, memory_order_acquire);
			uint64_t left = timeout_ns, spent;
			int r;

			if (gen == 0 || pool_has_ended(t, &t->of[c], row, gen))
				continue;
			spent = clock_ns() - begin;
			if (timeout_ns != UINT64_MAX)
				left = spent < timeout_ns ? timeout_ns - spent : 0;
			r = await_row(t, &t->of[c], row, gen, left);
			if (r < 0)
				return r;
		}
	return pool_tell_failed(t);
}
