/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Joins and leaves the shared table, and performs this process's operations on the table. Other
 * processes free the entry of a process that they take for dead, and a new process can then get it.
 * So each operation on launches, blocks or reserved memory first checks that this process still
 * owns its entry (sm_lost). */
#include "sm_table.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
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

static void use_config(struct sm_config *c, const struct sm_config *of)
{
	c->devices = of->devices;
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
	int r = 0, fd = -1;

	if (!s)
		return -ENOMEM;
	s->me = SM_NONE;
	s->shared = !c->serial;
	if (s->shared)
		r = sm_segment_open(s, c, &fd);
	else if ((s->t = malloc(sizeof(*s->t))) != NULL)
		sm_table_init(s->t, c, false);
	else
		r = -ENOMEM;
	if (r) {
		free(s);
		return r;
	}
	sm_lock(s);
	r = sm_join(s);
	use_config(c, &s->t->config);
	sm_unlock(s);
	if (fd >= 0)
		sm_segment_unlock(fd);
	if (r) {
		sm_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

bool sm_lost(struct sm *s)
{
	return s->me == SM_NONE || atomic_load(&s->t->proc[s->me].generation) != s->generation;
}

void sm_close(struct sm *s)
{
	bool joined = s->me != SM_NONE;

	sm_lock(s);
	if (!sm_lost(s))
		sm_forget_proc(s->t, s->me);
	s->me = SM_NONE;
	sm_unlock(s);
	if (!s->shared) {
		free(s->t);
	} else {
		if (joined)
			sm_life_end(&s->keeper);
		sm_segment_close(s);
	}
	free(s);
}

int sm_launch(struct sm *s, const struct sm_demand *d, uint64_t n_blocks, int priority,
	bool cooperative, uint64_t user, uint32_t *ret_id)
{
	struct sm_table *t = s->t;

	if (sm_blocks_per_sm(&t->config, d) == 0 || n_blocks == 0)
		return -EINVAL;
	sm_lock(s);
	if (sm_lost(s)) {
		sm_unlock(s);
		return -ESTALE;
	}
	uint16_t id = 0;
	while (id < SM_MAX_LAUNCH && (t->launch[id].used || t->launch[id].resident))
		id++;
	if (id == SM_MAX_LAUNCH) {
		sm_unlock(s);
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
	sm_unlock(s);
	*ret_id = id;
	return 0;
}

/* Frees the launch's entry if all its blocks were placed and have ended. */
static void maybe_free(struct sm_table *t, uint16_t id)
{
	struct sm_launch_entry *l = &t->launch[id];

	if (l->next_block >= l->n_blocks && l->resident == 0)
		l->used = 0;
}

uint64_t sm_cancel(struct sm *s, uint32_t id)
{
	struct sm_table *t = s->t;

	sm_lock(s);
	if (sm_lost(s)) {
		sm_unlock(s);
		return 0;
	}
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
	sm_unlock(s);
	return left;
}

bool sm_has_grants(struct sm *s)
{
	return !sm_lost(s) &&
	       atomic_load_explicit(&s->t->proc[s->me].grants, memory_order_relaxed) > 0;
}

unsigned sm_take(struct sm *s, struct sm_block *ret, unsigned max)
{
	struct sm_table *t = s->t;
	unsigned n = 0;

	if (!sm_has_grants(s))
		return 0;
	sm_lock(s);
	struct sm_proc *p = &t->proc[s->me];
	while (!sm_lost(s) && n < max && p->first != SM_NONE) {
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
	sm_unlock(s);
	return n;
}

void sm_release(struct sm *s, uint16_t sm, uint16_t slot)
{
	struct sm_table *t = s->t;

	sm_lock(s);
	if (sm_lost(s)) {
		sm_unlock(s);
		return;
	}
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
	sm_unlock(s);
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

	sm_lock(s);
	for (int try = 0; try < 2 && r && !sm_lost(s); try++) {
		uint64_t used = memory_of_all(t);
		if (used <= t->config.memory_bytes && bytes <= t->config.memory_bytes - used) {
			t->proc[s->me].memory_bytes += bytes;
			r = 0;
		} else if (!sm_reap(s)) {
			break;
		}
	}
	sm_unlock(s);
	return r;
}

void sm_memory_give(struct sm *s, uint64_t bytes)
{
	sm_lock(s);
	if (!sm_lost(s))
		s->t->proc[s->me].memory_bytes -= bytes;
	sm_unlock(s);
}

uint64_t sm_memory_used(struct sm *s)
{
	sm_lock(s);
	uint64_t used = memory_of_all(s->t);
	sm_unlock(s);
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
		sm_lock(s);
		sm_reap(s);
		sm_unlock(s);
	}
}
