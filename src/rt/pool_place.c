/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Assigns free rows of columns to threads that add tasks.
 *
 * A thread normally takes a column by an atomic exchange on the column's `taken` flag. The exchange
 * waits until earlier stores (the cache lines of the previous task) are complete. So if only one
 * thread adds tasks, it becomes the pool's `owner`. The owner takes columns by a plain store to its
 * own flag `inside`, and does not use the columns' flags. Another thread that wants a column first
 * revokes the ownership: it sets a dummy owner, makes a fence in all threads, and waits until the
 * owner is not inside. That takes some microseconds. Some time later a thread can become owner
 * again.
 *
 * Each side stores its own flag and then reads the other's, with a fence in between:
 *
 *     owner           inside = true; [fence made by the revoker]; is owner still me?
 *     revoker         owner = dummy; fence in all threads; wait for inside == false; owner = NULL
 *     other threads   taken = true, by exchange; is owner NULL?
 *     new owner       owner = me; fence; wait until each column's taken is false
 *
 * So at least one of the two sees the other, and gives way or waits. `inside` belongs to the thread
 * and not to the pool, so a thread that has lost the ownership has only written its own flag. */
#include "rt/pool_row.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define ALL_ROWS ((1u << TASK_ROWS) - 1)
/* After this many tasks a thread checks whether other threads add tasks as well. A power of two. */
#define STREAK 1024u

/* A thread's record. Records are never freed, because a pool may still refer to the record of a
 * thread that has ended. A later thread reuses that record if its variable `mine` has the address
 * that `mine` of the ended thread had (`place`). So there are about as many records as there were
 * threads at one time. */
struct pool_hand {
	struct pool_hand *next; /* next in the list `hands` */
	const void *place;
	/* True while the thread may use columns of a pool that it owns. */
	_Alignas(128) _Atomic bool inside;
};
static struct pool_hand *hands, nobody;
static pthread_mutex_t hands_lock = PTHREAD_MUTEX_INITIALIZER;

/* Declares a thread-local variable. The initial-exec model needs no function of the loader, so the
 * library need not be linked with the loader. A library that is loaded at run time has little space
 * for variables of this model, so there are few of them. */
#define EACH static _Thread_local __attribute__((tls_model("initial-exec")))
EACH unsigned next_column;
EACH unsigned shared_spawns;
EACH struct pool_hand *mine; /* NULL: this thread has never owned a pool */

/* ---- has a task ended? ---- */

/* Returns true if a task has ended, that is, if all of its parts have ended. The row of each part
 * refers to the row of the next part, and is freed only after or together with that row. */
bool pool_has_ended(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen)
{
	for (;;) {
		uint64_t then;

		if (gen < atomic_load_explicit(&c->row[row].gen, memory_order_acquire))
			return true;
		if (pool_out(c, row) != (uint8_t)gen)
			return false;
		then = atomic_load_explicit(&c->row[row].then, memory_order_relaxed) & ~POOL_INNER;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&c->row[row].gen, memory_order_relaxed) != gen || !then)
			return true;
		c = pool_of_id(t, then, &row, &gen);
	}
}

/* Returns a mask in which bit i is set if byte i of x is 0. */
static uint32_t zero_bytes(uint64_t x)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;

	x = ~(((x & low) + low) | x | low); /* 0x80 in each byte that is 0 */
	return (uint32_t)((x >> 7) * 0x0102040810204080 >> 56);
}

