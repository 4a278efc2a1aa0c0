/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The implementation of weak memory (weak.h). Memory is divided into units of 8 bytes. Three things
 * make it weak:
 * - Each block has a buffer of stores that are not yet in memory.
 * - Each block keeps units that it has read, like an L1 cache; its plain loads use them until the
 *   next acquire.
 * - All blocks share a table of earlier contents of changed units. A plain load can return such an
 *   old content if the block has not done an acquire since the change.
 *
 * Hardware has the first two; the third models loads that are executed early. A buffered store is
 * dropped if its memory was freed meanwhile, because a program may free memory after it saw the
 * data arrive. */
#include "weak.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cpu/fence.h"
#include "dev/cpu/vgpu.h"

#define STORES 48
#define READ   256
#define PAST   8192

static uint64_t weak_seed;

void vgpu_set_weak(uint64_t seed)
{
	weak_seed = seed;
}

bool weak_on(void)
{
	return weak_seed != 0;
}

struct store {
	uint64_t *at; /* address of the memory unit */
	uint64_t v, mask, generation;
};

struct weak {
	struct vgpu_mem *mem;
	uint64_t random, acquired; /* acquired: value of `changes` at the block's last acquire */
	uint32_t n;
	struct store store[STORES];
	struct {
		const uint64_t *at;
		uint64_t v;
	} read[READ];
};

/* ---- old contents of memory units ---- */

static struct past {
	const uint64_t *at;
	const struct weak *by;
	uint64_t v, when;
} past[PAST];
static uint64_t changes;
static pthread_mutex_t past_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(const uint64_t *at, size_t n)
{
	return (size_t)(((uintptr_t)at >> 3) * 0x9e3779b97f4a7c15ull >> 40) % n;
}

static uint64_t in_memory(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Records the unit's present contents as its old contents. The caller is about to change the
 * unit. */
static void note_past(const struct weak *w, const uint64_t *at)
{
	struct past *p = &past[place_of(at, PAST)];

	*p = (struct past){.at = at, .by = w, .v = in_memory(at), .when = ++changes};
}

static bool recall_past(const struct weak *w, const uint64_t *at, uint64_t *ret)
{
	const struct past *p = &past[place_of(at, PAST)];
	bool found;

	pthread_mutex_lock(&past_lock);
	found = p->at == at && p->by != w && p->when > w->acquired;
	if (found)
		*ret = p->v;
	pthread_mutex_unlock(&past_lock);
	return found;
}

/* ---- the state of a block ---- */

static uint64_t draw_random(struct weak *w)
{
	uint64_t z = w->random;

	z ^= z << 13;
	z ^= z >> 7;
	z ^= z << 17;
	return w->random = z;
}

struct weak *weak_create(struct vgpu_mem *m)
{
	struct weak *w = calloc(1, sizeof(*w));

	if (w)
		w->mem = m;
	return w;
}

void weak_reset(struct weak *w, uint64_t block_index)
{
	w->random = random_bits(weak_seed, block_index) | 1;
	w->n = 0;
	weak_acquire(w); /* a kernel must not see contents older than its start */
}

void weak_destroy(struct weak *w)
{
	free(w);
}

/* Writes the bytes selected by mask with as few stores as possible, so that a strong store is never
 * split. */
static void write_bytes(uint64_t *at, uint64_t v, uint64_t mask)
{
	char *p = (char *)at;

	if (mask == ~0ull) {
		__atomic_store_n(at, v, __ATOMIC_RELAXED);
		return;
	}
	for (unsigned k = 0; k < 8;) {
		unsigned n = k % 4 == 0 && (uint32_t)(mask >> 8 * k) == ~0u          ? 4
			     : k % 2 == 0 && (uint16_t)(mask >> 8 * k) == UINT16_MAX ? 2
										     : 1;

		if (n == 4)
			__atomic_store_n(
				(uint32_t *)(p + k), (uint32_t)(v >> 8 * k), __ATOMIC_RELAXED);
		else if (n == 2)
			__atomic_store_n(
				(uint16_t *)(p + k), (uint16_t)(v >> 8 * k), __ATOMIC_RELAXED);
		else if (mask >> 8 * k & 0xff)
			__atomic_store_n(
				(uint8_t *)(p + k), (uint8_t)(v >> 8 * k), __ATOMIC_RELAXED);
		k += n;
	}
}

static bool is_there(const struct weak *w, const struct store *s)
{
	struct vgpu_range r;
	/* If the allocation starts inside the unit, check the first byte stored. */
	uint64_t first = (uint64_t)(uintptr_t)s->at + (uint64_t)__builtin_ctzll(s->mask) / 8;

	return s->generation == vgpu_mem_generation(w->mem) || vgpu_mem_range(w->mem, first, &r);
}

static void forget_read(struct weak *w, const uint64_t *at)
{
	size_t k = place_of(at, READ);

	if (w->read[k].at == at)
		w->read[k].at = NULL;
}

/* Writes pending store i to memory. */
static void commit_store(struct weak *w, uint32_t i)
{
	struct store s = w->store[i];

	w->store[i] = w->store[--w->n];
	forget_read(w, s.at); /* the value remembered for reads does not include this store */
	if (!is_there(w, &s))
		return;
	pthread_mutex_lock(&past_lock);
	note_past(w, s.at);
	write_bytes(s.at, s.v, s.mask);
	pthread_mutex_unlock(&past_lock);
}

static struct store *find_store(struct weak *w, const uint64_t *at)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->store[i].at == at)
			return &w->store[i];
	return NULL;
}

