/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Serial mode: every SM has its own clock, in cycles of one nanosecond. The SM whose clock shows
 * the earliest time executes the next step. The blocks of an SM take turns. So the same launches
 * always take the same virtual time. */
#include "sm_task.h"

#include <errno.h>

#define BUDGET      256
#define IDLE_CYCLES 500
/* virtual time from the moment when a kernel is first in its stream until its first instruction */
#define LAUNCH_COST_NS 2000

static void put_on_sm(struct vgpu_pool *p, struct vgpu_task *t)
{
	uint64_t start = t->run->start_ns + LAUNCH_COST_NS;

	/* The clock of an idle SM advances to the current time; a busy SM keeps its own clock. */
	if (!p->on_sm[t->sm].n)
		p->clock_ns[t->sm] = MAX(p->clock_ns[t->sm], MAX(start, p->now_ns));
	task_push(&p->on_sm[t->sm], t);
}

static int next_sm(const struct vgpu_pool *p)
{
	int best = -1;

	for (uint32_t i = 0; i < p->config.n_sms; i++)
		if (p->on_sm[i].n && (best < 0 || p->clock_ns[i] < p->clock_ns[best]))
			best = (int)i;
	return best;
}

static void take_blocks(struct vgpu_pool *p)
{
	if (p->pending)
		pool_retry(p);
	pool_take(p, put_on_sm);
}

uint64_t vgpu_pool_next_ns(struct vgpu_pool *p)
{
	take_blocks(p);
	if (p->ended)
		return p->now_ns;
	int sm = next_sm(p);
	return sm < 0 ? UINT64_MAX : p->clock_ns[sm];
}

void vgpu_pool_set_now(struct vgpu_pool *p, uint64_t now_ns)
{
	p->now_ns = now_ns;
}

static bool tell_ended(struct vgpu_pool *p)
{
	struct vgpu_run *r = pool_pop_ended(p);

	if (r)
		r->done(r);
	return r != NULL;
}

bool vgpu_pool_step(struct vgpu_pool *p)
{
	take_blocks(p);
	if (tell_ended(p))
		return true;
	int sm = next_sm(p);
	if (sm < 0)
		return false;
	struct vgpu_task *t = task_pop(&p->on_sm[sm]);
	p->now_ns = p->clock_ns[sm];
	if (t->run->cancelled) {
		pool_end_block(p, t);
		return true;
	}
	uint64_t clock = p->clock_ns[sm];
	enum vgpu_state state = task_step(t, BUDGET, &clock);
	p->clock_ns[sm] = state == VGPU_IDLE ? MAX(clock, p->clock_ns[sm] + IDLE_CYCLES) : clock;
	p->now_ns = p->clock_ns[sm];
	p->idle_streak = state == VGPU_IDLE ? p->idle_streak + 1 : 0;
	switch (state) {
	case VGPU_DONE:
		pool_end_block(p, t);
		break;
	case VGPU_FAULT:
		pool_fault(p, t, -ENOMEM);
		break;
	default:
		task_push(&p->on_sm[sm], t);
		break;
	}
	return p->idle_streak <= p->config.n_sms * SM_MAX_SLOTS;
}