/* Counts bits without special instructions of the CPU and without a call. */
static uint32_t count_bits(uint32_t bits)
{
	bits -= bits >> 1 & 0x55555555;
	bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
	return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* Returns a bit mask of the rows whose `in` and `out` are equal, which means that the tasks of
 * these rows have ended. Also updates c->any_failed. All `out` of a column are in one cache line,
 * which is the only line that this function reads and the device writes. */
static uint32_t rows_out(struct pool_column *c)
{
	uint32_t same = 0;

	for (unsigned i = 0; i < 32; i += 8) {
		/* Both arrays are aligned to 8 bytes. */
		const uint64_t *outs = __builtin_assume_aligned(&c->at->out[i], 8),
			       *ins = __builtin_assume_aligned(&c->at->in[i], 8);
		uint64_t out = __atomic_load_n(outs, __ATOMIC_RELAXED);
		uint64_t in = __atomic_load_n(ins, __ATOMIC_RELAXED);

		same |= zero_bytes(in ^ out) << i;
	}
	atomic_thread_fence(memory_order_acquire);
	c->any_failed = __atomic_load_n(&c->at->out[TASK_ROWS], __ATOMIC_RELAXED);
	return same & ALL_ROWS;
}

/* Frees the rows whose tasks have ended. Only the thread that has taken the column may call
 * this. */
static void refill_rows(struct heddle_tasks *t, struct pool_column *c)
{
	uint32_t ended = rows_out(c) & ~c->free;
	uint32_t slow = c->any_failed ? ended : ended & c->named;

	for (; slow; slow &= slow - 1) {
		unsigned r = (unsigned)__builtin_ctz(slow);
		uint64_t gen = atomic_load_explicit(&c->row[r].gen, memory_order_relaxed);

		if (pool_has_ended(t, c, r, gen))
			pool_note_failed(t, c, r);
		else
			ended &= ~(1u << r);
	}
	c->free |= ended;
	c->n_free = count_bits(c->free);
}

/* ---- ownership of columns ---- */

/* Returns this thread's record, or NULL if out of memory. */
static struct pool_hand *get_hand(void)
{
	struct pool_hand *hand;

	pthread_mutex_lock(&hands_lock);
	for (hand = hands; hand && hand->place != &mine; hand = hand->next)
		;
	if (!hand && (hand = aligned_alloc(_Alignof(struct pool_hand), sizeof(*hand)))) {
		*hand = (struct pool_hand){.next = hands, .place = &mine};
		hands = hand;
	}
	pthread_mutex_unlock(&hands_lock);
	return hand;
}

static bool enter_own(struct heddle_tasks *t)
{
	if (!mine || atomic_load_explicit(&t->owner, memory_order_relaxed) != mine)
		return false;
	atomic_store_explicit(&mine->inside, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* pairs with the fence of revoke_owner */
	if (atomic_load_explicit(&t->owner, memory_order_relaxed) == mine)
		return true;
	atomic_store_explicit(&mine->inside, false, memory_order_release);
	return false;
}

static void leave_own(void)
{
	atomic_store_explicit(&mine->inside, false, memory_order_release);
}

/* Revokes the ownership, if any. */
static void revoke_owner(struct heddle_tasks *t)
{
	struct pool_hand *owner;

	pthread_mutex_lock(&t->owner_lock);
	owner = atomic_load(&t->owner);
	if (owner) {
		/* Not NULL, because then a third thread would not wait. */
		atomic_store(&t->owner, &nobody);
		pool_heavy_fence(t);
		while (atomic_load_explicit(&owner->inside, memory_order_acquire))
			sched_yield();
		atomic_store(&t->owner, NULL);
	}
	pthread_mutex_unlock(&t->owner_lock);
}

/* Makes this thread the owner, if other threads have added no tasks for a while. */
static void become_owner(struct heddle_tasks *t)
{
	if (!t->heavy || atomic_exchange(&t->last, &mine) != &mine)
		return;
	if (!mine)
		mine = get_hand();
	if (!mine)
		return;
	pthread_mutex_lock(&t->owner_lock);
	if (!atomic_load(&t->owner)) {
		atomic_store(&t->owner, mine);
		for (unsigned i = 0; i < t->n_columns; i++)
			while (atomic_load(&t->of[i].taken))
				sched_yield();
	}
	pthread_mutex_unlock(&t->owner_lock);
}

/* Takes a column for the calling thread. Returns false if another thread has the column or owned
 * the whole pool; in the second case revokes the ownership. */
static bool take_column(struct heddle_tasks *t, struct pool_column *c)
{
	if (atomic_exchange(&c->taken, true))
		return false;
	if (!atomic_load(&t->owner))
		return true;
	atomic_store_explicit(&c->taken, false, memory_order_release);
	revoke_owner(t);
	return false;
}

void pool_harvest(struct heddle_tasks *t)
{
	bool own = enter_own(t);

	for (unsigned i = 0; i < t->n_columns; i++) {
		struct pool_column *c = &t->of[i];

		while (!own && !take_column(t, c))
			sched_yield();
		refill_rows(t, c);
		if (!own)
			atomic_store_explicit(&c->taken, false, memory_order_release);
	}
	if (own)
		leave_own();
}

/* ---- finding a free row ---- */

/* Prefetches cache lines for the next tasks: everything that the next column's free row needs, and
 * the host's record of a column further on. */
static void look_ahead(const struct heddle_tasks *t, unsigned n)
{
	const struct pool_column *c = &t->of[next_column < n ? next_column : 0];
	unsigned row = (unsigned)__builtin_ctz(c->free | 1u << TASK_ROWS) % TASK_ROWS;

	__builtin_prefetch(&t->of[next_column + 3 < n ? next_column + 3 : 0], 1);
	__builtin_prefetch(&c->row[row], 1);
	__builtin_prefetch(&c->at->in, 1);
	__builtin_prefetch(row ? (void *)&c->at->desc[row] : &c->at->first[4], 1);
}

/* Takes a column with more than `least` free rows for the calling thread. NULL if there is none. */
static struct pool_column *try_columns(struct heddle_tasks *t, unsigned least, bool own)
{
	unsigned n = atomic_load_explicit(&t->usable, memory_order_relaxed);

	for (unsigned i = 0; i < n; i++) {
		struct pool_column *c;

		if (next_column >= n) /* avoids a division */
			next_column = 0;
		c = &t->of[next_column++];
		if (!own && !take_column(t, c))
			continue;
		if (c->n_free <= least)
			refill_rows(t, c);
		if (c->n_free > least) {
			if (own) /* otherwise another thread may have the next column by now */
				look_ahead(t, n);
			return c;
		}
		if (!own)
			atomic_store_explicit(&c->taken, false, memory_order_release);
	}
	return NULL;
}

int pool_claim(struct heddle_tasks *t, struct pool_place *ret)
{
	static const unsigned least[] = {TASK_ROWS - 8, TASK_ROWS / 2, 0};

	for (unsigned tries = 1;; tries++) {
		ret->own = enter_own(t);
		for (unsigned i = 0; i < ARRAY_LEN(least); i++) {
			ret->c = try_columns(t, least[i], ret->own);
			if (ret->c)
				return 0;
		}
		if (ret->own)
			leave_own();
		if (tries % 16 == 0) { /* all rows are full, so wait until a task ends */
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

void pool_unclaim(struct heddle_tasks *t, const struct pool_place *p)
{
	if (p->own) {
		leave_own();
		return;
	}
	atomic_store_explicit(&p->c->taken, false, memory_order_release);
	if (++shared_spawns % STREAK == 0)
		become_owner(t);
}