/* Returns the unit's contents as a plain load sees them. If the block has read the unit before,
 * only one load in 64 reads memory again. So a program that wrongly waits with plain loads still
 * ends. */
static uint64_t plain_view(struct weak *w, const uint64_t *at)
{
	size_t k = place_of(at, READ);
	uint64_t z = draw_random(w) >> 20, v;

	if (w->read[k].at == at && z % 64)
		return w->read[k].v;
	if (w->read[k].at == at || z >> 6 & 1 || !recall_past(w, at, &v))
		v = in_memory(at);
	w->read[k].at = at;
	w->read[k].v = v;
	return v;
}

/* Returns the unit's contents in memory. Later plain loads see nothing older. */
static uint64_t strong_view(struct weak *w, const uint64_t *at)
{
	size_t k = place_of(at, READ);

	w->read[k].at = at;
	return w->read[k].v = in_memory(at);
}

static const uint64_t *unit_of(const void *p, unsigned *ret_shift)
{
	*ret_shift = (unsigned)((uintptr_t)p & 7) * 8;
	return (const uint64_t *)((uintptr_t)p & ~(uintptr_t)7);
}

uint64_t weak_load(struct weak *w, const void *p, unsigned bytes, bool strong)
{
	unsigned shift;
	const uint64_t *at = unit_of(p, &shift);
	const struct store *s = find_store(w, at);
	uint64_t v = strong ? strong_view(w, at) : plain_view(w, at);

	if (s)
		v = (v & ~s->mask) | (s->v & s->mask);
	v >>= shift;
	return bytes < 8 ? v & ((1ull << 8 * bytes) - 1) : v;
}

void weak_store(struct weak *w, void *p, unsigned bytes, uint64_t v)
{
	unsigned shift;
	uint64_t *at = (uint64_t *)(uintptr_t)unit_of(p, &shift), z = draw_random(w) >> 20;
	uint64_t mask = (bytes < 8 ? (1ull << 8 * bytes) - 1 : ~0ull) << shift;
	struct store *s = find_store(w, at);

	forget_read(w, at);
	if (!s) {
		if (w->n == STORES || (w->n && z % 16 == 0))
			commit_store(w, (uint32_t)(z >> 8) % w->n);
		s = &w->store[w->n++];
		*s = (struct store){.at = at, .generation = vgpu_mem_generation(w->mem)};
	}
	s->v = (s->v & ~mask) | (v << shift & mask);
	s->mask |= mask;
}

void weak_atomic(struct weak *w, void *p, unsigned bytes)
{
	unsigned shift;

	for (unsigned k = 0; k < bytes; k += 8) {
		const uint64_t *at = unit_of((char *)p + k, &shift);
		struct store *s = find_store(w, at);

		if (s)
			commit_store(w, (uint32_t)(s - w->store));
		forget_read(w, at);
		pthread_mutex_lock(&past_lock);
		note_past(w, at);
		pthread_mutex_unlock(&past_lock);
	}
}

void weak_release(struct weak *w)
{
	while (w->n)
		commit_store(w, (uint32_t)(draw_random(w) >> 20) % w->n);
	vgpu_fence(__ATOMIC_SEQ_CST);
}

void weak_acquire(struct weak *w)
{
	vgpu_fence(__ATOMIC_SEQ_CST);
	pthread_mutex_lock(&past_lock);
	w->acquired = changes;
	pthread_mutex_unlock(&past_lock);
	for (unsigned k = 0; k < READ; k++)
		w->read[k].at = NULL;
}

void weak_pass(struct weak *w, bool idle)
{
	uint64_t z = draw_random(w) >> 20;
	uint32_t go = w->n ? (uint32_t)(z >> 2) % (w->n + 1) / (z & 3 ? 4 : 1) : 0;

	if (idle && w->n)
		go = MAX(go, 1u);
	while (go--)
		commit_store(w, (uint32_t)(draw_random(w) >> 20) % w->n);
}
