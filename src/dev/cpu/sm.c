/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Joining and leaving the shared table, and what one process does with it. The segment is a file in
 * /dev/shm that belongs to the user; joining and leaving happen under its file lock, so that the
 * last one to leave can remove it. */
#include "sm_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REAP_EVERY_NS 20000000ull

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void table_init(struct sm_table *t, const struct sm_config *c, bool shared)
{
	pthread_mutexattr_t attr;

	memset(t, 0, sizeof(*t));
	t->bytes = sizeof(*t);
	t->config = *c;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (shared)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&t->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	for (size_t i = 0; i < ARRAY_LEN(t->slot); i++)
		t->slot[i].proc = SM_NONE;
	sm_rebuild(t);
	t->magic = SM_MAGIC;
}

/* The segment's file, locked, and not one that somebody is removing. */
static int open_locked(const char *path)
{
	for (;;) {
		struct stat st;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
			;
		if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || !S_ISREG(st.st_mode)) {
			close(fd);
			return -EPERM;
		}
		if (st.st_nlink > 0)
			return fd;
		close(fd);
	}
}

static int map_shared(struct sm *s, const struct sm_config *c)
{
	struct stat st;

	snprintf(s->path, sizeof(s->path), "/dev/shm/heddle-vgpu-%u%s%s", (unsigned)geteuid(),
		c->name[0] ? "-" : "", c->name);
	s->fd = open_locked(s->path);
	if (s->fd < 0)
		return s->fd;
	int r = 0;
	if (fstat(s->fd, &st) != 0 ||
		((size_t)st.st_size != sizeof(struct sm_table) &&
			(ftruncate(s->fd, 0) != 0 ||
				ftruncate(s->fd, sizeof(struct sm_table)) != 0)))
		r = -errno;
	if (r == 0) {
		s->t = mmap(NULL, sizeof(*s->t), PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
		if (s->t == MAP_FAILED)
			r = -errno;
	}
	if (r) {
		close(s->fd);
		return r;
	}
	if (s->t->magic != SM_MAGIC || s->t->bytes != sizeof(struct sm_table))
		table_init(s->t, c, true);
	return 0;
}

static void use_config(struct sm_config *c, const struct sm_config *of)
{
	c->n_sms = of->n_sms;
	c->threads = of->threads;
	c->blocks = of->blocks;
	c->regs = of->regs;
	c->shared_bytes = of->shared_bytes;
	c->memory_bytes = of->memory_bytes;
}

int sm_open(struct sm_config *c, struct sm **ret)
{
	struct sm *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	if (c->serial) {
		s->t = malloc(sizeof(*s->t));
		if (s->t)
			table_init(s->t, c, false);
		else
			r = -ENOMEM;
	} else {
		r = map_shared(s, c);
	}
	if (r) {
		free(s);
		return r;
	}
	sm_lock(s->t);
	r = sm_join(s->t, &s->me);
	use_config(c, &s->t->config);
	sm_unlock(s->t);
	if (s->fd >= 0)
		flock(s->fd, LOCK_UN);
	if (r) {
		s->me = SM_NONE;
		sm_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sm_close(struct sm *s)
{
	bool last = true;

	if (s->fd >= 0)
		while (flock(s->fd, LOCK_EX) != 0 && errno == EINTR)
			;
	sm_lock(s->t);
	if (s->me != SM_NONE)
		sm_forget_proc(s->t, s->me);
	sm_reap(s->t); /* the dead do not count */
	for (unsigned i = 0; i < SM_MAX_PROCS; i++)
		if (atomic_load(&s->t->proc[i].pid))
			last = false;
	sm_unlock(s->t);
	if (s->fd >= 0) {
		if (last)
			unlink(s->path);
		munmap(s->t, sizeof(*s->t));
		close(s->fd);
	} else {
		free(s->t);
	}
	free(s);
}

int sm_launch(struct sm *s, const struct sm_demand *d, uint64_t n_blocks, int priority,
	bool cooperative, uint64_t user, uint32_t *ret_id)
{
	struct sm_table *t = s->t;

	if (sm_blocks_per_sm(&t->config, d) == 0 || n_blocks == 0)
		return -EINVAL;
	sm_lock(t);
	uint16_t id = 0;
	while (id < SM_MAX_LAUNCH && (t->launch[id].used || t->launch[id].resident))
		id++;
	if (id == SM_MAX_LAUNCH) {
		sm_unlock(t);
		return -EAGAIN;
	}
	t->launch[id] = (struct sm_launch_entry){
		.seq = t->next_seq++,
		.n_blocks = n_blocks,
		.user = user,
		.demand = *d,
		.priority = priority,
		.proc = s->me,
		.cooperative = cooperative,
	};
	atomic_signal_fence(memory_order_seq_cst);
	t->launch[id].used = 1;
	uint32_t at = t->n_queued++;
	for (; at > 0; at--) {
		const struct sm_launch_entry *l = &t->launch[t->queue[at - 1]];
		if (l->priority >= priority)
			break;
		t->queue[at] = t->queue[at - 1];
	}
	t->queue[at] = id;
	sm_place(t);
	sm_unlock(t);
	*ret_id = id;
	return 0;
}

/* The entry is given up when nothing of it is left. */
static void maybe_free(struct sm_table *t, uint16_t id)
{
	struct sm_launch_entry *l = &t->launch[id];

	if (l->next_block >= l->n_blocks && l->resident == 0)
		l->used = 0;
}

uint64_t sm_cancel(struct sm *s, uint32_t id)
{
	struct sm_table *t = s->t;

	sm_lock(t);
	struct sm_launch_entry *l = &t->launch[id];
	uint64_t left = l->n_blocks - l->next_block;
	l->n_blocks = l->next_block;
	for (uint32_t i = 0; i < t->n_queued; i++)
		if (t->queue[i] == id) {
			memmove(&t->queue[i], &t->queue[i + 1],
				(t->n_queued - i - 1) * sizeof(t->queue[0]));
			t->n_queued--;
			break;
		}
	maybe_free(t, (uint16_t)id);
	sm_place(t);
	sm_unlock(t);
	return left;
}

bool sm_has_grants(struct sm *s)
{
	return atomic_load_explicit(&s->t->proc[s->me].grants, memory_order_relaxed) > 0;
}

unsigned sm_take(struct sm *s, struct sm_block *ret, unsigned max)
{
	struct sm_table *t = s->t;
	unsigned n = 0;

	if (!sm_has_grants(s))
		return 0;
	sm_lock(t);
	struct sm_proc *p = &t->proc[s->me];
	while (n < max && p->first != SM_NONE) {
		uint16_t at = p->first;
		struct sm_slot *slot = &t->slot[at];
		p->first = slot->next;
		slot->taken = 1;
		atomic_fetch_sub(&p->grants, 1);
		ret[n++] = (struct sm_block){
			.user = t->launch[slot->launch].user,
			.index = slot->block,
			.sm = at / SM_MAX_SLOTS,
			.slot = at % SM_MAX_SLOTS,
		};
	}
	sm_unlock(t);
	return n;
}

void sm_release(struct sm *s, uint16_t sm, uint16_t slot)
{
	struct sm_table *t = s->t;

	sm_lock(t);
	struct sm_slot *at = &t->slot[sm * SM_MAX_SLOTS + slot];
	struct sm_launch_entry *l = &t->launch[at->launch];
	struct sm_unit *u = &t->unit[sm];
	at->proc = SM_NONE;
	l->resident--;
	u->free_slots |= 1u << slot;
	u->free.threads += l->demand.threads;
	u->free.regs += l->demand.regs;
	u->free.shared_bytes += l->demand.shared_bytes;
	maybe_free(t, at->launch);
	if (t->n_queued)
		sm_place(t);
	sm_unlock(t);
}

static uint64_t memory_of_all(struct sm_table *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SM_MAX_PROCS; i++)
		if (atomic_load(&t->proc[i].pid))
			sum += t->proc[i].memory_bytes;
	return sum;
}

int sm_memory_take(struct sm *s, uint64_t bytes)
{
	struct sm_table *t = s->t;
	int r = -ENOMEM;

	sm_lock(t);
	for (int try = 0; try < 2 && r; try++) {
		uint64_t used = memory_of_all(t);
		if (used <= t->config.memory_bytes && bytes <= t->config.memory_bytes - used) {
			t->proc[s->me].memory_bytes += bytes;
			r = 0;
		} else if (!sm_reap(t)) {
			break;
		}
	}
	sm_unlock(t);
	return r;
}

void sm_memory_give(struct sm *s, uint64_t bytes)
{
	sm_lock(s->t);
	s->t->proc[s->me].memory_bytes -= bytes;
	sm_unlock(s->t);
}

uint64_t sm_memory_used(struct sm *s)
{
	sm_lock(s->t);
	uint64_t used = memory_of_all(s->t);
	sm_unlock(s->t);
	return used;
}

uint32_t sm_word(struct sm *s)
{
	return atomic_load(&s->t->proc[s->me].word);
}

void sm_wake(struct sm *s, int threads)
{
	sm_poke(&s->t->proc[s->me], threads);
}

void sm_sleep(struct sm *s, uint32_t word, uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000ull),
		.tv_nsec = (long)(timeout_ns % 1000000000ull),
	};

	syscall(SYS_futex, &s->t->proc[s->me].word, FUTEX_WAIT, word,
		timeout_ns == UINT64_MAX ? NULL : &ts, NULL, 0);
	uint64_t now = now_ns(), due = atomic_load(&s->next_reap_ns);
	if (now >= due &&
		atomic_compare_exchange_strong(&s->next_reap_ns, &due, now + REAP_EVERY_NS)) {
		sm_lock(s->t);
		sm_reap(s->t);
		sm_unlock(s->t);
	}
}

void sm_resident(struct sm *s, uint32_t *ret_mine, uint32_t *ret_all)
{
	uint32_t mine = 0, all = 0;

	sm_lock(s->t);
	for (uint32_t i = 0; i < s->t->config.n_sms * SM_MAX_SLOTS; i++) {
		all += s->t->slot[i].proc != SM_NONE;
		mine += s->t->slot[i].proc == s->me;
	}
	sm_unlock(s->t);
	*ret_mine = mine;
	*ret_all = all;
}
