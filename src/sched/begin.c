/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sets the quotas with which launches that have not arrived yet will begin, and keeps one SM free
 * of others so that they can arrive. For all policies. */
#include "engine.h"

/* While a tenant's submitted launch does not arrive, others leave one SM free on which its first
 * worker can say that it does: the one that is given away last. */
#define DOOR 0u

void sched_doors_find(struct sched *s)
{
	s->door[0] = s->door[1] = NULL;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!t->late || (!t->arrived.first && !t->submitted.first))
			continue;
		if (!s->door[0] || t->priority > s->door[0]->priority) {
			s->door[1] = s->door[0];
			s->door[0] = t;
		} else if (!s->door[1] || t->priority > s->door[1]->priority) {
			s->door[1] = t;
		}
	}
}

void sched_door_leave(const struct sched *s, const struct sched_launch *l, struct quota *io_allowed)
{
	const struct sched_tenant *t = s->door[s->door[0] == l->tenant];
	bool for_other = t && t->priority >= l->tenant->priority && s->o.simultaneous;
	/* Its own tenant's more urgent stream: no worker of that comes in either. */
	bool for_own = l->tenant->submitted_priority > (int64_t)l->stream_priority ||
		       (s->o.within_srt && launch_is(l->state, LAUNCH_ARRIVED) &&
			       l->tenant->submitted_priority >= 0);

	if ((for_other || for_own) && s->o.n_sms > 1)
		io_allowed->at[DOOR] = 0;
}

void sched_begin_place(struct sched *s, struct sched_tenant *t, bool held, const struct quota *left)
{
	const struct sched_tenant *door = s->door[s->door[0] == t];
	bool competes = t->arrived.first || t->head;

	t->next_begin = t->best ? t->best_avail : (struct quota){0};
	if (t->pinned || (!competes && !held))
		t->next_begin = s->everywhere;
	else if (!competes && s->o.simultaneous)
		t->next_begin = *left;
	if (door && door->priority >= t->priority && s->o.simultaneous && s->o.n_sms > 1)
		t->next_begin.at[DOOR] = 0;
}
