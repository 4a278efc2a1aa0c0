/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Allocations of the virtual GPU: a sorted table, guarded by a lock. A kernel takes the lock to
 * look up a range of memory, keeps the result, and then uses the range without the lock. Freeing
 * memory increments a generation number. A kernel that sees a new number looks up its ranges again.
 * Newly allocated memory is zeroed, so that runs are reproducible. The table also keeps the last 64
 * freed ranges, for reports only. */
#include "mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT   256
#define MMAP_BYTES  (128u << 10)
#define FREED_COUNT 64

struct alloc {
	uint64_t base, bytes;
	/* is_foreign: memory of the program, which it registered */
	bool is_host, is_const, is_foreign;
	uint8_t device;
	unsigned holds;
};

struct vgpu_mem {
	_Atomic uint64_t generation; /* the first member, because vgpu_mem_generation reads it */
	pthread_rwlock_t lock;
	VEC(struct alloc) allocs; /* sorted by base */
	uint64_t limit_bytes, used_bytes;
	VEC(struct alloc) limbo; /* freed by the program, but still held */
	struct alloc freed[FREED_COUNT];
	unsigned n_freed;
};

int vgpu_mem_create(uint64_t limit_bytes, struct vgpu_mem **ret)
{
	struct vgpu_mem *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->limit_bytes = limit_bytes;
	atomic_init(&m->generation, 1);
	if (pthread_rwlock_init(&m->lock, NULL)) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

static void *storage_new(uint64_t bytes)
{
	void *p;

	if (bytes >= MMAP_BYTES) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	p = aligned_alloc(ALIGNMENT, round_up(bytes, ALIGNMENT));
	if (p)
		memset(p, 0, bytes);
	return p;
}

static void storage_free(const struct alloc *a)
{
	if (a->is_foreign)
		return;
	if (a->is_host || a->bytes >= MMAP_BYTES)
		munmap((void *)(uintptr_t)a->base, a->bytes);
	else
		free((void *)(uintptr_t)a->base);
}

void vgpu_mem_destroy(struct vgpu_mem *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->allocs.len; i++)
		storage_free(&m->allocs.at[i]);
	for (size_t i = 0; i < m->limbo.len; i++)
		storage_free(&m->limbo.at[i]);
	VEC_FREE(&m->allocs);
	VEC_FREE(&m->limbo);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

/* Returns the index of the first allocation with a base above addr. */
static size_t upper_index(const struct vgpu_mem *m, uint64_t addr)
{
	size_t lo = 0, hi = m->allocs.len;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->allocs.at[mid].base <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert_alloc(struct vgpu_mem *m, struct alloc a)
{
	size_t i = upper_index(m, a.base);

	if (a.bytes > UINT64_MAX - a.base)
		return -EINVAL;
	if (i && a.base - m->allocs.at[i - 1].base < m->allocs.at[i - 1].bytes)
		return -EEXIST;
	if (i < m->allocs.len && m->allocs.at[i].base - a.base < a.bytes)
		return -EEXIST;
	if (!VEC_PUSH(&m->allocs, a))
		return -ENOMEM;
	memmove(m->allocs.at + i + 1, m->allocs.at + i,
		(m->allocs.len - 1 - i) * sizeof(*m->allocs.at));
	m->allocs.at[i] = a;
	return 0;
}

static int alloc_range(struct vgpu_mem *m, uint64_t bytes, bool is_const, uint64_t *ret_addr)
{
	struct alloc a = {.bytes = bytes, .is_const = is_const, .device = VGPU_ANY_DEVICE};
	void *p;
	int r;

	if (!bytes)
		return -EINVAL;
	pthread_rwlock_wrlock(&m->lock);
	if (bytes > m->limit_bytes || m->used_bytes > m->limit_bytes - bytes) {
		pthread_rwlock_unlock(&m->lock);
		return -ENOMEM;
	}
	p = storage_new(bytes);
	a.base = (uint64_t)(uintptr_t)p;
	r = p ? insert_alloc(m, a) : -ENOMEM;
	if (!r)
		m->used_bytes += bytes;
	pthread_rwlock_unlock(&m->lock);
	if (r && p)
		storage_free(&a);
	if (!r)
		*ret_addr = a.base;
	return r;
}

int vgpu_mem_alloc(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr)
{
	return alloc_range(m, bytes, false, ret_addr);
}

int vgpu_mem_alloc_const(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr)
{
	return alloc_range(m, bytes, true, ret_addr);
}

void vgpu_mem_belongs(struct vgpu_mem *m, uint64_t addr, unsigned device)
{
	pthread_rwlock_wrlock(&m->lock);
	size_t i = upper_index(m, addr);
	if (i-- && m->allocs.at[i].base == addr)
		m->allocs.at[i].device = (uint8_t)device;
	pthread_rwlock_unlock(&m->lock);
}

static int take_out(struct vgpu_mem *m, uint64_t addr, bool is_host)
{
	struct alloc a = {0};
	bool kept = false;
	size_t i;

	pthread_rwlock_wrlock(&m->lock);
	i = upper_index(m, addr);
	if (i-- && m->allocs.at[i].base == addr && m->allocs.at[i].is_host == is_host) {
		a = m->allocs.at[i];
		memmove(m->allocs.at + i, m->allocs.at + i + 1,
			(m->allocs.len - 1 - i) * sizeof(*m->allocs.at));
		m->allocs.len--;
		if (!is_host)
			m->used_bytes -= a.bytes;
		m->freed[m->n_freed++ % FREED_COUNT] = a;
		/* If pushing to `limbo` fails, the storage is never freed. */
		kept = a.holds != 0;
		if (kept)
			(void)VEC_PUSH(&m->limbo, a);
		atomic_fetch_add(&m->generation, 1);
	}
	pthread_rwlock_unlock(&m->lock);
	if (!a.base)
		return -ENOENT;
	if (!kept)
		storage_free(&a);
	return 0;
}

bool vgpu_mem_hold(struct vgpu_mem *m, uint64_t addr, uint64_t bytes, uint64_t *ret_base)
{
	pthread_rwlock_wrlock(&m->lock);
	size_t i = upper_index(m, addr);
	struct alloc *a = i ? &m->allocs.at[i - 1] : NULL;
	bool found = a && addr - a->base < a->bytes && bytes <= a->bytes - (addr - a->base);
	if (found) {
		a->holds++;
		*ret_base = a->base;
	}
	pthread_rwlock_unlock(&m->lock);
	return found;
}

void vgpu_mem_drop(struct vgpu_mem *m, uint64_t base)
{
	struct alloc gone = {0};

	pthread_rwlock_wrlock(&m->lock);
	/* `limbo` lists freed ranges that are still held. Such a range cannot be reallocated,
	 * because its storage still exists. */
	for (size_t i = 0; i < m->limbo.len; i++) {
		if (m->limbo.at[i].base != base)
			continue;
		if (--m->limbo.at[i].holds == 0) {
			gone = m->limbo.at[i];
			m->limbo.at[i] = m->limbo.at[--m->limbo.len];
		}
		pthread_rwlock_unlock(&m->lock);
		if (gone.base)
			storage_free(&gone);
		return;
	}
	size_t i = upper_index(m, base);
	if (i && m->allocs.at[i - 1].base == base && m->allocs.at[i - 1].holds)
		m->allocs.at[i - 1].holds--;
	pthread_rwlock_unlock(&m->lock);
}

int vgpu_mem_free(struct vgpu_mem *m, uint64_t addr)
{
	return take_out(m, addr, false);
}

static int add_host(struct vgpu_mem *m, void *p, uint64_t bytes, bool is_foreign)
{
	struct alloc a = {.base = (uint64_t)(uintptr_t)p,
		.bytes = bytes,
		.is_host = true,
		.device = VGPU_ANY_DEVICE,
		.is_foreign = is_foreign};

	if (!p || !bytes)
		return -EINVAL;
	pthread_rwlock_wrlock(&m->lock);
	int r = insert_alloc(m, a);
	pthread_rwlock_unlock(&m->lock);
	return r;
}

int vgpu_mem_add_host(struct vgpu_mem *m, void *p, uint64_t bytes)
{
	return add_host(m, p, bytes, true);
}

int vgpu_mem_alloc_host(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	int r = add_host(m, p, bytes, false);
	if (r)
		munmap(p, bytes);
	else
		*ret_addr = (uint64_t)(uintptr_t)p;
	return r;
}

int vgpu_mem_remove_host(struct vgpu_mem *m, void *p)
{
	return take_out(m, (uint64_t)(uintptr_t)p, true);
}

static bool find_alloc(struct vgpu_mem *m, uint64_t addr, struct alloc *ret)
{
	bool found;
	size_t i;

	pthread_rwlock_rdlock(&m->lock);
	i = upper_index(m, addr);
	found = i && addr - m->allocs.at[i - 1].base < m->allocs.at[i - 1].bytes;
	if (found)
		*ret = m->allocs.at[i - 1];
	pthread_rwlock_unlock(&m->lock);
	return found;
}

bool vgpu_mem_find(struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes,
	bool *ret_is_host)
{
	struct alloc a;

	if (!find_alloc(m, addr, &a))
		return false;
	*ret_base = a.base;
	*ret_bytes = a.bytes;
	*ret_is_host = a.is_host;
	return true;
}

bool vgpu_mem_range(struct vgpu_mem *m, uint64_t addr, struct vgpu_range *ret)
{
	uint64_t generation = vgpu_mem_generation(m);
	struct alloc a;

	if (!find_alloc(m, addr, &a))
		return false;
	*ret = (struct vgpu_range){a.base, a.base + a.bytes, generation, a.is_const, a.device};
	return true;
}

bool vgpu_mem_below(
	struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes, bool *ret_freed)
{
	bool found = false;
	size_t i;

	pthread_rwlock_rdlock(&m->lock);
	for (unsigned k = 0; k < MIN(m->n_freed, FREED_COUNT) && !found; k++) {
		const struct alloc *f = &m->freed[(m->n_freed - 1 - k) % FREED_COUNT];

		if (addr - f->base < f->bytes) {
			*ret_base = f->base;
			*ret_bytes = f->bytes;
			*ret_freed = found = true;
		}
	}
	i = upper_index(m, addr);
	if (!found && i) {
		*ret_base = m->allocs.at[i - 1].base;
		*ret_bytes = m->allocs.at[i - 1].bytes;
		*ret_freed = false;
		found = true;
	}
	pthread_rwlock_unlock(&m->lock);
	return found;
}
