/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks whether a task can run: compares its grid, blocks and memory with the kernel and the pool.
 * Most tasks have the same shape as the previous task of their kernel. So each kernel caches one
 * valid shape, together with the device's encoding of it. */
#include "rt/pool_row.h"

#include <errno.h>
#include <string.h>

struct asked {
	uint32_t threads; /* per block */
	uint32_t need;    /* bits TASK_NEED_* */
	/* number of rows that the task needs; if several, usually in different
	 * columns */
	uint32_t parts;
	unsigned form;
};

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

/* Checks the task's block size, and computes which resources of a pool block the task's block
 * needs. */
static int check_block(struct heddle_tasks *t, const struct pool_kernel *k,
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

		if ((1ull << order) > have && t->shared_bytes < t->shared_most) {
			int r = pool_need_shared(t);

			if (r < 0)
				return r;
			have = t->shared_bytes / TASK_UNIT;
		}
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

/* Checks the task against the properties of the kernel's form. If the task's blocks may wait for
 * each other, all must run at once in one pool block, or the task might never end; a task with too
 * many blocks for that is refused. If they fit, they do run at once, because the scheduler begins
 * no other task before all blocks of one task have begun. Any other grid that exceeds one column is
 * split into parts for several columns. */
static int check_form(const struct heddle_tasks *t, const struct pool_kernel *k,
	const struct heddle_task *task, struct asked *io)
{
	uint64_t blocks = (uint64_t)task->grid[0] * task->grid[1] * task->grid[2];
	uint32_t most, order = io->need & TASK_NEED_SHARED;
	const unsigned *b = task->block;
	bool partly = io->threads % 32 != 0;

	if (k->barriers[partly])
		io->need |= TASK_NEED_BARRIER;
	if (k->one_dimensional[partly] && (b[1] > 1 || b[2] > 1))
		return pool_fail(-ENOTSUP,
			"kernel '%s': as a task it is right for blocks of one dimension only, not "
			"%u,%u,%u",
			k->kernel->name, b[0], b[1], b[2]);
	io->parts = 1;
	if (blocks == 1)
		return 0;
	most = MAX(t->executors / ((io->threads + 31) / 32), 1u);
	if (k->barriers[partly])
		most = MIN(most, 15u);
	if (order)
		most = MIN(most, t->shared_bytes / TASK_UNIT >> (order - 1));
	if (blocks <= most)
		return 0;
	if (!k->rising[partly]) {
		uint64_t parts = MIN((blocks + most - 1) / most, (uint64_t)TASK_PARTS_MAX);
		uint64_t each;

		parts = MIN(
			parts, (uint64_t)atomic_load_explicit(&t->usable, memory_order_relaxed));
		each = (blocks + parts - 1) / parts;
		io->parts = (uint32_t)((blocks + each - 1) / each); /* no part is empty */
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
		if (task->args_bytes == k->arg_bytes)
			return 0;
		if (task->args_bytes < k->arg_bytes ||
			task->args_bytes > round_up(k->arg_bytes, k->arg_align))
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

/* ---- cache of the last shape ---- */

/* The part of struct heddle_task that defines a shape: kernel, grid, block and shared memory. It is
 * read in units of 32 bits, the size in which the program stored the fields. A wider load would
 * have to wait until the stores are complete. */
#define KEY_AT offsetof(struct heddle_task, kernel)
_Static_assert(offsetof(struct heddle_task, shared_bytes) + sizeof(unsigned) - KEY_AT ==
		       sizeof(uint32_t) * POOL_KEY,
	"kernel, grid, block, shared_bytes, and nothing between them");

/* Returns true if the cached shape equals `key`, and copies the cached encoding to ret. `turn` is 0
 * if no shape was stored yet, and odd while a thread stores a shape. If it is even and has the same
 * value before and after the reads, the values that were read belong to one shape. */
static bool is_known(struct pool_kernel *k, const uint32_t key[POOL_KEY], uint64_t ret[POOL_HEAD])
{
	struct pool_shape *s = &k->shape;
	uint32_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);
	uint32_t differ = turn & 1 || !turn;

#pragma GCC unroll 8
	for (unsigned i = 0; i < POOL_KEY; i++)
		differ |= atomic_load_explicit(&s->key[i], memory_order_relaxed) ^ key[i];
#pragma GCC unroll 8
	for (unsigned i = 0; i < POOL_HEAD; i++)
		ret[i] = atomic_load_explicit(&s->head[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return !differ && atomic_load_explicit(&s->turn, memory_order_relaxed) == turn;
}

/* Caches a shape after a task with another shape than the cached one (a miss). If several shapes
 * alternate, only every eighth miss is stored: other threads read the cache lines of the stored
 * shape, and each store takes these lines out of their caches. */
static void keep_shape(
	struct pool_kernel *k, const uint32_t key[POOL_KEY], const uint64_t head[POOL_HEAD])
{
	struct pool_shape *s = &k->shape;
	uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);
	unsigned n = atomic_load_explicit(&s->missed, memory_order_relaxed);

	atomic_store_explicit(&s->missed, n + 1, memory_order_relaxed);
	if (n % 8 || turn & 1 || !atomic_compare_exchange_strong(&s->turn, &turn, turn + 1))
		return;
	atomic_thread_fence(memory_order_release);
	for (unsigned i = 0; i < POOL_KEY; i++)
		atomic_store_explicit(&s->key[i], key[i], memory_order_relaxed);
	for (unsigned i = 0; i < POOL_HEAD; i++)
		atomic_store_explicit(&s->head[i], head[i], memory_order_relaxed);
	atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

int pool_ask(struct heddle_tasks *t, struct pool_kernel *k, const struct heddle_task *task,
	struct pool_asked *ret)
{
	const unsigned *b = task->block, *g = task->grid;
	const uint32_t *key = (const uint32_t *)((const char *)task + KEY_AT);
	struct asked a = {0};
	int r;

	ret->parts = 1;
	if (is_known(k, key, ret->head))
		return check_args(k, task);
	r = check_grid(k, task);
	if (r == 0)
		r = check_block(t, k, task, &a);
	if (r == 0)
		r = check_args(k, task);
	if (r == 0)
		r = find_form(t, task->kernel, &a);
	if (r == 0)
		r = check_form(t, k, task, &a);
	if (r < 0)
		return r;
	/* Store whole 64-bit values. Loading a value is slow soon after its parts were stored
	 * separately. */
	ret->head[0] = (uint64_t)((b[0] - 1) | (b[1] - 1) << 10 | (b[2] - 1) << 20) << 32 |
		       k->arg_bytes << 16 | a.form;
	ret->head[1] = (uint64_t)g[2] << 48 | (uint64_t)g[1] << 32 | g[0];
	ret->head[2] = (uint64_t)a.need << 32 | task->shared_bytes;
	ret->parts = a.parts;
	/* Do not cache a task with several parts: the next task may be split into more parts,
	 * because more columns may be usable by then. */
	if (a.parts == 1)
		keep_shape(k, key, ret->head);
	return 0;
}
