/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Limits how long a thread of the program waits for launches in cases where it would not wait
 * without heddle. In most cases the wait ends by itself, because preempted launches make progress
 * sooner or later. But a launch may need something that this thread does only after its wait. Then
 * no launch makes progress, and the wait must end without that. */
#include "shim/launches.h"

#define LULL_NS 200000000u /* so long nothing moves; */
/* the timeout if the last wait ended in a timeout and no launch has completed since */
#define AGAIN_NS 5000000u
/* The greatest time that counts between two checks. More time passes if the thread is descheduled
 * between them, but that says nothing about the launches. */
#define GLANCE_NS 1000000u

/* How far those under way have got: arrivals and blocks. */
static uint64_t count_moves(void)
{
	uint64_t n = 0;

	pthread_mutex_lock(&launches()->lock);
	for (unsigned i = 0; i < launches()->n_active; i++) {
		const struct managed *m = &launches()->at[launches()->active[i]];
		const struct ctl_host *h = &slot_of(m)->host;

		if (m->launched)
			n += __atomic_load_n(&h->finished, __ATOMIC_ACQUIRE) +
			     (__atomic_load_n(&h->arrived, __ATOMIC_ACQUIRE) == m->args.gen + 1);
	}
	pthread_mutex_unlock(&launches()->lock);
	return n;
}

void patience_begin(struct patience *p, const _Atomic unsigned *ended, _Atomic unsigned *gave_up)
{
	*p = (struct patience){ended, gave_up, atomic_load(ended), count_moves(), shim_now_ns(), 0};
}

bool patience_ends(struct patience *p)
{
	bool again = atomic_load(p->gave_up) == p->seen_ended + 1;
	unsigned ended = atomic_load(p->ended);
	uint64_t now = shim_now_ns(), seen_moves = count_moves();

	if (ended != p->seen_ended || seen_moves != p->seen_moves)
		p->lull_ns = 0;
	else if (!managed_any_waiting()) /* else the clock stands */
		p->lull_ns += MIN(now - p->looked_ns, GLANCE_NS);
	p->seen_ended = ended;
	p->seen_moves = seen_moves;
	p->looked_ns = now;
	if (p->lull_ns < (again ? AGAIN_NS : LULL_NS))
		return false;
	atomic_store(p->gave_up, ended + 1);
	return true;
}
