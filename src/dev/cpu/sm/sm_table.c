/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The operations on the shared table: place blocks, detect dead processes, and repair the table
 * after a process died while it held the lock. Callers hold the lock, except for sm_lock, which
 * takes it, and sm_poke, which needs no lock. */
#include "sm_table.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void sm_poke(struct sm_proc *p, int threads)
{
	atomic_fetch_add(&p->word, 1);
	syscall(SYS_futex, &p->word, FUTEX_WAKE, threads, NULL, NULL, 0);
}

static bool sm_fits(const struct sm_unit *u, const struct sm_demand *d)
{
	return u->free_slots && u->free.threads >= d->threads && u->free.regs >= d->regs &&
	       u->free.shared_bytes >= d->shared_bytes;
}

static void unit_take(struct sm_unit *u, const struct sm_demand *d, unsigned slot)
{
	u->free_slots &= ~(1u << slot);
	u->free.threads -= d->threads;
	u->free.regs -= d->regs;
	u->free.shared_bytes -= d->shared_bytes;
}

static void grant_append(struct sm_table *t, uint16_t slot)
{
	struct sm_proc *p = &t->proc[t->slot[slot].proc];

	t->slot[slot].next = SM_NONE;
	if (p->first == SM_NONE)
		p->first = slot;
	else
		t->slot[p->last].next = slot;
	p->last = slot;
	atomic_fetch_add(&p->grants, 1);
}

/* Returns the SM with the most free threads on which the block fits, so that a grid spreads over
 * all SMs. Returns -1 if it fits on none. */
static int pick_unit(const struct sm_table *t, const struct sm_demand *d)
{
	int best = -1;

	for (uint32_t i = 0; i < t->config.n_sms; i++)
		if (sm_fits(&t->unit[i], d) &&
			(best < 0 || t->unit[i].free.threads > t->unit[best].free.threads))
			best = (int)i;
	return best;
}

static bool place_one(struct sm_table *t, uint16_t id)
{
	struct sm_launch_entry *l = &t->launch[id];
	int unit = pick_unit(t, &l->demand);

	if (unit < 0)
		return false;
	unsigned bit = (unsigned)__builtin_ctz(t->unit[unit].free_slots);
	uint16_t at = (uint16_t)((unsigned)unit * SM_MAX_SLOTS + bit);
	struct sm_slot *s = &t->slot[at];
	s->block = l->next_block;
	s->launch = id;
	s->taken = 0;
	atomic_signal_fence(memory_order_seq_cst);
	s->proc = l->proc; /* from here on the slot is in use, even if this process dies */
	atomic_signal_fence(memory_order_seq_cst);
	l->next_block++;
	l->resident++;
	unit_take(&t->unit[unit], &l->demand, bit);
	grant_append(t, at);
	return true;
}

static bool fits_whole(const struct sm_table *t, const struct sm_launch_entry *l)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < t->config.n_sms; i++) {
		struct sm_config c = t->config;
		const struct sm_unit *u = &t->unit[i];
		c.threads = u->free.threads;
		c.regs = u->free.regs;
		c.shared_bytes = u->free.shared_bytes;
		c.blocks = (uint32_t)__builtin_popcount(u->free_slots);
		room += sm_blocks_per_sm(&c, &l->demand);
	}
	return room >= l->n_blocks;
}

void sm_place(struct sm_table *t)
{
	uint16_t granted[SM_MAX_PROCS] = {0};
	uint32_t n = 0;

	while (n < t->n_queued) {
		uint16_t id = t->queue[n];
		struct sm_launch_entry *l = &t->launch[id];
		if (l->cooperative && l->next_block == 0 && !fits_whole(t, l))
			break;
		while (l->next_block < l->n_blocks && place_one(t, id))
			granted[l->proc]++;
		if (l->next_block < l->n_blocks)
			break;
		n++;
	}
	memmove(t->queue, t->queue + n, (t->n_queued - n) * sizeof(t->queue[0]));
	t->n_queued -= n;
	for (unsigned p = 0; p < SM_MAX_PROCS; p++)
		if (granted[p])
			sm_poke(&t->proc[p], granted[p]);
}

static bool goes_before(const struct sm_launch_entry *a, const struct sm_launch_entry *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static void rebuild_queue(struct sm_table *t)
{
	t->n_queued = 0;
	for (uint16_t id = 0; id < SM_MAX_LAUNCH; id++) {
		struct sm_launch_entry *l = &t->launch[id];
		if (!l->used || l->next_block >= l->n_blocks)
			continue;
		uint32_t at = t->n_queued++;
		for (; at > 0 && goes_before(l, &t->launch[t->queue[at - 1]]); at--)
			t->queue[at] = t->queue[at - 1];
		t->queue[at] = id;
	}
}

void sm_rebuild(struct sm_table *t)
{
	const struct sm_config *c = &t->config;

	for (unsigned i = 0; i < SM_MAX_PROCS; i++) {
		t->proc[i].first = t->proc[i].last = SM_NONE;
		atomic_store(&t->proc[i].grants, 0);
	}
	for (unsigned i = 0; i < SM_MAX_LAUNCH; i++)
		t->launch[i].resident = 0;
	for (uint32_t i = 0; i < c->n_sms; i++) {
		struct sm_unit *u = &t->unit[i];
		u->free = (struct sm_demand){c->threads, c->regs, c->shared_bytes};
		u->free_slots = c->blocks >= 32 ? ~0u : (1u << c->blocks) - 1;
		for (unsigned k = 0; k < SM_MAX_SLOTS; k++) {
			uint16_t at = (uint16_t)(i * SM_MAX_SLOTS + k);
			struct sm_slot *s = &t->slot[at];
			if (s->proc == SM_NONE)
				continue;
			struct sm_launch_entry *l = &t->launch[s->launch];
			l->resident++;
			l->next_block = MAX(l->next_block, s->block + 1);
			unit_take(u, &l->demand, k);
			if (!s->taken)
				grant_append(t, at);
		}
	}
	rebuild_queue(t);
}

void sm_forget_proc(struct sm_table *t, uint16_t proc)
{
	struct sm_proc *p = &t->proc[proc];

	for (uint32_t i = 0; i < t->config.n_sms * SM_MAX_SLOTS; i++)
		if (t->slot[i].proc == proc)
			t->slot[i].proc = SM_NONE;
	for (unsigned i = 0; i < SM_MAX_LAUNCH; i++)
		if (t->launch[i].used && t->launch[i].proc == proc)
			t->launch[i].used = 0;
	p->memory_bytes = 0;
	atomic_fetch_add(&p->generation, 1);
	atomic_store(&p->pid, 0);
	sm_rebuild(t);
	sm_place(t);
}

bool sm_reap(struct sm *s)
{
	struct sm_table *t = s->t;
	bool any = false;

	if (!s->shared)
		return false;
	for (uint16_t i = 0; i < SM_MAX_PROCS; i++) {
		if (i == s->me || !atomic_load(&t->proc[i].pid) || sm_life_lasts(&t->proc[i].life))
			continue;
		sm_forget_proc(t, i);
		any = true;
	}
	return any;
}

int sm_join(struct sm *s)
{
	struct sm_table *t = s->t;

	sm_reap(s);
	for (uint16_t i = 0; i < SM_MAX_PROCS; i++) {
		struct sm_proc *p = &t->proc[i];
		/* A process that was considered dead but is alive still holds its mutex. Its entry
		 * is not reused. */
		if (atomic_load(&p->pid) || (s->shared && sm_life_lasts(&p->life)))
			continue;
		int r = s->shared ? sm_life_begin(&s->keeper, &p->life) : 0;
		if (r)
			return r;
		p->memory_bytes = 0;
		p->first = p->last = SM_NONE;
		atomic_store(&p->grants, 0);
		s->generation = atomic_fetch_add(&p->generation, 1) + 1;
		atomic_store(&p->pid, (uint32_t)getpid());
		s->me = i;
		return 0;
	}
	return -EUSERS;
}

void sm_lock(struct sm *s)
{
	if (pthread_mutex_lock(&s->t->lock) != EOWNERDEAD)
		return;
	/* The previous owner of the lock died while it changed the table. */
	pthread_mutex_consistent(&s->t->lock);
	sm_rebuild(s->t);
	sm_reap(s);
	sm_place(s->t);
}

void sm_unlock(struct sm *s)
{
	pthread_mutex_unlock(&s->t->lock);
}
